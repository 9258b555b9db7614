//! Mutants: nvlink's code with one wait or one scoreboard changed, for the checker of rewritten code to find.
//!
//! A mutant is harmful if an instruction uses a register that an earlier one may not have written yet, or overwrites one
//! that it may not have read yet. That is decided here without the checker's knowledge of registers and paths: for loads, stores and arithmetic whose
//! operands are plain, along code without a branch. So it finds only some of the harmful ones, but those it finds are:
//! the hardware runs that code from one to the other and waits for nothing in between. All of them must be refused.

use super::build::Linked;
use crate::Result;
use bstr::BStr;
use solder_cubin::info::{self, attr};
use solder_cubin::{Cubin, Section};
use solder_sass::check;
use std::fmt::Write;

const INSTRUCTION: usize = 16;
const SCOREBOARDS: u32 = 6;
/// Fields of an instruction: the scoreboards that it sets, and the mask of those that it waits for.
const WRITTEN: u32 = 110;
const READ: u32 = 113;
const WAITS: u32 = 116;
const EVERYTHING: u128 = 0x3f;

/// Operation and form of instructions that write their first register late: loads, `S2R`, `MUFU`, `SHFL`.
const LATE_RESULTS: [u16; 11] = [0x980, 0x981, 0x983, 0x984, 0xb82, 0x919, 0x308, 0x389, 0x589, 0x989, 0xf89];
/// Those that read registers late, and the bytes that name them: addresses of loads, addresses and values of stores.
const LATE_READS: [(u16, &[usize]); 4] = [(0x981, &[3]), (0x984, &[3]), (0x986, &[3, 4]), (0x988, &[3, 4])];
/// Arithmetic of fixed latency, and the bytes that name what it reads. What it writes is in byte 2.
const ARITHMETIC: [(u16, &[usize]); 10] = [
    (0x202, &[4]),
    (0x210, &[3, 4, 8]),
    (0x212, &[3, 4, 8]),
    (0x220, &[3, 4]),
    (0x223, &[3, 4, 8]),
    (0x224, &[3, 4, 8]),
    (0x810, &[3, 8]),
    (0x812, &[3, 8]),
    (0x823, &[3, 8]),
    (0x824, &[3, 8]),
];
const RESULT: usize = 2;
const NO_REGISTER: u8 = 255;
const ALWAYS: u128 = 7;
/// Operations that change the flow of control, and `DEPBAR`.
const CONTROL: std::ops::RangeInclusive<u16> = 0x140..=0x15f;
const COUNTED_WAIT: u16 = 0x11a;

/// What became of the mutants of a link.
#[derive(Debug, Default)]
pub struct Tally {
    functions: usize,
    /// Functions of nvlink that the checker does not accept as they are.
    refused: Vec<String>,
    harmful: usize,
    /// Harmful ones that the checker accepts.
    missed: Vec<String>,
    /// The others: refused and accepted.
    others: (usize, usize),
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.functions += other.functions;
        self.refused.extend(other.refused);
        self.harmful += other.harmful;
        self.missed.extend(other.missed);
        self.others.0 += other.others.0;
        self.others.1 += other.others.1;
    }

    /// What nvlink makes and the checker refuses is only listed: such a function keeps the assembler's code.
    pub fn has_failed(&self) -> bool {
        !self.missed.is_empty()
    }

    pub fn summary(&self) -> String {
        let Self { functions, refused, harmful, missed, others } = self;
        let mut text = format!(
            "{functions} functions of nvlink, {} not accepted\n{} mutants: {harmful} harmful, {} of them accepted; \
             {} others refused, {} accepted\n",
            refused.len(),
            harmful + others.0 + others.1,
            missed.len(),
            others.0,
            others.1,
        );
        for (what, list) in [("not accepted", refused), ("harmful and accepted", missed)] {
            for name in list {
                let _ = writeln!(text, "{what}: {name}");
            }
        }
        text
    }
}

/// Makes about so many mutants of a link, evenly over its functions and their instructions.
pub fn test(object: &[u8], nvlink: &Linked, count: usize) -> Result<Tally> {
    let read = |bytes| Cubin::parse(bytes).map_err(|e| e.to_string());
    let mut tally = Tally::default();
    if !nvlink.succeeded() {
        return Ok(tally);
    }
    let (object, image) = (read(object)?, read(&nvlink.file)?);
    let functions: Vec<Function<'_>> =
        object.sections.iter().filter_map(|s| Function::new(&object, &image, s)).collect();
    let total: usize = functions.iter().map(|function| function.mutants().count()).sum();
    let step = (total / count.max(1)).max(1);
    let mut next = 0;
    for function in functions {
        tally.functions += 1;
        if let Err(violation) = check(&function.before, function.after, &function.jumps) {
            tally.refused.push(format!("{}: {violation}", function.name));
        }
        for mutant in function.mutants() {
            next += 1;
            if next % step == 0 {
                function.test(mutant, &mut tally);
            }
        }
    }
    Ok(tally)
}

