//! Instructions of x86-64, as far as it takes to know where each ends and which addresses its operands have.

/// The operands of an instruction that may be addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) length: usize,
    /// Of memory, from the end of the instruction.
    pub(super) relative: Option<i32>,
    /// Of memory: an address, or an address that registers are added to.
    pub(super) displacement: Option<u64>,
    /// A number of 32 or 64 bits, as the instruction uses it.
    pub(super) immediate: Option<u64>,
    /// That number goes whole to a register or the stack, or as 64 bits to memory: it is not computed with, nor a piece of text.
    pub(super) is_moved: bool,
}

/// What follows an opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Nothing,
    /// So many bytes that are no address.
    Bytes(usize),
    /// A number of 16 or 32 bits.
    Number,
    /// The same, of 64 bits where the instruction is.
    Wide,
    /// The address of memory, whole.
    Address,
    /// A distance of 32 bits in code.
    Jump,
}

struct Reader<'a> {
    code: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<i32> {
        let bytes = self.code.get(self.at..)?.first_chunk::<4>()?;
        self.at += 4;
        Some(i32::from_le_bytes(*bytes))
    }

    fn skip(&mut self, count: usize) -> Option<()> {
        self.at += count;
        (self.at <= self.code.len()).then_some(())
    }
}

#[derive(Clone, Copy, Default)]
struct Prefixes {
    is_short: bool,
    is_wide: bool,
}

/// The first instruction. `None` if these bytes are none that a program has.
pub(super) fn decode(code: &[u8]) -> Option<Instruction> {
    const LONGEST: usize = 15;
    let mut reader = Reader { code: &code[..code.len().min(LONGEST)], at: 0 };
    let mut prefixes = Prefixes::default();
    let mut byte = reader.byte()?;
    while matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3) {
        prefixes.is_short |= byte == 0x66;
        byte = reader.byte()?;
    }
    // The prefix of two bytes says which map the opcode is of.
    let is_second = if byte == 0xd5 {
        let long = reader.byte()?;
        prefixes.is_wide = long & 8 != 0;
        byte = reader.byte()?;
        long & 0x80 != 0
    } else {
        if byte & 0xf0 == 0x40 {
            prefixes.is_wide = byte & 8 != 0;
            byte = reader.byte()?;
        }
        false
    };
    let mut found = Instruction::default();
    // What computes with numbers of 32 bits does not compute with addresses.
    let is_narrow =
        !is_second && !prefixes.is_wide && matches!(byte, 0x8d | 0x05..=0x3d | 0x69 | 0x81 | 0xa9 | 0xf7);
    let is_lea = !is_second && byte == 0x8d;
    let (has_operand, tail) = match byte {
        _ if is_second => second(&mut reader, byte)?,
        0x0f => {
            let opcode = reader.byte()?;
            second(&mut reader, opcode)?
        }
        0xc4 | 0xc5 | 0x62 => vector(&mut reader, byte)?,
        // Its operand has no register of more than three bits; others are a prefix.
        0x8f if reader.code.get(reader.at)? & 31 >= 8 => vector(&mut reader, byte)?,
        _ => first(byte, reader.code.get(reader.at).copied())?,
    };
    if has_operand {
        operand(&mut reader, &mut found)?;
    }
    match tail {
        Tail::Nothing => {}
        Tail::Bytes(count) => reader.skip(count)?,
        Tail::Jump => reader.skip(4)?,
        Tail::Number | Tail::Wide if prefixes.is_short && !prefixes.is_wide => reader.skip(2)?,
        Tail::Address => found.displacement = Some(long(&mut reader)?),
        Tail::Wide if prefixes.is_wide => found.immediate = Some(long(&mut reader)?),
        // `mov` to a register of 32 bits clears the rest of it.
        Tail::Wide => found.immediate = Some(u64::from(reader.word()?.cast_unsigned())),
        Tail::Number => found.immediate = Some(i64::from(reader.word()?).cast_unsigned()),
    }
    if is_narrow {
        found.immediate = None;
        found.displacement = found.displacement.filter(|_| !is_lea);
    }
    let is_moved = !is_second && matches!(byte, 0xb8..=0xbf | 0x68) || byte == 0xc7 && prefixes.is_wide;
    found.is_moved = is_moved && found.immediate.is_some();
    found.length = reader.at;
    Some(found)
}

