//! Line number tables of device code (`.debug_line`, `.nv_debug_line_sass`), and the table of registers that goes with
//! them. They are read as sequences, one for each function, and can be written again for code that has moved.

use bstr::BStr;
use std::collections::BTreeMap;
use std::ops::Range;

/// One unit: its bytes up to the first sequence, and where its sequences lie in the section.
#[derive(Clone, Debug)]
pub struct Unit {
    pub header: Range<usize>,
    pub sequences: Vec<Range<usize>>,
}

/// Whether a section is a line number table.
pub fn is_line_table(name: &[u8]) -> bool {
    matches!(name, b".debug_line" | b".nv_debug_line_sass")
}

struct Reader<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> Reader<'data> {
    fn string(&mut self) -> Option<&'data BStr> {
        let text = crate::string_at(self.data, u32::try_from(self.at).ok()?)?;
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
        self.septets().map(|(value, ..)| value as usize)
    }

    fn signed(&mut self) -> Option<i64> {
        let (value, bits, last) = self.septets()?;
        let negative = last & 0x40 != 0 && bits < u64::BITS;
        Some(if negative { value | u64::MAX << bits } else { value }.cast_signed())
    }

    /// A number in groups of seven bits, how many bits that are, and the last byte.
    fn septets(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut bits) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(bits).unwrap_or(0);
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits, byte));
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

/// The numbers in a unit's header that special opcodes are made with.
struct Special {
    least_line: i64,
    lines: i64,
    first: i64,
}

impl Special {
    fn of(header: &[u8]) -> Option<Self> {
        /// After lengths, version, instruction length and the default of statements.
        const LINE_BASE: usize = 12;
        let least_line = i64::from(header.get(LINE_BASE)?.cast_signed());
        let lines = i64::from(*header.get(LINE_BASE + 1)?);
        let first = i64::from(*header.get(LINE_BASE + 2)?);
        (lines > 0).then_some(Self { least_line, lines, first })
    }

    /// What a special opcode adds to address and line.
    fn advances(&self, opcode: u8) -> (i64, i64) {
        let adjusted = i64::from(opcode) - self.first;
        (adjusted / self.lines, self.least_line + adjusted % self.lines)
    }

    /// A row that much after the last one, as the assembler writes it.
    fn row(&self, address: i64, line: i64, out: &mut Vec<u8>) {
        // Where only one of the two is another, it does not use them.
        let fits =
            address != 0 && line != 0 && (0..self.lines).contains(&line.saturating_sub(self.least_line));
        let opcode = fits
            .then(|| line - self.least_line + self.lines.saturating_mul(address).saturating_add(self.first));
        if let Some(opcode) = opcode.and_then(|opcode| u8::try_from(opcode).ok()) {
            out.push(opcode);
            return;
        }
        if line != 0 || address == 0 {
            advance(ADVANCE_LINE, line, out);
        }
        if address != 0 {
            advance(ADVANCE_PC, address, out);
        }
        out.push(COPY);
    }
}

const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;

/// An opcode with a signed number of variable length, even where that need not be signed.
fn advance(opcode: u8, mut value: i64, out: &mut Vec<u8>) {
    out.push(opcode);
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

/// A sequence whose addresses are others. `None` if it is not written as the assembler does it.
pub fn moved(header: &[u8], sequence: &[u8], place: impl Fn(u64) -> u64) -> Option<Vec<u8>> {
    let special = Special::of(header)?;
    (rewritten(&special, sequence, |old| old)? == sequence).then_some(())?;
    rewritten(&special, sequence, place)
}

fn rewritten(special: &Special, sequence: &[u8], place: impl Fn(u64) -> u64) -> Option<Vec<u8>> {
    let mut reader = Reader { data: sequence, at: 0 };
    let mut out = Vec::with_capacity(sequence.len());
    let (mut address, mut row, mut line) = (0i64, 0i64, 0i64);
    let mut advanced = false;
    let distance = |from: i64, to: i64| -> Option<i64> {
        let place = |at: i64| Some(place(u64::try_from(at).ok()?).cast_signed());
        Some(place(to)?.wrapping_sub(place(from)?))
    };
    while reader.at < sequence.len() {
        let start = reader.at;
        let opcode = reader.byte()?;
        match opcode {
            0 => {
                let length = reader.leb()?;
                let ends = *sequence.get(reader.at)? == END_SEQUENCE;
                reader.skip(length)?;
                if ends {
                    advance(ADVANCE_PC, distance(row, address)?, &mut out);
                }
                out.extend(&sequence[start..reader.at]);
            }
            COPY => {
                special.row(distance(row, address)?, line, &mut out);
                (row, line) = (address, 0);
            }
            ADVANCE_PC => {
                // The last row of a sequence may have been left out, but not its advance (mercury/lines-left-out).
                if std::mem::replace(&mut advanced, true) {
                    advance(ADVANCE_PC, distance(row, address)?, &mut out);
                    row = address;
                }
                address = address.checked_add(reader.signed()?)?;
                continue;
            }
            ADVANCE_LINE => line = line.checked_add(reader.signed()?)?,
            // File and column.
            4 | 5 => {
                reader.leb()?;
                out.extend(&sequence[start..reader.at]);
            }
            // Statement and block.
            6 | 7 => out.push(opcode),
            opcode if i64::from(opcode) >= special.first => {
                let (addresses, lines) = special.advances(opcode);
                address = address.checked_add(addresses)?;
                special.row(distance(row, address)?, line.checked_add(lines)?, &mut out);
                (row, line) = (address, 0);
            }
            _ => return None,
        }
        advanced = false;
    }
    Some(out)
}

/// What a sequence begins with, and its rows: places and by how much their line is another than that of the row before.
struct Rows<'data> {
    begin: &'data [u8],
    places: Vec<(u64, i64)>,
    /// The first row is between two marks, which compilers set and assemblers use up.
    is_marked: bool,
}

