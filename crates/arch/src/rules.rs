//! Rules in which releases differ, each under the name of what it asks. All was observed with the tools of the releases.

use crate::{Arch, Release, Suffix};

/// The first toolkit in which double precision of sm_100 sets scoreboards.
const TELLS_DOUBLES: u32 = 133;

impl Release {
    /// `.nv.compat`: the record of what can be finalized easily is taken over from the inputs also below sm_100, and keeps
    /// its place among the others (compat/records).
    pub const fn keeps_fastpath_record(&self) -> bool {
        self.toolkit >= 132
    }

    /// The version of the finalizer in code that it made (compat/records).
    pub const fn finalizer_version(&self) -> u16 {
        if self.toolkit >= 135 { 0x0440 } else { 0x0400 }
    }

    /// Layout: what the Mercury view has comes in the order of what it belongs to, its symbols first (core/pointers-prototypes).
    pub const fn orders_mercury_by_code(&self) -> bool {
        self.toolkit >= 135
    }

    /// Layout: with Mercury code the string tables are made anew, with the names of what is in the file, in the order of the file.
    /// Before, bytes after the tables of the merge stay unused (core/pointers-prototypes).
    pub const fn renews_names_with_mercury(&self) -> bool {
        self.toolkit >= 135
    }

    /// Groups of members in fat binaries, which fatbinary 13.4 writes, are read (fatbin/groups).
    pub const fn reads_groups(&self) -> bool {
        self.toolkit >= 132
    }

    /// Layout: with Mercury code the section headers are aligned; later they follow the last section at once
    /// (core/pointers-prototypes).
    pub const fn aligns_headers_with_mercury(&self) -> bool {
        self.toolkit < 135
    }

    /// Code that is finalized: of the names of a function the first one that is met is taken for its own, with its size and its debug
    /// information (mercury/alias-relocatable).
    pub const fn takes_first_name(&self) -> bool {
        self.toolkit < 135
    }

    /// Layout: the twin of reserved shared memory, which has no bytes, takes as much of the file as its size says
    /// (mercury/alias-relocatable, on sm_110).
    pub const fn leaves_room_for_reserved_twin(&self) -> bool {
        self.toolkit < 135
    }

    /// Code that is finalized: static functions of one name in one object have the relocations of the first one
    /// (reloc/static-kernels).
    pub const fn finds_relocations_by_name(&self) -> bool {
        self.toolkit < 135
    }

    /// `-r`: symbols in the constants of functions with Mercury code have the name of the section and a number. Later they keep their
    /// own (reloc/jump-tables).
    pub const fn numbers_constants(&self) -> bool {
        self.toolkit < 135
    }

    /// Symbols: those of a function's constants have the name that Mercury has for the section (core/jump-tables).
    pub const fn keeps_mercury_names(&self) -> bool {
        self.toolkit >= 135
    }

    /// `.nv.compat`: Mercury code has a record with the version of the finalizer (compat/records).
    pub const fn names_its_finalizer(&self) -> bool {
        self.toolkit >= 134
    }

    /// `.nv.compat`: whether the code can be finalized easily for another architecture is asked of its instructions, and not
    /// of the architecture alone (mercury/fastpath).
    pub const fn finalizes_by_code(&self) -> bool {
        self.toolkit < 133
    }

    /// `.nv.compat`: what matrices of the fifth generation are used ties code for an `a` architecture to its number, unless all
    /// of the family have them. Before, those of sm_100 alone tied any code (mercury/fastpath-tied).
    pub const fn tcgen05_ties_accelerated_code(&self) -> bool {
        self.toolkit >= 131
    }

    /// Shared memory: extern arrays are aligned as they say, and the memory of a kernel that uses them is rounded up to its
    /// alignment. Assemblers before it do not say it (core/shared-dynamic-aligned).
    pub const fn aligns_extern_arrays(&self) -> bool {
        self.toolkit >= 131
    }

    /// Code for an `a` architecture links for such a target only (compat/matrix).
    pub const fn ties_accelerated_code(&self) -> bool {
        self.toolkit >= 131
    }

    /// Fat binaries: what is not a fat binary has a message without its key (fatbin/container-header).
    pub const fn names_unknown_binaries(&self) -> bool {
        self.toolkit < 131
    }

    /// The library: undefined references end a link before its image is finished, and each object that is added is timed.
    pub const fn checks_before_finishing(&self) -> bool {
        self.toolkit >= 131
    }

