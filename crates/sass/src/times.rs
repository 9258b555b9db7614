//! Whether what takes a fixed time is still given that time in code of sm_100 that was timed anew for sm_103.
//!
//! Old and new code have the same instructions, but for delays. Where two of them have fewer cycles between them than they had, they
//! must have as many as assemblers give them on sm_103 (`examples/latencies.rs` counts), or as many as on all machines
//! ([`idle`](crate::idle)). This shares nothing with the code that chooses stalls.

use crate::flow::{Flow, is_control, place, sets_meeting};
use crate::idle::{self, Speed};
use crate::instruction::{Instruction, SIZE};
use crate::operands::{Operands, exact};
use crate::operation::{BAR, BSSY, BSYNC, ENDCOLLECTIVE, IMAD_WIDE, LDSM, MEMBAR, NOP, YIELD};
use crate::registers::{File, Registers};
use std::ops::RangeInclusive;

type Operations = &'static [RangeInclusive<u16>];

/// Results of these are waited for, if not by a scoreboard of their own then by one of their unit, which works in order: double
/// precision and matrices of integers, special functions and conversions, memory.
const VARIABLE: Operations = &[0x028..=0x02b, 0x037..=0x037, 0x100..=0x113, 0x180..=0x1ff];
/// `R2P`, whose mask says which predicates it writes, and `VIMNMX3`, which has one predicate.
const REGISTER_TO_PREDICATES: u16 = 0x004;
const IMMEDIATE: u16 = 4;
const LEAST_OF_THREE: u16 = 0x00f;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Guard,
    Read,
    /// Overwritten by what sets no scoreboard, and by what does.
    Written,
    WrittenLate,
}

/// How many cycles after an instruction another one uses what it writes.
struct Row {
    of: Operations,
    file: File,
    how: Use,
    by: Operations,
    cycles: u32,
}

const fn row(of: Operations, file: File, how: Use, by: Operations, cycles: u32) -> Row {
    Row { of, file, how, by, cycles }
}

const LOGIC: Operations = &[
    0x002..=0x002,
    0x007..=0x008,
    0x00b..=0x00c,
    0x010..=0x013,
    0x016..=0x016,
    0x019..=0x019,
    0x01c..=0x01c,
    0x045..=0x046,
    0x048..=0x048,
];
const SINGLE: Operations = &[0x020..=0x021, 0x023..=0x023];
const PRODUCTS: Operations = &[0x020..=0x021, 0x023..=0x025, 0x027..=0x027, 0x036..=0x036];
const WIDE: Operations = &[0x025..=0x025];
const PLAIN: Operations = &[0x002..=0x027];
const FUNCTIONS: Operations = &[0x100..=0x113];
const DOUBLE: Operations = &[0x028..=0x02b];
const MEMORY: Operations = &[0x180..=0x1ff];
const UNIFORM: Operations = &[0x080..=0x0ff];
/// `UIADD3` and `UMOV` itself; `UPOPC`.
const UNIFORM_SUMS: Operations = &[0x082..=0x082, 0x090..=0x090];
const UNIFORM_COUNTS: Operations = &[0x0bd..=0x0bd];
const UNIFORM_MOVE: Operations = &[0x082..=0x082];
/// `ULDC` and `S2UR`.
const UNIFORM_LOADS: Operations = &[0x1ac..=0x1ac, 0x1c3..=0x1c3];
/// `VOTE`, `VOTEU` and `R2UR`.
const VOTE: Operations = &[0x006..=0x006];
const UNIFORM_VOTE: Operations = &[0x086..=0x086];
const TO_UNIFORM: Operations = &[0x0ca..=0x0ca];
/// What writes predicates: comparisons of single precision, integers and half precision; logic with them; carries.
const COMPARISONS: Operations = &[0x00b..=0x00c, 0x010..=0x012, 0x01c..=0x01c, 0x034..=0x034];
const COMPARISON_OF_HALVES: Operations = &[0x034..=0x034];
const LOGIC_OF_PREDICATES: Operations = &[0x01c..=0x01c];
const TO_PREDICATES: Operations = &[0x004..=0x004];
const FROM_PREDICATES: Operations = &[0x003..=0x003];
const LEAST: Operations = &[0x00f..=0x00f];
/// `FADD2`, `FMUL2` and `FFMA2` of two numbers of single precision.
const PAIRS: Operations = &[0x03e..=0x03e];
const BRANCH: Operations = &[0x147..=0x147];

