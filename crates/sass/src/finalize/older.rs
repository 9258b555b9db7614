//! Code of other assemblers than that of 13.0.88, finalized as nvlink does it.
//!
//! nvlink finalizes all code by its own rules. For objects of its own toolkit these are the assembler's; for those of 12.8 and 12.9 this
//! is what becomes of a function, in relocatable links too (older/blackwell, older/blackwell-delays, older/blackwell-warps):
//!
//! 1. a capsule of 12.8 gets 13.0's form;
//! 2. the `NOP` after every `WARPSYNC` goes;
//! 3. the short one of several delays comes last;
//! 4. scoreboards and waits are chosen anew; where something is no longer waited for at once, or is now, the cycles of its block are
//!    those that it needs;
//! 5. after a barrier by the number in a register, the shift that gives the register its number back has another form;
//! 6. the size of the cluster comes through a general register (older/blackwell-clusters).
//!
//! 13.0.100 has a `NOP` before every `BSYNC` and after every `BREAK`, and an attribute that says so. Both go
//! (`.nv.info`, `NVSAL_SW_WAR`).
//!
//! What the checker does not accept stays as the assembler made it, which is always valid.

use super::function::{Function, Jumps, Step, delayed_capsule, other_delays, paced};
use super::moves::{Change, Moves};
use super::object::Object;
use crate::idle::{NO_LOAD, is_idle, is_needed, is_unscheduled_idle};
use crate::instruction::{Instruction, KEPT, SIZE};
use crate::operation::{BAR, DMMA, DOUBLE, ENDCOLLECTIVE, MEMBAR};
use crate::schedule::member::{
    Delayed, expanded as retimed_blocks, held, mark_anew, put, released, rewaited, shortened, undelayed,
    with_double_scoreboards,
};
use crate::schedule::{
    Control, Expansion, Family, Hints, Machine, NONE, anew, expansions, hasten, hasty, order_delays,
    shortened as shortened_code,
};
use crate::shift;
use crate::unscheduled::{self, Pace};
use crate::{Speed, check, check_expanded, check_for};
use solder_arch::Release;
use solder_cubin::mercury::{Idle, abridged, delays, from_older, idle, is_older_capsule, remarks};
use std::borrow::Cow;

/// How many blocks may get the cycles that the model gives, and how many instructions may take a cycle less.
const MAX_BLOCKS: usize = 64;
const MAX_HASTY: usize = 64;

const SM_100: u16 = 100;
pub const CUDA_13: u32 = 130;
const HOLD: u128 = 1 << 109;

/// Which assembler made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// That of another toolkit.
    is_other: bool,
    /// That of 12.8 or 12.9.
    is_before_13: bool,
    /// That of an earlier toolkit, for a release whose finalizer schedules code in another way than 13.0.
    is_newer: bool,
    /// One before 13.3, for a release from then on.
    is_before_13_3: bool,
    /// The same, where double precision sets scoreboards from then on.
    gains_doubles: bool,
    /// One with delays for double precision, for a release without them.
    has_delays: bool,
    /// One that has the workaround of 13.0.100.
    has_workaround: bool,
    /// How its code is scheduled.
    family: Family,
    speed: Speed,
}

impl Origin {
    /// Whether code is scheduled anew once everything has its place.
    pub const fn is_scheduled_last(self) -> bool {
        self.is_newer
    }

    pub fn of(object: &Object<'_, '_>, release: &Release) -> Self {
        // Those of 13.0 have code of one kind, and those of later ones. What is of no known toolkit is old.
        let toolkit = object.toolkit();
        let is_before = |first: u32| toolkit.is_some_and(|toolkit| toolkit < first);
        let is_other = is_before(release.first_of_kind());
        let sm = object.cubin.sm();
        let family = Family::of(sm, release);
        let is_told = toolkit.is_none_or(Release::is_told_by) || !release.tells_doubles();
        Self {
            is_other,
            is_before_13: is_before(CUDA_13),
            is_newer: is_other && !release.waits_at_ends(),
            is_before_13_3: !is_told,
            gains_doubles: !is_told && family.machine == Machine::Of100,
            has_delays: toolkit.is_some_and(Release::has_delays_for_doubles) && family.double_interval == 1,
            has_workaround: !is_other && release.removes_workaround() && object.has_workaround(),
            family,
            speed: match family.machine {
                _ if sm == SM_100 => Speed::Sm100,
                Machine::Of103 | Machine::Of110 => Speed::Sm103,
                Machine::Of120 => Speed::Sm120,
                Machine::Of100 => Speed::Any,
            },
        }
    }
}

