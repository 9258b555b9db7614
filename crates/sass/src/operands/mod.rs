//! Which registers an instruction reads and writes.
//!
//! The places of operands are in `table`; here is how they depend on the form and the marks of an instruction.

pub mod exact;

use crate::instruction::Instruction;
use crate::registers::{File, Registers};
use crate::table::{
    ATOMIC, Arithmetic, BARRIER, COORDINATES, FIRST_PAIR, FIXED, FIXED_FORMS, FLOAT_ATOMIC, FLOAT_REDUCTION,
    GENERAL, IF_UNIFORM, MATCH, MIN_MAX, ORDERING, Operand, PREDICATES, PREDICATES_TO_REGISTER,
    REGISTER_TO_PREDICATES, REGISTER_TO_UNIFORM_PREDICATES, RESULT_TYPE, SECOND_PAIR, SHARED, SIZE,
    SOURCE_TYPE, TENSOR, THIRD_PAIR, UNIFORM, UNIFORM_PREDICATES_TO_REGISTER, WIDE, Width, is_shared_uniform,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    pub reads: Registers,
    pub writes: Registers,
    /// The guard, which is read when the instruction is issued, and so never too late.
    pub guard: Registers,
}

/// Whether everything that was over before this instruction must stay so.
pub fn is_ordering(instruction: Instruction) -> bool {
    ORDERING.binary_search(&instruction.operation()).is_ok()
}

/// Whether the scoreboards of this instruction are about more than registers.
pub fn is_ordering_producer(instruction: Instruction) -> bool {
    is_ordering(instruction) || instruction.operation() == BARRIER
}