/// The first one that fits says it. What is not here is left to [`idle`](crate::idle).
const ROWS: &[Row] = &[
    row(
        &[0x012..=0x012, 0x019..=0x019],
        File::General,
        Use::Read,
        &[0x1a1..=0x1a1, 0x1c4..=0x1c4, 0x148..=0x148],
        4,
    ),
    row(LOGIC, File::General, Use::Read, FUNCTIONS, 4),
    row(SINGLE, File::General, Use::Read, FUNCTIONS, 4),
    row(&[0x024..=0x024, 0x036..=0x036], File::General, Use::Read, FUNCTIONS, 4),
    row(WIDE, File::General, Use::Read, FUNCTIONS, 8),
    row(LOGIC, File::General, Use::WrittenLate, FUNCTIONS, 6),
    row(PRODUCTS, File::General, Use::WrittenLate, FUNCTIONS, 6),
    row(LOGIC, File::General, Use::WrittenLate, &[0x119..=0x119], 6),
    row(LOGIC, File::General, Use::Read, DOUBLE, 6),
    row(PRODUCTS, File::General, Use::Read, DOUBLE, 6),
    row(LOGIC, File::General, Use::WrittenLate, DOUBLE, 6),
    row(PRODUCTS, File::General, Use::WrittenLate, DOUBLE, 6),
    row(LOGIC, File::General, Use::Read, MEMORY, 5),
    row(PRODUCTS, File::General, Use::Read, MEMORY, 5),
    row(LOGIC, File::General, Use::WrittenLate, MEMORY, 6),
    row(PRODUCTS, File::General, Use::WrittenLate, MEMORY, 6),
    row(PRODUCTS, File::General, Use::Read, PRODUCTS, 4),
    row(LOGIC, File::General, Use::Written, WIDE, 3),
    row(WIDE, File::General, Use::Written, LOGIC, 1),
    row(PRODUCTS, File::General, Use::Written, PRODUCTS, 1),
    row(LOGIC, File::General, Use::Read, LOGIC, 4),
    row(LOGIC, File::General, Use::Read, TO_PREDICATES, 4),
    row(LOGIC, File::General, Use::Read, LEAST, 4),
    row(LEAST, File::General, Use::Read, PLAIN, 4),
    row(LEAST, File::General, Use::Read, &[0x048..=0x048], 4),
    row(LEAST, File::General, Use::Read, MEMORY, 5),
    row(LEAST, File::General, Use::WrittenLate, MEMORY, 9),
    row(LEAST, File::General, Use::Written, PLAIN, 4),
    row(LEAST, File::General, Use::Written, &[0x048..=0x048], 4),
    row(LOGIC, File::General, Use::Written, LEAST, 4),
    row(VOTE, File::General, Use::Read, LOGIC, 4),
    row(VOTE, File::General, Use::Written, LOGIC, 4),
    row(VOTE, File::Predicate, Use::Written, COMPARISONS, 16),
    row(VOTE, File::Predicate, Use::Guard, BRANCH, 13),
    row(FROM_PREDICATES, File::General, Use::Written, FROM_PREDICATES, 2),
    row(&[0x005..=0x005], File::General, Use::Read, TO_UNIFORM, 10),
    row(&[0x024..=0x024], File::General, Use::Read, TO_UNIFORM, 5),
    row(SINGLE, File::General, Use::Read, PAIRS, 5),
    row(SINGLE, File::General, Use::Written, PAIRS, 5),
    row(PAIRS, File::General, Use::Read, MEMORY, 5),
    row(PAIRS, File::General, Use::Written, PLAIN, 12),
    row(PAIRS, File::General, Use::Written, &[0x036..=0x036], 12),
    row(COMPARISONS, File::Predicate, Use::Read, FROM_PREDICATES, 4),
    row(COMPARISON_OF_HALVES, File::Predicate, Use::Read, LOGIC_OF_PREDICATES, 4),
    row(COMPARISON_OF_HALVES, File::Predicate, Use::Written, LOGIC_OF_PREDICATES, 4),
    row(COMPARISON_OF_HALVES, File::Predicate, Use::Guard, PLAIN, 13),
    row(LOGIC_OF_PREDICATES, File::Predicate, Use::Written, LOGIC_OF_PREDICATES, 2),
    row(COMPARISONS, File::Predicate, Use::WrittenLate, MEMORY, 12),
    row(TO_PREDICATES, File::Predicate, Use::Guard, PLAIN, 13),
    row(TO_PREDICATES, File::Predicate, Use::Read, VOTE, 13),
    row(UNIFORM_MOVE, File::Uniform, Use::Read, BRANCH, 3),
    row(UNIFORM_MOVE, File::Uniform, Use::WrittenLate, UNIFORM_LOADS, 4),
    row(UNIFORM, File::Uniform, Use::WrittenLate, UNIFORM_LOADS, 11),
    row(UNIFORM_MOVE, File::Uniform, Use::Read, PLAIN, 2),
    row(UNIFORM_MOVE, File::Uniform, Use::Read, UNIFORM, 2),
    row(UNIFORM_MOVE, File::Uniform, Use::Written, UNIFORM_SUMS, 1),
    row(UNIFORM_VOTE, File::Uniform, Use::Read, PLAIN, 2),
    row(UNIFORM_VOTE, File::Uniform, Use::Read, UNIFORM, 2),
    row(UNIFORM_VOTE, File::Uniform, Use::Written, UNIFORM_COUNTS, 2),
    row(UNIFORM_VOTE, File::Uniform, Use::Read, FUNCTIONS, 2),
    row(UNIFORM, File::UniformPredicate, Use::Guard, UNIFORM_LOADS, 11),
    row(TO_UNIFORM, File::Uniform, Use::Read, MEMORY, 13),
    row(&[0x142..=0x142], File::Barrier, Use::Read, &[0x141..=0x142], 10),
    row(&[0x142..=0x142], File::Barrier, Use::Written, &[0x142..=0x142], 10),
    row(&[0x145..=0x145], File::Barrier, Use::Read, &[0x141..=0x142], 9),
    row(&[0x145..=0x145], File::Barrier, Use::Written, &[0x142..=0x142], 9),
    row(&[0x145..=0x145], File::Barrier, Use::Written, &[0x145..=0x145], 14),
];

