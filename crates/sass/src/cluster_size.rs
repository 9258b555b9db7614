//! How code asks for the size of its cluster, times a number.
//!
//! The constants that depend on it lie before those of the kernel. Assemblers up to 12.9 read the size into a uniform register; from
//! 13.0 on they read it into a general register and take it from there. What has no room for that saves one where nothing else is.

use crate::instruction::Instruction;

/// `S2UR UR, SR_CgaSize` and `UIMAD UR, UR, n, URZ`, without their registers, the number and the schedule.
const S2UR: u128 = 0x0000_8a00_0000_0000_0000_79c3;
const UIMAD: u128 = 0x0f8e_02ff_0000_0000_0000_78a4;
/// `CS2R.32 R, SR_CgaSize`, `IMAD R, R, n, RZ`, `R2UR UR, R`.
const CS2R: u128 = 0x0000_8a00_0000_0000_0000_7805;
const IMAD: u128 = 0x078e_02ff_0000_0000_0000_7824;
const R2UR: u128 = 0x000e_0000_0000_0000_0000_72ca;
/// `RPCMOV.32 Rpc.LO, R` and `RPCMOV.32 R, Rpc.LO`.
const SAVE: u128 = 0x0000_0000_0000_0000_0000_7352;
const RESTORE: u128 = 0x0000_0000_0000_0000_0000_7353;

/// No scoreboard is set.
const NO_SCOREBOARDS: u128 = 0x3f << 110;
const STALL: u32 = 105;
const HOLD: u128 = 1 << 109;
const WAITS: u32 = 116;

const fn result(register: u8) -> u128 {
    (register as u128) << 16
}

const fn first(register: u8) -> u128 {
    (register as u128) << 24
}

const fn second(register: u8) -> u128 {
    (register as u128) << 32
}

const fn number(factor: u32) -> u128 {
    (factor as u128) << 32
}

/// The size of the cluster times a factor, in a uniform register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSize {
    pub uniform: u8,
    pub factor: u32,
}

/// The cycles of what goes through a general register: to read the size, to multiply it, until the uniform register can be used.
/// Where the register is saved, that comes first, and it is restored meanwhile, some cycles after it was read.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub saved: u8,
    pub read: u8,
    pub multiplied: u8,
    pub moved: u8,
    pub until_restored: u8,
}

impl Times {
    pub const OF_100: Self = Self { saved: 6, read: 5, multiplied: 5, moved: 14, until_restored: 2 };
    pub const OF_120: Self = Self { until_restored: 1, ..Self::OF_100 };
}

impl ClusterSize {
    /// What two instructions that follow one another ask for, if it is that.
    pub fn of(first_one: Instruction, second_one: Instruction) -> Option<Self> {
        let (uniform, factor) = (first_one.byte(2), second_one.field(32, 32) as u32);
        let pair = [S2UR | result(uniform), UIMAD | result(uniform) | first(uniform) | number(factor)];
        let is_that = [first_one, second_one].map(Instruction::without_schedule) == pair;
        is_that.then_some(Self { uniform, factor })
    }

    /// The same through a general register, which is saved meanwhile or not. The first instruction waits for these scoreboards.
    pub fn through(self, register: u8, is_saved: bool, waits: u8, times: Times) -> Vec<Instruction> {
        let with = |bits: u128, stall: u8, holds: bool| {
            let hold = if holds { HOLD } else { 0 };
            Instruction(bits | NO_SCOREBOARDS | u128::from(stall) << STALL | hold)
        };
        let factor = number(self.factor);
        let read = with(CS2R | result(register), times.read, false);
        let multiplied = with(IMAD | result(register) | first(register) | factor, times.multiplied, false);
        let moved =
            |stall: u8, holds: bool| with(R2UR | result(self.uniform) | first(register), stall, holds);
        let mut all = if is_saved {
            let restored = times.moved - times.until_restored;
            vec![
                with(SAVE | second(register), times.saved, false),
                read,
                multiplied,
                moved(times.until_restored, true),
                with(RESTORE | result(register), restored, false),
            ]
        } else {
            vec![read, multiplied, moved(times.moved, false)]
        };
        all[0].0 |= u128::from(waits) << WAITS;
        all
    }
}

/// Whether an instruction reads the size into a general register.
pub fn reads_cluster_size(one: Instruction) -> bool {
    one.without_schedule() == CS2R | result(one.byte(2))
}

#[cfg(test)]
mod tests {
    use super::{ClusterSize, Times};
    use crate::instruction::Instruction;

    #[test]
    fn ways() {
        let pair = [0x000e6400_00008a00_00000000_000d79c3, 0x002fd800_0f8e02ff_ffffff60_0d0d78a4];
        let [first, second] = pair.map(Instruction);
        let size = ClusterSize::of(first, second).expect("the size of the cluster");
        assert_eq!(size, ClusterSize { uniform: 13, factor: (-0xa0i32).cast_unsigned() });
        let saved = [
            0x000fcc00_00000000_00000006_00007352,
            0x000fca00_00008a00_00000000_00067805,
            0x000fca00_078e02ff_ffffff60_06067824,
            0x000fe400_000e0000_00000000_060d72ca,
            0x000fd800_00000000_00000000_00067353,
        ];
        assert_eq!(size.through(6, true, 0, Times::OF_100), saved.map(Instruction));
        let free = [
            0x001fca00_00008a00_00000000_000c7805,
            0x000fca00_078e02ff_ffffff60_0c0c7824,
            0x000fdc00_000e0000_00000000_0c0d72ca,
        ];
        assert_eq!(size.through(12, false, 1, Times::OF_120), free.map(Instruction));
        // Another register, a condition, another special register.
        for other in [0x002fd800_0f8e02ff_ffffff60_0d0c78a4, 0x002fd800_0f8e02ff_ffffff60_0d0d08a4] {
            assert_eq!(ClusterSize::of(first, Instruction(other)), None);
        }
        let rank = Instruction(0x000e6400_00008800_00000000_000d79c3);
        assert_eq!(ClusterSize::of(rank, second), None);
    }
}
