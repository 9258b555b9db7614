//! The compilers of a link as the command has them: those of the toolkit, with `-time`, `--save-temps` and the cache.

use std::os::unix::ffi::OsStringExt;
use std::sync::{Mutex, OnceLock, PoisonError};

use bstr::ByteSlice;
use solder_link::load::{Assembled, Compiled, Compilers, IrContent, IrModule, IrRequest, Ptx, Timing};
use solder_toolchain::{
    AssembleError, Assembler, CompileError, CompileRequest, Flags, Module, ModuleKind, Program, Toolchain,
};

use crate::diagnostics::{Message, Sink, Stop, Switches, Text};
use crate::keep;
use crate::options::Options;
use crate::os::signals::CrashIsAnError;
use crate::time_table;
use crate::toolchain;

/// The toolkit's compilers.
pub struct Toolkit<'a, 'data> {
    options: &'a Options,
    toolchain: &'a Toolchain<'a>,
    /// Looked for when there is PTX.
    assembler: OnceLock<Assembler<'a>>,
    sink: &'a Sink<'a>,
    /// Modules are handed to the compiler as they come, so that one it refuses ends the run there. Those that it is known to
    /// take it gets only if it is needed.
    program: Mutex<Option<Program<'data>>>,
}

impl<'a, 'data> Toolkit<'a, 'data> {
    pub fn new(options: &'a Options, toolchain: &'a Toolchain<'a>, sink: &'a Sink<'a>) -> Self {
        Self { options, toolchain, assembler: OnceLock::new(), sink, program: Mutex::default() }
    }

    fn assembler(&self) -> &Assembler<'a> {
        self.assembler.get_or_init(|| self.toolchain.assembler())
    }

    /// The link's own flags, or those that compiled modules had a say in.
    fn flags(&self, ptx: &Ptx<'_>) -> Flags {
        let mut flags = toolchain::flags(self.options);
        flags.threads = flags.threads.checked_div(ptx.at_once).unwrap_or(flags.threads);
        if ptx.stored_options.is_some() {
            flags.arch = self.options.release.assembled_member_arch(flags.arch);
        }
        match ptx.compiled {
            None => flags,
            Some(how) => Flags {
                whole: how.whole,
                registers: how.registers,
                split_compile: how.split_compile.filter(|_| self.options.release.splits_assembly()),
                ..flags
            },
        }
    }

    fn with_nvvm(&self, request: &IrRequest<'_, 'data>) -> Result<Compiled, Vec<Message>> {
        let library = toolchain::nvvm(self.options).unwrap_or_default();
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner).take();
        let modules = modules(request.modules);
        let compile = CompileRequest { arguments: request.nvvm, modules: &modules };
        let _guard = CrashIsAnError::with(&crashed(request.modules));
        let compiled = self.toolchain.compile(&library, &compile, program).map_err(refused)?;
        self.tell_kept(compiled.is_kept, "compiled IR");
        Ok(Compiled { parts: compiled.parts, complete: Some(compiled.complete), log: compiled.log })
    }

    /// With `-report-arch` every message of the assembler ends with the target. A message may go on in lines that do not begin with
    /// the assembler's name (`ptx/report-arch`).
    fn with_target(&self, text: Vec<u8>) -> Vec<u8> {
        const TOOL: &[u8] = b"ptxas ";
        if !self.options.report_arch {
            return text;
        }
        let end = format!(" (target: {})", self.options.link_target());
        let mut changed = Vec::with_capacity(text.len() + end.len());
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            changed.extend_from_slice(line);
            if lines.peek().is_none_or(|next| next.starts_with(TOOL)) {
                changed.extend_from_slice(end.as_bytes());
            }
            changed.push(b'\n');
        }
        changed
    }

    /// Says that nothing had to be compiled, to who follows the tasks.
    fn tell_kept(&self, is_kept: bool, what: &str) {
        if is_kept {
            self.sink.kept(what);
        }
    }

    /// The way of IR that only NVIDIA's libraries can unpack.
    fn with_nvjitlink(&self, request: &IrRequest<'_, 'data>, first: &Text) -> Result<Compiled, Vec<Message>> {
        let modules = modules(request.modules);
        let compile = CompileRequest { arguments: request.nvjitlink, modules: &modules };
        let nvvm_path = self.options.nvvm_path.as_deref().unwrap_or("".as_ref());
        let _guard = CrashIsAnError::with(&crashed(request.modules));
        let packed = self.toolchain.compile_packed(nvvm_path, &compile).map_err(|error| match error {
            CompileError::Library { places } => {
                let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
                vec![not_loaded(Message::JitLinkMissing {
                    file: first.clone(),
                    places: places.join(", ").into(),
                })]
            }
            CompileError::Refused { log } => refused(CompileError::Refused { log: in_order_of_nvlink(&log) }),
            error @ CompileError::Module => refused(error),
        })?;
        self.tell_kept(packed.is_kept, "compiled IR");
        let log = packed.messages();
        Ok(Compiled { parts: vec![packed.ptx], complete: None, log })
    }
}

