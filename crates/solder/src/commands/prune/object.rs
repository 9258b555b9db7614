//! Host objects: the sections of fat binaries shrink, and what follows in the file moves up, as nvprune does it.

use solder_cubin::raw::{FileHeader, Rela, SectionHeader, Symbol};
use zerocopy::IntoBytes;

use super::host::{Code, EM_X86_64, FROM_END, Host, SHT_DYNSYM, SHT_REL, SHT_RELA, SHT_SYMTAB, entries};
use super::pieces::Pieces;

pub(super) fn rebuild<'data>(host: &Host<'data>, code: &[Code<'data>]) -> Result<Pieces<'data>, String> {
    let object = Object { host, code };
    let mut pieces = Pieces::default();
    let mut from = 0;
    for code in code {
        pieces.push(&host.data[from as usize..code.range.start as usize]);
        pieces.append(code.new.pieces.clone());
        pieces.zeros(padding(code));
        from = code.range.end;
    }
    pieces.push(&host.data[from as usize..]);
    object.headers(&mut pieces);
    object.symbols(&mut pieces)?;
    object.relocations(&mut pieces)?;
    Ok(pieces)
}

/// What follows stays aligned to eight bytes.
fn padding(code: &Code<'_>) -> u64 {
    let old = code.range.end - code.range.start;
    let new = code.new.pieces.size();
    (old.wrapping_sub(new)) % 8
}

struct Object<'a, 'data> {
    host: &'a Host<'data>,
    code: &'a [Code<'data>],
}

impl Object<'_, '_> {
    fn size(code: &Code<'_>) -> u64 {
        code.new.pieces.size() + padding(code)
    }

    /// Where in the new file something is that is not in a fat binary.
    fn place(&self, offset: u64) -> u64 {
        let before = self.code.iter().filter(|code| code.range.end <= offset);
        // The offset of a section without bytes may be any number.
        before.fold(offset, |at, code| {
            at.wrapping_add(Self::size(code)).wrapping_sub(code.range.end - code.range.start)
        })
    }

    fn code_of(&self, section: u16) -> Option<&Code<'_>> {
        self.code.iter().find(|code| code.section == usize::from(section))
    }

    fn headers(&self, pieces: &mut Pieces<'_>) {
        let header =
            FileHeader { shoff: self.place(self.host.header.shoff.get()).into(), ..self.host.header };
        pieces.change(0, header.as_bytes());
        let mut sections: Vec<SectionHeader> = self.host.sections.to_vec();
        for section in &mut sections {
            section.offset = self.place(section.offset.get()).into();
        }
        for code in self.code {
            sections[code.section].size = Self::size(code).into();
        }
        pieces.change(header.shoff.get(), sections.as_bytes());
    }

    /// nvprune leaves the sizes of symbols.
    fn symbols(&self, pieces: &mut Pieces<'_>) -> Result<(), String> {
        for table in self.sections(&[SHT_SYMTAB, SHT_DYNSYM]) {
            for (index, symbol) in entries::<Symbol>(self.host.contents(table)?).iter().enumerate() {
                let Some(code) = self.code_of(symbol.shndx.get()) else { continue };
                let value = code.new.new_place(symbol.value.get());
                let value = value.ok_or("a symbol leads to the middle of a fat binary")?;
                let at = table.offset.get() + (index * size_of::<Symbol>()) as u64;
                pieces.change(self.place(at) + 8, &value.to_le_bytes());
            }
        }
        Ok(())
    }

    fn relocations(&self, pieces: &mut Pieces<'_>) -> Result<(), String> {
        for section in self.sections(&[SHT_RELA, SHT_REL]) {
            let symbols = self.host.sections.get(section.link.get() as usize);
            let symbols = symbols.map_or(Ok(&[][..]), |section| self.host.contents(section))?;
            let symbols = entries::<Symbol>(symbols);
            let contents = self.host.contents(section)?;
            if section.sh_type.get() == SHT_REL {
                self.refuse_without_addends(contents, symbols)?;
                continue;
            }
            for (index, entry) in entries::<Rela>(contents).iter().enumerate() {
                let Some(symbol) = symbols.get(entry.symbol.get() as usize) else { continue };
                let Some(code) = self.code_of(symbol.shndx.get()) else { continue };
                let addend = self.addend(entry, symbol, code)?;
                let at = section.offset.get() + (index * size_of::<Rela>()) as u64;
                pieces.change(self.place(at) + 16, &addend.to_le_bytes());
            }
        }
        Ok(())
    }

    fn addend(&self, entry: &Rela, symbol: &Symbol, code: &Code<'_>) -> Result<i64, String> {
        let is_x86 = self.host.header.machine.get() == EM_X86_64;
        let bias = if is_x86 && FROM_END.contains(&entry.r_type.get()) { 4 } else { 0 };
        let old = symbol.value.get().wrapping_add_signed(entry.addend.get().wrapping_add(bias));
        let middle = "a relocation leads to the middle of a fat binary";
        let new = code.new.new_place(old).ok_or(middle)?;
        let value = code.new.new_place(symbol.value.get()).ok_or(middle)?;
        Ok((new as i64).wrapping_sub(value as i64).wrapping_sub(bias))
    }

    fn refuse_without_addends(&self, contents: &[u8], symbols: &[Symbol]) -> Result<(), String> {
        for entry in entries::<solder_cubin::raw::Rel>(contents) {
            let symbol = symbols.get(entry.symbol.get() as usize);
            if symbol.is_some_and(|symbol| self.code_of(symbol.shndx.get()).is_some()) {
                return Err("a relocation without addend leads to a fat binary".into());
            }
        }
        Ok(())
    }

    fn sections(&self, kinds: &'static [u32]) -> impl Iterator<Item = &SectionHeader> {
        self.host.sections.iter().filter(|section| kinds.contains(&section.sh_type.get()))
    }
}
