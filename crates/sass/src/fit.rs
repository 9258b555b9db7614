//! Whether code is fit for sm_103, which does double precision and products of matrices of integers slowly and in no fixed time, and
//! exponentials apart from other functions.
//!
//! On every path, an instruction that depends on one of double precision must wait for it: for its results, or, if it overwrites
//! its operands, until these have been read. The unit works in order, so that a later instruction's scoreboard covers
//! earlier ones too. So does that of functions and conversions, but not an exponential for others or the other way round. And within straight code the unit gets one instruction in so many cycles as the release has it. This shares nothing with the code
//! that chooses stalls and scoreboards.

use crate::flow::{Flow, place, sets_meeting};
use crate::instruction::{CountedWait, Instruction, SIZE};
use crate::operands::Operands;
use crate::operands::exact::checked;
use crate::registers::File;
use crate::unscheduled::{Pace, pace};

/// `DMUL`, `DADD`, `DSETP`, `DFMA`.
const DOUBLE: std::ops::RangeInclusive<u16> = 0x028..=0x02b;
/// Conversions of 64 bits, which the same unit does, and which set scoreboards on all machines.
const CONVERSIONS: std::ops::RangeInclusive<u16> = 0x110..=0x113;
/// Products of matrices: of integers, which have a unit of their own and, as double precision, no fixed latency; and of
/// double precision, which set scoreboards on all machines.
const INTEGER_MATRIX: u16 = 0x037;
const DOUBLE_MATRIX: u16 = 0x03f;
/// How soon a unit takes the next product of matrices.
const MATRIX_INTERVAL: u32 = 64;
const DOUBLE_MATRIX_INTERVAL: u32 = 584;
/// `ENDCOLLECTIVE`, `BSYNC`, `WARPSYNC`, `EXIT`.
const BOUNDARIES: [u16; 4] = [0x11b, 0x141, 0x148, 0x14d];
/// A bound on the work: what is looked at for each instruction.
const WORK: usize = 1 << 10;

fn is_double(instruction: Instruction) -> bool {
    DOUBLE.contains(&instruction.operation())
}

/// Whether sm_103 needs other code for some instruction.
pub fn is_slow_on_103(instruction: Instruction) -> bool {
    unit(instruction).is_some()
}

/// The slow units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Double,
    Matrix,
}

/// The slow unit that does an instruction.
fn unit(instruction: Instruction) -> Option<Unit> {
    let operation = instruction.operation();
    let is_double = is_double(instruction) || CONVERSIONS.contains(&operation) || operation == DOUBLE_MATRIX;
    match operation {
        INTEGER_MATRIX => Some(Unit::Matrix),
        _ => is_double.then_some(Unit::Double),
    }
}

/// Instructions of one class read their operands and finish in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Slow(Unit),
    Exponential,
    Function,
}

/// `FLO` to `POPC`: functions and conversions of 32 bits.
const FUNCTIONS: std::ops::RangeInclusive<u16> = 0x100..=0x109;

fn class(instruction: Instruction) -> Option<Class> {
    match unit(instruction).filter(|_| loses_latency(instruction)) {
        Some(unit) => Some(Class::Slow(unit)),
        None if instruction.is_exponential() => Some(Class::Exponential),
        None => FUNCTIONS.contains(&instruction.operation()).then_some(Class::Function),
    }
}

/// Whether its latency is fixed on sm_100 and not on sm_103.
fn loses_latency(instruction: Instruction) -> bool {
    is_double(instruction) || instruction.operation() == INTEGER_MATRIX
}

/// How long the units are busy.
#[derive(Clone, Copy, Debug, Default)]
struct Busy([u32; 2]);

impl Busy {
    /// Whether the unit that does an instruction takes it now; then it is busy.
    fn takes(&mut self, instruction: Instruction, interval: u32) -> bool {
        let Some(unit) = unit(instruction) else { return true };
        let busy = &mut self.0[unit as usize];
        let is_free = *busy == 0;
        *busy = match instruction.operation() {
            DOUBLE_MATRIX => DOUBLE_MATRIX_INTERVAL,
            INTEGER_MATRIX => MATRIX_INTERVAL,
            _ => interval,
        };
        is_free
    }

    fn pass(&mut self, cycles: u32) {
        self.0.iter_mut().for_each(|busy| *busy = busy.saturating_sub(cycles));
    }
}

/// An instruction that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    at: usize,
    /// The scoreboards of its results and its operands, if they are the same on all paths.
    written: Option<u8>,
    read: Option<u8>,
    /// Whether its operands have been read, and whether its guard still has the value that it had.
    is_read: bool,
    has_guard: bool,
}

/// In the order of the code.
type State = Vec<Pending>;

