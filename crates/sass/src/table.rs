//! Which operands the operations have, as data.
//!
//! Widths may be larger than they are: an operand that is taken to be wider than it is can make the checker refuse a
//! correct rewrite, never accept a wrong one. An operation that is not here is taken to use every register.

use crate::instruction::Instruction;
use crate::registers::File;

/// How many registers an operand takes: a number, or one of the rules below.
pub type Width = u8;

/// Two if the operation is marked as one of 64 bits, otherwise one.
pub const WIDE: Width = 0x80;
/// By the type of the result of a conversion, by that of its source.
pub const RESULT_TYPE: Width = 0x81;
pub const SOURCE_TYPE: Width = 0x82;
/// By the size of what is loaded or stored, from 8 to 128 bits.
pub const SIZE: Width = 0x83;
/// By the type of an atomic operation.
pub const ATOMIC: Width = 0x84;
/// The same for those of floating point.
pub const FLOAT_ATOMIC: Width = 0x8d;
/// By the type of what is reduced over the memories of several devices: numbers of floating point, integers.
pub const FLOAT_REDUCTION: Width = 0x8e;
/// By the shape of what is copied from or to tensor memory.
pub const TENSOR: Width = 0x85;
/// By the kind of a texture: one for those of one dimension.
pub const COORDINATES: Width = 0x87;
/// Two if minima or maxima are of 64 bits.
pub const MIN_MAX: Width = 0x89;
/// Two if values of 64 bits are matched or added.
pub const MATCH: Width = 0x88;
/// One if the first, second or third operand is one number of single precision for both halves of the result.
pub const FIRST_PAIR: Width = 0x8a;
pub const SECOND_PAIR: Width = 0x8b;
pub const THIRD_PAIR: Width = 0x8c;
/// One if the address has a uniform register.
pub const IF_UNIFORM: Width = 0x86;

/// Predicates of arithmetic, by where they are: two results, three sources.
pub const D1: u8 = 1;
pub const D2: u8 = 2;
pub const S1: u8 = 4;
pub const S2: u8 = 8;
pub const S3: u8 = 16;
pub const PREDICATES: [(u8, u8, bool); 5] =
    [(D1, 81, true), (D2, 84, true), (S1, 87, false), (S2, 77, false), (S3, 68, false)];

/// Arithmetic: operation, the forms that it is known to have (a bit for each), widths of the result and of the three
/// operands, predicates. Where the operands are depends on the form.
pub type Arithmetic = (u16, u8, [Width; 4], u8);

