//! Code without optimisation (`ptxas -O0`, `-g`), which no assembler schedules: all of it has one form.

use crate::idle::{NO_LOAD, is_matrix, is_unscheduled};
use crate::instruction::{Instruction, SIZE};
use crate::operation::{ERRBAR, MEMBAR};

/// How the instructions of such code are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Each waits for scoreboards 0 and 1, the only ones that are set, and takes 15 cycles: assemblers before 13.3.
    Waiting,
    /// No cycles and no scoreboards, which leaves it to the machine: those since.
    Unpaced,
}

/// How code is paced that was compiled without optimisation; `None` for all other code.
pub fn pace(code: &[u8]) -> Option<Pace> {
    if is_waiting(code) {
        return Some(Pace::Waiting);
    }
    let is_unpaced = |instruction: Instruction| {
        let schedule = (instruction.stall(), instruction.wait_mask(), instruction.set_mask());
        schedule == (0, 0, 0) || instruction.0 == NO_LOAD
    };
    instructions(code).all(is_unpaced).then_some(Pace::Unpaced)
}

fn is_waiting(code: &[u8]) -> bool {
    let is_of_kind = |instruction: Instruction| {
        let operation = instruction.operation();
        // What reports errors before an exit takes no cycles by itself, nor do precautions before fences, nor products of matrices.
        let may_be_short = [MEMBAR, ERRBAR].contains(&operation) || is_matrix(operation);
        let is_short = instruction.stall() == 0 && [0, 3].contains(&instruction.wait_mask());
        is_unscheduled(instruction) || may_be_short && is_short || instruction.0 == NO_LOAD
    };
    let last = instructions(code).rposition(|instruction| instruction.stall() > 0);
    last.is_some_and(|last| instructions(code).take(last + 1).all(is_of_kind))
}

fn instructions(code: &[u8]) -> impl DoubleEndedIterator<Item = Instruction> + ExactSizeIterator + '_ {
    (0..code.len() / SIZE).map(|at| Instruction::at(code, at))
}

#[cfg(test)]
mod tests {
    use super::{Pace, pace};

    /// `MOV`, `HMMA`, `EXIT` and the branch to itself after it.
    fn code(schedules: [u128; 3]) -> Vec<u8> {
        let plain = [0x0f00_0000_0000_0004_7202, 0x0100_0000_0000_0404_723c, 0x0380_0000_0000_0000_0000_794d];
        let jump = 0x000fc000_0383ffff_fffffffc_00fc7947_u128;
        let all = plain.iter().zip(schedules).map(|(bits, schedule): (&u128, u128)| bits | schedule << 105);
        all.chain([jump]).flat_map(u128::to_le_bytes).collect()
    }

    #[test]
    fn all_of_the_code_has_one_form() {
        // Reuse, waits, both scoreboards, the mark of other warps and the stall.
        let waiting = 3 << 11 | 0x3f << 5 | 15;
        let (short, unpaced, usual) = (3 << 11 | 0x3f << 5, 0x3f << 5, 0x3f << 5 | 4);
        assert_eq!(pace(&code([waiting, short, waiting])), Some(Pace::Waiting));
        assert_eq!(pace(&code([unpaced; 3])), Some(Pace::Unpaced));
        assert_eq!(pace(&code([short, waiting, waiting])), None);
        assert_eq!(pace(&code([waiting, short, usual])), None);
        assert_eq!(pace(&code([usual, unpaced, unpaced])), None);
    }
}
