//! One machine instruction and its control word.
//!
//! An instruction has 128 bits. The low 12 bits are the opcode: nine for the operation and three for the form, which
//! says what kinds of operands follow. Bits 12 to 15 are the guard predicate. Bits 105 to 125 are for the scheduler.

use crate::operation::{IADD, ISETP, MOV, MUFU, UTMACCTL};

/// The operands that an instruction keeps for the next one (`.reuse`), a bit for each.
pub const KEPT: u128 = 0xf << 122;
/// The size of an instruction in bytes.
pub const SIZE: usize = 16;
/// The number of scoreboards.
pub const SCOREBOARDS: u8 = 6;

const OPCODE: u128 = 0xfff;
const OPERATION: u16 = 0x1ff;
const GUARD: u32 = 12;
/// The guard that always holds, and the bit that negates a guard.
pub const TRUE: u8 = 7;

const STALL: u32 = 105;
const WRITE_SCOREBOARD: u32 = 110;
const READ_SCOREBOARD: u32 = 113;
const WAIT_MASK: u32 = 116;
/// What a rewrite may change anywhere: both scoreboards and the wait mask.
const SCOREBOARD_FIELDS: u128 = 0xfff << WRITE_SCOREBOARD;
const STALL_FIELD: u128 = 0xf << STALL;
/// `@!UPT UIADD3 URZ, UPT, UPT, URZ, URZ, URZ` without scoreboards, waits and cycles. It is never executed, and takes time where no other
/// warp goes on.
pub const HELD_DELAY: u128 = 0x000f_e000_0fff_e0ff_0000_00ff_ffff_f290;
const YIELD_FIELD: u128 = 1 << 109;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u128);

impl Instruction {
    pub fn at(code: &[u8], index: usize) -> Self {
        let bytes = code.get(index * SIZE..).and_then(|rest| rest.first_chunk::<SIZE>());
        Self(bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes)))
    }

    /// Whether it is `MUFU.EX2`.
    pub fn is_exponential(self) -> bool {
        const FUNCTION_AT: u32 = 74;
        const EXPONENTIAL: u64 = 2;
        self.operation() == MUFU && self.field(FUNCTION_AT, 4) == EXPONENTIAL
    }

    /// Bits of the instruction as a number.
    pub fn field(self, at: u32, width: u32) -> u64 {
        (self.0 >> at) as u64 & ((1 << width) - 1)
    }

    pub fn byte(self, index: u32) -> u8 {
        (self.0 >> (index * 8)) as u8
    }

    /// Operation and form.
    pub fn opcode(self) -> u16 {
        (self.0 & OPCODE) as u16
    }

    pub fn operation(self) -> u16 {
        self.opcode() & OPERATION
    }

    pub fn form(self) -> u16 {
        self.opcode() >> 9
    }

    /// The guard predicate; 8 is set where it is negated.
    pub fn guard(self) -> u8 {
        self.field(GUARD, 4) as u8
    }

    pub fn is_unconditional(self) -> bool {
        self.guard() == TRUE
    }

    pub fn stall(self) -> u8 {
        self.field(STALL, 4) as u8
    }

    /// Whether other warps are not to be preferred after this instruction.
    pub fn holds(self) -> bool {
        self.0 & YIELD_FIELD != 0
    }

    /// The scoreboard that is set until the result is written.
    pub fn write_scoreboard(self) -> Option<u8> {
        Some(self.field(WRITE_SCOREBOARD, 3) as u8).filter(|number| *number < SCOREBOARDS)
    }

    /// The scoreboard that is set until the operands have been read.
    pub fn read_scoreboard(self) -> Option<u8> {
        Some(self.field(READ_SCOREBOARD, 3) as u8).filter(|number| *number < SCOREBOARDS)
    }

    /// A bit for each scoreboard that the instruction waits for.
    pub fn wait_mask(self) -> u8 {
        self.field(WAIT_MASK, SCOREBOARDS.into()) as u8
    }

    /// A bit for each scoreboard that the instruction sets.
    pub fn set_mask(self) -> u8 {
        let sets = [self.write_scoreboard(), self.read_scoreboard()].into_iter().flatten();
        sets.fold(0, |mask, number| mask | 1 << number)
    }

    /// The same instruction that takes other cycles.
    #[must_use]
    pub fn with_stall(self, stall: u8) -> Self {
        Self(self.0 & !STALL_FIELD | u128::from(stall) << STALL & STALL_FIELD)
    }

    /// The same instruction after which other warps go on.
    #[must_use]
    pub fn without_hold(self) -> Self {
        Self(self.0 & !YIELD_FIELD)
    }

    pub fn without_scoreboards(self) -> u128 {
        self.0 & !SCOREBOARD_FIELDS
    }

    pub fn without_schedule(self) -> u128 {
        self.0 & !(SCOREBOARD_FIELDS | STALL_FIELD | YIELD_FIELD)
    }

    pub fn is_call_or_return(self) -> bool {
        self.is_call() || self.is_return()
    }

    pub fn is_call(self) -> bool {
        matches!(self.operation(), 0x143 | 0x144 | 0x14a)
    }

    pub fn is_return(self) -> bool {
        self.operation() == 0x150
    }

    /// Whether it does nothing but take time: a `NOP` without scoreboards and waits, or what has its place where no other warp goes on.
    pub fn is_delay(self) -> bool {
        self.is_held_delay()
            || self.operation() == 0x118
                && self.wait_mask() == 0
                && self.write_scoreboard().is_none()
                && self.read_scoreboard().is_none()
    }

    /// Whether its stall is a number of cycles: what long stalls mean depends on whether other warps go on, and so does none.
    pub fn has_usual_stall(self) -> bool {
        /// Stalls of so many cycles may mean something else with the yield flag.
        const LONG_STALL: u8 = 12;
        !self.holds() || (1..LONG_STALL).contains(&self.stall())
    }

    /// Whether it adds two numbers of 64 bits, as sm_120 can.
    pub fn is_long_sum(self) -> bool {
        const IS_LONG: u32 = 73;
        self.operation() == IADD && self.field(IS_LONG, 1) != 0
    }

    /// Whether it compares numbers of 64 bits.
    pub fn is_long_comparison(self) -> bool {
        const IS_LONG: u32 = 80;
        self.operation() == ISETP && self.field(IS_LONG, 1) != 0
    }

    /// Whether it selects between numbers of 64 bits.
    pub fn is_long_selection(self) -> bool {
        const OPCODES: [u16; 3] = [0x407, 0x607, 0xe07];
        OPCODES.contains(&self.opcode())
    }

    /// Whether it moves a number of 64 bits.
    pub fn is_long_move(self) -> bool {
        const OF_CONSTANT: u16 = 0x402;
        const IS_LONG: u32 = 80;
        let is_marked = self.operation() == MOV && self.field(IS_LONG, 1) != 0;
        self.opcode() == OF_CONSTANT || is_marked
    }

    /// Whether it is [`HELD_DELAY`], of any length.
    pub fn is_held_delay(self) -> bool {
        let timing = STALL_FIELD | YIELD_FIELD;
        self.0 & !timing == HELD_DELAY & !timing
    }

    /// A `NOP` that takes the time of the instruction.
    #[must_use]
    pub fn as_delay(self) -> Self {
        const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
        let timing = STALL_FIELD | YIELD_FIELD;
        Self(NOP & !timing | self.0 & timing)
    }

    /// Whether the description of a tensor is forgotten: `UTMACCTL.IV`, not `UTMACCTL.PF`, which fetches it.
    pub fn forgets_tensor(self) -> bool {
        self.operation() == UTMACCTL && self.field(82, 1) == 0
    }

    /// `DEPBAR`, the wait as an instruction of its own.
    pub fn counted_wait(self) -> Option<CountedWait> {
        (self.operation() == 0x11a).then(|| CountedWait {
            mask: self.field(32, SCOREBOARDS.into()) as u8,
            counter: (self.field(47, 1) != 0).then(|| (self.field(44, 3) as u8, self.field(38, 6) as u8)),
        })
    }
}

