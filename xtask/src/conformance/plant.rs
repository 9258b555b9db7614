//! Edits that the compilers never make: `OUT = plant IN EDITS…` (docs/testing.md lists them).

use super::elf::{self, Elf, Section};
use crate::Result;

/// Applies one edit to a file's bytes.
pub fn apply(bytes: &mut Vec<u8>, edit: &str) -> Result<()> {
    if let Some(rest) = edit.strip_prefix("info:") {
        let (section, id) = rest.split_once("-=").ok_or("expected info:SECTION-=ID")?;
        return remove_attribute(bytes, section, number(id)? as u8);
    }
    if let Some(rest) = edit.strip_prefix("compat:") {
        let (id, value) = rest.split_once('=').ok_or("expected compat:ID=HEX")?;
        return set_compat(bytes, number(id)? as u8, &hex(value)?);
    }
    if let Some(rest) = edit.strip_prefix("sym:") {
        let (target, value) = rest.split_once('=').ok_or("expected sym:NAME.FIELD=VALUE")?;
        let (name, field) = target.rsplit_once('.').ok_or("expected sym:NAME.FIELD=VALUE")?;
        return edit_symbol(bytes, name, field, value);
    }
    if let Some((section, content)) = edit.split_once(":=") {
        let section = Elf::parse(bytes)?.section(section)?.clone();
        return replace_section(bytes, &section, &hex(content)?);
    }
    if let Some((section, bytes_to_add)) = edit.split_once("<<") {
        let section = Elf::parse(bytes)?.section(section)?.clone();
        let mut data = Elf::parse(bytes)?.data(&section).to_vec();
        data.extend(hex(bytes_to_add)?);
        return replace_section(bytes, &section, &data);
    }
    let (target, value) = edit.split_once('=').ok_or("not an edit")?;
    match target {
        "flags" => overwrite(bytes, 0x30, &(number(value)? as u32).to_le_bytes()),
        "etype" => overwrite(bytes, 0x10, &(number(value)? as u16).to_le_bytes()),
        "abi" => overwrite(bytes, 8, &[number(value)? as u8]),
        "osabi" => overwrite(bytes, 7, &[number(value)? as u8]),
        "truncate" => {
            let length = number(value)? as usize;
            if length > bytes.len() {
                return Err(format!("the file has only {} bytes", bytes.len()));
            }
            bytes.truncate(length);
            Ok(())
        }
        _ => {
            let data = hex(value)?;
            let at = place(bytes, target, data.len())?;
            overwrite(bytes, at, &data)
        }
    }
}

/// The file offset that `@OFFSET` or `SECTION+OFFSET` means, with room for `length` bytes.
fn place(bytes: &[u8], target: &str, length: usize) -> Result<usize> {
    if let Some(offset) = target.strip_prefix('@') {
        return Ok(number(offset)? as usize);
    }
    let (section, offset) = target.rsplit_once('+').ok_or("not an edit")?;
    let elf = Elf::parse(bytes)?;
    let section = elf.section(section)?;
    let offset = number(offset)?;
    if offset + length as u64 > section.size {
        return Err(format!("the section has only {} bytes", section.size));
    }
    Ok((section.offset + offset) as usize)
}

fn number(text: &str) -> Result<u64> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is not a number"))
}

fn hex(text: &str) -> Result<Vec<u8>> {
    let pair = |pair: &[u8]| str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
    bytes.filter(|_| text.len().is_multiple_of(2)).ok_or(format!("'{text}' is not a row of hex bytes"))
}

fn overwrite(bytes: &mut [u8], at: usize, data: &[u8]) -> Result<()> {
    let length = bytes.len();
    let target = bytes.get_mut(at..at + data.len()).ok_or(format!("the file has only {length} bytes"))?;
    target.copy_from_slice(data);
    Ok(())
}

