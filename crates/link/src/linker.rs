//! The linker for other programs: options as values, inputs and output in memory, diagnostics as values.
//!
//! A [`Linker`] is set up like a [`std::process::Command`]: options and inputs are added in any order, and
//! [`Linker::link`] does the work. It reads no file and no environment variable, prints nothing, starts no thread that it
//! was not given, and leaves nothing in the process. Links may run side by side on as many threads as there are.
//!
//! ```
//! use solder_link::{Linker, Release};
//!
//! let blur = include_bytes!("../../../examples/quickstart/blur.cubin");
//! let weights = include_bytes!("../../../examples/quickstart/weights.cubin");
//! let release = Release::CUDA_13_0;
//! let target = release.target("sm_90").expect("CUDA 13.0 links for sm_90");
//!
//! let output = Linker::new(target, release)
//!     .object("blur.cubin", blur)
//!     .object("weights.cubin", weights)
//!     .link()
//!     .expect("they link");
//! assert!(output.image.starts_with(b"\x7fELF"));
//! assert!(output.report.diagnostics.is_empty());
//! ```
//!
//! What cannot be linked gives diagnostics. Each has a stable code for programs, its values by name, and the text that nvlink
//! prints:
//!
//! ```
//! # use solder_link::{Linker, Release};
//! # let blur = include_bytes!("../../../examples/quickstart/blur.cubin");
//! # let release = Release::CUDA_13_0;
//! # let target = release.target("sm_90").expect("CUDA 13.0 links for sm_90");
//! let problems = Linker::new(target, release).object("blur.cubin", blur).link().expect_err("weigh is missing");
//! assert_eq!(problems[0].code(), "undefined-reference");
//! assert_eq!(problems[0].fields()[1], ("file", b"blur.cubin".to_vec()));
//! assert_eq!(problems[0].to_string(), "error: Undefined reference to '_Z5weighPKfii' in 'blur.cubin'");
//! ```
#![deny(missing_docs)]

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use crate::accept::{self, ExtensibleCheck, Verdict};
use crate::diagnostics::{Diagnostic, Message, Receiver, Severity, Sink, Stop, Switches, Text};
use crate::form::Form;
use crate::inputs::{Input, Inputs, Origin};
use crate::layout::Layout;
use crate::link;
use crate::model::object::Object;
use crate::observer::Observer;
use crate::options::{Options, Record};
use crate::pool::Pool;
use crate::recorded_paths::PathRules;
use crate::resolve::is_runtime;
use crate::roots::HostReferences;
use crate::view::View;
use crate::write::{Destination, Image};
use solder_arch::{Kind, Release, Target};
use solder_fatbin::{Container, Error, Kind as MemberKind, Request, select};

/// From this many inputs on, threads are worth their start.
const PARALLEL_FROM: usize = 48;

/// The first architecture on which nvlink says that it does not fully keep relocations.
const PRESERVE_RELOCS_WARNING_FROM: u16 = 90;

/// A link to be done. See the [module](self) for an example.
pub struct Linker<'a> {
    release: &'static Release,
    /// What is in here as it is; the fields below are put into it when the link begins.
    options: Options<'a>,
    /// `-g`; [`Options::debug`] says less.
    debug: bool,
    suppress_debug_info: bool,
    suppress_arch_warning: bool,
    kernels_used: Option<Vec<Vec<u8>>>,
    variables_used: Option<Vec<Vec<u8>>>,
    object_name: Vec<u8>,
    command_line: Vec<u8>,
    path_prefixes: Vec<Vec<u8>>,
    cuts_paths: bool,
    switches: Switches,
    inputs: Vec<Given<'a>>,
    observer: Option<&'a dyn Observer>,
    pool: Option<&'a Pool>,
}

/// An input as it was given.
struct Given<'a> {
    name: Text,
    origin: Origin,
    bytes: Cow<'a, [u8]>,
}

/// What a link made.
#[derive(Clone, Debug)]
pub struct Output {
    /// The linked image, a device ELF.
    pub image: Vec<u8>,
    /// What else there is to know.
    pub report: Report,
}

