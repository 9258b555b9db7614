//! What leads to fat binaries in an executable or a shared library: wrappers, relocations, symbols. Each is corrected; what
//! cannot be, such as an address in machine code, is refused.

use std::collections::HashSet;
use std::ops::Range;

use solder_cubin::raw::{ET_EXEC, PT_LOAD, Rela, SectionHeader, Symbol};
use zerocopy::little_endian::U64;

use super::aarch64;
use super::data::Data;
use super::host::{
    Code, EM_AARCH64, EM_X86_64, FROM_END, Host, SHF_ALLOC, SHF_EXECINSTR, SHT_DYNAMIC, SHT_DYNSYM, SHT_REL,
    SHT_RELA, SHT_SYMTAB, entries,
};
use super::layout::Layout;
use super::machine::{self, Lost};
use super::pieces::Pieces;

const WRAPPERS: &[u8] = b".nvFatBinSegment";
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const WRAPPER_SIZE: usize = 24;
/// Code that was not linked for the device, and code that was, which also names what it was linked from.
const WRAPPER_VERSIONS: [u32; 2] = [1, 2];

const SHT_RELR: u32 = 19;
/// The first of the packed relocations of Android.
const SHT_ANDROID: [u32; 2] = [0x6000_0001, 0x6000_0002];

/// Relocations to an entry of the table of addresses, which has the address of the symbol.
const BY_TABLE_X86_64: [u32; 9] = [3, 9, 27, 28, 29, 30, 41, 42, 43];
const BY_TABLE_AARCH64: [u32; 10] = [300, 301, 302, 303, 304, 305, 306, 307, 311, 312];

/// The entries of the dynamic section that are addresses of tables.
const DYNAMIC_ADDRESSES: [u64; 10] = [4, 5, 6, 7, 23, 36, 0x6fff_fef5, 0x6fff_fff0, 0x6fff_fffc, 0x6fff_fffe];

pub(super) fn correct(
    host: &Host<'_>,
    code: &[Code<'_>],
    layout: &Layout<'_, '_>,
    pieces: &mut Pieces<'_>,
) -> Result<(), String> {
    let mut references = References { host, code, layout, pieces, slots: HashSet::new() };
    references.wrappers()?;
    references.relocations()?;
    references.symbols()?;
    references.dynamic()?;
    references.code_and_data()
}

struct References<'a, 'data, 'out> {
    host: &'a Host<'data>,
    code: &'a [Code<'data>],
    layout: &'a Layout<'a, 'data>,
    pieces: &'a mut Pieces<'out>,
    /// Places in the file whose words have been corrected.
    slots: HashSet<u64>,
}