/// An instruction and what it becomes.
#[derive(Clone, Copy, Debug)]
struct Mutant {
    at: usize,
    bits: u128,
}

struct Function<'data> {
    name: &'data BStr,
    /// The object's code, with the operands that nvlink has put in; and nvlink's.
    before: Vec<u8>,
    after: &'data [u8],
    jumps: Vec<(usize, Vec<usize>)>,
}

impl<'data> Function<'data> {
    fn new(object: &Cubin<'data>, image: &Cubin<'data>, text: &Section<'data>) -> Option<Self> {
        let name = BStr::new(text.name.strip_prefix(b".text.")?);
        let after = image.section(text.name)?.data;
        let mut before = text.data.to_vec();
        take_relocated(object, text, &mut before, after);
        let records =
            object.section([b".nv.info.", &**name].concat()).map_or(&[][..], |section| section.data);
        let lists = info::records(records).flatten();
        let lists = lists.filter(|record| record.attr == attr::INDIRECT_BRANCH_TARGETS);
        let in_instructions = |(branch, targets): (usize, Vec<usize>)| {
            (branch / INSTRUCTION, targets.into_iter().map(|target| target / INSTRUCTION).collect())
        };
        let jumps =
            lists.flat_map(|record| info::branch_targets(record.payload)).map(in_instructions).collect();
        Some(Self { name, before, after, jumps })
    }

    /// Every wait left out, and every scoreboard replaced by the others.
    fn mutants(&self) -> impl Iterator<Item = Mutant> + '_ {
        let of = |at: usize| {
            let bits = bits(self.after, at);
            let mask = bits >> WAITS & EVERYTHING;
            let is_wait = move |number: &u32| mask != EVERYTHING && mask >> number & 1 != 0;
            let waits = (0..SCOREBOARDS).filter(is_wait).map(move |number| bits & !(1 << (WAITS + number)));
            let numbers = [WRITTEN, READ].into_iter().flat_map(move |field| {
                let old = scoreboard(bits, field);
                let others = (0..SCOREBOARDS).filter(move |new| old.is_some_and(|old| old != *new));
                others.map(move |new| bits & !(7 << field) | u128::from(new) << field)
            });
            waits.chain(numbers).map(move |bits| Mutant { at, bits })
        };
        (0..self.after.len() / INSTRUCTION).flat_map(of)
    }

    fn test(&self, mutant: Mutant, tally: &mut Tally) {
        let mut code = self.after.to_vec();
        code[mutant.at * INSTRUCTION..][..INSTRUCTION].copy_from_slice(&mutant.bits.to_le_bytes());
        let is_accepted = check(&self.before, &code, &self.jumps).is_ok();
        match (is_harmful(&code, mutant.at), is_accepted) {
            (true, false) => tally.harmful += 1,
            (true, true) => {
                tally.harmful += 1;
                tally.missed.push(format!(
                    "{} {:x} {:032x}",
                    self.name,
                    mutant.at * INSTRUCTION,
                    mutant.bits
                ));
            }
            (false, false) => tally.others.0 += 1,
            (false, true) => tally.others.1 += 1,
        }
    }
}