pub const GENERAL: [Arithmetic; 67] = [
    (0x002, 0x52, [WIDE, 0, WIDE, 0], 0),                             // MOV
    (0x005, 0x10, [WIDE, 0, 0, 0], 0),                                // CS2R
    (0x006, 0x10, [1, 0, 0, 0], D1 | S1),                             // VOTE
    (0x007, 0x52, [1, 1, 1, 0], S1),                                  // SEL
    (0x008, 0x52, [1, 1, 1, 0], S1),                                  // FSEL
    (0x009, 0x52, [1, 1, 1, 0], S1),                                  // FMNMX
    (0x00a, 0x52, [1, 1, 1, 0], S1),                                  // FSET
    (0x00b, 0x52, [0, 1, 1, 0], D1 | D2 | S1),                        // FSETP
    (0x00c, 0x52, [0, WIDE, WIDE, 0], D1 | D2 | S1 | S3),             // ISETP
    (0x00f, 0x52, [1, 1, 1, 1], S1 | S2),                             // VIMNMX3
    (0x010, 0x52, [1, 1, 1, 1], D1 | D2 | S1 | S2),                   // IADD3
    (0x011, 0x56, [1, 1, 1, 1], D1 | S1),                             // LEA
    (0x012, 0x52, [1, 1, 1, 1], D1 | S1),                             // LOP3
    (0x013, 0x52, [1, 0, 1, 0], 0),                                   // IABS
    (0x014, 0xd6, [1, 1, 1, 1], 0),                                   // VABSDIFF
    (0x015, 0xd6, [1, 1, 1, 1], 0),                                   // VABSDIFF4
    (0x016, 0xd6, [1, 1, 1, 1], 0),                                   // PRMT
    (0x017, 0x52, [MIN_MAX, MIN_MAX, MIN_MAX, 0], D1 | D2 | S1 | S2), // IMNMX
    (0x019, 0xd6, [1, 1, 1, 1], 0),                                   // SHF
    (0x01a, 0x52, [1, 1, 1, 0], 0),                                   // SGXT
    (0x01b, 0x52, [1, 1, 1, 0], 0),                                   // BMSK
    (0x020, 0x52, [1, 1, 1, 0], 0),                                   // FMUL
    (0x021, 0x86, [1, 1, 1, 0], 0),                                   // FADD
    (0x023, 0xd6, [1, 1, 1, 1], 0),                                   // FFMA
    (0x024, 0xd6, [1, 1, 1, 1], D1 | S1),                             // IMAD
    (0x025, 0xd2, [2, 1, 1, 2], D1 | S1),                             // IMAD.WIDE
    (0x026, 0x52, [1, 1, 1, 1], 0),                                   // IDP
    (0x027, 0xd2, [1, 1, 1, 2], D1 | S1),                             // IMAD.HI
    (0x028, 0x52, [2, 2, 2, 0], 0),                                   // DMUL
    (0x029, 0x86, [2, 2, 0, 2], 0),                                   // DADD
    (0x02a, 0x86, [0, 2, 2, 0], D1 | D2 | S1),                        // DSETP
    (0x02b, 0xd6, [2, 2, 2, 2], 0),                                   // DFMA
    (0x030, 0x86, [1, 1, 1, 0], 0),                                   // HADD2
    (0x031, 0xd6, [1, 1, 1, 1], 0),                                   // HFMA2
    (0x032, 0x52, [1, 1, 1, 0], 0),                                   // HMUL2
    (0x033, 0x86, [1, 1, 1, 0], S1),                                  // HSET2
    (0x034, 0x86, [0, 1, 1, 0], D1 | D2 | S1),                        // HSETP2
    (0x035, 0x52, [MATCH, MATCH, MATCH, 0], D1 | S1),                 // IADD, IADD.64
    (0x036, 0x52, [1, 1, 1, 0], 0),                                   // VIADD
    (0x038, 0x52, [1, 0, 1, 0], 0),                                   // I2I
    (0x039, 0x52, [1, 1, 1, 1], 0),                                   // I2IP
    (0x03e, 0xd6, [1, 1, 1, 1], 0),                                   // F2FP
    (0x040, 0x52, [1, 1, 1, 0], S1),                                  // HMNMX2
    (0x043, 0xd6, [1, 1, 1, 1], 0),                                   // F2IP
    (0x045, 0x42, [1, 0, 1, 0], 0),                                   // I2FP
    (0x046, 0xd6, [1, 1, 1, 1], S1),                                  // VIADDMNMX
    (0x047, 0x52, [1, 1, 1, 1], S1),                                  // VHMNMX
    (0x048, 0x52, [1, 1, 1, 0], D1 | D2 | S1),                        // VIMNMX
    (0x049, 0xd6, [2, FIRST_PAIR, SECOND_PAIR, THIRD_PAIR], 0),       // FFMA2
    (0x04a, 0x52, [2, FIRST_PAIR, SECOND_PAIR, 0], 0),                // FMUL2
    (0x04b, 0x86, [2, FIRST_PAIR, THIRD_PAIR, 0], 0),                 // FADD2
    (0x076, 0x52, [1, 1, 1, 1], S1),                                  // FMNMX3
    (0x100, 0x52, [1, 0, 1, 0], D1),                                  // FLO
    (0x101, 0x52, [1, 0, 1, 0], 0),                                   // BREV
    (0x102, 0x52, [0, 1, 1, 0], D1),                                  // FCHK
    (0x104, 0x52, [1, 0, 1, 0], 0),                                   // F2F
    (0x105, 0x52, [1, 0, 1, 0], 0),                                   // F2I
    (0x106, 0x52, [1, 0, 1, 0], 0),                                   // I2F
    (0x107, 0x52, [1, 0, 1, 0], 0),                                   // FRND
    (0x108, 0x52, [1, 0, 1, 0], 0),                                   // MUFU
    (0x109, 0x52, [1, 0, 1, 0], 0),                                   // POPC
    (0x110, 0x52, [RESULT_TYPE, 0, SOURCE_TYPE, 0], 0),               // F2F of 64 bits
    (0x111, 0x52, [RESULT_TYPE, 0, SOURCE_TYPE, 0], 0),               // F2I
    (0x112, 0x52, [RESULT_TYPE, 0, SOURCE_TYPE, 0], 0),               // I2F
    (0x113, 0x52, [RESULT_TYPE, 0, SOURCE_TYPE, 0], 0),               // FRND
    (0x118, 0x10, [0, 0, 0, 0], 0),                                   // NOP
    (0x119, 0x10, [1, 0, 0, 0], 0),                                   // S2R
];

