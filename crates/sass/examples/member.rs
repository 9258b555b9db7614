//! Makes code of sm_100 into code for sm_103 and compares with what nvlink made of it: takes pairs of an object and of the image
//! linked from it for sm_103. Branch targets and the numbers of scoreboards are not compared. `--all` also names what is the same.

mod common;

use common::jumps;
use solder_cubin::Cubin;
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::schedule::member::delayed;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let all = arguments.first().is_some_and(|argument| argument == "--all");
    if all {
        arguments.remove(0);
    }
    let (mut same, mut different, mut unknown) = (0, 0, 0);
    for paths in arguments.chunks(2) {
        let files: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("a file")).collect();
        let [object, image] = [0, 1].map(|at| Cubin::parse(&files[at]).expect("a cubin"));
        for text in object.sections.iter().filter(|section| section.name.starts_with(b".text.")) {
            let Some(expected) = image.section(text.name).map(|section| section.data) else { continue };
            let name = &text.name[".text.".len()..];
            let capsule =
                object.section([b".nv.capmerc.text.", &**name].concat()).map_or(&[][..], |s| s.data);
            let known = solder_cubin::mercury::delays(capsule, text.data.len() / SIZE).unwrap_or_default();
            let Some(found) = expanded(text.data, &jumps(&object, name), &known) else {
                if solder_sass::schedule::member::has_slow_code(text.data) {
                    unknown += 1;
                    println!("{} {name}: unknown", paths[0]);
                }
                continue;
            };
            let expected: Vec<Instruction> =
                (0..expected.len() / SIZE).map(|at| Instruction::at(expected, at)).collect();
            let differing: Vec<usize> = (0..found.len().min(expected.len()))
                .filter(|at| marks(found[*at], *at) != marks(expected[*at], *at))
                .collect();
            match differing.first() {
                None => {
                    same += 1;
                    if all {
                        println!("{} {name}: ok", paths[0]);
                    }
                }
                Some(at) => {
                    different += 1;
                    let mine = show(found[*at]);
                    println!(
                        "{} {name}: {at} mine {mine} nvlink {} ({} of {})",
                        paths[0],
                        show(expected[*at]),
                        differing.len(),
                        found.len()
                    );
                }
            }
        }
    }
    println!("{same} ok, {different} different, {unknown} unknown");
}

type Marks = (u16, u8, bool, bool, bool, u64);

fn marks(bits: Instruction, at: usize) -> Marks {
    let written = bits.write_scoreboard().is_some() && at != 0;
    (
        bits.operation(),
        bits.stall(),
        bits.holds(),
        written,
        bits.read_scoreboard().is_some(),
        bits.field(122, 4),
    )
}

fn show(bits: Instruction) -> String {
    let (operation, stall, holds, written, read, kept) = marks(bits, 1);
    let flag = |is: bool, name: &'static str| if is { name } else { "-" };
    format!("{operation:03x} {stall}{} {}{} {kept:x}", flag(!holds, "Y"), flag(written, "W"), flag(read, "R"))
}

fn expanded(code: &[u8], jumps: &[(usize, Vec<usize>)], known: &[usize]) -> Option<Vec<Instruction>> {
    let changes = delayed(code, jumps, known, solder_arch::Release::CUDA_13_0, false)?;
    let mut changes = changes.into_iter().peekable();
    let end = (0..code.len() / SIZE).rposition(|at| Instruction::at(code, at).operation() != 0x118)?;
    let mut out = Vec::new();
    for at in 0..=end {
        match changes.next_if(|change| change.at == at) {
            Some(change) => out.extend(change.by.iter().map(|bits| Instruction(u128::from_le_bytes(*bits)))),
            None => out.push(Instruction::at(code, at)),
        }
    }
    Some(out)
}