/// The function as 13.0.88 finalizes it; `None` if it is that already.
pub fn step(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    if !origin.is_other && !origin.has_workaround {
        return None;
    }
    let old = &function.code;
    let capsule = current(&function.capsule, old)?;
    let (idle, timed) = needless(old, &capsule);
    if !origin.is_other && idle.is_empty() {
        return None;
    }
    let (moves, mut code) = Moves::new(&timing(object, function, timed, &idle, origin), changes(&idle))?;
    let jumps = function.jumps(object);
    let index = |at: &usize| moves.index(*at);
    let moved: Jumps =
        jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
    let is_safe = |code: &[u8]| check_for(origin.speed, old, code, &jumps).is_ok();
    if unscheduled::pace(old) == Some(Pace::Waiting) {
        // Every instruction waits and takes its time already.
        if origin.is_other {
            take(&mut code, is_safe, with_low_shifts);
        }
    } else if origin.is_other {
        let unstretched = with_stalls_of(old, &code, &idle, index);
        let lets_go_on = |idle: &&Idle| idle.is_second && !Instruction::at(old, idle.at).holds();
        let gone_on: Vec<usize> =
            idle.iter().filter(lets_go_on).map(|idle| index(&idle.at).saturating_sub(1)).collect();
        take(&mut code, is_safe, |code| mark_anew(&unstretched, code, &moved, origin.family, &gone_on));
        take(&mut code, is_safe, order_delays);
        take(&mut code, is_safe, with_low_shifts);
        let family = origin.family;
        if !origin.is_newer {
            let unnumbered = code.clone();
            let keeps_waits = !has_remarks(&capsule, old);
            number(&mut code, (&unnumbered, &moved), family, Hints::NONE, keeps_waits, &[], is_safe);
        }
    } else if origin.family.machine == Machine::Of100 {
        // What is over at the end of a block depends on the cycles that are gone. The times of sm_120 are not known well enough for
        // that: there the scoreboards of NVSHMEM's code stay.
        let removed: Vec<usize> = idle.iter().map(|idle| idle.at).collect();
        let whole = (&**old, &*jumps);
        take(&mut code, is_safe, |code| shortened_code(whole, &removed, (code, &moved), origin.family));
    }
    let capsule =
        if moves.is_in_place() { capsule.into_owned() } else { abridged(&paced(&capsule, &moves)?)? };
    Some(Step { code, capsule, moves })
}

/// Code without optimisation as the assembler of a later release has it; `None` if it is that already.
///
/// Up to 13.2 every instruction of such code waits for scoreboards 0 and 1, sets them if it has slow results or operands, and takes 15
/// cycles; from 13.1 on narrow fences do so, too. Since 13.3 its schedule is left to the machine: no cycles and no scoreboards
/// (older/blackwell-unscheduled). The checker, which knows nothing of that, is not asked: that all of the code has the one form is what
/// shows that it is safe.
pub fn unschedule(function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    let old = &*function.code;
    if !origin.is_newer && !origin.is_before_13_3 {
        return None;
    }
    let (moves, mut code) = Moves::new(old, Vec::new())?;
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for (at, place) in places.iter_mut().enumerate() {
        let instruction = Instruction::at(old, at);
        let is_narrow_fence = || {
            let next = (at + 1 < old.len() / SIZE).then(|| Instruction::at(old, at + 1));
            instruction.operation() == MEMBAR && next.is_some_and(|next| next.operation() == MEMBAR)
        };
        if origin.is_before_13_3 && instruction.0 != NO_LOAD {
            *place = instruction.with_stall(0).without_hold().0.to_le_bytes();
            Control { written: NONE, read: NONE, waits: 0 }.put(place);
        } else if !origin.is_before_13_3 && is_narrow_fence() {
            *place = instruction.with_stall(15).0.to_le_bytes();
            Control { written: NONE, read: 1, waits: 3 }.put(place);
        }
    }
    (code != old).then(|| Step { code, capsule: function.capsule.to_vec(), moves })
}

