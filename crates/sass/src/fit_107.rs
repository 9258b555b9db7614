//! Whether code of sm_100 and sm_103 is fit for sm_107, where some results of fixed latency take longer: moves and votes of the uniform unit,
//! double precision, and what one unit of plain arithmetic makes for another.
//!
//! All code that nvlink makes for sm_107 is fit, as far as it was seen. This shares nothing with the code that chooses stalls.

use crate::flow::Flow;
use crate::instruction::{Instruction, SIZE};
use crate::operands::Operands;
use crate::operands::exact::checked;
use crate::registers::File;
use crate::unscheduled::{Pace, pace};

const UMOV: u16 = 0x082;
const VOTEU: u16 = 0x086;
const UNIFORM: std::ops::RangeInclusive<u16> = 0x080..=0x0ff;
/// `DMUL`, `DADD`, `DSETP`, `DFMA`.
const DOUBLE: std::ops::RangeInclusive<u16> = 0x028..=0x02b;
/// Sums, logic and shifts; moves, comparisons and selection. On sm_100 they are one unit.
const SUMS: [u16; 5] = [0x010, 0x011, 0x012, 0x016, 0x019];
const CHOICES: [u16; 7] = [0x002, 0x007, 0x008, 0x00b, 0x00c, 0x035, 0x048];
/// `MOV` to `VIMNMX`.
const PLAIN: std::ops::RangeInclusive<u16> = 0x002..=0x048;
const CONTROL: std::ops::RangeInclusive<u16> = 0x140..=0x15f;
const MEMORY: std::ops::RangeInclusive<u16> = 0x180..=0x1af;
const FUNCTIONS: std::ops::RangeInclusive<u16> = 0x100..=0x113;
/// `TEX` to `TXQ`, and `SULD` to `SURED`.
const TEXTURES: std::ops::RangeInclusive<u16> = 0x160..=0x16f;
const SURFACES: std::ops::RangeInclusive<u16> = 0x199..=0x19f;
/// It reads no registers.
const LEPC: u16 = 0x14e;
/// Nothing of all this takes longer.
const LATEST: u32 = 16;

/// Whether sm_107 has all instructions of the code, and nothing comes too early there.
pub fn is_fit_for_107(code: &[u8]) -> bool {
    // Without any schedule the machine sees to it.
    let is_scheduled = pace(code) != Some(Pace::Unpaced);
    let is_fit = |at: usize| !is_scheduled || is_in_time(code, at);
    (0..code.len() / SIZE).all(|at| !is_missing(Instruction::at(code, at)) && is_fit(at))
}

/// Whether sm_107 does not have an instruction: textures and surfaces are calls of functions there.
fn is_missing(instruction: Instruction) -> bool {
    let operation = instruction.operation();
    TEXTURES.contains(&operation) || SURFACES.contains(&operation)
}

fn is_logic(operation: u16) -> bool {
    SUMS.contains(&operation) || CHOICES.contains(&operation)
}

/// Whether results of an instruction take another time than on sm_100.
fn is_slower(first: Instruction) -> bool {
    let operation = first.operation();
    let is_slower = matches!(operation, UMOV | VOTEU) || DOUBLE.contains(&operation) || is_logic(operation);
    is_slower && first.write_scoreboard().is_none()
}

fn is_in_time(code: &[u8], at: usize) -> bool {
    let first = Instruction::at(code, at);
    if !is_slower(first) {
        return true;
    }
    let Some(producer) = checked(first) else { return false };
    let mut distance = u32::from(first.stall().max(1));
    for at in at + 1..code.len() / SIZE {
        if distance >= LATEST {
            return true;
        }
        let next = Instruction::at(code, at);
        let flow = Flow::of(at, next);
        if flow == Flow::End {
            return true;
        }
        if !next.is_call_or_return() && next.operation() != LEPC {
            let Some(consumer) = checked(next) else { return false };
            if distance < latency((first, &producer), (next, &consumer)) {
                return false;
            }
        }
        distance += u32::from(next.stall().max(1));
        if flow != Flow::Next {
            return distance >= until_end(first, &producer);
        }
    }
    true
}

