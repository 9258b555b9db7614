//! Operations, by the low nine bits of the opcode.

pub const MOV: u16 = 0x002;
pub const CS2R: u16 = 0x005;
pub const VOTE: u16 = 0x006;
pub const SEL: u16 = 0x007;
pub const ISETP: u16 = 0x00c;
pub const DMUL: u16 = 0x028;
pub const DADD: u16 = 0x029;
pub const DSETP: u16 = 0x02a;
pub const DFMA: u16 = 0x02b;
/// Double precision arithmetic.
pub const DOUBLE: [u16; 4] = [DMUL, DADD, DSETP, DFMA];
pub const IMAD: u16 = 0x024;
/// Products of 64 bits.
pub const IMAD_WIDE: u16 = 0x025;
/// The upper half of such a product.
pub const IMAD_HIGH: u16 = 0x027;
pub const IADD: u16 = 0x035;
pub const IMMA: u16 = 0x037;
pub const HMMA: u16 = 0x03c;
pub const LDSM: u16 = 0x03b;
pub const DMMA: u16 = 0x03f;
pub const STSM: u16 = 0x044;
pub const FLO: u16 = 0x100;
pub const BREV: u16 = 0x101;
pub const FCHK: u16 = 0x102;
pub const F2I: u16 = 0x105;
pub const I2F: u16 = 0x106;
/// Lets dependent grids start.
pub const PREEXIT: u16 = 0x02d;
pub const MUFU: u16 = 0x108;
pub const POPC: u16 = 0x109;
pub const F2F_DOUBLE: u16 = 0x110;
pub const F2I_DOUBLE: u16 = 0x111;
pub const I2F_DOUBLE: u16 = 0x112;
pub const FRND_DOUBLE: u16 = 0x113;
/// Conversions from and to 64 bits.
pub const LONG_CONVERSIONS: [u16; 4] = [F2F_DOUBLE, F2I_DOUBLE, I2F_DOUBLE, FRND_DOUBLE];
pub const NOP: u16 = 0x118;
pub const S2R: u16 = 0x119;
pub const ENDCOLLECTIVE: u16 = 0x11b;
pub const BAR: u16 = 0x11d;
pub const BREAK: u16 = 0x142;
pub const BSYNC: u16 = 0x141;
pub const BSSY: u16 = 0x145;
pub const BRA: u16 = 0x147;
pub const WARPSYNC: u16 = 0x148;
pub const YIELD: u16 = 0x146;
pub const BMOV: u16 = 0x155;
pub const BPT: u16 = 0x15c;
pub const NANOSLEEP: u16 = 0x15d;
pub const BRX: u16 = 0x149;
pub const BRXU: u16 = 0x158;
pub const EXIT: u16 = 0x14d;
/// `st.async.mmio`.
pub const USTGR: u16 = 0x177;
pub const LD: u16 = 0x180;
pub const LDG: u16 = 0x181;
/// A load of 256 bits.
pub const LDG_256: u16 = 0x17e;
pub const LDC: u16 = 0x182;
pub const LDL: u16 = 0x183;
pub const LDS: u16 = 0x184;
pub const ST: u16 = 0x185;
pub const STG: u16 = 0x186;
pub const STL: u16 = 0x187;
pub const STS: u16 = 0x188;
pub const SHFL: u16 = 0x189;
/// General registers into uniform registers.
pub const R2UR: u16 = 0x0ca;
/// One value for all threads of a warp, and one thread of them.
pub const REDUX: u16 = 0x1c4;
pub const ELECT: u16 = 0x02f;
pub const ATOM: u16 = 0x18a;
pub const ATOM_CAS: u16 = 0x18b;
pub const ATOMS: u16 = 0x18c;
pub const ATOMS_CAS: u16 = 0x18d;
pub const REDG: u16 = 0x18e;
pub const CCTL: u16 = 0x18f;
pub const IMNMX: u16 = 0x017;
pub const MEMBAR: u16 = 0x192;
/// A store to a surface in the format of its memory, and one of plain bits.
pub const SUST_FORMATTED: u16 = 0x19b;
pub const SUST: u16 = 0x19d;
pub const SURED: u16 = 0x19f;
pub const ATOM_FLOAT: u16 = 0x1a2;
pub const ATOMG_FLOAT: u16 = 0x1a3;
pub const REDG_FLOAT: u16 = 0x1a6;
/// `multimem.ld_reduce`.
pub const LDGMC: u16 = 0x1a4;
pub const LDGMC_FLOAT: u16 = 0x1a5;
pub const SYNCS: u16 = 0x1a7;
pub const ATOMG: u16 = 0x1a8;
pub const ATOMG_CAS: u16 = 0x1a9;
pub const ERRBAR: u16 = 0x1ab;
pub const LDGDEPBAR: u16 = 0x1af;
pub const LDCU: u16 = 0x1ac;
pub const LDGSTS: u16 = 0x1ae;
/// Forgets a barrier in memory (`SYNCS.CCTL.IV`).
pub const SYNCS_CCTL: u16 = 0x1b1;
pub const SYNCS_EXCH: u16 = 0x1b2;
/// A copy of a tensor to shared memory.
pub const UTMALDG: u16 = 0x1b4;
/// A copy of a tensor from shared memory.
pub const UTMASTG: u16 = 0x1b5;
/// A reduction of a tensor.
pub const UTMAREDG: u16 = 0x1b6;
/// A copy to or from shared memory.
pub const UBLKCP: u16 = 0x1ba;
pub const UTMACMDFLUSH: u16 = 0x1b7;
pub const UTMAPF: u16 = 0x1b8;
pub const UTMACCTL: u16 = 0x1b9;
/// A reduction from shared memory.
pub const UBLKRED: u16 = 0x1bb;
/// Fetches what is to be copied into the cache.
pub const UBLKPF: u16 = 0x1bc;
pub const STAS: u16 = 0x1bd;
/// Special registers into uniform registers.
pub const S2UR: u16 = 0x1c3;
pub const FENCE: u16 = 0x1c6;
/// `st.bulk`.
pub const UMEMSETS: u16 = 0x1cb;
/// `UCGABAR_ARV`, `UCGABAR_WAIT`.
pub const UCGABAR: u16 = 0x1c7;
/// Takes tensor memory and gives it back.
pub const UTCATOMSWS: u16 = 0x1e3;
/// Operations of the unit for tensors, `UTCSHIFT` to `UTCHMMA`.
pub const TENSOR_UNIT: std::ops::RangeInclusive<u16> = 0x1e6..=0x1ec;
pub const STTM: u16 = 0x1ed;
pub const LDTM: u16 = 0x1ee;
/// Forgets the description of a tensor (`CCTL.E.C.LDCU.IV.DEEP`). It shares its operation with none that is known, and no
/// flow of control with its neighbours.
pub const FORGET_TENSOR: u16 = 0x140;
/// Operations that copy tensors or reduce them, `UTMALDG` to `UBLKCP` and those beside them.
pub const TENSOR_COPIES: std::ops::RangeInclusive<u16> = 0x1b4..=0x1bc;

/// Whether this is an operation on textures or surfaces.
pub fn is_texture(operation: u16) -> bool {
    matches!(operation, 0x160..=0x16f | 0x197 | 0x199 | 0x19a)
}
