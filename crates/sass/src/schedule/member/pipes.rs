//! Which unit does an operation, and how soon that takes the next one.

use crate::instruction::Instruction;
use crate::operation::{DMMA, DOUBLE, HMMA, IADD, IMMA, IMNMX, LONG_CONVERSIONS, NOP, POPC, VOTE, WARPSYNC};
use crate::schedule::{Family, Machine};

/// Units that matter here. Instructions of others are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Integers, comparisons, selection.
    Logic,
    /// Single precision and products of integers.
    Multiply,
    /// Memory and what crosses lanes.
    Memory,
    /// Functions and conversions.
    Special,
    /// Double precision.
    Double,
    Uniform,
    /// Constants and barriers.
    Constant,
    /// `POPC`, which sm_103 has a unit for.
    Count,
    /// `WARPSYNC`.
    Meeting,
    /// Products of matrices of integers.
    Matrix,
    /// Products of matrices of half and single precision.
    Tensor,
    /// What `Logic` is elsewhere, on sm_120: sums, logic and shifts; moves, comparisons and selection; the same of 64 bits.
    Sum,
    Choice,
    Long,
    None,
}

impl Pipe {
    /// Plain arithmetic.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Logic | Self::Multiply | Self::Sum | Self::Choice | Self::Long)
    }
}

const LOGIC: [u16; 37] = [
    0x002, 0x003, 0x004, 0x005, 0x006, 0x007, 0x008, 0x009, 0x00a, 0x00b, 0x00c, 0x00f, 0x010, 0x011, 0x012,
    0x013, 0x014, 0x016, 0x019, 0x01a, 0x01b, 0x01c, 0x01f, 0x033, 0x034, 0x03e, 0x040, 0x045, 0x046, 0x048,
    0x076, 0x0ca, 0x015, 0x00d, 0x00e, 0x152, 0x153,
];
/// The units that sm_120 has for these: those of sums, logic and shifts, and those of 64 bits.
const SUMS: [u16; 16] = [
    0x003, 0x004, 0x010, 0x011, 0x012, 0x013, 0x014, 0x015, 0x016, 0x019, 0x01a, 0x01b, 0x01c, 0x034, 0x045,
    0x0ca,
];
const LONG: [u16; 2] = [0x017, 0x035];
/// Additions and products of single precision, one in each cycle.
const SINGLE: [u16; 3] = [0x020, 0x021, 0x023];
/// The others of that unit: those of half precision have another latency, those with long results take longer.
const HALF: [u16; 3] = [0x030, 0x031, 0x032];
const WIDE: [u16; 2] = [0x025, 0x027];
const PRODUCTS: [u16; 6] = [0x024, 0x026, 0x036, 0x049, 0x04a, 0x04b];
const MEMORY: [u16; 27] = [
    0x180, 0x181, 0x183, 0x184, 0x185, 0x186, 0x187, 0x188, 0x189, 0x18a, 0x18b, 0x18c, 0x18d, 0x18e, 0x1a2,
    0x1a3, 0x1a6, 0x1a8, 0x1a9, 0x1ae, 0x1af, 0x03a, 0x03b, 0x044, 0x1a5, 0x1bd, 0x18f,
];
const SPECIAL: [u16; 9] = [0x100, 0x101, 0x102, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109];
const UNIFORM: [u16; 12] =
    [0x087, 0x08c, 0x090, 0x091, 0x092, 0x096, 0x097, 0x099, 0x09c, 0x0a4, 0x0a5, 0x0a7];
const UNIFORM_MOVE: u16 = 0x082;
const UNIFORM_FLO: u16 = 0x0bd;
const VIADD: u16 = 0x036;
/// `F2FP`
const CONVERSION: u16 = 0x03e;
const UNIFORM_VOTE: u16 = 0x086;
const CONSTANT: [u16; 3] = [0x182, 0x1c3, 0x11d];

/// Whether one of the matrices of `HMMA` is sparse.
const IS_SPARSE: u32 = 73;

/// The machine whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    Sm100,
    /// With the cycles until the unit of double precision takes the next operation, as the release has it.
    Sm103 {
        interval: u32,
    },
    /// Has the units of sm_120 for what is of one word, and does double precision in a fixed time.
    Sm107,
    Sm120 {
        interval: u32,
    },
}