/// Adds what is under way on another way; whether that is more.
fn merge(into: &mut State, from: &State) -> bool {
    let mut changed = false;
    for pending in from {
        match into.binary_search_by_key(&pending.at, |own| own.at) {
            Err(place) => {
                into.insert(place, *pending);
                changed = true;
            }
            Ok(place) => {
                let own = into[place];
                let same = |a: Option<u8>, b: Option<u8>| a.filter(|_| a == b);
                into[place] = Pending {
                    written: same(own.written, pending.written),
                    read: same(own.read, pending.read),
                    is_read: own.is_read && pending.is_read,
                    has_guard: own.has_guard && pending.has_guard,
                    ..own
                };
                changed |= into[place] != own;
            }
        }
    }
    changed
}

struct Code {
    instructions: Vec<Instruction>,
    /// `None` where it is not known which registers an instruction uses: it may be all of them.
    operands: Vec<Option<Operands>>,
    /// Where blocks begin.
    starts: Vec<usize>,
    meetings: Vec<usize>,
    /// How soon the unit of double precision takes the next instruction.
    interval: u32,
}

/// Whether nothing in the code is too slow or too early on sm_103, whose unit of double precision takes an instruction in so many
/// cycles.
pub fn is_fit_for_103(code: &[u8], interval: u32) -> bool {
    let instructions: Vec<Instruction> = (0..code.len() / SIZE).map(|at| Instruction::at(code, at)).collect();
    let has = |wanted: Class| instructions.iter().any(|i| class(*i) == Some(wanted));
    let has_functions = has(Class::Exponential) && has(Class::Function);
    if !has_functions && !instructions.iter().any(|i| is_slow_on_103(*i)) {
        return true;
    }
    if let Some(pace) = pace(code) {
        // Everything waits for everything before it, if that says when it is there.
        let says = |i: &Instruction| {
            !loses_latency(*i) || (i.write_scoreboard(), i.read_scoreboard()) == (Some(0), Some(1))
        };
        return pace == Pace::Unpaced || instructions.iter().all(says);
    }
    code.len().is_multiple_of(SIZE) && Code::new(instructions, interval).is_some_and(|code| code.is_fit())
}

