//! A link from `nvJitLinkCreate` to `nvJitLinkDestroy`.

use std::time::Instant;

use solder_arch::{Arch, Release, Target};
use solder_link::accept::{self, Age, Made};
use solder_link::diagnostics::{Message, Text};
use solder_link::form::architecture_of_ir;
use solder_link::inputs::Origin;
use solder_link::load::classify::Role;
use solder_link::load::{self, IrContent, Product, Said, Settings, Store, Unpacked};
use solder_link::options::Tool;
use solder_link::pool::Pool;
use solder_link::{Diagnostic, Linker, Severity};
use solder_toolchain::{Module, ModuleKind};

use crate::code::Code;
use crate::compilers::{self, Choice};
use crate::explain::{self, Explainer};
use crate::input::{self, Fault, InputType};
use crate::log::{Log, Logs};
use crate::options::{self, Asked, Options};

/// What the real library's own entry of the tool note says.
const OBJECT: &str = "in-memory-ELF-image";
const COMMAND_LINE: &str = "JIT API Command Line Options";

/// What a library says of architectures that are gone in the next major version.
const REMOVAL: &[u8] =
    b"Architectures prior to '<compute/sm>_75' are deprecated and may be removed in a future release";

/// What compiled IR is called.
const COMPILED: Name<'_> = Name(Some(b"ltoPtx"));

/// Threads of a link that is worth some. Names are bound and files merged by one of them; more than a few others have
/// little to do.
const MOST_THREADS: usize = 8;

/// A link. Inputs are looked at when they are added, and linked by [`Session::complete`].
#[derive(Debug)]
pub struct Session {
    release: &'static Release,
    /// It is the oldest that links all inputs, and a later one may make it later.
    release_by_inputs: bool,
    /// `None` if they were refused; then nothing can be added.
    options: Option<Options>,
    asked: Asked,
    begun: Instant,
    is_complete: bool,
    /// There was a link. A whole program of IR is made without one, and code may then be added still, though nothing comes of it.
    is_linked: bool,
    /// All IR was made one module, which is done once.
    is_merged: bool,
    /// An input was taken as machine code or PTX, be it that it was refused then: the IR is not alone any more.
    has_code: bool,
    code: Vec<DeviceCode>,
    modules: Vec<Ir>,
    logs: Logs,
    cubin: Option<Vec<u8>>,
    ptx: Option<Vec<u8>>,
    lto_ir: Option<Vec<u8>>,
}

/// Device code of an input.
#[derive(Debug)]
struct DeviceCode {
    name: Vec<u8>,
    origin: Origin,
    bytes: Vec<u8>,
}

/// IR of an input.
#[derive(Debug)]
struct Ir {
    /// The compiler makes up one for IR without.
    name: Option<Vec<u8>>,
    kind: ModuleKind,
    bytes: Vec<u8>,
}

/// What a caller calls an input, if it does.
#[derive(Clone, Copy)]
struct Name<'a>(Option<&'a [u8]>);

impl<'a> Name<'a> {
    /// As C prints it.
    fn printed(self) -> &'a [u8] {
        self.0.unwrap_or(b"(null)")
    }

    /// As errors with a number end; the name may be missing.
    fn appended(self) -> &'a [u8] {
        self.0.unwrap_or_default()
    }
}

/// A failed call: the code, when the log says why.
type Done<T = ()> = Result<T, Code>;

impl Session {
    /// The release whose library this one is, as in (13, 0), if the library is that of a major version.
    pub fn version(major: u32) -> (u32, u32) {
        let release = compilers::release(major).release;
        (release.toolkit / 10, release.toolkit % 10)
    }

