//! What one invocation does: computed once from the options, asked by the phases.

use solder_arch::{Kind, Target};

use crate::options::{HostScript, Options};

/// The modes of the device linker. Mode J, which keeps intermediate files, lies over the others and is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    /// Executable link.
    A,
    /// Relocatable link.
    B,
    /// Whole-program link-time optimisation.
    C,
    /// Partial link-time optimisation.
    D,
    /// Link-time optimisation that ends with PTX.
    E,
    /// Link of Mercury code, executable or relocatable.
    F,
    /// Inputs are read and checked for a virtual target.
    G,
    /// The CUDA part of a host linker script.
    H,
    /// A complete host linker script.
    I,
}

/// The steps of a run, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Find the `-l` libraries.
    Libraries,
    /// Read and check the inputs; PTX among them is assembled.
    Load,
    /// Compile LTO IR to PTX.
    Compile,
    /// Assemble the compiled PTX.
    Assemble,
    Merge,
    RemoveDeadCode,
    Layout,
    Relocate,
    /// Write the output file.
    Write,
    /// Try a script with the host linker.
    TryScript,
}

/// Whether a mode runs a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    Never,
    Always,
    /// The inputs decide. The result of whole-program optimisation is the output; it is linked only if the
    /// compiler left references open or returned it in parts, or if some input was no IR.
    AsNeeded,
}

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
    pub letter: Letter,
    pub output: Output,
    /// Link-time optimisation is on.
    pub lto: bool,
    /// Link-time optimisation is partial whatever the inputs are.
    pub partial_lto: bool,
    /// The target's code is Mercury.
    pub mercury: bool,
    /// Unreachable functions and unused kernels are removed. `-r`, `-g` and `-preserve-relocs` keep everything.
    pub removes_dead_code: bool,
    /// Shared variables keep their symbols: what `-g` without `-suppress-debug-info` adds for a debugger.
    pub keeps_shared_symbols: bool,
}

impl Mode {
    pub fn of(options: &Options) -> Self {
        let mercury = options.target.is_some_and(Target::is_mercury);
        let letter = letter(options, mercury);
        Self {
            letter,
            output: output(letter, options),
            lto: options.lto,
            partial_lto: options.partial_lto,
            mercury,
            keeps_shared_symbols: options.debug && !options.suppress_debug_info && !options.relocatable,
            removes_dead_code: !(options.relocatable || options.debug || options.preserve_relocs),
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

    pub fn runs(&self, phase: Phase) -> Runs {
        use Phase::{
            Assemble, Compile, Layout, Libraries, Load, Merge, Relocate, RemoveDeadCode, TryScript, Write,
        };
        let when = |condition| if condition { Runs::Always } else { Runs::Never };
        let links = match self.letter {
            Letter::A | Letter::B | Letter::D | Letter::F => Runs::Always,
            Letter::C => Runs::AsNeeded,
            Letter::E | Letter::G | Letter::H | Letter::I => Runs::Never,
        };
        let is_script = self.output == Output::HostScript;
        match phase {
            Libraries | Load => when(!is_script),
            Compile => when(self.lto && !is_script),
            Assemble => when(self.lto && !is_script && self.output != Output::Ptx),
            Merge | Layout | Relocate => links,
            RemoveDeadCode if self.removes_dead_code => links,
            RemoveDeadCode => Runs::Never,
            Write if self.output == Output::Nothing => {
                if self.lto {
                    Runs::AsNeeded
                } else {
                    Runs::Never
                }
            }
            Write => Runs::Always,
            TryScript => when(self.letter == Letter::I),
        }
    }
}

fn letter(options: &Options, mercury: bool) -> Letter {
    match options.host_script {
        Some(HostScript::Augment) => return Letter::H,
        Some(HostScript::Complete) => return Letter::I,
        None => {}
    }
    if options.lto && options.emit_ptx {
        Letter::E
    } else if options.target.is_some_and(|target| target.kind == Kind::Compute) {
        Letter::G
    } else if options.partial_lto {
        Letter::D
    } else if options.lto {
        Letter::C
    } else if mercury {
        Letter::F
    } else if options.relocatable {
        Letter::B
    } else {
        Letter::A
    }
}

fn output(letter: Letter, options: &Options) -> Output {
    match letter {
        Letter::E => Output::Ptx,
        Letter::G => Output::Nothing,
        Letter::H | Letter::I => Output::HostScript,
        _ if options.relocatable => Output::Relocatable,
        _ => Output::Executable,
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
        let values = Values::parse(words, &sink).expect("a good command line");
        Mode::of(&Options::new(values, OsStr::new("nvlink")))
    }

    const COLUMNS: [(Letter, &str); 9] = [
        (Letter::A, "-arch=sm_90"),
        (Letter::B, "-arch=sm_90 -r"),
        (Letter::C, "-arch=sm_90 -lto"),
        (Letter::D, "-arch=sm_90 -lto -force-partial-lto"),
        (Letter::E, "-arch=sm_90 -lto -emit-ptx"),
        (Letter::F, "-arch=sm_100"),
        (Letter::G, "-arch=compute_90"),
        (Letter::H, "-ghls=lcs-aug"),
        (Letter::I, "-ghls"),
    ];

    /// The design document's matrix, as nvlink was seen to behave: `Y` always, `N` never, `?` the inputs decide.
    /// Against the document: relocatable links remove nothing, whole-program optimisation is not linked, and a
    /// virtual target writes nothing.
    const MATRIX: [(Phase, &str); 10] = [
        (Phase::Libraries, "YYYYYYYNN"),
        (Phase::Load, "YYYYYYYNN"),
        (Phase::Compile, "NNYYYNNNN"),
        (Phase::Assemble, "NNYYNNNNN"),
        (Phase::Merge, "YY?YNYNNN"),
        (Phase::RemoveDeadCode, "YN?YNYNNN"),
        (Phase::Layout, "YY?YNYNNN"),
        (Phase::Relocate, "YY?YNYNNN"),
        (Phase::Write, "YYYYYYNYY"),
        (Phase::TryScript, "NNNNNNNNY"),
    ];

    #[test]
    fn phase_matrix() {
        for (column, (letter, line)) in COLUMNS.iter().enumerate() {
            let mode = mode(line);
            assert_eq!(mode.letter, *letter, "{line}");
            for (phase, row) in MATRIX {
                let expected = match row.as_bytes()[column] {
                    b'Y' => Runs::Always,
                    b'?' => Runs::AsNeeded,
                    _ => Runs::Never,
                };
                assert_eq!(mode.runs(phase), expected, "{letter:?} {phase:?}");
            }
        }
    }

    #[test]
    fn outputs() {
        let output = |line| mode(line).output;
        assert_eq!(output("-arch=sm_90 -lto -force-partial-lto"), Output::Executable);
        assert_eq!(output("-arch=sm_90 -lto -r"), Output::Relocatable);
        assert_eq!(output("-arch=sm_100 -r"), Output::Relocatable);
        assert_eq!(output("-arch=compute_90 -r"), Output::Nothing);
        assert_eq!(output("-ghls -arch=sm_90 -lto"), Output::HostScript);
    }

    #[test]
    fn what_keeps_dead_code() {
        for line in ["-arch=sm_90 -g", "-arch=sm_90 -preserve-relocs", "-arch=sm_100 -r"] {
            assert_eq!(mode(line).runs(Phase::RemoveDeadCode), Runs::Never, "{line}");
        }
        assert_eq!(mode("-arch=sm_90 -lto -r").letter, Letter::D);
        assert_eq!(mode("-arch=compute_90 -lto").runs(Phase::Write), Runs::AsNeeded);
    }
}