fn long(reader: &mut Reader<'_>) -> Option<u64> {
    let bytes = reader.code.get(reader.at..)?.first_chunk::<8>()?;
    reader.at += 8;
    Some(u64::from_le_bytes(*bytes))
}

/// Whether an opcode has an operand in memory or a register, and what follows. `next` is the byte after it.
fn first(opcode: u8, next: Option<u8>) -> Option<(bool, Tail)> {
    let operation = next.unwrap_or(0) >> 3 & 7;
    Some(match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => (true, Tail::Nothing),
            4 => (false, Tail::Bytes(1)),
            5 => (false, Tail::Number),
            _ => return None,
        },
        0x50..=0x5f
        | 0x90..=0x99
        | 0x9b..=0x9f
        | 0xa4..=0xa7
        | 0xaa..=0xaf
        | 0xc3
        | 0xc9
        | 0xcc
        | 0xf4
        | 0xf5
        | 0xf8
        | 0xf9
        | 0xfc
        | 0xfd => (false, Tail::Nothing),
        0x8f if operation == 0 => (true, Tail::Nothing),
        0xff if operation != 7 => (true, Tail::Nothing),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xe0..=0xe3 | 0xeb => (false, Tail::Bytes(1)),
        0x68 | 0xa9 => (false, Tail::Number),
        0x69 | 0x81 => (true, Tail::Number),
        0xc7 if operation == 0 => (true, Tail::Number),
        // The beginning and the abort of a transaction.
        0xc7 if next == Some(0xf8) => (true, Tail::Jump),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => (true, Tail::Bytes(1)),
        0xa0..=0xa3 => (false, Tail::Address),
        0xb8..=0xbf => (false, Tail::Wide),
        0xc2 => (false, Tail::Bytes(2)),
        0xe8 | 0xe9 => (false, Tail::Jump),
        0xf6 if operation < 2 => (true, Tail::Bytes(1)),
        0xf7 if operation < 2 => (true, Tail::Number),
        0x63 | 0x84..=0x8e | 0xd0..=0xd3 | 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe => (true, Tail::Nothing),
        _ => return None,
    })
}

/// The same after `0f`.
fn second(reader: &mut Reader<'_>, opcode: u8) -> Option<(bool, Tail)> {
    Some(match opcode {
        0x38 => {
            reader.byte()?;
            (true, Tail::Nothing)
        }
        0x3a => {
            reader.byte()?;
            (true, Tail::Bytes(1))
        }
        0x05 | 0x0b | 0x31 | 0x33 | 0x77 | 0xa0..=0xa2 | 0xa8 | 0xa9 | 0xc8..=0xcf => (false, Tail::Nothing),
        0x80..=0x8f => (false, Tail::Jump),
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => (true, Tail::Bytes(1)),
        0x04..=0x0c | 0x0e | 0x20..=0x27 | 0x30..=0x3f | 0x7a | 0x7b | 0xa6 | 0xa7 | 0xaa => {
            return None;
        }
        _ => (true, Tail::Nothing),
    })
}

/// The same after the first byte of a prefix that names a map of opcodes: of vectors, and of what newer processors have.
fn vector(reader: &mut Reader<'_>, prefix: u8) -> Option<(bool, Tail)> {
    let (map, count) = match (prefix, reader.byte()?) {
        (0xc5, _) => (1, 0),
        (0xc4 | 0x8f, byte) => (byte & 31, 1),
        (_, byte) => (byte & 7, 2),
    };
    // The second byte of the longest prefix says that numbers have 16 bits.
    let number = if prefix == 0x62 && reader.code.get(reader.at)? & 3 == 1 { 2 } else { 4 };
    reader.skip(count)?;
    let opcode = reader.byte()?;
    let operation = reader.code.get(reader.at).copied().unwrap_or(0) >> 3 & 7;
    Some(match (map, opcode) {
        (1, 0x77) if prefix != 0x62 => (false, Tail::Nothing),
        // The fourth map is the first again, with three operands.
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6)
        | (3 | 8, _)
        | (4, 0x24 | 0x2c | 0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xd4) => (true, Tail::Bytes(1)),
        (4, 0xf6) if operation < 2 => (true, Tail::Bytes(1)),
        (4, 0x69 | 0x81) => (true, Tail::Bytes(number)),
        (4, 0xf7) if operation < 2 => (true, Tail::Bytes(number)),
        (7 | 10, _) => (true, Tail::Bytes(4)),
        (1 | 2 | 4 | 5 | 6 | 9, _) => (true, Tail::Nothing),
        _ => return None,
    })
}

