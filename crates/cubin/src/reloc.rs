//! The relocation types of device code: where each puts its value.
//! Measured by planting every type against every kind of symbol.

use crate::bits::Bits;

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
}

const fn kind(name: &'static str, value: (u8, u8), field: (u8, u8), bank: (u8, u8)) -> Kind {
    Kind { name, value: Bits::new(value), field: Bits::new(field), bank: Bits::new(bank) }
}

/// No bits.
const N: (u8, u8) = (1, 0);

/// The type with this number, `None` for one that no tool writes.
pub fn kind_of(r_type: u32) -> Option<&'static Kind> {
    KINDS.get(r_type as usize)
}

/// Whether a type asks for the descriptor of a function, which the driver makes of a kernel whose address is taken.
pub const fn is_descriptor(r_type: u32) -> bool {
    matches!(r_type, 31..=35 | 47..=49 | 61..=63)
}

pub const R_CUDA_64: u32 = 2;
pub const R_CUDA_32: u32 = 1;
pub const R_CUDA_UNUSED_CLEAR32: u32 = 72;
pub const R_CUDA_UNUSED_CLEAR64: u32 = 73;
pub const R_CUDA_YIELD_OPCODE9_0: u32 = 68;
pub const R_CUDA_YIELD_CLEAR_PRED4_87: u32 = 69;

/// What a type changes in a `YIELD` that is to do nothing: its opcode, which is the addend, and its condition.
pub const fn yield_field(r_type: u32) -> Option<Bits> {
    match r_type {
        R_CUDA_YIELD_OPCODE9_0 => Some(Bits::new((0, 8))),
        R_CUDA_YIELD_CLEAR_PRED4_87 => Some(Bits::new((87, 90))),
        _ => None,
    }
}
pub const R_CUDA_TEX_HEADER_INDEX: u32 = 6;
pub const R_CUDA_SAMP_HEADER_INDEX: u32 = 7;
pub const R_CUDA_SURF_HEADER_INDEX: u32 = 52;
/// What sampler handles have from sm_100 on.
pub const R_CUDA_SAMP_HEADER_INDEX_0: u32 = 101;