impl Operands {
    /// `None` if this is not known, so that every register may be read and written.
    pub fn of(instruction: Instruction) -> Option<Self> {
        let mut operands = Self::default();
        each(instruction, |use_of| {
            let registers = match use_of.access {
                Access::Read => &mut operands.reads,
                Access::Write => &mut operands.writes,
                Access::Guard => &mut operands.guard,
            };
            registers.insert(use_of.file, use_of.first, use_of.count);
        })?;
        Some(operands)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    Guard,
}

/// Registers that an instruction uses: so many from the first on.
#[derive(Clone, Copy, Debug)]
struct Use {
    file: File,
    first: u8,
    count: u16,
    access: Access,
}

/// Whether an instruction uses this general register. `None` if this is not known.
pub fn uses_general(instruction: Instruction, register: u8) -> Option<bool> {
    // Registers are counted up from the first one.
    let uses = |operand: &Operand| {
        operand.file == File::General && operand.width != 0 && {
            let first = instruction.field(operand.at.into(), 8) as u8;
            first <= register && u16::from(register - first) < count(instruction, operand.width)
        }
    };
    match kind(instruction) {
        Kind::Unknown => None,
        Kind::Fixed(row) => Some(FIXED[usize::from(row)].1.iter().any(uses)),
        Kind::FixedForms(row) => Some(FIXED_FORMS[usize::from(row)].1.iter().any(uses)),
        Kind::General(row) => {
            Some(places(instruction, File::General, GENERAL[usize::from(row)])?.iter().any(uses))
        }
        Kind::Uniform(row) => {
            Some(places(instruction, File::Uniform, UNIFORM[usize::from(row)])?.iter().any(uses))
        }
        Kind::Predicates => {
            // With an immediate, the last one is that.
            let bytes: &[u32] = if instruction.form() == 1 { &[2, 3, 4] } else { &[2, 3] };
            Some(bytes.iter().any(|byte| instruction.byte(*byte) == register))
        }
        Kind::Shared | Kind::UniformPredicates => Some(false),
    }
}

/// Calls back for all that an instruction uses. `None` if this is not known.
fn each(instruction: Instruction, mut found: impl FnMut(Use)) -> Option<()> {
    const P: File = File::Predicate;
    const UP: File = File::UniformPredicate;
    let mut guard = |files: &[File]| {
        for &file in files {
            found(Use { file, first: instruction.guard() & 7, count: 1, access: Access::Guard });
        }
    };
    match kind(instruction) {
        Kind::Unknown => return None,
        Kind::Fixed(row) => {
            guard(&[P, UP]);
            for operand in FIXED[usize::from(row)].1 {
                found(operand_use(instruction, *operand));
            }
        }
        Kind::FixedForms(row) => {
            guard(&[P, UP]);
            for operand in FIXED_FORMS[usize::from(row)].1 {
                found(operand_use(instruction, *operand));
            }
        }
        Kind::Shared => {
            guard(&[UP]);
            let row = SHARED.iter().find(|(opcode, _)| *opcode == instruction.opcode())?;
            for operand in row.1 {
                found(operand_use(instruction, *operand));
            }
        }
        Kind::General(row) => {
            guard(&[P]);
            arithmetic(instruction, File::General, GENERAL[usize::from(row)], found)?;
        }
        Kind::Uniform(row) => {
            guard(&[P, UP]);
            arithmetic(instruction, File::Uniform, UNIFORM[usize::from(row)], found)?;
        }
        Kind::Predicates => {
            guard(&[P]);
            let is_from = instruction.operation() == PREDICATES_TO_REGISTER;
            let access = if is_from { Access::Read } else { Access::Write };
            found(Use { file: P, first: 0, count: 7, access });
            let general = |byte: u32, access: Access| Use {
                file: File::General,
                first: instruction.byte(byte),
                count: 1,
                access,
            };
            found(general(3, Access::Read));
            if is_from {
                found(general(2, Access::Write));
            }
            if instruction.form() == 1 {
                found(general(4, Access::Read));
            }
        }
        Kind::UniformPredicates => {
            guard(&[P, UP]);
            let is_from = instruction.operation() == UNIFORM_PREDICATES_TO_REGISTER;
            let access = if is_from { Access::Read } else { Access::Write };
            found(Use { file: UP, first: 0, count: 7, access });
            let uniform = |byte: u32, access: Access| Use {
                file: File::Uniform,
                first: instruction.byte(byte),
                count: 1,
                access,
            };
            found(uniform(3, Access::Read));
            if is_from {
                found(uniform(2, Access::Write));
            }
        }
    }
    Some(())
}

fn operand_use(instruction: Instruction, operand: Operand) -> Use {
    let width = match operand.file {
        File::General | File::Uniform => 8,
        File::Predicate | File::UniformPredicate => 3,
        File::Barrier => 4,
    };
    Use {
        file: operand.file,
        first: instruction.field(operand.at.into(), width) as u8,
        count: count(instruction, operand.width),
        access: if operand.is_written { Access::Write } else { Access::Read },
    }
}

/// The result and the operands of arithmetic by its form: with registers only (1), with an immediate as the last operand
/// (2) or as the one before (4), with a uniform register there (6) or as the last (7). The others have constants, which no
/// instruction of these architectures has.
fn places(
    instruction: Instruction,
    file: File,
    (_, forms, [result, first, second, third], _): Arithmetic,
) -> Option<[Operand; 4]> {
    if forms >> instruction.form() & 1 == 0 {
        return None;
    }
    let at = |byte: u8, width: Width| Operand { file, at: byte * 8, width, is_written: false };
    let uniform = |width: Width| Operand { file: File::Uniform, at: 32, width, is_written: false };
    let two = if third == 0 { second } else { third };
    let [low, high] = match (instruction.form(), second == 0 || third == 0) {
        (1, _) => [at(4, second), at(8, third)],
        (2, true) => [at(4, 0), at(8, 0)],
        (2, false) => [at(4, 0), at(8, second)],
        (4, _) => [at(4, 0), at(8, third)],
        (6, _) => [uniform(second), at(8, third)],
        (7, true) => [uniform(two), at(8, 0)],
        (7, false) => [uniform(third), at(8, second)],
        _ => return None,
    };
    Some([Operand { is_written: true, ..at(2, result) }, at(3, first), low, high])
}

fn arithmetic(
    instruction: Instruction,
    file: File,
    row: Arithmetic,
    mut found: impl FnMut(Use),
) -> Option<()> {
    for operand in places(instruction, file, row)? {
        found(operand_use(instruction, operand));
    }
    let file = if file == File::General { File::Predicate } else { File::UniformPredicate };
    for (_, at, is_written) in PREDICATES.into_iter().filter(|(mask, ..)| row.3 & mask != 0) {
        found(operand_use(instruction, Operand { file, at, width: 1, is_written }));
    }
    Some(())
}

/// Which table an opcode is in, and where.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Unknown,
    Fixed(u8),
    FixedForms(u8),
    General(u8),
    Uniform(u8),
    /// One of the uniform instructions in `SHARED`.
    Shared,
    /// Moves all predicates to or from a register.
    Predicates,
    UniformPredicates,
}

/// The table that an instruction is in.
fn kind(instruction: Instruction) -> Kind {
    // Scale factors may be chosen by a uniform register, whose number is in two places. Nobody does.
    let is_scaled = matches!(instruction.opcode(), 0x47a | 0x47f);
    let has_selector = is_scaled && (instruction.field(60, 3) != 7 || instruction.field(73, 5) != 0x1f);
    if is_shared_uniform(instruction) {
        return Kind::Shared;
    }
    // Of what is done to caches of local memory nothing is known but prefetches.
    let is_other = instruction.opcode() == 0x990 && instruction.field(87, 4) > 1;
    if has_selector || is_other { Kind::Unknown } else { KINDS[usize::from(instruction.opcode())] }
}

const OPERATIONS: usize = 0x200;

