//! Looks for mistakes in the table of operands: takes cubins, prints the instructions that read a register which nothing in
//! their function writes, by opcode: how often, the register, one such instruction and its place. Assemblers leave no such reads, so that
//! either this instruction reads less than the table says, or another one writes more. Functions with calls are passed over, since others
//! may write their registers. Guards are left out, as the table takes some for predicates of both kinds.

use solder_cubin::Cubin;
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::operands::exact;
use solder_sass::registers::{File, Registers};
use std::collections::BTreeMap;

const FILES: [(&str, File); 4] =
    [("R", File::General), ("UR", File::Uniform), ("P", File::Predicate), ("UP", File::UniformPredicate)];
/// What the driver has set when a kernel begins.
const STACK_POINTER: u8 = 1;

/// How often such a read was seen, and the first one.
struct Read {
    times: u64,
    register: String,
    instruction: Instruction,
    place: String,
}

fn main() {
    let mut found = BTreeMap::new();
    let (mut functions, mut passed_over) = (0, 0);
    for path in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let Ok(cubin) = Cubin::parse(&bytes) else { continue };
        for section in cubin.sections.iter().filter(|s| s.name.starts_with(b".text.")) {
            match look(section.data, &format!("{path} {}", section.name), &mut found) {
                Some(()) => functions += 1,
                None => passed_over += 1,
            }
        }
    }
    for (opcode, Read { times, register, instruction, place }) in found {
        println!("{opcode:#05x} {times:6} {register:4} {:032x} {place}", instruction.0);
    }
    println!("{functions} functions; {passed_over} others have calls or unknown instructions");
}

fn look(code: &[u8], place: &str, found: &mut BTreeMap<u16, Read>) -> Option<()> {
    let instructions = || (0..code.len() / SIZE).map(|index| Instruction::at(code, index));
    let uses = instructions().map(exact::operands).collect::<Option<Vec<_>>>()?;
    let mut written = Registers::default();
    written.insert(File::General, STACK_POINTER, 1);
    for operands in &uses {
        written.insert_from(&operands.writes);
    }
    for (instruction, mut operands) in instructions().zip(uses) {
        operands.reads.remove(&written);
        let never_written = FILES.iter().find_map(|(name, file)| {
            operands.reads.iter(*file).next().map(|register| format!("{name}{register}"))
        });
        if let Some(register) = never_written {
            let first = || Read { times: 0, register, instruction, place: place.into() };
            found.entry(instruction.opcode()).or_insert_with(first).times += 1;
        }
    }
    Some(())
}
