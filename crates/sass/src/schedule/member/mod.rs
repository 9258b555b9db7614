//! Code of sm_100 for sm_103.
//!
//! sm_103 has the instructions of sm_100, but does double precision and conversions of 64 bits slowly: one such instruction in
//! 64 cycles, and not in a fixed time; and exponentials twice as fast. When nvlink links code of sm_100 for it, the order of
//! instructions stays, and stalls, scoreboards and waits are chosen anew for such blocks of code. Stalls that do not
//! fit into an instruction become `NOP`s after it.
//!
//! 1. [`doubles`]: instructions of double precision set scoreboards.
//! 2. [`stalls`]: how many cycles each instruction takes.
//! 3. [`marks`]: flags that depend on them.
//!
//! The scoreboards get their numbers when the code is in its new place ([`number`]).

mod delays;
mod doubles;
mod latency;
mod marks;
mod pipes;
mod shortened;
mod stalls;

use super::{Code, Control, Family, Hints, NONE, STALL_AT, delay_waits, put_all};
use crate::flow::Jumps;
use crate::instruction::{Instruction, KEPT, SIZE};
use crate::operation::LDGDEPBAR;
use crate::times::keeps_times;
use crate::{check, is_fit_for_103};
use delays::{Held, Scheduled, is_delay};
use doubles::{Consumer, doubles, doubles_of_100, uncovered};
use marks::Marks;
use pipes::Member;
pub use pipes::loses_latency;
pub use shortened::{Retimed, expanded, mark_anew, put, replaced, rewaited, shortened};
use solder_arch::Release;
use stalls::Stalls;

const HOLD: u128 = 1 << 109;
/// How often instructions may be looked at.
const BUDGET: usize = 1 << 24;

/// An instruction that gives way to others: itself, changed, and delays. A delay may give way to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    pub at: usize,
    pub by: Vec<[u8; SIZE]>,
}

/// Whether code of sm_100 has instructions that sm_103 does slowly.
pub fn has_slow_code(code: &[u8]) -> bool {
    instructions(code).any(pipes::is_slow)
}

/// The instructions that have scoreboards for their results on sm_103 only, as places in the new code.
fn added(old: &[u8], code: &[u8]) -> Vec<usize> {
    let mut before = instructions(old).filter(|bits| !is_delay(*bits));
    let after = instructions(code).enumerate().filter(|(_, bits)| !is_delay(*bits));
    let has_more = |bits: Instruction, before: Option<Instruction>| {
        let is_new = before.is_none_or(|before| before.write_scoreboard().is_none());
        pipes::loses_latency(bits) || is_new && bits.write_scoreboard().is_some()
    };
    after.filter(|(_, bits)| has_more(*bits, before.next())).map(|(at, _)| at).collect()
}

fn instructions(code: &[u8]) -> impl Iterator<Item = Instruction> + '_ {
    (0..code.len() / SIZE).map(|at| Instruction::at(code, at))
}

