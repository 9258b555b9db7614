//! Which instruction of the new code each instruction of the old code has become.
//!
//! A rewrite may leave out precautions and put barriers before exits; everything else must be there, in order and the
//! same but for its scoreboards. The two codes become one list of steps, each with an instruction of the old code, of the
//! new one, or of both.

use super::violation::{Problem, Violation};
use crate::flow::{has_other_place, place, without_place};
use crate::idle::{
    NO_LOAD, Speed, is_idle, is_needed_in as is_idle_needed_in, is_unscheduled, is_unscheduled_idle,
};
use crate::instruction::{CountedWait, Instruction, KEPT, SIZE};
use crate::shift;
use std::ops::Range;

const GUARD: u128 = 0xf000;
/// `MEMBAR.ALL.CTA`, as the assembler puts it before a wider one, whatever its guard and its schedule.
const NARROW_FENCE: u128 = 0x00008000_00000000_00000992;
/// What code for a debugger has before an exit: `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR`, whatever their guard.
const EXIT_FENCE: u128 = 0x000fc000_00005000_00000000_00000992;
const ERROR_BARRIER: u128 = 0x000fc000_00000000_00000000_000009ab;
const CLUSTER_ERROR_BARRIER: u128 = 0x000fec00_00000000_00000000_000005ab;
const NOP: u128 = 0x000fc000_00000000_00000000_00007918;

const FENCE: u16 = 0x192;
const ERRORS: u16 = 0x1ab;
const EXIT: u16 = 0x14d;
const WARP_SYNC: u16 = 0x148;
const BREAK_SYNC: u16 = 0x141;
const BREAK: u16 = 0x142;
const ASYNCHRONOUS_COPY: u16 = 0x1ae;
const MEMORY_BARRIERS: [u16; 4] = [0x1a7, 0x1b1, 0x1b2, 0x1bf];

/// An instruction of the old code, of the new code, or both. At least one is there.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub before: Option<Instruction>,
    pub after: Option<Instruction>,
}

impl Step {
    /// The instruction, for what is the same in both.
    pub fn either(&self) -> Instruction {
        self.before.or(self.after).unwrap_or(Instruction(0))
    }

    fn both(&self) -> Option<(Instruction, Instruction)> {
        self.before.zip(self.after)
    }
}

/// The steps, and where in them a path goes on that comes to an instruction of the old code.
#[derive(Debug)]
pub struct Alignment<'a> {
    pub before: &'a [u8],
    pub after: &'a [u8],
    pub speed: Speed,
    /// Where instructions have moved.
    moved: Option<Moves>,
}

#[derive(Debug)]
struct Moves {
    steps: Vec<Step>,
    /// By instruction of the old code: the step where it is entered.
    entries: Vec<u32>,
}

impl<'a> Alignment<'a> {
    /// Of code some of whose instructions are gone and others new. `entries` has, by instruction of the old code, the step where it is
    /// entered, and `places` the instruction of the new code that a branch to it goes to.
    pub fn of_steps(
        before: &'a [u8],
        after: &'a [u8],
        steps: Vec<Step>,
        entries: Vec<u32>,
        places: &[usize],
    ) -> Result<Self, Violation> {
        check_places(&steps, places)?;
        Ok(Self { before, after, speed: Speed::Any, moved: Some(Moves { steps, entries }) })
    }

    pub fn len(&self) -> usize {
        self.moved.as_ref().map_or(self.before.len() / SIZE, |moved| moved.steps.len())
    }