/// A product of 64 bits has the lower half of its result earlier, and reads what is added to it later.
const EARLY_HALF: u32 = 3;
const LATE_OPERAND: u32 = 3;
const LATE_OPERAND_OF_PRODUCT: u32 = 2;

/// `BMOV` to a barrier register, before a return.
const BARRIER_RESTORED: u16 = 0x156;
const UNTIL_RESTORED: u32 = 12;

const FILES: [File; 5] =
    [File::General, File::Uniform, File::Predicate, File::UniformPredicate, File::Barrier];

fn is_among(operations: Operations, operation: u16) -> bool {
    operations.iter().any(|range| range.contains(&operation))
}

/// How soon an operation comes after one that orders it.
fn ordered(first: u16, second: Instruction) -> u32 {
    const DEPBAR: u16 = 0x11a;
    const BREAK: u16 = 0x142;
    const CALL: u16 = 0x143;
    const OTHERS: [u16; 5] = [ENDCOLLECTIVE, BREAK, YIELD, 0x15c, 0x15d];
    let operation = second.operation();
    let is_plain = operation < 0x080 && !is_among(DOUBLE, operation) && operation != LDSM;
    let is_uniform = is_among(UNIFORM, operation) && !is_among(UNIFORM_MOVE, operation);
    match first {
        BAR if is_plain || is_uniform => 1,
        BAR if operation == BAR || operation == MEMBAR => 8,
        BAR | MEMBAR => 6,
        DEPBAR => 4,
        // A branch between them takes 5.
        BSSY if operation == BSYNC => 9,
        BSSY if operation == CALL => 10,
        BSSY if operation == YIELD || operation == BSSY => 2,
        BSSY if is_control(second) => 4,
        first if OTHERS.contains(&first) => 5,
        _ => 0,
    }
}