/// Arithmetic whose registers and predicates are all uniform.
pub const UNIFORM: [Arithmetic; 37] = [
    (0x04d, 0x12, [1, 0, 1, 0], 0),                                   // UIABS
    (0x04e, 0x12, [1, 0, 1, 0], 0),                                   // UI2I
    (0x04f, 0x12, [1, 1, 1, 1], 0),                                   // UI2IP
    (0x050, 0x12, [1, 1, 1, 0], S1),                                  // UFMNMX
    (0x051, 0x12, [1, 1, 1, 0], S1),                                  // UFSEL
    (0x052, 0x12, [1, 1, 1, 0], S1),                                  // UFSET
    (0x053, 0x12, [0, 1, 1, 0], D1 | D2 | S1),                        // UFSETP
    (0x054, 0x06, [1, 1, 0, 1], 0),                                   // UFADD
    (0x055, 0x16, [1, 1, 1, 1], 0),                                   // UFFMA
    (0x056, 0x12, [1, 1, 1, 0], 0),                                   // UFMUL
    (0x059, 0x16, [1, 1, 1, 1], 0),                                   // UF2IP
    (0x05a, 0x12, [1, 0, 1, 0], 0),                                   // UI2F
    (0x05c, 0x12, [1, 0, 1, 0], 0),                                   // UF2I
    (0x05d, 0x12, [1, 0, 1, 0], 0),                                   // UFRND
    (0x05e, 0x02, [1, 0, 1, 0], 0),                                   // UI2FP
    (0x082, 0x50, [WIDE, 0, WIDE, 0], 0),                             // UMOV
    (0x085, 0x12, [MIN_MAX, MIN_MAX, MIN_MAX, 0], D1 | D2 | S1 | S2), // UIMNMX
    (0x087, 0x12, [1, 1, 1, 0], S1),                                  // USEL
    (0x08c, 0x12, [0, WIDE, WIDE, 0], D1 | D2 | S1 | S3),             // UISETP
    (0x090, 0x12, [1, 1, 1, 1], D1 | D2 | S1 | S2),                   // UIADD3
    (0x091, 0x16, [1, 1, 1, 1], D1 | S1),                             // ULEA
    (0x092, 0x12, [1, 1, 1, 1], D1 | S1),                             // ULOP3
    (0x096, 0x12, [1, 1, 1, 1], 0),                                   // UPRMT
    (0x097, 0x12, [2, 2, 2, 2], D1 | D2 | S1 | S2),                   // UIADD3.64
    (0x099, 0x16, [1, 1, 1, 1], 0),                                   // USHF
    (0x09a, 0x12, [1, 1, 1, 0], 0),                                   // USGXT
    (0x09b, 0x12, [1, 1, 1, 0], 0),                                   // UBMSK
    (0x09c, 0x10, [0, 0, 0, 0], D1 | D2 | S1 | S2 | S3),              // UPLOP3
    (0x0a4, 0x16, [1, 1, 1, 1], D1 | S1),                             // UIMAD
    (0x0a5, 0x12, [2, 1, 1, 2], D1 | S1),                             // UIMAD.WIDE
    (0x0a6, 0x12, [1, 1, 1, 2], D1 | S1),                             // UIMAD.HI
    (0x0ba, 0x16, [1, 1, 1, 1], 0),                                   // UF2FP
    (0x0bd, 0x12, [1, 0, 1, 0], D1),                                  // UFLO
    (0x0be, 0x12, [1, 0, 1, 0], 0),                                   // UBREV
    (0x0bf, 0x12, [1, 0, 1, 0], 0),                                   // UPOPC
    (0x0cb, 0x10, [WIDE, 0, 0, 0], 0),                                // CS2UR
    (0x1c3, 0x10, [1, 0, 0, 0], 0),                                   // S2UR
];

