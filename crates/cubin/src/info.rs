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
    pub const KPARAM_INFO: u8 = 0x17;
    pub const MAXREG_COUNT: u8 = 0x1b;
    pub const CRS_STACK_SIZE: u8 = 0x1e;
    pub const MAX_STACK_SIZE: u8 = 0x23;
    pub const LOAD_CACHE_REQUEST: u8 = 0x26;
    pub const REGCOUNT: u8 = 0x2f;
    pub const NUM_MBARRIERS: u8 = 0x38;
    pub const SAM_REGION_STACK_SIZE: u8 = 0x3b;
    pub const RESERVED_SMEM_USED: u8 = 0x41;
    pub const KPARAM_INFO_V2: u8 = 0x45;
    pub const VRC_CTA_INIT_COUNT: u8 = 0x4a;
    pub const NUM_BARRIERS: u8 = 0x4c;
    pub const TEXMODE_INDEPENDENT: u8 = 0x4d;
    pub const AT_ENTRY_FRAGMENTS: u8 = 0x4f;
    pub const SPARSE_MMA_MASK: u8 = 0x50;
    pub const TCGEN05_1CTA_USED: u8 = 0x51;
    pub const TCGEN05_2CTA_USED: u8 = 0x52;
    pub const REG_RECONFIG: u8 = 0x54;
    pub const MERCURY_FINALIZER_OPTIONS: u8 = 0x5a;
    pub const MERCURY_ISA_VERSION: u8 = 0x5f;
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

pub fn write_record(out: &mut Vec<u8>, format: u8, attr: u8, payload: &[u8]) {
    out.extend([format, attr]);
    if format == format::SIZED {
        out.extend((payload.len() as u16).to_le_bytes());
    }
    out.extend(payload);
}

/// The records of a section. A record that runs past the end is an `Err`, the last item then.
#[derive(Clone, Debug)]
pub struct Records<'data> {
    rest: &'data [u8],
}

/// A record does not fit into its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

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
