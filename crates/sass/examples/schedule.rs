//! Schedules the functions of objects anew and compares with what they have: takes cubins, prints the functions and where
//! the first difference is. With `--linked` each cubin is followed by the image that was linked from it, which is compared
//! with the schedule without the load of the stack pointer; code that can be rewritten so is, and checked. `--all` takes functions
//! too that use their stack pointer. `--steps NAME` also shows how the functions come about whose names contain NAME.

mod common;

use bstr::{BStr, ByteSlice};
use common::jumps;
use solder_arch::Release;
use solder_cubin::Cubin;
use solder_sass::check;
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::schedule::{
    Control, Family, Hints, Outcome, controls, has_unused_stack_pointer, steps, without_stack_pointer,
};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Totals {
    /// Functions whose names contain this are shown instruction by instruction.
    shown: Option<String>,
    /// Functions that use their stack pointer take part too.
    takes_all: bool,
    same: usize,
    different: usize,
    unknown: usize,
    instructions: usize,
    time: Duration,
    rewritten: usize,
    as_linked: usize,
    refused: usize,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_linked = arguments.first().is_some_and(|argument| argument == "--linked");
    if is_linked {
        arguments.remove(0);
    }
    let mut totals = Totals::default();
    if arguments.first().is_some_and(|argument| argument == "--all") {
        arguments.remove(0);
        totals.takes_all = true;
    }
    if arguments.first().is_some_and(|argument| argument == "--steps") {
        totals.shown = arguments.drain(..2).nth(1);
    }
    for paths in arguments.chunks(if is_linked { 2 } else { 1 }) {
        let files: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("a file")).collect();
        let cubins: Vec<Cubin<'_>> = files.iter().map(|file| Cubin::parse(file).expect("a cubin")).collect();
        compare(&paths[0], &cubins[0], cubins.get(1), &mut totals);
    }
    let Totals { same, different, unknown, instructions, time, rewritten, as_linked, refused, .. } = totals;
    println!("{same} ok, {different} different, {unknown} unknown; {instructions} instructions in {time:?}");
    if is_linked {
        println!("{rewritten} rewritten: {as_linked} as in the image, {refused} refused by the checker");
    }
}

/// What the object is scheduled for, by the release that `SOLDER_AS` names.
fn family(object: &Cubin<'_>) -> Family {
    let release = std::env::var("SOLDER_AS").ok();
    let toolkit = release.and_then(|release| Release::toolkit_of(&release)).unwrap_or(130);
    Family::of(object.sm(), Release::for_toolkit(toolkit).unwrap_or(Release::CUDA_13_0))
}

fn compare(path: &str, object: &Cubin<'_>, image: Option<&Cubin<'_>>, totals: &mut Totals) {
    for text in object.sections.iter().filter(|section| section.name.starts_with(b".text.")) {
        let name = &text.name[".text.".len()..];
        let code = text.data;
        let expected = match image {
            Some(image) => image.section(text.name).map_or(&[][..], |section| section.data),
            None => code,
        };
        let takes_part = totals.takes_all || has_unused_stack_pointer(code);
        if !takes_part || expected.len() != code.len() {
            continue;
        }
        let expected: Vec<Control> =
            (0..code.len() / SIZE).map(|at| Control::of(Instruction::at(expected, at))).collect();
        let is_dropped = image.is_some() && expected[0].written == 7;
        let jumps = jumps(object, name);
        let hints = Hints::of(capsule(object, name), code.len() / SIZE);
        if image.is_some() {
            rewrite(code, &jumps, family(object), &hints, &expected, totals);
        }
        if totals.shown.as_ref().is_some_and(|shown| name.contains_str(shown)) {
            println!("{path} {name}");
            show_steps(code, &jumps, family(object), &hints, is_dropped, &expected);
        }
        let start = Instant::now();
        let found = controls(code, &jumps, family(object), &hints, is_dropped);
        totals.time += start.elapsed();
        totals.instructions += expected.len();
        let Some(found) = found else {
            totals.unknown += 1;
            println!("{path} {name}: unknown");
            continue;
        };
        match first_difference(code, &jumps, family(object), &hints, is_dropped, &expected) {
            None => {
                totals.same += 1;
                println!("{path} {name}: ok");
            }
            Some(at) => {
                totals.different += 1;
                let turn =
                    steps(code, &jumps, family(object), &hints, is_dropped).map_or(0, |steps| steps[at].turn);
                println!(
                    "{path} {name}: {at} model {} actual {} turn {turn}",
                    show(found[at]),
                    show(expected[at])
                );
            }
        }
    }
}

fn rewrite(
    code: &[u8],
    jumps: &[(usize, Vec<usize>)],
    family: Family,
    hints: &Hints,
    expected: &[Control],
    totals: &mut Totals,
) {
    let mut after = code.to_vec();
    if without_stack_pointer(&mut after, jumps, family, hints) == Outcome::Done {
        let is_same = |at: usize| Control::of(Instruction::at(&after, at)) == expected[at];
        totals.rewritten += 1;
        totals.as_linked += usize::from((0..expected.len()).all(is_same));
        let is_linked = (0..expected.len()).all(is_same);
        if !is_linked {
            println!("rewritten otherwise than linked");
        }
        if let Err(violation) = check(code, &after, jumps) {
            totals.refused += 1;
            println!(
                "refused ({}): {violation}",
                if is_linked { "as linked" } else { "otherwise than linked" }
            );
        }
    }
}

/// The first instruction, in the order in which blocks are scheduled, that has another schedule.
fn first_difference(
    code: &[u8],
    jumps: &[(usize, Vec<usize>)],
    family: Family,
    hints: &Hints,
    is_dropped: bool,
    expected: &[Control],
) -> Option<usize> {
    let steps = steps(code, jumps, family, hints, is_dropped)?;
    let differ = (0..steps.len()).filter(|at| steps[*at].control != expected[*at]);
    differ.min_by_key(|at| (steps[*at].turn, *at))
}

/// One line for each instruction: block, its turn, time, the schedule found and the expected one, and for each scoreboard that is set
/// when it is over and the instruction that waits.
fn show_steps(
    code: &[u8],
    jumps: &[(usize, Vec<usize>)],
    family: Family,
    hints: &Hints,
    is_dropped: bool,
    expected: &[Control],
) {
    for (at, step) in steps(code, jumps, family, hints, is_dropped).into_iter().flatten().enumerate() {
        let mark = if step.control == expected[at] { ' ' } else { '*' };
        let (found, expected) = (show(step.control), show(expected[at]));
        let sets: Vec<String> = step
            .producers
            .iter()
            .map(|(ready, consumer)| format!("{ready}:{}", consumer.map_or("-".into(), |at| at.to_string())))
            .collect();
        let (block, turn, time) = (step.block, step.turn, step.time);
        println!(
            "{at:5} b{block:<5} t{turn:<4} {time:5} s{:<2} {found} | {expected} {mark} {}",
            Instruction::at(code, at).stall(),
            sets.join(" ")
        );
    }
}

fn show(control: Control) -> String {
    let number = |number: u8| if number < 6 { char::from(b'0' + number) } else { '-' };
    let waits: String = (0..6)
        .map(|number| if control.waits >> number & 1 != 0 { char::from(b'0' + number) } else { '-' })
        .collect();
    format!("W{} R{} [{waits}]", number(control.written), number(control.read))
}

/// The capsule of a function.
fn capsule<'data>(object: &Cubin<'data>, name: &BStr) -> &'data [u8] {
    object.section([b".nv.capmerc.text.", &**name].concat()).map_or(&[], |section| section.data)
}
