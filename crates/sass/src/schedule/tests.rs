//! Each rule on a few instructions.

use super::{Code, Control, Family, Hints, NONE, Outcome, controls, put_all, steps, without_stack_pointer};
use crate::instruction::{Instruction, SIZE};

/// One instruction: its bits without the control word, and what of it the schedule starts from.
#[derive(Clone, Copy)]
struct Line {
    bits: u128,
    stall: u8,
    is_written: bool,
    is_read: bool,
    waits: u8,
}

impl Line {
    fn new(bits: u128) -> Self {
        Self { bits, stall: 1, is_written: false, is_read: false, waits: 0 }
    }
    /// Sets a scoreboard until its results are written.
    fn written(self) -> Self {
        Self { is_written: true, ..self }
    }
    /// Sets a scoreboard until its operands are read.
    fn read(self) -> Self {
        Self { is_read: true, ..self }
    }
    fn stall(self, stall: u8) -> Self {
        Self { stall, ..self }
    }
    fn waits(self, waits: u8) -> Self {
        Self { waits, ..self }
    }
    /// With a guard; 8 negates it.
    fn guard(self, predicate: u8) -> Self {
        Self { bits: self.bits & !0xf000 | u128::from(predicate) << 12, ..self }
    }
    fn word(self) -> u128 {
        let number = |is_set: bool| u128::from(if is_set { 0 } else { NONE });
        self.bits
            | u128::from(self.stall) << 105
            | number(self.is_written) << 110
            | number(self.is_read) << 113
            | u128::from(self.waits) << 116
    }
}

fn at(byte: u32, register: u8) -> u128 {
    u128::from(register) << (8 * byte)
}
fn load_constant(result: u8) -> Line {
    Line::new(0x0000_0000_0000_0800_0000_df00_ff00_7b82 | at(2, result)).written()
}
fn load_global(result: u8, address: u8) -> Line {
    Line::new(0x0000_0000_0c1e_1900_0000_0004_0000_7981 | at(2, result) | at(3, address)).written()
}
fn load_shared(result: u8, address: u8) -> Line {
    Line::new(0x0000_0000_0000_0800_0000_0000_0000_7984 | at(2, result) | at(3, address)).written()
}
fn store_global(address: u8, value: u8) -> Line {
    Line::new(0x0000_0000_0c10_1908_0000_0000_0000_7986 | at(3, address) | at(4, value))
}
fn reciprocal(result: u8, source: u8) -> Line {
    Line::new(0x0000_0000_0000_1000_0000_0000_0000_7308 | at(2, result) | at(4, source))
}
fn texture(result: u8, coordinates: u8) -> Line {
    Line::new(0x0000_0000_089e_01ff_28ff_04ff_0000_7f60 | at(2, result) | at(3, coordinates)).written()
}
fn copy(result: u8, source: u8) -> Line {
    Line::new(0x0000_0000_0000_0f00_0000_0000_0000_7202 | at(2, result) | at(4, source))
}
fn add(result: u8, first: u8, second: u8) -> Line {
    let add = 0x0000_0000_07ff_e0ff_0000_0000_0000_7210;
    Line::new(add | at(2, result) | at(3, first) | at(4, second))
}
fn branch(instructions: i64) -> Line {
    let words = (instructions - 1) * 4;
    let distance = (words >> 8) as u128 & 0xffff_ffff_ffff;
    Line::new(0x0000_0000_0380_0000_0000_0000_0000_7947 | distance << 34 | at(2, words as u8))
}
fn collective(register: u8) -> Line {
    Line::new(0x0000_0000_03c0_0000_0000_0000_0000_7348 | at(3, register))
}
fn jump(register: u8) -> Line {
    Line::new(0x0000_0000_0383_ffff_ffff_fffc_0000_7949 | at(3, register))
}
fn exit() -> Line {
    Line::new(0x0000_0000_0380_0000_0000_0000_0000_794d)
}

fn code(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.word().to_le_bytes()).collect()
}

/// The schedule as triples: scoreboards until results are written and operands are read, waits.
fn scheduled(lines: &[Line]) -> Vec<(u8, u8, u8)> {
    let controls = controls(&code(lines), &[], Family::OF_100, Hints::NONE, false).expect("known code");
    controls.iter().map(|control| (control.written, control.read, control.waits)).collect()
}

fn written(lines: &[Line]) -> Vec<u8> {
    scheduled(lines).iter().map(|control| control.0).filter(|number| *number != NONE).collect()
}

