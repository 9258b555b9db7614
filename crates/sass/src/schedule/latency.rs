//! How long producers take, in cycles, as far as the choice of scoreboards is concerned.
//!
//! These are the assembler's estimates, not measurements: they say which scoreboard is shared when there are too few,
//! and which waits cost nothing at the end of a block. What a family has for itself is in its [`Estimates`], the rest in tables
//! for all.
//!
//! Results of fixed latency have an estimate too ([`of_operand`]), one for all families. `member::latency` has the exact ones of
//! sm_100 and sm_103, from which stalls are made. They do not replace the estimate: with them no kernel of realcode differs
//! otherwise on sm_100, but 12 more do on sm_120, whose fixed latencies are not known.

use super::instructions::Line;
use crate::operation;
use crate::registers::File;
use operation::{
    ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT, ATOMS, BAR, BMOV, BREV, DADD, DFMA, DMMA,
    DMUL, DOUBLE, DSETP, F2F_DOUBLE, F2I, F2I_DOUBLE, FLO, FRND_DOUBLE, HMMA, I2F, I2F_DOUBLE, IADD,
    IMAD_WIDE, IMMA, IMNMX, ISETP, LD, LDC, LDCU, LDG, LDG_256, LDGMC, LDGMC_FLOAT, LDGSTS, LDL, LDS, LDSM,
    LDTM, LONG_CONVERSIONS, MEMBAR, MOV, MUFU, POPC, R2UR, REDUX, S2R, SEL, SHFL, ST, STAS, STG, STL, STS,
    STSM, STTM, SURED, SYNCS_CCTL, SYNCS_EXCH, UBLKCP, UBLKPF, UBLKRED, UMEMSETS, UTMACCTL, UTMALDG, UTMAPF,
    UTMAREDG, UTMASTG, VOTE, is_texture,
};
use solder_arch::Release;

/// What a schedule is made for, and by which rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    pub machine: Machine,
    /// Every end of a block waits for what is over by then, as up to 13.0; otherwise only those before loops do.
    pub waits_at_ends: bool,
    /// What comes after a branch begins a cycle before its stall is over, as up to 13.0.
    pub begins_early: bool,
    /// `WARPSYNC`, `YIELD`, `BREAK`, `BRX`, traps and `EXIT` wait for uniform registers, as from 13.1 on.
    pub meets_with_uniform: bool,
    /// `MEMBAR` and `BAR` wait for barriers in memory and fences, and meetings for what copies of tensors read, as from 13.1 on.
    pub meets_with_copies: bool,
    /// Scoreboards are chosen by what the next blocks use, too, as from 13.1 on.
    pub looks_ahead: bool,
    /// What is written under one condition is not waited for by what reads it under the opposite one, as from 13.1 on.
    pub exempts_opposite_reads: bool,
    /// Loads of constants of 64 bits and conversions of 64 bits last longer on sm_103 and sm_110, as from 13.1 on.
    pub estimates_longer: bool,
    /// Conversions of 64 bits are apart from others on sm_100 too, as from 13.1 on.
    pub converts_long_apart: bool,
    /// Assemblers put a `NOP` before every `BSYNC` when blocks have their numbers, as from 13.2 on.
    pub works_around: bool,
    /// Cycles until the unit of double precision takes the next instruction on sm_120, as far as delays see to it.
    pub double_interval: u32,
}

/// Machines with the same estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// sm_100.
    Of100,
    /// sm_103, which does double precision and conversions of 64 bits slowly.
    Of103,
    /// sm_110, which does so too and is in other things like sm_120.
    Of110,
    /// sm_120, sm_121. These do double precision arithmetic at a rate of their own.
    Of120,
}

impl Family {
    /// sm_100 as 13.0 schedules for it.
    pub const OF_100: Self = Self {
        machine: Machine::Of100,
        waits_at_ends: true,
        begins_early: true,
        meets_with_uniform: false,
        meets_with_copies: false,
        looks_ahead: false,
        exempts_opposite_reads: false,
        estimates_longer: false,
        converts_long_apart: false,
        works_around: false,
        double_interval: 64,
    };