/// By opcode. A row for an opcode goes before those for an operation.
static KINDS: [Kind; 8 * OPERATIONS] = {
    let mut kinds = [Kind::Unknown; 8 * OPERATIONS];
    let mut form = 0;
    while form < 8 {
        let base = form * OPERATIONS;
        let mut row = 0;
        while row < GENERAL.len() {
            kinds[base + GENERAL[row].0 as usize] = Kind::General(row as u8);
            row += 1;
        }
        row = 0;
        while row < UNIFORM.len() {
            kinds[base + UNIFORM[row].0 as usize] = Kind::Uniform(row as u8);
            row += 1;
        }
        row = 0;
        while row < FIXED_FORMS.len() {
            kinds[base + FIXED_FORMS[row].0 as usize] = Kind::FixedForms(row as u8);
            row += 1;
        }
        kinds[base + PREDICATES_TO_REGISTER as usize] = Kind::Predicates;
        kinds[base + REGISTER_TO_PREDICATES as usize] = Kind::Predicates;
        form += 1;
    }
    // With a number as the mask: no other form has been seen.
    kinds[4 * OPERATIONS + UNIFORM_PREDICATES_TO_REGISTER as usize] = Kind::UniformPredicates;
    kinds[4 * OPERATIONS + REGISTER_TO_UNIFORM_PREDICATES as usize] = Kind::UniformPredicates;
    let mut row = 0;
    while row < FIXED.len() {
        kinds[FIXED[row].0 as usize] = Kind::Fixed(row as u8);
        row += 1;
    }
    kinds
};

