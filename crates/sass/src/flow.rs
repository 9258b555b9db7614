//! Where control goes from an instruction.
//!
//! Every path that the code may take must be among those given here; more do no harm, the checker then proves more than
//! it has to.

use crate::instruction::{Instruction, TRUE};
use std::collections::HashMap;

const BREAK_SYNC: u16 = 0x141;
const BREAK_SET: u16 = 0x145;
const BRANCH: u16 = 0x147;
const WARP_SYNC: u16 = 0x148;
const EXIT: u16 = 0x14d;
const CALL_ABSOLUTE: u16 = 0x143;
const CALL_RELATIVE: u16 = 0x144;
/// `BRX`, `BRXU`
const INDIRECT_BRANCHES: [u16; 2] = [0x149, 0x158];
/// Operations that change the flow of control, and those among them that go on with the next instruction.
const CONTROL: std::ops::RangeInclusive<u16> = 0x140..=0x15f;
/// `CCTL.E.C.LDCU`, which only has its number in that range.
const CACHE_CONTROL: u16 = 0x540;
const STRAIGHT: [u16; 11] = [0x142, BREAK_SET, 0x146, 0x152, 0x153, 0x155, 0x156, 0x15b, 0x15c, 0x15d, 0x14e];

/// Where each indirect branch may go: its index and those of its targets, in instructions.
pub type Jumps = [(usize, Vec<usize>)];

/// What follows an instruction. A number is an index of an instruction, counted from the start of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// The next instruction, or this one.
    Branch(i64),
    Jump(i64),
    /// The next instruction if some `BSSY` says that threads meet there, otherwise any such place.
    Meet,
    /// The next instruction; on the way, code that is not seen here may run.
    Call,
    End,
    /// Any instruction.
    Anywhere,
}

impl Flow {
    pub fn of(index: usize, instruction: Instruction) -> Self {
        let operation = instruction.operation();
        if !is_control(instruction) || STRAIGHT.contains(&operation) {
            return Self::Next;
        }
        let target = || place(index, instruction);
        match operation {
            BRANCH if is_plain(instruction) => target().map_or(Self::Anywhere, Self::Jump),
            BRANCH | WARP_SYNC => target().map_or(Self::Anywhere, Self::Branch),
            EXIT if instruction.is_unconditional() && second_predicate(instruction) == TRUE => Self::End,
            EXIT => Self::Next,
            BREAK_SYNC => Self::Meet,
            CALL_ABSOLUTE => Self::Call,
            // A function that calls itself begins as from anywhere else, and returns to an address.
            CALL_RELATIVE if target() == Some(0) => Self::Call,
            // Another relative call is to code within this, and its return to any place in it.
            _ => Self::Anywhere,
        }
    }
}

/// Whether an instruction may change the flow of control, or is of that kind.
pub fn is_control(instruction: Instruction) -> bool {
    CONTROL.contains(&instruction.operation()) && instruction.opcode() != CACHE_CONTROL
}

/// The predicate that control depends on besides the guard; 8 is set where it is negated.
fn second_predicate(instruction: Instruction) -> u8 {
    instruction.field(87, 4) as u8
}

/// Whether a branch is always taken: it has no condition of any kind.
fn is_plain(instruction: Instruction) -> bool {
    instruction.opcode() == 0x947 && instruction.is_unconditional() && instruction.field(82, 14) == 0xe0
}

/// Whether this is a branch by a register, for which the compiler may list the targets.
pub fn is_indirect_branch(instruction: Instruction) -> bool {
    INDIRECT_BRANCHES.contains(&instruction.operation())
}

/// Whether this instruction says where threads meet.
pub fn sets_meeting(instruction: Instruction) -> bool {
    instruction.operation() == BREAK_SET
}

/// How an instruction names a place in the code: a distance in words from the next instruction, in a field from
/// this bit on.
struct Distance {
    operations: &'static [u16],
    at: u32,
    width: u32,
    /// The low eight bits are in byte 2.
    is_split: bool,
}