    pub fn step(&self, at: usize) -> Step {
        match &self.moved {
            Some(moved) => moved.steps[at],
            None => Step {
                before: Some(Instruction::at(self.before, at)),
                after: Some(Instruction::at(self.after, at)),
            },
        }
    }

    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        (0..self.len()).map(|at| self.step(at))
    }

    /// The step at which code that is entered at this instruction of the old code begins: what was inserted before it
    /// comes first.
    pub fn entry(&self, instruction: i64) -> Option<usize> {
        let index = usize::try_from(instruction).ok()?;
        match &self.moved {
            None => (index < self.len()).then_some(index),
            Some(moved) => moved.entries.get(index).map(|step| *step as usize),
        }
    }

    /// The instruction of the old code that a branch in a step goes to. Branches are never inserted.
    pub fn old_index(&self, step: usize) -> usize {
        match &self.moved {
            None => step,
            Some(moved) => moved.entries.partition_point(|entry| *entry as usize <= step).saturating_sub(1),
        }
    }
}

/// Whether an instruction is the same but for its schedule. Which operands it keeps for the next ones is looked at later.
fn is_same(before: Instruction, after: Instruction) -> bool {
    let [before, after] = [before, after].map(|instruction| without_place(instruction).without_schedule());
    before & !KEPT == after & !KEPT || shift::low(Instruction(before)) == Some(Instruction(after))
}

/// Whether an instruction that only waits for a scoreboard until so many of its sets are under way gives way to one that only takes the
/// time. What it waited for is looked at later.
pub fn is_let_go(before: Instruction, after: Instruction) -> bool {
    let is_counted = |wait: CountedWait| wait.mask == 0 && wait.counter.is_some();
    before.counted_wait().is_some_and(is_counted)
        && before.is_unconditional()
        && before.set_mask() == 0
        && after.is_delay()
        && !after.is_held_delay()
        && (before.stall(), before.holds()) == (after.stall(), after.holds())
}

pub fn align<'a>(before: &'a [u8], after: &'a [u8], speed: Speed) -> Result<Alignment<'a>, Violation> {
    let count = before.len() / SIZE;
    if !before.len().is_multiple_of(SIZE) || !after.len().is_multiple_of(SIZE) {
        return Err(Violation { at: count, problem: Problem::Code });
    }
    let pairs = || (0..count).map(|i| (Instruction::at(before, i), Instruction::at(after, i)));
    let same_places = before.len() == after.len()
        && pairs().all(|(before, after)| before.without_schedule() == after.without_schedule());
    let moved = if same_places { None } else { Some(Moved { before, after, speed }.align()?) };
    Ok(Alignment { before, after, speed, moved })
}

/// Whether the instruction at a place is a `NOP` that only takes time, and none of those beside synchronisations, which have rules of their own.
pub fn is_plain_delay(code: &[u8], at: usize) -> bool {
    const MEETINGS: [u16; 3] = [BREAK_SYNC, BREAK, WARP_SYNC];
    let instruction = |at: usize| (at < code.len() / SIZE).then(|| Instruction::at(code, at));
    let is_delay = |one: Instruction| {
        one.is_delay() && !one.is_held_delay() && one.stall() != 0 && one.has_usual_stall()
    };
    let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
    instruction(at).is_some_and(is_delay)
        && !neighbours.filter_map(instruction).any(|one| MEETINGS.contains(&one.operation()))
}

/// Code whose instructions have moved.
struct Moved<'a> {
    before: &'a [u8],
    after: &'a [u8],
    speed: Speed,
}

