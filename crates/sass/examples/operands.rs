//! Reads instructions as hexadecimal numbers, one a line, and prints the registers that each reads and writes, to be
//! compared with what a disassembler says.

use solder_sass::instruction::Instruction;
use solder_sass::operands::Operands;
use solder_sass::registers::{File, Registers};
use std::io::{BufRead, stdin};

fn list(registers: &Registers) -> String {
    let files = [
        ("R", File::General),
        ("UR", File::Uniform),
        ("P", File::Predicate),
        ("UP", File::UniformPredicate),
        ("B", File::Barrier),
    ];
    let of = |(name, file)| registers.iter(file).map(move |register| format!("{name}{register}"));
    files.into_iter().flat_map(of).collect::<Vec<_>>().join(",")
}

fn main() {
    for line in stdin().lock().lines().map_while(Result::ok) {
        let Ok(bits) = u128::from_str_radix(line.trim(), 16) else { continue };
        match Operands::of(Instruction(bits)) {
            Some(operands) => {
                let [guard, reads, writes] =
                    [operands.guard, operands.reads, operands.writes].map(|r| list(&r));
                println!("{} {guard},{reads} {writes}", line.trim());
            }
            None => println!("{} ?", line.trim()),
        }
    }
}