/// Until everything may use the results.
fn until_end(first: Instruction, producer: &Operands) -> u32 {
    match first.operation() {
        UMOV | VOTEU => 12,
        operation
            if DOUBLE.contains(&operation) && !producer.writes.within(&[File::Predicate]).is_empty() =>
        {
            15
        }
        operation if DOUBLE.contains(&operation) => 13,
        _ => 0,
    }
}

fn latency((first, producer): (Instruction, &Operands), (next, consumer): (Instruction, &Operands)) -> u32 {
    let (from, to) = (first.operation(), next.operation());
    let is_guard = producer.writes.meets(&consumer.guard);
    // It comes later than what other units write.
    if DOUBLE.contains(&from) && !DOUBLE.contains(&to) && producer.writes.meets(&consumer.writes) {
        return 10;
    }
    if !producer.writes.meets(&consumer.reads) && !is_guard {
        return 0;
    }
    match from {
        UMOV | VOTEU => match to {
            _ if UNIFORM.contains(&to) => 4,
            _ if PLAIN.contains(&to) && !DOUBLE.contains(&to) => 6,
            _ if [DOUBLE, FUNCTIONS, MEMORY].iter().any(|unit| unit.contains(&to)) => 9,
            _ if CONTROL.contains(&to) => 10,
            _ => 13,
        },
        _ if DOUBLE.contains(&from) => match to {
            _ if is_guard => 16,
            _ if producer.writes.within(&[File::General]).is_empty() => 8,
            _ if DOUBLE.contains(&to) => 10,
            _ if FUNCTIONS.contains(&to) => 8,
            _ if MEMORY.contains(&to) => 9,
            _ => 10,
        },
        _ if is_guard || !is_logic(to) => 0,
        _ if SUMS.contains(&from) && SUMS.contains(&to) => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::is_fit_for_107;

    /// `UMOV UR6, 1`, `MOV R6, UR6`, `LOP3.LUT R7, R6, 1, RZ, 0xc0, !PT`, `EXIT`.
    const MOVE: u128 = 0x000f_e000_0000_0000_0000_0001_0006_7882;
    const TO_R6: u128 = 0x000f_e000_0800_0f00_0000_0006_0006_7c02;
    const LOGIC: u128 = 0x000f_e000_078e_c0ff_0000_0001_0607_7812;
    const EXIT: u128 = 0x000f_e000_0380_0000_0000_0000_0000_794d;

    fn is_fit(code: &[(u128, u128)]) -> bool {
        is_fit_for_107(
            &code.iter().flat_map(|(bits, stall)| (bits | stall << 105).to_le_bytes()).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn textures_are_missing() {
        assert!(!is_fit(&[(0x7960, 5), (EXIT, 5)]) && !is_fit(&[(0x799d, 5), (EXIT, 5)]));
    }

    #[test]
    fn results_that_take_longer() {
        assert!(is_fit(&[(MOVE, 6), (TO_R6, 5), (LOGIC, 5), (EXIT, 5)]));
        // As on sm_100.
        assert!(!is_fit(&[(MOVE, 2), (TO_R6, 5), (LOGIC, 5), (EXIT, 5)]));
        assert!(!is_fit(&[(MOVE, 6), (TO_R6, 4), (LOGIC, 5), (EXIT, 5)]));
        // DFMA R12, R4, R6, R8 and MOV R12, R5: double precision comes later.
        let (product, copy) =
            (0x000f_e000_0000_0008_0000_0006_040c_722b, 0x000f_e000_0000_0f00_0000_0005_000c_7202);
        assert!(is_fit(&[(product, 10), (copy, 5), (EXIT, 5)]));
        assert!(!is_fit(&[(product, 9), (copy, 5), (EXIT, 5)]));
        // Code elsewhere may use it.
        let branch = 0x000f_e000_0383_ffff_ffff_fffc_00fc_7947;
        assert!(!is_fit(&[(MOVE, 2), (branch, 5)]));
        assert!(is_fit(&[(MOVE, 7), (branch, 5)]));
    }
}