/// The registers of an instruction.
fn operands(instruction: Instruction) -> Option<Operands> {
    let operation = instruction.operation();
    if operation == LEAST_OF_THREE {
        return exact::operands(instruction);
    }
    let mut operands = exact::checked(instruction)?;
    if operation == REGISTER_TO_PREDICATES && instruction.form() == IMMEDIATE {
        operands.writes.remove_all(File::Predicate);
        for predicate in (0..7).filter(|predicate| instruction.byte(4) >> predicate & 1 != 0) {
            operands.writes.insert(File::Predicate, predicate, 1);
        }
    }
    // Only the uniform unit is guarded by uniform predicates; a branch reads them.
    if !is_among(UNIFORM, operation) && !is_among(UNIFORM_LOADS, operation) {
        operands.guard.remove_all(File::UniformPredicate);
    }
    Some(operands)
}

/// How soon what the first one writes is read, if one of them is a product of 64 bits and it is about the lower half or what is added.
fn wide(first: Instruction, second: Instruction, reads: &Registers) -> Option<u32> {
    /// The forms that have the third operand in registers.
    const ADDS_REGISTERS: [u16; 4] = [1, 4, 5, 6];
    let (operation, user) = (first.operation(), second.operation());
    if operation == IMAD_WIDE && is_among(LOGIC, user) {
        return (!reads.contains(File::General, u16::from(first.byte(2)) + 1)).then_some(EARLY_HALF);
    }
    if user != IMAD_WIDE || !ADDS_REGISTERS.contains(&second.form()) {
        return None;
    }
    let mut factors = Registers::default();
    factors.insert(File::General, second.byte(3), 1);
    factors.insert(File::General, second.byte(4), u16::from(second.form() == 1));
    let writes = operands(first)?.writes;
    match operation {
        _ if writes.meets(&factors) => None,
        operation if is_among(LOGIC, operation) => Some(LATE_OPERAND),
        operation if is_among(PRODUCTS, operation) && operation != IMAD_WIDE => Some(LATE_OPERAND_OF_PRODUCT),
        _ => None,
    }
}

/// An instruction with the delays after it.
struct Step {
    instruction: Instruction,
    operands: Option<Operands>,
    /// The cycles that it takes, and those until the next one begins: in the new code and in the old.
    own: [u32; 2],
    all: [u32; 2],
    /// Where control goes from it, besides the next one, and through how many cycles of delays there.
    others: Vec<(usize, [u32; 2])>,
    goes_on: bool,
    /// What comes then is not known.
    leaves: bool,
}

impl Step {
    /// Whether the time between it and what comes later is not for a scoreboard to say.
    fn is_fixed(&self) -> bool {
        self.instruction.write_scoreboard().is_none() && !is_among(VARIABLE, self.instruction.operation())
    }

    /// How many cycles later another instruction may come.
    fn until(&self, second: &Self) -> u32 {
        let order = ordered(self.instruction.operation(), second.instruction);
        if !self.is_fixed() {
            return order;
        }
        let base = || idle::latency(self.instruction, second.instruction, Speed::Sm100);
        let (Some(producer), Some(consumer)) = (&self.operands, &second.operands) else {
            return base().max(order);
        };
        let written = if second.instruction.set_mask() != 0 { Use::WrittenLate } else { Use::Written };
        let uses = [(Use::Guard, &consumer.guard), (Use::Read, &consumer.reads), (written, &consumer.writes)];
        let mut cycles = order;
        for file in FILES {
            let writes = producer.writes.within(&[file]);
            for (how, _) in uses.iter().filter(|(_, registers)| writes.meets(registers)) {
                let row = ROWS.iter().find(|row| {
                    (row.file, row.how) == (file, *how)
                        && is_among(row.of, self.instruction.operation())
                        && is_among(row.by, second.instruction.operation())
                });
                let half = (*how == Use::Read && file == File::General)
                    .then(|| wide(self.instruction, second.instruction, &consumer.reads))
                    .flatten();
                cycles = cycles.max(half.or(row.map(|row| row.cycles)).unwrap_or_else(base));
            }
        }
        cycles
    }

