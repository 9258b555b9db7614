//! After which instructions other warps may go on, and which operands are kept for the next ones.
//!
//! Others go on where an instruction stalls for a while. An operand is kept if the next instruction with an operand in the
//! same place, of an even or an odd number as this one, has the same register there, and nobody else goes on in between. Both are told for sm_100 too: where the
//! code has it otherwise, there are reasons that are not known here, and it stays so.

use super::delays::{Held, Scheduled};
use super::pipes::{Kind, Member, Pipe, is_double, is_matrix};
use crate::instruction::Instruction;
use crate::operation::DADD;
use crate::registers::File;
use crate::schedule::instructions::Line;
use std::ops::Range;

/// Stalls of so many cycles have others go on in any case, and those of so many after instructions of fixed latency.
const LONG: i64 = 12;
const SHORT: i64 = 3;
/// Where nothing has gone on for so many cycles, two are enough.
const PATIENCE: i64 = 10;
const TWO: i64 = 2;

const KEPT_AT: u32 = 122;
const KEPT: u128 = 0xf << KEPT_AT;
const SLOTS: u32 = 3;
const NO_REGISTER: u8 = 255;
const DEPBAR: u16 = 0x11a;
/// How far what operands are kept for may be.
const REACH: usize = 64;
/// Operations whose second operand is in the third place: `FADD`, `DADD`, `DSETP`, `HADD2`. That of `DADD` is where others have the third one.
const SECOND_IN_THIRD: [u16; 4] = [0x021, DADD, 0x02a, 0x030];
/// Operations with two operands: `MOV`, `SEL`, `FSEL`, `FSETP`, `ISETP`, `IADD`, `VIADD`, `VIMNMX`.
const TWO_OPERANDS: [u16; 8] = [0x002, 0x007, 0x008, 0x00b, 0x00c, 0x035, 0x036, 0x048];

/// A block before and after.
pub struct Marks<'a> {
    pub lines: &'a [Line],
    pub range: Range<usize>,
    /// The instructions with their new scoreboards, and their new stalls.
    pub new: &'a [Instruction],
    pub stalls: &'a [i64],
    /// The stalls before, and where no other warp goes on.
    pub given: &'a [i64],
    pub held: Held,
    /// Whether the marks of the code before say nothing.
    pub is_new: bool,
    /// After which instructions another warp went on before, at one that is gone.
    pub gone_on: &'a [usize],
    /// The machines that the code before and the new code are for.
    pub from: Member,
    pub member: Member,
}

impl<'a> Marks<'a> {
    /// For a block with these new instructions and stalls.
    pub fn new(block: &'a Scheduled, new: &'a [Instruction], stalls: &'a [i64], member: Member) -> Self {
        Self {
            lines: &block.lines,
            range: 0..block.lines.len(),
            new,
            stalls,
            given: &block.given,
            held: block.held,
            is_new: false,
            gone_on: &[],
            from: member,
            member,
        }
    }

    /// The same for code that was of another machine.
    pub const fn from(self, from: Member) -> Self {
        Self { from, ..self }
    }

    /// The instructions with their marks.
    pub fn put(&self) -> Vec<(Instruction, bool)> {
        let holds = self.holds();
        let kept = self.range.clone().map(|at| self.kept(at, &holds));
        let with =
            |(bits, kept): (&Instruction, u64)| Instruction(bits.0 & !KEPT | u128::from(kept) << KEPT_AT);
        let new: Vec<Instruction> = self.new.iter().zip(kept).map(with).collect();
        new.into_iter().zip(holds).collect()
    }

    /// Whether each instruction lets no other warp go on.
    fn holds(&self) -> Vec<bool> {
        let (mut old_since, mut since) = (0, 0);
        let mut holds = Vec::with_capacity(self.range.len());
        for (index, line) in self.lines[self.range.clone()].iter().enumerate() {
            if self.held == Held::AsBefore {
                holds.push(line.bits.holds());
                continue;
            }
            let (old_stall, stall) = (self.given[index], self.stalls[index]);
            let hold = |bits: Instruction, member: Member, stall: i64, since: i64| {
                if stall >= LONG { self.held == Held::WithDelays } else { hold(bits, member, stall, since) }
            };
            let expected = hold(line.bits, self.from, old_stall, old_since);
            let is_known = self.is_new || expected == line.bits.holds() || stall >= LONG;
            let new = hold(self.new[index], self.member, stall, since);
            let hold = if is_known { new } else { line.bits.holds() };
            let went_on = !line.bits.holds() || self.gone_on.contains(&index);
            old_since = if went_on { 0 } else { old_since + old_stall };
            since = if hold { since + stall } else { 0 };
            holds.push(hold);
        }
        holds
    }