impl<'data> Compilers<'data> for Toolkit<'_, 'data> {
    fn assemble(&self, ptx: &Ptx<'_>) -> Result<Assembled, Vec<Message>> {
        let (source, flags) = (for_toolchain(ptx), self.flags(ptx));
        let assembled = self.assembler().assemble(&source, &flags);
        let assembled = assembled.map_err(|error| vec![not_assembled(error, ptx.name.clone())])?;
        let solder_toolchain::Assembled { cubin, is_answer, text, milliseconds, is_kept } = assembled;
        self.tell_kept(is_kept, &format!("assembled {}", ptx.name));
        let switches = Some(left_behind(&source, &flags));
        let text = if is_answer { text } else { self.with_target(text) };
        Ok(Assembled { cubin, is_answer, text, switches, milliseconds })
    }

    fn compile(&self, request: &IrRequest<'_, 'data>) -> Result<Compiled, Vec<Message>> {
        match request.packed() {
            Some(module) => self.with_nvjitlink(request, &module.name),
            None => self.with_nvvm(request),
        }
    }

    fn read(&self, module: &IrModule<'data>) -> Result<(), Vec<Message>> {
        match module.content {
            IrContent::Plain(bytes) => {
                let library = toolchain::nvvm(self.options).unwrap_or_default();
                if self.toolchain.takes(&library, bytes) {
                    return Ok(());
                }
                let _guard = CrashIsAnError::with(&crashed(std::slice::from_ref(module)));
                let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
                let program = match &mut *program {
                    Some(program) => program,
                    none => none.insert(Program::open(&library).map_err(refused)?),
                };
                program.add(bytes, module.name.as_bytes()).map_err(refused)?;
                self.toolchain.taken(&library, bytes);
                Ok(())
            }
            IrContent::Container(_) => Ok(()),
        }
    }

    fn assembled(&self, number: usize, ptx: &Ptx<'_>, result: &Assembled) -> Result<(), Stop> {
        let (input, how) = ((number, ptx.name.as_bytes()), (&for_toolchain(ptx), &self.flags(ptx)));
        keep::assembled(self.options, input, how, result.cubin.as_deref(), self.sink)
    }

    fn timed(&self, timing: &Timing<'_>) {
        let Timing { source, tool, file, result, milliseconds } = timing;
        let target = self.options.link_target();
        let rest = format!(" , {result} , {target} , nvlink , {milliseconds:.4} , ms\n");
        let row = [*source, b" , ", tool.as_bytes(), b" , ", file, rest.as_bytes()].concat();
        time_table::add(self.options, &row);
    }
}