fn waits(lines: &[Line]) -> Vec<u8> {
    scheduled(lines).iter().map(|control| control.2).collect()
}

#[test]
fn consumers_wait_for_producers() {
    let lines = [load_constant(4), load_global(6, 8), copy(10, 4), copy(11, 6), exit()];
    assert_eq!(written(&lines), [0, 2], "slow results begin with the third scoreboard");
    assert_eq!(waits(&lines), [0, 0, 1, 4, 0]);
    // The operands: what overwrites them waits.
    let lines = [store_global(4, 6).read(), copy(8, 6), copy(6, 7), exit()];
    assert_eq!(scheduled(&lines)[0], (NONE, 0, 0));
    assert_eq!(waits(&lines), [0, 0, 1, 0]);
}

#[test]
fn producers_with_the_same_consumer_share() {
    assert_eq!(written(&[load_constant(4), load_constant(5), add(6, 4, 5), exit()]), [0, 0]);
    assert_eq!(written(&[load_constant(4), load_constant(5), copy(6, 4), copy(7, 5), exit()]), [0, 1]);
}

#[test]
fn when_none_is_free_the_cheapest_is_shared() {
    let mut lines: Vec<Line> = (0..7).map(|register| load_constant(4 + register)).collect();
    lines.extend((0..7).map(|register| copy(20 + register, 4 + register)));
    lines.push(exit());
    // The last consumer comes right after that of the last scoreboard.
    assert_eq!(written(&lines), [0, 1, 2, 3, 4, 5, 5]);
    assert_eq!(&waits(&lines)[7..14], [1, 2, 4, 8, 16, 32, 0]);
}

#[test]
fn slow_results_that_outlive_the_block_have_a_scoreboard_of_their_own() {
    let lines = [load_global(6, 8), load_constant(4), exit().guard(0), copy(10, 6), copy(11, 4), exit()];
    assert_eq!(written(&lines), [5, 0]);
    assert_eq!(waits(&lines), [0, 0, 0, 0x20, 1, 0]);
}

#[test]
fn the_end_of_a_block_waits_for_what_is_over() {
    let late = [load_constant(4), copy(8, 9).stall(15), exit().guard(0), copy(10, 4), exit()];
    assert_eq!(waits(&late), [0, 0, 0, 1, 0]);
    let over = [
        load_constant(4),
        copy(8, 9).stall(15),
        copy(8, 9).stall(15),
        copy(8, 9).stall(15),
        copy(8, 9).stall(15),
        exit().guard(0),
        copy(10, 4),
        exit(),
    ];
    assert_eq!(waits(&over), [0, 0, 0, 0, 0, 1, 0, 0]);
}

#[test]
fn results_overwrite_others_after_a_while() {
    // The second load overwrites what was just written: that explains the stall before it, which the wait has made needless.
    let lines = |overwritten: u8| {
        [
            load_constant(4),
            copy(overwritten, 9),
            copy(5, 4).stall(5),
            load_constant(12),
            copy(8, 9).stall(15),
            copy(8, 9).stall(15),
            copy(8, 9).stall(15),
            copy(8, 9).stall(2),
            exit().guard(0),
            copy(10, 12),
            exit(),
        ]
    };
    assert_eq!(waits(&lines(13))[8], 1, "after a stall that nothing explains");
    let times = |overwritten: u8| {
        let steps = steps(&code(&lines(overwritten)), &[], Family::OF_100, Hints::NONE, false);
        steps.expect("known code").iter().map(|step| step.time).collect::<Vec<_>>()
    };
    assert_eq!(times(13)[3] - times(12)[3], 4);
}

#[test]
fn what_excludes_each_other_does_not_wait() {
    let other = [load_constant(4).guard(0), copy(4, 8).guard(8), copy(5, 4), exit()];
    assert_eq!(waits(&other), [0, 0, 1, 0]);
    let same = [load_constant(4).guard(0), copy(4, 8).guard(0), copy(5, 4), exit()];
    assert_eq!(waits(&same), [0, 1, 0, 0]);
}

#[test]
fn loads_read_their_operands_in_order() {
    let lines = [load_shared(4, 2).read(), load_shared(2, 6), copy(3, 2), copy(8, 4), exit()];
    let found = scheduled(&lines);
    assert_ne!(found[0].1, NONE);
    assert_eq!(found[1].2, 0, "the second load need not wait for the first one");
    let lines = [load_shared(4, 2).read(), copy(2, 6), copy(8, 4), exit()];
    let found = scheduled(&lines);
    assert_eq!(found[1].2, 1 << found[0].1);
}

