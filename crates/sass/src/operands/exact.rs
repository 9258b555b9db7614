//! Which registers an instruction uses, exactly.
//!
//! The checker may take an instruction to use more registers than it does. The schedule must not: a register too many is
//! a wait too many. So this is what the checker knows, without what the instruction has no use for.

use super::Operands;
use crate::instruction::Instruction;
use crate::operation::{
    ATOM, ATOM_FLOAT, ATOMG, ATOMG_FLOAT, BAR, CCTL, HMMA, IMMA, LD, LDG, LDG_256, LDGSTS, LDSM, R2UR, REDG,
    REDG_FLOAT, ST, STG, STSM, SURED, SUST, SUST_FORMATTED, SYNCS_CCTL, UBLKCP, UBLKPF, UBLKRED, UTMALDG,
    UTMAPF, UTMAREDG, UTMASTG,
};
use crate::registers::{File, Registers};
use crate::table::PREDICATES_TO_REGISTER;

const NO_REGISTER: u8 = 255;
const VIMNMX3: u16 = 0x00f;
const PLOP3: u16 = 0x01c;
const MOVM: u16 = 0x03a;
const QMMA: u16 = 0x07a;
const VOTEU: u16 = 0x086;
const NANOSLEEP: u16 = 0x15d;
const TEX: u16 = 0x160;
const TLD4: u16 = 0x163;
const TLD: u16 = 0x166;
const TXD: u16 = 0x16c;
const TXQ: u16 = 0x16f;
const SULD_FORMATTED: u16 = 0x197;
const SULD: u16 = 0x199;

/// `None` if it is not known what the instruction does. The guard is not among them.
pub fn operands(bits: Instruction) -> Option<Operands> {
    let mut operands = Operands::of(bits)?;
    match bits.operation() {
        VIMNMX3 | PLOP3 | R2UR | VOTEU | LDGSTS => predicates(bits, &mut operands),
        PREDICATES_TO_REGISTER if bits.form() == IMMEDIATE => mask(bits, &mut operands),
        BAR | NANOSLEEP => barrier(bits, &mut operands),
        QMMA if bits.form() == 1 => byte_matrix(bits, &mut operands),
        HMMA => float_matrix(bits, &mut operands),
        IMMA => integer_matrix(bits, &mut operands),
        LDSM => set(&mut operands.writes, bits.byte(2), matrices(bits)),
        STSM => {
            set(&mut operands.reads, bits.byte(3), 1);
            add(&mut operands.reads, bits.byte(4), matrices(bits));
        }
        TEX | TLD4 | TLD | TXD => texture(bits, &mut operands),
        // That which makes bytes of half bytes has two results.
        MOVM => set(&mut operands.writes, bits.byte(2), 1 + u16::from(bits.field(75, 4) != 0)),
        TXQ => query(bits, &mut operands),
        LDG_256 => wide_load(bits, &mut operands.writes),
        // `SYNCS.CCTL.IVALL` has no address.
        SYNCS_CCTL if bits.field(64, 32) == 0 => operands.reads = Registers::default(),
        SULD | SUST | SURED | SULD_FORMATTED | SUST_FORMATTED => surface(bits, &mut operands),
        LD | LDG | ST | STG | ATOM | ATOMG | REDG | CCTL | ATOM_FLOAT | ATOMG_FLOAT | REDG_FLOAT => {
            address(bits, &mut operands);
        }
        UTMAPF | UBLKPF => prefetch(bits, &mut operands),
        UBLKRED => reduction(bits, &mut operands),
        UTMALDG | UTMASTG | UTMAREDG | UBLKCP => copy(bits, &mut operands),
        _ => {}
    }
    Some(operands)
}

