//! What a link is asked to do.

use crate::recorded_paths::PathRules;
use crate::roots::{HostReferences, Roots};
use solder_arch::{Release, Target};

/// The options of a link, as values. What the options of nvlink's command line mean is said at each.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// `-arch`: what the output is for.
    pub target: Target,
    /// The toolkit whose linker this one is.
    pub release: &'a Release,
    /// `-r`: the output is an object, which another link takes.
    pub relocatable: bool,
    /// `-g` without `-suppress-debug-info`: code is kept for a debugger.
    pub debug: bool,
    /// `-g`, `-r` or `-preserve-relocs`: functions that no kernel reaches stay.
    pub keeps_dead_code: bool,
    /// `-preserve-relocs`: relocations that the link resolves are listed in sections of their own.
    pub preserve_relocs: bool,
    /// `-force-rela`: relocations have addends.
    pub force_rela: bool,
    /// All code but the device runtime was made by link-time optimization, which had the whole program.
    pub is_optimized: bool,
    /// `-kernels-used`: a kernel stays if its name contains one of these texts.
    pub kernels_used: Option<&'a [Vec<u8>]>,
    /// `-variables-used`: the same for variables.
    pub variables_used: Option<&'a [Vec<u8>]>,
    /// What host code refers to; `None` with `-ignore-host-info`.
    pub references: Option<&'a HostReferences<'a>>,
    /// `-keep-system-libraries`: the device runtime stays, needed or not.
    pub keep_system_libraries: bool,
    /// `-allow-undefined-globals`.
    pub allow_undefined_globals: bool,
    /// `-verbose`: what each kernel uses is reported.
    pub verbose: bool,
    /// `-extra-warnings`.
    pub extra_warnings: bool,
    /// `-suppress-stack-size-warning`.
    pub suppress_stack_size_warning: bool,
    /// `-dump-callgraph`: the call graph is written as text.
    pub dump_callgraph: bool,
    /// `-dot`: the call graph is drawn.
    pub draw_callgraph: bool,
    /// `-nv-host`: the bytes of `.nv.host`.
    pub host: Option<&'a [u8]>,
    /// `-cuda-api-version`, major and minor.
    pub cuda_api_version: Option<(i32, i32)>,
    /// `-reserve-null-pointer`, unless `-dont-reserve-null-pointer`: no shared variable is at address 0.
    pub reserve_null_pointer: bool,
    /// `-disable-smem-reservation`: nothing is reserved at the beginning of shared memory.
    pub disable_smem_reservation: bool,
    /// `-enable-extended-smem`: kernels may have as much shared memory as the target has.
    pub enable_extended_smem: bool,
    /// `-link-as-tools-patch`: every function must be compiled as a patch for tools.
    pub tools_patch: bool,
    /// Undefined references and exceeded limits are errors, and an image is made all the same: nvJitLink does so, nvlink does
    /// not.
    pub image_despite_errors: bool,
    /// The linker's own entry in `.note.nv.tkinfo`.
    pub record: Record<'a>,
    /// What a large link was made of is not freed: for programs that end right after it.
    pub forgets_memory: bool,
}

/// A linker of NVIDIA's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tool {
    /// The command.
    #[default]
    Nvlink,
    /// The library.
    NvJitLink,
}

/// What the output says about how it was made.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// Which of NVIDIA's linkers is replaced: the length of its words decides where all that follows is.
    pub tool: Tool,
    /// The name of the output.
    pub object: Vec<u8>,
    /// The command line.
    pub command_line: Vec<u8>,
    /// What becomes of paths in it.
    pub paths: PathRules<'a>,
}

impl<'a> Options<'a> {
    /// An executable image, all else as nvlink does by default.
    pub fn new(target: Target, release: &'a Release) -> Self {
        Self {
            target,
            release,
            relocatable: false,
            debug: false,
            keeps_dead_code: false,
            preserve_relocs: false,
            force_rela: false,
            is_optimized: false,
            kernels_used: None,
            variables_used: None,
            references: None,
            keep_system_libraries: false,
            allow_undefined_globals: false,
            verbose: false,
            extra_warnings: false,
            suppress_stack_size_warning: false,
            dump_callgraph: false,
            draw_callgraph: false,
            host: None,
            cuda_api_version: None,
            reserve_null_pointer: false,
            disable_smem_reservation: false,
            tools_patch: false,
            enable_extended_smem: false,
            image_despite_errors: false,
            record: Record::default(),
            forgets_memory: false,
        }
    }

    /// The number of the target architecture.
    pub(crate) fn sm(&self) -> u16 {
        self.target.arch.number
    }

    /// Shared variables keep their symbols.
    pub(crate) fn keeps_shared_symbols(&self) -> bool {
        self.debug && !self.relocatable
    }

    /// Kernels or variables are asked for by name.
    pub(crate) fn asks_for_names(&self) -> bool {
        self.kernels_used.is_some() || self.variables_used.is_some()
    }

    /// Constants that are in the output already are not added once more.
    pub(crate) fn merges_constants(&self, roots: &Roots<'_>) -> bool {
        let is_selected = self.asks_for_names() || matches!(roots, Roots::Matching(_) | Roots::Compiled(_));
        is_selected && !self.relocatable && !self.debug
    }

    /// What stays free so that no shared variable is at address 0 (core/shared-null-pointer).
    pub(crate) fn null_pointer(&self) -> u64 {
        u64::from(self.reserve_null_pointer)
    }

    /// Shared memory that the system keeps before a kernel's own.
    pub(crate) fn reserved_shared(&self) -> u64 {
        if self.disable_smem_reservation { 0 } else { reserved_shared(self.sm()) }
    }
}

/// Shared memory that the system keeps before a kernel's own, unless it is told not to.
pub(crate) fn reserved_shared(sm: u16) -> u64 {
    if sm >= 90 { 0x400 } else { 0 }
}
