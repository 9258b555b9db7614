//! Which scoreboard an instruction would rather have.

use crate::instruction::SCOREBOARDS;
use crate::operation::is_texture;
use crate::schedule::latency::is_slow;

/// The order in which the result of an instruction tries the scoreboards.
pub fn preferred(operation: u16) -> [u8; SCOREBOARDS as usize] {
    match operation {
        operation if is_slow(operation) => [2, 3, 4, 5, 1, 0],
        operation if is_texture(operation) => [5, 4, 3, 2, 1, 0],
        _ => [0, 1, 2, 3, 4, 5],
    }
}
