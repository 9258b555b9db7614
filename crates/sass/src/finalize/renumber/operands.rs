//! The registers that machine instructions read and write, as far as their order in code depends on them.
//!
//! An instruction has four places for registers: bytes 2 (what is written), 3, 4 and 8. What stands in the last two
//! depends on the form of the operation, its upper three bits: with an immediate or a constant as an operand, one of
//! them is not a register, and with a uniform operand byte 4 is a uniform register.

use super::{OPERATION, operation, upper};

/// Register 255 reads as zero.
const ZERO: u8 = 255;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    general: [u64; 4],
    uniform: [u64; 4],
}

impl Registers {
    fn insert(&mut self, file: File, first: u8, count: u8) {
        let words = match file {
            File::General => &mut self.general,
            File::Uniform => &mut self.uniform,
        };
        for register in (first..ZERO).take(count.into()) {
            words[usize::from(register) / 64] |= 1 << (register % 64);
        }
    }

    pub fn meets(&self, other: &Self) -> bool {
        let meet = |a: &[u64; 4], b: &[u64; 4]| a.iter().zip(b).any(|(a, b)| a & b != 0);
        meet(&self.general, &other.general) || meet(&self.uniform, &other.uniform)
    }

    pub fn meets_general(&self, other: &Self) -> bool {
        self.general.iter().zip(&other.general).any(|(a, b)| a & b != 0)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Operands {
    pub writes: Registers,
    pub reads: Registers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    General,
    Uniform,
}

/// How many registers an operand takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    No,
    R(u8),
    U(u8),
    /// As many as the size of what is loaded or stored says.
    Sized,
    UniformSized,
    /// A uniform register if the instruction says that there is one, otherwise a part of an offset.
    MaybeU,
}

use Place::{MaybeU, No, R, Sized, U, UniformSized};

/// By operation, without its form: how many registers the result and the three operands take.
const ARITHMETIC: [(u16, [u8; 4]); 57] = [
    (0x002, [1, 0, 1, 0]), // MOV
    (0x003, [1, 1, 0, 0]), // P2R
    (0x004, [0, 1, 0, 0]), // R2P
    (0x006, [1, 0, 0, 0]), // VOTE
    (0x007, [1, 1, 1, 0]), // SEL
    (0x008, [1, 1, 1, 0]), // FSEL
    (0x009, [1, 1, 1, 0]), // FMNMX
    (0x00b, [0, 1, 1, 0]), // FSETP
    (0x00c, [0, 1, 1, 0]), // ISETP
    (0x010, [1, 1, 1, 1]), // IADD3
    (0x011, [1, 1, 1, 1]), // LEA
    (0x012, [1, 1, 1, 1]), // LOP3
    (0x013, [1, 0, 1, 0]), // IABS
    (0x016, [1, 1, 1, 1]), // PRMT
    (0x019, [1, 1, 1, 1]), // SHF
    (0x01a, [1, 1, 1, 0]), // SGXT
    (0x01c, [0, 0, 0, 0]), // PLOP3
    (0x020, [1, 1, 1, 0]), // FMUL
    (0x021, [1, 1, 1, 0]), // FADD
    (0x023, [1, 1, 1, 1]), // FFMA
    (0x024, [1, 1, 1, 1]), // IMAD
    (0x025, [2, 1, 1, 2]), // IMAD.WIDE
    (0x027, [1, 1, 1, 2]), // IMAD.HI
    (0x028, [2, 2, 2, 0]), // DMUL
    (0x029, [2, 2, 0, 2]), // DADD
    (0x02a, [0, 2, 2, 0]), // DSETP
    (0x02b, [2, 2, 2, 2]), // DFMA
    (0x030, [1, 1, 1, 0]), // HADD2
    (0x031, [1, 1, 1, 1]), // HFMA2
    (0x032, [1, 1, 1, 0]), // HMUL2
    (0x033, [1, 1, 1, 0]), // HSET2
    (0x035, [2, 2, 2, 0]), // IADD.64
    (0x036, [1, 1, 1, 0]), // VIADD
    (0x03e, [1, 1, 1, 1]), // F2FP
    (0x045, [1, 0, 1, 0]), // I2FP
    (0x046, [1, 1, 1, 1]), // VIADDMNMX
    (0x048, [1, 1, 1, 0]), // VIMNMX
    (0x100, [1, 0, 1, 0]), // FLO
    (0x101, [1, 0, 1, 0]), // BREV
    (0x105, [1, 0, 1, 0]), // F2I
    (0x106, [1, 0, 1, 0]), // I2F
    (0x107, [1, 0, 1, 0]), // FRND
    (0x108, [1, 0, 1, 0]), // MUFU
    (0x109, [1, 0, 1, 0]), // POPC
    (0x118, [0, 0, 0, 0]), // NOP
    (0x119, [1, 0, 0, 0]), // S2R
    (0x11b, [0, 0, 0, 0]), // ENDCOLLECTIVE
    (0x11d, [0, 0, 1, 0]), // BAR
    (0x141, [0, 0, 0, 0]), // BSYNC
    (0x142, [0, 0, 0, 0]), // BREAK
    (0x145, [0, 0, 0, 0]), // BSSY
    (0x146, [0, 0, 0, 0]), // YIELD
    (0x147, [0, 0, 0, 0]), // BRA
    (0x14d, [0, 0, 0, 0]), // EXIT
    (0x15c, [0, 0, 0, 0]), // BPT
    (0x192, [0, 0, 0, 0]), // MEMBAR
    (0x1ab, [0, 0, 0, 0]), // ERRBAR
];

/// The same for operations whose registers are all uniform.
const UNIFORM: [(u16, [u8; 4]); 27] = [
    (0x04a, [1, 1, 1, 0]), // UVIMNMX
    (0x051, [1, 1, 1, 0]), // UFSEL
    (0x053, [0, 1, 1, 0]), // UFSETP
    (0x054, [1, 1, 0, 1]), // UFADD
    (0x055, [1, 1, 1, 1]), // UFFMA
    (0x056, [1, 1, 1, 0]), // UFMUL
    (0x05a, [1, 0, 1, 0]), // UI2F
    (0x05c, [1, 0, 1, 0]), // UF2I
    (0x05e, [1, 0, 1, 0]), // UI2FP
    (0x082, [1, 0, 1, 0]), // UMOV
    (0x086, [1, 0, 0, 0]), // VOTEU
    (0x087, [1, 1, 1, 0]), // USEL
    (0x08c, [0, 1, 1, 0]), // UISETP
    (0x090, [1, 1, 1, 1]), // UIADD3
    (0x091, [1, 1, 1, 1]), // ULEA
    (0x092, [1, 1, 1, 1]), // ULOP3
    (0x096, [1, 1, 1, 1]), // UPRMT
    (0x097, [2, 2, 2, 0]), // UIADD3.64
    (0x099, [1, 1, 1, 1]), // USHF
    (0x09b, [1, 1, 1, 0]), // UBMSK
    (0x09c, [0, 0, 0, 0]), // UPLOP3
    (0x0a4, [1, 1, 1, 1]), // UIMAD
    (0x0a5, [2, 1, 1, 2]), // UIMAD.WIDE
    (0x0bd, [1, 0, 1, 0]), // UFLO
    (0x0be, [1, 0, 1, 0]), // UBREV
    (0x0bf, [1, 0, 1, 0]), // UPOPC
    (0x1c3, [1, 0, 0, 0]), // S2UR
];

/// By operation with its form, where this follows no rule: what stands in bytes 2, 3, 4 and 8.
const OTHERS: [(u16, [Place; 4]); 34] = [
    (0x2ca, [U(1), R(1), No, No]),         // R2UR
    (0x348, [No, R(1), No, No]),           // WARPSYNC
    (0x387, [No, R(1), Sized, No]),        // STL
    (0x388, [No, R(1), Sized, No]),        // STS
    (0x389, [R(1), R(1), R(1), R(1)]),     // SHFL
    (0x38c, [R(1), R(1), R(1), No]),       // ATOMS
    (0x3a1, [R(1), R(1), No, No]),         // MATCH
    (0x3a9, [R(1), R(2), R(2), R(1)]),     // ATOMG.CAS
    (0x3c4, [U(1), R(1), No, No]),         // REDUX
    (0x402, [R(2), No, No, No]),           // MOV.64
    (0x407, [R(2), R(2), No, No]),         // SEL.64
    (0x482, [U(2), No, No, No]),           // UMOV.64
    (0x589, [R(1), R(1), R(1), No]),       // SHFL
    (0x607, [R(2), R(2), R(2), No]),       // SEL.64
    (0x7ac, [UniformSized, U(1), No, No]), // LDCU
    (0x805, [R(1), No, No, No]),           // CS2R
    (0x8cb, [U(2), No, No, No]),           // CS2UR
    (0x948, [No, No, No, No]),             // WARPSYNC
    (0x980, [Sized, R(2), U(2), No]),      // LD
    (0x981, [Sized, R(2), U(2), No]),      // LDG
    (0x983, [Sized, R(1), MaybeU, No]),    // LDL
    (0x984, [Sized, R(1), MaybeU, No]),    // LDS
    (0x985, [No, R(2), Sized, U(2)]),      // ST
    (0x986, [No, R(2), Sized, U(2)]),      // STG
    (0x987, [No, R(1), Sized, U(1)]),      // STL
    (0x988, [No, R(1), Sized, U(1)]),      // STS
    (0x989, [R(1), R(1), No, R(1)]),       // SHFL
    (0x98a, [R(1), R(2), R(1), U(2)]),     // ATOM
    (0x9a3, [R(1), R(2), R(1), U(2)]),     // ATOMG
    (0x9a8, [R(1), R(2), R(1), U(2)]),     // ATOMG
    (0xb82, [Sized, R(1), No, No]),        // LDC
    (0xf89, [R(1), R(1), No, No]),         // SHFL
    (0xf8c, [No, R(1), No, No]),           // ATOMS
    (0xfae, [No, R(2), No, U(2)]),         // LDGSTS
];

/// In the upper half: what is loaded or stored, from 8 to 128 bits, and whether there is a uniform register.
const SIZE: u32 = 9;
const HAS_UNIFORM: u64 = 1 << 27;
/// In the upper half of moves and comparisons: all operands have 64 bits.
const WIDE: u64 = 1 << 16;
const MAY_BE_WIDE: [u16; 5] = [0x002, 0x005, 0x00c, 0x082, 0x08c];

/// Places by the form: 1 has registers, 2 and 3 have an immediate or a constant as the third operand, 4 and 5 as the
/// second, 6 and 7 have a uniform register as the second or the third.
fn by_form(form: u16, file: File, [result, a, b, c]: [u8; 4]) -> [Place; 4] {
    let own = |count: u8| match (count, file) {
        (0, _) => No,
        (_, File::General) => R(count),
        (_, File::Uniform) => U(count),
    };
    let third = |count: u8| if c == 0 { No } else { own(count) };
    let (low, high) = match form {
        1 => (own(b), own(c)),
        2 | 3 => (No, third(b)),
        6 if b == 0 => (No, own(c)),
        6 => (U(b), own(c)),
        7 => (U(if c == 0 { b } else { c }), third(b)),
        _ => (No, own(c)),
    };
    [own(result), own(a), low, high]
}

fn places(operation: u16) -> Option<[Place; 4]> {
    if let Ok(at) = OTHERS.binary_search_by_key(&operation, |row| row.0) {
        return Some(OTHERS[at].1);
    }
    let (form, operation) = (operation >> 9, operation & OPERATION);
    let find = |table: &[(u16, [u8; 4])]| {
        table.binary_search_by_key(&operation, |row| row.0).ok().map(|at| table[at].1)
    };
    find(&ARITHMETIC)
        .map(|counts| by_form(form, File::General, counts))
        .or_else(|| find(&UNIFORM).map(|counts| by_form(form, File::Uniform, counts)))
}

/// What an instruction reads and writes; `None` if this is not known of its operation.
pub fn operands(instruction: &[u8]) -> Option<Operands> {
    let operation = operation(instruction);
    let places = places(operation)?;
    let upper = upper(instruction);
    let wide = upper & WIDE != 0 && MAY_BE_WIDE.contains(&(operation & OPERATION));
    let times = if wide { 2 } else { 1 };
    let sized = match upper >> SIZE & 7 {
        5 => 2,
        6 => 4,
        _ => 1,
    };
    let mut operands = Operands::default();
    for (index, (place, at)) in places.into_iter().zip([2, 3, 4, 8]).enumerate() {
        let (file, count) = match place {
            R(count) => (File::General, count * times),
            U(count) => (File::Uniform, count * times),
            Sized => (File::General, sized),
            UniformSized => (File::Uniform, sized),
            MaybeU if upper & HAS_UNIFORM != 0 => (File::Uniform, 1),
            No | MaybeU => continue,
        };
        let registers = if index == 0 { &mut operands.writes } else { &mut operands.reads };
        registers.insert(file, instruction[at], count);
    }
    Some(operands)
}