#[rustfmt::skip]
static KINDS: [Kind; 118] = [
    /*   0 */ kind("", N, N, N),
    /*   1 */ kind("R_CUDA_32", (0, 31), (0, 31), N),
    /*   2 */ kind("R_CUDA_64", (0, 63), (0, 63), N),
    /*   3 */ kind("R_CUDA_G32", N, N, N),
    /*   4 */ kind("R_CUDA_G64", N, N, N),
    /*   5 */ kind("R_CUDA_ABS32_26", (0, 31), (26, 57), N),
    /*   6 */ kind("R_CUDA_TEX_HEADER_INDEX", N, N, N),
    /*   7 */ kind("R_CUDA_SAMP_HEADER_INDEX", N, N, N),
    /*   8 */ kind("R_CUDA_SURF_HW_DESC", N, N, N),
    /*   9 */ kind("R_CUDA_SURF_HW_SW_DESC", N, N, N),
    /*  10 */ kind("R_CUDA_ABS32_LO_26", (0, 31), (26, 57), N),
    /*  11 */ kind("R_CUDA_ABS32_HI_26", (32, 63), (26, 57), N),
    /*  12 */ kind("R_CUDA_ABS32_23", (0, 31), (23, 54), N),
    /*  13 */ kind("R_CUDA_ABS32_LO_23", (0, 31), (23, 54), N),
    /*  14 */ kind("R_CUDA_ABS32_HI_23", (32, 63), (23, 54), N),
    /*  15 */ kind("R_CUDA_ABS24_26", (0, 23), (26, 49), N),
    /*  16 */ kind("R_CUDA_ABS24_23", (0, 23), (23, 46), N),
    /*  17 */ kind("R_CUDA_ABS16_26", (0, 15), (26, 41), N),
    /*  18 */ kind("R_CUDA_ABS16_23", (0, 15), (23, 38), N),
    /*  19 */ kind("R_CUDA_TEX_SLOT", (0, 7), (32, 39), N),
    /*  20 */ kind("R_CUDA_SAMP_SLOT", (0, 4), (40, 44), N),
    /*  21 */ kind("R_CUDA_SURF_SLOT", (0, 5), (26, 31), N),
    /*  22 */ kind("R_CUDA_TEX_BINDLESSOFF13_32", (2, 14), (32, 44), N),
    /*  23 */ kind("R_CUDA_TEX_BINDLESSOFF13_47", (2, 14), (47, 59), N),
    /*  24 */ kind("R_CUDA_CONST_FIELD19_28", (2, 15), (28, 41), (42, 46)),
    /*  25 */ kind("R_CUDA_CONST_FIELD19_23", (2, 15), (23, 36), (37, 41)),
    /*  26 */ kind("R_CUDA_TEX_SLOT9_49", (0, 8), (49, 57), N),
    /*  27 */ kind("R_CUDA_6_31", (0, 5), (31, 36), N),
    /*  28 */ kind("R_CUDA_2_47", (0, 1), (47, 48), N),
    /*  29 */ kind("R_CUDA_TEX_BINDLESSOFF13_41", (2, 14), (41, 53), N),
    /*  30 */ kind("R_CUDA_TEX_BINDLESSOFF13_45", (2, 14), (45, 57), N),
    /*  31 */ kind("R_CUDA_FUNC_DESC32_23", N, N, N),
    /*  32 */ kind("R_CUDA_FUNC_DESC32_LO_23", N, N, N),
    /*  33 */ kind("R_CUDA_FUNC_DESC32_HI_23", N, N, N),
    /*  34 */ kind("R_CUDA_FUNC_DESC_32", N, N, N),
    /*  35 */ kind("R_CUDA_FUNC_DESC_64", N, N, N),
    /*  36 */ kind("R_CUDA_CONST_FIELD21_26", (0, 15), (26, 41), (42, 46)),
    /*  37 */ kind("R_CUDA_QUERY_DESC21_37", (0, 15), (37, 52), (53, 57)),
    /*  38 */ kind("R_CUDA_CONST_FIELD19_26", (2, 15), (26, 39), (40, 44)),
    /*  39 */ kind("R_CUDA_CONST_FIELD21_23", (0, 15), (23, 38), (39, 43)),
    /*  40 */ kind("R_CUDA_PCREL_IMM24_26", N, N, N),
    /*  41 */ kind("R_CUDA_PCREL_IMM24_23", N, N, N),
    /*  42 */ kind("R_CUDA_ABS32_20", (0, 31), (20, 51), N),
    /*  43 */ kind("R_CUDA_ABS32_LO_20", (0, 31), (20, 51), N),
    /*  44 */ kind("R_CUDA_ABS32_HI_20", (32, 63), (20, 51), N),
    /*  45 */ kind("R_CUDA_ABS24_20", (0, 23), (20, 43), N),
    /*  46 */ kind("R_CUDA_ABS16_20", (0, 15), (20, 35), N),
    /*  47 */ kind("R_CUDA_FUNC_DESC32_20", N, N, N),
    /*  48 */ kind("R_CUDA_FUNC_DESC32_LO_20", N, N, N),
    /*  49 */ kind("R_CUDA_FUNC_DESC32_HI_20", N, N, N),
    /*  50 */ kind("R_CUDA_CONST_FIELD19_20", (2, 15), (20, 33), (34, 38)),
    /*  51 */ kind("R_CUDA_BINDLESSOFF13_36", (2, 14), (36, 48), N),
    /*  52 */ kind("R_CUDA_SURF_HEADER_INDEX", N, N, N),
    /*  53 */ kind("R_CUDA_INSTRUCTION64", N, N, N),
    /*  54 */ kind("R_CUDA_CONST_FIELD21_20", (0, 15), (20, 35), (36, 40)),
    /*  55 */ kind("R_CUDA_ABS32_32", (0, 31), (32, 63), N),
    /*  56 */ kind("R_CUDA_ABS32_LO_32", (0, 31), (32, 63), N),
    /*  57 */ kind("R_CUDA_ABS32_HI_32", (32, 63), (32, 63), N),
    /*  58 */ kind("R_CUDA_ABS47_34", N, N, N),
    /*  59 */ kind("R_CUDA_ABS16_32", (0, 15), (32, 47), N),
    /*  60 */ kind("R_CUDA_ABS24_32", (0, 23), (32, 55), N),
    /*  61 */ kind("R_CUDA_FUNC_DESC32_32", N, N, N),
    /*  62 */ kind("R_CUDA_FUNC_DESC32_LO_32", N, N, N),
    /*  63 */ kind("R_CUDA_FUNC_DESC32_HI_32", N, N, N),
    /*  64 */ kind("R_CUDA_CONST_FIELD19_40", (2, 15), (40, 53), (54, 58)),
    /*  65 */ kind("R_CUDA_BINDLESSOFF14_40", (2, 15), (40, 53), N),
    /*  66 */ kind("R_CUDA_CONST_FIELD21_38", (0, 15), (38, 53), (54, 58)),
    /*  67 */ kind("R_CUDA_INSTRUCTION128", N, N, N),
    /*  68 */ kind("R_CUDA_YIELD_OPCODE9_0", N, N, N),
    /*  69 */ kind("R_CUDA_YIELD_CLEAR_PRED4_87", N, N, N),
    /*  70 */ kind("R_CUDA_32_LO", (0, 31), (0, 31), N),
    /*  71 */ kind("R_CUDA_32_HI", (32, 63), (0, 31), N),
    /*  72 */ kind("R_CUDA_UNUSED_CLEAR32", N, N, N),
    /*  73 */ kind("R_CUDA_UNUSED_CLEAR64", N, N, N),
    /*  74 */ kind("R_CUDA_ABS24_40", (0, 23), (40, 63), N),
    /*  75 */ kind("R_CUDA_ABS55_16_34", N, N, N),
    /*  76 */ kind("R_CUDA_8_0", (0, 7), (0, 7), N),
    /*  77 */ kind("R_CUDA_8_8", (8, 15), (0, 7), N),
    /*  78 */ kind("R_CUDA_8_16", (16, 23), (0, 7), N),
    /*  79 */ kind("R_CUDA_8_24", (24, 31), (0, 7), N),
    /*  80 */ kind("R_CUDA_8_32", (32, 39), (0, 7), N),
    /*  81 */ kind("R_CUDA_8_40", (40, 47), (0, 7), N),
    /*  82 */ kind("R_CUDA_8_48", (48, 55), (0, 7), N),
    /*  83 */ kind("R_CUDA_8_56", (56, 63), (0, 7), N),
    /*  84 */ kind("R_CUDA_G8_0", N, N, N),
    /*  85 */ kind("R_CUDA_G8_8", N, N, N),
    /*  86 */ kind("R_CUDA_G8_16", N, N, N),
    /*  87 */ kind("R_CUDA_G8_24", N, N, N),
    /*  88 */ kind("R_CUDA_G8_32", N, N, N),
    /*  89 */ kind("R_CUDA_G8_40", N, N, N),
    /*  90 */ kind("R_CUDA_G8_48", N, N, N),
    /*  91 */ kind("R_CUDA_G8_56", N, N, N),
    /*  92 */ kind("R_CUDA_FUNC_DESC_8_0", N, N, N),
    /*  93 */ kind("R_CUDA_FUNC_DESC_8_8", N, N, N),
    /*  94 */ kind("R_CUDA_FUNC_DESC_8_16", N, N, N),
    /*  95 */ kind("R_CUDA_FUNC_DESC_8_24", N, N, N),
    /*  96 */ kind("R_CUDA_FUNC_DESC_8_32", N, N, N),
    /*  97 */ kind("R_CUDA_FUNC_DESC_8_40", N, N, N),
    /*  98 */ kind("R_CUDA_FUNC_DESC_8_48", N, N, N),
    /*  99 */ kind("R_CUDA_FUNC_DESC_8_56", N, N, N),
    /* 100 */ kind("R_CUDA_ABS20_44", (0, 19), (44, 63), N),
    /* 101 */ kind("R_CUDA_SAMP_HEADER_INDEX_0", N, N, N),
    /* 102 */ kind("R_CUDA_UNIFIED", (0, 63), (0, 63), N),
    /* 103 */ kind("R_CUDA_UNIFIED_32", (0, 31), (0, 31), N),
    /* 104 */ kind("R_CUDA_UNIFIED_8_0", (0, 7), (0, 7), N),
    /* 105 */ kind("R_CUDA_UNIFIED_8_8", (8, 15), (0, 7), N),
    /* 106 */ kind("R_CUDA_UNIFIED_8_16", (16, 23), (0, 7), N),
    /* 107 */ kind("R_CUDA_UNIFIED_8_24", (24, 31), (0, 7), N),
    /* 108 */ kind("R_CUDA_UNIFIED_8_32", (32, 39), (0, 7), N),
    /* 109 */ kind("R_CUDA_UNIFIED_8_40", (40, 47), (0, 7), N),
    /* 110 */ kind("R_CUDA_UNIFIED_8_48", (48, 55), (0, 7), N),
    /* 111 */ kind("R_CUDA_UNIFIED_8_56", (56, 63), (0, 7), N),
    /* 112 */ kind("R_CUDA_UNIFIED32_LO_32", (0, 31), (32, 63), N),
    /* 113 */ kind("R_CUDA_UNIFIED32_HI_32", (32, 63), (32, 63), N),
    /* 114 */ kind("R_CUDA_ABS56_16_34", N, N, N),
    /* 115 */ kind("R_CUDA_CONST_FIELD22_37", (0, 16), (37, 53), (54, 58)),
    /* 116 */ kind("", N, N, N),
    /* 117 */ kind("", N, N, N),
];
