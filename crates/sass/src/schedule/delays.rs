//! Delays: instructions without effect that make a stall longer.
//!
//! A stall is at most 15 cycles. Where more are needed, `NOP`s follow, each with a stall of its own. Assemblers up to 12.9 have the
//! short one first, the linker has it last (older/blackwell-delays).

use crate::instruction::{Instruction, SIZE};

/// The longest stall, and how it is written where another warp goes on.
const LONGEST: u8 = 15;
const STALL: u32 = 105;
/// The stall and, above it, that no other warp goes on.
const PACE: u128 = 0x1f << STALL;

/// Puts the short one of several delays last.
pub fn order_delays(code: &mut [u8]) {
    let (instructions, _) = code.as_chunks_mut::<SIZE>();
    let at = |place: &[u8; SIZE]| Instruction(u128::from_le_bytes(*place));
    let is_longest = |instruction: Instruction| instruction.stall() == LONGEST && !instruction.holds();
    let mut index = 1;
    while index < instructions.len() {
        let begin = index;
        while index < instructions.len() && at(&instructions[index]).is_delay() {
            index += 1;
        }
        if index == begin {
            index += 1;
            continue;
        }
        let run = begin..index;
        let rest = &instructions[begin + 1..index];
        if !is_longest(at(&instructions[begin - 1])) || !rest.iter().all(|delay| is_longest(at(delay))) {
            continue;
        }
        let short = u128::from(at(&instructions[begin]).stall()) << STALL;
        let longest = u128::from(LONGEST) << STALL;
        for (place, delay) in instructions[run.clone()].iter_mut().enumerate() {
            let pace = if begin + place + 1 == run.end { short } else { longest };
            *delay = (at(delay).0 & !PACE | pace).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::order_delays;

    #[test]
    fn the_short_one_is_last() {
        let code = |stalls: &[(u16, u128)]| -> Vec<u8> {
            let instruction = |(operation, pace): &(u16, u128)| {
                (u128::from(*operation) | 0x7 << 12 | pace << 105 | 0x3f << 110).to_le_bytes()
            };
            stalls.iter().flat_map(instruction).collect()
        };
        let mut delayed = code(&[(0x229, 15), (0x918, 0x12), (0x918, 15), (0x918, 15), (0x202, 4)]);
        order_delays(&mut delayed);
        assert_eq!(delayed, code(&[(0x229, 15), (0x918, 15), (0x918, 15), (0x918, 2), (0x202, 4)]));
        let alone = code(&[(0x229, 1), (0x918, 3), (0x918, 15), (0x202, 4)]);
        let mut same = alone.clone();
        order_delays(&mut same);
        assert_eq!(same, alone);
    }
}
