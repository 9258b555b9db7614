//! What one invocation does: computed once from the options, asked by the phases.

use solder_arch::Kind;

use crate::options::{HostScript, Options};

/// The modes of the device linker, by the letters of the design document.
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
    /// Executable or relocatable link of Mercury code.
    F,
    /// Inputs are read and checked for a virtual target.
    G,
    /// The CUDA part of a host linker script.
    H,
    /// A complete host linker script.
    I,
}

/// The steps of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Libraries,
    Load,
    LtoCompile,
    Assemble,
    Merge,
    RemoveDeadCode,
    Layout,
    Relocate,
    Write,
    CheckHostScript,
}

/// Whether a mode runs a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    Never,
    Always,
    /// The inputs decide: link-time optimisation that the compiler did not finish as a whole program is linked.
    AsNeeded,
}

/// What is written to the output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Executable,
    Relocatable,
    Ptx,
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
    /// Unreachable functions and unused kernels are removed.
    pub removes_dead_code: bool,
}

impl Mode {
    pub fn of(options: &Options) -> Self {
        let mercury = options.target.is_some_and(solder_arch::Target::is_mercury);
        let letter = letter(options, mercury);
        Self {
            letter,
            output: output(letter, options),
            lto: options.lto,
            partial_lto: options.partial_lto,
            mercury,
            removes_dead_code: !(options.relocatable || options.debug || options.preserve_relocs),
        }
    }

    pub fn is_host_script(&self) -> bool {
        matches!(self.letter, Letter::H | Letter::I)
    }
}

fn letter(options: &Options, mercury: bool) -> Letter {
    match options.host_script {
        Some(HostScript::Augment) => return Letter::H,
        Some(HostScript::Complete) => return Letter::I,
        None => {}
    }
    if options.target.is_some_and(|target| target.kind == Kind::Compute) {
        Letter::G
    } else if options.lto && options.emit_ptx {
        Letter::E
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