    pub fn of(sm: u16, release: &Release) -> Self {
        let machine = match sm {
            103 => Machine::Of103,
            110 => Machine::Of110,
            _ if sm < 120 => Machine::Of100,
            _ => Machine::Of120,
        };
        Self {
            machine,
            waits_at_ends: release.waits_at_ends(),
            begins_early: release.begins_early(),
            meets_with_uniform: release.meets_with_uniform(),
            meets_with_copies: release.meets_with_copies(),
            looks_ahead: release.looks_ahead(),
            exempts_opposite_reads: release.exempts_opposite_reads(),
            estimates_longer: release.estimates_longer(),
            converts_long_apart: release.converts_long_apart(),
            works_around: release.names_workaround(),
            double_interval: release.double_interval(),
        }
    }
}

/// Operations whose results take so long that one scoreboard is kept for those that nothing in the block waits for.
const SLOW: [u16; 12] =
    [LD, LDG, LDG_256, LDL, LDGMC, LDGMC_FLOAT, ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT];
const SLOW_RESULT: i64 = 230;
/// By how much slow results that are not one word are later, for what shares their scoreboard. Anything from 66 to 84 explains
/// the code that was looked at.
const SHARED_SLOW_RESULT: i64 = 75;

/// How long what waits for a conversion of 64 bits waits on sm_120.
const LONG_CONVERSION: i64 = 15;

/// The size of what is loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// 8 or 16 bits.
    Small,
    Word,
    Double,
    Quad,
}
use Size::{Double, Quad, Small, Word};

impl Size {
    fn of(line: &Line) -> Self {
        match line.bits.field(73, 3) {
            0..=3 => Small,
            5 => Double,
            6 => Quad,
            _ => Word,
        }
    }
}

/// Operation, sizes, cycles. Sizes matter for those operations alone that have some.
type Table = [(u16, &'static [Size], i64)];

/// What a family has for itself: it goes before the tables for all.
struct Estimates {
    /// Until the result of an operation is written that is in no table.
    result: i64,
    results: &'static [&'static Table],
    /// Until the operands have been read.
    reads: &'static [&'static Table],
}

/// Machines that do double precision and conversions of 64 bits slowly.
const SLOW_DOUBLE_RESULTS: &Table = &[
    (DMMA, &[], 584),
    // 64 explains most real code; 50 is too short for it and 84 too long.
    (IMMA, &[], 64),
    (F2F_DOUBLE, &[], 1),
    (F2I_DOUBLE, &[], 1),
    (I2F_DOUBLE, &[], 1),
    (FRND_DOUBLE, &[], 1),
];
const LONG_CONVERSION_READS: &Table =
    &[(F2F_DOUBLE, &[], 2), (F2I_DOUBLE, &[], 2), (I2F_DOUBLE, &[], 2), (FRND_DOUBLE, &[], 2)];

const READS_OF_100: &Table = &[(SHFL, &[], 7)];
const RESULTS_OF_100: &Table = &[(REDUX, &[], 24)];
/// Anything from 12 to 16 explains the code that was looked at.
const PRODUCTS_OF_100: &Table = &[(DMMA, &[], 16)];
const OF_100: Estimates =
    Estimates { result: 23, results: &[PRODUCTS_OF_100, RESULTS_OF_100], reads: &[READS_OF_100] };
const OF_103: Estimates = Estimates {
    results: &[SLOW_DOUBLE_RESULTS, RESULTS_OF_100],
    reads: &[READS_OF_100, LONG_CONVERSION_READS],
    ..OF_100
};
const OF_110: Estimates = Estimates {
    results: &[&[(BREV, &[], 15)], SLOW_DOUBLE_RESULTS, RESULTS_OF_100],
    reads: &[READS_OF_100, LONG_CONVERSION_READS],
    ..OF_100
};
const OF_120: Estimates = Estimates {
    result: 24,
    results: &[&[
        (MUFU, &[], 18),
        (DMMA, &[], 584),
        (FLO, &[], 15),
        (BREV, &[], 15),
        (F2F_DOUBLE, &[], 2),
        (F2I_DOUBLE, &[], 2),
        // Anything from 13 to 15 explains the code that was looked at.
        (I2F_DOUBLE, &[], 14),
        (FRND_DOUBLE, &[], 2),
    ]],
    reads: &[&[(STS, &[Double], 11), (SHFL, &[], 8)], LONG_CONVERSION_READS],
};

