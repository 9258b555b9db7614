//! What a link with IR is asked for.

use solder_arch::{Release, Target};

/// The options that decide how IR is compiled. Each names the option of nvlink's command line that it is.
#[derive(Clone, Debug)]
pub struct LtoOptions<'a> {
    /// `-arch`.
    pub target: Target,
    /// The toolkit that is replaced.
    pub release: &'a Release,
    /// `-force-partial-lto` or `-r`: other code is to be linked later.
    pub partial: bool,
    /// `-force-whole-lto`: IR alone is a whole program, whatever it refers to.
    pub whole: bool,
    /// `-g`, without `-suppress-debug-info`.
    pub debug: bool,
    /// `-emit-ptx`: the PTX is wanted, not the code.
    pub emit_ptx: bool,
    /// `-v2`: what is being done is printed.
    pub verbose2: bool,
    /// `-maxrregcount`.
    pub registers: Option<i32>,
    /// `-split-compile`.
    pub split_compile: Option<i32>,
    /// `-split-compile-extended`.
    pub split_compile_extended: Option<i32>,
    /// `-Ofc`: `min`, `mid` or `max`.
    pub fast_compile: Option<&'static str>,
    /// `-ignore-host-info`, or implied by `-r`.
    pub ignore_host_info: bool,
    /// `-kernels-used`; empty if it was not given.
    pub kernels_used: &'a [Vec<u8>],
    /// `-variables-used`; empty if it was not given.
    pub variables_used: &'a [Vec<u8>],
    /// Elements of `-Xnvvm`, each to be split at blanks.
    pub xnvvm: Vec<Vec<u8>>,
}

impl<'a> LtoOptions<'a> {
    /// Nothing but the target.
    pub fn new(target: Target, release: &'a Release) -> Self {
        Self {
            target,
            release,
            partial: false,
            whole: false,
            debug: false,
            emit_ptx: false,
            verbose2: false,
            registers: None,
            split_compile: None,
            split_compile_extended: None,
            fast_compile: None,
            ignore_host_info: false,
            kernels_used: &[],
            variables_used: &[],
            xnvvm: Vec::new(),
        }
    }
}