impl<'data> Rows<'data> {
    /// `None` if there is more to the rows than places and lines.
    fn of(special: &Special, sequence: &'data [u8]) -> Option<Self> {
        const SET_ADDRESS: u8 = 2;
        const FILE: u8 = 4;
        const MARK: u8 = 0x92;
        let mut reader = Reader { data: sequence, at: 0 };
        let (mut address, mut line, mut rows, mut begin) = (0i64, 0i64, Vec::new(), 0);
        let mut is_marked = false;
        while reader.at < sequence.len() {
            match reader.byte()? {
                0 => {
                    let length = reader.leb()?;
                    let extended = *sequence.get(reader.at)?;
                    reader.skip(length)?;
                    match extended {
                        END_SEQUENCE => {
                            let is_end = reader.at == sequence.len();
                            return is_end.then_some(Self {
                                begin: &sequence[..begin],
                                places: rows,
                                is_marked,
                            });
                        }
                        SET_ADDRESS if rows.is_empty() => begin = reader.at,
                        MARK if rows.len() < 2 => is_marked = true,
                        _ => return None,
                    }
                }
                FILE if rows.is_empty() => {
                    reader.leb()?;
                    begin = reader.at;
                }
                COPY => rows.push((u64::try_from(address).ok()?, line)),
                ADVANCE_PC => address = address.checked_add(reader.signed()?)?,
                ADVANCE_LINE => line = line.checked_add(reader.signed()?)?,
                opcode if i64::from(opcode) >= special.first => {
                    let (addresses, lines) = special.advances(opcode);
                    address = address.checked_add(addresses)?;
                    line = line.checked_add(lines)?;
                    rows.push((u64::try_from(address).ok()?, line));
                }
                _ => return None,
            }
        }
        None
    }
}

/// The rows of a sequence of Mercury's, at other places: those that have none are left out, and of several rows for one
/// place the last one holds. With `end` the sequence goes on to there and begins with its first row twice unless that is marked, as the
/// assembler has it; without, it ends at its last row.
pub fn translated(
    header: &[u8],
    sequence: &[u8],
    place: impl Fn(u64) -> Option<u64>,
    end: Option<u64>,
) -> Option<Vec<u8>> {
    let special = Special::of(header)?;
    let Rows { begin, places: rows, is_marked } = Rows::of(&special, sequence)?;
    let first_line = rows.first().map(|(_, line)| *line);
    let (mut placed, mut replaced) = (BTreeMap::new(), BTreeMap::new());
    for (at, line) in rows {
        let Some(at) = place(at) else { continue };
        if let Some(other) = placed.insert(at, line) {
            replaced.insert(at, other);
        }
    }
    let rows = placed;
    let mut out = begin.to_vec();
    let (mut last, mut last_line) = (0, 0);
    let first = rows.first_key_value().filter(|_| end.is_some() && !is_marked);
    let begins_at = rows.first_key_value().map(|(at, _)| *at);
    for (at, line) in first.into_iter().chain(&rows) {
        // What replaced another row and says nothing new is left out, unless that row was of the first line.
        let is_new = *line != last_line || end.is_none() || begins_at == Some(*at);
        if !is_new && replaced.get(at).is_some_and(|line| Some(*line) != first_line) {
            continue;
        }
        special.row(at.checked_sub(last)?.cast_signed(), line.checked_sub(last_line)?, &mut out);
        (last, last_line) = (*at, *line);
    }
    if let Some(end) = end {
        advance(ADVANCE_PC, end.checked_sub(last)?.cast_signed(), &mut out);
    }
    out.extend([0, 1, END_SEQUENCE]);
    Some(out)
}

/// The table that says where the variables of PTX are at each place of the machine code.
pub const REGISTER_TABLE: &[u8] = b".nv_debug_info_reg_sass";

/// The types of the variables in that table, a byte for each.
pub const REGISTER_TYPES: &[u8] = b".nv_debug_info_reg_type";

/// What a table says of a function.
#[derive(Debug)]
pub struct Described<'data> {
    /// The function.
    pub name: &'data BStr,
    /// Its name and the number of variables.
    pub head: &'data [u8],
    /// Of each variable what comes before its places, or its type.
    pub variables: Vec<&'data [u8]>,
    /// All of it.
    pub whole: &'data [u8],
}