#[test]
fn results_of_one_unit_are_over_in_order() {
    let lines = [reciprocal(8, 9), reciprocal(10, 11).written(), copy(12, 8), exit()];
    assert_eq!(waits(&lines), [0, 0, 1, 0]);
}

#[test]
fn textures_have_their_own_scoreboard() {
    let lines = [texture(4, 6), load_constant(5), load_global(8, 10), add(9, 4, 5), exit()];
    assert_eq!(written(&lines), [5, 0, 4]);
    assert_eq!(waits(&lines), [0, 0, 0, 0x21, 0]);
}

#[test]
fn loops_wait_for_what_the_last_turn_left() {
    let lines = [copy(8, 20), copy(10, 11), load_global(11, 8), branch(-2).guard(0), exit()];
    assert_eq!(written(&lines), [5]);
    assert_eq!(waits(&lines), [0, 0x20, 0, 0, 0]);
    // A scoreboard that is set anew is waited for first.
    let lines = [copy(8, 20), load_global(11, 8), branch(-1).guard(0), copy(10, 11), exit()];
    assert_eq!(waits(&lines), [0, 0x20, 0, 0x20, 0]);
}

#[test]
fn collectives_wait_for_everything() {
    let lines = [load_constant(4), load_global(6, 8), collective(20), copy(7, 6), exit()];
    assert_eq!(written(&lines), [0, 5]);
    assert_eq!(waits(&lines)[2..], [0x21, 0x20, 0]);
}

#[test]
fn waits_for_everything_are_kept() {
    assert_eq!(waits(&[copy(4, 5).waits(0x3f), copy(4, 5).waits(1), exit()]), [0x3f, 0, 0]);
}

#[test]
fn indirect_branches_need_their_targets() {
    let lines = [load_constant(4), jump(6), copy(5, 4), exit(), copy(7, 4), exit()];
    assert_eq!(controls(&code(&lines), &[], Family::OF_100, Hints::NONE, false), None);
    assert_eq!(controls(&code(&lines), &[(1, vec![6])], Family::OF_100, Hints::NONE, false), None);
    let found =
        controls(&code(&lines), &[(1, vec![2, 4])], Family::OF_100, Hints::NONE, false).expect("known code");
    assert_eq!(found.iter().map(|control| control.waits).collect::<Vec<_>>(), [0, 0, 1, 0, 1, 0]);
}

#[test]
fn the_checker_follows_indirect_branches_to_their_targets() {
    let lines =
        [load_constant(4), jump(6), copy(5, 4), load_constant(6), copy(7, 6), copy(8, 4), exit(), exit()];
    let scheduled = |numbers: [(usize, u8); 2]| {
        let mut code = code(&lines);
        let controls =
            [(0, 0, 0), (2, NONE, 1), (numbers[0].0, numbers[0].1, 0), (numbers[1].0, NONE, numbers[1].1)];
        for (at, written, waits) in controls {
            Control { written, read: NONE, waits }.put(&mut code.as_chunks_mut::<SIZE>().0[at]);
        }
        code
    };
    // The second load gets another number, and so does the wait for it.
    let (before, after) = (scheduled([(3, 0), (4, 1)]), scheduled([(3, 1), (4, 2)]));
    assert_eq!(crate::check(&before, &after, &[(1, vec![2, 7])]), Ok(()));
    // Came control to that wait from the branch, the first load would not be waited for any more.
    let problem = |jumps: &[(usize, Vec<usize>)]| crate::check(&before, &after, jumps).map_err(|v| v.problem);
    let missing = Err(crate::Problem::MissingWait { producer: 0 });
    assert_eq!(problem(&[]), missing);
    assert_eq!(problem(&[(1, vec![2, 4])]), missing);
    // Lists that cannot be right are none.
    assert_eq!(problem(&[(1, vec![2, 99])]), missing);
    assert_eq!(problem(&[(1, vec![2]), (1, vec![2])]), missing);
}

#[test]
fn what_is_not_known_is_refused() {
    assert_eq!(controls(&[], &[], Family::OF_100, Hints::NONE, false), None);
    assert_eq!(controls(&code(&[exit()])[1..], &[], Family::OF_100, Hints::NONE, false), None);
    assert_eq!(controls(&code(&[Line::new(0x7fff), exit()]), &[], Family::OF_100, Hints::NONE, false), None);
    assert_eq!(controls(&code(&[branch(3), exit()]), &[], Family::OF_100, Hints::NONE, false), None);
    assert_eq!(controls(&code(&[branch(-1), exit()]), &[], Family::OF_100, Hints::NONE, false), None);
}

