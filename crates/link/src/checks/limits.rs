//! Limits of the target: shared memory of a kernel, constants of the module and of a kernel, texture
//! references.

use crate::diagnostics::{Hex, Message, Sink, Stop};
use crate::model::merged::{CONSTANT_BANK, Kind, Merged};
use crate::options::Options;
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_arch::{Suffix, Target};
use solder_cubin::raw;

/// What the names of the sections of kernels' shared memory begin with.
const KERNEL_SHARED: &[u8] = b".nv.shared.";

/// What every launch gives a kernel without asking.
const SHARED_BY_DEFAULT: u64 = 0xc000;

/// An architecture-specific target need not keep to what is the same everywhere.
pub fn shared_limit(target: Target, is_extended: bool) -> u64 {
    let is_extended = is_extended || target.arch.suffix == Suffix::A;
    let largest = target.arch.shared_memory().filter(|_| is_extended);
    largest.unwrap_or(SHARED_BY_DEFAULT)
}

/// The references of one kind that a kernel's table can hold, in the order in which nvlink counts them.
const REFERENCES: &[(u8, &str, usize)] = &[
    (raw::STT_TEXTURE, "textures", 256),
    (raw::STT_SAMPLER, "samplers", 32),
    (raw::STT_SURFACE, "surfaces", 32),
];

/// A table of references that is too long ends the link.
pub fn check_references(merged: &Merged<'_>, textures: &Textures, sink: &Sink) -> Result<(), Stop> {
    for (kernel, function) in merged.kernels() {
        let Some(constant) = function.constant else { continue };
        let count = |kind: u8| {
            textures
                .handles(merged, constant)
                .filter(|(symbol, _)| merged.symbol(*symbol).kind == kind)
                .count()
        };
        for (kind, what, limit) in REFERENCES {
            if count(*kind) > *limit {
                let kernel = merged.function_name(kernel).into();
                return Err(sink.fatal(Message::TooManyReferences { limit: *limit as u32, what, kernel }));
            }
        }
    }
    Ok(())
}

/// Sections are looked at in the order of their creation. `reserved` is the part of shared memory that
/// does not count.
pub fn check(options: &Options<'_>, merged: &Merged<'_>, shared: &SharedLayout, reserved: u64, sink: &Sink) {
    let relocatable = options.relocatable;
    let always = options.release.shared_limit(options.target.arch.number);
    let shared_limit = always.unwrap_or_else(|| shared_limit(options.target, options.enable_extended_smem));
    for &id in &merged.limited {
        let section = merged.section(id);
        let kernel = || merged.kernel_of(id);
        match section.kind {
            Kind::Constant(_) if section.size > CONSTANT_BANK => {
                sink.report(Message::ConstantLimit { used: Hex(section.size), limit: Hex(CONSTANT_BANK) });
            }
            Kind::FunctionConstant(_) if section.size > CONSTANT_BANK && !relocatable => {
                if let Some(kernel) = kernel() {
                    sink.report(Message::CompilerConstants { kernel: merged.function_name(kernel).into() });
                }
            }
            Kind::KernelShared if !relocatable => {
                let Some(kernel) = kernel() else { continue };
                let used = shared.kernels[kernel as usize].map_or(0, |s| s.size.saturating_sub(reserved));
                if used > shared_limit {
                    sink.report(Message::SharedLimit {
                        kernel: merged.function_name(kernel).into(),
                        used: Hex(used),
                        limit: Hex(shared_limit),
                    });
                }
            }
            // Where shared variables keep their symbols, this is the home of those of several kernels, and to nvlink
            // the memory of a kernel of that name.
            Kind::FileShared if !relocatable && shared.keeps_file_section => {
                let Some(debug) = &shared.debug else { continue };
                let used = debug.file_section.size.saturating_sub(reserved);
                if used > shared_limit {
                    let name = merged.section_name(id);
                    let kernel = name.get(KERNEL_SHARED.len()..).unwrap_or_default();
                    let (used, limit) = (Hex(used), Hex(shared_limit));
                    sink.report(Message::SharedLimit { kernel: kernel.into(), used, limit });
                }
            }
            _ => {}
        }
    }
}