/// How many registers an operand takes.
fn count(instruction: Instruction, width: Width) -> u16 {
    let is = |at: u32, width: u32, value: u64| instruction.field(at, width) == value;
    match width {
        WIDE => 1 + instruction.field(80, 1) as u16,
        RESULT_TYPE => 1 + u16::from(is(75, 2, 3)),
        SOURCE_TYPE => 1 + u16::from(is(84, 2, 3)),
        SIZE => match instruction.field(73, 3) {
            0..=4 => 1,
            5 => 2,
            _ => 4,
        },
        ATOMIC => match instruction.field(73, 3) {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => 4,
        },
        FLOAT_ATOMIC => match instruction.field(73, 4) {
            0 | 3 | 9 => 1,
            1 | 4 | 10 | 15 => 2,
            _ => 4,
        },
        // Of bytes or of larger numbers.
        FLOAT_REDUCTION => match (is(87, 1, 1), instruction.field(73, 4)) {
            (false, 0 | 3 | 12) | (true, 1 | 4) => 1,
            (false, 1 | 4 | 13 | 15) | (true, 2 | 5) => 2,
            _ => 4,
        },
        TENSOR => {
            let each = match instruction.field(80, 3) {
                4 | 6 => 1,
                0 => 2,
                _ => 4,
            };
            each << instruction.field(83, 3)
        }
        MIN_MAX => 1 + instruction.field(74, 1) as u16,
        MATCH => 1 + instruction.field(73, 1) as u16,
        FIRST_PAIR => 2 - u16::from(is(81, 2, 2)),
        SECOND_PAIR => 2 - u16::from(is(87, 2, 2)),
        THIRD_PAIR => 2 - u16::from(is(84, 2, 2)),
        COORDINATES if is(61, 3, 0) => 1,
        COORDINATES => 4,
        IF_UNIFORM => instruction.field(91, 1) as u16,
        count => count.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Operands, uses_general};
    use crate::instruction::Instruction;
    use crate::registers::File::{self, General, Predicate, Uniform};
    use crate::table::{FIXED, FIXED_FORMS, GENERAL, ORDERING, SHARED, UNIFORM};

    fn check(instruction: u128, reads: &[(File, &[u16])], writes: &[(File, &[u16])]) {
        let operands = Operands::of(Instruction(instruction)).expect("a known operation");
        for file in [General, Uniform, Predicate] {
            let expected = |list: &[(File, &[u16])]| {
                list.iter().find(|row| row.0 == file).map_or(Vec::new(), |row| row.1.to_vec())
            };
            assert_eq!(operands.reads.iter(file).collect::<Vec<_>>(), expected(reads), "{instruction:x}");
            assert_eq!(operands.writes.iter(file).collect::<Vec<_>>(), expected(writes), "{instruction:x}");
        }
    }

    #[test]
    fn tables_are_sorted() {
        assert!(GENERAL.is_sorted_by_key(|row| row.0) && UNIFORM.is_sorted_by_key(|row| row.0));
        assert!(SHARED.is_sorted_by_key(|row| row.0));
        assert!(FIXED.is_sorted_by_key(|row| row.0) && FIXED_FORMS.is_sorted_by_key(|row| row.0));
        assert!(ORDERING.is_sorted());
    }

    #[test]
    fn operands_of_all_kinds() {
        // DFMA R12, R14, UR4, R40
        let dfma = 0x000fe200_08000028_00000004_0e0c7c2b;
        check(dfma, &[(General, &[14, 15, 40, 41]), (Uniform, &[4, 5])], &[(General, &[12, 13])]);
        // @P0 IADD3.X R0, PT, PT, R0, 0x3fe00000, R3, P2, P3
        let iadd3 = 0x000fc800_017e6403_3fe00000_00000810;
        check(iadd3, &[(General, &[0, 3]), (Predicate, &[2, 3])], &[(General, &[0])]);
        // LDG.E.64.CONSTANT R8, desc[UR4][R8.64]
        let load = 0x000ea200_0c1e9b00_00000004_08087981;
        check(load, &[(General, &[8, 9]), (Uniform, &[4, 5])], &[(General, &[8, 9])]);
        // SHFL.DOWN P0, R3, R4, 0x1, 0x1f
        check(
            0x000e2200_00000000_08201f00_04037f89,
            &[(General, &[4])],
            &[(General, &[3]), (Predicate, &[0])],
        );
        // MOV.64 R10, 0x3ed0f5d241ad3b5a
        check(0x001fde00_003ed0f5_d241ad3b_5a0a7402, &[], &[(General, &[10, 11])]);
        // UVIMNMX.U32 UR7, UR7, UR9, UPT and FMUL2 R4, R4, R18 have the same opcode.
        check(0x000fc600_0bfe0000_00000009_0707724a, &[(Uniform, &[7, 9])], &[(Uniform, &[7])]);
        let product = 0x000fd000_00000000_00000012_0404724a;
        check(product, &[(General, &[4, 5, 18, 19])], &[(General, &[4, 5])]);
        // FFMA2 R24, R36.F32x2.LO_HI, R49.F32, R24.F32x2.HI_LO
        let fused = 0x000fc600_01020018_00000031_24187249;
        check(fused, &[(General, &[24, 25, 36, 37, 49])], &[(General, &[24, 25])]);
        // FFMA2 R26, R51.F32, R46.F32, RZ.F32
        let fused = 0x000fc600_012400ff_0000002e_331a7249;
        check(fused, &[(General, &[46, 51])], &[(General, &[26, 27])]);
        // F2I.S64.TRUNC R20, R24
        check(0x000ff000_0020d900_00000018_00147311, &[(General, &[24])], &[(General, &[20, 21])]);
    }

    #[test]
    fn atomics_by_their_type() {
        // REDG.E.MAX.F16x8.RN.STRONG.GPU desc[UR6][R8.64+0x10], R4
        let of_halves = 0x002fe800_0e12e506_00001004_080079a6;
        check(of_halves, &[(General, &[4, 5, 6, 7, 8, 9]), (Uniform, &[6, 7])], &[]);
        // ATOMG.E.ADD.BF16x4.RN.STRONG.GPU PT, R12, desc[UR6][R8.64], R12
        let of_four = 0x001eee00_0c1ee906_8000000c_080c79a3;
        check(of_four, &[(General, &[8, 9, 12, 13]), (Uniform, &[6, 7])], &[(General, &[12, 13])]);
        // LDGMC.E.ADD.F32x4.RN.STRONG.SYS R8, [R2.64+URZ] and LDGMC.E.MIN.64.STRONG.SYS R2, [RZ.U32+UR4]
        check(0x001ea200_08035dff_00000000_020879a5, &[(General, &[2, 3])], &[(General, &[8, 9, 10, 11])]);
        check(0x001ea800_08814504_00000000_ff0279a4, &[(Uniform, &[4, 5])], &[(General, &[2, 3])]);
    }

    #[test]
    fn one_register_alone() {
        // P2R R2, PR, RZ, 0x1: the immediate is not a register
        let to_register = Instruction(0x000fe400_00000000_00000001_ff027803);
        assert_eq!(
            [1, 2, 0].map(|register| uses_general(to_register, register)),
            [Some(false), Some(true), Some(false)]
        );
        // DFMA R12, R14, UR4, R40
        let dfma = Instruction(0x000fe200_08000028_00000004_0e0c7c2b);
        let used: Vec<u8> =
            (0..=255).filter(|register| uses_general(dfma, *register) == Some(true)).collect();
        assert_eq!(used, [12, 13, 14, 15, 40, 41]);
        assert_eq!(uses_general(Instruction(0x7fff), 1), None);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(Operands::of(Instruction(0x7fff)), None);
        // QMMA.SF with UR4 as the selector
        assert_eq!(Operands::of(Instruction(0x000fe200_00008010_40f00e0c_0810747a)), None);
        // FADD with a constant: no such form.
        assert_eq!(Operands::of(Instruction(0x7a21)), None);
    }
}