    /// How many cycles later anything may come.
    fn until_any(&self) -> u32 {
        match self.instruction.operation() {
            _ if !self.is_fixed() => 0,
            BARRIER_RESTORED => UNTIL_RESTORED,
            _ => idle::longest(self.instruction),
        }
    }
}

/// The instructions of one code without delays.
struct Code<'a> {
    code: &'a [u8],
    /// Where each is, and the cycles of the delays after it.
    placed: Vec<Placed>,
}

#[derive(Clone, Copy)]
struct Placed {
    at: usize,
    instruction: Instruction,
    delays: u32,
}

fn is_delay(instruction: Instruction) -> bool {
    instruction.operation() == NOP || instruction.is_held_delay()
}

impl<'a> Code<'a> {
    fn new(code: &'a [u8]) -> Self {
        let mut placed: Vec<Placed> = Vec::new();
        for at in 0..code.len() / SIZE {
            let instruction = Instruction::at(code, at);
            match placed.last_mut().filter(|_| is_delay(instruction)) {
                Some(last) => last.delays += cycles(instruction),
                None => placed.push(Placed { at, instruction, delays: 0 }),
            }
        }
        Self { code, placed }
    }

    /// Where an instruction says that control goes: to which instruction, and through how many cycles of delays. `None` if that is
    /// outside of the code.
    fn target(&self, index: usize) -> Option<(usize, u32)> {
        let Placed { at, instruction, .. } = self.placed[index];
        let target = usize::try_from(place(at, instruction)?).ok()?;
        let index = self.placed.partition_point(|placed| placed.at < target);
        let end = self.placed.get(index)?.at;
        Some((index, (target..end).map(|at| cycles(Instruction::at(self.code, at))).sum()))
    }
}

/// The instructions of both codes. `None` if they are not the same, or a branch leads out of the code.
fn steps(old: &[u8], new: &[u8]) -> Option<Vec<Step>> {
    let [old, new] = [old, new].map(Code::new);
    let (count, other_count) = (new.placed.len(), old.placed.len());
    if count != other_count {
        return None;
    }
    let target = |index: usize| {
        let (new, old) = (new.target(index)?, old.target(index)?);
        (new.0 == old.0).then_some((new.0, [new.1, old.1]))
    };
    let meets = |index: &usize| sets_meeting(new.placed[*index].instruction);
    let meetings: Vec<(usize, [u32; 2])> = (0..count).filter(meets).map(target).collect::<Option<_>>()?;
    let step = |index: usize| {
        let Placed { at, instruction, delays } = new.placed[index];
        let before = old.placed[index];
        if instruction.operation() != before.instruction.operation() {
            return None;
        }
        let flow = Flow::of(at, instruction);
        let others = match flow {
            Flow::Branch(_) | Flow::Jump(_) => vec![target(index)?],
            Flow::Meet if meetings.iter().all(|(meeting, _)| *meeting != index + 1) => meetings.clone(),
            _ => Vec::new(),
        };
        let own = [cycles(instruction), cycles(before.instruction)];
        Some(Step {
            instruction,
            operands: operands(instruction),
            own,
            all: sum(own, [delays, before.delays]),
            others,
            goes_on: matches!(flow, Flow::Next | Flow::Branch(_) | Flow::Meet),
            leaves: matches!(flow, Flow::Call | Flow::Anywhere),
        })
    };
    (0..count).map(step).collect()
}

fn cycles(instruction: Instruction) -> u32 {
    u32::from(instruction.stall().max(1))
}

/// A bound on the work: how many instructions are looked at for each one.
const WORK: usize = 1 << 8;

/// Whether nothing comes too early in the new code that did not in the old.
pub fn keeps_times(old: &[u8], new: &[u8]) -> bool {
    steps(old, new).is_some_and(|steps| are_kept(&steps))
}

fn are_kept(steps: &[Step]) -> bool {
    let mut work = steps.len().saturating_mul(WORK);
    // An instruction, the place after others on a way from it, and how many cycles later that is.
    let mut ways: Vec<(usize, [u32; 2])> = Vec::new();
    for (at, first) in steps.iter().enumerate() {
        follow(steps, at, [0, 0], &mut ways);
        while let Some((at, passed)) = ways.pop() {
            let step = &steps[at];
            let end = sum(passed, step.own);
            let is_early = passed[0] < passed[1] && passed[0] < first.until(step);
            let is_early_there = step.leaves && end[0] < end[1] && end[0] < first.until_any();
            let Some(left) = work.checked_sub(1) else { return false };
            work = left;
            if is_early || is_early_there {
                return false;
            }
            follow(steps, at, passed, &mut ways);
        }
    }
    true
}

