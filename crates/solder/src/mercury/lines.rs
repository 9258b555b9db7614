//! Line number tables of the machine code (`.debug_line`, `.nv_debug_line_sass`).
//!
//! nvlink makes them anew: every unit of the inputs, with the sequences of the functions that stay.

use std::ops::Range;

/// One unit: its bytes up to the first sequence, and where its sequences lie in the section.
#[derive(Clone, Debug)]
pub struct Unit {
    pub header: Range<usize>,
    pub sequences: Vec<Range<usize>>,
}

/// Whether a section is a line number table.
pub fn is_line_table(name: &str) -> bool {
    matches!(name, ".debug_line" | ".nv_debug_line_sass")
}

struct Reader<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> Reader<'data> {
    fn string(&mut self) -> Option<&'data str> {
        let text = solder_cubin::string_at(self.data, u32::try_from(self.at).ok()?)?;
        self.at += text.len() + 1;
        Some(text)
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<usize> {
        let bytes = self.data.get(self.at..self.at.checked_add(4)?)?;
        self.at += 4;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn leb(&mut self) -> Option<usize> {
        let (mut value, mut shift) = (0usize, 0);
        loop {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|end| *end <= self.data.len())?;
        Some(())
    }
}

const END_SEQUENCE: u8 = 1;
const FIXED_ADVANCE_PC: u8 = 9;

/// The units of a section; `None` if it cannot be read whole.
pub fn units(data: &[u8]) -> Option<Vec<Unit>> {
    let mut reader = Reader { data, at: 0 };
    let mut units = Vec::new();
    while reader.at < data.len() {
        let start = reader.at;
        let length = reader.word()?;
        let end = reader.at.checked_add(length).filter(|end| *end <= data.len())?;
        reader.skip(2)?;
        let header = reader.word()?;
        let program = reader.at.checked_add(header).filter(|at| *at <= end)?;
        // Instruction length, default of is_stmt, line base and range come before the opcode base.
        reader.skip(4)?;
        let opcode_base = reader.byte()?;
        let lengths = data.get(reader.at..reader.at + usize::from(opcode_base.max(1)) - 1)?;
        reader.at = program;
        let mut sequences = Vec::new();
        let mut begin = program;
        while reader.at < end {
            if ends_sequence(&mut reader, opcode_base, lengths)? {
                sequences.push(begin..reader.at);
                begin = reader.at;
            }
        }
        if begin != end || reader.at != end {
            return None;
        }
        units.push(Unit { header: start..program, sequences });
    }
    Some(units)
}

/// Reads one instruction of a line number program; whether it ends a sequence.
fn ends_sequence(reader: &mut Reader<'_>, opcode_base: u8, lengths: &[u8]) -> Option<bool> {
    let opcode = reader.byte()?;
    if opcode == 0 {
        let length = reader.leb()?;
        let extended = *reader.data.get(reader.at)?;
        reader.skip(length)?;
        return Some(extended == END_SEQUENCE);
    }
    if opcode == FIXED_ADVANCE_PC {
        reader.skip(2)?;
    } else if opcode < opcode_base {
        for _ in 0..lengths[usize::from(opcode) - 1] {
            reader.leb()?;
        }
    }
    Some(false)
}

/// The table that says where the variables of PTX are at each place of the machine code.
pub const REGISTER_TABLE: &str = ".nv_debug_info_reg_sass";

/// The places in a register table that belong to functions which `is_removed` tells by name: beginning and end of
/// each range of code. Ends at the first record that cannot be read.
pub fn removed_places(data: &[u8], is_removed: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut reader = Reader { data, at: 0 };
    let mut read = || -> Option<()> {
        while reader.at < data.len() {
            let removed = is_removed(reader.string()?);
            for _ in 0..reader.word()? {
                reader.word()?;
                reader.string()?;
                reader.word()?;
                let start = reader.at;
                reader.skip(8)?;
                if removed {
                    places.push(start..reader.at);
                }
            }
        }
        Some(())
    };
    read();
    places
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn sequences_of_a_unit() {
        let mut unit = vec![0, 0, 0, 0, 2, 0, 15, 0, 0, 0, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0];
        let sequence = [0, 9, 2, 0, 0, 0, 0, 0, 0, 1, 1, 3, 5, 1, 2, 0x90, 1, 0, 1, 1];
        unit.extend(sequence);
        unit.extend(sequence);
        unit[0] = unit.len() as u8 - 4;
        let read = units(&unit).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].header, 0..25);
        assert_eq!(read[0].sequences, [25..45, 45..65]);
        assert!(units(&unit[..60]).is_none());
    }
}
