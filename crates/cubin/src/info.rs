//! `.nv.info`, `.nv.info.<function>` and `.nv.compat`: sequences of small attribute records.

/// Attribute identifiers that the link reads or writes; all others are carried through.
pub mod attr {
    pub const IMAGE_SLOT: u8 = 0x02;
    pub const CTAIDZ_USED: u8 = 0x04;
    pub const IMAGE_OFFSET: u8 = 0x06;
    pub const IMAGE_SIZE: u8 = 0x07;
    pub const TEXTURE_NORMALIZED: u8 = 0x08;
    pub const SAMPLER_INIT: u8 = 0x09;
    pub const PARAM_CBANK: u8 = 0x0a;
    pub const SYNC_STACK: u8 = 0x0d;
    pub const EXTERNS: u8 = 0x0f;
    pub const FRAME_SIZE: u8 = 0x11;
    pub const MIN_STACK_SIZE: u8 = 0x12;
    pub const SAMPLER_FORCE_UNNORMALIZED: u8 = 0x13;
    pub const BINDLESS_IMAGE_OFFSETS: u8 = 0x14;
    pub const BINDLESS_TEXTURE_BANK: u8 = 0x15;
    pub const BINDLESS_SURFACE_BANK: u8 = 0x16;
    pub const KPARAM_INFO: u8 = 0x17;
    pub const CBANK_PARAM_SIZE: u8 = 0x19;
    pub const MAXREG_COUNT: u8 = 0x1b;
    pub const CRS_STACK_SIZE: u8 = 0x1e;
    pub const MAX_STACK_SIZE: u8 = 0x23;
    pub const SUQ_USED: u8 = 0x24;
    pub const LOAD_CACHE_REQUEST: u8 = 0x26;
    pub const HAS_PRE_V10_OBJECT: u8 = 0x2c;
    pub const REGCOUNT: u8 = 0x2f;
    pub const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
    pub const SW_WAR: u8 = 0x36;
    pub const CUDA_API_VERSION: u8 = 0x37;
    pub const SANITIZE: u8 = 0x5c;
    pub const NUM_MBARRIERS: u8 = 0x38;
    pub const SAM_REGION_STACK_SIZE: u8 = 0x3b;
    pub const RESERVED_SMEM_USED: u8 = 0x41;
    pub const KPARAM_INFO_V2: u8 = 0x45;
    pub const VRC_CTA_INIT_COUNT: u8 = 0x4a;
    /// The function is a patch, which tools insert into other code.
    pub const TOOLS_PATCH_FUNC: u8 = 0x4b;
    pub const NUM_BARRIERS: u8 = 0x4c;
    pub const TEXMODE_INDEPENDENT: u8 = 0x4d;
    pub const AT_ENTRY_FRAGMENTS: u8 = 0x4f;
    pub const SPARSE_MMA_MASK: u8 = 0x50;
    pub const TCGEN05_1CTA_USED: u8 = 0x51;
    pub const TCGEN05_2CTA_USED: u8 = 0x52;
    pub const GEN_ERRBAR_AT_EXIT: u8 = 0x53;
    pub const REG_RECONFIG: u8 = 0x54;
    pub const MERCURY_FINALIZER_OPTIONS: u8 = 0x5a;
    pub const MERCURY_ISA_VERSION: u8 = 0x5f;
    pub const LANGUAGE: u8 = 0x66;
    /// Its name is not known; the finalizer of 13.4 adds it to code for sm_107.
    pub const FINALIZED: u8 = 0x67;
    pub const NVSAL_SW_WAR: u8 = 0x6b;
    /// Its name is not known; assemblers and finalizers write it from 13.4 on.
    pub const SECOND_SW_WAR: u8 = 0x6d;
}

/// How the value of a record is stored.
pub mod format {
    pub const NONE: u8 = 1;
    pub const BYTE: u8 = 2;
    pub const HALF: u8 = 3;
    pub const SIZED: u8 = 4;
}