impl References<'_, '_, '_> {
    /// The new address of what was at an address, if it has one. An address at which another section begins is that
    /// section's.
    fn address(&self, old: u64) -> Result<Option<u64>, String> {
        let moved = self.layout.address(old);
        if moved != old {
            return Ok(Some(moved));
        }
        // Where one section ends and another begins, it is the latter's.
        let begins = self.code.iter().find(|code| code.address == old);
        let Some(code) = begins.or_else(|| self.code.iter().find(|code| code.holds(old))) else {
            return Ok(None);
        };
        let is_end = old != code.address && code.new.new_place(old - code.address).is_some();
        let is_other = |section: &SectionHeader| {
            section.flags.get() & SHF_ALLOC != 0 && section.addr.get() == old && section.size.get() > 0
        };
        if is_end && self.host.sections.iter().any(is_other) {
            return Ok(None);
        }
        let name = self.host.name(&self.host.sections[code.section]);
        code.new_address(old).map(Some).ok_or(format!(
            "an address, {old:#x}, leads to the middle of a fat binary in section '{name}' or to code that would go"
        ))
    }

    fn sections(&self, kinds: &'static [u32]) -> impl Iterator<Item = &'_ SectionHeader> + use<'_> {
        self.host.sections.iter().filter(|section| kinds.contains(&section.sh_type.get()))
    }

    /// The word at a place in the old file, if it is an address of a fat binary.
    fn correct_word(&mut self, place: u64) -> Result<(), String> {
        let Some(old) = word(self.host.data, place) else {
            return Err("a pointer to a fat binary lies outside of the file".into());
        };
        if let Some(new) = self.address(old)? {
            self.pieces.change(self.layout.place(place), &new.to_le_bytes());
        }
        self.slots.insert(place);
        Ok(())
    }

    /// The structures by which host code registers fat binaries.
    fn wrappers(&mut self) -> Result<(), String> {
        let host = self.host;
        for section in host.sections.iter().filter(|section| host.name_bytes(section) == WRAPPERS) {
            let contents = host.contents(section)?;
            for (index, record) in contents.chunks(WRAPPER_SIZE).enumerate() {
                let field =
                    |at: usize| record.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                if record.iter().all(|&byte| byte == 0) {
                    continue;
                }
                let (magic, version) = (field(0), field(4));
                let is_known = record.len() == WRAPPER_SIZE
                    && magic == Some(WRAPPER_MAGIC)
                    && version.is_some_and(|version| WRAPPER_VERSIONS.contains(&version));
                if !is_known {
                    return Err(
                        "section '.nvFatBinSegment' holds something other than wrappers of version 1 and 2"
                            .into(),
                    );
                }
                let place = section.offset.get() + (index * WRAPPER_SIZE) as u64;
                self.correct_word(place + 8)?;
                if version == Some(2) && host.header.e_type.get() == ET_EXEC {
                    self.list(word(host.data, place + 16).unwrap_or(0))?;
                }
            }
        }
        Ok(())
    }

    /// The fat binaries that code was linked from: pointers, ended by a zero.
    fn list(&mut self, address: u64) -> Result<(), String> {
        let Some(mut place) = self.offset_of(address) else { return Ok(()) };
        while word(self.host.data, place).is_some_and(|word| word != 0) {
            self.correct_word(place)?;
            place += 8;
        }
        Ok(())
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.host.segments.iter().find_map(|segment| {
            let passed = address.checked_sub(segment.vaddr.get())?;
            let is_in = segment.p_type.get() == PT_LOAD && passed < segment.filesz.get();
            is_in.then(|| segment.offset.get().checked_add(passed)).flatten()
        })
    }

    fn relocations(&mut self) -> Result<(), String> {
        let host = self.host;
        let is_relative = |kind: u32| match host.header.machine.get() {
            EM_X86_64 => kind == 8,
            EM_AARCH64 => kind == 1027,
            _ => false,
        };
        if self.sections(&SHT_ANDROID).next().is_some() {
            return Err("the relocations are packed in an unknown way".into());
        }
        if self.sections(&[SHT_REL]).any(|section| section.flags.get() & SHF_ALLOC != 0) {
            return Err("there are relocations without addends".into());
        }
        let mut kept = Vec::new();
        for section in host.sections.iter().filter(|section| section.sh_type.get() == SHT_RELA) {
            let symbols = host.sections.get(section.link.get() as usize);
            let symbols = symbols.map_or(Ok(&[][..]), |symbols| host.contents(symbols))?;
            let symbols = entries::<Symbol>(symbols);
            if section.flags.get() & SHF_ALLOC == 0 {
                kept.push((section, symbols));
                continue;
            }
            for (index, entry) in entries::<Rela>(host.contents(section)?).iter().enumerate() {
                let at = section.offset.get() + (index * size_of::<Rela>()) as u64;
                if is_relative(entry.r_type.get()) {
                    if let Some(new) = self.address(entry.addend.get() as u64)? {
                        self.pieces.change(self.layout.place(at) + 16, &new.to_le_bytes());
                        self.slots.extend(self.offset_of(entry.offset.get()));
                    }
                } else if entry.symbol.get() != 0 {
                    let symbol = symbols.get(entry.symbol.get() as usize);
                    let is_code =
                        |index: u16| self.code.iter().any(|code| code.section == usize::from(index));
                    if symbol.is_some_and(|symbol| is_code(symbol.shndx.get())) {
                        if entry.addend.get() != 0 {
                            return Err("a relocation leads to the middle of a fat binary".into());
                        }
                        self.slots.extend(self.offset_of(entry.offset.get()));
                    }
                }
            }
        }
        for section in host.sections.iter().filter(|section| section.sh_type.get() == SHT_RELR) {
            for address in packed(entries::<U64>(host.contents(section)?)) {
                if let Some(place) = self.offset_of(address) {
                    self.correct_word(place)?;
                }
            }
        }
        for (section, symbols) in kept {
            self.kept_relocations(section, symbols)?;
        }
        Ok(())
    }

    /// Relocations that the linker has applied and left for other tools (`-Wl,--emit-relocs`), which nothing loads.
    fn kept_relocations(&mut self, section: &SectionHeader, symbols: &[Symbol]) -> Result<(), String> {
        let is_x86 = self.host.header.machine.get() == EM_X86_64;
        let by_table = if is_x86 { &BY_TABLE_X86_64[..] } else { &BY_TABLE_AARCH64 };
        let place = self.host.sections.get(section.info.get() as usize);
        let is_loaded = place.is_some_and(|place| place.flags.get() & SHF_ALLOC != 0);
        for (index, entry) in entries::<Rela>(self.host.contents(section)?).iter().enumerate() {
            let Some(symbol) = symbols.get(entry.symbol.get() as usize) else { continue };
            let section_of = usize::from(symbol.shndx.get());
            let Some(code) = self.code.iter().find(|code| code.section == section_of) else { continue };
            if by_table.contains(&entry.r_type.get()) {
                continue;
            }
            let bias = if is_x86 && FROM_END.contains(&entry.r_type.get()) { 4 } else { 0 };
            let old = symbol.value.get().wrapping_add_signed(entry.addend.get().wrapping_add(bias));
            let places = code.new_address(old).zip(code.new_address(symbol.value.get()));
            let (new, base) = places.ok_or_else(|| {
                let name = self.host.name(section);
                format!("a relocation in section '{name}' leads to the middle of a fat binary, or to code that would go")
            })?;
            let is_corrected = self.offset_of(entry.offset.get()).is_some_and(|at| self.slots.contains(&at));
            if is_loaded && new != old && !is_corrected {
                return Err(format!(
                    "a relocation in section '{}' shows a reference to a fat binary that would move",
                    self.host.name(section)
                ));
            }
            let addend = (new as i64).wrapping_sub(base as i64).wrapping_sub(bias);
            let at = section.offset.get() + (index * size_of::<Rela>()) as u64;
            self.pieces.change(self.layout.place(at) + 16, &addend.to_le_bytes());
        }
        Ok(())
    }

    fn symbols(&mut self) -> Result<(), String> {
        let host = self.host;
        for table in host.sections.iter().filter(|s| [SHT_SYMTAB, SHT_DYNSYM].contains(&s.sh_type.get())) {
            for (index, symbol) in entries::<Symbol>(host.contents(table)?).iter().enumerate() {
                let section = usize::from(symbol.shndx.get());
                let old = symbol.value.get();
                let at = table.offset.get() + (index * size_of::<Symbol>()) as u64;
                let new = match self.code.iter().find(|code| code.section == section) {
                    Some(code) => {
                        // A loader copies so many bytes of a library's symbol into a program that is not position-independent.
                        let size = code.new.new_size(old.wrapping_sub(code.address), symbol.size.get());
                        if let Some(size) = size.filter(|size| *size != symbol.size.get()) {
                            self.pieces.change(self.layout.place(at) + 16, &size.to_le_bytes());
                        }
                        code.new_address(old)
                            .ok_or("a symbol leads to the middle of a fat binary, or to code that would go")?
                    }
                    // The value of a symbol of another kind, such as a thread's variable, is not an address.
                    None if self.is_table(section) => self.layout.address(old),
                    None => old,
                };
                if new != old {
                    self.pieces.change(self.layout.place(at) + 8, &new.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// Whether a section is among the tables that were moved.
    fn is_table(&self, section: usize) -> bool {
        let start = self.host.sections.get(section).map(|section| section.offset.get());
        self.layout.block.as_ref().zip(start).is_some_and(|(block, start)| block.old.contains(&start))
    }

    /// The addresses of tables that were moved.
    fn dynamic(&mut self) -> Result<(), String> {
        let host = self.host;
        for section in host.sections.iter().filter(|section| section.sh_type.get() == SHT_DYNAMIC) {
            for (index, entry) in entries::<[U64; 2]>(host.contents(section)?).iter().enumerate() {
                let [tag, old] = entry.map(U64::get);
                let new = self.layout.address(old);
                if DYNAMIC_ADDRESSES.contains(&tag) && new != old {
                    let at = section.offset.get() + (index * 16) as u64;
                    self.pieces.change(self.layout.place(at) + 8, &new.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// Addresses that change, of fat binaries and of tables.
    fn changed(&self) -> HashSet<u64> {
        let starts: HashSet<u64> = self.host.sections.iter().map(|section| section.addr.get()).collect();
        let of = |code: &Code<'_>| {
            let end = code.address + code.size();
            let is_own = |address: &u64| *address != end || !starts.contains(address);
            code.changed().filter(is_own).collect::<Vec<_>>()
        };
        let mut changed: HashSet<u64> = self.code.iter().flat_map(of).collect();
        if let Some(block) = &self.layout.block {
            changed.insert(block.addresses.start);
        }
        changed
    }

    /// Host code refers to wrappers, never to fat binaries. Where it does, what it refers to must not move. The same holds for
    /// data without relocations.
    fn code_and_data(&self) -> Result<(), String> {
        let changed = self.changed();
        let mut lost = LostPlaces { layout: self.layout, code: self.code, begins: changed.clone() };
        if lost.begins.is_empty() && self.code.iter().all(|code| code.lost().is_empty()) {
            return Ok(());
        }
        let data =
            Data { host: self.host, code: self.code, lost: &lost, changed: &changed, slots: &self.slots };
        let tables = data.check()?;
        // Linkers name the start and the end of such a section, for code that goes through it.
        let named = self.code.iter().filter(|code| is_identifier(self.host, code) && !code.lost().is_empty());
        lost.begins.extend(named.map(|code| code.address));
        if let Some((section, address)) = self.in_machine_code(&lost)? {
            return Err(format!(
                "machine code in section '{section}' seems to refer to {address:#x}, which would move"
            ));
        }
        if !tables.is_empty()
            && let Some((section, address)) = self.in_machine_code(&tables)?
        {
            return Err(format!(
                "machine code in section '{section}' seems to use a table, at {address:#x}, of distances to fat binaries"
            ));
        }
        Ok(())
    }

    /// The first reference of machine code to something, and the section with that code.
    fn in_machine_code(&self, lost: &impl Lost) -> Result<Option<(String, u64)>, String> {
        let host = self.host;
        let is_fixed = host.header.e_type.get() == ET_EXEC;
        let is_table = |section: &&SectionHeader| matches!(host.name_bytes(section), b".got" | b".got.plt");
        let tables: Vec<u64> = host.sections.iter().filter(is_table).map(|table| table.addr.get()).collect();
        let is_code = |section: &&SectionHeader| section.flags.get() & SHF_EXECINSTR != 0;
        for section in host.sections.iter().filter(is_code) {
            let contents = host.contents(section)?;
            let start = section.addr.get();
            let found = match host.header.machine.get() {
                EM_X86_64 => machine::x86_64(contents, start, lost, is_fixed, &tables),
                _ => aarch64::find(contents, start, lost, is_fixed),
            };
            if let Some(address) = found {
                return Ok(Some((host.name(section), address)));
            }
        }
        Ok(None)
    }
}

/// Whether the name of a section is one that C has for variables.
fn is_identifier(host: &Host<'_>, code: &Code<'_>) -> bool {
    let name = host.name_bytes(&host.sections[code.section]);
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Addresses that lead to something else than before.
struct LostPlaces<'a, 'data> {
    layout: &'a Layout<'a, 'data>,
    code: &'a [Code<'data>],
    begins: HashSet<u64>,
}

impl Lost for LostPlaces<'_, '_> {
    fn is_lost(&self, address: u64) -> bool {
        let is_in =
            |code: &Code<'_>| code.lost().contains(&address) && code.new_address(address) != Some(address);
        self.layout.address(address) != address || self.code.iter().any(is_in) || self.begins(address)
    }

    fn begins(&self, address: u64) -> bool {
        self.begins.contains(&address)
    }

    fn is_near(&self, address: u64) -> bool {
        /// What an instruction can add to a register.
        const REACH: u64 = 1 << 16;
        let meets = |range: &Range<u64>| {
            range.start < address.saturating_add(REACH) && address.saturating_sub(REACH) < range.end
        };
        let block = self.layout.block.as_ref().map(|block| &block.addresses);
        self.code.iter().any(|code| meets(&(code.address..code.address + code.size() + 1)))
            || block.is_some_and(meets)
    }

    fn holds(&self, address: u64) -> bool {
        self.code.iter().any(|code| code.holds(address))
    }
}

fn word(data: &[u8], place: u64) -> Option<u64> {
    let bytes = data.get(usize::try_from(place).ok()?..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// The places of packed relative relocations: an address, then maps of the 63 words after it.
fn packed(words: &[U64]) -> Vec<u64> {
    let (mut places, mut next) = (Vec::new(), 0_u64);
    for word in words.iter().map(|word| word.get()) {
        if word & 1 == 0 {
            places.push(word);
            next = word.wrapping_add(8);
        } else {
            let set = (0..63_u64).filter(|bit| word >> (bit + 1) & 1 == 1);
            places.extend(set.map(|bit| next.wrapping_add(bit * 8)));
            next = next.wrapping_add(63 * 8);
        }
    }
    places
}