/// The same, exactly only for some: what the checkers take. These are products and moves of matrices, copies of predicates, queries of
/// textures, loads of 256 bits, copies by the tensor unit and their prefetches, what loads from surfaces write, and what loads of plain textures read.
pub fn checked(bits: Instruction) -> Option<Operands> {
    match bits.operation() {
        IMMA
        | HMMA
        | MOVM
        | PREDICATES_TO_REGISTER
        | TXQ
        | UTMAPF
        | UBLKPF
        | UTMALDG
        | UTMASTG
        | UTMAREDG
        | UBLKCP
        | LDG_256 => operands(bits),
        LDSM | STSM if is_usual_matrix(bits) => operands(bits),
        SULD => Some(Operands { writes: operands(bits)?.writes, ..Operands::of(bits)? }),
        TLD if is_plain_texture(bits) => {
            Some(Operands { reads: operands(bits)?.reads, ..Operands::of(bits)? })
        }
        _ => Operands::of(bits),
    }
}

/// Whether it is about a texture of one to three dimensions and has nothing but coordinates.
fn is_plain_texture(bits: Instruction) -> bool {
    bits.byte(4) == NO_REGISTER && bits.field(61, 3) <= 2
}

/// Adds general registers.
fn add(registers: &mut Registers, first: u8, count: u16) {
    registers.insert(File::General, first, count);
}

/// The form with a number as its second source.
const IMMEDIATE: u16 = 4;

/// `P2R` reads the predicates of its mask.
fn mask(bits: Instruction, operands: &mut Operands) {
    operands.reads.remove_all(File::Predicate);
    for predicate in (0..7).filter(|predicate| bits.byte(4) >> predicate & 1 != 0) {
        operands.reads.insert(File::Predicate, predicate, 1);
    }
}

/// Makes these the only general registers.
fn set(registers: &mut Registers, first: u8, count: u16) {
    registers.remove_all(File::General);
    add(registers, first, count);
}

/// `UBLKRED` has an address in memory, one in shared memory, a size, and perhaps a descriptor of how to cache.
fn reduction(bits: Instruction, operands: &mut Operands) {
    let reads = &mut operands.reads;
    reads.remove_all(File::Uniform);
    let mut add = |at: u32, count: u16| reads.insert(File::Uniform, bits.byte(at), count);
    add(3, 2);
    add(4, 1);
    add(8, 1);
    if bits.field(76, 1) != 0 {
        add(5, 2);
    }
}

/// A copy has the description of a tensor, or an address; an address in shared memory, or in global memory, with a barrier after it where
/// something is loaded and coordinates if it is of a tensor; offsets, a size or those that it goes to; perhaps a descriptor of how to cache
/// (mercury/copies-of-tensors).
fn copy(bits: Instruction, operands: &mut Operands) {
    const WITH_OFFSETS: u16 = 1;
    const OF_LINES: u16 = 5;
    let reads = &mut operands.reads;
    reads.remove_all(File::Uniform);
    let mut add = |at: u32, count: u16| reads.insert(File::Uniform, bits.byte(at), count);
    let coordinates = |are_lines: u32| {
        if bits.field(are_lines, 1) != 0 { OF_LINES } else { bits.field(79, 3) as u16 + 1 }
    };
    match bits.operation() {
        UTMALDG => {
            add(3, 2);
            add(4, coordinates(84) + 2);
            if bits.form() == WITH_OFFSETS {
                add(8, 1);
            }
        }
        UBLKCP => {
            let is_from_memory = bits.field(74, 1) == 0;
            add(3, if is_from_memory { 2 } else { 1 });
            add(4, 2);
            add(8, 1);
        }
        _ => {
            add(3, 2);
            add(4, coordinates(83) + 1);
        }
    }
    if bits.field(76, 1) != 0 {
        add(5, 2);
    }
}