/// The function with the scoreboards and waits that a later release gives it, once everything has its place; `None` if the function stays.
pub fn schedule(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    let old = &*function.code;
    let jumps = function.jumps(object);
    let is_told = !origin.gains_doubles || !has_doubles(old);
    if !origin.is_newer && is_told {
        return None;
    }
    let (moves, mut code) = Moves::new(old, Vec::new())?;
    let is_safe = |code: &[u8]| check_for(origin.speed, old, code, &jumps).is_ok();
    // nvlink takes nothing from what 12.9 remarks.
    let hints = Hints::of(&function.capsule, old.len() / SIZE);
    let hints = if origin.is_before_13 { Hints::NONE } else { &hints };
    let mut base = old.to_vec();
    if !is_told {
        base = with_double_scoreboards(&base, &jumps, origin.family)?;
    }
    if origin.is_newer {
        schedule_narrow_fences(&mut base, origin.family.machine);
    }
    let mut told = base.clone();
    number(&mut told, (old, &jumps), origin.family, hints, false, &[], is_safe);
    let needs_numbers = base != old && origin.family.machine == Machine::Of100;
    if (told != base || !needs_numbers) && is_safe(&told) {
        code = told;
    } else if base != old && origin.is_newer {
        number(&mut code, (old, &jumps), origin.family, hints, false, &[], is_safe);
    }
    (code != old).then(|| Step { code, capsule: function.capsule.to_vec(), moves })
}

fn has_doubles(code: &[u8]) -> bool {
    (0..code.len() / SIZE).any(|at| DOUBLE.contains(&Instruction::at(code, at).operation()))
}

/// Gives the narrow fence before a wide one, which 13.0 does not schedule, a stall and, on sm_100, a scoreboard that has no number yet
/// (older/blackwell-recursion).
fn schedule_narrow_fences(code: &mut [u8], machine: Machine) {
    const STALL: u8 = 6;
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for at in 1..places.len() {
        let [narrow, wide] = [at - 1, at].map(|at| Instruction(u128::from_le_bytes(places[at])));
        if narrow.operation() == MEMBAR && wide.operation() == MEMBAR && narrow.stall() == 0 {
            let held = Instruction(narrow.0 | HOLD).with_stall(STALL);
            places[at - 1] = held.0.to_le_bytes();
            if machine == Machine::Of100 {
                Control { read: 0, ..Control::of(held) }.put(&mut places[at - 1]);
            }
        }
    }
}