    /// Begins a link of the library of a major version with the words of its options. There is a session also if they are
    /// refused, for its logs.
    pub fn new(major: u32, words: &[&[u8]]) -> (Self, Code) {
        let Choice { release, by_inputs } = compilers::release(major);
        let mut logs = Logs::default();
        let (asked, options) = options::parse(words, release, by_inputs, &mut logs.error);
        let release = options.as_ref().map_or(release, |options| release.or_later_for(options.target));
        if options.as_ref().is_ok_and(|options| release.announces_removal(options.target.arch.number)) {
            logs.info.line(&[REMOVAL]);
        }
        if options.as_ref().is_ok_and(|options| options.trace) {
            logs.info.line(&[b"no driver so no cache"]);
        }
        let code = options.as_ref().err().copied().unwrap_or(Code::Success);
        let session = Self {
            release,
            release_by_inputs: by_inputs,
            options: options.ok(),
            asked,
            begun: Instant::now(),
            is_complete: false,
            is_linked: false,
            is_merged: false,
            has_code: false,
            code: Vec::new(),
            modules: Vec::new(),
            logs,
            cubin: None,
            ptx: None,
            lto_ir: None,
        };
        (session, code)
    }

    /// The file that `-uidx` names, if the options were not refused.
    pub fn index(&self) -> Option<Vec<u8>> {
        self.options.as_ref()?.index.clone()
    }

    /// Takes the bytes of that file, if it could be read; without them there is no link. No tool of the toolkit makes such
    /// files, so that what is wrong with one is said, and nothing else comes of it.
    pub fn add_index(&mut self, name: &[u8], bytes: Option<&[u8]>) -> Code {
        let wrong: [&[u8]; 3] = match bytes {
            Some([_, ..]) => {
                self.not_of_type(InputType::Index, Name(Some(name)));
                return Code::Success;
            }
            Some([]) => [b"ERROR: Could not read file '", name, b"'"],
            None => [b"ERROR: File '", name, b"' does not exist"],
        };
        self.logs.error.line(&wrong);
        self.options = None;
        Code::InvalidInput
    }

    /// Adds an input. All that is needed of the bytes and the name is copied.
    pub fn add(&mut self, number: i32, bytes: &[u8], name: Option<&[u8]>) -> Code {
        if bytes.is_empty() {
            return Code::InvalidInput;
        }
        self.try_add(number, bytes, Name(name)).err().unwrap_or(Code::Success)
    }

    /// Says that a file could not be read.
    pub fn no_file(&mut self, name: &[u8]) -> Code {
        if self.release.library_names_missing_files() {
            self.logs.error.line(&[b"no such file: ", name]);
        }
        Code::InvalidInput
    }

    /// Says that a file is empty.
    pub fn empty_file(&mut self, name: &[u8]) -> Code {
        self.logs.error.line(&[b"bad input: ", name]);
        Code::InvalidInput
    }

    fn try_add(&mut self, number: i32, bytes: &[u8], name: Name<'_>) -> Done {
        let is_known = |said: &InputType| *said != InputType::Index || self.release.library_knows_indices();
        let Some(said) = InputType::of(number).filter(is_known) else {
            return Err(self.unsupported(name));
        };
        let role = said.role(bytes).map_err(|code| {
            if code == Code::UnrecognizedInput {
                if !self.release.library_knows_unrecognized_inputs() {
                    return self.unsupported(name);
                }
                self.logs.error.line(&[b"unrecognized input type: ", name.printed()]);
                return code;
            }
            self.not_of_type(said, name)
        })?;
        let Some(options) = self.options.clone() else { return Err(self.nothing_to_add_to(name)) };
        if role == Role::LtoIr && !options.lto {
            return Err(self.lto_not_enabled());
        }
        self.has_code |= matches!(role, Role::Cubin | Role::Ptx);
        let store = Store::default();
        let text = Text::from(name.printed());
        let mut unpacked = self.unpack(&options, &text, bytes, role, &store);
        if let Some(newer) = unpacked.iter().filter_map(|(_, unpacked)| too_new(unpacked)).max()
            && self.raise_release(newer)
        {
            unpacked = self.unpack(&options, &text, bytes, role, &store);
        }
        if role == Role::Fatbin
            && let Some(fault) = self.fault(&options, bytes, &unpacked)
        {
            return Err(self.damaged(fault, name));
        }
        for (origin, unpacked) in unpacked {
            let is_sass = unpacked.said.iter().any(is_limited)
                || is_refused_early(&unpacked) && options.target.arch.is_mercury() && is_sass(bytes);
            let product = unpacked.outcome.map_err(|messages| {
                if options.explain {
                    self.logs.info.text(&explain::refused(&messages, bytes));
                }
                self.refused(&messages, is_sass, name)
            })?;
            if role == Role::Cubin && self.is_of_relative(&product, options.target.arch) {
                return Err(self.bad_input(name));
            }
            self.take(&options, product, origin, name)?;
        }
        Ok(())
    }