/// One record: format byte, attribute byte, then two bytes of value or a counted payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'data> {
    pub format: u8,
    pub attr: u8,
    pub payload: &'data [u8],
}

impl Record<'_> {
    /// The word at byte `offset` of the payload.
    pub fn word(&self, offset: usize) -> Option<u32> {
        let bytes = self.payload.get(offset..offset + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
    pub fn write(&self, out: &mut Vec<u8>) {
        write_record(out, self.format, self.attr, self.payload);
    }
    /// The size of the record in the section.
    pub fn size(&self) -> usize {
        if self.format == format::SIZED { 4 + self.payload.len() } else { 4 }
    }
}

/// Appends a record.
pub fn write_record(out: &mut Vec<u8>, format: u8, attr: u8, payload: &[u8]) {
    let start = out.len();
    out.resize(start + record_size(format, payload.len()), 0);
    put_record(&mut out[start..], format, attr, payload);
}

/// The size of a record with a payload of this length.
pub fn record_size(format: u8, payload: usize) -> usize {
    if format == format::SIZED { 4 + payload } else { 2 + payload }
}

/// Writes a record to a place of its size.
pub fn put_record(place: &mut [u8], format: u8, attr: u8, payload: &[u8]) {
    let (head, rest) = place.split_at_mut(place.len() - payload.len());
    head[0] = format;
    head[1] = attr;
    if format == format::SIZED {
        head[2..].copy_from_slice(&(payload.len() as u16).to_le_bytes());
    }
    rest.copy_from_slice(payload);
}

/// The records of a section. A record that runs past the end is an `Err`, the last item then.
#[derive(Clone, Debug)]
pub struct Records<'data> {
    rest: &'data [u8],
}

/// A record does not fit into its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// Attributes of `.nv.compat`.
pub mod compat_attr {
    pub const ISA_CLASS: u8 = 0x02;
    pub const INST_TENSORMAP_V1: u8 = 0x03;
    pub const INST_TCGEN05_MMA: u8 = 0x05;
    pub const OPPORTUNISTIC_FINALIZATION: u8 = 0x06;
    pub const MERCURY_ISA_VERSION: u8 = 0x07;
    pub const ACCELERATOR_TARGET: u8 = 0x09;
    pub const FASTPATH_FINALIZE: u8 = 0x0b;
    pub const INTERNAL_TARGET: u8 = 0x0c;
    /// The version of the instructions, of Mercury and of others. The tools print no name for it.
    pub const ISA_VERSION: u8 = 0x0d;
    pub const FINALIZER_VERSION: u8 = 0x0e;
}

/// Where the indirect branches of a function go, from the payload of [`attr::INDIRECT_BRANCH_TARGETS`]: each branch and its
/// targets, in bytes. The payload has the branch, a word, the number of targets, and the targets.
pub fn branch_targets(payload: &[u8]) -> impl Iterator<Item = (usize, Vec<usize>)> + '_ {
    let (words, _) = payload.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word) as usize);
    std::iter::from_fn(move || {
        let (branch, _, count) = (words.next()?, words.next()?, words.next()?);
        Some((branch, words.by_ref().take(count).collect()))
    })
}

pub fn records(data: &[u8]) -> Records<'_> {
    Records { rest: data }
}

impl<'data> Iterator for Records<'data> {
    type Item = Result<Record<'data>, Truncated>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((head, tail)) = self.rest.split_at_checked(4) else {
            self.rest = &[];
            return Some(Err(Truncated));
        };
        let (format, attr) = (head[0], head[1]);
        if format != format::SIZED {
            self.rest = tail;
            return Some(Ok(Record { format, attr, payload: &head[2..4] }));
        }
        let len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let Some((payload, tail)) = tail.split_at_checked(len) else {
            self.rest = &[];
            return Some(Err(Truncated));
        };
        self.rest = tail;
        Some(Ok(Record { format, attr, payload }))
    }
}

/// The name of an attribute of `.nv.info` as the tools print it, without its prefix `EIATTR_`.
pub fn attr_name(id: u8) -> Option<&'static str> {
    NAMES.binary_search_by_key(&id, |row| row.0).ok().map(|at| NAMES[at].1)
}

