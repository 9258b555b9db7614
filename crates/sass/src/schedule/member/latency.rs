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

/// By how much double precision takes longer than on sm_100.
fn later(producer: Kind) -> i64 {
    if producer.is_107 { 2 } else { 0 }
}

/// From an instruction that writes a register of this file to one that uses it.
pub fn until_used(producer: Kind, consumer: Kind, file: File, how: Use) -> i64 {
    use Pipe::{
        Choice, Count, Double, Logic, Long, Matrix, Memory, Multiply, None, Special, Sum, Tensor, Uniform,
    };
    let (from, to) = (producer.pipe, consumer.pipe);
    match file {
        File::General => match (from, to) {
            (Matrix, Matrix) | (Tensor, Tensor) => producer.matrix + 1,
            (Matrix | Tensor, _) => producer.matrix,
            (Double, Double) if !consumer.is_conversion => 8 + later(producer),
            (Double, Memory) if how != Use::Written => 7 + later(producer),
            (Double, _) => 10 + later(producer),
            // The later result comes later.
            _ if from.is_plain() && to.is_plain() && how == Use::Written => 1,
            _ if from.is_plain() && how == Use::Written && consumer.is_variable() => 6,
            (Long, Long) if producer.is_minimum != consumer.is_minimum => 6,
            (Logic, Logic) | (Sum, Sum) | (Long, Long) => 4,
            (Long, Special | Count) => UNKNOWN,
            _ if from.is_plain() && matches!(to, Special | Count) => 4,
            (Multiply, Multiply) if producer.is_half == consumer.is_half => 4,
            (Long, Choice | Multiply | Memory) => 6,
            (Long, Sum) => 5,
            (Long, Double) if !consumer.is_conversion && !consumer.is_matrix => 7,
            (Long, _) => UNKNOWN,
            _ if from.is_plain() && (to.is_plain() || to == Memory) => 5,
            _ if from.is_plain() && to == Double && consumer.is_conversion => 4,
            _ if from.is_plain() && matches!(to, Matrix | Tensor) => 7,
            _ if from.is_plain() && to == Double && consumer.is_matrix => 7,
            _ if from.is_plain() && to == Double => 6,
            _ => UNKNOWN,
        },
        File::Predicate => match (from, to) {
            (Double, _) if how == Use::Guard || consumer.is_vote => 14 + later(producer),
            (Logic | Sum | Choice, _) if how == Use::Guard || consumer.is_vote => {
                if producer.is_long {
                    14
                } else {
                    13
                }
            }
            (Choice, Sum | Choice | Long) if producer.is_long => 6,
            (Logic, Logic) | (Sum, Sum) => 4,
            (Logic, Multiply) | (Sum | Choice, Sum | Choice | Long | Multiply) => 5,
            (Double, Logic | Choice | Sum) => 6 + later(producer),
            (Long, Long) => 6,
            (Multiply, _) if how == Use::Written && to.is_plain() => 5,
            (Multiply, Multiply) if how == Use::Read => 4,
            (Multiply, Logic | Choice | Sum) if how == Use::Read => 5,
            (Logic | Sum | Choice, _) => 13,
            _ => UNKNOWN,
        },
        // The later result comes later.
        File::Uniform if how == Use::Written && !consumer.is_variable() => 1,
        File::Uniform if producer.is_uniform_move => match to {
            _ if to.is_plain() => 2,
            Double | Uniform => 2,
            _ if consumer.is_uniform_move => 2,
            _ => UNKNOWN,
        },
        File::Uniform if producer.is_uniform_vote => match to {
            _ if to.is_plain() => 2,
            Special | Count => 2,
            _ => UNKNOWN,
        },
        File::Uniform => match (from, to) {
            (Logic | Sum, _) => 13,
            (Uniform, Uniform) => 4,
            (Uniform, _) if to.is_plain() => 6,
            (Uniform, Memory) => 9,
            (Uniform, Special | Count) if producer.is_107 => 9,
            (Uniform, Double) if producer.is_107 => 10,
            (Uniform, None) if producer.is_107 => 13,
            (Uniform, _) if consumer.is_uniform_move => 7,
            _ => UNKNOWN,
        },
        File::UniformPredicate => match (from, to) {
            (Uniform, Uniform) if how == Use::Guard => 11,
            (Uniform, Uniform) => 4,
            (Uniform, _) if to.is_plain() => 6,
            (Uniform, None) => 9,
            _ => UNKNOWN,
        },
        File::Barrier => UNKNOWN,
    }
}

/// The same where a product of 64 bits has the result early, or reads it late.
pub fn until_used_by_halves(producer: Kind, consumer: Kind) -> i64 {
    let cycles = until_used(producer, consumer, File::General, Use::Read);
    match (producer.pipe, consumer.pipe) {
        (Pipe::Multiply, Pipe::Logic | Pipe::Choice | Pipe::Sum)
        | (Pipe::Logic | Pipe::Choice | Pipe::Sum, Pipe::Multiply) => cycles - 2,
        (Pipe::Multiply, Pipe::Multiply) if !producer.is_wide => cycles - 2,
        _ => cycles,
    }
}

/// From an instruction that writes a register to one that overwrites it at no fixed time.
pub fn until_overwritten(producer: Kind, file: File) -> Option<i64> {
    match (file, producer.pipe) {
        (File::Predicate, Pipe::Logic | Pipe::Sum | Pipe::Choice) => Some(12),
        (File::General, Pipe::Long) => Some(7),
        (File::General, pipe) if pipe.is_plain() => Some(6),
        _ => None,
    }
}

/// From an instruction that writes a register to the end of its block, whatever comes then.
pub fn until_end(producer: Kind, file: File) -> i64 {
    match (file, producer.pipe) {
        (File::General, Pipe::Double) => 11 + later(producer),
        (File::UniformPredicate, Pipe::Uniform) => 11,
        (File::General, Pipe::Matrix | Pipe::Tensor) => producer.matrix + 1,
        (File::General, _) if producer.is_long => 8,
        (File::Predicate, _) if producer.is_long => 14,
        (File::General, pipe) if pipe.is_plain() => 7,
        (File::Predicate, Pipe::Double) => 15 + later(producer),
        (File::Predicate, _) => 13,
        (File::Uniform, _) if producer.is_uniform_move => 5,
        (File::Uniform, Pipe::Uniform) => 12,
        (File::Uniform, Pipe::Logic | Pipe::Sum) => 15,
        (File::Uniform, _) if producer.is_uniform_vote => 12,
        (File::Barrier, _) => 0,
        _ => UNKNOWN,
    }
}