/// What lasts longer from 13.1 on, on sm_103 and sm_110: conversions of 64 bits, and loads of constants of 64 bits.
const LONGER: &Table = &[
    (LDC, &[Double], 49),
    (F2F_DOUBLE, &[], 2),
    (F2I_DOUBLE, &[], 2),
    (I2F_DOUBLE, &[], 2),
    (FRND_DOUBLE, &[], 2),
];

/// What double precision reads is read a cycle later from 13.1 on.
const LONGER_DOUBLE_READS: i64 = 2;

impl Family {
    fn estimates(self) -> &'static Estimates {
        match self.machine {
            Machine::Of100 => &OF_100,
            Machine::Of103 => &OF_103,
            Machine::Of110 => &OF_110,
            Machine::Of120 => &OF_120,
        }
    }
}

/// Until the result is written.
const RESULTS: &Table = &[
    // Double precision, where it is not of fixed latency: nearly always over at the end of a block.
    (DMUL, &[], 2),
    (DADD, &[], 2),
    (DSETP, &[], 2),
    (DFMA, &[], 2),
    // Anything from 14 to 17 explains the code that was looked at.
    (BMOV, &[], 16),
    // At least 25.
    (SYNCS_EXCH, &[], 25),
    (MUFU, &[], 17),
    (S2R, &[], 32),
    (LDC, &[], 48),
    (LDS, &[], 40),
    (LDSM, &[], 40),
    (LDCU, &[], 18),
    (POPC, &[], 15),
    (FLO, &[], 14),
    (BREV, &[], 14),
    (F2I, &[], 16),
    (I2F, &[], 16),
    (F2F_DOUBLE, &[], 16),
    (F2I_DOUBLE, &[], 16),
    (I2F_DOUBLE, &[], 15),
];

/// By how much `SHFL` with its distance or mask in a register is later than others on sm_100.
const SHUFFLE_BY_REGISTER: i64 = 1;

/// Until the operands have been read.
const OPERANDS: i64 = 10;
const LOADS: [u16; 6] = [LD, LDG, LDL, LDS, LDSM, LDTM];
const LOAD_OPERANDS: i64 = 8;
const STORES: [u16; 4] = [ST, STG, STL, STS];
const OTHER_STORES: [u16; 3] = [STSM, STAS, STTM];
const STORE_OPERANDS: i64 = 12;
/// A store of zero, whose value is in no register.
const STORE_OF_ZERO: i64 = 8;
const GENERIC_STORE_OF_ZERO: i64 = 6;
/// A store to shared memory whose address is in a uniform register.
const UNIFORM_STORE: i64 = 8;
/// The form of `SHFL` whose distance and mask are in no register, and of `ATOMS` without a value; and those of `SHFL` with one of them in a register, at this byte.
const ALL_IMMEDIATE: u16 = 7;
const ONE_REGISTER: [(u16, u32); 2] = [(2, 4), (4, 8)];
/// `SHFL` with the zero register for one of them.
const SHUFFLE_OF_ZERO: i64 = 8;
/// `ATOMS` that counts, which has an address only.
const COUNT_OPERANDS: i64 = 8;
const READS: &Table = &[
    (DMMA, &[], 1),
    (DMUL, &[], 1),
    (DADD, &[], 1),
    (DFMA, &[], 1),
    (MUFU, &[], 9),
    (POPC, &[], 9),
    (F2I, &[], 9),
    (F2F_DOUBLE, &[], 9),
    (F2I_DOUBLE, &[], 9),
    (I2F_DOUBLE, &[], 9),
    (FRND_DOUBLE, &[], 9),
    // At most.
    (BAR, &[], 8),
    (LD, &[Small, Word], 9),
    (LDG, &[], 10),
    (ATOMG, &[], 11),
    (LDGSTS, &[], 12),
    (ATOMS, &[], 9),
    // At most: all that is seen is that it is over 6 cycles later.
    (UTMASTG, &[], 6),
    (UBLKCP, &[], 2),
    (UBLKRED, &[], 2),
    // At most 8.
    (UMEMSETS, &[], 2),
    (SURED, &[], 8),
    (UTMALDG, &[], 2),
    (UTMAREDG, &[], 2),
    (UTMAPF, &[], 1),
    (UBLKPF, &[], 1),
    // `UTMACCTL.PF`; `UTMACCTL.IV` is read later.
    (UTMACCTL, &[], 1),
    (STS, &[Small, Word], 10),
    (STL, &[Small, Word], 10),
    (ST, &[Double], 14),
    (STG, &[Double], 14),
    (ST, &[Quad], 17),
    (STS, &[Quad], 17),
    (STL, &[Quad], 17),
    (STG, &[Quad], 17),
];
const FENCE_OPERANDS: i64 = 4;
const BARRIER_OPERANDS: i64 = 4;
/// At least 5, at most.
const FORGET_TENSOR_OPERANDS: i64 = 8;
const NO_REGISTER: u8 = 255;