/// The same for the records of `.nv.compat`, without `EICOMPAT_ATTR_`.
pub fn compat_name(id: u8) -> Option<&'static str> {
    COMPAT_NAMES.binary_search_by_key(&id, |row| row.0).ok().map(|at| COMPAT_NAMES[at].1)
}

#[rustfmt::skip]
static COMPAT_NAMES: [(u8, &str); 9] = [
    (0x02, "ISA_CLASS"),
    (0x03, "INST_TENSORMAP_V1"),
    (0x05, "INST_TCGEN05_MMA"),
    (0x06, "ENABLE_OPPORTUNISTIC_FINALIZATION"),
    (0x07, "MERCURY_ISA_MAJOR_MINOR_VERSION"),
    (0x09, "CUDA_ACCELERATOR_TARGET"),
    (0x0b, "CAN_FASTPATH_FINALIZE"),
    (0x0c, "CUDA_INTERNAL_TARGET"),
    (0x0e, "FINALIZER_VERSION"),
];

#[rustfmt::skip]
static NAMES: [(u8, &str); 99] = [
    (0x02, "IMAGE_SLOT"),
    (0x03, "JUMPTABLE_RELOCS"),
    (0x04, "CTAIDZ_USED"),
    (0x05, "MAX_THREADS"),
    (0x06, "IMAGE_OFFSET"),
    (0x07, "IMAGE_SIZE"),
    (0x08, "TEXTURE_NORMALIZED"),
    (0x09, "SAMPLER_INIT"),
    (0x0a, "PARAM_CBANK"),
    (0x0b, "SMEM_PARAM_OFFSETS"),
    (0x0c, "CBANK_PARAM_OFFSETS"),
    (0x0d, "SYNC_STACK"),
    (0x0e, "TEXID_SAMPID_MAP"),
    (0x0f, "EXTERNS"),
    (0x10, "REQNTID"),
    (0x11, "FRAME_SIZE"),
    (0x12, "MIN_STACK_SIZE"),
    (0x13, "SAMPLER_FORCE_UNNORMALIZED"),
    (0x14, "BINDLESS_IMAGE_OFFSETS"),
    (0x15, "BINDLESS_TEXTURE_BANK"),
    (0x16, "BINDLESS_SURFACE_BANK"),
    (0x17, "KPARAM_INFO"),
    (0x18, "SMEM_PARAM_SIZE"),
    (0x19, "CBANK_PARAM_SIZE"),
    (0x1a, "QUERY_NUMATTRIB"),
    (0x1b, "MAXREG_COUNT"),
    (0x1c, "EXIT_INSTR_OFFSETS"),
    (0x1d, "S2RCTAID_INSTR_OFFSETS"),
    (0x1e, "CRS_STACK_SIZE"),
    (0x1f, "NEED_CNP_WRAPPER"),
    (0x20, "NEED_CNP_PATCH"),
    (0x21, "EXPLICIT_CACHING"),
    (0x22, "ISTYPEP_USED"),
    (0x23, "MAX_STACK_SIZE"),
    (0x24, "SUQ_USED"),
    (0x25, "LD_CACHEMOD_INSTR_OFFSETS"),
    (0x26, "LOAD_CACHE_REQUEST"),
    (0x27, "ATOM_SYS_INSTR_OFFSETS"),
    (0x28, "COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "COOP_GROUP_MASK_REGIDS"),
    (0x2a, "SW1850030_WAR"),
    (0x2b, "WMMA_USED"),
    (0x2c, "HAS_PRE_V10_OBJECT"),
    (0x2d, "ATOMF16_EMUL_INSTR_OFFSETS"),
    (0x2e, "ATOM16_EMUL_INSTR_REG_MAP"),
    (0x2f, "REGCOUNT"),
    (0x30, "SW2393858_WAR"),
    (0x31, "INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x32, "SHARED_SCRATCH"),
    (0x33, "STATISTICS"),
    (0x34, "INDIRECT_BRANCH_TARGETS"),
    (0x35, "SW2861232_WAR"),
    (0x36, "SW_WAR"),
    (0x37, "CUDA_API_VERSION"),
    (0x38, "NUM_MBARRIERS"),
    (0x39, "MBARRIER_INSTR_OFFSETS"),
    (0x3a, "COROUTINE_RESUME_ID_OFFSETS"),
    (0x3b, "SAM_REGION_STACK_SIZE"),
    (0x3c, "PER_REG_TARGET_PERF_STATS"),
    (0x3d, "CTA_PER_CLUSTER"),
    (0x3e, "EXPLICIT_CLUSTER"),
    (0x3f, "MAX_CLUSTER_RANK"),
    (0x40, "INSTR_REG_MAP"),
    (0x41, "RESERVED_SMEM_USED"),
    (0x42, "RESERVED_SMEM_0_SIZE"),
    (0x43, "UCODE_SECTION_DATA"),
    (0x44, "UNUSED_LOAD_BYTE_OFFSET"),
    (0x45, "KPARAM_INFO_V2"),
    (0x46, "SYSCALL_OFFSETS"),
    (0x47, "SW_WAR_MEMBAR_SYS_INSTR_OFFSETS"),
    (0x48, "GRAPHICS_GLOBAL_CBANK"),
    (0x49, "SHADER_TYPE"),
    (0x4a, "VRC_CTA_INIT_COUNT"),
    (0x4b, "TOOLS_PATCH_FUNC"),
    (0x4c, "NUM_BARRIERS"),
    (0x4d, "TEXMODE_INDEPENDENT"),
    (0x4e, "PERF_STATISTICS"),
    (0x4f, "AT_ENTRY_FRAGMENTS"),
    (0x50, "SPARSE_MMA_MASK"),
    (0x51, "TCGEN05_1CTA_USED"),
    (0x52, "TCGEN05_2CTA_USED"),
    (0x53, "GEN_ERRBAR_AT_EXIT"),
    (0x54, "REG_RECONFIG"),
    (0x55, "ANNOTATIONS"),
    (0x57, "STACK_CANARY_TRAP_OFFSETS"),
    (0x58, "STUB_FUNCTION_KIND"),
    (0x59, "LOCAL_CTA_ASYNC_STORE_OFFSETS"),
    (0x5a, "MERCURY_FINALIZER_OPTIONS"),
    (0x5b, "BLOCKS_ARE_CLUSTERS"),
    (0x5c, "SANITIZE"),
    (0x5d, "SYSCALLS_FALLBACK"),
    (0x5e, "CUDA_REQ"),
    (0x5f, "MERCURY_ISA_VERSION"),
    (0x61, "RTCORE_ENTRY"),
    (0x62, "CLUSTER_LAUNCH_CONTROL_USED"),
    (0x64, "MIN_PER_CTA_MEMORY_SIZE"),
    (0x65, "IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS"),
    (0x66, "LANGUAGE"),
    (0x6b, "NVSAL_SW_WAR"),
];

#[cfg(test)]
mod tests {
    use super::{COMPAT_NAMES, NAMES, attr, attr_name};

    #[test]
    fn targets_of_two_branches() {
        let words = [0x150_u32, 0, 2, 0x160, 0x180, 0x230, 0, 1, 0x240];
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let both = [(0x150, vec![0x160, 0x180]), (0x230, vec![0x240])];
        assert!(super::branch_targets(&payload).eq(both));
        // A list that is cut off ends there.
        assert!(super::branch_targets(&payload[..16]).eq([(0x150, vec![0x160])]));
    }

    #[test]
    fn names_are_sorted_for_the_search() {
        assert!(NAMES.is_sorted_by_key(|row| row.0));
        assert!(COMPAT_NAMES.is_sorted_by_key(|row| row.0));
        assert_eq!(attr_name(attr::NUM_BARRIERS), Some("NUM_BARRIERS"));
        assert_eq!(attr_name(0x56), None);
    }
}