/// The function in which the size of the cluster comes through a general register; `None` if it does not ask for it, or stays
/// (older/blackwell-clusters).
pub fn expand(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    if !origin.is_other {
        return None;
    }
    let old = &function.code;
    let jumps = function.jumps(object);
    let wanted = expansions(old, &jumps, origin.family);
    if wanted.is_empty() || wanted.len() > MAX_BLOCKS {
        return None;
    }
    let capsule = current(&function.capsule, old)?;
    let is_same = |expansions: &[Expansion]| {
        let expanded = expanded_code(old, expansions)?;
        check_expanded(old, &expanded.1, &jumps).ok().map(|()| expanded)
    };
    // Those that the checker does not accept stay.
    let mut taken: Vec<Expansion> = wanted.iter().filter_map(|ways| ways.first().cloned()).collect();
    let expanded = is_same(&taken).or_else(|| {
        taken.clear();
        for one in wanted.into_iter().flatten().take(MAX_BLOCKS) {
            if taken.last().is_some_and(|last| last.at == one.at) {
                continue;
            }
            taken.push(one);
            if is_same(&taken).is_none() {
                taken.pop();
            }
        }
        is_same(&taken).filter(|_| !taken.is_empty())
    });
    let (moves, mut code) = expanded?;
    let index = |at: &usize| moves.index(*at);
    let moved: Jumps =
        jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
    let whole = code.clone();
    let is_safe = |code: &[u8]| check_for(origin.speed, &whole, code, &moved).is_ok();
    let new = |one: &Expansion| index(&one.at)..index(&one.at) + one.by.len();
    let inserted: Vec<usize> = taken.iter().flat_map(new).collect();
    for (_, block) in retimed_blocks(&code, &moved, origin.family, &inserted).into_iter().take(MAX_BLOCKS) {
        if !take(&mut code, is_safe, |code| put(code, &block)) {
            for one in block.chunks(1).take(MAX_HASTY) {
                take(&mut code, is_safe, |code| put(code, one));
            }
        }
    }
    if !origin.is_newer {
        let unnumbered = code.clone();
        let keeps_waits = !has_remarks(&capsule, old);
        let old = (&*unnumbered, &moved);
        number(&mut code, old, origin.family, Hints::NONE, keeps_waits, &inserted, is_safe);
    }
    let capsule = paced(&capsule, &moves)?;
    Some(Step { code, capsule, moves })
}

/// Code in which these have taken place.
fn expanded_code(old: &[u8], expansions: &[Expansion]) -> Option<(Moves, Vec<u8>)> {
    let mut code = old.to_vec();
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for (at, bits) in expansions.iter().flat_map(|one| &one.others) {
        places[*at] = *bits;
    }
    let changes = expansions.iter().filter_map(|one| {
        let (last, first) = one.by.split_last()?;
        let (first, last) = (first.to_vec(), vec![*last]);
        Some([Change::replaced(one.at, first), Change::replaced(one.at + 1, last)])
    });
    Moves::new(&code, changes.flatten().collect())
}