/// `UTMAPF` has the description of a tensor and coordinates, and offsets in one of its forms; `UBLKPF` an address and a size. Both
/// may have a descriptor of how to cache.
fn prefetch(bits: Instruction, operands: &mut Operands) {
    const WITH_OFFSETS: u16 = 1;
    const GATHERED: u16 = 5;
    let reads = &mut operands.reads;
    reads.remove_all(File::Uniform);
    let mut add = |at: u32, count: u16| reads.insert(File::Uniform, bits.byte(at), count);
    add(3, 2);
    if bits.operation() == UTMAPF {
        let is_gathered = bits.field(84, 1) != 0;
        add(4, if is_gathered { GATHERED } else { bits.field(79, 3) as u16 + 1 });
    }
    if bits.operation() == UBLKPF || bits.form() == WITH_OFFSETS {
        add(8, 1);
    }
    if bits.field(76, 1) != 0 {
        add(5, 2);
    }
}

fn predicates(bits: Instruction, operands: &mut Operands) {
    let Operands { reads, writes, .. } = operands;
    let predicate = |at: u32| bits.field(at, 3) as u8;
    match bits.operation() {
        VIMNMX3 => {
            reads.remove_all(File::Predicate);
            reads.insert(File::Predicate, predicate(87), 1);
        }
        PLOP3 => {
            reads.remove_all(File::Predicate);
            reads.remove_all(File::UniformPredicate);
            reads.insert(File::Predicate, predicate(87), 1);
            reads.insert(File::Predicate, predicate(77), 1);
            let is_uniform = bits.field(67, 1) != 0;
            let file = if is_uniform { File::UniformPredicate } else { File::Predicate };
            reads.insert(file, predicate(68), 1);
        }
        R2UR => writes.remove_all(File::UniformPredicate),
        VOTEU => reads.remove_all(File::UniformPredicate),
        LDGSTS => writes.remove_all(File::Predicate),
        _ => {}
    }
}

/// What has one register at most, where there may be others in other forms.
fn barrier(bits: Instruction, operands: &mut Operands) {
    let has_register = bits.form() == 1 || bits.form() == 2;
    set(&mut operands.reads, bits.byte(4), u16::from(has_register));
    // Only a barrier that reduces (.RED) has a predicate.
    if bits.operation() == BAR && bits.field(78, 1) == 0 {
        operands.reads.remove_all(File::Predicate);
    }
}

/// Operands by the shape, which is one of 16 x 8 results; the operands' depth is given by two bits, and whether one of
/// them is sparse by another.
fn float_matrix(bits: Instruction, operands: &mut Operands) {
    let is_set = |at: u32| bits.field(at, 1) != 0;
    let (is_sparse, is_single, is_tf32) = (is_set(73), is_set(76), is_set(83));
    let depth: u16 = match (is_set(75), is_set(78)) {
        (false, false) => 8,
        (true, false) => 16,
        (false, true) => 4,
        (true, true) => 32,
    };
    let full = if is_tf32 { 8 } else { 16 } * if is_sparse { 2 } else { 1 };
    let first = (4 * depth / full).max(1);
    let second = if is_sparse { first } else { (2 * depth / full).max(1) };
    matrix(bits, operands, [first, second], if is_single { 4 } else { 2 }, is_sparse);
}

/// 16 x 8 results of 32 bytes each.
fn byte_matrix(bits: Instruction, operands: &mut Operands) {
    let is_sparse = bits.field(73, 1) != 0;
    if !is_sparse {
        matrix(bits, operands, [4, 2], 4, false);
    }
}

fn integer_matrix(bits: Instruction, operands: &mut Operands) {
    let is_set = |at: u32| bits.field(at, 1) != 0;
    let is_sparse = is_set(72);
    // By the depth: 16, 32, 64.
    let factors = match (is_sparse, is_set(75), is_set(85), is_set(73)) {
        (false, false, false, false) => [2, 1],
        (false, true, false, false) => [4, 2],
        (true, true, false, false) => [2, 2],
        (true, false, true, false) => [4, 4],
        _ => return,
    };
    matrix(bits, operands, factors, 4, is_sparse);
}

fn matrix(bits: Instruction, operands: &mut Operands, factors: [u16; 2], result: u16, is_sparse: bool) {
    let Operands { reads, writes, .. } = operands;
    set(writes, bits.byte(2), result);
    set(reads, bits.byte(3), factors[0]);
    add(reads, bits.byte(4), factors[1]);
    add(reads, bits.byte(5), u16::from(is_sparse));
    add(reads, bits.byte(8), result);
}