fn bits(code: &[u8], at: usize) -> u128 {
    code[at * INSTRUCTION..].first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

fn opcode(bits: u128) -> u16 {
    bits as u16 & 0xfff
}

fn scoreboard(bits: u128, field: u32) -> Option<u32> {
    Some((bits >> field) as u32 & 7).filter(|number| *number < SCOREBOARDS)
}

fn register(bits: u128, byte: usize) -> Option<u8> {
    Some(bits.to_le_bytes()[byte]).filter(|register| *register != NO_REGISTER)
}

fn registers(bits: u128, table: &[(u16, &[usize])]) -> impl Iterator<Item = u8> {
    let row = table.iter().find(|row| row.0 == opcode(bits)).map_or(&[][..], |row| row.1);
    row.iter().filter_map(|byte| register(bits, *byte)).collect::<Vec<_>>().into_iter()
}

fn ends_straight_code(bits: u128) -> bool {
    CONTROL.contains(&(opcode(bits) & 0x1ff)) || opcode(bits) & 0x1ff == COUNTED_WAIT
}

/// Whether code is wrong somewhere in the straight code around an instruction.
fn is_harmful(code: &[u8], around: usize) -> bool {
    let before = (0..around).rev().take_while(|at| !ends_straight_code(bits(code, *at))).count();
    (around - before..=around).any(|producer| is_missed(code, producer))
}

/// Whether something after an instruction uses what it has not written yet, or overwrites what it has not read yet.
fn is_missed(code: &[u8], producer: usize) -> bool {
    let first = bits(code, producer);
    let (written, read) = (scoreboard(first, WRITTEN), scoreboard(first, READ));
    let mut result =
        register(first, RESULT).filter(|_| written.is_some() && LATE_RESULTS.contains(&opcode(first)));
    let mut operands: Vec<u8> = registers(first, &LATE_READS).filter(|_| read.is_some()).collect();
    for at in producer + 1..code.len() / INSTRUCTION {
        let later = bits(code, at);
        let waits = |number: Option<u32>| number.is_some_and(|number| later >> (WAITS + number) & 1 != 0);
        if waits(written) {
            return false;
        }
        if waits(read) {
            operands.clear();
        }
        if ends_straight_code(later) || (result.is_none() && operands.is_empty()) {
            return false;
        }
        let is_plain = ARITHMETIC.iter().any(|row| row.0 == opcode(later)) && later >> 12 & 15 == ALWAYS;
        let writes = register(later, RESULT);
        if is_plain {
            let uses = registers(later, &ARITHMETIC).chain(writes);
            if result.is_some_and(|result| uses.into_iter().any(|used| used == result)) {
                return true;
            }
            if writes.is_some_and(|written| operands.contains(&written)) {
                return true;
            }
        }
        // What others write may be anything: it is left to them.
        result = result.filter(|result| writes != Some(*result));
        operands.retain(|operand| writes != Some(*operand));
    }
    false
}

/// Puts what the image has at relocated places of the object into the object's code. Code may have moved: the nth
/// instruction of a kind is taken for the nth one of it.
fn take_relocated(object: &Cubin<'_>, text: &Section<'_>, old: &mut [u8], new: &[u8]) {
    /// Above this bit of an instruction there are no relocated fields.
    const OPERANDS: u128 = (1 << 105) - 1;
    let lists = object.sections.iter().filter(|s| s.name.starts_with(b".rel") && s.info() == text.index);
    for entry in
        lists.filter_map(|list| list.relocations().ok()).flat_map(|list| list.iter().collect::<Vec<_>>())
    {
        let at = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX) / INSTRUCTION;
        if at >= old.len() / INSTRUCTION {
            continue;
        }
        let kind = opcode(bits(old, at));
        let count = (0..at).filter(|index| opcode(bits(old, *index)) == kind).count();
        let mut same = (0..new.len() / INSTRUCTION).filter(|index| opcode(bits(new, *index)) == kind);
        let Some(place) = same.nth(count) else { continue };
        let mixed = bits(old, at) & !OPERANDS | bits(new, place) & OPERANDS;
        old[at * INSTRUCTION..][..INSTRUCTION].copy_from_slice(&mixed.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTRUCTION, is_harmful};

    /// `LDG R4` that sets scoreboard 0, `STG` of R5 that sets 1 by reading, and a sum that waits for these.
    fn code(sum: u128, waits: u128) -> Vec<u8> {
        let nothing = 0x3f_u128 << 110;
        let load = 0x7981 | 4 << 16 | 2 << 24 | nothing & !(7 << 110);
        let store = 0x7986 | 2 << 24 | 5 << 32 | nothing & !(7 << 113) | 1 << 113;
        let sum = sum | 0x7210 | 0xff << 64 | nothing | waits << 116;
        [load, store, sum].iter().flat_map(|bits: &u128| bits.to_le_bytes()).collect()
    }

    #[test]
    fn results_and_operands_are_waited_for() {
        // R6 = R4 + R4; R5 = R7 + R7; R6 = R7 + R7
        let (reads, overwrites, neither) =
            (6 << 16 | 4 << 24 | 4 << 32, 5 << 16 | 7 << 24 | 7 << 32, 6 << 16 | 7 << 24 | 7 << 32);
        let harmful = |sum, waits| is_harmful(&code(sum, waits), 2);
        assert_eq!(code(reads, 0).len(), 3 * INSTRUCTION);
        assert_eq!([0, 1, 2, 3].map(|waits| harmful(reads, waits)), [true, false, true, false]);
        assert_eq!([0, 1, 2, 3].map(|waits| harmful(overwrites, waits)), [true, true, false, false]);
        assert!(!harmful(neither, 0));
    }
}
