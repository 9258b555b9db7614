//! The ELF structures as they lie in the file. All fields are little-endian and unaligned, so a slice
//! of them can be borrowed from any offset of a mapped input.

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

macro_rules! elf_struct {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct $name { $(pub $field: $ty),* }
    };
}

elf_struct!(
    /// The ELF file header.
    FileHeader {
        ident: [u8; 16],
        e_type: U16,
        machine: U16,
        version: U32,
        entry: U64,
        phoff: U64,
        shoff: U64,
        flags: U32,
        ehsize: U16,
        phentsize: U16,
        phnum: U16,
        shentsize: U16,
        shnum: U16,
        shstrndx: U16,
    }
);
impl FileHeader {
    /// The header of 13.0 and later. That of older toolkits has its flags in other places, and their number in place of
    /// the version of ELF.
    pub fn is_current(&self) -> bool {
        self.ident[7] == OSABI_CUDA
    }

    /// The flags of older toolkits: the architecture, and the lowest virtual one that the code was compiled from.
    pub fn older_flags(sm: u16, is_accelerated: bool, virtual_sm: u16) -> u32 {
        let accelerated = if is_accelerated { OLDER_EF_ACCELERATED } else { 0 };
        let (sm, virtual_sm) = (u32::from(sm & 0xff), u32::from(virtual_sm & 0xff));
        virtual_sm << 16 | OLDER_EF_TEXMODE | OLDER_EF_64_BIT | accelerated | sm
    }
}

/// How many barriers the flags of a section of code name.
pub fn barriers(flags: u64) -> u8 {
    ((flags & SHF_BARRIERS) >> SHF_BARRIERS.trailing_zeros()) as u8
}

/// The flags of a section of code that name so many barriers.
pub fn barriers_flag(count: u8) -> u64 {
    u64::from(count) << SHF_BARRIERS.trailing_zeros() & SHF_BARRIERS
}

elf_struct!(
    /// A section header.
    SectionHeader {
        name: U32,
        sh_type: U32,
        flags: U64,
        addr: U64,
        offset: U64,
        size: U64,
        link: U32,
        info: U32,
        align: U64,
        entsize: U64,
    }
);
elf_struct!(
    /// A program header.
    ProgramHeader {
        p_type: U32,
        flags: U32,
        offset: U64,
        vaddr: U64,
        paddr: U64,
        filesz: U64,
        memsz: U64,
        align: U64,
    }
);
elf_struct!(
    /// A symbol table entry.
    Symbol {
        name: U32,
        info: u8,
        other: u8,
        shndx: U16,
        value: U64,
        size: U64,
    }
);
elf_struct!(
    /// A relocation without addend (`SHT_REL`).
    Rel {
        offset: U64,
        r_type: U32,
        symbol: U32,
    }
);
elf_struct!(
    /// A relocation with addend (`SHT_RELA`).
    Rela {
        offset: U64,
        r_type: U32,
        symbol: U32,
        addend: I64,
    }
);
elf_struct!(
    /// A pair of words: the records of `.nv.callgraph` and `.nv.prototype`.
    WordPair { a: U32, b: U32 }
);

impl Symbol {
    pub fn bind(&self) -> u8 {
        self.info >> 4
    }
    pub fn kind(&self) -> u8 {
        self.info & 15
    }
    /// A texture, sampler or surface reference.
    pub fn is_image(&self) -> bool {
        matches!(self.kind(), STT_TEXTURE | STT_SAMPLER | STT_SURFACE)
    }
    pub fn is_defined(&self) -> bool {
        self.shndx.get() != SHN_UNDEF
    }
    pub fn visibility(&self) -> u8 {
        self.other & 3
    }
}

pub const HEADER_SIZE: u64 = 64;
pub const SECTION_HEADER_SIZE: u64 = 64;
pub const PROGRAM_HEADER_SIZE: u64 = 56;
pub const SYMBOL_SIZE: u64 = 24;

pub const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
pub const EM_CUDA: u16 = 190;
pub const ELFCLASS64: u8 = 2;
pub const OSABI_CUDA: u8 = 0x41;
pub const ABI_VERSION: u8 = 8;
/// The same for toolkits before 13.0.
pub const OLDER_OSABI: u8 = 0x33;
pub const OLDER_ABI_VERSION: u8 = 7;

/// The kind of code in the low byte of the file header's flags.
pub const EF_SASS: u32 = 4;
pub const EF_MERCURY: u32 = 2;

/// In the flags of older toolkits: textures are not bound to units, which is always so.
pub const OLDER_EF_TEXMODE: u32 = 0x100;
/// Addresses have 64 bits.
pub const OLDER_EF_64_BIT: u32 = 0x400;
/// The code is for an `a` architecture.
pub const OLDER_EF_ACCELERATED: u32 = 0x800;

pub const ET_REL: u16 = 1;
pub const ET_EXEC: u16 = 2;
/// A program that still lacks the device runtime (`ptxas -ewp`).
pub const ET_EXTENSIBLE: u16 = 0xff00;

pub const PT_LOAD: u32 = 1;
pub const PT_PHDR: u32 = 6;
pub const PF_X: u32 = 1;
pub const PF_W: u32 = 2;
pub const PF_R: u32 = 4;

pub const SHN_UNDEF: u16 = 0;
pub const SHN_LORESERVE: u16 = 0xff00;
pub const SHN_COMMON: u16 = 0xfff2;
/// The section is in `.symtab_shndx`.
pub const SHN_XINDEX: u16 = 0xffff;

