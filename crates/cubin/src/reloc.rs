//! The relocation types of device code: where each puts its value, and what a link does with it.
//! Measured by planting every type against every kind of symbol.

use crate::bits::Bits;

/// What a final link does with a relocation against one kind of symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The value is known: write it, forget the relocation.
    Resolve,
    /// The driver will know: copy the relocation to the output.
    Keep,
    /// The linker stops.
    Error,
}

/// One relocation type.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    /// The bits of the value that are used.
    pub value: Bits,
    /// Where they go, counted from bit 0 of the byte at the relocation's offset.
    pub field: Bits,
    /// Where the number of the constant bank goes, for types that name one.
    pub bank: Bits,
    pub constant: Action,
    pub shared: Action,
    pub data: Action,
    pub function: Action,
    /// The type a kept relocation has in the output.
    pub kept_as: u32,
}

use Action::{Error as E, Keep as K, Resolve as R};

const fn kind(
    name: &'static str,
    value: (u8, u8),
    field: (u8, u8),
    bank: (u8, u8),
    [constant, shared, data, function]: [Action; 4],
    kept_as: u32,
) -> Kind {
    let (value, field, bank) = (Bits::new(value), Bits::new(field), Bits::new(bank));
    Kind { name, value, field, bank, constant, shared, data, function, kept_as }
}

/// No bits.
const N: (u8, u8) = (1, 0);

/// The type with this number, `None` for one that no tool writes.
pub fn kind_of(r_type: u32) -> Option<&'static Kind> {
    KINDS.get(r_type as usize)
}

pub const R_CUDA_64: u32 = 2;
pub const R_CUDA_32: u32 = 1;
pub const R_CUDA_UNUSED_CLEAR32: u32 = 72;
pub const R_CUDA_UNUSED_CLEAR64: u32 = 73;
pub const R_CUDA_YIELD_OPCODE9_0: u32 = 68;
pub const R_CUDA_YIELD_CLEAR_PRED4_87: u32 = 69;
pub const R_CUDA_TEX_HEADER_INDEX: u32 = 6;
pub const R_CUDA_SAMP_HEADER_INDEX: u32 = 7;
pub const R_CUDA_SURF_HEADER_INDEX: u32 = 52;
/// What sampler handles have from sm_100 on.
pub const R_CUDA_SAMP_HEADER_INDEX_0: u32 = 101;