    /// The library: it makes one module of all IR, and keeps it.
    pub const fn gives_merged_ir(&self) -> bool {
        self.toolkit >= 134
    }

    /// The library: an architecture of IR cannot be had as PTX.
    pub const fn library_has_no_ptx_of_ir(&self) -> bool {
        self.toolkit >= 134
    }

    /// The library: a cubin for another member of the target's family is finalized anew, as a member of a fat binary is.
    pub const fn library_finalizes_cubins(&self) -> bool {
        self.toolkit >= 131
    }

    /// `-l`: what is found must begin as an archive does (hostobj/libraries-of-text).
    pub const fn looks_at_archives(&self) -> bool {
        self.toolkit >= 134
    }

    /// LTO: the threads that a link and its modules ask for must be the same (lto/consensus).
    pub const fn compares_split_compile(&self) -> bool {
        self.toolkit >= 131
    }

    /// LTO: the architecture that IR is compiled for: without its suffix up to 13.1, then as an `a` architecture, from 13.3 on
    /// also as a family (lto/emit-ptx, lto/whole).
    pub const fn compiled_arch(&self, arch: Arch) -> Arch {
        match arch.suffix {
            Suffix::A if self.toolkit < 132 => Arch::plain(arch.number),
            _ => self.assembled_arch(arch),
        }
    }

    /// PTX: the architecture that the assembler is asked for. Up to 13.2 it is the plain one in the place of a family
    /// (mercury/ptx-inputs).
    pub const fn assembled_arch(&self, arch: Arch) -> Arch {
        match arch.suffix {
            Suffix::F if self.toolkit < 133 => Arch::plain(arch.number),
            _ => arch,
        }
    }

    /// PTX in a fat binary: the plain architecture is always asked for in the place of a family (fatbin/select-ptx-mercury).
    pub const fn assembled_member_arch(&self, arch: Arch) -> Arch {
        match arch.suffix {
            Suffix::F => Arch::plain(arch.number),
            _ => arch,
        }
    }

    /// Scheduling: every end of a block waits for what is over by then; later only the ends before loops do
    /// (mercury/unused-stack-pointer-paths).
    pub const fn waits_at_ends(&self) -> bool {
        self.toolkit < 131
    }

    /// The first toolkit whose assembler schedules code as this finalizer does: code of earlier ones is scheduled anew.
    pub const fn first_of_kind(&self) -> u32 {
        if self.toolkit >= 131 { 131 } else { 130 }
    }

    /// Scheduling: double precision of sm_100 sets scoreboards beside its stalls (older/blackwell-doubles).
    pub const fn tells_doubles(&self) -> bool {
        self.toolkit >= TELLS_DOUBLES
    }

    /// Whether the assembler of a toolkit has double precision of sm_100 set scoreboards.
    pub const fn is_told_by(toolkit: u32) -> bool {
        toolkit >= TELLS_DOUBLES
    }

    /// Scheduling: what comes after a branch begins a cycle before the stall of the branch is over (mercury/crowded-scoreboards).
    pub const fn begins_early(&self) -> bool {
        self.toolkit < 131
    }

    /// Scheduling: `WARPSYNC`, `YIELD`, `BREAK`, `BRX` and `EXIT` wait for uniform registers that are under way, as results or as operands
    /// (mercury/meetings, mercury/textures-at-exits).
    pub const fn meets_with_uniform(&self) -> bool {
        self.toolkit >= 131
    }

    /// Scheduling: `MEMBAR` waits for barriers in memory that are written, `BAR` for fences of other blocks too, and where threads meet or leave
    /// copies of tensors have read their uniform operands (mercury/scoreboards-barriers).
    pub const fn meets_with_copies(&self) -> bool {
        self.toolkit >= 131
    }

    /// Scheduling: which scoreboard something gets that its block does not wait for depends on whether the next blocks use it
    /// (mercury/scoreboards-ahead).
    pub const fn looks_ahead(&self) -> bool {
        self.toolkit >= 131
    }

    /// Scheduling: what reads under one condition does not wait for what is written under the opposite one (older/blackwell-later-rules).
    pub const fn exempts_opposite_reads(&self) -> bool {
        self.toolkit >= 131
    }

    /// Scheduling: loads of constants and conversions of 64 bits are taken to last longer on sm_103 and sm_110 (mercury/device-runtime,
    /// mercury/scoreboards-conversions, mercury/scoreboards-times).
    pub const fn estimates_longer(&self) -> bool {
        self.toolkit >= 131
    }

