//! The checks a device ELF must pass to enter the link, in nvlink's order and words: bytes in, a verdict and messages out.

use solder_arch::{CompatRecord, CubinArch, CubinMatch, Release, Target};
use solder_cubin::note::CudaInfo;
use solder_cubin::raw::{self, FileHeader, SectionHeader};
use solder_fatbin::compat_record;
use zerocopy::FromBytes;

use crate::diagnostics::{Message, Text};

/// Where a toolkit is demanded at all, so is this version of the note that names it.
const OLDEST_NOTE: u16 = 2;

/// A flag of older headers that no toolkit was seen to set.
const OLDER_FLAG_RECORDS: u32 = 0x4000;

/// The first architecture with an `a` variant.
const FIRST_ACCELERATED: u16 = 90;

/// Set in the flags of Mercury code.
const FLAG_MERCURY: u32 = 0x2;

/// What becomes of a device ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes part.
    Linked,
    /// It is linked already and has nothing to give; nvlink passes it over without looking further.
    PassedOver,
}

/// How old code may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// From the toolkit on that the release asks for.
    AsAskedFor,
    /// However old.
    Any,
}

/// Checks one device ELF. Warnings are added to `warnings`; the message that refuses it is the error.
pub fn check(
    name: &Text,
    bytes: &[u8],
    target: Target,
    release: &Release,
    age: Age,
    warnings: &mut Vec<Message>,
) -> Result<Verdict, Message> {
    let header = Header::parse(bytes, release.reads_abi_8()).map_err(|reason| Message::DamagedInput {
        file: name.clone(),
        place: "the ELF header".into(),
        reason: reason.into(),
    })?;
    if header.raw.e_type.get() == raw::ET_EXEC {
        return Ok(Verdict::PassedOver);
    }
    if header.lacks_64_bit_flag() {
        warnings.push(Message::Expected64Bit { file: name.clone() });
    }
    let check_abi = || {
        if header.abi_matches(release) { Ok(()) } else { Err(Message::AbiMismatch { file: name.clone() }) }
    };
    if release.checks_abi_first() {
        check_abi()?;
    }
    if target.is_mercury() && !header.is_mercury() {
        warnings.push(Message::OutputLimited { arch: target.arch.number.into(), file: name.clone() });
    }
    if header.number() == 0 {
        let unknown = Message::UnknownArch { arch: "sm_0".into() };
        return Err(if release.knows_arch_zero() { unknown } else { Message::ArchTooLong });
    }
    if release.ties_accelerated_code() {
        if header.is_accelerated() && !target.arch.has_a() {
            return Err(Message::AcceleratedForOther);
        }
        if header.promises_records() {
            return Err(Message::UnreadableRecords);
        }
    }
    match header.links_for(target, release) {
        CubinMatch::Links => {}
        CubinMatch::Mismatch => {
            return Err(Message::ArchMismatch { file: name.clone(), target: target.to_string().into() });
        }
        CubinMatch::Unfinalizable if release.refuses_when_finalizing() => {
            return Err(Message::UnsupportedBinary);
        }
        CubinMatch::UnknownNumber if release.refuses_when_finalizing() => {
            return Err(Message::UnsupportedNumber);
        }
        CubinMatch::Unfinalizable | CubinMatch::UnknownNumber => {
            return Err(Message::FinalizerError { file: name.clone() });
        }
    }
    check_abi()?;
    check_toolkit(&header, name, release)?;
    // 12.5 asks what does not say its toolkit, too (compat/newer-header). The libraries of 12.6 to 12.9 ask nothing.
    if age == Age::AsAskedFor && (header.toolkit_is_read(release) || !release.links_abi_8()) {
        check_age(&header, name, release)?;
    }
    Ok(Verdict::Linked)
}

/// What a device ELF says about where it links.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The architecture and what the compiler recorded about the code.
    pub arch: CubinArch,
    /// As in 130 for CUDA 13.0; `None` if it does not say.
    pub toolkit: Option<u32>,
    /// It is linked already.
    pub executable: bool,
}

