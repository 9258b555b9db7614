//! The order of the sections in the file, and what each is aligned to.

use crate::image::{Numbers, Parts};
use crate::model::ids::SectionId;
use crate::model::merged::{Kind, Merged};
use crate::shared::KernelShared;
use solder_arch::Release;
use std::ops::{Range, RangeInclusive};

/// One more than the last class.
pub(super) const CLASSES: usize = 22;
/// The class of `.nv.merc.symtab_shndx` where `.symtab_shndx` comes late too.
pub(super) const LATE_MERCURY_INDICES: u8 = 19;
/// In place of the class of a section that is not in the file.
pub(super) const LEFT_OUT: u8 = 0;

/// Sections are in the file by class, then by creation.
pub(super) fn class(kind: Kind, release: &Release) -> u8 {
    match kind {
        Kind::MercurySymbols if release.orders_mercury_by_code() => 10,
        Kind::Capsule if release.orders_mercury_by_code() => 16,
        Kind::Debug => 1,
        Kind::Relocations | Kind::Resolved => 3,
        Kind::LateKernelConstant => 9,
        Kind::KernelConstant | Kind::FunctionConstant(_) | Kind::Constant(_) => 4,
        Kind::Text => 5,
        Kind::GlobalInit => 6,
        Kind::KernelShared | Kind::FileShared | Kind::ReservedShared | Kind::Global => 7,
        Kind::ToolNote
        | Kind::CudaNote
        | Kind::KeptNote(_)
        | Kind::Info
        | Kind::Compat
        | Kind::Host
        | Kind::FunctionInfo
        | Kind::CallGraph
        | Kind::Prototype
        | Kind::RelAction => 2,
        Kind::LateSectionIndices => 8,
        Kind::Capsule => 10,
        Kind::MercurySectionIndices => 11,
        Kind::MercuryDebug => 12,
        Kind::MercuryInfo | Kind::MercuryHost | Kind::MercuryCallGraph | Kind::MercuryPrototype => 13,
        Kind::MercuryRelocations | Kind::MercuryResolved => 14,
        Kind::MercuryConstant => 15,
        Kind::MercuryGlobalInit => 17,
        Kind::MercuryReservedShared => 18,
        Kind::MercurySymbols => 20,
        Kind::LateRelocations => 21,
    }
}

/// The places in `section_order` of the sections of some classes.
pub(super) fn of_classes(
    numbers: &Numbers,
    Parts { merged, release, .. }: Parts<'_, '_>,
    classes: &RangeInclusive<u8>,
) -> Range<usize> {
    let up_to = |last: u8| move |id: &SectionId| class(merged.section(*id).kind, release) <= last;
    let start = numbers.section_order.partition_point(up_to(classes.start() - 1));
    start..numbers.section_order.partition_point(up_to(*classes.end()))
}

/// The shared memory of the kernel that a section belongs to.
pub(super) fn kernel_shared(parts: Parts<'_, '_>, id: SectionId) -> Option<KernelShared> {
    let text = parts.merged.section(id).of?;
    let function = parts.merged.section(text).function?;
    let entity = parts.merged.symbol(function).entity?;
    parts.shared.kernels[parts.merged.function_of[entity.index()]? as usize]
}

/// The section whose bytes a section shares.
pub(super) fn shares_bytes(merged: &Merged<'_>, id: SectionId) -> Option<SectionId> {
    let section = merged.section(id);
    section.of.filter(|_| section.shares_bytes)
}

/// What a section is aligned to.
pub(super) fn alignment(parts: Parts<'_, '_>, id: SectionId) -> u64 {
    let section = parts.merged.section(id);
    match section.kind {
        Kind::KernelShared => kernel_shared(parts, id).map_or(1, |shared| shared.align),
        Kind::FileShared if !parts.relocatable => {
            parts.shared.debug.as_ref().map_or(16, |debug| debug.file_section.align)
        }
        Kind::MercuryDebug | Kind::MercuryConstant | Kind::MercuryGlobalInit => {
            shares_bytes(parts.merged, id)
                .map_or(section.align(), |partner| parts.merged.section(partner).align())
        }
        _ => section.align(),
    }
}