/// The function with other warps that go on everywhere, and the cycles that go with it; `None` if it is that already. 12.8 and 12.9 hold
/// other warps off where products of matrices follow one another, and do not say so in the capsule (older/blackwell-matrices).
pub fn release(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    if !origin.is_before_13 {
        return None;
    }
    let delays = delays(&function.capsule, function.code.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    let all = |code: &[u8], gone: &[usize]| released(code, &jumps, origin.family, &delays, gone);
    if let Some((code, gone)) = uncounted(function, &jumps, origin, &delays)
        && let Some(changed) = all(&code, &gone)
    {
        // What is not known to be kept where a wait is gone is read again.
        let others = keeping_no_more(&code, &changed);
        let step = retimed(function, &code, &jumps, origin, changed);
        let step = step.or_else(|| retimed(function, &code, &jumps, origin, others));
        if step.is_some() {
            return step;
        }
    }
    retimed(function, &function.code, &jumps, origin, all(&function.code, &[])?)
}

/// The same changes, after which instructions keep no operands that they do not keep in the code.
fn keeping_no_more(code: &[u8], changed: &[Delayed]) -> Vec<Delayed> {
    let mut changed = changed.to_vec();
    for change in &mut changed {
        if let Some(first) = change.by.first_mut() {
            let kept = Instruction::at(code, change.at).0 & KEPT;
            let bits = u128::from_le_bytes(*first);
            *first = (bits & (!KEPT | kept)).to_le_bytes();
        }
    }
    changed
}

/// The code of a function with scoreboards of their own for products of matrices in double precision, and what were counted waits for them:
/// plain delays now, and where these are. `None` if there are none, or if something would not be waited for. The capsule has these waits as
/// delays (older/blackwell-counted-waits).
fn uncounted(
    function: &Function<'_, '_>,
    jumps: &Jumps,
    origin: Origin,
    delays: &[usize],
) -> Option<(Vec<u8>, Vec<usize>)> {
    let old = &*function.code;
    let counter = |at: usize| Instruction::at(old, at).counted_wait()?.counter;
    if !delays.iter().any(|at| counter(*at).is_some()) {
        return None;
    }
    let products = (0..old.len() / SIZE).map(|at| Instruction::at(old, at));
    let products = products.filter(|one| one.operation() == DMMA).filter_map(Instruction::write_scoreboard);
    let own = products.fold(0u8, |all, number| all | 1 << number);
    // Those for textures stay.
    let is_counted = |at: &usize| counter(*at).is_some_and(|(number, _)| own >> number & 1 != 0);
    let gone: Vec<usize> = delays.iter().copied().filter(is_counted).collect();
    if gone.is_empty() {
        return None;
    }
    let mut code = old.to_vec();
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for at in &gone {
        places[*at] = Instruction::at(old, *at).as_delay().0.to_le_bytes();
    }
    let uncounted = code.clone();
    let is_safe = |code: &[u8]| check_for(origin.speed, old, code, jumps).is_ok();
    number(&mut code, (&uncounted, jumps), origin.family, Hints::NONE, false, &[], is_safe);
    is_safe(&code).then_some((code, gone))
}

/// The function with delays that let no other warp go on, where products of matrices need some; `None` if it has none such
/// (older/blackwell-idle).
pub fn hold(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    if !origin.is_newer {
        return None;
    }
    let delays = delays(&function.capsule, function.code.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    retimed(function, &function.code, &jumps, origin, held(&function.code, &jumps, origin.family, &delays)?)
}

/// The function without delays for double precision, where the release leaves those to the machine; `None` if it has none
/// (mercury/other-toolkit-delays).
pub fn undelay(object: &Object<'_, '_>, function: &Function<'_, '_>, origin: Origin) -> Option<Step> {
    if !origin.has_delays {
        return None;
    }
    let delays = delays(&function.capsule, function.code.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    retimed(
        function,
        &function.code,
        &jumps,
        origin,
        undelayed(&function.code, &jumps, origin.family, &delays)?,
    )
}

/// The function with other delays than this code of it has, if the checker accepts that.
fn retimed(
    function: &Function<'_, '_>,
    old: &[u8],
    jumps: &Jumps,
    origin: Origin,
    changed: Vec<Delayed>,
) -> Option<Step> {
    if changed.is_empty() {
        return None;
    }
    let (moves, mut code) = Moves::new(old, other_delays(changed))?;
    check_for(origin.speed, old, &code, jumps).ok()?;
    if origin.is_newer {
        let capsule = delayed_capsule(&function.capsule, &moves)?;
        return Some(Step { code, capsule, moves });
    }
    // What is over when depends on the cycles.
    let index = |at: &usize| moves.index(*at);
    let moved: Jumps =
        jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
    let unnumbered = code.clone();
    number(
        &mut code,
        (&unnumbered, &moved),
        origin.family,
        Hints::NONE,
        !has_remarks(&function.capsule, &function.code),
        &[],
        |code: &[u8]| check_for(origin.speed, old, code, jumps).is_ok(),
    );
    let capsule = delayed_capsule(&function.capsule, &moves)?;
    Some(Step { code, capsule, moves })
}

/// Whether the assembler has scheduled a function in a way of its own and says so: then its waits have reasons that do not count here
/// (older/blackwell-remarks).
fn has_remarks(capsule: &[u8], code: &[u8]) -> bool {
    remarks(capsule, code.len() / SIZE).is_ok_and(|remarks| !remarks.is_empty())
}

/// Gives code the scoreboards and waits of 13.0, and the cycles that go with them. With `keeps_waits`, blocks keep waits that no rule
/// explains.
fn number(
    code: &mut [u8],
    (old, jumps): (&[u8], &Jumps),
    family: Family,
    hints: &Hints,
    keeps_waits: bool,
    inserted: &[usize],
    is_safe: impl Fn(&[u8]) -> bool + Copy,
) {
    if !take(code, is_safe, |code| anew(code, jumps, family, hints, keeps_waits, inserted)) {
        take(code, is_safe, |code| anew(code, jumps, family, hints, false, inserted));
    }
    for (_, block) in rewaited(old, code, jumps, family).into_iter().take(MAX_BLOCKS) {
        take(code, is_safe, |code| put(code, &block));
    }
    for hasty in hasty(old, code, jumps, family).into_iter().take(MAX_HASTY) {
        take(code, is_safe, |code| hasten(code, hasty));
    }
}

/// The capsule of a function in 13.0's form.
fn current<'a>(capsule: &'a [u8], code: &[u8]) -> Option<Cow<'a, [u8]>> {
    if is_older_capsule(capsule) { from_older(capsule, code).map(Cow::Owned) } else { Some(capsule.into()) }
}

/// The code with the cycles that instructions need once the idle ones are gone: in each block as nvlink has it, if the checker accepts
/// that, otherwise as in `timed`.
fn timing<'a>(
    object: &Object<'_, '_>,
    function: &'a Function<'_, '_>,
    mut timed: Cow<'a, [u8]>,
    idle: &[Idle],
    origin: Origin,
) -> Cow<'a, [u8]> {
    let old = &function.code;
    let is_short = |idle: &&Idle| idle.is_second && Instruction::at(old, idle.at).stall() == 1;
    let second: Vec<usize> = idle.iter().filter(is_short).map(|idle| idle.at).collect();
    if second.is_empty() {
        return timed;
    }
    let jumps = function.jumps(object);
    let before: Vec<usize> = second.iter().filter_map(|at| at.checked_sub(1)).collect();
    for (range, block) in shortened(old, &jumps, origin.family, &second).into_iter().take(MAX_BLOCKS) {
        let mut new = timed.to_vec();
        let (places, _) = new.as_chunks_mut::<SIZE>();
        // What it says instead of a longer synchronisation.
        for at in before.iter().filter(|at| range.contains(*at)) {
            places[*at].copy_from_slice(&old[*at * SIZE..][..SIZE]);
        }
        for (at, bits) in &block {
            places[*at] = *bits;
        }
        let moved = Moves::new(&new, changes(idle));
        if moved.is_some_and(|(_, moved)| check_for(origin.speed, old, &moved, &jumps).is_ok()) {
            timed = Cow::Owned(new);
        }
    }
    timed
}