/// What a link gives beside the image.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Warnings and infos, in the order of nvlink.
    pub diagnostics: Vec<Diagnostic>,
    /// Which of the inputs took part, in their order. Those that did not are linked already, have no code for the target,
    /// or are the device runtime where nothing needs it.
    pub took_part: Vec<bool>,
    /// The call graph as text, if [`Linker::dump_callgraph`] asked for it.
    pub call_graph: Vec<u8>,
    /// The call graph drawn for `dot`, if [`Linker::draw_callgraph`] asked for it.
    pub drawing: Option<Vec<u8>>,
}

impl fmt::Debug for Linker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&Text> = self.inputs.iter().map(|input| &input.name).collect();
        f.debug_struct("Linker")
            .field("options", &self.options)
            .field("inputs", &names)
            .finish_non_exhaustive()
    }
}

/// Setters of options that are on or off.
macro_rules! switches {
    ($( $(#[$doc:meta])* $name:ident => $($field:ident).+; )*) => {
        $(
            $(#[$doc])*
            pub fn $name(&mut self, on: bool) -> &mut Self {
                self.$($field).+ = on;
                self
            }
        )*
    };
}

/// What is linked, and for what.
impl<'a> Linker<'a> {
    /// An executable image for a target, made as the nvlink of a release makes it.
    pub fn new(target: Target, release: &'static Release) -> Self {
        Self {
            release,
            options: Options::new(target, release),
            debug: false,
            suppress_debug_info: false,
            suppress_arch_warning: false,
            kernels_used: None,
            variables_used: None,
            object_name: Vec::new(),
            command_line: Vec::new(),
            path_prefixes: Vec::new(),
            cuts_paths: false,
            switches: Switches::default(),
            inputs: Vec::new(),
            observer: None,
            pool: None,
        }
    }

    /// Adds device code: a device ELF, or a fat binary, whose member for the target is taken and unpacked. The order of the
    /// inputs is the link order.
    ///
    /// Messages call it `name`. The device runtime is known by a name that contains `cudadevrt`, as in nvlink. The bytes
    /// are borrowed or owned, as they are given; anything else than device code is reported by [`Linker::link`].
    ///
    /// ```
    /// # use solder_link::{Linker, Release};
    /// # let target = Release::CUDA_13_0.target("sm_90").expect("CUDA 13.0 links for sm_90");
    /// let text = b".version 9.0\n.target sm_90\n".to_vec();
    /// let problems = Linker::new(target, Release::CUDA_13_0).object("a.ptx", text).link().expect_err("not device code");
    /// assert_eq!(problems[0].code(), "input-kind");
    /// ```
    pub fn object(&mut self, name: impl Into<Text>, bytes: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        self.object_from(Origin::File, name, bytes)
    }

    /// Adds device code that was taken out of a host object or of an archive, which nvlink treats a little differently: an
    /// archive without code for the target gives no warning, and one with the device runtime may come first.
    pub fn object_from(
        &mut self,
        origin: Origin,
        name: impl Into<Text>,
        bytes: impl Into<Cow<'a, [u8]>>,
    ) -> &mut Self {
        self.inputs.push(Given { name: name.into(), origin, bytes: bytes.into() });
        self
    }

    /// Who watches the link. The diagnostics of the result are collected all the same.
    pub fn observer(&mut self, observer: &'a dyn Observer) -> &mut Self {
        self.observer = Some(observer);
        self
    }

    /// The threads of the link; without this there are none but the calling one. Several links may share a pool, at the
    /// same time too. The output does not depend on it.
    pub fn pool(&mut self, pool: &'a Pool) -> &mut Self {
        self.pool = Some(pool);
        self
    }
}

/// Options that are on or off; all are off at first. Each names the option of nvlink's command line that it is.
impl Linker<'_> {
    switches! {
        /// `-r`: the output is an object, which another link takes.
        relocatable => options.relocatable;
        /// `-g`: code is kept for a debugger, and functions that no kernel reaches stay.
        debug => debug;
        /// `-suppress-debug-info`: of `-g`, only that functions stay. Without `-g` it is an error.
        suppress_debug_info => suppress_debug_info;
        /// `-preserve-relocs`: relocations that the link resolves are listed in sections of their own.
        preserve_relocs => options.preserve_relocs;
        /// `-force-rela`: relocations have addends.
        force_rela => options.force_rela;
        /// The objects were made by link-time optimization, which has removed what is not used.
        optimized => options.is_optimized;
        /// `-keep-system-libraries`: the device runtime stays, needed or not.
        keep_system_libraries => options.keep_system_libraries;
        /// `-allow-undefined-globals`.
        allow_undefined_globals => options.allow_undefined_globals;
        /// `-verbose`: what each kernel uses is reported as infos.
        verbose => options.verbose;
        /// `-extra-warnings`.
        extra_warnings => options.extra_warnings;
        /// `-suppress-stack-size-warning`.
        suppress_stack_size_warning => options.suppress_stack_size_warning;
        /// `-suppress-arch-warning`: a fat binary without code for the target gives no warning.
        suppress_arch_warning => suppress_arch_warning;
        /// `-dump-callgraph`: the call graph is wanted as text, in [`Report::call_graph`].
        dump_callgraph => options.dump_callgraph;
        /// `-dot`: the call graph is wanted as a drawing, in [`Report::drawing`].
        draw_callgraph => options.draw_callgraph;
        /// `-reserve-null-pointer`: no shared variable is at address 0.
        reserve_null_pointer => options.reserve_null_pointer;
        /// `-disable-smem-reservation`: nothing is reserved at the beginning of shared memory.
        disable_smem_reservation => options.disable_smem_reservation;
        /// `-enable-extended-smem`: kernels may have as much shared memory as the target has.
        enable_extended_smem => options.enable_extended_smem;
        /// `-Werror`: warnings are errors.
        warnings_are_errors => switches.warnings_are_errors;
        /// `-disable-infos`, which in nvlink removes the warnings and keeps the infos.
        no_warnings => switches.no_warnings;
        /// `--reproducible`: of paths that the tools recorded, only the last part stays.
        reproducible => cuts_paths;
    }
}

/// Options with values.
impl<'a> Linker<'a> {
    /// `-kernels-used`: of the kernels, only those stay whose names contain one of the texts.
    pub fn kernels_used<T: Into<Vec<u8>>>(&mut self, texts: impl IntoIterator<Item = T>) -> &mut Self {
        self.kernels_used = Some(texts.into_iter().map(Into::into).collect());
        self
    }

    /// `-variables-used`: the same for variables.
    pub fn variables_used<T: Into<Vec<u8>>>(&mut self, texts: impl IntoIterator<Item = T>) -> &mut Self {
        self.variables_used = Some(texts.into_iter().map(Into::into).collect());
        self
    }

    /// What host code refers to: if it names all kernels that it uses, the others are removed. As in nvlink, none is
    /// removed if some code came without host code, that is, by [`Linker::object`].
    pub fn host_references(&mut self, references: &'a HostReferences<'a>) -> &mut Self {
        self.options.references = Some(references);
        self
    }

    /// `-nv-host`: the contents of the section `.nv.host`.
    pub fn host_section(&mut self, bytes: &'a [u8]) -> &mut Self {
        self.options.host = Some(bytes);
        self
    }

    /// `-cuda-api-version`: objects of a later version are refused.
    pub fn cuda_api_version(&mut self, major: i32, minor: i32) -> &mut Self {
        self.options.cuda_api_version = Some((major, minor));
        self
    }

    /// What the linker's own entry of `.note.nv.tkinfo` says: the name of the output and the command line. nvlink writes
    /// the options that were given, as `-arch sm_90 `, and no name.
    pub fn record(&mut self, object_name: impl Into<Vec<u8>>, command_line: impl Into<Vec<u8>>) -> &mut Self {
        self.object_name = object_name.into();
        self.command_line = command_line.into();
        self
    }

    /// `--remap-path-prefix`: recorded paths that begin with `old` begin with `new` instead. The last that fits applies.
    pub fn remap_path_prefix(&mut self, old: &str, new: &str) -> &mut Self {
        self.path_prefixes.push(format!("{old}={new}").into_bytes());
        self
    }
}

/// The link.
impl Linker<'_> {
    /// Links, and gives the image. If it fails, all that was reported is the error, warnings included; the last of the
    /// most severe ones ended it.
    pub fn link(&self) -> Result<Output, Vec<Diagnostic>> {
        let image = Mutex::new(Vec::new());
        let keep = |linked: Image<'_, '_>| {
            *image.lock().unwrap_or_else(PoisonError::into_inner) = linked.to_vec()?;
            Ok(())
        };
        let report = self.run(&keep)?;
        Ok(Output { image: image.into_inner().unwrap_or_else(PoisonError::into_inner), report })
    }

    /// Links, and writes the image. It is never in memory as a whole. What was written before an error is not an image.
    pub fn link_to(&self, destination: &dyn Destination) -> Result<Report, Vec<Diagnostic>> {
        self.run(&|image| image.write_to(destination))
    }

    fn run(&self, write: &dyn Fn(Image<'_, '_>) -> io::Result<()>) -> Result<Report, Vec<Diagnostic>> {
        let recorder = Recorder { observer: self.observer.unwrap_or(&Nobody), reported: Mutex::default() };
        let sink = Sink::new(self.switches, &recorder);
        let linked =
            self.run_reporting(write, &recorder, &sink).and_then(|linked| sink.check().map(|()| linked));
        let Reported { diagnostics, text } =
            recorder.reported.into_inner().unwrap_or_else(PoisonError::into_inner);
        match linked {
            Ok((took_part, drawing)) => Ok(Report { diagnostics, took_part, call_graph: text, drawing }),
            Err(_) => Err(diagnostics),
        }
    }

    /// Which inputs took part, and the drawing.
    fn run_reporting(
        &self,
        write: &dyn Fn(Image<'_, '_>) -> io::Result<()>,
        observer: &dyn Observer,
        sink: &Sink<'_>,
    ) -> Result<(Vec<bool>, Option<Vec<u8>>), Stop> {
        self.check_options(sink)?;
        let none = Pool::none();
        let pool = self.pool.unwrap_or(&none);
        sink.phase("loading");
        let given: Vec<&Given<'_>> = self.inputs.iter().collect();
        let opened = pool.map(&given, given.len() >= PARALLEL_FROM, |given| self.open(given));
        let objects = self.take(&opened, sink)?;
        let inputs = Inputs { objects: &objects, first_host_code: self.first_host_code() };
        let write = |image: Image<'_, '_>| {
            write(image).map_err(|error| {
                let (file, reason) = (self.object_name.as_slice().into(), error.to_string().into());
                sink.fatal(Message::OutputNotWritten { file, reason })
            })
        };
        let linked = link::link(inputs, &self.link_options(), observer, &write, pool, sink)?;
        let mut took_part = vec![false; self.inputs.len()];
        for (object, takes_part) in objects.iter().zip(linked.takes_part) {
            took_part[object.position] = takes_part;
        }
        Ok((took_part, linked.drawing))
    }

    fn check_options(&self, sink: &Sink<'_>) -> Result<(), Stop> {
        let target = self.options.target;
        let name = || Text::from(target.to_string());
        if !self.release.knows(target.arch) {
            return Err(sink.fatal(Message::UnknownArch { arch: name() }));
        }
        if target.kind != Kind::Sm {
            return Err(sink.fatal(Message::VirtualTarget { arch: name() }));
        }
        if self.inputs.is_empty() {
            return Err(sink.fatal(Message::NoInputFiles));
        }
        if self.suppress_debug_info && !self.debug {
            let (first, second) = ("-suppress-debug-info", "no -g");
            return Err(sink.fatal(Message::ConflictingOptions { first, second }));
        }
        if self.options.preserve_relocs && target.arch.number >= PRESERVE_RELOCS_WARNING_FROM {
            sink.report(Message::PreserveRelocsIncomplete { arch: name() });
        }
        match self.options.cuda_api_version {
            Some((major, _)) if i64::from(major) != i64::from(self.release.major()) => {
                Err(sink.fatal(Message::ApiVersionMajor))
            }
            _ => Ok(()),
        }
    }

    /// See [`Inputs::first_host_code`]. An archive of the device runtime before it does not matter.
    fn first_host_code(&self) -> Option<usize> {
        let is_runtime =
            |given: &Given<'_>| given.origin == Origin::Archive && is_runtime(given.name.as_bytes());
        self.inputs.iter().position(|given| given.origin != Origin::File && !is_runtime(given))
    }

    fn link_options(&self) -> Options<'_> {
        let Options { relocatable, preserve_relocs, .. } = self.options;
        let all_from_hosts = self.inputs.iter().all(|given| given.origin != Origin::File);
        Options {
            debug: self.debug && !self.suppress_debug_info,
            keeps_dead_code: relocatable || self.debug || preserve_relocs,
            kernels_used: self.kernels_used.as_deref(),
            variables_used: self.variables_used.as_deref(),
            references: self.options.references.filter(|_| all_from_hosts),
            record: Record {
                object: self.object_name.clone(),
                command_line: self.command_line.clone(),
                paths: PathRules::new(&self.path_prefixes, self.cuts_paths),
            },
            ..self.options.clone()
        }
    }

    /// Reports what the inputs gave reason to, in link order, and takes those that take part.
    fn take<'b>(&'b self, opened: &'b [Opened<'b>], sink: &Sink<'_>) -> Result<Vec<Input<'b>>, Stop> {
        let mut extensible = ExtensibleCheck::default();
        let mut objects = Vec::with_capacity(opened.len());
        for (position, (given, opened)) in self.inputs.iter().zip(opened).enumerate() {
            opened.warnings.iter().for_each(|message| sink.report(message));
            let code = opened.code.as_ref().map_err(|messages| {
                for message in messages {
                    sink.report(message);
                }
                Stop::FATAL
            })?;
            let Some(bytes) = code.as_deref() else { continue };
            extensible.admit(bytes, self.release).map_err(|message| sink.fatal(message))?;
            let (name, is_runtime) = (given.name.clone(), is_runtime(given.name.as_bytes()));
            objects.push(Input { name, bytes, origin: given.origin, position, is_runtime });
        }
        // Warnings that are errors let the reading come to its end, and nothing else.
        sink.check()?;
        Ok(objects)
    }

    /// Finds the device code in an input.
    fn open<'b>(&self, given: &'b Given<'_>) -> Opened<'b> {
        let mut warnings = Vec::new();
        let code = match Form::of(&given.bytes) {
            Form::DeviceObject | Form::DeviceElf => {
                self.checked(given, Cow::Borrowed(&given.bytes[..]), &mut warnings)
            }
            Form::Fatbin => self.chosen(given, &mut warnings),
            form => Err(vec![Message::InputKind { file: given.name.clone(), kind: form.description() }]),
        };
        Opened { warnings, code }
    }

    /// The member of a fat binary that suits the target.
    fn chosen<'b>(&self, given: &'b Given<'_>, warnings: &mut Vec<Message>) -> Code<'b> {
        let Given { name, origin, bytes } = given;
        // nvlink's own words for a fat binary that it cannot read do not name it.
        let damaged = |error: Error| {
            let (place, reason) = ("the fat binary".into(), error.to_string().into());
            vec![Message::DamagedInput { file: name.clone(), place, reason }]
        };
        let other = |kind| Err(vec![Message::InputKind { file: name.clone(), kind }]);
        let request = Request { target: self.options.target, release: self.release, lto: false };
        let container = Container::parse(bytes).map_err(damaged)?;
        let Some(member) = select(&container, request).map_err(damaged)?.member else {
            if !self.suppress_arch_warning && *origin != Origin::Archive {
                let target = self.options.target.to_string().into();
                warnings.push(Message::ArchNotFound { target, file: name.clone() });
            }
            return Ok(None);
        };
        match member.kind() {
            MemberKind::LtoIr => other("a fat binary with LTO IR for the target"),
            MemberKind::Ptx => other("a fat binary with PTX for the target"),
            MemberKind::Elf | MemberKind::Other(_) => {
                let content = member.content().map_err(damaged)?;
                if !Form::of(&content).is_device_elf() {
                    return Err(vec![Message::WordSizeMismatch { file: name.clone() }]);
                }
                self.checked(given, content, warnings)
            }
        }
    }

    fn checked<'b>(&self, given: &Given<'_>, bytes: Cow<'b, [u8]>, warnings: &mut Vec<Message>) -> Code<'b> {
        let verdict = accept::check(&given.name, &bytes, self.options.target, self.release, warnings);
        match verdict {
            Ok(Verdict::Linked) => Ok(Some(bytes)),
            Ok(Verdict::PassedOver) => Ok(None),
            Err(message) => Err(vec![message]),
        }
    }
}