    /// What an input holds for the target, as this release opens it.
    fn unpack<'a>(
        &self,
        options: &Options,
        name: &Text,
        bytes: &'a [u8],
        role: Role,
        store: &'a Store,
    ) -> Vec<(Origin, Unpacked<'a>)> {
        let settings = self.settings(options);
        let items = load::items(name, bytes, role, self.release, &|_| None);
        items.into_iter().map(|item| (item.origin, item.unpack(&settings, store))).collect()
    }

    fn settings(&self, options: &Options) -> Settings {
        Settings {
            target: Target::sm(options.target.arch),
            release: self.release,
            lto: options.lto,
            suppress_arch_warning: true,
            reports_missing_host_code: false,
            file_id: None,
            age: Age::Any,
            knows_runtime: false,
            registers: None,
        }
    }

    /// What is wrong with the member of a fat binary that was chosen. Where nothing was refused, only IR is left to look at: nvlink leaves
    /// that to the compiler, and the library does not.
    fn fault(&self, options: &Options, bytes: &[u8], unpacked: &[(Origin, Unpacked<'_>)]) -> Option<Fault> {
        let is_suspect = |(_, unpacked): &(Origin, Unpacked<'_>)| match &unpacked.outcome {
            Ok(Product::Ir { content: IrContent::Plain(content), .. }) => {
                InputType::LtoIr.role(content).is_err()
            }
            Ok(_) => false,
            // What is not asked for is not looked at.
            Err(messages) => !matches!(messages[..], [Message::LtoObjectsWithoutLto, ..]),
        };
        let member = input::chosen(bytes, self.settings(options).request());
        member.filter(|_| unpacked.iter().any(is_suspect)).and_then(|member| input::fault(&member))
    }

    fn damaged(&mut self, fault: Fault, name: Name<'_>) -> Code {
        match fault {
            Fault::Not(said) => self.not_of_type(said, name),
            Fault::Lz4 => {
                say(&mut self.logs.error, &[Message::UncompressFailed]);
                self.unmatched(name)
            }
        }
    }

    /// There is no such type.
    fn unsupported(&mut self, name: Name<'_>) -> Code {
        self.logs.error.line(&[b"unsupported input type: ", name.printed()]);
        Code::IncorrectInputType
    }

    fn not_of_type(&mut self, said: InputType, name: Name<'_>) -> Code {
        let said = said.name().as_bytes();
        self.logs.error.line(&[b"ERROR 1: bad input: does not match type ", said, name.appended()]);
        Code::IncorrectInputType
    }

    /// There is no code for the target, or it cannot be had.
    fn unmatched(&mut self, name: Name<'_>) -> Code {
        self.logs.error.line(&[self.release.library_unmatched().as_bytes(), name.appended()]);
        Code::InvalidInput
    }

    /// Becomes the oldest release that links objects of a toolkit. `false` if it is that release already, or must not change.
    fn raise_release(&mut self, toolkit: u32) -> bool {
        let release = Release::for_toolkit(toolkit).unwrap_or(Release::NEWEST);
        let rises = self.release_by_inputs && self.release.is_older_than(release.toolkit);
        if rises {
            self.release = release;
        }
        rises
    }

    /// Keeps what an input gave.
    fn take(&mut self, options: &Options, product: Product<'_>, origin: Origin, name: Name<'_>) -> Done {
        self.has_code |= matches!(product, Product::Object(_) | Product::Ptx { .. });
        match product {
            Product::Nothing => Ok(()),
            Product::Unmatched { .. } => Err(self.unmatched(name)),
            Product::Object(bytes) => self.keep(bytes.to_vec(), origin, name),
            // The options that a fat binary keeps with PTX have no effect, unlike in nvlink.
            Product::Ptx { text, .. } => {
                // As C reads it.
                let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
                let cubin = self.assemble(options, text, name, false)?;
                // Machine code for a virtual architecture is of no use.
                if options.target.is_virtual() {
                    let number: &[u8] = if self.release.checks_before_finishing() { b"10" } else { b"3" };
                    self.logs.error.line(&[b"ERROR ", number, b": ptxjit:", name.appended()]);
                    return Err(self.not_assembled(name));
                }
                if let Some(toolkit) = accept::toolkit_of(&cubin) {
                    self.raise_release(toolkit);
                }
                self.keep(cubin, origin, name)
            }
            Product::Ir { content, .. } => {
                if let IrContent::Plain(bytes) = content
                    && let Some(number) = architecture_of_ir(bytes)
                    && number > options.target.arch.number
                {
                    let [before, after] = self.release.newer_ir();
                    let number = number.to_string();
                    self.logs.error.line(&[before.as_bytes(), number.as_bytes(), after.as_bytes()]);
                    return Err(Code::ArchMismatch);
                }
                let (kind, bytes) = match content {
                    IrContent::Plain(bytes) => (ModuleKind::Ir, bytes),
                    IrContent::Container(bytes) => (ModuleKind::Fatbin, bytes),
                };
                self.modules.push(Ir { name: name.0.map(<[u8]>::to_vec), kind, bytes: bytes.to_vec() });
                Ok(())
            }
        }
    }

    /// Whether code is for another member of the target's family, for which it would have to be finalized anew. The library of 13.0
    /// does that only for members of fat binaries; nvlink does it always.
    fn is_of_relative(&self, product: &Product<'_>, target: Arch) -> bool {
        if self.release.library_finalizes_cubins() {
            return false;
        }
        let Product::Object(bytes) = product else { return false };
        let Some(Made { arch, .. }) = Made::of(bytes) else { return false };
        let is_relative = arch.is_mercury && Arch::plain(arch.number).is_same_family(target);
        is_relative && !self.release.is_listed(arch.number, target.number)
    }

    fn bad_input(&mut self, name: Name<'_>) -> Code {
        self.logs.error.line(&[b"ERROR 4: bad input:", name.appended()]);
        Code::InvalidInput
    }

    fn keep(&mut self, bytes: Vec<u8>, origin: Origin, name: Name<'_>) -> Done {
        if self.is_linked {
            return Err(self.nothing_to_add_to(name));
        }
        if self.options.as_ref().is_some_and(|options| options.time) && self.release.checks_before_finishing()
        {
            self.time("nvJitLink time until Add_Cubin", self.begun);
        }
        self.code.push(DeviceCode { name: name.printed().to_vec(), origin, bytes });
        Ok(())
    }

    /// There is no link any more, or there never was.
    fn nothing_to_add_to(&mut self, name: Name<'_>) -> Code {
        self.logs.error.line(&[b"ERROR 1: empty elfw when adding cubin", name.appended()]);
        Code::Internal
    }

    fn lto_not_enabled(&mut self) -> Code {
        self.logs.error.line(&[self.release.lto_not_enabled().as_bytes()]);
        Code::LtoNotEnabled
    }

    /// Says why an input cannot be linked, in the words of nvJitLink where it has some.
    fn refused(&mut self, messages: &[Message], is_sass: bool, name: Name<'_>) -> Code {
        let log = &mut self.logs.error;
        match messages {
            [Message::LtoObjectsWithoutLto, ..] => self.lto_not_enabled(),
            [
                Message::ArchMismatch { .. } | Message::AbiMismatch { .. } | Message::AcceleratedForOther,
                ..,
            ] if is_sass => {
                if self.release.compares_binary_formats() {
                    log.line(&[
                        b"Target binary format and input (",
                        name.printed(),
                        b") binary format mismatch",
                    ]);
                } else {
                    let what: &[u8] = b"Mercury or Capmerc target was requested, but SASS input ";
                    log.line(&[what, name.printed(), b" was found."]);
                }
                Code::InvalidInput
            }
            [Message::WordSizeMismatch { .. }, ..] => self.not_of_type(InputType::Cubin, name),
            [
                Message::ArchMismatch { .. }
                | Message::AbiMismatch { .. }
                | Message::AcceleratedForOther
                | Message::FinalizerError { .. }
                | Message::NewerThanToolkit { .. },
                ..,
            ] => self.bad_input(name),
            [Message::ArchiveFormat, ..] => {
                say(log, &messages[..1]);
                log.line(&[b"ERROR 1: library processing:", name.appended()]);
                Code::Internal
            }
            [Message::UncompressFailed, ..] | [Message::UnknownArch { .. }, Message::FatbinaryError] => {
                say(log, messages);
                log.line(&[b"ERROR 5: bad input:", name.appended()]);
                Code::InvalidInput
            }
            _ => {
                say(log, messages);
                log.line(&[b"ERROR 1: bad input:", name.appended()]);
                Code::InvalidInput
            }
        }
    }

    fn assemble(&mut self, options: &Options, text: &[u8], name: Name<'_>, whole: bool) -> Done<Vec<u8>> {
        let assembled = match compilers::assemble(options, self.release, text, whole) {
            Ok(assembled) => assembled,
            Err(error) => {
                self.logs.error.line(&[error.to_string().as_bytes()]);
                return Err(self.not_assembled(name));
            }
        };
        let text = as_library(&assembled.text);
        let Some(cubin) = assembled.cubin else {
            self.logs.error.text(&errors(&text));
            return Err(self.not_assembled(name));
        };
        self.logs.info.text(&text);
        Ok(cubin)
    }

    fn not_assembled(&mut self, name: Name<'_>) -> Code {
        let code = Code::PtxCompile;
        let [open, close]: [&[u8]; 2] = if name.0.is_some() { [b" (", b")"] } else { [b"", b""] };
        let parts = [b"ERROR ", code.name().as_bytes(), b": JIT the PTX", open, name.appended(), close];
        self.logs.error.line(&parts);
        code
    }

    /// Links what was added. An image can be made once.
    pub fn complete(&mut self) -> Code {
        let Some(options) = self.options.clone() else { return Code::Internal };
        if self.is_complete || self.is_merged {
            return Code::Internal;
        }
        let begun = Instant::now();
        if options.time {
            self.time("nvJitLink time until Complete", self.begun);
        }
        let code = self.make(&options).err().unwrap_or(Code::Success);
        if options.time && code == Code::Success {
            self.time("nvJitLinkComplete time to finish", begun);
        }
        code
    }

    fn time(&mut self, what: &str, since: Instant) {
        let milliseconds = since.elapsed().as_secs_f64() * 1000.0;
        self.logs.info.line(&[format!("{what}: {milliseconds:.6}").as_bytes()]);
    }

    /// Makes what was asked for: PTX, an image of IR alone, or an image of all code.
    fn make(&mut self, options: &Options) -> Done {
        if options.lto {
            let whole = !(self.has_code || options.relocatable && self.release.relocates_ir_alone());
            if options.ptx && !whole {
                self.logs.error.line(&[b"ERROR: -ptx requires that all inputs have LTOIR"]);
                return Err(Code::IncorrectInputType);
            }
            let mut ptx = self.compile(options, whole)?;
            if options.ptx {
                ptx.push(0);
                self.ptx = Some(ptx);
                return Ok(());
            }
            let cubin = self.assemble(options, &ptx, COMPILED, whole)?;
            if whole {
                self.cubin = Some(cubin);
                self.is_complete = true;
                return Ok(());
            }
            self.keep(cubin, Origin::File, COMPILED)?;
        }
        self.is_complete = true;
        self.is_linked = true;
        self.link(options)
    }

    /// Compiles all IR together.
    fn compile(&mut self, options: &Options, whole: bool) -> Done<Vec<u8>> {
        let begun = Instant::now();
        if self.modules.is_empty() {
            self.logs.error.line(&[self.release.no_module().as_bytes()]);
            return Err(Code::NvvmCompile);
        }
        self.is_merged = self.release.gives_merged_ir();
        let modules = self.modules.iter();
        let modules: Vec<Module<'_>> =
            modules.map(|ir| Module { kind: ir.kind, bytes: &ir.bytes, name: ir.name.as_deref() }).collect();
        match compilers::compile(options, self.release, &modules, whole) {
            Ok(compiled) => {
                self.logs.info.text(&compiled.log);
                self.logs.error.text(&compiled.remarks);
                if options.time && !options.ptx {
                    self.time("nvJitLinkComplete time to create PTX", begun);
                }
                self.lto_ir = compiled.lto_ir;
                Ok(compiled.ptx)
            }
            Err(error) => {
                self.logs.error.text(&compilers::explain(&error));
                Err(Code::NvvmCompile)
            }
        }
    }

    fn link(&mut self, options: &Options) -> Done {
        // They end with this call.
        let pool = Pool::at_most(MOST_THREADS);
        let mut linker = Linker::new(Target::sm(options.target.arch), self.release);
        linker
            .pool(&pool)
            .allow_no_inputs(true)
            .image_despite_errors(true)
            .ignore_host_info(true)
            .optimized(options.lto)
            .relocatable(options.relocatable)
            .debug(options.debug)
            .enable_extended_smem(options.extended_smem)
            .verbose(options.verbose)
            .recorded_as(Tool::NvJitLink)
            .record(OBJECT, COMMAND_LINE);
        if !options.kernels_used.is_empty() {
            linker.kernels_used(options.kernels_used.iter().cloned());
        }
        if let Some(names) = &options.variables_used {
            linker.variables_used(names.iter().cloned());
        }
        for code in &self.code {
            linker.object_from(code.origin, code.name.as_slice(), &code.bytes[..]);
        }
        let explainer = options.explain.then(Explainer::default);
        if let Some(explainer) = &explainer {
            linker.observer(explainer);
        }
        let (image, result) = linker.link_despite_errors();
        drop(linker);
        // Their memory is not needed any more.
        self.code = Vec::new();
        if let Some(explainer) = explainer {
            self.logs.info.text(&explainer.into_lines());
        }
        match result {
            Ok(report) => {
                self.logs.messages(&report.diagnostics);
                self.cubin = Some(image);
                Ok(())
            }
            Err(problems) => {
                self.logs.messages(&problems);
                let is_fatal = problems.iter().any(|problem| problem.severity == Severity::Fatal);
                // After errors that are not fatal, the image is there all the same.
                self.cubin = Some(image).filter(|image| !is_fatal && !image.is_empty());
                let last: &[u8] = match is_fatal {
                    true => b"ERROR 1: finish",
                    // Where IR was compiled, the image is finished first.
                    false if self.release.checks_before_finishing() && !options.lto => b"ERROR 9: complete",
                    false => b"ERROR 9: finish",
                };
                self.logs.error.line(&[last]);
                Err(Code::Internal)
            }
        }
    }

    /// The image, after a link.
    pub fn cubin(&self) -> Result<&[u8], Code> {
        self.cubin.as_deref().ok_or(Code::Internal)
    }

    /// The PTX, after a link with `-ptx`, and a NUL.
    pub fn ptx(&self) -> Result<&[u8], Code> {
        self.ptx.as_deref().ok_or(if self.asked.ptx { Code::Internal } else { Code::InvalidInput })
    }

    /// All IR as one module, after a link with `-lto`. NVIDIA's library makes it from 13.4 on.
    pub fn lto_ir(&self) -> Result<&[u8], Code> {
        self.lto_ir.as_deref().ok_or(if self.asked.lto { Code::Internal } else { Code::InvalidInput })
    }

    /// What went wrong.
    pub fn error_log(&self) -> Vec<u8> {
        self.logs.error.with_nul()
    }

    /// The size that is said of the error log.
    pub fn error_log_size(&self) -> usize {
        self.logs.error.size()
    }

    /// The size that is said of the info log.
    pub fn info_log_size(&self) -> usize {
        self.logs.info.size()
    }

    /// What else there is to know.
    pub fn info_log(&self) -> Vec<u8> {
        self.logs.info.with_nul()
    }
}

/// The toolkit of an input that is newer than the release.
fn too_new(unpacked: &Unpacked<'_>) -> Option<u32> {
    unpacked.outcome.as_ref().err()?.iter().find_map(|message| match message {
        Message::NewerThanToolkit { version, .. } => u32::try_from(*version).ok(),
        _ => None,
    })
}

/// The code was refused before its kind was looked at, which the library does first.
fn is_refused_early(unpacked: &Unpacked<'_>) -> bool {
    let is_early = |messages: &Vec<Message>| {
        matches!(messages[..], [Message::AbiMismatch { .. } | Message::AcceleratedForOther, ..])
    };
    unpacked.outcome.as_ref().is_err_and(is_early)
}

/// A device ELF whose code is not Mercury.
fn is_sass(bytes: &[u8]) -> bool {
    Made::of(bytes).is_some_and(|made| !made.arch.is_mercury)
}

/// The code is not Mercury, which the target is.
fn is_limited(said: &Said) -> bool {
    matches!(said, Said::Message(Message::OutputLimited { .. }))
}

/// Puts messages into a log, but for those by which nvlink says where it noticed that another part had failed.
fn say(log: &mut Log, messages: &[Message]) {
    let is_own = |message: &&Message| !matches!(message, Message::FatbinaryError | Message::InternalError);
    for message in messages.iter().filter(is_own) {
        let severity = message.row().severity;
        log.message(&Diagnostic { severity, message: message.clone() });
    }
}

/// What the log of a failed assembly has of the lines: neither warnings nor infos, nor the lines that continue one.
fn errors(text: &[u8]) -> Vec<u8> {
    let mut is_kept = true;
    let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| {
        if !line.starts_with(CONTINUED) {
            let end = line.windows(3).position(|window| window == b" : ").unwrap_or_default();
            let severity = line[..end].trim_ascii_end();
            is_kept = !(severity.ends_with(b"warning") || severity.ends_with(b"info"));
        }
        is_kept
    });
    lines.collect::<Vec<_>>().concat()
}

/// How a line of `ptxas` begins that continues another one.
const CONTINUED: &[u8] = b"ptxas         . ";

/// Lines of `ptxas` as nvJitLink has them: those that continue another one begin with the tool too.
fn as_library(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    // The library does not say for which host its assembler works.
    let is_kept = |line: &&[u8]| !line.starts_with(b"ptxas warning :  64 Bit host architecture (--machine) ");
    for line in text.split_inclusive(|&byte| byte == b'\n').filter(is_kept) {
        if line.starts_with(b"    ") {
            out.extend_from_slice(CONTINUED);
        }
        out.extend_from_slice(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_assembly_has_no_warnings() {
        let text = b"ptxas warning : 'warning : x' is deprecated\n    in two lines\n\
            ptxas application ptx input, line 3; error   : no warning : y\n    nor here\n\
            ptxas application ptx input, line 4; warning : z\nptxas info    : 4 bytes\nptxas fatal   : aborted\n";
        let expected = "ptxas application ptx input, line 3; error   : no warning : y\n\
            ptxas         .     nor here\nptxas fatal   : aborted\n";
        assert_eq!(String::from_utf8_lossy(&errors(&as_library(text))), expected);
    }
}