/// Adds where control goes from an instruction that comes so much later, if something may still be under way there.
fn follow(steps: &[Step], at: usize, passed: [u32; 2], ways: &mut Vec<(usize, [u32; 2])>) {
    let step = &steps[at];
    let mut add = |to: usize, passed: [u32; 2]| {
        if passed[0] < idle::LATEST && to < steps.len() {
            ways.push((to, passed));
        }
    };
    if step.goes_on {
        add(at + 1, sum(passed, step.all));
    }
    for (to, delays) in &step.others {
        add(*to, sum(sum(passed, step.own), *delays));
    }
}

fn sum(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

#[cfg(test)]
mod tests {
    use super::keeps_times;

    /// `IADD3 R6, R5, 1, RZ` after `LOP3 R5`, `MUFU.RCP R7, R5`, `MOV R8, R9`, `NOP`, `EXIT`.
    const LOGIC: u128 = 0x078e_c0ff_0000_0004_0305_7212;
    const SUM: u128 = 0x07ff_e0ff_0000_0001_0506_7810;
    const FUNCTION: u128 = 0x1000_0000_0005_0007_7308;
    const OTHER: u128 = 0x0f00_0000_0009_0008_7202;
    const NOP: u128 = 0x7918;
    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;

    fn with(bits: u128, stall: u128) -> u128 {
        bits | stall << 105 | 1 << 109 | 0x3f << 110
    }

    fn code(instructions: &[u128]) -> Vec<u8> {
        instructions.iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    fn keeps(second: u128, stalls: [u128; 2]) -> bool {
        let [old, new] =
            stalls.map(|stall| code(&[with(LOGIC, stall), with(OTHER, 1), with(second, 5), with(EXIT, 5)]));
        keeps_times(&old, &new)
    }

    #[test]
    fn results_take_their_time() {
        assert!(keeps(SUM, [9, 3]) && !keeps(SUM, [9, 2]));
        assert!(keeps(FUNCTION | 0xe << 110, [9, 3]) && !keeps(FUNCTION | 0xe << 110, [9, 2]));
        // What the old code does may stay.
        assert!(keeps(SUM, [2, 2]) && !keeps(SUM, [2, 1]));
    }

    #[test]
    fn delays_are_time_too() {
        let [exit, first, second] = [with(EXIT, 5), with(LOGIC, 1), with(SUM, 5)];
        let old = code(&[with(LOGIC, 9), second, exit]);
        assert!(keeps_times(&old, &code(&[first, with(NOP, 3), second, exit])));
        assert!(!keeps_times(&old, &code(&[first, with(NOP, 2), second, exit])));
    }

    #[test]
    fn branches_are_followed() {
        // BRA over one instruction to the user of the result; whoever does not branch exits.
        let branch = |stall: u128| with(0x0380_0000_0000_0000_0004_0947, stall);
        let of = |first: u128, own: u128| {
            code(&[with(LOGIC, first), branch(own), with(EXIT, 5), with(SUM, 5), with(EXIT, 5)])
        };
        assert!(keeps_times(&of(4, 5), &of(1, 5)));
        assert!(!keeps_times(&of(4, 5), &of(1, 2)));
        // Into the middle of nowhere.
        let lost = code(&[with(LOGIC, 4), with(0x0380_0000_0000_0000_0040_0947, 5), with(EXIT, 5)]);
        assert!(!keeps_times(&lost, &lost));
    }

    #[test]
    fn other_instructions_are_no_answer() {
        assert!(!keeps_times(&code(&[with(LOGIC, 4), with(EXIT, 5)]), &code(&[with(SUM, 4), with(EXIT, 5)])));
        assert!(!keeps_times(&code(&[with(LOGIC, 4), with(EXIT, 5)]), &code(&[with(EXIT, 5)])));
    }
}