#[rustfmt::skip]
static KINDS: [Kind; 118] = [
    /*   0 */ kind("", N, N, N, [R, R, K, R], 0),
    /*   1 */ kind("R_CUDA_32", (0, 31), (0, 31), N, [R, R, K, K], 1),
    /*   2 */ kind("R_CUDA_64", (0, 63), (0, 63), N, [R, R, K, K], 2),
    /*   3 */ kind("R_CUDA_G32", N, N, N, [K, E, K, K], 3),
    /*   4 */ kind("R_CUDA_G64", N, N, N, [K, E, K, K], 4),
    /*   5 */ kind("R_CUDA_ABS32_26", (0, 31), (26, 57), N, [R, R, K, K], 5),
    /*   6 */ kind("R_CUDA_TEX_HEADER_INDEX", N, N, N, [K, E, K, K], 6),
    /*   7 */ kind("R_CUDA_SAMP_HEADER_INDEX", N, N, N, [K, E, K, K], 7),
    /*   8 */ kind("R_CUDA_SURF_HW_DESC", N, N, N, [K, E, K, K], 8),
    /*   9 */ kind("R_CUDA_SURF_HW_SW_DESC", N, N, N, [K, E, K, K], 9),
    /*  10 */ kind("R_CUDA_ABS32_LO_26", (0, 31), (26, 57), N, [R, R, K, K], 10),
    /*  11 */ kind("R_CUDA_ABS32_HI_26", (32, 63), (26, 57), N, [R, R, K, K], 11),
    /*  12 */ kind("R_CUDA_ABS32_23", (0, 31), (23, 54), N, [R, R, K, K], 12),
    /*  13 */ kind("R_CUDA_ABS32_LO_23", (0, 31), (23, 54), N, [R, R, K, K], 13),
    /*  14 */ kind("R_CUDA_ABS32_HI_23", (32, 63), (23, 54), N, [R, R, K, K], 14),
    /*  15 */ kind("R_CUDA_ABS24_26", (0, 23), (26, 49), N, [R, R, K, K], 15),
    /*  16 */ kind("R_CUDA_ABS24_23", (0, 23), (23, 46), N, [R, R, K, K], 16),
    /*  17 */ kind("R_CUDA_ABS16_26", (0, 15), (26, 41), N, [R, R, K, K], 17),
    /*  18 */ kind("R_CUDA_ABS16_23", (0, 15), (23, 38), N, [R, R, K, K], 18),
    /*  19 */ kind("R_CUDA_TEX_SLOT", (0, 7), (32, 39), N, [R, R, K, K], 19),
    /*  20 */ kind("R_CUDA_SAMP_SLOT", (0, 4), (40, 44), N, [R, R, K, K], 20),
    /*  21 */ kind("R_CUDA_SURF_SLOT", (0, 5), (26, 31), N, [R, R, K, K], 21),
    /*  22 */ kind("R_CUDA_TEX_BINDLESSOFF13_32", (2, 14), (32, 44), N, [R, R, K, K], 22),
    /*  23 */ kind("R_CUDA_TEX_BINDLESSOFF13_47", (2, 14), (47, 59), N, [R, R, K, K], 23),
    /*  24 */ kind("R_CUDA_CONST_FIELD19_28", (2, 15), (28, 41), (42, 46), [R, R, K, K], 24),
    /*  25 */ kind("R_CUDA_CONST_FIELD19_23", (2, 15), (23, 36), (37, 41), [R, R, K, K], 25),
    /*  26 */ kind("R_CUDA_TEX_SLOT9_49", (0, 8), (49, 57), N, [R, R, K, K], 26),
    /*  27 */ kind("R_CUDA_6_31", (0, 5), (31, 36), N, [R, R, K, K], 27),
    /*  28 */ kind("R_CUDA_2_47", (0, 1), (47, 48), N, [R, R, K, K], 28),
    /*  29 */ kind("R_CUDA_TEX_BINDLESSOFF13_41", (2, 14), (41, 53), N, [R, R, K, K], 29),
    /*  30 */ kind("R_CUDA_TEX_BINDLESSOFF13_45", (2, 14), (45, 57), N, [R, R, K, K], 30),
    /*  31 */ kind("R_CUDA_FUNC_DESC32_23", N, N, N, [E, E, E, K], 31),
    /*  32 */ kind("R_CUDA_FUNC_DESC32_LO_23", N, N, N, [E, E, E, K], 32),
    /*  33 */ kind("R_CUDA_FUNC_DESC32_HI_23", N, N, N, [E, E, E, K], 33),
    /*  34 */ kind("R_CUDA_FUNC_DESC_32", N, N, N, [E, E, E, K], 34),
    /*  35 */ kind("R_CUDA_FUNC_DESC_64", N, N, N, [E, E, E, K], 35),
    /*  36 */ kind("R_CUDA_CONST_FIELD21_26", (0, 15), (26, 41), (42, 46), [R, R, K, K], 36),
    /*  37 */ kind("R_CUDA_QUERY_DESC21_37", (0, 15), (37, 52), (53, 57), [R, R, K, K], 37),
    /*  38 */ kind("R_CUDA_CONST_FIELD19_26", (2, 15), (26, 39), (40, 44), [R, R, K, K], 38),
    /*  39 */ kind("R_CUDA_CONST_FIELD21_23", (0, 15), (23, 38), (39, 43), [R, R, K, K], 39),
    /*  40 */ kind("R_CUDA_PCREL_IMM24_26", N, N, N, [E, E, K, K], 40),
    /*  41 */ kind("R_CUDA_PCREL_IMM24_23", N, N, N, [E, E, K, K], 41),
    /*  42 */ kind("R_CUDA_ABS32_20", (0, 31), (20, 51), N, [R, R, K, K], 42),
    /*  43 */ kind("R_CUDA_ABS32_LO_20", (0, 31), (20, 51), N, [R, R, K, K], 43),
    /*  44 */ kind("R_CUDA_ABS32_HI_20", (32, 63), (20, 51), N, [R, R, K, K], 44),
    /*  45 */ kind("R_CUDA_ABS24_20", (0, 23), (20, 43), N, [R, R, K, K], 45),
    /*  46 */ kind("R_CUDA_ABS16_20", (0, 15), (20, 35), N, [R, R, K, K], 46),
    /*  47 */ kind("R_CUDA_FUNC_DESC32_20", N, N, N, [E, E, E, K], 47),
    /*  48 */ kind("R_CUDA_FUNC_DESC32_LO_20", N, N, N, [E, E, E, K], 48),
    /*  49 */ kind("R_CUDA_FUNC_DESC32_HI_20", N, N, N, [E, E, E, K], 49),
    /*  50 */ kind("R_CUDA_CONST_FIELD19_20", (2, 15), (20, 33), (34, 38), [R, R, K, K], 50),
    /*  51 */ kind("R_CUDA_BINDLESSOFF13_36", (2, 14), (36, 48), N, [R, R, K, K], 51),
    /*  52 */ kind("R_CUDA_SURF_HEADER_INDEX", N, N, N, [K, E, K, K], 52),
    /*  53 */ kind("R_CUDA_INSTRUCTION64", N, N, N, [K, E, K, K], 53),
    /*  54 */ kind("R_CUDA_CONST_FIELD21_20", (0, 15), (20, 35), (36, 40), [R, R, K, K], 54),
    /*  55 */ kind("R_CUDA_ABS32_32", (0, 31), (32, 63), N, [R, R, K, K], 55),
    /*  56 */ kind("R_CUDA_ABS32_LO_32", (0, 31), (32, 63), N, [R, R, K, K], 56),
    /*  57 */ kind("R_CUDA_ABS32_HI_32", (32, 63), (32, 63), N, [R, R, K, K], 57),
    /*  58 */ kind("R_CUDA_ABS47_34", N, N, N, [K, E, K, K], 58),
    /*  59 */ kind("R_CUDA_ABS16_32", (0, 15), (32, 47), N, [R, R, K, K], 59),
    /*  60 */ kind("R_CUDA_ABS24_32", (0, 23), (32, 55), N, [R, R, K, K], 60),
    /*  61 */ kind("R_CUDA_FUNC_DESC32_32", N, N, N, [E, E, E, K], 61),
    /*  62 */ kind("R_CUDA_FUNC_DESC32_LO_32", N, N, N, [E, E, E, K], 62),
    /*  63 */ kind("R_CUDA_FUNC_DESC32_HI_32", N, N, N, [E, E, E, K], 63),
    /*  64 */ kind("R_CUDA_CONST_FIELD19_40", (2, 15), (40, 53), (54, 58), [R, R, K, K], 64),
    /*  65 */ kind("R_CUDA_BINDLESSOFF14_40", (2, 15), (40, 53), N, [R, R, K, K], 65),
    /*  66 */ kind("R_CUDA_CONST_FIELD21_38", (0, 15), (38, 53), (54, 58), [R, R, K, K], 66),
    /*  67 */ kind("R_CUDA_INSTRUCTION128", N, N, N, [K, E, K, K], 67),
    /*  68 */ kind("R_CUDA_YIELD_OPCODE9_0", N, N, N, [R, R, K, K], 68),
    /*  69 */ kind("R_CUDA_YIELD_CLEAR_PRED4_87", N, N, N, [R, R, K, K], 69),
    /*  70 */ kind("R_CUDA_32_LO", (0, 31), (0, 31), N, [R, R, K, K], 70),
    /*  71 */ kind("R_CUDA_32_HI", (32, 63), (0, 31), N, [R, R, K, K], 71),
    /*  72 */ kind("R_CUDA_UNUSED_CLEAR32", N, N, N, [R, R, K, R], 72),
    /*  73 */ kind("R_CUDA_UNUSED_CLEAR64", N, N, N, [R, R, K, R], 73),
    /*  74 */ kind("R_CUDA_ABS24_40", (0, 23), (40, 63), N, [R, R, K, K], 74),
    /*  75 */ kind("R_CUDA_ABS55_16_34", N, N, N, [K, E, K, K], 75),
    /*  76 */ kind("R_CUDA_8_0", (0, 7), (0, 7), N, [R, R, K, K], 76),
    /*  77 */ kind("R_CUDA_8_8", (8, 15), (0, 7), N, [R, R, K, K], 77),
    /*  78 */ kind("R_CUDA_8_16", (16, 23), (0, 7), N, [R, R, K, K], 78),
    /*  79 */ kind("R_CUDA_8_24", (24, 31), (0, 7), N, [R, R, K, K], 79),
    /*  80 */ kind("R_CUDA_8_32", (32, 39), (0, 7), N, [R, R, K, K], 80),
    /*  81 */ kind("R_CUDA_8_40", (40, 47), (0, 7), N, [R, R, K, K], 81),
    /*  82 */ kind("R_CUDA_8_48", (48, 55), (0, 7), N, [R, R, K, K], 82),
    /*  83 */ kind("R_CUDA_8_56", (56, 63), (0, 7), N, [R, R, K, K], 83),
    /*  84 */ kind("R_CUDA_G8_0", N, N, N, [K, E, K, K], 84),
    /*  85 */ kind("R_CUDA_G8_8", N, N, N, [K, E, K, K], 85),
    /*  86 */ kind("R_CUDA_G8_16", N, N, N, [K, E, K, K], 86),
    /*  87 */ kind("R_CUDA_G8_24", N, N, N, [K, E, K, K], 87),
    /*  88 */ kind("R_CUDA_G8_32", N, N, N, [K, E, K, K], 88),
    /*  89 */ kind("R_CUDA_G8_40", N, N, N, [K, E, K, K], 89),
    /*  90 */ kind("R_CUDA_G8_48", N, N, N, [K, E, K, K], 90),
    /*  91 */ kind("R_CUDA_G8_56", N, N, N, [K, E, K, K], 91),
    /*  92 */ kind("R_CUDA_FUNC_DESC_8_0", N, N, N, [K, E, K, K], 92),
    /*  93 */ kind("R_CUDA_FUNC_DESC_8_8", N, N, N, [K, E, K, K], 93),
    /*  94 */ kind("R_CUDA_FUNC_DESC_8_16", N, N, N, [K, E, K, K], 94),
    /*  95 */ kind("R_CUDA_FUNC_DESC_8_24", N, N, N, [K, E, K, K], 95),
    /*  96 */ kind("R_CUDA_FUNC_DESC_8_32", N, N, N, [K, E, K, K], 96),
    /*  97 */ kind("R_CUDA_FUNC_DESC_8_40", N, N, N, [K, E, K, K], 97),
    /*  98 */ kind("R_CUDA_FUNC_DESC_8_48", N, N, N, [K, E, K, K], 98),
    /*  99 */ kind("R_CUDA_FUNC_DESC_8_56", N, N, N, [K, E, K, K], 99),
    /* 100 */ kind("R_CUDA_ABS20_44", (0, 19), (44, 63), N, [R, R, K, K], 100),
    /* 101 */ kind("R_CUDA_SAMP_HEADER_INDEX_0", N, N, N, [K, E, K, K], 101),
    /* 102 */ kind("R_CUDA_UNIFIED", (0, 63), (0, 63), N, [R, R, K, K], 2),
    /* 103 */ kind("R_CUDA_UNIFIED_32", (0, 31), (0, 31), N, [R, R, K, K], 1),
    /* 104 */ kind("R_CUDA_UNIFIED_8_0", (0, 7), (0, 7), N, [R, R, K, K], 76),
    /* 105 */ kind("R_CUDA_UNIFIED_8_8", (8, 15), (0, 7), N, [R, R, K, K], 77),
    /* 106 */ kind("R_CUDA_UNIFIED_8_16", (16, 23), (0, 7), N, [R, R, K, K], 78),
    /* 107 */ kind("R_CUDA_UNIFIED_8_24", (24, 31), (0, 7), N, [R, R, K, K], 79),
    /* 108 */ kind("R_CUDA_UNIFIED_8_32", (32, 39), (0, 7), N, [R, R, K, K], 80),
    /* 109 */ kind("R_CUDA_UNIFIED_8_40", (40, 47), (0, 7), N, [R, R, K, K], 81),
    /* 110 */ kind("R_CUDA_UNIFIED_8_48", (48, 55), (0, 7), N, [R, R, K, K], 82),
    /* 111 */ kind("R_CUDA_UNIFIED_8_56", (56, 63), (0, 7), N, [R, R, K, K], 83),
    /* 112 */ kind("R_CUDA_UNIFIED32_LO_32", (0, 31), (32, 63), N, [R, R, K, K], 56),
    /* 113 */ kind("R_CUDA_UNIFIED32_HI_32", (32, 63), (32, 63), N, [R, R, K, K], 57),
    /* 114 */ kind("R_CUDA_ABS56_16_34", N, N, N, [K, E, K, K], 114),
    /* 115 */ kind("R_CUDA_CONST_FIELD22_37", (0, 16), (37, 53), (54, 58), [R, R, K, K], 115),
    /* 116 */ kind("", N, N, N, [E, E, K, K], 116),
    /* 117 */ kind("", N, N, N, [E, E, K, K], 117),
];
