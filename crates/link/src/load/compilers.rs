//! The compilers of a link, which its caller provides: the linker starts no process and loads no library.

use super::content::IrContent;
use super::said::Said;
use super::taken::IrModule;
use crate::diagnostics::{Message, Stop, Switches, Text};

/// PTX to assemble.
#[derive(Clone, Debug)]
pub struct Ptx<'a> {
    /// The input that holds it, as messages name it.
    pub name: Text,
    /// The text.
    pub text: &'a [u8],
    /// The options kept with the PTX in a fat binary; `None` for PTX from elsewhere. Those of the link follow them and win.
    pub stored_options: Option<&'a [u8]>,
    /// What only compiled IR has: options that its modules had a say in.
    pub compiled: Option<CompiledPtx>,
    /// How many are assembled at the same time.
    pub at_once: usize,
}

/// How PTX is assembled that was compiled from IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledPtx {
    /// It is a whole program, and its code is not linked any further.
    pub whole: bool,
    /// `-maxrregcount`, from the link or from the modules.
    pub registers: Option<i32>,
    /// `-split-compile`, from the modules or from the link.
    pub split_compile: Option<i32>,
}

/// What an assembler made of PTX.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// The device ELF; `None` if the assembler refused the text.
    pub cubin: Option<Vec<u8>>,
    /// It was asked about itself: there is no code, and the text is the answer.
    pub is_answer: bool,
    /// The assembler's own lines, which are passed on.
    pub text: Vec<u8>,
    /// What its options say about warnings; it then holds for all that the link reports afterwards. `None` to change nothing.
    pub switches: Option<Switches>,
    /// How long it took.
    pub milliseconds: f64,
}

impl Assembled {
    /// What it gives reason to say.
    pub fn said(&self) -> Said {
        let text = self.text.clone();
        if self.is_answer { Said::Answer(text) } else { Said::Assembler(text, self.switches) }
    }
}

/// What a compiler made of IR.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// PTX; several parts only under extended split compilation.
    pub parts: Vec<Vec<u8>>,
    /// Whether the modules were all that is needed. `None` if the compiler does not say it; then the PTX does.
    pub complete: Option<bool>,
    /// What the compiler says about it.
    pub log: Vec<u8>,
}

/// IR to compile together.
#[derive(Clone, Copy, Debug)]
pub struct IrRequest<'a, 'data> {
    /// The modules, in link order.
    pub modules: &'a [IrModule<'data>],
    /// The options in the words of libnvvm.
    pub nvvm: &'a [Vec<u8>],
    /// The same in the words of nvJitLink.
    pub nvjitlink: &'a [Vec<u8>],
}

impl<'a> IrRequest<'a, '_> {
    /// The first module that only NVIDIA's libraries can unpack. If there is one, only nvJitLink can compile them.
    pub fn packed(&self) -> Option<&'a IrModule<'_>> {
        self.modules.iter().find(|module| matches!(module.content, IrContent::Container(_)))
    }
}

/// Assembles PTX and compiles IR for a link.
///
/// An error is what to report; its last message ends the link. The other methods see what becomes of the inputs, in
/// link order.
pub trait Compilers<'data>: Sync {
    /// Assembles one PTX for the target. Several threads may ask at a time.
    fn assemble(&self, ptx: &Ptx<'_>) -> Result<Assembled, Vec<Message>>;

    /// Compiles IR to PTX.
    fn compile(&self, request: &IrRequest<'_, 'data>) -> Result<Compiled, Vec<Message>>;

    /// IR was read. A compiler that takes modules as they come refuses one here.
    fn read(&self, _module: &IrModule<'data>) -> Result<(), Vec<Message>> {
        Ok(())
    }

    /// PTX was assembled, or refused. `number` is its place among the inputs.
    fn assembled(&self, _number: usize, _ptx: &Ptx<'_>, _result: &Assembled) -> Result<(), Stop> {
        Ok(())
    }

    /// A compilation took its time.
    fn timed(&self, _timing: &Timing<'_>) {}
}

/// How long a compilation took, with the names that nvlink's `-time` gives to what went in and came out.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    /// What was compiled.
    pub source: &'a [u8],
    /// What compiled it.
    pub tool: &'static str,
    /// The file that it was read from.
    pub file: &'a [u8],
    /// What came out.
    pub result: &'static str,
    /// The time.
    pub milliseconds: f64,
}

/// There is no compiler: PTX and IR end the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCompilers;

impl<'data> Compilers<'data> for NoCompilers {
    fn assemble(&self, ptx: &Ptx<'_>) -> Result<Assembled, Vec<Message>> {
        Err(vec![Message::NoCompiler { file: ptx.name.clone(), kind: "PTX" }])
    }

    fn compile(&self, request: &IrRequest<'_, 'data>) -> Result<Compiled, Vec<Message>> {
        let file = request.modules.first().map(|module| module.name.clone()).unwrap_or_default();
        Err(vec![Message::NoCompiler { file, kind: "LTO IR" }])
    }
}