    /// Scheduling: conversions of 64 bits are apart from other conversions on all machines, on sm_100 too
    /// (mercury/scoreboards-conversions).
    pub const fn converts_long_apart(&self) -> bool {
        self.toolkit >= 131
    }

    /// How many cycles the unit of double precision takes until it has the next instruction, on sm_103 and sm_120. The finalizer
    /// has delays for that, or leaves it to the machine (mercury/code-of-other-member, mercury/other-toolkit-delays).
    pub const fn double_interval(&self) -> u32 {
        if Self::has_delays_for_doubles(self.toolkit) { 64 } else { 1 }
    }

    /// Whether the assembler of a toolkit has such delays in its code.
    pub const fn has_delays_for_doubles(toolkit: u32) -> bool {
        toolkit < 134
    }

    /// Code of sm_100 for sm_103: in blocks with products of matrices no other warp goes on after stalls that need delays. Before, none goes on
    /// in loops around matrices (mercury/matrices-of-other-member).
    pub const fn holds_around_matrices(&self) -> bool {
        self.toolkit >= 131
    }

    /// The finalizer has an instruction for sums of two numbers, on sm_120 and sm_121 (mercury/other-toolkit).
    pub const fn adds_two_numbers(&self, number: u16) -> bool {
        self.toolkit >= 131 && number >= 120
    }

    /// Attributes: the finalizer says that the code has a workaround around synchronisations (6b), whether the assembler did or not
    /// (mercury/other-toolkit-delays).
    pub const fn names_workaround(&self) -> bool {
        self.toolkit >= 132
    }

    /// Attributes: it says so of another one (6d), which code has not.
    pub const fn names_second_workaround(&self) -> bool {
        self.toolkit >= 134
    }

    /// Attributes: the finalizer adds one (67) to all code for an architecture, and removes the workarounds that the assembler
    /// names for others of the family (compat/matrix).
    pub const fn marks_finalized_code(&self, number: u16) -> bool {
        number == 107
    }