/// Uniform instructions that share their opcode with one of pairs of single precision (`FFMA2`, `FMUL2`), which no chip has
/// that has these. They have bit 91 set.
pub const SHARED: [(u16, &[Operand]); 4] = [
    (0x249, &[wu(2, 1), u(3, 1), u(4, 1)]), // UVIADD
    (0x24a, &[wu(2, 1), wup(81), wup(84), u(3, 1), u(4, 1), up(87)]), // UVIMNMX
    (0x849, &[wu(2, 1), u(3, 1)]),          // UVIADD
    (0x84a, &[wu(2, 1), wup(81), wup(84), u(3, 1), up(87)]), // UVIMNMX
];

/// Whether an instruction is one of `SHARED`.
pub fn is_shared_uniform(instruction: Instruction) -> bool {
    matches!(instruction.opcode(), 0x249 | 0x24a | 0x849 | 0x84a) && instruction.field(91, 1) != 0
}

/// An operand at a fixed place: the bit where the number of its first register begins.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub file: File,
    pub at: u8,
    pub width: Width,
    pub is_written: bool,
}

const fn operand(file: File, at: u8, width: Width, is_written: bool) -> Operand {
    Operand { file, at, width, is_written }
}
/// General registers, read and written, by byte.
const fn r(byte: u8, width: Width) -> Operand {
    operand(File::General, byte * 8, width, false)
}
const fn wr(byte: u8, width: Width) -> Operand {
    operand(File::General, byte * 8, width, true)
}
/// Uniform registers.
const fn u(byte: u8, width: Width) -> Operand {
    operand(File::Uniform, byte * 8, width, false)
}
const fn wu(byte: u8, width: Width) -> Operand {
    operand(File::Uniform, byte * 8, width, true)
}
/// Predicates and uniform predicates, by bit.
const fn p(at: u8) -> Operand {
    operand(File::Predicate, at, 1, false)
}
const fn wp(at: u8) -> Operand {
    operand(File::Predicate, at, 1, true)
}
const fn up(at: u8) -> Operand {
    operand(File::UniformPredicate, at, 1, false)
}
const fn wup(at: u8) -> Operand {
    operand(File::UniformPredicate, at, 1, true)
}
/// Barrier registers.
const fn b(at: u8) -> Operand {
    operand(File::Barrier, at, 1, false)
}
const fn wb(at: u8) -> Operand {
    operand(File::Barrier, at, 1, true)
}

const MATRIX: &[Operand] = &[wr(2, 4), r(3, 4), r(4, 4), r(5, 1), r(8, 4)];
/// With scale factors, the second of which is not at a byte; with the first one are the metadata of sparse matrices.
const SCALED_MATRIX: &[Operand] =
    &[wr(2, 4), r(3, 4), r(4, 4), r(5, WIDE), operand(File::General, 52, 1, false), r(8, 4)];
const TEXTURE: &[Operand] = &[wr(2, 2), wr(8, 2), wp(81), r(3, COORDINATES), r(4, 4), u(5, 2)];
const ATOMIC_ADDRESS: &[Operand] = &[wr(2, ATOMIC), wp(81), r(3, 2), r(4, ATOMIC), u(8, 2)];
const FLOAT_ATOMIC_ADDRESS: &[Operand] = &[wr(2, FLOAT_ATOMIC), wp(81), r(3, 2), r(4, FLOAT_ATOMIC), u(8, 2)];
/// Without a descriptor.
const FLOAT_ATOMIC_POINTER: &[Operand] = &[wr(2, FLOAT_ATOMIC), wp(81), r(3, 2), r(4, FLOAT_ATOMIC)];
const ATOMIC_POINTER: &[Operand] = &[wr(2, ATOMIC), wp(81), r(3, 2), r(4, ATOMIC)];
const REDUCTION: &[Operand] = &[r(3, 2), r(4, ATOMIC), u(8, 2)];
const FLOAT_REDUCTION_ADDRESS: &[Operand] = &[r(3, 2), r(4, FLOAT_ATOMIC), u(8, 2)];
const COMPARE_AND_SWAP: &[Operand] = &[wr(2, ATOMIC), wp(81), r(3, 2), r(4, ATOMIC), r(8, ATOMIC)];
const LOAD: &[Operand] = &[wr(2, SIZE), r(3, 2), u(4, 2)];
const GLOBAL_LOAD: &[Operand] = &[wr(2, SIZE), wp(81), r(3, 2), u(4, 2)];
const STORE: &[Operand] = &[r(3, 2), r(4, SIZE), u(8, 2)];
const NEAR_LOAD: &[Operand] = &[wr(2, SIZE), r(3, 1), u(4, IF_UNIFORM)];
const NEAR_STORE: &[Operand] = &[r(3, 1), r(4, SIZE), u(8, IF_UNIFORM)];
const UNIFORM_COPY: &[Operand] = &[u(3, 2), u(4, 8), u(5, 2), u(8, 2)];
const TENSOR_UNIT: &[Operand] = &[u(2, 2), u(3, 2), u(4, 2), u(5, 2), u(6, 2), u(8, 2), up(87)];

