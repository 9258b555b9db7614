//! What leads to fat binaries in an executable or a shared library: wrappers, relocations, symbols. Each is corrected; what
//! cannot be, such as an address in machine code, is refused.

use std::collections::HashSet;

use solder_cubin::raw::{ET_EXEC, PT_LOAD, Rela, SectionHeader, Symbol};
use zerocopy::little_endian::{U32, U64};

use super::host::{
    Code, EM_AARCH64, EM_X86_64, FROM_END, Host, SHF_ALLOC, SHF_EXECINSTR, SHT_DYNAMIC, SHT_DYNSYM,
    SHT_NOBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, entries,
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
    references.plain_data()?;
    references.machine_code()
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
        for section in host.sections.iter().filter(|section| section.sh_type.get() == SHT_RELA) {
            let symbols = host.sections.get(section.link.get() as usize);
            let symbols = symbols.map_or(Ok(&[][..]), |symbols| host.contents(symbols))?;
            let symbols = entries::<Symbol>(symbols);
            if section.flags.get() & SHF_ALLOC == 0 {
                self.kept_relocations(section, symbols)?;
                continue;
            }
            for (index, entry) in entries::<Rela>(host.contents(section)?).iter().enumerate() {
                let at = section.offset.get() + (index * size_of::<Rela>()) as u64;
                if is_relative(entry.r_type.get()) {
                    if let Some(new) = self.address(entry.addend.get() as u64)? {
                        self.pieces.change(self.layout.place(at) + 16, &new.to_le_bytes());
                    }
                } else if entry.symbol.get() != 0 && entry.addend.get() != 0 {
                    let symbol = symbols.get(entry.symbol.get() as usize);
                    let is_code =
                        |index: u16| self.code.iter().any(|code| code.section == usize::from(index));
                    if symbol.is_some_and(|symbol| is_code(symbol.shndx.get())) {
                        return Err("a relocation leads to the middle of a fat binary".into());
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
        Ok(())
    }

    /// Relocations that the linker has applied and left for other tools (`-Wl,--emit-relocs`), which nothing loads.
    fn kept_relocations(&mut self, section: &SectionHeader, symbols: &[Symbol]) -> Result<(), String> {
        for (index, entry) in entries::<Rela>(self.host.contents(section)?).iter().enumerate() {
            let Some(symbol) = symbols.get(entry.symbol.get() as usize) else { continue };
            let section_of = usize::from(symbol.shndx.get());
            let Some(code) = self.code.iter().find(|code| code.section == section_of) else { continue };
            let is_x86 = self.host.header.machine.get() == EM_X86_64;
            let bias = if is_x86 && FROM_END.contains(&entry.r_type.get()) { 4 } else { 0 };
            let old = symbol.value.get().wrapping_add_signed(entry.addend.get().wrapping_add(bias));
            let places = code.new_address(old).zip(code.new_address(symbol.value.get()));
            let (new, base) = places.ok_or_else(|| {
                let name = self.host.name(section);
                format!("a relocation in section '{name}' leads to the middle of a fat binary, or to code that would go")
            })?;
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
                let new = match self.code.iter().find(|code| code.section == section) {
                    Some(code) => code
                        .new_address(old)
                        .ok_or("a symbol leads to the middle of a fat binary, or to code that would go")?,
                    // The value of a symbol of another kind, such as a thread's variable, is not an address.
                    None if self.is_table(section) => self.layout.address(old),
                    None => old,
                };
                if new != old {
                    let at = table.offset.get() + (index * size_of::<Symbol>()) as u64;
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

    /// A program that is loaded where it was linked has addresses in plain sight, and nothing says which words are.
    fn plain_data(&self) -> Result<(), String> {
        if self.host.header.e_type.get() != ET_EXEC {
            return Ok(());
        }
        let changed = self.changed();
        for section in self.host.sections {
            let flags = section.flags.get();
            let is_code = self.code.iter().any(|code| code.range.start == section.offset.get());
            let is_data =
                flags & SHF_ALLOC != 0 && flags & SHF_EXECINSTR == 0 && section.sh_type.get() != SHT_NOBITS;
            if !is_data || is_code || section.sh_type.get() != 1 {
                continue;
            }
            let contents = self.host.contents(section)?;
            if let Some(value) = self.plain_word(section, contents, &changed) {
                return Err(format!(
                    "section '{}' seems to hold the address of a fat binary, {value:#x}",
                    self.host.name(section)
                ));
            }
        }
        Ok(())
    }

    /// The first word of 4 or 8 bytes that is one of the addresses and has not been corrected.
    fn plain_word(&self, section: &SectionHeader, contents: &[u8], changed: &HashSet<u64>) -> Option<u64> {
        let (first, last) = (*changed.iter().min()?, *changed.iter().max()?);
        let words = entries::<U32>(contents);
        words.iter().enumerate().find_map(|(index, word)| {
            let low = u64::from(word.get());
            let high = words.get(index + 1).map_or(0, |next| u64::from(next.get()));
            let place = section.offset.get() + (index * 4) as u64;
            let is_it = |value: &u64| (first..=last).contains(value) && changed.contains(value);
            let value = [low, high << 32 | low].into_iter().find(is_it)?;
            (!self.slots.contains(&place)).then_some(value)
        })
    }

    /// Host code refers to wrappers, never to fat binaries. Where it does, what it refers to must not move.
    fn machine_code(&self) -> Result<(), String> {
        let lost = LostPlaces { layout: self.layout, code: self.code, begins: self.changed() };
        if lost.begins.is_empty() && self.code.iter().all(|code| code.lost().is_empty()) {
            return Ok(());
        }
        let is_fixed = self.host.header.e_type.get() == ET_EXEC;
        let is_code = |section: &&SectionHeader| section.flags.get() & SHF_EXECINSTR != 0;
        for section in self.host.sections.iter().filter(is_code) {
            let contents = self.host.contents(section)?;
            let start = section.addr.get();
            let found = match self.host.header.machine.get() {
                EM_X86_64 => machine::x86_64(contents, start, &lost, is_fixed),
                _ => machine::aarch64(contents, start, &lost),
            };
            if let Some(address) = found {
                return Err(format!(
                    "machine code in section '{}' seems to refer to {address:#x}, which would move",
                    self.host.name(section)
                ));
            }
        }
        Ok(())
    }
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
