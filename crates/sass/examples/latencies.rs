//! How soon after an instruction of fixed latency assemblers let its results be used: takes cubins, prints for each operation, file of
//! registers and kind of use the least numbers of cycles, how often each was seen, and how often any. With `--pairs` first, for each operation of the user, too. The
//! checkers' latencies come from this (crates/sass/src/idle.rs, crates/sass/src/times.rs).

use solder_cubin::Cubin;
use solder_sass::flow::Flow;
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::operands::exact;
use solder_sass::registers::File;
use std::collections::BTreeMap;

const FILES: [(&str, File); 4] = [
    ("general", File::General),
    ("uniform", File::Uniform),
    ("predicate", File::Predicate),
    ("uniform predicate", File::UniformPredicate),
];
const MATRICES: std::ops::RangeInclusive<u16> = 0x037..=0x03f;
/// Nothing of fixed latency takes longer.
const LATEST: u32 = 20;

/// How often so many cycles were seen, by operation, file and kind of user.
type Seen = BTreeMap<(u16, Option<u16>, &'static str, &'static str), BTreeMap<u32, u64>>;

fn main() {
    let mut seen = Seen::new();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_by_user = arguments.first().is_some_and(|argument| argument == "--pairs");
    for path in &arguments[usize::from(is_by_user)..] {
        let Ok(bytes) = std::fs::read(path) else { continue };
        let Ok(cubin) = Cubin::parse(&bytes) else { continue };
        for section in cubin.sections.iter().filter(|s| s.name.starts_with(b".text.")) {
            look(section.data, is_by_user, &mut seen);
        }
    }
    for ((operation, by, file, user), cycles) in seen {
        let by = by.map_or_else(String::new, |by| format!("{by:#05x}"));
        let all: u64 = cycles.values().sum();
        let least: Vec<String> =
            cycles.iter().take(6).map(|(cycles, times)| format!("{cycles}×{times}")).collect();
        println!("{operation:#05x} {by:5} {file:17} {user:12} {:60} {all}", least.join(" "));
    }
}

fn look(code: &[u8], is_by_user: bool, seen: &mut Seen) {
    let count = code.len() / SIZE;
    for first in 0..count {
        let producer = Instruction::at(code, first);
        if producer.write_scoreboard().is_some() {
            continue;
        }
        let Some(made) = exact::checked(producer) else { continue };
        if made.writes.is_empty() {
            continue;
        }
        for (name, file) in FILES {
            let writes = made.writes.within(&[file]);
            let mut cycles = 0;
            let mut at = first;
            while !writes.is_empty()
                && Flow::of(at, Instruction::at(code, at)) == Flow::Next
                && at + 1 < count
            {
                cycles += u32::from(Instruction::at(code, at).stall());
                at += 1;
                if cycles > LATEST {
                    break;
                }
                let next = Instruction::at(code, at);
                let Some(user) = exact::checked(next) else { break };
                let kind = match next.operation() {
                    _ if writes.meets(&user.guard) => "guard",
                    operation if MATRICES.contains(&operation) && writes.meets(&user.reads) => "matrices",
                    _ if writes.meets(&user.reads) => "operand",
                    _ if writes.meets(&user.writes) => "overwritten",
                    _ => continue,
                };
                let key = (producer.operation(), is_by_user.then(|| next.operation()), name, kind);
                *seen.entry(key).or_default().entry(cycles).or_default() += 1;
                break;
            }
        }
    }
}