/// nvlink's assembler runs in its process and sets the switches of all messages by its own options: those of nvlink hold
/// until the first PTX is assembled (`ptx/message-switches`).
fn left_behind(ptx: &solder_toolchain::Ptx<'_>, flags: &Flags) -> Switches {
    Switches {
        warnings_are_errors: flags.has_word(ptx, &["-Werror", "--warning-as-error"]),
        no_warnings: flags.has_word(ptx, &["-w", "--disable-warnings"]),
    }
}

/// As C reads it, the text ends at the first NUL (`ptx/nul`).
fn for_toolchain<'a>(ptx: &Ptx<'a>) -> solder_toolchain::Ptx<'a> {
    let text = ptx.text.split(|&byte| byte == 0).next().unwrap_or_default();
    solder_toolchain::Ptx { text, stored_options: ptx.stored_options }
}

fn modules<'a>(modules: &'a [IrModule<'_>]) -> Vec<Module<'a>> {
    let module = |module: &'a IrModule<'_>| {
        let (kind, bytes) = match module.content {
            IrContent::Plain(bytes) => (ModuleKind::Ir, bytes),
            IrContent::Container(bytes) => (ModuleKind::Fatbin, bytes),
        };
        Module { kind, bytes, name: Some(module.name.as_bytes()) }
    };
    modules.iter().map(module).collect()
}

/// Why a library could not be loaded: a static program loads none, wherever they are.
fn not_loaded(otherwise: Message) -> Message {
    if cfg!(target_feature = "crt-static") { Message::StaticProgram } else { otherwise }
}

/// What is said if the compiler library crashes.
fn crashed(modules: &[IrModule<'_>]) -> Message {
    let others = match modules.len().saturating_sub(1) {
        0 => String::new(),
        1 => " and one other".to_owned(),
        count => format!(" and {count} others"),
    };
    let file = modules.first().map_or_else(Text::default, |module| module.name.clone());
    Message::CompilerCrashed { file, others: others.into() }
}

/// What nvJitLink says of code that the compiler refuses, in nvlink's order: the compiler's words, then the name of the error. Up to 13.0
/// it has the name first, then `ERROR NAME (9) in nvvmCompileProgram` after the words, from 13.4 on with ` callback`.
fn in_order_of_nvlink(log: &[u8]) -> Vec<u8> {
    let name_first = || {
        let rest = log.strip_prefix(b"ERROR in nvvmCompileProgram: ")?;
        let end = rest.find_byte(b'\n')?;
        Some([&rest[end + 1..], &rest[..end]].concat())
    };
    let name_last = || {
        let rest = log.strip_suffix(b"\n").unwrap_or(log);
        let rest = rest.strip_suffix(b" callback").unwrap_or(rest).strip_suffix(b" in nvvmCompileProgram")?;
        let (words, name) = rest.rsplit_once_str("ERROR NVVM_")?;
        Some([words, b"NVVM_", &name[..name.find_byte(b' ')?]].concat())
    };
    name_first().or_else(name_last).unwrap_or_else(|| log.to_vec())
}

/// Why the compiler library gave no PTX.
fn refused(error: CompileError) -> Vec<Message> {
    match error {
        CompileError::Library { .. } => vec![not_loaded(Message::LibraryLoad)],
        CompileError::Module => vec![Message::NvvmError],
        CompileError::Refused { log } => {
            vec![Message::CompilerLog { log: log.into() }, Message::JitCompileFailed]
        }
    }
}

/// That the assembler could not be asked about a file.
fn not_assembled(error: AssembleError, file: Text) -> Message {
    match error {
        AssembleError::Missing { looked } => {
            let places: Vec<_> = looked.into_iter().map(|place| place.into_os_string().into_vec()).collect();
            Message::AssemblerMissing { file, places: places.join(&b", "[..]).into() }
        }
        AssembleError::NotRun { program, reason } => {
            Message::AssemblerNotRun { file, assembler: program.into(), reason: reason.to_string().into() }
        }
    }
}
