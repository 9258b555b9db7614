//! How long results of fixed latency take, until what uses them may be issued.

use super::pipes::{Kind, Pipe};
use crate::registers::File;

/// A use that is not known: as long as it took before.
pub const UNKNOWN: i64 = i64::MAX / 4;

/// How an instruction uses a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    Guard,
    Written,
}

/// From an instruction that writes a register of this file to one that uses it.
pub fn until_used(producer: Kind, consumer: Kind, file: File, how: Use) -> i64 {
    use Pipe::{Count, Double, Logic, Matrix, Memory, Multiply, None, Special, Uniform};
    let (from, to) = (producer.pipe, consumer.pipe);
    match file {
        File::General => match (from, to) {
            (Matrix, Matrix) => 20,
            (Matrix, _) => 19,
            (Double, Double) if !consumer.is_conversion => 8,
            (Double, Memory) if how != Use::Written => 7,
            (Double, _) => 10,
            // The later result comes later.
            (Logic | Multiply, Logic | Multiply) if how == Use::Written => 1,
            (Logic | Multiply, _) if how == Use::Written && consumer.is_variable() => 6,
            (Logic, Logic) | (Logic | Multiply, Special | Count) => 4,
            (Multiply, Multiply) if producer.is_half == consumer.is_half => 4,
            (Logic | Multiply, Logic | Multiply | Memory) => 5,
            (Logic | Multiply, Double) if consumer.is_conversion => 4,
            (Logic | Multiply, Matrix) => 7,
            (Logic | Multiply, Double) if consumer.is_matrix => 7,
            (Logic | Multiply, Double) => 6,
            _ => UNKNOWN,
        },
        File::Predicate => match (from, to) {
            (Double, _) if how == Use::Guard || consumer.is_vote => 14,
            (Logic, _) if how == Use::Guard || consumer.is_vote => 13,
            (Logic, Logic) => 4,
            (Logic, Multiply) => 5,
            (Double, Logic) => 6,
            (Logic, _) => 13,
            _ => UNKNOWN,
        },
        File::Uniform if producer.is_uniform_move => match to {
            Logic | Multiply | Double | Uniform => 2,
            _ => UNKNOWN,
        },
        File::Uniform if producer.is_uniform_vote => match to {
            Logic | Multiply | Special | Count => 2,
            _ => UNKNOWN,
        },
        File::Uniform => match (from, to) {
            (Logic, _) => 13,
            (Uniform, Uniform) => 4,
            (Uniform, Logic | Multiply) => 6,
            (Uniform, Memory) => 9,
            _ => UNKNOWN,
        },
        File::UniformPredicate => match (from, to) {
            (Uniform, Uniform) if how == Use::Guard => 11,
            (Uniform, Uniform) => 4,
            (Uniform, Logic | Multiply) => 6,
            (Uniform, None) => 9,
            _ => UNKNOWN,
        },
        File::Barrier => UNKNOWN,
    }
}

/// From an instruction that writes a register to the end of its block, whatever comes then.
pub fn until_end(producer: Kind, file: File) -> i64 {
    match (file, producer.pipe) {
        (File::General, Pipe::Double) | (File::UniformPredicate, Pipe::Uniform) => 11,
        (File::General, Pipe::Matrix) => 20,
        (File::General, Pipe::Logic | Pipe::Multiply) => 7,
        (File::Predicate, Pipe::Double) => 15,
        (File::Predicate, _) => 13,
        (File::Uniform, _) if producer.is_uniform_move => 5,
        (File::Uniform, Pipe::Uniform) => 12,
        (File::Uniform, Pipe::Logic) => 6,
        (File::Uniform, _) if producer.is_uniform_vote => 12,
        (File::Barrier, _) => 0,
        _ => UNKNOWN,
    }
}