/// All other operations, by opcode: operands at fixed places.
pub const FIXED: [(u16, &[Operand]); 159] = [
    (0x21d, &[wp(81), wp(84), r(4, 1), p(87), p(68)]), // PLOP3 of signs
    (0x21e, &[wp(81), wp(84), r(4, 1), r(8, 1), p(87)]), // PLOP3 of signs
    (0x21f, &[wp(81), wp(84), r(3, 1), r(4, 1), r(8, 1), p(87)]), // PLOP3 of signs
    (0x237, MATRIX),                                   // IMMA
    (0x23a, &[wr(2, 2), r(3, 1)]),                     // MOVM
    (0x23c, MATRIX),                                   // HMMA
    (0x23f, &[wr(2, 4), r(3, 2), r(4, 2), r(8, 4)]),   // DMMA
    (0x27a, MATRIX),                                   // QMMA
    (0x29d, &[wup(81), wup(84), u(4, 1), up(87), up(68)]), // UPLOP3 of signs
    (0x29e, &[wup(81), wup(84), u(4, 1), u(8, 1), up(87)]), // UPLOP3 of signs
    (0x29f, &[wup(81), wup(84), u(3, 1), u(4, 1), u(8, 1), up(87)]), // UPLOP3 of signs
    (0x2ca, &[wu(2, 1), r(3, 1), wp(81), wup(81)]),    // R2UR
    (0x2cc, &[wu(2, 1), r(3, 1)]),                     // CREDUX
    (0x31c, &[wr(2, 1), wp(81)]),                      // B2R
    (0x31d, &[r(4, 1), r(8, 1), p(87)]),               // BAR
    (0x348, &[r(3, 1), p(87)]),                        // WARPSYNC
    (0x352, &[r(4, 1)]),                               // RPCMOV
    (0x353, &[wr(2, 1)]),                              // RPCMOV
    (0x355, &[wr(2, 1), b(24), wb(24)]),               // BMOV
    (0x356, &[wb(24), r(4, 1)]),                       // BMOV
    (0x35d, &[r(3, 1), r(4, 1), p(87)]),               // NANOSLEEP
    (0x377, &[u(3, 2), u(4, SIZE)]),                   // USTGR
    (0x380, &[wr(2, SIZE), wp(81), r(3, 2)]),          // LD
    (0x381, &[wr(2, SIZE), wp(81), r(3, 2)]),          // LDG
    (0x385, &[r(3, 2), r(8, SIZE)]),                   // ST
    (0x386, &[r(3, 2), r(4, SIZE)]),                   // STG
    (0x387, &[r(3, 1), r(4, SIZE)]),                   // STL
    (0x388, &[r(3, 1), r(4, SIZE)]),                   // STS
    (0x389, &[wr(2, 1), wp(81), r(3, 1), r(4, 1), r(8, 1)]), // SHFL
    (0x38a, ATOMIC_POINTER),                           // ATOM
    (0x38b, COMPARE_AND_SWAP),                         // ATOM.CAS
    (0x38c, &[wr(2, ATOMIC), r(3, 1), r(4, ATOMIC)]),  // ATOMS
    (0x38d, &[wr(2, ATOMIC), r(3, 1), r(4, ATOMIC), r(8, ATOMIC)]), // ATOMS.CAS
    (0x3a1, &[wr(2, 1), wp(81), r(3, MATCH)]),         // MATCH
    (0x3a2, FLOAT_ATOMIC_POINTER),                     // ATOM of floating point
    (0x3a3, FLOAT_ATOMIC_POINTER),                     // ATOMG of floating point
    (0x3a8, ATOMIC_POINTER),                           // ATOMG
    (0x3a9, COMPARE_AND_SWAP),                         // ATOMG.CAS
    (0x3aa, &[wr(2, 1), wp(81), r(3, 2)]),             // QSPC
    (0x3b4, UNIFORM_COPY),                             // UTMALDG
    (0x3b5, UNIFORM_COPY),                             // UTMASTG
    (0x3b6, UNIFORM_COPY),                             // UTMAREDG
    (0x3b8, UNIFORM_COPY),                             // UTMAPF
    (0x3ba, UNIFORM_COPY),                             // UBLKCP
    (0x3bb, UNIFORM_COPY),                             // UBLKRED
    (0x3bc, UNIFORM_COPY),                             // UBLKPF
    (0x3c2, &[wu(2, 1), r(3, 1), wp(81), wup(81)]),    // R2UR
    (0x3c4, &[wu(2, 1), r(3, 1)]),                     // REDUX
    (0x3c6, &[]),                                      // FENCE
    (0x3ca, &[u(3, 2)]),                               // UGETNEXTWORKID
    (0x3cb, &[u(3, 1), u(4, 2), u(8, 1)]),             // UMEMSETS
    (0x3e9, TENSOR_UNIT),                              // UTCBAR
    (0x402, &[wr(2, 2)]),                              // MOV.64
    (0x407, &[wr(2, 2), r(3, 2), p(87)]),              // SEL.64
    (0x445, &[wr(2, 1), r(4, 1)]),                     // I2FP of parts
    (0x47a, SCALED_MATRIX),                            // QMMA.SF
    (0x47f, SCALED_MATRIX),                            // OMMA.SF
    (0x482, &[wu(2, 2)]),                              // UMOV.64
    (0x487, &[wu(2, 2), u(3, 2), up(87)]),             // USEL.64
    (0x51d, &[r(4, 1), p(87)]),                        // BAR
    (0x540, &[u(3, 2)]),                               // CCTL.E.C.LDCU
    (0x547, &[p(87), up(24), up(87)]),                 // BRA.U
    (0x554, &[wr(2, 2)]),                              // MOV64IUR
    (0x582, &[wr(2, SIZE), u(3, 2), r(8, 1)]),         // LDC
    (0x589, &[wr(2, 1), wp(81), r(3, 1), r(4, 1)]),    // SHFL
    (0x58d, &[wp(81), r(3, 1), r(4, ATOMIC), r(8, ATOMIC)]), // ATOMS.CAST
    (0x5a7, &[wp(81), r(3, 1), r(4, 1), u(8, 1)]),     // SYNCS
    (0x5ab, &[]),                                      // CGAERRBAR
    (0x5b2, &[wu(2, 2), u(3, 1), u(4, 2)]),            // SYNCS
    (0x5b4, UNIFORM_COPY),                             // UTMALDG
    (0x5b8, UNIFORM_COPY),                             // UTMAPF
    (0x5bf, &[wup(81), u(3, 2)]),                      // USYNCS
    (0x5e3, &[wu(2, 2), wup(81), u(4, 2)]),            // UTCATOMSWS
    (0x5ea, TENSOR_UNIT),                              // UTCHMMA
    (0x607, &[wr(2, 2), r(3, 2), r(4, 2), p(87)]),     // SEL.64
    (0x7ac, &[wu(2, SIZE), u(3, 1)]),                  // LDCU
    (0x801, &[]),                                      // PMTRIG
    (0x81c, &[wp(81), wp(84), p(87), p(77), p(68), up(68)]), // PLOP3
    (0x822, &[wr(2, 1), r(3, 1), r(8, 1)]),            // FSWZADD
    (0x82d, &[]),                                      // PREEXIT
    (0x82e, &[]),                                      // ACQBULK
    (0x82f, &[wu(2, 1), wp(81), p(87)]),               // ELECT
    (0x83b, &[wr(2, 4), r(3, 1), u(4, IF_UNIFORM)]),   // LDSM
    (0x844, &[r(3, 1), r(4, 4), u(8, IF_UNIFORM)]),    // STSM
    (0x84c, &[]),                                      // UVIRTCOUNT
    (0x886, &[wu(2, 1), wup(81), p(87), up(87)]),      // VOTEU
    (0x91a, &[]),                                      // DEPBAR
    (0x91b, &[p(87)]),                                 // ENDCOLLECTIVE
    (0x91d, &[r(4, 1), p(87)]),                        // BAR
    (0x941, &[b(16), p(87)]),                          // BSYNC
    (0x942, &[b(16), wb(16), p(87)]),                  // BREAK
    (0x945, &[wb(16), p(87)]),                         // BSSY
    (0x946, &[p(87)]),                                 // YIELD
    (0x947, &[p(87), u(3, IF_UNIFORM)]),               // BRA
    (0x948, &[p(87)]),                                 // WARPSYNC
    (0x949, &[r(3, 2), p(87)]),                        // BRX
    (0x94d, &[p(87)]),                                 // EXIT
    (0x958, &[u(3, 2), p(87), up(87)]),                // BRXU
    (0x95c, &[]),                                      // BPT
    (0x95d, &[p(87)]),                                 // NANOSLEEP
    (0x97e, &[wr(2, 4), wr(8, 4), r(3, 2), u(4, 2)]),  // LDG.256
    (0x97f, &[r(2, 4), r(3, 2), r(4, 4), u(8, 2)]),    // STG.256
    (0x980, LOAD),                                     // LD
    (0x981, GLOBAL_LOAD),                              // LDG
    (0x983, NEAR_LOAD),                                // LDL
    (0x984, NEAR_LOAD),                                // LDS
    (0x985, STORE),                                    // ST
    (0x986, STORE),                                    // STG
    (0x987, NEAR_STORE),                               // STL
    (0x988, NEAR_STORE),                               // STS
    (0x989, &[wr(2, 1), wp(81), r(3, 1), r(8, 1)]),    // SHFL
    (0x98a, ATOMIC_ADDRESS),                           // ATOM
    (0x98c, &[wr(2, ATOMIC), r(3, 1), r(4, ATOMIC), u(8, 1)]), // ATOMS
    (0x98e, REDUCTION),                                // REDG
    (0x98f, &[r(3, 2), u(4, 2)]),                      // CCTL
    (0x990, &[r(3, 1)]),                               // CCTLL
    (0x992, &[]),                                      // MEMBAR
    (0x9a2, FLOAT_ATOMIC_ADDRESS),                     // ATOM of floating point
    (0x9a3, FLOAT_ATOMIC_ADDRESS),                     // ATOMG of floating point
    (0x9a4, &[wr(2, ATOMIC), r(3, 2), u(8, 2)]),       // LDGMC
    (0x9a5, &[wr(2, FLOAT_REDUCTION), r(3, 2), u(8, 2)]), // LDGMC of floating point
    (0x9a6, FLOAT_REDUCTION_ADDRESS),                  // REDG of floating point
    (0x9a7, &[wr(2, 2), r(3, 1), r(4, 1), u(8, 1)]),   // SYNCS
    (0x9a8, ATOMIC_ADDRESS),                           // ATOMG
    (0x9aa, &[wr(2, 1), wp(81), r(3, 2), u(4, 2)]),    // QSPC
    (0x9ab, &[]),                                      // ERRBAR
    (0x9ac, &[wu(2, SIZE), u(3, 2), up(87)]),          // LDCU
    (0x9af, &[]),                                      // LDGDEPBAR
    (0x9b0, &[r(3, 1), u(8, 1)]),                      // ARRIVES
    (0x9b1, &[r(3, 1), u(8, 1)]),                      // SYNCS.CCTL
    (0x9b7, &[]),                                      // UTMACMDFLUSH
    (0x9b9, &[u(3, 2)]),                               // UTMACCTL
    (0x9bf, &[wu(2, 2), u(3, 2)]),                     // USYNCS
    (0x9c7, &[]),                                      // UCGABAR_ARV
    (0x9e3, &[wu(2, 2), u(4, 2)]),                     // UTCATOMSWS
    (0x9e6, TENSOR_UNIT),                              // UTCSHIFT
    (0x9e7, TENSOR_UNIT),                              // UTCCP
    (0x9ea, TENSOR_UNIT),                              // UTCHMMA
    (0x9ed, &[r(4, TENSOR), u(8, 1)]),                 // STTM
    (0x9ee, &[wr(2, TENSOR), u(4, 1)]),                // LDTM
    (0xb1d, &[p(87)]),                                 // BAR
    (0xb82, &[wr(2, SIZE), r(3, 1)]),                  // LDC
    (0xbac, &[wu(2, SIZE), u(3, 2), u(8, 1)]),         // LDCU
    (0xc1d, &[wp(81), wp(84), u(4, 1), p(87), p(68)]), // PLOP3 of signs
    (0xc1e, &[wp(81), wp(84), u(4, 1), r(8, 1), p(87)]), // PLOP3 of signs
    (0xc1f, &[wp(81), wp(84), r(3, 1), u(4, 1), r(8, 1), p(87)]), // PLOP3 of signs
    (0xc87, &[wu(2, 2), u(3, 2), u(4, 2), up(87)]),    // USEL.64
    (0xd5d, &[u(4, 1), p(87)]),                        // NANOSLEEP
    (0xdae, &[r(2, 1), r(3, 2), u(8, 2), p(87), wp(87)]), // LDGSTS
    (0xdbd, &[r(3, 2), r(4, SIZE)]),                   // STAS
    (0xdbe, &[r(3, 2), r(4, ATOMIC), u(8, 1)]),        // REDAS
    (0xdc7, &[]),                                      // UCGABAR_WAIT
    (0xdea, TENSOR_UNIT),                              // UTCQMMA
    (0xe07, &[wr(2, 2), r(3, 2), u(4, 2), p(87)]),     // SEL.64
    (0xe45, &[wr(2, 1), u(4, 1)]),                     // I2FP of parts
    (0xf54, &[wr(2, 2), u(4, 2)]),                     // MOV64IUR
    (0xf89, &[wr(2, 1), wp(81), r(3, 1)]),             // SHFL
    (0xf8c, &[wr(2, ATOMIC), r(3, 1), u(8, 1)]),       // ATOMS.POPC.INC
    (0xfae, &[r(2, 1), r(3, 2), u(8, 2), p(87), wp(87)]), // LDGSTS
];

