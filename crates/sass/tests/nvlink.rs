//! What nvlink made of the kernels in `data` is accepted, and wrong versions of it are not.
//!
//! `mutants.txt` has a name, an instruction and its upper half for each wrong version: one wait is missing, or one
//! scoreboard has another number, between a producer and a consumer in straight-line code. They were found by following the
//! code from each producer to the first instruction that a disassembler says uses its registers.

use solder_sass::schedule::{Family, Hints, Outcome, without_stack_pointer};
use solder_sass::{Problem, Violation, check};
use std::path::Path;

const INSTRUCTION: usize = 16;
const KERNELS: [&str; 5] = ["conditions", "fences", "sum", "votes", "widths"];

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn pair(kernel: &str) -> (Vec<u8>, Vec<u8>) {
    (data(&format!("{kernel}.before")), data(&format!("{kernel}.after")))
}

#[test]
fn what_nvlink_makes_is_accepted() {
    for kernel in KERNELS {
        let (before, after) = pair(kernel);
        assert_eq!(check(&before, &after, &[]), Ok(()), "{kernel}");
        assert_eq!(check(&after, &after, &[]), Ok(()), "{kernel}");
    }
}

#[test]
fn missing_waits_are_found() {
    let list = String::from_utf8(data("mutants.txt")).expect("text");
    let mut accepted = Vec::new();
    for line in list.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [kernel, index, upper] = words[..] else { panic!("{line}") };
        let (before, mut after) = pair(kernel);
        let at = index.parse::<usize>().expect("an index") * INSTRUCTION + 8;
        let upper = u64::from_str_radix(upper, 16).expect("a number");
        after[at..at + 8].copy_from_slice(&upper.to_le_bytes());
        if check(&before, &after, &[]).is_ok() {
            accepted.push(line);
        }
    }
    assert!(list.lines().count() > 400);
    assert_eq!(accepted, Vec::<&str>::new());
}

/// Puts other bits into an instruction.
fn with(code: &[u8], index: usize, change: impl FnOnce(u128) -> u128) -> Vec<u8> {
    let mut code = code.to_vec();
    let place = &mut code[index * INSTRUCTION..][..INSTRUCTION];
    let bits = u128::from_le_bytes(place.try_into().expect("an instruction"));
    place.copy_from_slice(&change(bits).to_le_bytes());
    code
}

#[test]
fn other_code_is_not_accepted() {
    let (before, after) = pair("conditions");
    let problem = |after: &[u8]| check(&before, after, &[]).map_err(|violation: Violation| violation.problem);
    // Another register, another reuse flag, a shorter stall, another length.
    assert_eq!(problem(&with(&after, 5, |bits| bits ^ 1 << 16)), Err(Problem::Code));
    assert_eq!(problem(&with(&after, 5, |bits| bits ^ 1 << 122)), Err(Problem::Code));
    assert_eq!(problem(&with(&after, 5, |bits| bits & !(15 << 105))), Err(Problem::Schedule));
    assert_eq!(problem(&after[..after.len() - INSTRUCTION]), Ok(()), "only padding is missing");
    assert_eq!(problem(&after[INSTRUCTION..]), Err(Problem::Code));
    assert_eq!(problem(&after[..20]), Err(Problem::Code));
}

#[test]
fn moved_code_has_its_branches_checked() {
    let (before, after) = pair("fences");
    assert_ne!(before.len(), after.len());
    let is_branch = |index: &usize| {
        u16::from_le_bytes([after[index * INSTRUCTION], after[index * INSTRUCTION + 1]]) & 0x1ff == 0x147
    };
    let branch = (0..after.len() / INSTRUCTION).find(is_branch).expect("a loop");
    let wrong = with(&after, branch, |bits| bits + (4 << 16));
    assert_eq!(check(&before, &wrong, &[]).map_err(|violation| violation.problem), Err(Problem::Target));
}

/// Without the load of the stack pointer, the code is scheduled as nvlink does it.
#[test]
fn schedules_are_those_of_nvlink() {
    for (kernel, expected) in [
        ("conditions", Outcome::Done),
        ("sum", Outcome::Done),
        ("votes", Outcome::NotApplicable),
        ("widths", Outcome::NotApplicable),
    ] {
        let (mut code, after) = pair(kernel);
        assert_eq!(without_stack_pointer(&mut code, &[], Family::OF_100, Hints::NONE), expected, "{kernel}");
        assert!(code == after, "{kernel}");
    }
}