#[test]
fn without_the_load_of_the_stack_pointer() {
    let lines = [load_constant(1), load_constant(4), exit().guard(0), copy(5, 4), exit()];
    let mut code = code(&lines);
    assert_eq!(
        without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE),
        Outcome::Unknown,
        "all scoreboards are the same"
    );
    let found = controls(&code, &[], Family::OF_100, Hints::NONE, false).expect("known code");
    assert_eq!([found[0].written, found[1].written], [0, 1]);
    for (place, control) in code.as_chunks_mut::<SIZE>().0.iter_mut().zip(&found) {
        control.put(place);
    }
    assert_eq!(without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE), Outcome::Done);
    let control = |index: usize| Control::of(Instruction::at(&code, index));
    assert_eq!(control(0), Control { written: NONE, read: NONE, waits: 0 });
    assert_eq!(control(1), Control { written: 0, read: NONE, waits: 0 });
    assert_eq!(control(3), Control { written: NONE, read: NONE, waits: 1 });
    assert_eq!(
        without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE),
        Outcome::NotApplicable,
        "it sets nothing any more"
    );
}

#[test]
fn what_is_kept_stays_and_is_waited_for() {
    let lines =
        [load_constant(1), load_constant(4), copy(5, 4), branch(0), load_shared(6, 4), copy(7, 6), exit()];
    let mut code = code(&lines);
    let found = controls(&code, &[], Family::OF_100, Hints::NONE, false).expect("known code");
    put_all(&mut code, &found);
    // The last block with a number that the rules do not give.
    let mut other = found.clone();
    (other[4].written, other[5].waits) = (3, 8);
    put_all(&mut code, &other);
    let understood = Code::new(&code, &[], Family::OF_100, Hints::NONE).expect("known code");
    assert_eq!(understood.controls(false, &[4]).expect("known code")[4..6], other[4..6]);
    assert_eq!(without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE), Outcome::Done);
    let after: Vec<Control> = (0..lines.len()).map(|at| Control::of(Instruction::at(&code, at))).collect();
    assert_eq!((after[0].written, after[4], after[5]), (NONE, other[4], other[5]));
}

#[test]
fn a_stack_pointer_that_is_used_stays() {
    let mut code = code(&[load_constant(1), copy(4, 1), exit()]);
    let before = code.clone();
    assert_eq!(without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE), Outcome::NotApplicable);
    assert_eq!(code, before);
}

#[test]
fn damaged_code_is_no_danger() {
    let lines = [
        load_constant(1),
        load_global(6, 8).read(),
        collective(3),
        texture(4, 6),
        branch(-2).guard(0),
        jump(6),
        store_global(4, 6).read(),
        exit(),
    ];
    let mut random = 1u64;
    for _ in 0..20_000 {
        let mut code = code(&lines);
        for _ in 0..3 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let at = (random >> 33) as usize % (code.len() * 8);
            code[at / 8] ^= 1 << (at % 8);
        }
        let _ = controls(&code, &[(5, vec![0, 6])], Family::OF_100, Hints::NONE, random & 1 << 40 != 0);
    }
}

/// Large functions are scheduled or refused, and soon.
#[test]
fn large_functions() {
    let count = 20_000;
    let straight = (0..count).map(|at| load_shared(at as u8, 3).read());
    let lines: Vec<Line> = straight.chain([exit()]).collect();
    assert!(controls(&code(&lines), &[], Family::OF_100, Hints::NONE, false).is_some());
    // Blocks that all go to the same place, with something under way.
    let branches = (0..count / 2)
        .flat_map(|at| [store_global(4, 6).read(), branch(i64::from(count - 2 * at - 1)).guard(0)]);
    let lines: Vec<Line> = branches.chain([exit()]).collect();
    let _ = controls(&code(&lines), &[], Family::OF_100, Hints::NONE, false);
    // An indirect branch to every instruction.
    let all: Vec<usize> = (0..count as usize).collect();
    let lines: Vec<Line> = (1..count).map(|_| load_global(6, 8)).chain([jump(4)]).collect();
    let _ = controls(&code(&lines), &[(count as usize - 1, all)], Family::OF_100, Hints::NONE, false);
}