/// The same by operation, whatever the form.
pub const FIXED_FORMS: [(u16, &[Operand]); 10] = [
    (0x160, TEXTURE),                                 // TEX
    (0x163, TEXTURE),                                 // TLD4
    (0x166, TEXTURE),                                 // TLD
    (0x16c, TEXTURE),                                 // TXD
    (0x16f, &[wr(2, 2), wr(8, 2), r(3, 4), u(5, 2)]), // TXQ
    (0x197, &[wr(2, 4), wp(81), r(3, 4), u(5, 2)]),   // SULD with a format
    (0x199, &[wr(2, 4), wp(81), r(3, 4), u(5, 2)]),   // SULD
    (0x19b, &[r(3, 4), r(4, 4), u(5, 2)]),            // SUST with a format
    (0x19d, &[r(3, 4), r(4, 4), u(5, 2)]),            // SUST
    (0x19f, &[r(3, 4), r(4, 4), u(5, 2)]),            // SURED
];

/// Operations that move all predicates to or from a register.
pub const UNIFORM_PREDICATES_TO_REGISTER: u16 = 0x083;
pub const REGISTER_TO_UNIFORM_PREDICATES: u16 = 0x084;
pub const PREDICATES_TO_REGISTER: u16 = 0x003;
pub const REGISTER_TO_PREDICATES: u16 = 0x004;

