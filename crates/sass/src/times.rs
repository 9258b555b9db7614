//! Whether what takes a fixed time is still given that time in code of sm_100 that was timed anew for sm_103.
//!
//! Old and new code have the same instructions, but for delays. Where two of them have fewer cycles between them than they had, they
//! must have as many as assemblers give them on sm_103 (`examples/latencies.rs --pairs` counts), or as many as on all machines
//! ([`idle`](crate::idle)). This shares nothing with the code that chooses stalls.

use crate::flow::{Flow, Jumps, is_control, lists_of, place, sets_meeting, without_place};
use crate::idle::{self, Speed};
use crate::instruction::{Instruction, SIZE};
use crate::operands::{Operands, exact};
use crate::operation::{BAR, BSSY, BSYNC, IMAD, IMAD_WIDE, LDSM, MEMBAR, NOP, YIELD};
use crate::registers::{File, Registers};
use std::collections::HashSet;
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
    row(WIDE, File::General, Use::Read, DOUBLE, 9),
    row(LOGIC, File::General, Use::Read, DOUBLE, 6),
    row(PRODUCTS, File::General, Use::Read, DOUBLE, 6),
    row(LOGIC, File::General, Use::WrittenLate, DOUBLE, 6),
    row(PRODUCTS, File::General, Use::WrittenLate, DOUBLE, 6),
    row(LOGIC, File::General, Use::Read, MEMORY, 5),
    row(PRODUCTS, File::General, Use::Read, MEMORY, 5),
    row(LOGIC, File::General, Use::WrittenLate, MEMORY, 6),
    row(PRODUCTS, File::General, Use::WrittenLate, MEMORY, 6),
    row(WIDE, File::General, Use::Read, SINGLE, 11),
    row(PRODUCTS, File::General, Use::Read, PRODUCTS, 4),
    row(LOGIC, File::General, Use::Written, WIDE, 5),
    row(WIDE, File::General, Use::Written, &[0x012..=0x012], 1),
    row(WIDE, File::General, Use::Written, SINGLE, 8),
    row(WIDE, File::General, Use::Written, PRODUCTS, 4),
    row(SINGLE, File::General, Use::Written, SINGLE, 1),
    row(PRODUCTS, File::General, Use::Written, &[0x025..=0x025, 0x027..=0x027], 4),
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
    row(VOTE, File::General, Use::WrittenLate, FUNCTIONS, 6),
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
    row(COMPARISONS, File::Predicate, Use::WrittenLate, DOUBLE, 12),
    row(TO_PREDICATES, File::Predicate, Use::Guard, PLAIN, 13),
    row(TO_PREDICATES, File::Predicate, Use::Read, VOTE, 13),
    row(UNIFORM_MOVE, File::Uniform, Use::Read, BRANCH, 3),
    row(UNIFORM_MOVE, File::Uniform, Use::WrittenLate, UNIFORM_LOADS, 4),
    row(TO_UNIFORM, File::Uniform, Use::WrittenLate, UNIFORM_LOADS, 14),
    row(UNIFORM_VOTE, File::Uniform, Use::WrittenLate, UNIFORM_LOADS, 23),
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
    row(TO_UNIFORM, File::Uniform, Use::Read, BRANCH, 13),
    row(&[0x142..=0x142], File::Barrier, Use::Read, &[0x141..=0x142], 10),
    row(&[0x142..=0x142], File::Barrier, Use::Written, &[0x142..=0x142], 10),
    row(&[0x145..=0x145], File::Barrier, Use::Read, &[0x141..=0x142], 9),
    row(&[0x145..=0x145], File::Barrier, Use::Written, &[0x142..=0x142], 9),
    row(&[0x145..=0x145], File::Barrier, Use::Written, &[0x145..=0x145], 14),
];

/// A product of 64 bits has the lower half of its result earlier, for some, and reads what is added to it later, from some. Half of a
/// result as a factor of another takes longer than the whole as what is added.
const EARLY_HALF: u32 = 3;
const HALF_USERS: Operations = &[0x002..=0x002, 0x00c..=0x00c, 0x010..=0x012];
const LATE_OPERAND: u32 = 3;
const LATE_PRODUCERS: Operations = &[0x002..=0x002, 0x007..=0x007, 0x010..=0x012, 0x019..=0x019];
const LATE_OPERAND_OF_PRODUCT: u32 = 2;
const LONG_PRODUCTS: Operations = &[0x025..=0x025, 0x027..=0x027];
const LOWER_FACTOR: u32 = 6;
const UPPER_FACTOR: u32 = 8;