/// How many matrices are loaded from or stored to shared memory, a register each; two for those of 16 x 16.
fn matrices(bits: Instruction) -> u16 {
    1 << (bits.field(72, 2) + bits.field(80, 1))
}

/// Whether it is about matrices of 8 x 8, transposed or not; of other shapes not all forms are known.
fn is_usual_matrix(bits: Instruction) -> bool {
    bits.field(75, 3) == 0 && bits.field(79, 3) == 0
}

/// A mask says which words of the two halves are loaded, each half to the registers from its first one on (mercury/wide-loads).
fn wide_load(bits: Instruction, writes: &mut Registers) {
    let first = bits.field(57, 4).count_ones() as u16;
    let second = (bits.field(61, 3) | bits.field(72, 1) << 3).count_ones() as u16;
    writes.remove_all(File::General);
    for (register, count) in [(bits.byte(2), first), (bits.byte(8), second)] {
        if register != NO_REGISTER {
            add(writes, register, count);
        }
    }
}

/// A mask says which components of the result there are: two in the first registers, the others in the second.
fn components(bits: Instruction, writes: &mut Registers) {
    let count = match bits.operation() {
        TLD4 => 4,
        _ => bits.field(72, 4).count_ones() as u16,
    };
    set(writes, bits.byte(2), count.min(2));
    add(writes, bits.byte(8), count.saturating_sub(2));
}

/// A query reads the level only, if it is about dimensions, as all that assemblers have are.
fn query(bits: Instruction, operands: &mut Operands) {
    components(bits, &mut operands.writes);
    if bits.field(48, 16) == 0 {
        set(&mut operands.reads, bits.byte(3), 1);
    }
}

fn texture(bits: Instruction, operands: &mut Operands) {
    let Operands { reads, writes, .. } = operands;
    components(bits, writes);
    let dimensions = match bits.field(61, 3) {
        0 => 1,
        1 | 4 => 2,
        2 | 3 | 5 => 3,
        _ => 4,
    };
    set(reads, bits.byte(3), dimensions);
    add(reads, bits.byte(4), if bits.operation() == TXD { 4 } else { 1 });
}

fn surface(bits: Instruction, operands: &mut Operands) {
    let dimensions = match bits.field(61, 3) {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 3,
    };
    let size = match (bits.operation(), bits.field(73, 3)) {
        // A mask of components.
        (SULD_FORMATTED | SUST_FORMATTED, _) => bits.field(72, 4).count_ones() as u16,
        (SURED, 2 | 3) | (SULD | SUST, 5) => 2,
        (SURED, _) | (_, 0..=4) => 1,
        _ => 4,
    };
    set(&mut operands.reads, bits.byte(3), dimensions);
    // The handle is one register here.
    operands.reads.remove_all(File::Uniform);
    operands.reads.insert(File::Uniform, bits.byte(5), 1);
    if matches!(bits.operation(), SULD | SULD_FORMATTED) {
        set(&mut operands.writes, bits.byte(2), size);
    } else {
        add(&mut operands.reads, bits.byte(4), size);
    }
}

/// Only some addresses have a descriptor, and what is about the whole cache has no address.
fn address(bits: Instruction, operands: &mut Operands) {
    if bits.form() == 4 && bits.field(91, 1) == 0 {
        operands.reads.remove_all(File::Uniform);
    }
    if bits.operation() == CCTL && matches!(bits.field(87, 4), 4 | 6..=8) {
        operands.reads = Registers::default();
    }
}

#[cfg(test)]
mod tests {
    use super::operands;
    use crate::instruction::Instruction;
    use crate::registers::File::{General, Predicate, Uniform, UniformPredicate};

