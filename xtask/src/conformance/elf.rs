//! Just enough of 64-bit little-endian ELF to plant faults into a file.

use crate::Result;

pub struct Elf<'a> {
    pub bytes: &'a [u8],
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub name: String,
    /// Where its header lies in the file.
    pub header: usize,
    pub kind: u32,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub align: u64,
}

const SHT_NOBITS: u32 = 8;

pub fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    let field = bytes.get(at..at + 2).ok_or("cut short")?;
    Ok(u16::from_le_bytes([field[0], field[1]]))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    let field = bytes.get(at..at + 4).ok_or("cut short")?;
    Ok(u32::from_le_bytes([field[0], field[1], field[2], field[3]]))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    Ok(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at + 4)?) << 32)
}

/// The zero-terminated string at an offset of a string table.
pub fn string_at(table: &[u8], at: usize) -> String {
    let tail = table.get(at..).unwrap_or_default();
    let end = tail.iter().position(|&byte| byte == 0).unwrap_or(tail.len());
    String::from_utf8_lossy(&tail[..end]).into_owned()
}

impl<'a> Elf<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Err("not a 64-bit little-endian ELF file".into());
        }
        let table = u64_at(bytes, 0x28)? as usize;
        let entry = u16_at(bytes, 0x3a)? as usize;
        let mut count = u16_at(bytes, 0x3c)? as usize;
        let mut names = u16_at(bytes, 0x3e)? as usize;
        if count == 0 && table != 0 {
            count = u64_at(bytes, table + 0x20)? as usize;
        }
        if names == 0xffff {
            names = u32_at(bytes, table + 0x28)? as usize;
        }
        let mut elf = Self { bytes, sections: Vec::new() };
        for index in 0..count {
            elf.sections.push(Section::parse(bytes, table + index * entry)?);
        }
        let strings = elf.sections.get(names).map(|section| elf.data(section)).unwrap_or_default();
        for section in &mut elf.sections {
            section.name = string_at(strings, u32_at(bytes, section.header)? as usize);
        }
        Ok(elf)
    }

    pub fn data(&self, section: &Section) -> &'a [u8] {
        if section.kind == SHT_NOBITS {
            return &[];
        }
        let range = section.offset as usize..(section.offset.saturating_add(section.size)) as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    pub fn section(&self, name: &str) -> Result<&Section> {
        self.sections.iter().find(|section| section.name == name).ok_or(format!("no section '{name}'"))
    }
}

impl Section {
    fn parse(bytes: &[u8], header: usize) -> Result<Self> {
        let half = |at: usize| u32_at(bytes, header + at);
        let word = |at: usize| u64_at(bytes, header + at);
        Ok(Self {
            name: String::new(),
            header,
            kind: half(4)?,
            offset: word(24)?,
            size: word(32)?,
            link: half(40)?,
            align: word(48)?,
        })
    }
}