/// The code whose synchronisations take a cycle more where the one that goes is needed, and all if there were more.
fn timed<'a>(code: &'a [u8], idle: &[Idle], is_needed: impl Fn(usize) -> bool) -> Cow<'a, [u8]> {
    /// From this stall on other warps go on; the longest one.
    const LONG: u8 = 12;
    const LONGEST: u8 = 15;
    let mut timed = Cow::Borrowed(code);
    for idle in idle.iter().filter(|idle| idle.is_second) {
        let Some(last) = idle.at.checked_sub(1) else { continue };
        let cycles = match Instruction::at(code, idle.at).stall() {
            1 => u8::from(is_needed(idle.at)),
            more => more,
        };
        let instruction = Instruction::at(code, last);
        if instruction.stall() + cycles > LONGEST {
            take_delays(timed.to_mut(), last, idle.at);
        }
        if cycles != 0 && instruction.stall() + cycles <= LONGEST {
            let mut longer = instruction.with_stall(instruction.stall() + cycles);
            if longer.stall() >= LONG {
                longer = longer.without_hold();
            }
            timed.to_mut()[last * SIZE..][..SIZE].copy_from_slice(&longer.0.to_le_bytes());
        }
    }
    timed
}

/// Has a synchronisation take the longest time, and the delays after the idle instruction the rest of the cycles of all of them, the last
/// one what is left (older/blackwell-warp-delays). Nothing is done if these are more delays or fewer.
fn take_delays(code: &mut [u8], last: usize, idle: usize) {
    const LONGEST: u32 = 15;
    let (places, _) = code.as_chunks_mut::<SIZE>();
    let at = |place: &[u8; SIZE]| Instruction(u128::from_le_bytes(*place));
    let is_delay = |place: &&[u8; SIZE]| at(place).is_delay() && at(place).stall() != 0;
    let count = places[idle + 1..].iter().take_while(is_delay).count();
    let cycles = places[last..=idle + count].iter().map(|place| u32::from(at(place).stall())).sum::<u32>();
    let mut left = cycles.saturating_sub(LONGEST);
    if u32::from(at(&places[idle]).stall()) != LONGEST || left.div_ceil(LONGEST) as usize != count {
        return;
    }
    places[last] = at(&places[last]).with_stall(LONGEST as u8).without_hold().0.to_le_bytes();
    for place in &mut places[idle + 1..=idle + count] {
        let stall = left.min(LONGEST);
        left -= stall;
        *place = at(place).with_stall(stall as u8).without_hold().0.to_le_bytes();
    }
}