impl Member {
    /// The machine of code that is scheduled for a family; what is not known of it is taken from sm_100.
    pub fn of(family: Family) -> Self {
        let interval = family.double_interval;
        match family.machine {
            Machine::Of100 => Self::Sm100,
            Machine::Of103 | Machine::Of110 => Self::Sm103 { interval },
            Machine::Of120 => Self::Sm120 { interval },
        }
    }

    /// Whether sums and moves have units of their own.
    fn has_sums(self) -> bool {
        self.is_120() || self == Self::Sm107
    }

    pub fn is_120(self) -> bool {
        matches!(self, Self::Sm120 { .. })
    }

    pub fn is_103(self) -> bool {
        matches!(self, Self::Sm103 { .. })
    }
}

/// An operation as far as delays depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub pipe: Pipe,
    /// Cycles until the unit takes the next operation.
    pub interval: i64,
    pub is_half: bool,
    pub is_uniform_move: bool,
    pub is_conversion: bool,
    /// Whether it is the product of matrices of double precision.
    pub is_matrix: bool,
    /// `VOTE`, which reads its predicate as a guard.
    pub is_vote: bool,
    /// `VOTEU`
    pub is_uniform_vote: bool,
    /// `IMAD.WIDE`
    pub is_wide: bool,
    /// `IMNMX`, which has a unit of its own.
    pub is_minimum: bool,
    /// A delay that was there before.
    pub is_delay: bool,
    /// Whether it is of 64 bits, on sm_120.
    pub is_long: bool,
    /// Whether it is for sm_107, where some results take longer than on sm_100.
    pub is_107: bool,
    /// How long results of matrices take.
    pub matrix: i64,
}

/// Whether it is a function or conversion of 32 bits, which one unit does in order; on sm_103 another one does exponentials.
pub fn is_function(bits: Instruction) -> bool {
    SPECIAL.contains(&bits.operation())
}

pub fn is_double(bits: Instruction) -> bool {
    DOUBLE.contains(&bits.operation())
}

pub fn is_conversion(bits: Instruction) -> bool {
    LONG_CONVERSIONS.contains(&bits.operation())
}

/// Products of matrices of integers: of fixed latency on sm_100 only, as double precision is.
pub fn is_integer_matrix(bits: Instruction) -> bool {
    bits.operation() == IMMA
}

/// Products of matrices, of whatever numbers.
pub fn is_matrix(bits: Instruction) -> bool {
    is_integer_matrix(bits) || is_double_matrix(bits) || bits.operation() == HMMA
}

fn is_double_matrix(bits: Instruction) -> bool {
    bits.operation() == DMMA
}

/// Whether its latency is fixed on sm_100 only.
pub fn loses_latency(bits: Instruction) -> bool {
    is_double(bits) || is_integer_matrix(bits)
}

/// Whether sm_103 does it far more slowly than sm_100.
pub fn is_slow(bits: Instruction) -> bool {
    loses_latency(bits) || is_double_matrix(bits) || is_conversion(bits)
}

/// Whether sm_103 takes another time for it than sm_100.
pub fn differs(bits: Instruction) -> bool {
    is_slow(bits) || bits.is_exponential() || bits.operation() == POPC
}

/// Whether it is arithmetic of fixed latency on all machines.
pub fn is_plain_arithmetic(bits: Instruction) -> bool {
    matches!(Kind::of(bits, Member::Sm103 { interval: 1 }).pipe, Pipe::Logic | Pipe::Multiply | Pipe::Uniform)
}