/// Double precision, where it is not of fixed latency.
pub fn is_double(operation: u16) -> bool {
    DOUBLE.contains(&operation)
}

/// Whether the result of this operation takes very long.
pub fn is_slow(operation: u16) -> bool {
    SLOW.contains(&operation)
}

/// Until the result of this instruction is written.
pub fn of_result(line: &Line, family: Family) -> i64 {
    if is_slow(line.operation()) || is_texture(line.operation()) {
        return SLOW_RESULT;
    }
    let own = family.estimates();
    let longer = match family.machine {
        Machine::Of103 | Machine::Of110 if family.estimates_longer => find(LONGER, line),
        _ => None,
    };
    let latency =
        longer.or_else(|| find_own(own.results, line)).or_else(|| find(RESULTS, line)).unwrap_or(own.result);
    let is_late = family.machine != Machine::Of120 && is_shuffle_by_register(line);
    latency + i64::from(is_shift_amount(line)) + if is_late { SHUFFLE_BY_REGISTER } else { 0 }
}

/// How long what waits for this result waits, where that is more than the time after which a block may end.
pub fn of_wait(line: &Line, family: Family) -> i64 {
    let is_slow = family.machine == Machine::Of120 && LONG_CONVERSIONS.contains(&line.operation());
    if is_slow { LONG_CONVERSION } else { 0 }
}

/// How much later than it is ready a slow result is taken to be by what shares its scoreboard.
pub fn delay_of_sharers(line: &Line) -> i64 {
    if Size::of(line) == Word { 0 } else { SHARED_SLOW_RESULT }
}

/// `FLO.SH`, which says how far to shift instead of where the bit is: that takes a cycle more.
fn is_shift_amount(line: &Line) -> bool {
    line.operation() == FLO && line.bits.field(74, 1) != 0
}

/// Until this instruction has read its operands.
pub fn of_operands(line: &Line, family: Family) -> i64 {
    let operation = line.operation();
    if family.estimates_longer && is_double(operation) {
        return LONGER_DOUBLE_READS;
    }
    if STORES.contains(&operation) && line.bits.byte(4) == NO_REGISTER {
        let is_generic = operation == ST && Size::of(line) == Word;
        return if is_generic { GENERIC_STORE_OF_ZERO } else { STORE_OF_ZERO };
    }
    if operation == STS && line.bits.byte(3) == NO_REGISTER {
        return UNIFORM_STORE;
    }
    if is_shuffle_of_zero(line) {
        return SHUFFLE_OF_ZERO;
    }
    if operation == ATOMS && line.bits.form() == ALL_IMMEDIATE {
        return COUNT_OPERANDS;
    }
    if line.bits.forgets_tensor() {
        return FORGET_TENSOR_OPERANDS;
    }
    let own = if is_shuffle_by_register(line) { &[] } else { family.estimates().reads };
    if let Some(latency) = find_own(own, line).or_else(|| find(READS, line)) {
        return latency;
    }
    match operation {
        MEMBAR => FENCE_OPERANDS,
        SYNCS_CCTL | SYNCS_EXCH => BARRIER_OPERANDS,
        operation if LOADS.contains(&operation) => LOAD_OPERANDS,
        operation if STORES.contains(&operation) || OTHER_STORES.contains(&operation) => STORE_OPERANDS,
        _ => OPERANDS,
    }
}

fn is_shuffle_by_register(line: &Line) -> bool {
    line.operation() == SHFL && line.bits.form() != ALL_IMMEDIATE
}