/// What changes in the code of a function of sm_100. The scoreboards of double precision have no numbers yet. `None` if
/// nothing changes, or if the code is not understood. `delays` says which instructions are delays, in order. By the release it is how soon
/// the unit of double precision takes the next instruction, and whether the end of a block waits for it. With `is_slower` nothing takes fewer
/// cycles than it did.
pub fn delayed(
    code: &[u8],
    jumps: &Jumps,
    delays: &[usize],
    release: &Release,
    is_slower: bool,
) -> Option<Vec<Delayed>> {
    let interval = release.double_interval();
    if !instructions(code).any(pipes::differs) {
        return None;
    }
    let plain = without_double_scoreboards(code);
    let Code { lines, blocks, .. } = Code::new(&plain, jumps, Family::OF_100, Hints::NONE)?;
    let mut budget = BUDGET;
    let mut changed = Vec::new();
    for block in
        blocks.iter().filter(|block| lines[block.range.clone()].iter().any(|line| pipes::differs(line.bits)))
    {
        let mut own = Scheduled::new(&lines, block.range.clone(), delays);
        if release.holds_around_matrices() {
            own.held = Held::around_matrices(&own.lines);
        }
        let range = 0..own.lines.len();
        let doubles = doubles(&own.lines, range.clone(), &mut budget)?;
        let stalls = Stalls::new(&own.lines, &own.given, &doubles);
        let stalls = stalls.on_103(interval, release.waits_at_ends(), is_slower);
        let mut new: Vec<Instruction> = own.lines.iter().map(|line| line.bits).collect();
        for double in &doubles {
            let number = |consumer: Consumer| if consumer == Consumer::Nothing { NONE } else { 0 };
            let control = Control {
                written: number(double.results),
                read: number(double.operands),
                ..Control::of(own.lines[double.at].bits)
            };
            let place = &mut new[double.at];
            let mut bytes = place.0.to_le_bytes();
            control.put(&mut bytes);
            *place = Instruction(u128::from_le_bytes(bytes));
        }
        for function in uncovered(&own.lines, range.clone(), &mut budget)? {
            let place = &mut new[function.at];
            let old = Control::of(*place);
            let written = if function.results { 0 } else { old.written };
            let read = if function.operands { 0 } else { old.read };
            let mut bytes = place.0.to_le_bytes();
            Control { written, read, ..old }.put(&mut bytes);
            *place = Instruction(u128::from_le_bytes(bytes));
        }
        let marks = Marks::new(&own, &new, &stalls, Member::Sm103 { interval }).from(Member::Sm100);
        changed.extend(changes(&own, &marks.put(), &stalls, code)?);
    }
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// What changes in a block of this code if its instructions have these marks and stalls. `None` if a branch that is alone would need delays.
fn changes(
    own: &Scheduled,
    marked: &[(Instruction, bool)],
    stalls: &[i64],
    code: &[u8],
) -> Option<Vec<Delayed>> {
    let marked = marked.iter().enumerate().map(|(index, (bits, holds))| {
        // What takes no cycles does not concern the scheduler.
        let old = own.lines[index].bits;
        let (stall, holds) = if old.stall() != 0 { (stalls[index], *holds) } else { (0, old.holds()) };
        (Instruction(bits.0 & !HOLD | if holds { HOLD } else { 0 }), stall)
    });
    let marked: Vec<(Instruction, i64)> = marked.collect();
    let mut changed = Vec::new();
    for (index, by) in own.expanded(&marked)?.into_iter().enumerate() {
        let (at, delays) = (own.places[index], &own.delays[index]);
        let old = std::iter::once(at).chain(delays.iter().copied());
        let old = old.map(|at| Instruction::at(code, at).0.to_le_bytes());
        if !old.eq(by.iter().copied()) {
            changed.push(Delayed { at, by });
            changed.extend(delays.iter().map(|at| Delayed { at: *at, by: Vec::new() }));
        }
    }
    Some(changed)
}

/// What changes in code in which no other warp goes on if others may: delays and marks. The delays at `gone`, in order, are for nothing. `None` if
/// the code is not understood.
pub fn released(
    code: &[u8],
    jumps: &Jumps,
    family: Family,
    delays: &[usize],
    gone: &[usize],
) -> Option<Vec<Delayed>> {
    let Code { lines, blocks, .. } = Code::new(code, jumps, family, Hints::NONE)?;
    let scheduled: Vec<Scheduled> =
        blocks.iter().map(|block| Scheduled::without(&lines, block.range.clone(), delays, gone)).collect();
    let mut changed = Vec::new();
    let is_held = |own: &Scheduled| own.held != Held::Nowhere;
    if gone.is_empty() && !scheduled.iter().any(is_held) {
        return Some(changed);
    }
    let member = Member::of(family);
    for own in scheduled {
        let is_before_gone = |at: usize| own.delays[at].iter().any(|at| gone.binary_search(at).is_ok());
        let stalls = Stalls::new(&own.lines, &own.given, &[]).anew(is_held(&own), member, is_before_gone);
        let has_gone = !own.first_gone.is_empty() || (0..own.lines.len()).any(is_before_gone);
        let is_new = is_held(&own) || has_gone;
        changed.extend(own.first_gone.iter().map(|at| Delayed { at: *at, by: Vec::new() }));
        let own = Scheduled { held: Held::Nowhere, ..own };
        let new: Vec<Instruction> = own.lines.iter().map(|line| line.bits).collect();
        let goes_on = |at: &usize| gone.binary_search(at).is_ok() && !lines[*at].bits.holds();
        let gone_on: Vec<usize> =
            (0..own.lines.len()).filter(|at| own.delays[*at].iter().any(goes_on)).collect();
        let marks = Marks::new(&own, &new, &stalls, member);
        let marks = Marks { held: Held::Nowhere, is_new, gone_on: &gone_on, ..marks };
        changed.extend(changes(&own, &marks.put(), &stalls, code)?);
    }
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// The code in which double precision of sm_100 sets scoreboards that have no numbers yet, as from 13.3 on. `None` if it is not understood.
pub fn with_double_scoreboards(code: &[u8], jumps: &Jumps, family: Family) -> Option<Vec<u8>> {
    let mut new = code.to_vec();
    let (places, _) = new.as_chunks_mut::<SIZE>();
    let Code { lines, blocks, .. } = Code::new(code, jumps, family, Hints::NONE)?;
    let mut budget = BUDGET;
    for block in &blocks {
        for double in doubles_of_100(&lines, block.range.clone(), &mut budget)? {
            let old = Control::of(lines[double.at].bits);
            let read = if double.operands == Consumer::Nothing { NONE } else { 0 };
            Control { written: 0, read, ..old }.put(&mut places[double.at]);
        }
    }
    Some(new)
}

/// What changes in code whose blocks with products of matrices get delays during which no other warp goes on, as from 13.1 on. Blocks in which
/// none went on before stay.
pub fn held(code: &[u8], jumps: &Jumps, family: Family, delays: &[usize]) -> Option<Vec<Delayed>> {
    let mut changed = Vec::new();
    if !instructions(code).any(pipes::is_matrix) {
        return Some(changed);
    }
    let Code { lines, blocks, .. } = Code::new(code, jumps, family, Hints::NONE)?;
    for block in &blocks {
        let own = Scheduled::new(&lines, block.range.clone(), delays);
        let held = Held::around_matrices(&own.lines);
        if held == Held::Nowhere || own.held != Held::Nowhere {
            continue;
        }
        let stalls = own.given.clone();
        let own = Scheduled { held, ..own };
        let new: Vec<Instruction> = own.lines.iter().map(|line| line.bits).collect();
        let marks = Marks::new(&own, &new, &stalls, Member::of(family));
        changed.extend(changes(&own, &marks.put(), &stalls, code)?);
    }
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// What changes in code of sm_100 or sm_103 for sm_107. `None` if the code is not understood. With `is_slower` nothing takes fewer cycles
/// than it did.
pub fn for_107(code: &[u8], jumps: &Jumps, delays: &[usize], is_slower: bool) -> Option<Vec<Delayed>> {
    let Code { lines, blocks, .. } = Code::new(code, jumps, Family::OF_100, Hints::NONE)?;
    let mut changed = Vec::new();
    for block in &blocks {
        let own = Scheduled::new(&lines, block.range.clone(), delays);
        let stalls = Stalls::new(&own.lines, &own.given, &[]).on_107(is_slower);
        let new: Vec<Instruction> = own.lines.iter().map(|line| line.bits).collect();
        let marks = Marks::new(&own, &new, &stalls, Member::Sm107).from(Member::Sm100);
        let marked = if is_slower { unmarked(&own, &stalls) } else { marks.put() };
        changed.extend(changes(&own, &marked, &stalls, code)?);
    }
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// The instructions of a block that take more cycles: nothing is kept that was not, nor anything at all if more warps go on than did.
fn unmarked(own: &Scheduled, stalls: &[i64]) -> Vec<(Instruction, bool)> {
    /// From this stall on other warps go on.
    const LONG: i64 = 12;
    let holds = |index: usize| own.lines[index].bits.holds() && stalls[index] < LONG;
    let is_same = (0..own.lines.len()).all(|index| holds(index) == own.lines[index].bits.holds());
    let gone = if is_same { 0 } else { KEPT };
    (0..own.lines.len()).map(|index| (Instruction(own.lines[index].bits.0 & !gone), holds(index))).collect()
}

/// Gives code for sm_107 the scoreboards and waits that it has there, if those of the code before, which was for sm_100 or sm_103, are
/// understood.
pub fn number_107(old: (&[u8], &Jumps), code: &mut [u8], jumps: &Jumps, from: Family, to: Family) {
    let is_understood = exceptions(old.0, old.1, from).is_some_and(|exceptions| exceptions.is_empty());
    let found = Code::new(code, jumps, to, Hints::NONE).filter(|_| is_understood);
    if let Some(found) = found.and_then(|code| code.controls(false, &[])) {
        put_all(code, &found);
    }
    delay_waits(code);
}

/// What changes in code whose unit of double precision needs no delays any more. `None` if the code is not understood.
pub fn undelayed(code: &[u8], jumps: &Jumps, family: Family, delays: &[usize]) -> Option<Vec<Delayed>> {
    let member = Member::of(family);
    let is_long = |bits: Instruction| pipes::is_double(bits) || pipes::is_conversion(bits);
    let mut changed = Vec::new();
    if !(member.is_120() || member.is_103()) || delays.is_empty() || !instructions(code).any(is_long) {
        return Some(changed);
    }
    let Code { lines, blocks, .. } = Code::new(code, jumps, family, Hints::NONE)?;
    for block in &blocks {
        let range = block.range.clone();
        let own = Scheduled::new(&lines, range.clone(), delays);
        if own.held != Held::Nowhere || !lines[range].iter().any(|line| is_long(line.bits)) {
            continue;
        }
        let is_delayed = |at: usize| !own.delays[at].is_empty();
        let stalls = Stalls::new(&own.lines, &own.given, &[]).again(member, is_delayed);
        let new: Vec<Instruction> = own.lines.iter().map(|line| line.bits).collect();
        let marks = Marks { held: Held::Nowhere, ..Marks::new(&own, &new, &stalls, member) };
        changed.extend(changes(&own, &marks.put(), &stalls, code)?);
    }
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// Gives numbers to the scoreboards of code for sm_103 that was made from code of sm_100. Whether that could be done so that
/// nothing comes too early: everything waits for what it waited for, and for double precision.
pub fn number(old: (&[u8], &Jumps), code: &mut [u8], jumps: &Jumps, release: &Release) -> bool {
    let (old, old_jumps) = old;
    let [from, to] = [100, 103].map(|sm| Family::of(sm, release));
    let interval = release.double_interval();
    let is_right = |code: &[u8]| {
        is_fit_for_103(code, interval)
            && keeps_times((old, old_jumps), (code, jumps))
            && keeps_waits(old, old_jumps, code)
    };
    let exceptions = exceptions(old, old_jumps, from);
    // Without double precision there are the same scoreboards as before, and they may stay as they are.
    let added = added(old, code);
    if exceptions.as_ref().is_some_and(Vec::is_empty) || !added.is_empty() {
        let found = Code::new(code, jumps, to, Hints::NONE).and_then(|code| code.controls(false, &[]));
        for exceptions in [exceptions.unwrap_or_default(), Vec::new()] {
            let mut numbered = code.to_vec();
            let Some(found) = &found else { break };
            put_all(&mut numbered, found);
            put_exceptions(&mut numbered, &exceptions, &added);
            delay_waits(&mut numbered);
            if is_right(&numbered) {
                code.copy_from_slice(&numbered);
                return true;
            }
        }
        wait_at_once(code, &added);
    }
    is_right(code)
}

/// The instructions of code of sm_100 whose scoreboards and waits the rules do not give, counted without delays, and what they have.
/// `None` if the code is not understood.
fn exceptions(code: &[u8], jumps: &Jumps, family: Family) -> Option<Vec<(usize, Control)>> {
    let understood = Code::new(code, jumps, family, Hints::NONE)?;
    let found = understood.controls(false, &[])?;
    let lines = understood.lines.iter().zip(&found).filter(|(line, _)| !is_delay(line.bits));
    let all = lines.map(|(line, found)| (Control::of(line.bits), found)).enumerate();
    Some(all.filter(|(_, (has, found))| has != *found).map(|(at, (has, _))| (at, has)).collect())
}

/// Has these instructions keep what they had. It is for `is_right` to say whether the others go with that.
fn put_exceptions(code: &mut [u8], exceptions: &[(usize, Control)], added: &[usize]) {
    let (places, _) = code.as_chunks_mut::<SIZE>();
    let bits = |place: &[u8; SIZE]| Instruction(u128::from_le_bytes(*place));
    let mut others = exceptions.iter().peekable();
    let all = places.iter_mut().enumerate().filter(|(_, place)| !is_delay(bits(place)));
    for (at, (index, place)) in all.enumerate() {
        if let Some((_, control)) = others.next_if(|(exception, _)| *exception == at)
            && added.binary_search(&index).is_err()
        {
            control.put(place);
        }
    }
}

/// Has each instruction that has a scoreboard on sm_103 only waited for at once, and leaves all other scoreboards and waits as they
/// are. That is not what nvlink does, but costs little: such instructions are slow anyway.
fn wait_at_once(code: &mut [u8], added: &[usize]) {
    let (places, _) = code.as_chunks_mut::<SIZE>();
    let bits = |place: &[u8; SIZE]| Instruction(u128::from_le_bytes(*place));
    let others = places.iter().enumerate().filter(|(at, _)| added.binary_search(at).is_err());
    let Some(number) = least_used(others.map(|(_, place)| bits(place))) else { return };
    for at in added.iter().copied() {
        let own = Control::of(bits(&places[at]));
        let read = if pipes::loses_latency(bits(&places[at])) { NONE } else { own.read };
        let own = Control { written: number, read, ..own };
        own.put(&mut places[at]);
        if let Some(next) = (at + 1..places.len()).find(|next| !is_delay(bits(&places[*next]))) {
            let mut control = Control::of(bits(&places[next]));
            control.waits |= 1 << number;
            control.put(&mut places[next]);
        }
    }
    delay_waits(code);
}

/// The scoreboard that the fewest instructions set, among those that are not counted.
fn least_used(instructions: impl Iterator<Item = Instruction>) -> Option<u8> {
    const SCOREBOARDS: usize = 6;
    let mut uses = [Some(0usize); SCOREBOARDS];
    for bits in instructions {
        let counted = bits.counted_wait().and_then(|wait| wait.counter).map(|(number, _)| number);
        let own = bits.write_scoreboard().filter(|_| bits.operation() == LDGDEPBAR);
        for number in counted.into_iter().chain(own) {
            *uses.get_mut(usize::from(number))? = None;
        }
        for number in [bits.write_scoreboard(), bits.read_scoreboard()].into_iter().flatten() {
            if let Some(Some(uses)) = uses.get_mut(usize::from(number)) {
                *uses += 1;
            }
        }
    }
    let free = (0..).zip(uses).filter_map(|(number, uses)| Some((uses?, number)));
    free.min().map(|(_, number)| number)
}

/// Code of sm_100 in which nothing of fixed latency sets a scoreboard. From 13.3 on assemblers have double precision set some.
pub fn without_double_scoreboards(code: &[u8]) -> Vec<u8> {
    let mut code = code.to_vec();
    for place in code.as_chunks_mut::<SIZE>().0 {
        let bits = Instruction(u128::from_le_bytes(*place));
        if pipes::loses_latency(bits) {
            Control { written: NONE, read: NONE, ..Control::of(bits) }.put(place);
        }
    }
    code
}

/// Whether the new code waits for all that the old code waits for, as the checker has it: the new scoreboards and waits, but for
/// those of double precision, would do in the old code. What double precision sets in the old code says nothing: its latency is fixed there.
fn keeps_waits(old: &[u8], jumps: &Jumps, code: &[u8]) -> bool {
    let old = &without_double_scoreboards(old);
    let mut restored = old.clone();
    let (places, _) = restored.as_chunks_mut::<SIZE>();
    let mut others = instructions(code).filter(|bits| !is_delay(*bits));
    for (index, place) in places.iter_mut().enumerate() {
        let before = Instruction::at(old, index);
        if is_delay(before) {
            continue;
        }
        let Some(after) = others.next().filter(|after| before.operation() == after.operation()) else {
            return false;
        };
        let none_if = |is_none: bool, number: u8| if is_none { NONE } else { number };
        let control = Control::of(after);
        let control = Control {
            written: none_if(before.write_scoreboard().is_none(), control.written),
            read: none_if(before.read_scoreboard().is_none(), control.read),
            waits: control.waits,
        };
        control.put(place);
        if before.stall() == 1 && after.stall() > 1 {
            let bits = u128::from_le_bytes(*place) & !(15 << STALL_AT) | 2 << STALL_AT;
            *place = bits.to_le_bytes();
        }
    }
    others.next().is_none() && check(old, &restored, jumps).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{delayed, number};
    use crate::instruction::{Instruction, SIZE};
    use crate::is_fit_for_103;
    use solder_arch::Release;

    fn with(bits: u128, stall: u128) -> u128 {
        bits | stall << 105 | 0x3f << 110
    }

    /// `DADD R8, R4, R8`, `DADD R4, R8, R8`, `EXIT` as sm_100 has them, and what comes after.
    fn code() -> Vec<u8> {
        let first = with(0x0800_0000_0008_0408_7229, 8);
        let second = with(0x0800_0000_0008_0804_7229, 11);
        let exit = with(0x0380_0000_0000_0000_0000_794d, 5) | 1 << 109;
        [first, second, exit].iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    #[test]
    fn double_precision_is_delayed_and_waited_for() {
        let old = code();
        let changes = delayed(&old, &[], &[], Release::CUDA_13_0, false).expect("known code");
        let lengths: Vec<_> = changes.iter().map(|change| (change.at, change.by.len())).collect();
        assert_eq!(lengths, [(0, 5), (1, 1)]);
        let stalls = changes[0].by.iter().map(|bits| Instruction(u128::from_le_bytes(*bits)).stall());
        assert_eq!(stalls.collect::<Vec<_>>(), [15, 15, 15, 15, 4]);
        let by = changes.iter().flat_map(|change| change.by.concat());
        let mut new: Vec<u8> = by.chain(old[2 * SIZE..].iter().copied()).collect();
        assert!(!is_fit_for_103(&new, 64));
        assert!(number((&old, &[]), &mut new, &[], Release::CUDA_13_0) && is_fit_for_103(&new, 64));
        assert_eq!(Instruction::at(&new, 5).wait_mask(), 1);
    }

    #[test]
    fn a_unit_that_takes_all_needs_no_delays() {
        let old = code();
        let changes = delayed(&old, &[], &[], Release::CUDA_13_4, false).expect("known code");
        let by = changes.iter().flat_map(|change| change.by.concat());
        let mut new: Vec<u8> = by.chain(old[2 * SIZE..].iter().copied()).collect();
        assert_eq!(new.len(), old.len());
        assert!(number((&old, &[]), &mut new, &[], Release::CUDA_13_4) && is_fit_for_103(&new, 1));
        assert!(!is_fit_for_103(&new, 64));
    }

    #[test]
    fn delays_of_the_old_code_go() {
        // IMMA.16816.S8.S8 R12, R14.ROW, R13.COL, RZ, a delay and another one that reads its result
        let first = with(0x0040_54ff_0000_000d_0e0c_7237, 15);
        let delay = with(0x7918, 5);
        let second = with(0x0040_540c_0000_0012_100c_7237, 1) | 1 << 109;
        let exit = with(0x0380_0000_0000_0000_0000_794d, 5) | 1 << 109;
        let old: Vec<u8> = [first, delay, second, exit].iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let changes = delayed(&old, &[], &[1], Release::CUDA_13_0, false).expect("known code");
        let lengths: Vec<_> = changes.iter().map(|change| (change.at, change.by.len())).collect();
        assert_eq!(lengths, [(0, 5), (1, 0), (2, 1)]);
        let by = changes.iter().flat_map(|change| change.by.concat());
        let mut new: Vec<u8> = by.chain(old[3 * SIZE..].iter().copied()).collect();
        assert!(number((&old, &[]), &mut new, &[], Release::CUDA_13_0) && is_fit_for_103(&new, 64));
    }

    #[test]
    fn what_is_not_known_is_waited_for_at_once() {
        let old = code();
        let changes = delayed(&old, &[], &[], Release::CUDA_13_0, false).expect("known code");
        let by = changes.iter().flat_map(|change| change.by.concat());
        let mut new: Vec<u8> = by.chain(old[2 * SIZE..].iter().copied()).collect();
        let added = super::added(&old, &new);
        super::wait_at_once(&mut new, &added);
        assert!(is_fit_for_103(&new, 64));
        let waits = (0..new.len() / SIZE).map(|at| Instruction::at(&new, at).wait_mask());
        assert_eq!(waits.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn other_code_stays() {
        assert_eq!(delayed(&code()[2 * SIZE..], &[], &[], Release::CUDA_13_0, false), None);
    }
}