/// Operations that wait for others, order memory, signal other threads or engines, or leave the function. Everything
/// that was over before them must still be. The results of those that set a scoreboard are not in registers alone.
///
/// Barriers of a thread block (`BAR`), of a warp (`WARPSYNC`) and exits are not among them: assemblers let loads, stores
/// and shuffles be under way there as a matter of course, as memory is accessed in the order of the instructions.
pub const ORDERING: [u16; 51] = [
    0x02d, 0x02e, 0x04c, 0x11a, 0x11b, 0x11c, 0x140, 0x143, 0x144, 0x14a, 0x14c, 0x150, 0x152, 0x153, 0x15c,
    0x15d, 0x177, 0x18f, 0x192, 0x1a7, 0x1ab, 0x1af, 0x1b0, 0x1b1, 0x1b2, 0x1b4, 0x1b5, 0x1b6, 0x1b7, 0x1b8,
    0x1b9, 0x1ba, 0x1bb, 0x1bc, 0x1bd, 0x1be, 0x1bf, 0x1c6, 0x1c7, 0x1ca, 0x1e3, 0x1e6, 0x1e7, 0x1e9, 0x1ea,
    0x1eb, 0x1ec, 0x1ed, 0x1ee, 0x1ef, 0x1f0,
];
/// `BAR`: whatever it sets is not about registers alone either.
pub const BARRIER: u16 = 0x11d;