/// The operands of `DEPBAR`: scoreboards to wait for, and one of which so many may still be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedWait {
    pub mask: u8,
    pub counter: Option<(u8, u8)>,
}

impl CountedWait {
    /// The scoreboards none of which is under way afterwards.
    pub fn ended(self) -> u8 {
        let counter = self.counter.filter(|(_, count)| *count == 0);
        self.mask | counter.map_or(0, |(number, _)| 1 << number)
    }

    /// The scoreboard some of which may be under way afterwards.
    pub fn counted(self) -> Option<u8> {
        self.counter.filter(|(_, count)| *count > 0).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::{CountedWait, Instruction};

    #[test]
    fn fields_of_a_load() {
        // @!P2 LDG.E R0, desc[UR6][R2.64+0x4] with waits for 1, sets 4
        let load = Instruction(0x002f_2800_0c1e_1900_0000_0406_0200_a981);
        assert_eq!((load.opcode(), load.operation(), load.form()), (0x981, 0x181, 4));
        assert_eq!((load.guard(), load.is_unconditional()), (0xa, false));
        assert_eq!((load.write_scoreboard(), load.read_scoreboard()), (Some(4), None));
        assert_eq!((load.wait_mask(), load.stall()), (0b10, 4));
    }

    #[test]
    fn counted_waits() {
        // DEPBAR.LE SB5, 0x2
        let wait = Instruction(0x000f_c800_0000_0000_0000_d080_0000_791a).counted_wait();
        assert_eq!(wait, Some(CountedWait { mask: 0, counter: Some((5, 2)) }));
        assert_eq!(wait.map(|wait| (wait.ended(), wait.counted())), Some((0, Some(5))));
        let all = CountedWait { mask: 0b1000, counter: Some((0, 0)) };
        assert_eq!((all.ended(), all.counted()), (0b1001, None));
    }
}