impl Code {
    /// `None` if a branch leads out of the code.
    fn new(instructions: Vec<Instruction>, interval: u32) -> Option<Self> {
        let mut starts = vec![0];
        let mut meetings = Vec::new();
        let inside = |target: i64| usize::try_from(target).ok().filter(|at| *at < instructions.len());
        for (at, instruction) in instructions.iter().enumerate() {
            let flow = Flow::of(at, *instruction);
            // It may lead to any instruction.
            if flow == Flow::Anywhere && !instruction.is_call_or_return() {
                starts.extend(0..instructions.len());
                break;
            }
            if flow != Flow::Next {
                starts.push(at + 1);
            }
            if let Flow::Branch(target) | Flow::Jump(target) = flow {
                starts.push(inside(target)?);
            }
            if sets_meeting(*instruction) {
                meetings.push(inside(place(at, *instruction)?)?);
            }
        }
        starts.extend(&meetings);
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|at| *at < instructions.len());
        let operands = instructions.iter().map(|i| checked(*i)).collect();
        Some(Self { instructions, operands, starts, meetings, interval })
    }

    fn block(&self, start: usize) -> Option<usize> {
        self.starts.binary_search(&start).ok()
    }

    fn is_fit(&self) -> bool {
        let mut entries: Vec<Option<State>> = vec![None; self.starts.len()];
        entries[0] = Some(State::new());
        let mut work = self.instructions.len().saturating_mul(WORK);
        let mut waiting = vec![0];
        while let Some(block) = waiting.pop() {
            let Some(mut state) = entries[block].clone() else { continue };
            let end = self.starts.get(block + 1).copied().unwrap_or(self.instructions.len());
            let Some(()) = self.walk(self.starts[block]..end, &mut state, &mut work) else { return false };
            for next in self.successors(end - 1) {
                let is_more = match &mut entries[next] {
                    Some(entry) => merge(entry, &state),
                    entry => {
                        *entry = Some(state.clone());
                        true
                    }
                };
                if is_more && !waiting.contains(&next) {
                    waiting.push(next);
                }
            }
        }
        true
    }

    fn successors(&self, last: usize) -> Vec<usize> {
        let to = |target: i64| usize::try_from(target).ok().and_then(|target| self.block(target));
        let next = self.block(last + 1);
        match Flow::of(last, self.instructions[last]) {
            Flow::Next | Flow::Call => next.into_iter().collect(),
            Flow::Branch(target) => next.into_iter().chain(to(target)).collect(),
            Flow::Jump(target) => to(target).into_iter().collect(),
            Flow::End => Vec::new(),
            Flow::Meet if self.meetings.contains(&(last + 1)) => next.into_iter().collect(),
            Flow::Meet => {
                next.into_iter().chain(self.meetings.iter().filter_map(|at| self.block(*at))).collect()
            }
            Flow::Anywhere => (0..self.starts.len()).collect(),
        }
    }

    /// Follows a block. `None` if something in it comes too early.
    fn walk(&self, range: std::ops::Range<usize>, state: &mut State, work: &mut usize) -> Option<()> {
        let mut busy = Busy::default();
        for at in range {
            *work = work.checked_sub(1 + state.len())?;
            let instruction = self.instructions[at];
            if !busy.takes(instruction, self.interval) {
                return None;
            }
            busy.pass(u32::from(instruction.stall().max(1)));
            // What begins or ends a block takes care of nothing beyond.
            if BOUNDARIES.contains(&instruction.operation()) {
                busy = Busy::default();
            }
            let waits = instruction.wait_mask() | instruction.counted_wait().map_or(0, CountedWait::ended);
            let is_waited = |number: Option<u8>| number.is_some_and(|number| waits >> number & 1 != 0);
            state.retain_mut(|pending| {
                pending.is_read |= is_waited(pending.read);
                !is_waited(pending.written)
            });
            if state.iter().any(|pending| self.depends(at, pending)) {
                return None;
            }
            if instruction.is_call_or_return() && !state.is_empty() {
                return None;
            }
            for pending in state.iter_mut() {
                let guard = u16::from(self.instructions[pending.at].guard() & 7);
                let writes = self.operands[at].as_ref().map(|operands| &operands.writes);
                pending.has_guard &= writes.is_some_and(|writes| !writes.contains(File::Predicate, guard));
            }
            if class(instruction).is_some() {
                self.begin(at, state);
                self.cover(at, state);
            }
            // Who waits for it comes two cycles later.
            let next = self.instructions.get(at + 1).map_or(0, |next| next.wait_mask());
            if instruction.stall() == 1 && instruction.set_mask() & next != 0 {
                return None;
            }
        }
        Some(())
    }

    /// Whether an instruction must not be executed while another one is under way.
    fn depends(&self, at: usize, pending: &Pending) -> bool {
        let (Some(own), Some(other)) = (&self.operands[at], &self.operands[pending.at]) else { return true };
        let guards = (self.instructions[at].guard(), self.instructions[pending.at].guard());
        let is_other_way = pending.has_guard && guards.0 & 7 != 7 && guards.0 == guards.1 ^ 8;
        let mut sources = other.reads.within(&[File::General]);
        sources.remove(&other.writes);
        // The unit reads operands and writes results in the order of its instructions.
        let overwrites = !self.is_in_order(at, pending)
            && (own.writes.meets(&other.writes) || !pending.is_read && own.writes.meets(&sources));
        // If one of two is executed, the other one is not.
        own.guard.meets(&other.writes) || (own.reads.meets(&other.writes) || overwrites) && !is_other_way
    }

    /// Whether the unit that does both reads the operands of the other one first.
    fn is_in_order(&self, at: usize, pending: &Pending) -> bool {
        let [own, other] = [at, pending.at].map(|at| self.instructions[at]);
        class(own).is_some() && class(own) == class(other)
    }

    fn begin(&self, at: usize, state: &mut State) {
        let has_guard = !state.iter().any(|pending| pending.at == at);
        state.retain(|pending| pending.at != at);
        let place = state.partition_point(|pending| pending.at < at);
        // When functions have read their operands is the same on both machines.
        let is_read = !loses_latency(self.instructions[at]);
        // That of an earlier turn of a loop may have had another guard.
        state.insert(place, Pending { at, written: None, read: None, is_read, has_guard });
    }

    /// Who waits for an instruction waits for those before it in its class, too.
    fn cover(&self, at: usize, state: &mut State) {
        let instruction = self.instructions[at];
        let (written, read) = (instruction.write_scoreboard(), instruction.read_scoreboard());
        for pending in state {
            if self.is_in_order(at, pending) {
                pending.written = pending.written.or(written);
                pending.read = pending.read.or(read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_fit_for_103;

    /// Stall, scoreboards until results are written and operands are read, waits.
    fn with(bits: u128, stall: u128, written: u128, read: u128, waits: u128) -> u128 {
        bits | stall << 105 | 1 << 109 | written << 110 | read << 113 | waits << 116
    }

    fn code(instructions: &[u128]) -> Vec<u8> {
        instructions.iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    /// `DADD R8, R4, R8`, `DADD R4, R8, R8`, `MOV R4, R5`, `NOP`, `EXIT`
    const FIRST: u128 = 0x0800_0000_0008_0408_7229;
    const SECOND: u128 = 0x0800_0000_0008_0804_7229;
    const COPY: u128 = 0x0f00_0000_0005_0004_7202;
    const NOP: u128 = 0x7918;
    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;

    #[test]
    fn results_are_waited_for() {
        let delay = with(NOP, 15, 7, 7, 0);
        let delays = [with(FIRST, 4, 0, 7, 0), delay, delay, delay, delay];
        let fit =
            |last: u128| is_fit_for_103(&code(&[&delays[..], &[last, with(EXIT, 5, 7, 7, 0)]].concat()), 64);
        assert!(fit(with(SECOND, 2, 0, 7, 1)));
        assert!(!fit(with(SECOND, 2, 0, 7, 0)));
        assert!(!fit(with(SECOND, 2, 0, 7, 2)));
    }

    #[test]
    fn exponentials_finish_apart_from_other_functions() {
        // MUFU.RCP R4, R4; MUFU.RCP R8, R8; MUFU.EX2 R5, R5; FMUL R6, R5, R4
        let rcp = |written: u128| with(0x1000_0000_0004_0004_7308, 1, written, 7, 0);
        let other = with(0x1000_0000_0008_0008_7308, 1, 0, 7, 0);
        let ex2 = |written: u128| with(0x0800_0000_0005_0005_7308, 2, written, 7, 0);
        let product = |waits: u128| with(0x0040_0000_0000_0004_0506_7220, 4, 7, 7, waits);
        assert!(!is_fit_for_103(&code(&[rcp(7), ex2(0), product(1)]), 64));
        assert!(!is_fit_for_103(&code(&[ex2(7), rcp(0), product(1)]), 64));
        assert!(is_fit_for_103(&code(&[rcp(1), ex2(0), product(3)]), 64));
        assert!(is_fit_for_103(&code(&[rcp(7), other, ex2(1), product(3)]), 64));
        assert!(!is_fit_for_103(&code(&[rcp(1), ex2(0), product(1)]), 64));
        // Without exponentials all is as on sm_100.
        assert!(is_fit_for_103(&code(&[rcp(7), other, product(1)]), 64));
    }

    #[test]
    fn ways_to_what_uses_results() {
        let exit = with(EXIT, 5, 7, 7, 0);
        // A branch that may go anywhere passes the wait.
        let branch = with(0x0380_0000_0000_0000_1e00_7949, 5, 7, 7, 0);
        let [other, user] =
            [(5, 1), (8, 0)].map(|(of, waits)| with(COPY & !(0xff << 32) | of << 32, 2, 7, 7, waits));
        assert!(!is_fit_for_103(&code(&[with(FIRST, 2, 0, 7, 0), branch, other, user, exit]), 64));
        // Too soon to wait for it.
        let waiting = user | 1 << 116;
        assert!(!is_fit_for_103(&code(&[with(FIRST, 1, 0, 7, 0), waiting, exit]), 64));
        assert!(is_fit_for_103(&code(&[with(FIRST, 2, 0, 7, 0), waiting, exit]), 64));
    }

    #[test]
    fn the_unit_is_slow() {
        let exit = with(EXIT, 5, 7, 7, 0);
        assert!(!is_fit_for_103(&code(&[with(FIRST, 15, 0, 7, 0), with(SECOND, 2, 0, 7, 1), exit]), 64));
    }

    #[test]
    fn matrices_are_slow_too() {
        // IMMA.16816.U8.U8 R8, R14.ROW, R18.COL, R8 and DMMA.8x8x4 R8, R22, R20, R8
        const INTEGERS: u128 = 0x0040_0408_0000_0012_0e08_7237;
        const DOUBLES: u128 = 0x0800_0000_0014_1608_723f;
        let (exit, delay) = (with(EXIT, 5, 7, 7, 0), with(NOP, 15, 7, 7, 0));
        let fit = |of: u128, delays: usize, waits: u128| {
            let mut all = vec![with(of, 4, 0, 7, 0)];
            all.extend(vec![delay; delays]);
            all.extend([with(of, 2, 0, 7, waits), exit]);
            is_fit_for_103(&code(&all), 64)
        };
        assert!(fit(INTEGERS, 4, 1) && !fit(INTEGERS, 3, 1) && !fit(INTEGERS, 4, 0));
        assert!(fit(DOUBLES, 39, 1) && !fit(DOUBLES, 38, 1));
    }

    #[test]
    fn operands_are_not_overwritten() {
        let exit = with(EXIT, 5, 7, 7, 0);
        let fit = |read: u128, waits: u128| {
            is_fit_for_103(&code(&[with(FIRST, 2, 0, read, 0), with(COPY, 2, 7, 7, waits), exit]), 64)
        };
        assert!(fit(7, 1) && fit(1, 2));
        assert!(!fit(7, 0) && !fit(1, 0));
    }
}