    /// The operands that an instruction keeps, a bit for each.
    fn kept(&self, at: usize, holds: &[bool]) -> u64 {
        let old = self.lines[at].bits.field(KEPT_AT, 4);
        let start = self.range.start;
        (0..SLOTS).fold(0, |kept, slot| {
            let was = old >> slot & 1 != 0;
            let held = |at: usize| self.lines[at].bits.holds() && !self.gone_on.contains(&(at - start));
            let expected = self.keeps(at, slot, self.from, held);
            let new = self.keeps(at, slot, self.member, |at| holds[at - start]);
            // Some operands are kept for an instruction after the next one.
            let may_be = was && is_arithmetic(self.lines[at].bits, self.member) && holds[at - start];
            let keeps = if expected == was { new } else { may_be && self.reaches(at, slot, holds) };
            kept | u64::from(keeps) << slot
        })
    }

    /// Whether nobody else goes on before the next instruction with the same register in the same place.
    fn reaches(&self, at: usize, slot: u32, holds: &[bool]) -> bool {
        let register = operand(&self.lines[at], slot);
        let mut later = at + 1..self.range.end.min(at + REACH);
        let user = later.find(|later| operand(&self.lines[*later], slot) == register);
        user.is_none_or(|user| {
            is_arithmetic(self.lines[user].bits, self.member)
                && holds[at - self.range.start..user - self.range.start].iter().all(|holds| *holds)
        })
    }

    fn keeps(&self, at: usize, slot: u32, member: Member, holds: impl Fn(usize) -> bool) -> bool {
        let line = &self.lines[at];
        let Some(register) = operand(line, slot).filter(|_| is_arithmetic(line.bits, member)) else {
            return false;
        };
        let is_long = is_long_pair(line.bits);
        let is_written = |line: &Line| {
            let register = u16::from(register);
            line.writes.contains(File::General, register)
                || is_long && line.writes.contains(File::General, register + 1)
        };
        if is_written(line) || !holds(at) {
            return false;
        }
        // Matrices keep operands for matrices, others for others, and each over what the others use.
        let takes =
            |other: &Line| is_arithmetic(other.bits, member) && is_matrix(other.bits) == is_matrix(line.bits);
        for later in at + 1..self.range.end.min(at + REACH) {
            let line = &self.lines[later];
            if let Some(other) = operand(line, slot).filter(|_| takes(line)) {
                // Registers of even and of odd numbers are kept apart; two registers are one of each.
                if is_pair(line, slot) {
                    return register & !1 == other;
                }
                // Two registers are not kept for one.
                if is_long {
                    return false;
                }
                if other & 1 == register & 1 {
                    return other == register;
                }
            }
            if is_written(line) || !holds(later) {
                return false;
            }
        }
        false
    }
}

/// The register that an instruction has in one of the places from which operands can be kept.
fn operand(line: &Line, slot: u32) -> Option<u8> {
    /// Forms whose second source is where other forms have the last one.
    const SECOND_LAST: [u16; 3] = [2, 3, 7];
    let bits = line.bits;
    let is_second_last = SECOND_LAST.contains(&bits.form());
    let is_third = SECOND_IN_THIRD.contains(&bits.operation());
    let byte = match slot {
        0 => 3,
        1 if is_second_last => 8,
        1 if bits.form() == 1 && !is_third => 4,
        2 if bits.form() == 1 && is_third && bits.operation() != DADD => 4,
        2 if !is_second_last && !TWO_OPERANDS.contains(&bits.operation()) => 8,
        _ => return None,
    };
    let register = bits.byte(byte);
    (register != NO_REGISTER && line.reads.contains(File::General, register.into())).then_some(register)
}

/// Whether an operand is two registers: the last one of products with a long result, and those of double precision.
fn is_pair(line: &Line, slot: u32) -> bool {
    const WIDE: [u16; 2] = [0x025, 0x027];
    WIDE.contains(&line.operation()) && slot == 2 || is_double(line.bits) || is_long_pair(line.bits)
}

/// Whether the operands are of 64 bits: those of sums, comparisons and selections of sm_120.
fn is_long_pair(bits: Instruction) -> bool {
    bits.is_long_sum() || bits.is_long_comparison() || bits.is_long_selection()
}

/// Whether operands of an instruction can be kept, or taken from what is kept.
pub fn is_arithmetic(bits: Instruction, member: Member) -> bool {
    match Kind::of(bits, member).pipe {
        pipe if pipe.is_plain() => true,
        Pipe::Matrix | Pipe::Tensor => true,
        Pipe::Double => matches!(member, Member::Sm100 | Member::Sm107),
        _ => false,
    }
}

fn hold(bits: Instruction, member: Member, stall: i64, since: i64) -> bool {
    let sets = bits.write_scoreboard().is_some() || bits.read_scoreboard().is_some();
    let kind = Kind::of(bits, member);
    // Others go on after a counted wait, too.
    let has_fast_doubles = matches!(member, Member::Sm100 | Member::Sm107);
    let is_fixed = kind.is_fixed() && (has_fast_doubles || kind.pipe != Pipe::Double) && !kind.is_matrix
        || bits.operation() == DEPBAR;
    // From 13.3 on double precision of sm_100 has scoreboards too, and is marked as what is of fixed latency.
    let is_double = has_fast_doubles && is_double(bits);
    if sets && !is_double || !is_fixed {
        return true;
    }
    stall < SHORT && !(stall == TWO && since >= PATIENCE)
}