/// The code in which synchronisations that take the cycles of what follows them do not.
fn with_stalls_of(old: &[u8], code: &[u8], idle: &[Idle], index: impl Fn(&usize) -> usize) -> Vec<u8> {
    let mut unstretched = code.to_vec();
    let (places, _) = unstretched.as_chunks_mut::<SIZE>();
    for last in idle.iter().filter(|idle| idle.is_second).filter_map(|idle| idle.at.checked_sub(1)) {
        let stall = Instruction::at(old, last).stall();
        if let Some(place) = places.get_mut(index(&last)) {
            *place = Instruction(u128::from_le_bytes(*place)).with_stall(stall).0.to_le_bytes();
        }
    }
    unstretched
}

/// What a warp does for all its threads at such a barrier ends with this shift (older/blackwell-barriers).
fn with_low_shifts(code: &mut [u8]) {
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for at in 2..places.len() {
        let [barrier, shift, end] =
            [at - 2, at - 1, at].map(|at| Instruction(u128::from_le_bytes(places[at])));
        if (barrier.operation(), end.operation()) == (BAR, ENDCOLLECTIVE)
            && let Some(low) = shift::low(shift)
        {
            places[at - 1] = low.0.to_le_bytes();
        }
    }
}

fn changes(idle: &[Idle]) -> Vec<Change> {
    let change = |idle: &Idle| {
        if idle.is_second { Change::removed_after(idle.at) } else { Change::removed(idle.at) }
    };
    idle.iter().map(change).collect()
}

/// The instructions that nvlink does without, if the function can be changed and is then the same, and the code with other cycles
/// in which they are left out.
fn needless<'a>(code: &'a [u8], capsule: &[u8]) -> (Vec<Idle>, Cow<'a, [u8]>) {
    let is_unscheduled = |idle: &Idle| idle.is_second && is_unscheduled_idle(Instruction::at(code, idle.at));
    let is_known = |idle: &Idle| {
        let instruction = Instruction::at(code, idle.at);
        is_idle(instruction) && (idle.is_second || instruction.stall() == 1) || is_unscheduled(idle)
    };
    let idle: Vec<Idle> = idle(capsule).into_iter().flatten().filter(is_known).collect();
    let is_same = |timed: &Cow<'_, [u8]>| {
        let moved = Moves::new(timed, changes(&idle));
        moved.is_some_and(|(_, moved)| check(code, &moved, &[]).is_ok())
    };
    // In code without optimisation each of the others waits and takes the time that it needs.
    let as_it_is = Cow::from(code);
    if idle.iter().all(is_unscheduled) && is_same(&as_it_is) {
        return (idle, as_it_is);
    }
    // Where several of them go, something may be too early that depends on none alone.
    let mut timings =
        [timed(code, &idle, |at| is_needed(code, at)), timed(code, &idle, |_| true)].into_iter();
    match timings.find(is_same) {
        Some(timed) => (idle, timed),
        None => (Vec::new(), code.into()),
    }
}

/// Makes a change to code if the checker accepts the result; whether it does.
fn take(code: &mut [u8], is_safe: impl Fn(&[u8]) -> bool, change: impl Fn(&mut [u8])) -> bool {
    let mut changed = code.to_vec();
    change(&mut changed);
    let is_taken = changed == code || is_safe(&changed);
    if is_taken {
        code.copy_from_slice(&changed);
    }
    is_taken
}