/// Device code of an input, if it has any to give, or what to report instead.
type Code<'b> = Result<Option<Cow<'b, [u8]>>, Vec<Message>>;

/// What an input gave.
struct Opened<'b> {
    warnings: Vec<Message>,
    code: Code<'b>,
}

/// An image as a stream: each byte is written once, in order.
///
/// ```no_run
/// # use solder_link::{Linker, Release, Stream};
/// # let target = Release::CUDA_13_0.target("sm_90").expect("CUDA 13.0 links for sm_90");
/// # let linker = Linker::new(target, Release::CUDA_13_0);
/// let file = std::fs::File::create("blur.cubin").expect("a new file");
/// let stream = Stream::new(file);
/// linker.link_to(&stream).expect("it links");
/// ```
#[derive(Debug, Default)]
pub struct Stream<W>(Mutex<W>);

impl<W: Write + Send> Stream<W> {
    /// Writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self(Mutex::new(writer))
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write + Send> Destination for Stream<W> {
    fn takes_any_order(&self) -> bool {
        false
    }

    fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
    }
}

/// What was reported.
#[derive(Default)]
struct Reported {
    diagnostics: Vec<Diagnostic>,
    text: Vec<u8>,
}

/// Sees nothing.
struct Nobody;

impl Receiver for Nobody {
    fn message(&self, _: Severity, _: &Message) {}
}