/// `BMOV` to a barrier register, before a return.
const BARRIER_RESTORED: u16 = 0x156;
const UNTIL_RESTORED: u32 = 10;
/// Comparisons of 64 bits.
/// What is guarded by predicates and not by uniform ones.
const GUARDED_BY_PREDICATES: Operations = &[0x000..=0x07f, 0x100..=0x15f, 0x180..=0x19f];
/// What has read its operands for good only after two cycles, if what overwrites them sets a scoreboard: all plain arithmetic but moves
/// and products of integers; and how long the uniform unit takes, if `UMOV` overwrites them.
const READS_AT_ONCE: Operations = &[0x002..=0x002, 0x024..=0x025];
const READ_BY_PLAIN: u32 = 2;
const READ_BY_UNIFORM: u32 = 3;
/// A stall that lets no other warp go on is not longer.
const LONGEST_HELD: u8 = 11;

const FILES: [File; 5] =
    [File::General, File::Uniform, File::Predicate, File::UniformPredicate, File::Barrier];

fn is_among(operations: Operations, operation: u16) -> bool {
    operations.iter().any(|range| range.contains(&operation))
}

/// How soon anything comes after control, whatever it is, and after `RPCMOV` and errors' barriers.
const CONTROL: [RangeInclusive<u16>; 6] =
    [0x141..=0x144, 0x146..=0x151, 0x155..=0x156, 0x158..=0x158, 0x15c..=0x15d, 0x11b..=0x11b];
const AFTER_CONTROL: u32 = 5;

