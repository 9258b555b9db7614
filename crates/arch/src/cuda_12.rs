//! The releases of CUDA 12, and the rules in which they differ from all later ones.
//!
//! 12.4 and 12.5 were observed with their nvlink, the others with libnvJitLink, which makes the same cubins. There is no
//! CUDA 12.7. What 12.8 and 12.9 do for Blackwell is not known here: such targets are refused.

use crate::release::architectures;
use crate::{Abi, Release};

architectures! {
    "50" "52" "53" "60" "61" "62" "70" "72" "75" "80" "86" "87" "89" "90" "90a"
}

impl Release {
    /// CUDA 12.0, with nvlink 12.0.140.
    pub const CUDA_12_0: &'static Self = &Self {
        name: "12.0",
        version: "12.0.140",
        toolkit: 120,
        nvjitlink: &["libnvJitLink.so.12", "libnvJitLink.so"],
        abi: Abi::Seven,
        archs: &ARCHS,
        names: &NAMES,
        deprecated: &[10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 69],
        forward: &[(50, 52), (60, 61), (70, 75), (80, 86), (80, 89), (86, 89)],
        finalizable: &[],
        newest_mercury: Some(0),
        newest_instructions: None,
        oldest_toolkits: &[(50, 65), (90, 120)],
        cpu_archs: &["AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown"],
    };

    /// CUDA 12.1, with nvlink 12.1.105.
    pub const CUDA_12_1: &'static Self =
        &Self { name: "12.1", version: "12.1.105", toolkit: 121, ..*Self::CUDA_12_0 };

    /// CUDA 12.2, with nvlink 12.2.140.
    pub const CUDA_12_2: &'static Self =
        &Self { name: "12.2", version: "12.2.140", toolkit: 122, ..*Self::CUDA_12_1 };

    /// CUDA 12.3, with nvlink 12.3.107.
    pub const CUDA_12_3: &'static Self =
        &Self { name: "12.3", version: "12.3.107", toolkit: 123, ..*Self::CUDA_12_2 };

    /// CUDA 12.4, with nvlink 12.4.131.
    pub const CUDA_12_4: &'static Self =
        &Self { name: "12.4", version: "12.4.131", toolkit: 124, ..*Self::CUDA_12_3 };

    /// CUDA 12.5, with nvlink 12.5.40.
    pub const CUDA_12_5: &'static Self =
        &Self { name: "12.5", version: "12.5.40", toolkit: 125, ..*Self::CUDA_12_4 };

    /// CUDA 12.6, with nvlink 12.6.85.
    pub const CUDA_12_6: &'static Self =
        &Self { name: "12.6", version: "12.6.85", toolkit: 126, ..*Self::CUDA_12_5 };

    /// CUDA 12.8, with nvlink 12.8.93.
    pub const CUDA_12_8: &'static Self =
        &Self { name: "12.8", version: "12.8.93", toolkit: 128, ..*Self::CUDA_12_6 };

    /// CUDA 12.9, with nvlink 12.9.86.
    pub const CUDA_12_9: &'static Self =
        &Self { name: "12.9", version: "12.9.86", toolkit: 129, ..*Self::CUDA_12_8 };

    /// Names: a symbol's enters the string table when the symbol is made; later those of global symbols come last
    /// (compat/names-12).
    pub const fn names_at_once(&self) -> bool {
        self.toolkit < 124
    }

    /// Names: those of what is removed stay in the string tables: of dead functions, and of what is made on the way
    /// (compat/names-12).
    pub const fn keeps_removed_names(&self) -> bool {
        self.toolkit < 124
    }

    /// Names: prototypes come with the file that mentions them first; later they come before all files (compat/names-12).
    pub const fn names_prototypes_by_file(&self) -> bool {
        self.toolkit < 124
    }

    /// Names: that of the table of unified functions is always there (compat/names-12).
    pub const fn names_unified_table(&self) -> bool {
        self.toolkit < 124
    }

    /// Names: a function without a name has that of another thing, if an earlier file has an empty prototype
    /// (core/nameless-misnamed).
    pub const fn misnames_nameless(&self) -> bool {
        self.toolkit >= 124
    }

    /// Shared memory: the symbol of what is reserved has its value, also where the compiler gave it none. Before, it has none, also
    /// where the compiler gave it one (older/reserved-shared, core/reserved-shared-12).
    pub const fn knows_reserved_shared(&self) -> bool {
        self.toolkit >= 129
    }

    /// Shared memory: symbol 0 gets the value of the symbol of what is reserved, where no other symbol says where that begins
    /// (core/reserved-shared-12).
    pub const fn misplaces_reserved_shared(&self) -> bool {
        self.toolkit >= 125 && self.toolkit < 129
    }

    /// Sections: a flag says that `sh_info` is a section (compat/names-12).
    pub const fn marks_info(&self) -> bool {
        self.toolkit >= 124
    }

    /// Sections: what refers to symbols links to the symbol table; before, always to section 5 (compat/names-12).
    pub const fn links_to_symbols(&self) -> bool {
        self.toolkit >= 123
    }

    /// Sections: the header of a kernel's code has the registers of the kernel alone; before, those that it inherits
    /// (compat/names-12).
    pub const fn keeps_header_registers(&self) -> bool {
        self.toolkit >= 124
    }

    /// Functions: their other names stay with them, whether they are called or not (compat/aliases-12).
    pub const fn keeps_aliases(&self) -> bool {
        self.toolkit < 124
    }

    /// Functions: one that has other names cannot be removed (compat/aliases-12).
    pub const fn refuses_removed_aliases(&self) -> bool {
        self.toolkit < 123
    }

    /// Prototypes: those of other names of removed functions stay, with symbol 0 (compat/aliases-12).
    pub const fn keeps_prototypes_of_aliases(&self) -> bool {
        self.toolkit == 123
    }

    /// Call graph: functions that are called by prototype are among those that are called by name (compat/call-graph-12).
    pub const fn lists_calls_by_prototype(&self) -> bool {
        self.toolkit < 121
    }

    /// Call graph: calls of functions without a definition are listed (compat/call-graph-12).
    pub const fn lists_undefined_callees(&self) -> bool {
        self.toolkit != 122
    }

    /// Constants: those that overflow their bank are packed; before, they are an error (core/constants-packed).
    pub const fn packs_constants(&self) -> bool {
        self.toolkit >= 122
    }

    /// Constants: packed variables are aligned to their size, however large it is. With `-kernels-used` or `-variables-used`
    /// those that nothing names stay, and share their place with equal ones. Later, variables are aligned to a word at most, and
    /// those go (core/constants-packed, core/constants-packed-shared).
    pub const fn packs_by_size(&self) -> bool {
        self.toolkit < 123
    }

    /// Attributes: a kernel that reaches a function relies on reserved shared memory if that does (core/limit-attributes).
    pub const fn inherits_reserved_shared(&self) -> bool {
        self.toolkit >= 122
    }

    /// Sections: there is `.nv.rel.action` (compat/names-12).
    pub const fn has_relocation_actions(&self) -> bool {
        self.toolkit >= 122
    }

    /// Inputs: the header of CUDA 13 is recognized. Earlier releases read it as one of their own, and find another
    /// architecture in it (compat/abi).
    pub const fn reads_abi_8(&self) -> bool {
        self.toolkit >= 125
    }

    /// Inputs: such objects are linked. 12.5 reads the header and expects the version of its own ABI in it (compat/abi).
    pub const fn links_abi_8(&self) -> bool {
        self.toolkit >= 126
    }

    /// Inputs: the notes of such objects are read. Before, they are sections as others are, and the version of the file is
    /// taken for the toolkit (compat/newer-objects).
    pub const fn reads_notes(&self) -> bool {
        self.toolkit >= 128
    }

    /// Inputs: the toolkit in the notes is compared with the linker's own. Before, it is taken for a very old one, and nothing
    /// is refused for it (compat/newer-objects).
    pub const fn reads_toolkit_of_notes(&self) -> bool {
        self.toolkit >= 130
    }

    /// Attributes: a kernel inherits the barriers that attributes of functions name, and not only those that headers of code do.
    /// Before, the only kernel of a link has them added to its barriers in memory (compat/newer-objects).
    pub const fn inherits_listed_barriers(&self) -> bool {
        self.toolkit >= 130
    }

    /// Inputs: the version of the ABI is looked at before the architecture, not after it (compat/abi).
    pub const fn checks_abi_first(&self) -> bool {
        self.toolkit >= 130
    }

    /// The output has notes about its tools and, from sm_90 on, compatibility records (compat/abi-7).
    pub fn writes_notes(&self) -> bool {
        self.abi == Abi::Eight
    }

    /// The barriers of a function become an attribute; before they stay in the header of its code (compat/abi-7).
    pub fn lists_barriers(&self) -> bool {
        self.abi == Abi::Eight
    }

    /// `-v`: the barriers of a kernel are printed (compat/abi-7).
    pub const fn prints_barriers(&self) -> bool {
        self.toolkit >= 126
    }

    /// `-r` links something that can be linked again; before it is accepted, and without effect (cli/options-12).
    pub const fn links_relocatable(&self) -> bool {
        self.toolkit >= 130
    }

    /// `-w` keeps warnings back; from 13.0 on it is without effect (cli/message-switches).
    pub const fn can_silence_warnings(&self) -> bool {
        self.toolkit < 130
    }

    /// Options: those that exclude each other are looked for before a missing target, input or output (cli/no-arch).
    pub const fn checks_conflicts_first(&self) -> bool {
        self.toolkit < 130
    }

    /// Weak functions: the registers of a copy are looked for in its attributes too, where the header of its code does not have
    /// them. Before, from sm_90 on, no copy is better than another (core/weak-fewest-registers).
    pub const fn reads_registers_of_attributes(&self) -> bool {
        self.toolkit >= 130
    }

    /// An undefined function that is new makes a static function of symbol 0 of its file (core/nameless-function).
    pub const fn has_nameless_functions(&self) -> bool {
        self.toolkit < 130
    }

    /// Attributes: a kernel inherits the groups of tensor memory that functions use, and may not have both
    /// (core/limit-attributes).
    pub const fn knows_tensor_groups(&self) -> bool {
        self.toolkit >= 130
    }

    /// `-disable-smem-reservation`: code that relies on the reserved part is refused (core/limit-reserved-copies).
    pub const fn checks_reserved_shared(&self) -> bool {
        self.toolkit >= 130
    }

    /// Attributes about textures: those of a function that name its table of handles stay (core/texture-attributes).
    pub const fn keeps_attributes_of_tables(&self) -> bool {
        self.toolkit < 130
    }

    /// `-force-rela`: the relocations of texture handles say what they are for, as all others do (core/option-force-rela).
    pub const fn marks_handles(&self) -> bool {
        self.toolkit >= 130
    }

    /// Inputs: files that are shorter than this are refused, archives excepted (errors/open-input).
    pub const fn shortest_input(&self) -> usize {
        if self.toolkit < 130 { 52 } else { 56 }
    }

    /// The archive of the device runtime may be the first code of a link; before, other code after it is an error
    /// (hostobj/runtime).
    pub const fn lets_runtime_come_first(&self) -> bool {
        self.toolkit >= 130
    }

    /// `-register-link-binaries`: a fat binary in which nothing is found is among the linked modules (hostobj/register).
    pub const fn registers_unmatched(&self) -> bool {
        self.toolkit < 130
    }

    /// Archives: the head of a member that is cut short has a message of its own; before, memory is asked for by what is read
    /// after the end (hostobj/sizes).
    pub const fn names_short_heads(&self) -> bool {
        self.toolkit >= 130
    }

    /// `-g`: shared memory of extensible programs has a section (core/extensible).
    pub const fn keeps_extensible_shared(&self) -> bool {
        self.toolkit < 130
    }

    /// PTX: the assembler is told about `-split-compile`, which it knows from 12.8 on (ptx/files).
    pub const fn splits_assembly(&self) -> bool {
        self.toolkit >= 128
    }

    /// Fat binaries: PTX for an `a` architecture is taken for such a target only; before, the assembler refuses it
    /// (fatbin/select-ptx).
    pub const fn ties_accelerated_ptx(&self) -> bool {
        self.toolkit >= 130
    }

    /// Fat binaries: of equal members of machine code the last is taken (fatbin/select-equals).
    pub const fn takes_last_equal(&self) -> bool {
        self.toolkit < 130
    }

    /// Fat binaries: a member of an unknown kind is taken for machine code (fatbin/member-fields).
    pub const fn takes_unknown_kinds_for_code(&self) -> bool {
        self.toolkit < 125
    }

    /// Debug information that describes the code of a discarded weak copy, or of one that was replaced, is left out. Before, it
    /// is led to the copy that stays (core/weak-unwind).
    pub const fn forgets_copies(&self) -> bool {
        self.toolkit >= 128
    }

    /// The most shared memory that a kernel may have without asking, where that does not depend on whether the target is an `a`
    /// architecture (core/shared-too-much).
    pub fn shared_limit(&self, number: u16) -> Option<u64> {
        match self.toolkit {
            ..124 | 128..130 => Some(SHARED_OF_ALL),
            124..128 => SHARED_LIMITS.iter().find(|(of, _)| *of == number).map(|(_, limit)| *limit),
            _ => None,
        }
    }
}

/// What releases before 12.4, 12.8 and 12.9 let a kernel have.
const SHARED_OF_ALL: u64 = 0xc000;

/// What 12.4 to 12.6 let a kernel have, by the number of the architecture.
const SHARED_LIMITS: [(u16, u64); 14] = [
    (50, 0x1_0000),
    (52, 0x1_8000),
    (53, 0x1_0000),
    (60, 0x1_0000),
    (61, 0x1_8000),
    (62, 0x1_0000),
    (70, 0x1_8000),
    (72, 0x1_0000),
    (75, 0x1_0000),
    (80, 0x2_9000),
    (86, 0x1_9000),
    (87, 0x2_9000),
    (89, 0x2_9000),
    (90, 0x2_9000),
];