    /// The general registers that an instruction reads, and those that it writes.
    fn general(bits: u128) -> [Vec<u16>; 2] {
        let operands = operands(Instruction(bits)).expect("a known operation");
        [operands.reads, operands.writes].map(|set| set.iter(General).collect())
    }

    #[test]
    fn matrices_by_their_shape() {
        // HMMA.16816.F32 R16, R4, R2, R16
        let [reads, writes] = general(0x0000_1810_0000_0002_0410_723c);
        assert_eq!((reads, writes), (vec![2, 3, 4, 5, 6, 7, 16, 17, 18, 19], vec![16, 17, 18, 19]));
        // HMMA.1684.F32.TF32 R8, R14, R18, R8
        let [reads, _] = general(0x0008_5008_0000_0012_0e08_723c);
        assert_eq!(reads, [8, 9, 10, 11, 14, 15, 18]);
        // IMMA.16816.U8.U8 R8, R14.ROW, R18.COL, R8
        let [reads, _] = general(0x0040_0408_0000_0012_0e08_7237);
        assert_eq!(reads, [8, 9, 10, 11, 14, 15, 18]);
        // IMMA.SP.16864.S8.U8 R12, R20.ROW, R8.COL, R12, R0, 0x0 and IMMA.SP.16832.S8.U8 R8, R20.ROW, R22.COL, R8, R0, 0x0
        let [reads, writes] = general(0x0060_150c_0000_0008_140c_7237);
        assert_eq!(reads, [0, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23]);
        assert_eq!(writes, [12, 13, 14, 15]);
        assert_eq!(general(0x0040_1d08_0000_0016_1408_7237)[0], [0, 8, 9, 10, 11, 20, 21, 22, 23]);
        // LDSM.8.MT1616.2 R16, [R29+0x50]
        assert_eq!(general(0x0001_3900_0000_5000_1d10_783b), [vec![29], vec![16, 17, 18, 19]]);
        // LDSM.16.M88.2 R2, [R0+UR23+0x12000]
        assert_eq!(general(0x0800_0100_0120_0017_0002_783b), [vec![0], vec![2, 3]]);
    }

    #[test]
    fn textures_by_their_components() {
        // TEX.LL RZ, R7, R4, R7, UR4, 2D, 0x1
        assert_eq!(general(0x089e_01ff_28ff_0407_0407_7f60), [vec![4, 5, 7], vec![7]]);
        // TXQ RZ, R3, R3, TEX_HEADER_DIMENSION, UR4, 0x0, 0x1
        assert_eq!(general(0x0800_01ff_0000_0400_0303_7f6f), [vec![3], vec![3]]);
        // SULD.D.BA.2D.U8.STRONG.SM R0, [R4], UR4
        assert_eq!(general(0x081e_a100_68ff_0400_0400_7f99), [vec![4, 5], vec![0]]);
    }

    #[test]
    fn what_is_not_there() {
        // P2R R33, PR, RZ, 0x20
        let predicates = operands(Instruction(0x0020_ff21_7803)).expect("a known operation").reads;
        assert_eq!(predicates.iter(Predicate).collect::<Vec<_>>(), [5]);
        // LD.E R20, [R12] and CCTL.IVALL have no descriptor; PLOP3 has one kind of third source.
        let reads = |bits: u128| operands(Instruction(bits)).expect("a known operation").reads;
        let load = reads(0x0010_0900_0000_0000_0c14_7980);
        assert_eq!((load.iter(General).count(), load.iter(Uniform).count()), (2, 0));
        assert!(reads(0x0200_0000_0000_0000_ff00_798f).is_empty());
        // SYNCS.CCTL.IVALL, and SYNCS.CCTL.IV [R4+URZ]
        assert!(reads(0x79b1).is_empty());
        assert!(!reads(0x0800_00ff_0000_0000_0400_79b1).is_empty());
        // PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x8
        let logic = reads(0x03f0_f008_0000_0000_0008_781c);
        assert_eq!((logic.iter(Predicate).count(), logic.iter(UniformPredicate).count()), (0, 1));
    }
}