impl Made {
    /// Reads it from the header; `None` if that cannot be read.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let header = Header::parse(bytes, true).ok()?;
        let (number, is_mercury, record) = (header.number(), header.is_mercury(), header.compat());
        Some(Self {
            arch: CubinArch { number, is_mercury, record },
            toolkit: header.toolkit(),
            executable: header.raw.e_type.get() == raw::ET_EXEC,
        })
    }
}

/// The toolkit that a device ELF comes from, as in 130 for CUDA 13.0; `None` if it does not say.
pub fn toolkit_of(bytes: &[u8]) -> Option<u32> {
    Header::parse(bytes, true).ok()?.toolkit()
}

/// The check on all objects together: from the first that `ptxas -ewp` made on, all must come from the linker's own toolkit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtensibleCheck {
    has_extensible: bool,
}

impl ExtensibleCheck {
    /// Checks the next object in link order.
    pub fn admit(&mut self, bytes: &[u8], release: &Release) -> Result<(), Message> {
        self.has_extensible |= is_extensible(bytes);
        if self.has_extensible && !is_of_toolkit(bytes, release) {
            return Err(Message::ExtensibleOfOtherToolkit);
        }
        Ok(())
    }
}

fn is_extensible(bytes: &[u8]) -> bool {
    FileHeader::ref_from_prefix(bytes).is_ok_and(|(raw, _)| raw.e_type.get() == raw::ET_EXTENSIBLE)
}

fn is_of_toolkit(bytes: &[u8], release: &Release) -> bool {
    let header = Header::parse(bytes, release.reads_abi_8()).ok();
    header.and_then(|header| header.toolkit()) == Some(release.toolkit)
}

fn check_toolkit(header: &Header<'_>, name: &Text, release: &Release) -> Result<(), Message> {
    if let Some(version) = header.toolkit_for(release).filter(|toolkit| release.is_older_than(*toolkit)) {
        // The number is compared without a sign and printed with one.
        let version = version.cast_signed();
        return Err(Message::NewerThanToolkit { file: name.clone(), version, toolkit: release.toolkit });
    }
    Ok(())
}

fn check_age(header: &Header<'_>, name: &Text, release: &Release) -> Result<(), Message> {
    let toolkit = header.toolkit();
    let has_old_note = header.cuda_info().is_some_and(|note| note.version < OLDEST_NOTE);
    let too_old = |oldest| has_old_note || toolkit.is_none_or(|toolkit| toolkit < oldest);
    match release.oldest_toolkit(header.number()) {
        Some(oldest) if too_old(oldest) => {
            let toolkit = format!("{}.{}", oldest / 10, oldest % 10).into();
            Err(Message::MustBeRecompiled { file: name.clone(), toolkit })
        }
        _ => Ok(()),
    }
}

/// As much of a device ELF as the checks need.
struct Header<'data> {
    bytes: &'data [u8],
    raw: &'data FileHeader,
    sections: &'data [SectionHeader],
    /// The header is that of 13.0 and later.
    is_current: bool,
}

