//! Whether a `NOP` after a synchronisation gives something the time that it needs.
//!
//! Results of fixed latency are ready some cycles after an instruction, and the stalls in between see to that. Where an instruction
//! without effect goes, its cycle goes too.

use crate::flow::Flow;
use crate::instruction::{Instruction, SIZE};
use crate::operands::Operands;
use crate::registers::File;

/// No result of fixed latency takes longer.
const LATEST: u32 = 15;
/// Results of moves, logic, sums and products in registers, for anything but matrices.
const USUAL: u32 = 6;
const QUICK: [u16; 13] =
    [0x002, 0x007, 0x010, 0x011, 0x012, 0x019, 0x020, 0x021, 0x023, 0x024, 0x025, 0x046, 0x048];
const MATRICES: std::ops::RangeInclusive<u16> = 0x036..=0x03f;
const SYNCHRONISATION: [u16; 2] = [0x142, 0x148];

/// Whether something before the instruction at this place may not be ready for something after it, if it is left out.
pub fn is_needed(code: &[u8], at: usize) -> bool {
    let instruction = |at: usize| Instruction::at(code, at);
    let cycles = |at: usize| u32::from(instruction(at).stall().max(1));
    let is_straight = |at: usize| {
        SYNCHRONISATION.contains(&instruction(at).operation()) || Flow::of(at, instruction(at)) == Flow::Next
    };
    let (mut producers, mut distance) = (Vec::new(), 0);
    for before in (0..at).rev().take_while(|before| is_straight(*before)) {
        distance += cycles(before);
        if distance >= LATEST {
            break;
        }
        // Synchronisation itself has no results.
        if !SYNCHRONISATION.contains(&instruction(before).operation()) {
            producers.push((before, distance));
        }
    }
    let mut later = 0;
    for after in at + 1..code.len() / SIZE {
        let is_early = |(before, distance): &(usize, u32)| {
            let latency = latency(instruction(*before), instruction(after));
            distance + later < latency
        };
        if producers.iter().any(is_early) {
            return true;
        }
        later += cycles(after);
        if later >= LATEST || !is_straight(after) {
            break;
        }
    }
    false
}

/// How many cycles after the first instruction the second one may come.
fn latency(first: Instruction, second: Instruction) -> u32 {
    if first.write_scoreboard().is_some() {
        return 0;
    }
    let (Some(producer), Some(consumer)) = (Operands::of(first), Operands::of(second)) else { return LATEST };
    let mut used = consumer.reads;
    used.insert_from(&consumer.writes);
    used.insert_from(&consumer.guard);
    if !producer.writes.meets(&used) {
        return 0;
    }
    let is_general = !producer.writes.within(&[File::General]).is_empty()
        && !used.meets(&producer.writes.within(&[
            File::Uniform,
            File::Predicate,
            File::UniformPredicate,
            File::Barrier,
        ]));
    let is_usual = QUICK.contains(&first.operation()) && !MATRICES.contains(&second.operation());
    if is_general && is_usual { USUAL } else { LATEST }
}

#[cfg(test)]
mod tests {
    use super::is_needed;

    /// An instruction, `WARPSYNC`, `NOP`, and a second instruction.
    fn code(first: u128, second: u128) -> Vec<u8> {
        let synchronisation = 0x000fea00_03800000_00000000_00007948;
        let idle = 0x000fe200_00000000_00000000_00007918;
        [first, synchronisation, idle, second].iter().flat_map(|code: &u128| code.to_le_bytes()).collect()
    }

    #[test]
    fn time_that_is_needed() {
        // LOP3 R5, then an IADD3 that reads it or does not; PRMT R5.
        let logic = 0x000fe200_078ec0ff_00000004_03057212;
        let reads = 0x000fe200_07ffe0ff_00000001_05067810;
        let other = 0x000fe200_07ffe0ff_00000001_07067810;
        let permutes = 0x000fe200_00000004_00000010_03057816;
        assert!(!is_needed(&code(logic, reads), 2));
        assert!(!is_needed(&code(permutes, other), 2));
        assert!(is_needed(&code(permutes, reads), 2));
    }
}