impl Described<'_> {
    /// The order of the variables by the registers that they are in, for a register table.
    pub fn by_register(&self) -> Vec<usize> {
        let register = |at: &usize| {
            let word = self.variables[*at].last_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(word)
        };
        let mut order: Vec<usize> = (0..self.variables.len()).collect();
        order.sort_by_key(register);
        order
    }
}

/// The functions of a register table.
pub fn described(data: &[u8]) -> Option<Vec<Described<'_>>> {
    functions(data, |reader| {
        let start = reader.at;
        reader.word()?;
        reader.string()?;
        reader.word()?;
        let end = reader.at;
        reader.skip(8)?;
        Some(start..end)
    })
}

/// The functions of a table of types.
pub fn types(data: &[u8]) -> Option<Vec<Described<'_>>> {
    functions(data, |reader| {
        reader.byte()?;
        Some(reader.at - 1..reader.at)
    })
}

fn functions<'data>(
    data: &'data [u8],
    variable: impl Fn(&mut Reader<'data>) -> Option<Range<usize>>,
) -> Option<Vec<Described<'data>>> {
    let mut reader = Reader { data, at: 0 };
    let mut functions = Vec::new();
    while reader.at < data.len() {
        let start = reader.at;
        let name = reader.string()?;
        let count = reader.word()?;
        let head = &data[start..reader.at];
        let mut variables = Vec::new();
        for _ in 0..count {
            variables.push(data.get(variable(&mut reader)?)?);
        }
        functions.push(Described { name, head, variables, whole: data.get(start..reader.at)? });
    }
    Some(functions)
}

/// The places in a register table that belong to functions which `is_wanted` tells by name: beginning and end of
/// each range of code. Ends at the first record that cannot be read.
pub fn places_of<'data>(
    data: &'data [u8],
    mut is_wanted: impl FnMut(&'data BStr) -> bool,
) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut reader = Reader { data, at: 0 };
    let mut read = || -> Option<()> {
        while reader.at < data.len() {
            let wanted = is_wanted(reader.string()?);
            for _ in 0..reader.word()? {
                reader.word()?;
                reader.string()?;
                reader.word()?;
                let start = reader.at;
                reader.skip(8)?;
                if wanted {
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
    use super::{described, moved, types, units};

    #[test]
    fn variables_of_functions() {
        // Two variables of `f`, in registers 7 and 3, and none of `g`.
        let variable = |register| [&[0, 0, 0, 0, b'%', b'x', 0, register, 0, 0, 5][..], &[9; 8]].concat();
        let table = [b"f\0\x02\0\0\0".to_vec(), variable(7), variable(3), b"g\0\0\0\0\0".to_vec()].concat();
        let functions = described(&table).unwrap();
        assert_eq!((functions[0].head, functions[0].variables.len()), (&b"f\0\x02\0\0\0"[..], 2));
        assert_eq!(functions[0].variables[1], &variable(3)[..11]);
        assert_eq!(functions[0].by_register(), [1, 0]);
        assert_eq!((functions[1].name.as_ref(), functions[1].whole), (&b"g"[..], &b"g\0\0\0\0\0"[..]));
        assert!(described(&table[..40]).is_none());
        let functions = types(b"f\0\x02\0\0\0\x03\x0e").unwrap();
        assert_eq!(functions[0].variables, [&[3][..], &[14]]);
        assert!(types(b"f\0\x02\0\0\0\x03").is_none());
    }

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

    #[test]
    fn moved_rows() {
        let header = [0, 0, 0, 0, 2, 0, 15, 0, 0, 0, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0];
        let begin = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1];
        // Line 20 at 0, 21 at 0x10, 28 at 0xa0, the end at 0x150.
        let rows = [3, 20, 1, 0xf0, 3, 7, 2, 0x90, 1, 1, 2, 0xb0, 1, 0, 1, 1];
        let sequence = [&begin[..], &rows].concat();
        let place = |at: u64| if at < 0xa0 { at } else { at - 0x50 };
        let expected = [3, 20, 1, 0xf0, 3, 7, 2, 0xc0, 0, 1, 2, 0xb0, 1, 0, 1, 1];
        assert_eq!(moved(&header, &sequence, place), Some([&begin[..], &expected].concat()));
        // One instruction further is less to write.
        let place = |at: u64| if at < 0xa0 { at } else { at - 0x80 };
        let near = [3, 20, 1, 0xf0, 0xf6, 2, 0xb0, 1, 0, 1, 1];
        let rows = [3, 20, 1, 0xf0, 3, 7, 2, 0x90, 1, 1, 2, 0xb0, 1, 0, 1, 1];
        assert_eq!(moved(&header, &[&begin[..], &rows].concat(), place), Some([&begin[..], &near].concat()));
        let foreign = [&begin[..], &[3, 20, 1, 3, 1, 2, 0x10, 1, 2, 0x20, 0, 1, 1]].concat();
        assert_eq!(moved(&header, &foreign, place), None);
    }
}