    /// `-link-as-tools-patch`: how messages spell its short name (cli/tools-patch).
    pub const fn tools_patch_option(&self) -> &'static str {
        if self.toolkit < 134 { "--astoolspatch" } else { "-astoolspatch" }
    }

    /// `-v`: a kernel that uses no barrier has the number of the kernel in the line before (core/verbose-barriers). Where
    /// no kernel before it uses a barrier either, it is what was in memory; solder prints 0 (docs/deviations.md).
    pub const fn repeats_barriers(&self) -> bool {
        self.toolkit >= 131
    }

    /// `-v`: kernels before the first one that uses barriers have the number of sections without bytes (core/verbose-sections).
    pub const fn counts_sections_for_barriers(&self) -> bool {
        self.toolkit >= 134
    }

    /// Attributes: a new list of undefined functions of the only kernel has each entry before those met earlier, not after them
    /// (core/syscalls-one-kernel).
    pub const fn prepends_externs(&self) -> bool {
        self.toolkit < 132
    }

    /// Tensor memory groups of the only kernel: it is compared with each function as it was in the input, and those of two
    /// functions are not compared with each other (core/limit-attributes).
    pub const fn compares_cta_groups_as_read(&self) -> bool {
        self.toolkit < 132
    }

    /// Attributes: a kernel takes over the languages of the functions it reaches (core/languages).
    pub const fn inherits_languages(&self) -> bool {
        self.toolkit >= 132
    }

    /// Symbols: weak ones are listed with the global ones, as ELF wants it, and not with the local ones
    /// (core/weak-and-strong).
    pub const fn lists_weak_with_globals(&self) -> bool {
        self.toolkit >= 134
    }

    /// Symbols: shared variables of one kernel are local where they are kept in an image (debug/shared-symbols).
    pub const fn localizes_shared(&self) -> bool {
        self.toolkit >= 134
    }

    /// `-r`: references to shared variables stay relocations (core/relocatable).
    pub const fn keeps_shared_references(&self) -> bool {
        self.toolkit >= 132
    }

    /// The Mercury view has a call graph and prototypes of its own, with what those of the code say (mercury/call-graph).
    pub const fn has_mercury_call_graph(&self) -> bool {
        self.toolkit >= 134
    }

    /// Shared memory of a kernel in which there is no variable comes in as one without a name, as in whole programs
    /// (reloc/dynamic-16).
    pub const fn takes_nameless_shared(&self) -> bool {
        self.toolkit >= 134
    }

    /// Names: where all relocations have addends, a section for those without is looked for, and its name stays
    /// (core/address-initialisers).
    pub const fn looks_for_rel_sections(&self) -> bool {
        self.toolkit < 135
    }

    /// Variables: a definition without initial value takes the place of a common one as others do, of the same size. Before, it
    /// does not (core/commons-without-value).
    pub const fn replaces_commons_without_value(&self) -> bool {
        self.toolkit >= 133
    }

    /// `-register-link-binaries`: inputs without host code are reported (hostobj/register).
    pub const fn reports_missing_host_code(&self) -> bool {
        self.toolkit >= 133
    }

    /// Mercury code loses the workaround that some assemblers put around synchronisations, and the attribute that says so
    /// (docs/reference/finalize.md).
    pub const fn removes_workaround(&self) -> bool {
        self.toolkit < 132
    }

    /// A cubin with the number 0 has a message of its own (compat/old-header).
    pub const fn knows_arch_zero(&self) -> bool {
        self.toolkit < 131
    }

    /// Mercury code of a version that cannot be finalized is refused when it is finalized, not when it is read
    /// (compat/finalization).
    pub const fn refuses_when_finalizing(&self) -> bool {
        self.toolkit >= 131
    }

    /// Mercury code whose records have values without a meaning, version 0 and the target 2, is not finalized
    /// (compat/finalization).
    pub const fn refuses_odd_records(&self) -> bool {
        self.toolkit >= 131
    }

    /// Sanitized objects must come from one toolkit (compat/sanitized).
    pub const fn compares_sanitized_toolkits(&self) -> bool {
        self.toolkit >= 131
    }

    /// A file of IR is registered, as `(null)`, and keeps all kernels as other code without a host object does (lto/files-of-12).
    pub const fn registers_files_of_ir(&self) -> bool {
        self.toolkit < 130
    }

    /// nvJitLink: `-r` applies to IR too, also where there is no other code (lto/relocatable).
    pub const fn relocates_ir_alone(&self) -> bool {
        self.toolkit >= 133
    }

    /// nvJitLink: the info log says that architectures like this one will go (cli/every-arch).
    pub const fn announces_removal(&self, number: u16) -> bool {
        self.toolkit >= 128 && self.toolkit < 130 && number < 75
    }

    /// nvJitLink: SASS for a target with Mercury code is refused in words that name neither (compat/matrix).
    pub const fn compares_binary_formats(&self) -> bool {
        self.toolkit >= 131
    }

    /// `-v2` with `-lto`: the compiler names one step more (lto/verbose).
    pub const fn names_linking_step(&self) -> bool {
        self.toolkit >= 133
    }

    /// nvJitLink: what the log says before and after the number of an architecture of IR that is newer than the target
    /// (lto/newer-architecture).
    pub const fn newer_ir(&self) -> [&'static str; 2] {
        match self.toolkit {
            ..=130 => ["ERROR ", " in LTOIR arch newer than target arch"],
            _ => ["ERROR NVVM_ERROR not found (", ") in LTOIR arch newer than target arch"],
        }
    }

    /// nvJitLink: what the log says of IR in a link without `-lto` (lto/no-ir).
    pub const fn lto_not_enabled(&self) -> &'static str {
        match self.toolkit {
            ..=129 => "ERROR 1: TODO: nvvm input without LTO",
            _ => "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)",
        }
    }

    /// nvJitLink: index files are a type of input.
    pub const fn library_knows_indices(&self) -> bool {
        self.toolkit >= 126
    }

    /// nvJitLink: what the log says of a fat binary without code for the target, before its name (fatbin/not-found).
    pub const fn library_unmatched(&self) -> &'static str {
        if self.toolkit >= 126 { "ERROR 3: bad input: " } else { "ERROR 7: bad input:" }
    }

    /// nvJitLink: bytes of no type are told from a type that there is not.
    pub const fn library_knows_unrecognized_inputs(&self) -> bool {
        self.toolkit >= 124
    }

    /// nvJitLink: the log names a file that cannot be opened.
    pub const fn library_names_missing_files(&self) -> bool {
        self.toolkit >= 128
    }

    /// nvJitLink: what the log says of `-lto` without IR (lto/no-ir).
    pub const fn no_module(&self) -> &'static str {
        match self.toolkit {
            ..=130 => "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM",
            131..=133 => {
                "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram: no input files compiled with LTO support \
                 (-dlto or -lto) found, cannot proceed with -lto option"
            }
            _ => "ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram callback",
        }
    }
}