/// Gives a section new content: in place when it did not grow, else at the end of the file.
fn replace_section(bytes: &mut Vec<u8>, section: &Section, data: &[u8]) -> Result<()> {
    let mut offset = section.offset as usize;
    if data.len() as u64 > section.size {
        offset = bytes.len().next_multiple_of((section.align as usize).max(8));
        bytes.resize(offset + data.len(), 0);
    }
    overwrite(bytes, offset, data)?;
    overwrite(bytes, section.header + 24, &(offset as u64).to_le_bytes())?;
    overwrite(bytes, section.header + 32, &(data.len() as u64).to_le_bytes())
}

/// Removes every record of one attribute from a `.nv.info` section.
fn remove_attribute(bytes: &mut Vec<u8>, section: &str, id: u8) -> Result<()> {
    let elf = Elf::parse(bytes)?;
    let section = elf.section(section)?.clone();
    let data = elf.data(&section);
    let mut kept = Vec::with_capacity(data.len());
    let mut at = 0;
    while at < data.len() {
        let sized = data[at] == 4;
        let length = 4 + if sized { elf::u16_at(data, at + 2)? as usize } else { 0 };
        let record = data.get(at..at + length).ok_or("a record is cut short")?;
        if record[1] != id {
            kept.extend_from_slice(record);
        }
        at += length;
    }
    if kept.len() == data.len() {
        return Err(format!("no attribute {id:#x} in '{}'", section.name));
    }
    replace_section(bytes, &section, &kept)
}

/// Gives a record of `.nv.compat` another value; one that is not there yet is added. What the assembler writes differs from
/// release to release.
fn set_compat(bytes: &mut Vec<u8>, id: u8, value: &[u8]) -> Result<()> {
    let elf = Elf::parse(bytes)?;
    let section = elf.section(".nv.compat")?.clone();
    let mut data = elf.data(&section).to_vec();
    let mut at = 0;
    while at + 4 <= data.len() && data[at + 1] != id {
        at += 4 + if data[at] == 4 { elf::u16_at(&data, at + 2)? as usize } else { 0 };
    }
    if at + 4 > data.len() {
        let format = if value.len() == 1 { 2 } else { 3 };
        data.extend([format, id, 0, 0]);
    }
    data.get_mut(at + 2..at + 2 + value.len()).ok_or("a record is cut short")?.copy_from_slice(value);
    replace_section(bytes, &section, &data)
}