/// `SHFL` by constants, one of them zero: it is the zero register then, which takes longer than a constant and not as long as others.
fn is_shuffle_of_zero(line: &Line) -> bool {
    let is_zero = |(form, at): (u16, u32)| line.bits.form() == form && line.bits.byte(at) == NO_REGISTER;
    line.operation() == SHFL && ONE_REGISTER.into_iter().any(is_zero)
}

fn find_own(tables: &[&Table], line: &Line) -> Option<i64> {
    tables.iter().find_map(|table| find(table, line))
}

fn find(table: &Table, line: &Line) -> Option<i64> {
    let is = |row: &&(u16, &[Size], i64)| {
        row.0 == line.operation() && (row.1.is_empty() || row.1.contains(&Size::of(line)))
    };
    table.iter().find(is).map(|row| row.2)
}

/// Whether this is integer arithmetic of 64 bits where that takes longer than other: its results do, and its unit. `SEL.64` and
/// `ISETP` of 64 bits have a mark for it; `MOV.64` and `IMNMX` of 64 bits write two registers.
pub fn is_long(line: &Line, family: Family) -> bool {
    family.machine == Machine::Of120
        && match line.operation() {
            IADD => line.bits.is_long_sum(),
            SEL => line.bits.is_long_selection(),
            ISETP => line.bits.field(80, 1) != 0,
            MOV | IMNMX => line.writes.iter(File::General).count() == 2,
            _ => false,
        }
}

/// How long after an instruction another one can use its result, where that latency is fixed. `place` is the register's.
pub fn of_operand(writer: &Line, reader: &Line, place: usize, family: Family) -> i64 {
    let is_double = is_double(writer.operation());
    let is_long = is_long(writer, family);
    // Values of 64 bits go on from one such operation to the next as fast as others.
    let goes_on = self::is_long(reader, family) && reader.operation() != ISETP;
    match File::at(place) {
        File::General if matches!(writer.operation(), HMMA | IMMA) => 20,
        File::General if is_double => 10,
        File::General if self::is_double(reader.operation()) => 6,
        File::General if writer.operation() == IMAD_WIDE => 6,
        File::General if is_long && !goes_on => 6,
        File::General => 5,
        // `VOTE` takes predicates as late as guards.
        File::Predicate if reader.is_branch() || reader.is_guard(place) || reader.operation() == VOTE => {
            13 + i64::from(is_double || is_long)
        }
        File::Predicate => 5 + i64::from(is_double || is_long),
        File::Uniform if writer.operation() == R2UR && MEMORY.contains(&reader.operation()) => 13,
        File::Uniform if reader.is_uniform() => 4,
        File::Uniform if MEMORY.contains(&reader.operation()) => 9,
        File::Uniform => 6,
        File::UniformPredicate if reader.is_branch() => 9,
        File::UniformPredicate if reader.is_guard(place) => 11,
        File::UniformPredicate => 4,
        File::Barrier => 0,
    }
}

/// The operations of the units for memory.
const MEMORY: std::ops::RangeInclusive<u16> = 0x180..=0x1ff;

#[cfg(test)]
mod tests {
    use super::{Family, Machine, of_operands, of_result};
    use crate::instruction::{Instruction, SIZE};
    use crate::schedule::instructions::Line;

    fn line(bits: u128) -> Line {
        let lines = Line::all(&Instruction(bits).0.to_le_bytes()).expect("a known operation");
        assert_eq!((lines.len(), SIZE), (1, 16));
        lines[0]
    }

    const OF_120: Family = Family { machine: Machine::Of120, ..Family::OF_100 };

    #[test]
    fn by_operation_and_size() {
        let load = |size: u128| line(0x0000_0000_0000_0000_0000_0000_0204_7984 | size << 73);
        assert_eq!([4, 5, 6].map(|size| of_result(&load(size), Family::OF_100)), [40; 3]);
        assert_eq!(of_operands(&load(4), OF_120), 8);
        // LDG
        assert_eq!(of_result(&line(0x0c1e_1900_0000_0004_040a_7981), Family::OF_100), 230);
        // STG of a register, and of none
        assert_eq!(of_operands(&line(0x0c10_1908_0000_0007_0200_7986), Family::OF_100), 12);
        assert_eq!(of_operands(&line(0x0c10_1908_0000_00ff_0200_7986), Family::OF_100), 8);
    }
}