/// How soon an operation comes after one that orders it.
fn ordered(first: u16, second: Instruction) -> u32 {
    const DEPBAR: u16 = 0x11a;
    const CALL: u16 = 0x143;
    const RESTORE: u16 = 0x152;
    const SAVE: u16 = 0x153;
    const ERRBAR: u16 = 0x1ab;
    const ARRIVE: u16 = 0x1b0;
    let operation = second.operation();
    let is_plain = operation < 0x080 && !is_among(DOUBLE, operation) && operation != LDSM;
    let is_uniform = is_among(UNIFORM, operation) && !is_among(UNIFORM_MOVE, operation);
    match first {
        BAR if is_plain || is_uniform => 1,
        BAR if operation == BAR || operation == MEMBAR => 8,
        BAR | MEMBAR | RESTORE | ERRBAR => 6,
        DEPBAR => 4,
        // A branch between them takes 5.
        BSSY if operation == BSYNC => 9,
        BSSY if operation == CALL => 10,
        BSSY if operation == YIELD || operation == BSSY => 2,
        BSSY if is_control(second) => 4,
        SAVE => 12,
        ARRIVE => 7,
        first if CONTROL.iter().any(|range| range.contains(&first)) => AFTER_CONTROL,
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
    // A branch reads uniform predicates.
    if is_among(GUARDED_BY_PREDICATES, operation) {
        operands.guard.remove_all(File::UniformPredicate);
    }
    Some(operands)
}

/// How soon what the first one writes is read, if one of them is a product of 64 bits and it is about a half, or what is added.
fn wide(first: Instruction, second: Instruction, writes: &Registers, reads: &Registers) -> Option<u32> {
    /// The forms that have the third operand in registers.
    const ADDS_REGISTERS: [u16; 4] = [1, 4, 5, 6];
    let (operation, user) = (first.operation(), second.operation());
    if operation == IMAD_WIDE && is_among(HALF_USERS, user) {
        return (!reads.contains(File::General, u16::from(first.byte(2)) + 1)).then_some(EARLY_HALF);
    }
    if !is_among(LONG_PRODUCTS, user) || !ADDS_REGISTERS.contains(&second.form()) {
        return None;
    }
    let mut factors = Registers::default();
    factors.insert(File::General, second.byte(3), 1);
    factors.insert(File::General, second.byte(4), u16::from(second.form() == 1));
    let is_factor = writes.meets(&factors);
    if is_factor && is_among(LONG_PRODUCTS, operation) {
        let is_upper = factors.contains(File::General, u16::from(first.byte(2)) + 1);
        return Some(if operation == IMAD_WIDE && is_upper { UPPER_FACTOR } else { LOWER_FACTOR });
    }
    match operation {
        _ if is_factor || user != IMAD_WIDE => None,
        IMAD => Some(LATE_OPERAND_OF_PRODUCT),
        operation => is_among(LATE_PRODUCERS, operation).then_some(LATE_OPERAND),
    }
}

/// An instruction with the delays after it.
struct Step {
    instruction: Instruction,
    operands: Option<Operands>,
    /// Whether the time between it and what comes later is not for a scoreboard to say: it has none, and had none.
    is_fixed: bool,
    /// The cycles that it takes, and those until the next one begins: in the new code and in the old.
    own: [u32; 2],
    all: [u32; 2],
    others: Others,
    goes_on: bool,
    /// What comes then is not known: whether that may be other code that nothing here changes.
    leaves: bool,
    returns: bool,
}

/// Where control goes from an instruction, besides the next one.
enum Others {
    None,
    Places(Vec<Target>),
    /// Wherever threads meet.
    Meetings,
}

/// An instruction, and through how many cycles of delays control goes to it: in the new code and in the old.
type Target = (usize, [u32; 2]);

impl Step {
    /// How many cycles later another instruction may come.
    fn until(&self, second: &Self) -> u32 {
        let order = ordered(self.instruction.operation(), second.instruction).max(self.until_read(second));
        if !self.is_fixed {
            return order;
        }
        let base = || idle::latency(self.instruction, second.instruction, Speed::Sm100);
        let (Some(producer), Some(consumer)) = (&self.operands, &second.operands) else {
            return base().max(order);
        };
        let written = if second.instruction.set_mask() != 0 { Use::WrittenLate } else { Use::Written };
        // What it reads, too, is not overwritten before.
        let mut overwritten = consumer.writes;
        overwritten.remove(&consumer.reads);
        let uses = [(Use::Guard, &consumer.guard), (Use::Read, &consumer.reads), (written, &overwritten)];
        let mut cycles = order;
        for file in FILES {
            let writes = producer.writes.within(&[file]);
            for (how, _) in uses.iter().filter(|(_, registers)| writes.meets(registers)) {
                let row = ROWS.iter().find(|row| {
                    (row.file, row.how) == (file, *how)
                        && is_among(row.of, self.instruction.operation())
                        && is_among(row.by, second.instruction.operation())
                });
                let row = row.filter(|_| file != File::Predicate || !self.compares_64_bits());
                let half = (*how == Use::Read && file == File::General)
                    .then(|| wide(self.instruction, second.instruction, &writes, &consumer.reads))
                    .flatten();
                cycles = cycles.max(half.or(row.map(|row| row.cycles)).unwrap_or_else(base));
            }
        }
        cycles
    }

    fn compares_64_bits(&self) -> bool {
        self.instruction.is_long_comparison()
    }

    /// How many cycles later another instruction may overwrite what this one reads.
    fn until_read(&self, second: &Self) -> u32 {
        let (Some(reader), Some(writer)) = (&self.operands, &second.operands) else { return 0 };
        let (operation, other) = (self.instruction.operation(), second.instruction.operation());
        let overwrites = |file: File| reader.reads.within(&[file]).meets(&writer.writes);
        let is_plain = operation < 0x080 && !is_among(READS_AT_ONCE, operation);
        if is_plain
            && second.instruction.set_mask() != 0
            && !Speed::Sm100.reads_at_once(self.instruction)
            && self.is_fixed
            && overwrites(File::General)
        {
            return READ_BY_PLAIN;
        }
        let is_uniform = is_among(UNIFORM, operation) && !is_among(UNIFORM_MOVE, operation);
        if is_uniform && is_among(UNIFORM_MOVE, other) && overwrites(File::Uniform) {
            return READ_BY_UNIFORM;
        }
        0
    }

    /// How many cycles later anything may come.
    fn until_any(&self) -> u32 {
        match self.instruction.operation() {
            _ if !self.is_fixed => 0,
            BARRIER_RESTORED => UNTIL_RESTORED,
            _ => idle::longest(self.instruction),
        }
    }
}

/// The instructions of one code without delays.
struct Code {
    /// Where each is, and the cycles of the delays after it.
    placed: Vec<Placed>,
    /// The cycles that all instructions before a place take, delays or not.
    before: Vec<u32>,
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

impl Code {
    fn new(code: &[u8]) -> Self {
        let mut placed: Vec<Placed> = Vec::new();
        let mut before = vec![0];
        for at in 0..code.len() / SIZE {
            let instruction = Instruction::at(code, at);
            match placed.last_mut().filter(|_| is_delay(instruction)) {
                Some(last) => last.delays += cycles(instruction),
                None => placed.push(Placed { at, instruction, delays: 0 }),
            }
            before.push(before[at] + cycles(instruction));
        }
        Self { placed, before }
    }

    /// The instruction at a place, or the first one after the delays there, and the cycles of these. `None` if that is outside of the
    /// code.
    fn find(&self, target: usize) -> Option<(usize, u32)> {
        let index = self.placed.partition_point(|placed| placed.at < target);
        let end = self.placed.get(index)?.at;
        Some((index, self.before[end] - self.before[target]))
    }

    /// Where an instruction says that control goes.
    fn target(&self, index: usize) -> Option<(usize, u32)> {
        let Placed { at, instruction, .. } = self.placed[index];
        self.find(usize::try_from(place(at, instruction)?).ok()?)
    }
}

/// The instructions of both codes, and where threads meet.
struct Both {
    steps: Vec<Step>,
    meetings: Vec<Target>,
}

impl Both {
    /// `None` if the codes are not the same but for their schedule, or a branch leads out of them.
    fn new(old: (&[u8], &Jumps), new: (&[u8], &Jumps)) -> Option<Self> {
        let lists = [old.1, new.1].map(lists_of);
        let [old, new] = [old.0, new.0].map(Code::new);
        let count = new.placed.len();
        if count != old.placed.len() {
            return None;
        }
        let both = |new: (usize, u32), old: (usize, u32)| (new.0 == old.0).then_some((new.0, [new.1, old.1]));
        let target = |index: usize| both(new.target(index)?, old.target(index)?);
        let listed = |index: usize| {
            let [before, after] = [(0, old.placed[index]), (1, new.placed[index])]
                .map(|(side, placed)| lists[side].get(&placed.at));
            let pairs = after?.iter().zip(*before?);
            let targets = pairs.map(|(after, before)| both(new.find(*after)?, old.find(*before)?));
            (after?.len() == before?.len() && !after?.is_empty())
                .then(|| targets.collect::<Option<Vec<Target>>>())?
        };
        let meets = |index: &usize| sets_meeting(new.placed[*index].instruction);
        let meetings: Vec<Target> = (0..count).filter(meets).map(target).collect::<Option<_>>()?;
        // Which barrier threads meet at where.
        let barriers: HashSet<(u64, usize)> = (0..count)
            .filter(meets)
            .zip(&meetings)
            .map(|(index, (at, _))| (barrier(new.placed[index].instruction), *at))
            .collect();
        let step = |index: usize| {
            let Placed { at, instruction, delays } = new.placed[index];
            let before = old.placed[index];
            if !is_same(instruction, before.instruction) {
                return None;
            }
            let flow = Flow::of(at, instruction);
            let list = (flow == Flow::Anywhere).then(|| listed(index)).flatten();
            let leaves = flow == Flow::Call || flow == Flow::Anywhere && list.is_none();
            let others = match (flow, list) {
                (Flow::Branch(_) | Flow::Jump(_), _) => Others::Places(vec![target(index)?]),
                (Flow::Meet, _) if !barriers.contains(&(barrier(instruction), index + 1)) => Others::Meetings,
                (_, Some(list)) => Others::Places(list),
                _ => Others::None,
            };
            let own = [cycles(instruction), cycles(before.instruction)];
            let is_straight = matches!(flow, Flow::Next | Flow::Branch(_) | Flow::Meet);
            Some(Step {
                instruction,
                operands: operands(instruction),
                is_fixed: before.instruction.write_scoreboard().is_none()
                    && !is_among(VARIABLE, instruction.operation()),
                own,
                all: sum(own, [delays, before.delays]),
                others,
                goes_on: is_straight || !instruction.is_unconditional(),
                leaves,
                returns: flow == Flow::Call || instruction.is_return(),
            })
        };
        let steps = (0..count).map(step).collect::<Option<_>>()?;
        Some(Self { steps, meetings })
    }
}

/// The barrier of `BSSY` and `BSYNC`.
fn barrier(instruction: Instruction) -> u64 {
    instruction.field(16, 4)
}

/// Whether two instructions are the same but for their schedule, and neither has one that no assembler gives it.
fn is_same(new: Instruction, old: Instruction) -> bool {
    /// The operands that are kept for the next instruction.
    const REUSE: u128 = 15 << 122;
    let bits = |instruction: Instruction| without_place(instruction).without_schedule() & !REUSE;
    let gains_scoreboard = new.write_scoreboard().is_some() && old.write_scoreboard().is_none();
    let is_odd = |one: Instruction| one.stall() == 0 || one.holds() && one.stall() > LONGEST_HELD;
    bits(new) == bits(old)
        && (!gains_scoreboard || is_among(VARIABLE, new.operation()))
        && (!is_odd(new) || is_odd(old))
}

fn cycles(instruction: Instruction) -> u32 {
    u32::from(instruction.stall().max(1))
}

/// A bound on the work: how many instructions are looked at for each one.
const WORK: usize = 1 << 9;

/// Whether nothing comes too early in the new code that did not in the old. The lists say where indirect branches go.
pub fn keeps_times(old: (&[u8], &Jumps), new: (&[u8], &Jumps)) -> bool {
    Both::new(old, new).is_some_and(|both| both.keeps_times())
}

impl Both {
    fn keeps_times(&self) -> bool {
        if !self.steps.iter().any(|step| step.own[0] < step.own[1] || step.all[0] < step.all[1]) {
            return true;
        }
        let mut work = self.steps.len().saturating_mul(WORK);
        // Places after others on a way from an instruction, and how many cycles later they come.
        let mut ways: Vec<Target> = Vec::new();
        for (at, first) in self.steps.iter().enumerate() {
            self.follow(at, [0, 0], &mut ways);
            while let Some((at, passed)) = ways.pop() {
                let step = &self.steps[at];
                let end = sum(passed, step.own);
                let is_early = passed[0] < passed[1] && passed[0] < first.until(step);
                let is_early_there =
                    step.leaves && (end[0] < end[1] || !step.returns) && end[0] < first.until_any();
                let done = ways.len();
                if is_early || is_early_there {
                    return false;
                }
                self.follow(at, passed, &mut ways);
                let Some(left) = work.checked_sub(1 + ways.len() - done) else { return false };
                work = left;
            }
        }
        true
    }

    /// Adds where control goes from an instruction that comes so much later, if something may still be under way there.
    fn follow(&self, at: usize, passed: [u32; 2], ways: &mut Vec<Target>) {
        let step = &self.steps[at];
        let mut add = |to: usize, passed: [u32; 2]| {
            if passed[0] < idle::LATEST && to < self.steps.len() {
                ways.push((to, passed));
            }
        };
        if step.goes_on {
            add(at + 1, sum(passed, step.all));
        }
        let others = match &step.others {
            Others::None => &[][..],
            Others::Places(places) => places,
            Others::Meetings => &self.meetings,
        };
        for (to, delays) in others {
            add(*to, sum(sum(passed, step.own), *delays));
        }
    }
}

fn sum(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

#[cfg(test)]
mod tests {
    /// Without indirect branches.
    fn keeps_times(old: &[u8], new: &[u8]) -> bool {
        super::keeps_times((old, &[]), (new, &[]))
    }

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

    /// `ISETP P0`, of 64 bits or not.
    fn comparison(is_long: u128) -> u128 {
        0x720c | 2 << 24 | 3 << 32 | 7 << 84 | 7 << 87 | 7 << 68 | is_long << 80
    }

    fn guarded(bits: u128, guard: u128) -> u128 {
        bits & !(15 << 12) | guard << 12
    }

    /// `UISETP UP0`
    const UNIFORM: u128 = 0x728c | 4 << 24 | 5 << 32 | 7 << 84 | 7 << 87 | 7 << 68;

    /// Whether the second instruction may come so many cycles after the first, where it came 11 later.
    fn may_come(first: u128, second: u128, cycles: u128) -> bool {
        let of = |stall: u128| code(&[with(first, stall), with(second, 5), with(EXIT, 5)]);
        keeps_times(&of(11), &of(cycles))
    }

    #[test]
    fn products_of_64_bits() {
        // IMAD.WIDE and IMAD.HI R4, R2, R3, R8; and one with these factors and this sum
        const NO_CARRY: u128 = 7 << 81 | 7 << 87;
        const WIDE: u128 = 0x7225 | 4 << 16 | 2 << 24 | 3 << 32 | 8 << 64 | NO_CARRY;
        const HIGH: u128 = 0x7227 | 4 << 16 | 2 << 24 | 3 << 32 | 8 << 64 | NO_CARRY;
        let wide =
            |factor: u128, sum: u128| 0x7225 | 12 << 16 | factor << 24 | 14 << 32 | sum << 64 | NO_CARRY;
        for (second, least) in [
            // DFMA reads R4, FFMA R5, FSETP R4, FADD overwrites R5, IADD3 overwrites R5.
            (0x722b | 12 << 16 | 4 << 24 | 14 << 32 | 16 << 64, 9),
            (0x7223 | 12 << 16 | 5 << 24 | 14 << 32 | 16 << 64, 11),
            (0x720b | 4 << 24 | 14 << 32 | 7 << 81 | 7 << 84 | 7 << 87, 5),
            (0x7221 | 5 << 16 | 14 << 24 | 15 << 64, 8),
            (wide(5, 16), 8),
            (wide(4, 16), 6),
            (wide(14, 4), 4),
        ] {
            assert!(may_come(WIDE, second, least), "{second:x}");
            assert!(!may_come(WIDE, second, least - 1), "{second:x}");
        }
        assert!(!may_come(
            WIDE,
            0x7210 | 5 << 16 | 14 << 24 | 15 << 32 | 16 << 64 | 7 << 81 | 7 << 84 | 7 << 87,
            1
        ));
        assert!(!may_come(HIGH, wide(14, 4), 3) && !may_come(HIGH, wide(4, 16), 5));
        // ISETP to P2R
        let predicates = 0x007f_ff02_7803;
        assert!(may_come(comparison(0), predicates, 4) && !may_come(comparison(1), predicates, 4));
    }

    #[test]
    fn control_takes_its_time() {
        // BRA, BSYNC, WARPSYNC, RET, CALL, BMOV, ERRBAR, @P0 EXIT, RPCMOV
        for first in [
            0x0380_0000_0000_0000_0000_0947,
            0x0380_0000_0000_0000_0000_7941,
            0x0380_0000_0000_0000_0000_7948,
            0x0380_0000_0000_0000_0000_7355,
            0x79ab,
            0x0380_0000_0000_0000_0000_094d,
            0x00ff_0000_7352,
        ] {
            let of = |stall: u128| code(&[with(first, stall), with(OTHER, 5), with(EXIT, 5)]);
            assert!(!keeps_times(&of(6), &of(1)), "{first:x}");
        }
    }

    #[test]
    fn guards_of_the_uniform_unit() {
        // @UP0 UTMALDG, UBLKCP, SYNCS.EXCH, ULDC and UIADD3
        for user in [
            0x0003_d800_0801_0000_0000_0008_0e00_05b4,
            0x3ba | 8 << 24 | 12 << 32 | 20 << 40 | 24 << 64,
            0x5b2 | 8 << 16 | 10 << 24 | 12 << 32,
            0x9ac | 8 << 16 | 10 << 24 | 7 << 87,
            0x290 | 8 << 16 | 10 << 24 | 11 << 32 | 12 << 64 | 7 << 81 | 7 << 84 | 7 << 87 | 7 << 77,
        ] {
            assert!(!may_come(UNIFORM, user, 1), "{user:x}");
        }
    }

    #[test]
    fn operands_are_read_before_they_are_overwritten() {
        // LDG R5 that sets a scoreboard
        let load = 0x0c1e_1900_0000_0006_0205_7981 | 2 << 105 | 1 << 109 | 7 << 113;
        let of = |stall: u128| code(&[with(SUM, stall), load, with(EXIT, 5)]);
        assert!(keeps_times(&of(3), &of(2)) && !keeps_times(&of(2), &of(1)));
        // UIADD3 reads UR4, UMOV UR4
        let sum = 0x7290 | 8 << 16 | 4 << 24 | 11 << 32 | 12 << 64 | 7 << 81 | 7 << 84 | 7 << 87 | 7 << 77;
        assert!(
            may_come(sum, 0x7882 | 4 << 16 | 1 << 32, 3) && !may_come(sum, 0x7882 | 4 << 16 | 1 << 32, 2)
        );
    }

    #[test]
    fn ways_through_other_code() {
        let exit = with(EXIT, 5);
        let user = with(guarded(OTHER, 0), 5);
        // @P1 CALL and @P1 RET go on.
        for leaving in
            [guarded(0x0380_0000_0000_0000_0000_7943, 1), guarded(0x03e0_0000_0000_0000_1400_7950, 1)]
        {
            let [first, leaving] = [with(comparison(0), 1), with(leaving, 5)];
            let old = code(&[first, leaving, with(NOP, 9), user, exit]);
            assert!(!keeps_times(&old, &code(&[first, leaving, user, exit])));
        }
        // BRX R12 and a call of what comes next but one, whose code begins earlier.
        for leaving in [0x0380_0000_0000_0000_0c00_7949, 0x0380_0000_0000_0000_0004_7944] {
            let of = |stall: u128| {
                code(&[with(comparison(0), 1), with(leaving, 5), exit, with(OTHER, stall), user, exit])
            };
            assert!(!keeps_times(&of(9), &of(1)), "{leaving:x}");
        }
        // BSYNC B0 right before where threads of B1 meet.
        let meeting = |barrier: u128, distance: u128| 0x7945 | barrier << 16 | (distance * 4) << 34 | 7 << 87;
        let of = |stall: u128| {
            let begin = [with(meeting(0, 5), 11), with(meeting(1, 2), 11), with(comparison(0), 1)];
            let meet = [with(0x0380_0000_0000_0000_0000_7941, 5), with(OTHER, 11), exit];
            code(&[&begin[..], &meet, &[with(OTHER, stall), user, exit]].concat())
        };
        assert!(!keeps_times(&of(9), &of(1)));
    }

    #[test]
    fn schedules_that_say_something_else() {
        let exit = with(EXIT, 5);
        let of = |first: u128| code(&[first, with(SUM, 5), exit]);
        let old = of(with(LOGIC, 9));
        // A scoreboard on what has none, a held stall that is too long, no stall at all, other registers.
        assert!(!keeps_times(&old, &of(LOGIC | 1 << 105 | 1 << 109 | 7 << 113)));
        assert!(!keeps_times(&old, &of(with(LOGIC, 15))));
        assert!(!keeps_times(&of(with(OTHER, 1)), &of(with(OTHER, 0))));
        assert!(!keeps_times(&of(with(OTHER, 9)), &of(with(0x0f00_0000_0007_0003_7202, 9))));
    }

    #[test]
    fn work_is_bounded() {
        // Many meetings, and many branches to many delays; one stall shrinks.
        let count = 4000;
        let many = |first: u128, one: u128, last: u128| {
            let all = [vec![with(one, 11); count], vec![with(last, 11); count], vec![with(EXIT, 5)]].concat();
            code(&[vec![with(OTHER, first)], all].concat())
        };
        let meet = (0x0380_0000_0000_0000_0004_7945, 0x0380_0000_0000_0000_0000_7941);
        keeps_times(&many(9, meet.0, meet.1), &many(8, meet.0, meet.1));
        let branch = (0x0380_0000_0000_0000_0004_0947, NOP);
        keeps_times(&many(9, branch.0, branch.1), &many(8, branch.0, branch.1));
    }
}
