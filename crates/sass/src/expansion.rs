//! How long instructions are in Mercury code.
//!
//! A capsule leaves out what the machine code says already, yet places in the Mercury view count such instructions too. How
//! long they are was found from line number tables, which name the same places in both views, of compiled code
//! for sm_100, sm_103, sm_110 and sm_120.

use crate::instruction::{Instruction, TRUE};

/// The lengths of a Mercury instruction in bytes.
const SHORT: usize = 16;
const LONG: usize = 32;

/// Opcodes of one length, in order.
#[rustfmt::skip]
const ALWAYS_SHORT: [u16; 79] = [
    0x202, 0x207, 0x208, 0x209, 0x20a, 0x20f, 0x213, 0x216, 0x219, 0x220, 0x221, 0x226, 0x228, 0x229,
    0x230, 0x232, 0x236, 0x23a, 0x23e, 0x240, 0x245, 0x246, 0x248, 0x287, 0x28c, 0x299, 0x2a4, 0x2bd,
    0x2bf, 0x2ca, 0x300, 0x301, 0x302, 0x305, 0x306, 0x307, 0x308, 0x309, 0x310, 0x311, 0x312, 0x313,
    0x3a1, 0x3c4, 0x802, 0x806, 0x882, 0x886, 0x906, 0x908, 0x918, 0x941, 0x942, 0x946, 0x94d, 0x95c,
    0x95d, 0x9af, 0xc02, 0xc07, 0xc19, 0xc20, 0xc24, 0xc28, 0xc36, 0xc45, 0xc46, 0xc48, 0xc82, 0xd00,
    0xd06, 0xd08, 0xd09, 0xd10, 0xd12, 0xe21, 0xe29, 0xe2a, 0xe46,
];
#[rustfmt::skip]
const ALWAYS_LONG: [u16; 86] = [
    0x211, 0x215, 0x223, 0x225, 0x227, 0x22b, 0x231, 0x233, 0x234, 0x276, 0x292, 0x2a5, 0x343, 0x381,
    0x388, 0x3aa, 0x416, 0x419, 0x421, 0x423, 0x424, 0x431, 0x433, 0x434, 0x446, 0x547, 0x589, 0x803,
    0x804, 0x807, 0x808, 0x809, 0x80b, 0x80c, 0x80f, 0x810, 0x811, 0x812, 0x816, 0x819, 0x81a, 0x81c,
    0x820, 0x823, 0x824, 0x825, 0x827, 0x831, 0x832, 0x836, 0x83b, 0x840, 0x846, 0x848, 0x883, 0x887,
    0x88c, 0x890, 0x891, 0x892, 0x896, 0x899, 0x8a4, 0x8a5, 0x902, 0x944, 0x947, 0x949, 0x958, 0x981,
    0x983, 0x984, 0x987, 0x988, 0x989, 0xc08, 0xc11, 0xc23, 0xc25, 0xc27, 0xc2b, 0xc31, 0xe23, 0xe2b,
    0xe34, 0xf89,
];

/// The register that is always zero.
const ZERO: u8 = 0xff;

/// The length in Mercury code of an instruction that a capsule leaves out. `None` if it is not known.
pub fn mercury_size(instruction: Instruction) -> Option<usize> {
    let opcode = instruction.opcode();
    let is_set = |bit: u32| instruction.field(bit, 1) != 0;
    let has_predicate = || instruction.field(87, 4) as u8 != TRUE;
    let has_third = || instruction.byte(8) != ZERO;
    // What has an operand that the short form has no room for is long.
    let is_long = match opcode {
        // `FSETP`, `ISETP`, `DSETP`: a further predicate, or a comparison in several steps.
        0x20b | 0xc0b => has_predicate(),
        0x20c | 0xc0c => has_predicate() || is_set(72),
        0x22a => has_predicate() || instruction.field(84, 3) as u8 != TRUE,
        // `IADD3`, `LOP3`: a third operand; `.X`: a carry.
        0x210 | 0xc10 => has_third() || is_set(74),
        0x212 | 0xc12 => has_third(),
        0x224 | 0xe24 | 0x290 => is_set(74),
        0x291 => is_set(80),
        // `BSSY` of neither kind.
        0x945 => instruction.field(72, 3) == 0,
        _ => ALWAYS_LONG.binary_search(&opcode).is_ok(),
    };
    let is_known = is_long || is_mixed(opcode) || ALWAYS_SHORT.binary_search(&opcode).is_ok();
    is_known.then_some(if is_long { LONG } else { SHORT })
}

/// Whether the length depends on the operands.
fn is_mixed(opcode: u16) -> bool {
    const MIXED: [u16; 14] =
        [0x20b, 0x20c, 0x210, 0x212, 0x224, 0x22a, 0x290, 0x291, 0x945, 0xc0b, 0xc0c, 0xc10, 0xc12, 0xe24];
    MIXED.contains(&opcode)
}

#[cfg(test)]
mod tests {
    use super::{ALWAYS_LONG, ALWAYS_SHORT, mercury_size};
    use crate::instruction::Instruction;

    #[test]
    fn tables_are_in_order() {
        assert!(ALWAYS_SHORT.is_sorted() && ALWAYS_LONG.is_sorted());
        assert!(ALWAYS_SHORT.iter().all(|opcode| ALWAYS_LONG.binary_search(opcode).is_err()));
    }

    #[test]
    fn operands_make_instructions_longer() {
        let size = |bits: u128| mercury_size(Instruction(bits));
        // LOP3 with and without a third operand, MOV of a constant, an operation nobody has seen.
        assert_eq!(size(0xc0ff_0000_0007_0605_7212), Some(16));
        assert_eq!(size(0xc009_0000_0007_0605_7212), Some(32));
        assert_eq!(size(0x7802), Some(16));
        assert_eq!(size(0x7fff), None);
    }
}