impl Moved<'_> {
    fn align(&self) -> Result<Moves, Violation> {
        let (old, new) = (self.before.len() / SIZE, self.after.len() / SIZE);
        let removable = Removable::of(self.before);
        let mut steps = Vec::with_capacity(old.max(new));
        let mut entries = Vec::with_capacity(old);
        // By instruction of the old code: the instruction of the new code that a branch to it goes to.
        let mut places = Vec::with_capacity(old + 1);
        let (mut i, mut j, mut inserted) = (0, 0, 0);
        while i < old || j < new {
            let before = (i < old).then(|| Instruction::at(self.before, i));
            let after = (j < new).then(|| Instruction::at(self.after, j));
            let next = (i + 1 < old).then(|| Instruction::at(self.before, i + 1));
            let is_needless = |code: Instruction| {
                let is_before =
                    || code.stall() == 1 && next.is_some_and(|next| next.operation() == BREAK_SYNC);
                is_idle(code) && (self.is_idle_after(i, j) || is_before()) || self.is_unscheduled_after(i, j)
            };
            // Whether what takes its place is in time is looked at later.
            let is_gone = |before: Instruction| {
                is_plain_delay(self.before, i) && after.is_some_and(|after| !is_same(before, after))
            };
            let has_fewer_delays = || delays(self.after, j).count() < delays(self.before, i).count();
            let is_moved = |before: Instruction| {
                let is_other = Some(before) != after;
                is_other && (removable.holds(before, next) || before.is_held_delay() || is_gone(before))
                    || is_needless(before) && (is_other || has_fewer_delays())
            };
            let is_added = |before: Option<Instruction>, after: Instruction| {
                let is_other = |before: Instruction| !is_same(before, after) && !is_let_go(before, after);
                after.is_delay() && before.is_some_and(is_other)
            };
            let step = match (before, after) {
                (Some(before), _) if is_moved(before) => Step { before: Some(before), after: None },
                (Some(before), Some(after)) if is_same(before, after) || is_let_go(before, after) => {
                    Step { before: Some(before), after: Some(after) }
                }
                (before, Some(after)) if is_added(before, after) => {
                    steps.push(Step { before: None, after: Some(after) });
                    j += 1;
                    continue;
                }
                (before, Some(after)) if self.is_inserted(before, j) => {
                    Step { before: None, after: Some(after) }
                }
                (None, Some(after)) if after.0 == NOP => Step { before: None, after: Some(after) },
                (Some(before), None) if before.0 == NOP => Step { before: Some(before), after: None },
                _ => return Err(Violation { at: i, problem: Problem::Code }),
            };
            if step.before.is_some() {
                entries.push((steps.len() - inserted) as u32);
                places.push(j - inserted);
                i += 1;
                inserted = 0;
            } else {
                inserted += 1;
            }
            j += usize::from(step.after.is_some());
            steps.push(step);
        }
        places.push(j - inserted);
        check_places(&steps, &places)?;
        Ok(Moves { steps, entries })
    }

    /// Whether an idle instruction of the old code follows a synchronisation and is not needed: nothing depends on the one cycle that
    /// it takes, or the synchronisation takes its time now.
    fn is_idle_after(&self, old: usize, new: usize) -> bool {
        let (Some(before), Some(after)) = (old.checked_sub(1), new.checked_sub(1)) else { return false };
        let idle = Instruction::at(self.before, old).stall();
        let keeps_time =
            time_until_next(self.after, after..new) >= time_until_next(self.before, before..old + 1);
        let before = Instruction::at(self.before, before);
        let is_needed =
            || idle != 1 || is_idle_needed_in(self.before, old..old + 1, self.after, new..new, self.speed);
        [WARP_SYNC, BREAK].contains(&before.operation()) && (keeps_time || !is_needed())
    }

    /// The same of code without optimisation: what follows the synchronisation waits for what the idle instruction waits for, and what
    /// comes before takes so long that nothing of fixed latency is under way.
    fn is_unscheduled_after(&self, old: usize, new: usize) -> bool {
        /// For scoreboards 0 and 1. Products of matrices wait for them too, but take no cycles.
        const WAITS: u8 = 3;
        let is_earlier_unscheduled = |code: &[u8], at: usize| {
            at.checked_sub(2).is_none_or(|at| is_unscheduled(Instruction::at(code, at)))
        };
        let around = |code: &[u8], [at, next]: [Option<usize>; 2]| {
            let [before, next] = [at, next]
                .map(|at| at.filter(|at| *at < code.len() / SIZE).map(|at| Instruction::at(code, at)));
            before.is_some_and(|one| one.operation() == WARP_SYNC && is_unscheduled(one))
                && next.is_some_and(|next| next.wait_mask() == WAITS)
        };
        is_unscheduled_idle(Instruction::at(self.before, old))
            && is_earlier_unscheduled(self.before, old)
            && is_earlier_unscheduled(self.after, new)
            && around(self.before, [old.checked_sub(1), Some(old + 1)])
            && around(self.after, [new.checked_sub(1), Some(new)])
    }

    /// Whether the new code has a barrier here that belongs to the exit that comes next in the old code.
    fn is_inserted(&self, exit: Option<Instruction>, at: usize) -> bool {
        let Some(exit) = exit.filter(|exit| exit.operation() == EXIT) else { return false };
        let barrier = |of: u128| {
            let barrier = Instruction(of | u128::from(exit.guard()) << 12);
            move |is: Instruction| is_same(barrier, is) && is.0 & KEPT == 0
        };
        let order = [barrier(EXIT_FENCE), barrier(ERROR_BARRIER), barrier(CLUSTER_ERROR_BARRIER)];
        let is = |at: usize| order.iter().position(|barrier| barrier(Instruction::at(self.after, at)));
        // The rest of the barriers and the exit come next.
        is(at).is_some_and(|first| {
            (first..order.len()).all(|kind| is(at + kind - first) == Some(kind))
                && is_same(exit, Instruction::at(self.after, at + order.len() - first))
        })
    }
}

