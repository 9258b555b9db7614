//! What one invocation does: computed once from the options, asked by the phases.

use solder_arch::Kind;

use crate::options::Options;

/// What is written to the output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Executable,
    Relocatable,
    Ptx,
    /// Nothing, except that a virtual target under whole-program optimisation yields code for the real one.
    Nothing,
    HostScript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub output: Output,
    /// Link-time optimisation is on.
    pub lto: bool,
    /// Unreachable functions and unused kernels are removed. `-r`, `-g`, `-preserve-relocs` and `-link-as-tools-patch`
    /// keep everything.
    pub removes_dead_code: bool,
}

impl Mode {
    pub fn of(options: &Options) -> Self {
        Self {
            output: output(options),
            lto: options.lto,
            removes_dead_code: !(options.relocatable
                || options.debug
                || options.preserve_relocs
                || options.tools_patch),
        }
    }

    /// The same for inputs among which there is no IR: an ordinary link, which writes no PTX.
    #[must_use]
    pub fn without_ir(self, options: &Options) -> Self {
        let output = match self.output {
            Output::Ptx if options.relocatable => Output::Relocatable,
            Output::Ptx => Output::Executable,
            other => other,
        };
        Self { output, lto: false, ..self }
    }
}

fn output(options: &Options) -> Output {
    let is_virtual = options.target.is_some_and(|target| target.kind == Kind::Compute);
    if options.host_script.is_some() {
        Output::HostScript
    } else if options.lto && options.emit_ptx {
        Output::Ptx
    } else if is_virtual {
        Output::Nothing
    } else if options.relocatable {
        Output::Relocatable
    } else {
        Output::Executable
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::diagnostics::{Printer, Settings};
    use crate::options::Values;

    fn mode(line: &str) -> Mode {
        let printer = Printer::in_memory(Settings::default());
        let sink = printer.sink();
        let words = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let values =
            Values::parse(words, solder_arch::Release::CUDA_13_0, &sink).expect("a good command line");
        Mode::of(&Options::new(values, OsStr::new("nvlink"), false))
    }

    #[test]
    fn outputs() {
        let output = |line| mode(line).output;
        assert_eq!(output("-arch=sm_90"), Output::Executable);
        assert_eq!(output("-arch=sm_90 -lto"), Output::Executable);
        assert_eq!(output("-arch=sm_90 -lto -force-partial-lto"), Output::Executable);
        assert_eq!(output("-arch=sm_90 -lto -r"), Output::Relocatable);
        assert_eq!(output("-arch=sm_100 -r"), Output::Relocatable);
        assert_eq!(output("-arch=sm_90 -lto -emit-ptx"), Output::Ptx);
        assert_eq!(output("-arch=compute_90 -lto -emit-ptx"), Output::Ptx);
        assert_eq!(output("-arch=compute_90 -r"), Output::Nothing);
        assert_eq!(output("-ghls=lcs-aug"), Output::HostScript);
        assert_eq!(output("-ghls -arch=sm_90 -lto"), Output::HostScript);
    }

    #[test]
    fn what_keeps_dead_code() {
        for line in ["-arch=sm_90 -g", "-arch=sm_90 -preserve-relocs", "-arch=sm_100 -r"] {
            assert!(!mode(line).removes_dead_code, "{line}");
        }
        assert!(mode("-arch=sm_100").removes_dead_code);
    }
}
