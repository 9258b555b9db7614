//! The schedule of machine code of sm_100 and later: which scoreboard each instruction sets, and what each waits for.
mod blocks;
mod instructions;
mod latency;
mod numbers;
mod operands;
mod order;
mod producers;
mod waits;

use crate::instruction::{Instruction, SIZE};
use crate::registers::File;
pub use blocks::Jumps;
use instructions::{Line, number_guards};
use numbers::COUNTED;
use waits::Schedule;

/// No scoreboard.
pub const NONE: u8 = 7;
/// Functions with more instructions are not looked at.
const MAX_INSTRUCTIONS: usize = 1 << 18;
/// How many times a producer may be looked at, for each instruction and at least.
const BUDGET: (usize, usize) = (1 << 8, 1 << 20);

/// The scoreboards and waits of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The scoreboard until the results are written, or [`NONE`].
    pub written: u8,
    /// The scoreboard until the operands are read, or [`NONE`].
    pub read: u8,
    /// A bit for each scoreboard to wait for.
    pub waits: u8,
}

impl Control {
    pub fn of(instruction: Instruction) -> Self {
        Self {
            written: instruction.field(110, 3) as u8,
            read: instruction.field(113, 3) as u8,
            waits: instruction.wait_mask(),
        }
    }
}

/// The schedule of the code of one function.
pub fn controls(code: &[u8], jumps: &Jumps, is_first_dropped: bool) -> Option<Vec<Control>> {
    let count = code.len() / SIZE;
    if !code.len().is_multiple_of(SIZE) || count > MAX_INSTRUCTIONS {
        return None;
    }
    let mut lines = Line::all(code)?;
    let blocks = blocks::blocks(&lines, jumps)?;
    blocks.iter().for_each(|block| number_guards(&mut lines[block.range.clone()]));
    let budget = count.saturating_mul(BUDGET.0).max(BUDGET.1);
    let mut schedule = Schedule::new(&lines, &blocks, is_first_dropped.then_some(0), budget)?;
    schedule.run()?;
    schedule.keep_full_waits();
    Some((0..count).map(|at| control(&schedule, at)).collect())
}

fn control(schedule: &Schedule<'_>, at: usize) -> Control {
    let written = if schedule.is_counted(at) { COUNTED } else { NONE };
    let mut control = Control { written, read: NONE, waits: schedule.waits[at] };
    for producer in schedule.producers.of(at) {
        let producer = &schedule.producers.all[producer];
        let place = if producer.is_about_operands() { &mut control.read } else { &mut control.written };
        *place = producer.number;
    }
    control
}

const STACK_POINTER: u16 = 1;
const LDC: u16 = instructions::operation::LDC;

/// Whether the first instruction loads the stack pointer and nothing else in the function uses it: no instruction names it,
/// and there are no calls and no returns.
pub fn has_unused_stack_pointer(code: &[u8]) -> bool {
    let first = Instruction::at(code, 0);
    let is_load = first.operation() == LDC && first.byte(2) == STACK_POINTER as u8 && first.is_unconditional();
    is_load && (1..code.len() / SIZE).all(|at| !mentions_stack_pointer(Instruction::at(code, at)))
}

fn mentions_stack_pointer(instruction: Instruction) -> bool {
    if instruction.is_call_or_return() {
        return true;
    }
    let Some(operands) = operands::operands(instruction) else { return true };
    [operands.reads, operands.writes].iter().any(|set| set.contains(File::General, STACK_POINTER))
}