pub const STB_LOCAL: u8 = 0;
pub const STB_GLOBAL: u8 = 1;
pub const STB_WEAK: u8 = 2;

pub const STT_NOTYPE: u8 = 0;
pub const STT_OBJECT: u8 = 1;
pub const STT_FUNC: u8 = 2;
pub const STT_SECTION: u8 = 3;
/// Texture, sampler and surface references.
pub const STT_TEXTURE: u8 = 10;
pub const STT_SAMPLER: u8 = 11;
pub const STT_SURFACE: u8 = 12;
/// What ptxas writes for variables; a link turns it into `STT_OBJECT`.
pub const STT_CUDA_OBJECT: u8 = 13;

/// Bits of `st_other`: the visibility below, then CUDA's own.
/// Visibility of what only the linker is to see.
pub const STV_INTERNAL: u8 = 1;
pub const STO_MANAGED: u8 = 0x04;
pub const STO_ENTRY: u8 = 0x10;
/// The storage class that ptxas records for variables (bits 5..7).
/// The bits that tell the memory space of a variable.
pub const STO_SPACE: u8 = 0xe0;
pub const STO_GLOBAL: u8 = 0x20;
pub const STO_SHARED: u8 = 0x40;
pub const STO_CONSTANT: u8 = 0x80;

pub const SHF_WRITE: u64 = 1;
pub const SHF_ALLOC: u64 = 2;
pub const SHF_EXECINSTR: u64 = 4;
pub const SHF_INFO_LINK: u64 = 0x40;

pub const SHT_NULL: u32 = 0;
pub const SHT_PROGBITS: u32 = 1;
pub const SHT_SYMTAB: u32 = 2;
pub const SHT_STRTAB: u32 = 3;
pub const SHT_RELA: u32 = 4;
pub const SHT_NOTE: u32 = 7;
pub const SHT_NOBITS: u32 = 8;
pub const SHT_REL: u32 = 9;
pub const SHT_SYMTAB_SHNDX: u32 = 18;
pub const SHT_CUDA_INFO: u32 = 0x7000_0000;
pub const SHT_CUDA_CALLGRAPH: u32 = 0x7000_0001;
pub const SHT_CUDA_PROTOTYPE: u32 = 0x7000_0002;
pub const SHT_CUDA_RESOLVED_RELA: u32 = 0x7000_0003;
pub const SHT_CUDA_GLOBAL: u32 = 0x7000_0007;
pub const SHT_CUDA_GLOBAL_INIT: u32 = 0x7000_0008;
pub const SHT_CUDA_LOCAL: u32 = 0x7000_0009;
pub const SHT_CUDA_SHARED: u32 = 0x7000_000a;
pub const SHT_CUDA_REL_ACTION: u32 = 0x7000_000b;
pub const SHT_CUDA_UFT: u32 = 0x7000_000e;
pub const SHT_CUDA_UFT_ENTRY: u32 = 0x7000_0011;
pub const SHT_CUDA_UDT: u32 = 0x7000_0012;
pub const SHT_CUDA_UDT_ENTRY: u32 = 0x7000_0014;
pub const SHT_CUDA_SHARED_RESERVED: u32 = 0x7000_0015;
pub const SHT_CUDA_CAPSULE: u32 = 0x7000_0016;
/// `.nv.constant0`; bank N is this plus N.
pub const SHT_CUDA_CONSTANT: u32 = 0x7000_0064;
pub const SHT_CUDA_CONSTANT_LAST: u32 = SHT_CUDA_CONSTANT + 17;
pub const SHT_MERC_CONSTANT_IMAGES: u32 = 0x7000_0079;
pub const SHT_MERC_CONSTANT_USER: u32 = 0x7000_007c;
pub const SHT_MERC_RELA: u32 = 0x7000_0082;
pub const SHT_MERC_INFO: u32 = 0x7000_0083;
pub const SHT_MERC_CALLGRAPH: u32 = 0x7000_008a;
pub const SHT_MERC_PROTOTYPE: u32 = 0x7000_008b;
pub const SHT_MERC_CONSTANT_OPTIMIZER: u32 = 0x7000_0084;
pub const SHT_MERC_SYMTAB: u32 = 0x7000_0085;
pub const SHT_MERC_RESOLVED_RELA: u32 = 0x7000_0088;
pub const SHT_CUDA_COMPAT: u32 = 0x7000_0086;
pub const SHT_CUDA_HOST: u32 = 0x7000_0087;

/// Marks the sections of the Mercury view.
pub const SHF_MERCURY: u64 = 0x1000_0000;
/// Code: how many barriers it uses, in objects of toolkits before 13.0; newer ones say it in an attribute.
pub const SHF_BARRIERS: u64 = 0x07f0_0000;
/// What the two notes carry.
pub const SHF_NOTE_TKINFO: u64 = 0x0200_0000;
pub const SHF_NOTE_CUINFO: u64 = 0x0100_0000;

/// Section types that occupy no bytes of the file although their size is not zero.
pub fn takes_no_file_space(sh_type: u32) -> bool {
    matches!(
        sh_type,
        SHT_NOBITS | SHT_CUDA_GLOBAL | SHT_CUDA_LOCAL | SHT_CUDA_SHARED | SHT_CUDA_SHARED_RESERVED
    )
}
