//! Two ways to shift one register to the right.

use crate::instruction::Instruction;

/// A shift by an immediate of two registers; the second one has the higher bits.
const SHF: u16 = 0x819;
const RZ: u8 = 0xff;
/// `.R.U32`, and `.HI` for the higher half of the result.
const TO_THE_RIGHT: u64 = 0x16;
const HIGH: u64 = 0x100;
/// Where these are, and whatever else an instruction may be marked with.
const MARKS: (u32, u32) = (72, 33);
const HIGH_AT: u32 = 80;
/// Which operands are kept for the next instruction.
const KEPT: (u32, u32) = (122, 4);

/// `SHF.R.U32.HI R, RZ, n, S` as `SHF.R.U32 R, S, n, RZ`: both have the result S >> n.
pub fn low(instruction: Instruction) -> Option<Instruction> {
    let is_high = instruction.opcode() == SHF
        && instruction.byte(3) == RZ
        && instruction.field(MARKS.0, MARKS.1) == TO_THE_RIGHT | HIGH
        && instruction.field(KEPT.0, KEPT.1) == 0
        && instruction.field(32, 32) < 32;
    let source = u128::from(instruction.byte(8));
    let cleared = instruction.0 & !(0xff << 24 | 0xff << 64 | 1 << HIGH_AT);
    is_high.then_some(Instruction(cleared | source << 24 | u128::from(RZ) << 64))
}

#[cfg(test)]
mod tests {
    use super::low;
    use crate::instruction::Instruction;

    #[test]
    fn halves() {
        let high = Instruction(0x001fc800_0001160d_00000010_ff0d7819);
        assert_eq!(low(high), Some(Instruction(0x001fc800_000016ff_00000010_0d0d7819)));
        // Of two registers, of a signed number, to the left, and by too many bits.
        for other in [
            0x001fc800_0001160d_00000010_0e0d7819,
            0x001fc800_0001140d_00000010_ff0d7819,
            0x001fc800_000006ff_00000010_0d0d7819,
            0x001fc800_0001160d_00000020_ff0d7819,
        ] {
            assert_eq!(low(Instruction(other)), None);
        }
    }
}