/// The cycles of these instructions and of the delays after them.
fn time_until_next(code: &[u8], range: Range<usize>) -> u32 {
    let own = range.clone().map(|at| Instruction::at(code, at)).chain(delays(code, range.end));
    own.map(|one| u32::from(one.stall())).sum()
}

/// The delays from a place on.
fn delays(code: &[u8], at: usize) -> impl Iterator<Item = Instruction> {
    let all = (at..code.len() / SIZE).map(|at| Instruction::at(code, at));
    all.take_while(|one| one.is_delay() && one.stall() != 0)
}

/// Which precautions the old code can do without: those for other functions if it calls none, those for asynchronous
/// copies if it makes none, those for barriers in memory if it has none.
struct Removable {
    loads: bool,
    narrow_fences: bool,
    exit_fences: bool,
}

impl Removable {
    fn of(code: &[u8]) -> Self {
        let instructions = (0..code.len() / SIZE).map(|index| Instruction::at(code, index));
        let mut removable = Self { loads: true, narrow_fences: true, exit_fences: true };
        for instruction in instructions {
            let operation = instruction.operation();
            let calls = instruction.is_call_or_return();
            removable.loads &= !calls && operation != ASYNCHRONOUS_COPY;
            removable.narrow_fences &= !calls && !MEMORY_BARRIERS.contains(&operation);
            removable.exit_fences &= !calls;
        }
        removable
    }

    fn holds(&self, instruction: Instruction, next: Option<Instruction>) -> bool {
        let is_before = |operation: u16| next.is_some_and(|next| next.operation() == operation);
        match instruction.0 {
            NO_LOAD => self.loads,
            _ if instruction.without_schedule() & !GUARD == NARROW_FENCE => {
                let is_same_guard = next.is_some_and(|next| next.guard() == instruction.guard());
                self.narrow_fences && is_before(FENCE) && is_same_guard
            }
            code if code & !GUARD == EXIT_FENCE => self.exit_fences && is_before(ERRORS),
            _ => false,
        }
    }
}

/// Every place that an instruction names must be the corresponding one.
fn check_places(steps: &[Step], places: &[usize]) -> Result<(), Violation> {
    let (mut old, mut new) = (0, 0);
    for step in steps {
        if let Some((before, after)) = step.both() {
            let expected = match place(old, before) {
                Some(target) => usize::try_from(target).ok().and_then(|target| places.get(target)).copied(),
                None => None,
            };
            let is = place(new, after).and_then(|target| usize::try_from(target).ok());
            if has_other_place(old, before) || expected != is {
                return Err(Violation { at: old, problem: Problem::Target });
            }
        }
        old += usize::from(step.before.is_some());
        new += usize::from(step.after.is_some());
    }
    Ok(())
}