impl<'data> Header<'data> {
    /// Releases that do not know the header of 13.0 (`reads_abi_8`) take every one for their own.
    fn parse(bytes: &'data [u8], reads_abi_8: bool) -> Result<Self, &'static str> {
        let (raw, _) = FileHeader::ref_from_prefix(bytes).map_err(|_| "it is cut short")?;
        if raw.ident[4] != raw::ELFCLASS64 || raw.ident[5] != 1 {
            return Err("not a 64-bit little-endian ELF");
        }
        let outside = "the section header table lies outside the file";
        let table =
            usize::try_from(raw.shoff.get()).ok().and_then(|start| bytes.get(start..)).ok_or(outside)?;
        let count = usize::from(raw.shnum.get());
        let (sections, _) =
            <[SectionHeader]>::ref_from_prefix_with_elems(table, count).map_err(|_| outside)?;
        Ok(Self { bytes, raw, sections, is_current: reads_abi_8 && raw.is_current() })
    }

    /// The toolkit that made it, if it says so.
    fn toolkit(&self) -> Option<u32> {
        if self.is_current { Some(self.cuda_info()?.toolkit) } else { Some(self.raw.version.get()) }
    }

    /// Whether a release finds that toolkit where the object says it.
    fn toolkit_is_read(&self, release: &Release) -> bool {
        !self.is_current || release.reads_toolkit_of_notes()
    }

    /// The toolkit that a release takes it to be of.
    fn toolkit_for(&self, release: &Release) -> Option<u32> {
        if self.toolkit_is_read(release) {
            self.toolkit()
        } else {
            (!release.reads_notes()).then_some(self.raw.version.get())
        }
    }

    fn flags(&self) -> u32 {
        self.raw.flags.get()
    }

    fn lacks_64_bit_flag(&self) -> bool {
        !self.is_current && self.flags() & raw::OLDER_EF_64_BIT == 0
    }

    fn abi_matches(&self, release: &Release) -> bool {
        let expected =
            if self.is_current && release.links_abi_8() { raw::ABI_VERSION } else { raw::OLDER_ABI_VERSION };
        self.raw.ident[8] == expected
    }

    fn number(&self) -> u16 {
        if self.is_current { (self.flags() >> 8) as u16 } else { (self.flags() & 0xff) as u16 }
    }

    fn is_mercury(&self) -> bool {
        self.is_current && self.flags() & FLAG_MERCURY != 0
    }

    fn links_for(&self, target: Target, release: &Release) -> CubinMatch {
        let code = CubinArch { number: self.number(), is_mercury: self.is_mercury(), record: self.compat() };
        if !target.is_virtual() {
            return release.links_cubin(&code, target.arch);
        }
        // What is only read and never linked is taken upward, `a` code for its own number.
        let accelerated = code.record.is_some_and(|record| record.accelerated != 0);
        let reaches =
            if accelerated { code.number == target.arch.number } else { code.number <= target.arch.number };
        if reaches && !code.is_mercury { CubinMatch::Links } else { CubinMatch::Mismatch }
    }

    /// Whether it is named as code for an `a` architecture.
    /// In the header of older toolkits the bit means something from sm_90 on only (hostobj/older-accelerated).
    fn is_accelerated(&self) -> bool {
        let has_variants = self.is_current || self.number() >= FIRST_ACCELERATED;
        has_variants && self.compat().is_some_and(|record| record.accelerated == 1)
    }

    /// The flags of an older header say that there are records of `.nv.compat`, and nvlink finds none that it can read, even
    /// where there are some (hostobj/checks).
    fn promises_records(&self) -> bool {
        !self.is_current && self.flags() & OLDER_FLAG_RECORDS != 0
    }

    fn compat(&self) -> Option<CompatRecord> {
        if !self.is_current {
            let accelerated = u8::from(self.flags() & raw::OLDER_EF_ACCELERATED != 0);
            return Some(CompatRecord { accelerated, ..CompatRecord::default() });
        }
        let section = self.sections.iter().find(|section| section.sh_type.get() == raw::SHT_CUDA_COMPAT)?;
        Some(compat_record(self.data(section)?))
    }

    /// The flags say which section is the note.
    fn cuda_info(&self) -> Option<CudaInfo> {
        let index = if self.is_current { self.flags() >> 24 } else { 0 };
        let section =
            self.sections.get(index as usize).filter(|section| section.sh_type.get() == raw::SHT_NOTE)?;
        CudaInfo::parse(self.data(section)?)
    }

    fn data(&self, section: &SectionHeader) -> Option<&'data [u8]> {
        let start = usize::try_from(section.offset.get()).ok()?;
        let size = usize::try_from(section.size.get()).ok()?;
        self.bytes.get(start..start.checked_add(size)?)
    }
}