fn operand(reader: &mut Reader<'_>, found: &mut Instruction) -> Option<()> {
    let byte = reader.byte()?;
    let (mode, base) = (byte >> 6, byte & 7);
    let has_index = mode != 3 && base == 4;
    let base = if has_index { reader.byte()? & 7 } else { base };
    match (mode, base) {
        (0, 5) if !has_index => found.relative = Some(reader.word()?),
        (0, 5) | (2, _) => found.displacement = Some(i64::from(reader.word()?).cast_unsigned()),
        (1, _) => reader.skip(1)?,
        _ => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions in hexadecimal digits, each with what it refers to.
    const KNOWN: [(&str, Instruction); 37] = [
        ("488d0520000000", of(7).relative(0x20)),
        ("8b0520000000", of(6).relative(0x20)),
        ("813d2000000050ed55ba", of(10).relative(0x20)),
        ("803d2000000007", of(7).relative(0x20)),
        ("66813d200000003412", of(9).relative(0x20)),
        ("0fb60520000000", of(7).relative(0x20)),
        ("660f6f0520000000", of(8).relative(0x20)),
        ("660f3a0f052000000008", of(10).relative(0x20)),
        ("c5fa6f0520000000", of(8).relative(0x20)),
        ("c4e37d19052000000001", of(10).relative(0x20)),
        ("62f1fe486f0520000000", of(10).relative(0x20)),
        ("bf684d4200", of(5).immediate(0x42_4d68)),
        ("48c7c7684d4200", of(7).immediate(0x42_4d68)),
        ("48bf684d420000000000", of(10).immediate(0x42_4d68)),
        ("68684d4200", of(5).immediate(0x42_4d68)),
        ("8b0425684d4200", of(7).displacement(0x42_4d68)),
        ("0fb680684d4200", of(7).displacement(0x42_4d68)),
        ("a1684d420000000000", of(9).displacement(0x42_4d68)),
        ("483d684d4200", of(6).compared(0x42_4d68)),
        ("05684d4200", of(5)),
        ("8d8090684d42", of(6)),
        ("e811223344", of(5)),
        ("f20f10442408", of(6)),
        ("66662e0f1f840000000000", of(11).displacement(0)),
        ("c5f877", of(3)),
        ("d5488d0520000000", of(8).relative(0x20)),
        ("d5c4b60520000000", of(8).relative(0x20)),
        ("d519b8684d420000000000", of(11).immediate(0x42_4d68)),
        ("62f47418810520000000684d4200", of(14).relative(0x20)),
        ("62f475188105200000000012", of(12).relative(0x20)),
        ("62f4741883052000000005", of(11).relative(0x20)),
        ("62f40c04f7052000000078563412", of(14).relative(0x20)),
        ("62f40c04f61520000000", of(10).relative(0x20)),
        ("c4e77bf8c034120000", of(9)),
        ("8fe878c0d103", of(6)),
        ("8fea78100d2000000034120000", of(13).relative(0x20)),
        ("8ccf", of(2)),
    ];

    const fn of(length: usize) -> Instruction {
        Instruction { length, relative: None, displacement: None, immediate: None, is_moved: false }
    }

    impl Instruction {
        const fn relative(self, place: i32) -> Self {
            Self { relative: Some(place), ..self }
        }

        const fn displacement(self, place: u64) -> Self {
            Self { displacement: Some(place), ..self }
        }

        const fn compared(self, value: u64) -> Self {
            Self { immediate: Some(value), ..self }
        }

        const fn immediate(self, value: u64) -> Self {
            Self { immediate: Some(value), is_moved: true, ..self }
        }
    }

    #[test]
    fn instructions_are_as_long_as_they_are() {
        for (text, expected) in KNOWN {
            let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
            let code: Vec<u8> = (0..text.len()).step_by(2).map(digits).collect();
            let decoded = decode(&[&code[..], &[0x90; 8]].concat());
            assert_eq!(decoded, Some(expected), "{text}");
            assert!((0..code.len()).all(|end| decode(&code[..end]).is_none()), "{text}");
        }
        for none in [&[0x06][..], &[0x9a], &[0x0f, 0x04], &[0xff, 0xff], &[0x66; 20], &[]] {
            assert_eq!(decode(none), None);
        }
    }
}