const DISTANCES: [Distance; 3] = [
    Distance {
        operations: &[CALL_RELATIVE, BRANCH, WARP_SYNC, 0x149, 0x158],
        at: 34,
        width: 48,
        is_split: true,
    },
    Distance { operations: &[BREAK_SET], at: 34, width: 30, is_split: false },
    Distance { operations: &[0x14e], at: 26, width: 56, is_split: false },
];

fn distance(instruction: Instruction) -> Option<&'static Distance> {
    DISTANCES.iter().find(|distance| distance.operations.contains(&instruction.operation()))
}

/// The instruction that this one names. `None` if it names none, or not the beginning of one.
pub fn place(index: usize, instruction: Instruction) -> Option<i64> {
    let distance = distance(instruction)?;
    let mut words = (instruction.field(distance.at, distance.width) << (64 - distance.width)).cast_signed()
        >> (64 - distance.width);
    if distance.is_split {
        words = words << 8 | i64::from(instruction.byte(2));
    }
    (words % 4 == 0).then(|| index as i64 + 1 + words / 4)
}

/// The targets of each branch. One with several lists has none that can be believed.
pub fn lists_of(jumps: &Jumps) -> HashMap<usize, &[usize]> {
    let mut lists: HashMap<usize, &[usize]> = HashMap::new();
    for (at, targets) in jumps {
        lists.entry(*at).and_modify(|list| *list = &[]).or_insert(targets);
    }
    lists
}

/// The instruction without the place that it names.
pub fn without_place(instruction: Instruction) -> Instruction {
    let Some(distance) = distance(instruction) else { return instruction };
    let mask = ((1 << distance.width) - 1) << distance.at;
    Instruction(instruction.0 & !(mask | if distance.is_split { 0xff << 16 } else { 0 }))
}

/// Returns to an address in registers have this bit; others name a place.
const ABSOLUTE: u32 = 85;

/// Whether an instruction may name a place in a way that is not known here. Code that calls functions within itself has their
/// return addresses in constants.
pub fn has_other_place(index: usize, instruction: Instruction) -> bool {
    match instruction.operation() {
        0x150 => instruction.field(ABSOLUTE, 1) == 0,
        CALL_RELATIVE => place(index, instruction) != Some(0),
        operation => matches!(operation, 0x14a | 0x14c),
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, has_other_place, place, without_place};
    use crate::instruction::Instruction;

    #[test]
    fn branches() {
        // @!P0 BRA forward by 13 instructions, backward without a condition, BRA.U
        let forward = Instruction(0x000fec00_03800000_00000000_00348947);
        assert_eq!(Flow::of(10, forward), Flow::Branch(24));
        let backward = Instruction(0x004fea00_0383ffff_fffffffd_00ec7947);
        assert_eq!(place(100, backward), Some(96));
        assert_eq!(Flow::of(100, backward), Flow::Jump(96));
        assert_eq!(Flow::of(0, Instruction(0x000ff400_0b800000_00000005_08f07547)), Flow::Branch(125));
        assert_eq!(without_place(forward).0, 0x000fec00_03800000_00000000_00008947);
        // BSSY B0
        assert_eq!(place(3, Instruction(0x000fe200_03800200_000001a0_00007945)), Some(4 + 26));
    }

    #[test]
    fn calls() {
        // CALL.REL.NOINC to the beginning, seen from two places
        let call = Instruction(0x001fea00_03c3ffff_fffffffc_00587944);
        assert_eq!(Flow::of(0x29, call), Flow::Call);
        assert!(!has_other_place(0x29, call));
        assert_eq!(Flow::of(0x2b, call), Flow::Anywhere);
        assert!(has_other_place(0x2b, call));
    }

    #[test]
    fn ends() {
        let exit = 0x000fea00_03800000_00000000_0000794d;
        assert_eq!(Flow::of(0, Instruction(exit)), Flow::End);
        assert_eq!(Flow::of(0, Instruction(exit & !0x7000)), Flow::Next);
        // RET.ABS.NODEC R20
        assert_eq!(Flow::of(0, Instruction(0x000fec00_03e00000_00000000_14007950)), Flow::Anywhere);
    }
}