impl Observer for Nobody {}

/// Keeps what is reported, and hands everything on.
struct Recorder<'a> {
    observer: &'a dyn Observer,
    reported: Mutex<Reported>,
}

impl Recorder<'_> {
    fn record(&self, record: impl FnOnce(&mut Reported)) {
        record(&mut self.reported.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Receiver for Recorder<'_> {
    fn message(&self, severity: Severity, message: &Message) {
        let diagnostic = Diagnostic { severity, message: message.clone() };
        self.record(|reported| reported.diagnostics.push(diagnostic));
        self.observer.message(severity, message);
    }

    fn text(&self, text: &[u8]) {
        self.record(|reported| reported.text.extend_from_slice(text));
        self.observer.text(text);
    }

    fn phase(&self, name: &'static str) {
        self.observer.phase(name);
    }
}

impl Observer for Recorder<'_> {
    fn parsed(&self, objects: &[Object<'_>]) -> Result<(), Stop> {
        self.observer.parsed(objects)
    }

    fn unresolved(&self, objects: &[Object<'_>]) {
        self.observer.unresolved(objects);
    }

    fn stopped(&self, objects: &[Object<'_>], view: Option<View<'_, '_>>) {
        self.observer.stopped(objects, view);
    }

    fn linked(&self, objects: &[Object<'_>], view: View<'_, '_>) {
        self.observer.linked(objects, view);
    }

    fn laid_out(
        &self,
        objects: &[Object<'_>],
        view: View<'_, '_>,
        layout: &Layout<'_, '_>,
    ) -> Result<(), Stop> {
        self.observer.laid_out(objects, view, layout)
    }
}