impl Kind {
    pub fn of(bits: Instruction, member: Member) -> Self {
        let operation = bits.operation();
        let is_103 = member.is_103();
        let double = match member {
            Member::Sm100 | Member::Sm107 => 2,
            Member::Sm103 { interval } | Member::Sm120 { interval } => i64::from(interval),
        };
        let is_120 = member.is_120();
        let is_107 = member == Member::Sm107;
        let has_sums = member.has_sums();
        let (pipe, interval) = match operation {
            _ if is_120 && is_double_matrix(bits) => (Pipe::Double, 584),
            _ if is_120 && is_integer_matrix(bits) => (Pipe::Matrix, 16),
            HMMA if is_120 => (Pipe::Tensor, 16),
            IADD if is_120 && !bits.is_long_sum() => (Pipe::Choice, 1),
            _ if is_120 && (bits.is_long_selection() || bits.is_long_move()) => (Pipe::Long, 2),
            _ if is_120 && LONG.contains(&operation) => (Pipe::Long, 2),
            CONVERSION | 0x033 | 0x040 if has_sums => (Pipe::Sum, 2),
            _ if has_sums && SUMS.contains(&operation) => (Pipe::Sum, 2),
            _ if has_sums && LOGIC.contains(&operation) => (Pipe::Choice, 1),
            IADD | VIADD if is_107 => (Pipe::Choice, 1),
            UNIFORM_MOVE | UNIFORM_VOTE | UNIFORM_FLO if is_107 => (Pipe::Uniform, 1),
            _ if has_sums && UNIFORM.contains(&operation) => (Pipe::Uniform, 1),
            _ if is_double(bits) => (Pipe::Double, double),
            _ if is_double_matrix(bits) => (Pipe::Double, if is_103 { 584 } else { 16 }),
            _ if is_integer_matrix(bits) => (Pipe::Matrix, if is_103 { 64 } else { 8 }),
            HMMA => (Pipe::Tensor, if bits.field(IS_SPARSE, 1) != 0 { 9 } else { 8 }),
            _ if is_conversion(bits) && (is_103 || is_120) => (Pipe::Double, double),
            _ if bits.is_exponential() && (is_103 || is_107) => (Pipe::Special, 4),
            IADD => (Pipe::Logic, 2),
            POPC if is_103 => (Pipe::Count, 1),
            _ if is_120 && SPECIAL.contains(&operation) => (Pipe::Special, 1),
            _ if is_conversion(bits) || SPECIAL.contains(&operation) => (Pipe::Special, 8),
            _ if LOGIC.contains(&operation) => (Pipe::Logic, 2),
            _ if SINGLE.contains(&operation) => (Pipe::Multiply, 1),
            _ if WIDE.contains(&operation) => (Pipe::Multiply, 4),
            _ if HALF.contains(&operation) || PRODUCTS.contains(&operation) => (Pipe::Multiply, 2),
            _ if MEMORY.contains(&operation) => (Pipe::Memory, 4),
            _ if UNIFORM.contains(&operation) => (Pipe::Uniform, 2),
            _ if CONSTANT.contains(&operation) => (Pipe::Constant, 8),
            WARPSYNC => (Pipe::Meeting, 8),
            _ => (Pipe::None, 0),
        };
        Self {
            pipe,
            interval,
            is_half: HALF.contains(&operation),
            is_uniform_move: operation == UNIFORM_MOVE && !is_107,
            is_conversion: is_conversion(bits),
            is_matrix: is_double_matrix(bits),
            is_vote: operation == VOTE,
            is_uniform_vote: operation == UNIFORM_VOTE && !is_107,
            is_wide: WIDE.contains(&operation),
            is_minimum: operation == IMNMX,
            is_delay: operation == NOP,
            is_long: is_120 && bits.is_long_comparison() || pipe == Pipe::Long,
            is_107,
            matrix: match pipe {
                Pipe::Tensor if is_120 => 28,
                Pipe::Matrix if is_120 => 26,
                _ => 19,
            },
        }
    }

    /// Whether results are there after a fixed time.
    pub fn is_fixed(self) -> bool {
        matches!(self.pipe, Pipe::Uniform | Pipe::Double)
            || self.pipe.is_plain()
            || self.is_uniform_move
            || self.is_delay
    }

    /// Whether it may follow a barrier at once.
    pub fn is_arithmetic(self) -> bool {
        matches!(self.pipe, Pipe::Matrix | Pipe::Tensor | Pipe::Uniform)
            || self.pipe.is_plain()
            || self.is_uniform_move
    }

    /// Whether its results come when they come.
    pub fn is_variable(self) -> bool {
        matches!(self.pipe, Pipe::Memory | Pipe::Special | Pipe::Constant | Pipe::Count)
            || self.is_conversion
            || self.is_matrix
    }
}