fn edit_symbol(bytes: &mut [u8], name: &str, field: &str, value: &str) -> Result<()> {
    const SHT_SYMTAB: u32 = 2;
    let elf = Elf::parse(bytes)?;
    let table = elf.sections.iter().find(|section| section.kind == SHT_SYMTAB).ok_or("no symbol table")?;
    let strings = elf.sections.get(table.link as usize).map(|section| elf.data(section)).unwrap_or_default();
    let is_named =
        |symbol: &[u8]| elf::u32_at(symbol, 0).is_ok_and(|at| elf::string_at(strings, at as usize) == name);
    let index = elf.data(table).chunks_exact(24).position(is_named).ok_or(format!("no symbol '{name}'"))?;
    let at = table.offset as usize + index * 24;
    match field {
        "bind" => {
            let bind = match value {
                "local" => 0,
                "global" => 1,
                "weak" => 2,
                _ => return Err("expected local, global or weak".into()),
            };
            let kind = bytes[at + 4] & 0xf;
            overwrite(bytes, at + 4, &[bind << 4 | kind])
        }
        "type" => {
            let bind = bytes[at + 4] & 0xf0;
            overwrite(bytes, at + 4, &[bind | number(value)? as u8 & 0xf])
        }
        "other" => overwrite(bytes, at + 5, &[number(value)? as u8]),
        "shndx" => overwrite(bytes, at + 6, &(number(value)? as u16).to_le_bytes()),
        "value" => overwrite(bytes, at + 8, &number(value)?.to_le_bytes()),
        "size" => overwrite(bytes, at + 16, &number(value)?.to_le_bytes()),
        _ => Err(format!("unknown field '{field}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four sections: null, names, an info section with two records, and a symbol table.
    fn sample() -> Vec<u8> {
        let names = b"\0.names\0.nv.info\0.symtab\0f\0";
        let info = [3, 0x1b, 0xff, 0, 4, 0x2f, 4, 0, 1, 2, 3, 4];
        let mut symbols = vec![0; 24];
        symbols.extend([25u32.to_le_bytes().as_slice(), &[0x12, 0, 2, 0], &[0; 16]].concat());
        let mut bytes = vec![0; 0x40];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut headers = vec![vec![0; 64]];
        for (name, kind, link, data) in
            [(1u32, 3u32, 0u32, names.as_slice()), (8, 1, 0, &info), (17, 2, 1, symbols.as_slice())]
        {
            let mut header = vec![0; 64];
            header[0..4].copy_from_slice(&name.to_le_bytes());
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(data.len() as u64).to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            headers.push(header);
            bytes.extend(data);
        }
        let table = bytes.len() as u64;
        bytes[0x28..0x30].copy_from_slice(&table.to_le_bytes());
        bytes[0x3a..0x40].copy_from_slice(&[64, 0, 4, 0, 1, 0]);
        bytes.extend(headers.concat());
        bytes
    }

    fn section(bytes: &[u8], name: &str) -> Vec<u8> {
        let elf = Elf::parse(bytes).unwrap();
        elf.data(elf.section(name).unwrap()).to_vec()
    }

    fn planted(edit: &str) -> Vec<u8> {
        let mut bytes = sample();
        apply(&mut bytes, edit).unwrap();
        bytes
    }

    #[test]
    fn raw_and_header() {
        assert_eq!(planted("@0x12=be00")[0x12], 0xbe);
        assert_eq!(planted("flags=0x06005a04")[0x30..0x34], [4, 0x5a, 0, 6]);
        assert_eq!(planted("etype=2")[0x10], 2);
        assert_eq!(planted("abi=7")[8], 7);
        assert_eq!(planted("osabi=0x33")[7], 0x33);
        assert_eq!(planted("truncate=100").len(), 100);
        assert_eq!(section(&planted(".nv.info+2=aabb"), ".nv.info")[..4], [3, 0x1b, 0xaa, 0xbb]);
    }

    #[test]
    fn sections() {
        let longer = section(&planted(".nv.info<<01370000"), ".nv.info");
        assert_eq!((longer.len(), &longer[12..]), (16, [1, 0x37, 0, 0].as_slice()));
        assert_eq!(section(&planted("info:.nv.info-=0x2f"), ".nv.info"), [3, 0x1b, 0xff, 0]);
        assert_eq!(section(&planted("info:.nv.info-=0x1b"), ".nv.info"), [4, 0x2f, 4, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn symbols() {
        let symbol = |edit: &str| section(&planted(edit), ".symtab")[24..].to_vec();
        assert_eq!(symbol("sym:f.bind=weak")[4], 0x22);
        assert_eq!(symbol("sym:f.other=0x10")[5], 0x10);
        assert_eq!(symbol("sym:f.value=0x80")[8], 0x80);
        assert_eq!(symbol("sym:f.size=7")[16], 7);
    }

    #[test]
    fn mistakes_are_named() {
        let mistake = |edit: &str| apply(&mut sample(), edit).unwrap_err();
        assert!(mistake("@0x9999=00").contains("only"));
        assert!(mistake(".nv.info+11=0000").contains("only"));
        assert!(mistake(".none+0=00").contains("no section"));
        assert!(mistake("sym:g.size=1").contains("no symbol"));
        assert!(mistake("info:.nv.info-=0x55").contains("no attribute"));
        assert!(mistake("@0=0").contains("hex"));
        assert!(mistake("nonsense").contains("not an edit"));
    }
}
