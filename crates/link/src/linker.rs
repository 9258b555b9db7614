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

use crate::accept::Age;
use crate::diagnostics::{Diagnostic, Message, Receiver, Severity, Sink, Stop, Switches, Text};
use crate::form::Form;
use crate::inputs::{Inputs, Origin};
use crate::layout::Layout;
use crate::link;
use crate::load::classify::{Refusal, Role};
use crate::load::host::HostObject;
use crate::load::lto::{self, LtoOptions, Outcome};
use crate::load::{
    self, Compilers, Item, Loaded, NoCompilers, OpenStage, PARALLEL_FROM, Settings, Source, Store,
};
use crate::model::object::Object;
use crate::observer::Observer;
use crate::options::{Options, Record, Tool};
use crate::pool::Pool;
use crate::recorded_paths::PathRules;
use crate::roots::HostReferences;
use crate::view::View;
use crate::write::{Destination, Image};
use solder_arch::{Kind, Release, Target};

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
    ignore_host_info: bool,
    allow_no_inputs: bool,
    tool: Tool,
    lto: Option<LtoOptions<'a>>,
    inputs: Vec<Given<'a>>,
    compilers: Option<&'a dyn AnyCompilers>,
    observer: Option<&'a dyn Observer>,
    pool: Option<&'a Pool>,
}

/// Compilers that take inputs of any lifetime, as those of a [`Linker`] must. Whatever implements [`Compilers`] so is this.
pub trait AnyCompilers: for<'data> Compilers<'data> {}

impl<T: for<'data> Compilers<'data>> AnyCompilers for T {}

/// An input as it was given.
struct Given<'a> {
    name: Text,
    kind: GivenKind,
    bytes: Cow<'a, [u8]>,
}

/// What a program says about an input.
#[derive(Clone, Copy)]
enum GivenKind {
    /// It is what its first bytes say.
    Any,
    /// It is device code that was found here.
    DeviceCode(Origin),
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
            ignore_host_info: false,
            allow_no_inputs: false,
            tool: Tool::default(),
            lto: None,
            inputs: Vec::new(),
            compilers: None,
            observer: None,
            pool: None,
        }
    }

    /// Adds an input, which its first bytes tell apart: a device ELF, a fat binary, PTX, LTO IR, a host object, or an archive of
    /// host objects. The order of the inputs is the link order.
    ///
    /// As in nvlink, every member of an archive is linked, host objects may say which kernels are used, and the device
    /// runtime is known by a name that contains `cudadevrt`. PTX needs [`Linker::compilers`], IR needs these and
    /// [`Linker::lto`]. Members of a thin archive are not in memory; such an archive is an error.
    ///
    /// ```
    /// # use solder_link::{Linker, Release};
    /// # let target = Release::CUDA_13_0.target("sm_90").expect("CUDA 13.0 links for sm_90");
    /// # let blur = include_bytes!("../../../examples/quickstart/blur.cubin");
    /// # let weights = include_bytes!("../../../examples/quickstart/weights.cubin");
    /// // An archive as `ar` makes it, with one member.
    /// let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "blur.o/", 0, 0, 0, 644, blur.len());
    /// let archive = [b"!<arch>\n", header.as_bytes(), blur].concat();
    ///
    /// let mut linker = Linker::new(target, Release::CUDA_13_0);
    /// linker.input("libblur.a", archive).input("weights.cubin", weights);
    /// // Its member is a device ELF and not a host object: as in nvlink, it has nothing to give.
    /// assert_eq!(linker.link().expect("it links").report.took_part, [false, true]);
    /// ```
    pub fn input(&mut self, name: impl Into<Text>, bytes: impl Into<Cow<'a, [u8]>>) -> &mut Self {
        self.inputs.push(Given { name: name.into(), kind: GivenKind::Any, bytes: bytes.into() });
        self
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
        let kind = GivenKind::DeviceCode(origin);
        self.inputs.push(Given { name: name.into(), kind, bytes: bytes.into() });
        self
    }

    /// What assembles PTX and compiles IR. Without it, an input that holds either ends the link.
    ///
    /// ```
    /// use solder_link::diagnostics::Message;
    /// use solder_link::load::{Assembled, Compiled, Compilers, IrRequest, Ptx};
    /// # use solder_link::{Linker, Release};
    ///
    /// /// An assembler that knows one text.
    /// struct Known(Vec<u8>);
    ///
    /// impl<'data> Compilers<'data> for Known {
    ///     fn assemble(&self, _: &Ptx<'_>) -> Result<Assembled, Vec<Message>> {
    ///         Ok(Assembled { cubin: Some(self.0.clone()), ..Assembled::default() })
    ///     }
    ///
    ///     fn compile(&self, _: &IrRequest<'_, 'data>) -> Result<Compiled, Vec<Message>> {
    ///         Err(vec![Message::Unsupported { what: "LTO IR".into() }])
    ///     }
    /// }
    ///
    /// # let target = Release::CUDA_13_0.target("sm_90").expect("CUDA 13.0 links for sm_90");
    /// # let weights = include_bytes!("../../../examples/quickstart/weights.cubin");
    /// let assembler = Known(weights.to_vec());
    /// let mut linker = Linker::new(target, Release::CUDA_13_0);
    /// linker.compilers(&assembler).input("weights.ptx", b".version 9.0\n.target sm_90\n");
    /// assert!(linker.link().expect("it links").image.starts_with(b"\x7fELF"));
    /// ```
    pub fn compilers(&mut self, compilers: &'a dyn AnyCompilers) -> &mut Self {
        self.compilers = Some(compilers);
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
        /// All code but the device runtime was made by link-time optimization, which had the whole program.
        optimized => options.is_optimized;
        /// `-ignore-host-info`: what host objects refer to removes no kernel.
        ignore_host_info => ignore_host_info;
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
        /// Undefined references and exceeded limits are errors, and an image is made all the same, which
        /// [`Linker::link_despite_errors`] gives beside them: nvJitLink does so, nvlink does not.
        image_despite_errors => options.image_despite_errors;
        /// A link without inputs gives an image without code, as in nvJitLink. In nvlink it is an error.
        allow_no_inputs => allow_no_inputs;
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

    /// `-lto`: IR among the inputs is compiled, by the compilers that were given. The target, `-g`, `-r` and the kernels and
    /// variables that are used are the linker's own; the rest is as the options say. With [`LtoOptions::emit_ptx`],
    /// [`Output::image`] is PTX.
    pub fn lto(&mut self, options: LtoOptions<'a>) -> &mut Self {
        self.lto = Some(options);
        self
    }

    /// What host code refers to, in the place of what host objects among the inputs say: if it names all kernels that it
    /// uses, the others are removed. As in nvlink, none is removed if some code came without host code.
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

    /// Which of NVIDIA's linkers is replaced; nvlink, if this does not say it. The words of the linker's own entry are as long
    /// as those of the replaced one.
    pub fn recorded_as(&mut self, tool: Tool) -> &mut Self {
        self.tool = tool;
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
        let (image, report) = self.link_despite_errors();
        Ok(Output { image, report: report? })
    }

    /// Links, and gives the image and the report apart: with [`Linker::image_despite_errors`] there may be an image beside the
    /// problems. Without one it is empty.
    pub fn link_despite_errors(&self) -> (Vec<u8>, Result<Report, Vec<Diagnostic>>) {
        let image = Mutex::new(Vec::new());
        let keep = |made: Made<'_>| {
            *image.lock().unwrap_or_else(PoisonError::into_inner) = match made {
                Made::Image(image) => image.to_vec(),
                Made::Compiled(bytes) => bytes,
            };
            Ok(())
        };
        let report = self.run(&keep);
        (image.into_inner().unwrap_or_else(PoisonError::into_inner), report)
    }

    /// Links, and writes the image. It is never in memory as a whole. What was written before an error is not an image.
    pub fn link_to(&self, destination: &dyn Destination) -> Result<Report, Vec<Diagnostic>> {
        self.run(&|made| match made {
            Made::Image(image) => image.write_to(destination),
            Made::Compiled(bytes) => destination.write_at(&bytes, 0),
        })
    }

    fn run(&self, write: WriteMade<'_>) -> Result<Report, Vec<Diagnostic>> {
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
        write: WriteMade<'_>,
        observer: &dyn Observer,
        sink: &Sink<'_>,
    ) -> Result<(Vec<bool>, Option<Vec<u8>>), Stop> {
        self.check_options(sink)?;
        let none = Pool::none();
        let pool = self.pool.unwrap_or(&none);
        let write = |made: Made<'_>| {
            write(made).map_err(|error| {
                let (file, reason) = (self.object_name.as_slice().into(), error.to_string().into());
                sink.fatal(Message::OutputNotWritten { file, reason })
            })
        };
        sink.phase("loading");
        let store = Store::default();
        let (mut loaded, given) = self.load(&store, pool, sink)?;
        let mut took_part = vec![false; self.inputs.len()];
        if self.lto.is_some() && !loaded.ir.is_empty() {
            loaded.ir.iter().for_each(|module| took_part[given[module.position]] = true);
            let compiled =
                lto::optimize(&self.lto_options(), &mut loaded, self.given_compilers(), &store, pool, sink)?;
            if let Outcome::Ptx(bytes) | Outcome::Whole(bytes) = compiled {
                write(Made::Compiled(bytes))?;
                return Ok((took_part, None));
            }
        } else if self.lto.is_some() {
            sink.report(Message::NoLtoObjects);
            sink.check().map_err(|_| sink.fatal(Message::MergeFailed))?;
        }
        let inputs = Inputs { objects: &loaded.objects, first_host_code: loaded.first_host_code };
        let write = |image: Image<'_, '_>| write(Made::Image(image));
        let linked = link::link(inputs, &self.link_options(&loaded), observer, &write, pool, sink)?;
        for (object, takes_part) in loaded.objects.iter().zip(linked.takes_part) {
            took_part[given[object.position]] |= takes_part;
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
        if self.inputs.is_empty() && !self.allow_no_inputs {
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

    fn given_compilers(&self) -> &dyn AnyCompilers {
        self.compilers.unwrap_or(&NoCompilers)
    }

    fn lto_options(&self) -> LtoOptions<'_> {
        let given =
            self.lto.clone().unwrap_or_else(|| LtoOptions::new(self.options.target, self.options.release));
        LtoOptions {
            target: self.options.target,
            release: self.options.release,
            partial: given.partial || self.options.relocatable,
            debug: self.debug && !self.suppress_debug_info,
            ignore_host_info: self.ignore_host_info || self.options.relocatable,
            kernels_used: self.kernels_used.as_deref().unwrap_or_default(),
            variables_used: self.variables_used.as_deref().unwrap_or_default(),
            ..given
        }
    }

    fn link_options<'b>(&'b self, loaded: &'b Loaded<'b>) -> Options<'b> {
        let Options { relocatable, preserve_relocs, .. } = self.options;
        let references = self.options.references.filter(|_| !loaded.references.raw_inputs);
        let of_inputs =
            Some(&loaded.references).filter(|_| self.options.references.is_none() && !relocatable);
        Options {
            debug: self.debug && !self.suppress_debug_info,
            keeps_dead_code: relocatable || self.debug || preserve_relocs,
            is_optimized: self.options.is_optimized || loaded.is_optimized,
            kernels_used: self.kernels_used.as_deref(),
            variables_used: self.variables_used.as_deref(),
            references: references.or(of_inputs).filter(|_| !self.ignore_host_info),
            record: Record {
                tool: self.tool,
                object: self.object_name.clone(),
                command_line: self.command_line.clone(),
                paths: PathRules::new(&self.path_prefixes, self.cuts_paths),
            },
            ..self.options.clone()
        }
    }

    /// Device code of all inputs, and which input each of its positions belongs to.
    fn load<'b>(
        &'b self,
        store: &'b Store,
        pool: &Pool,
        sink: &Sink<'_>,
    ) -> Result<(Loaded<'b>, Vec<usize>), Stop> {
        let settings = Settings {
            target: self.options.target,
            release: self.release,
            lto: self.lto.is_some(),
            suppress_arch_warning: self.suppress_arch_warning,
            reports_missing_host_code: false,
            file_id: None,
            age: if self.tool == Tool::NvJitLink { Age::Any } else { Age::AsAskedFor },
            knows_runtime: self.tool == Tool::Nvlink,
            registers: None,
        };
        let all: Vec<&Given<'_>> = self.inputs.iter().collect();
        let opened =
            pool.map(&all, all.len() >= PARALLEL_FROM, |given| given.items(settings.lto, settings.release));
        let places = opened.iter().enumerate();
        let given = places.flat_map(|(at, items)| std::iter::repeat_n(at, items.len())).collect();
        let items: Vec<Item<'b>> = opened.into_iter().flatten().collect();
        let unpack = |item: &Item<'b>| item.unpack(&settings, store);
        let mut products = pool.map(&items, items.len() >= PARALLEL_FROM, unpack);
        load::assemble(&settings, &items, &mut products, self.given_compilers(), store, pool, sink)?;
        let loaded = load::take(&settings, items, products, self.given_compilers(), sink)?;
        Ok((loaded, given))
    }
}

/// What comes out of a link.
enum Made<'a> {
    Image(Image<'a, 'a>),
    /// A program that was IR only needs no link.
    Compiled(Vec<u8>),
}

type WriteMade<'a> = &'a dyn Fn(Made<'_>) -> io::Result<()>;

impl Given<'_> {
    /// What an input may give.
    fn items(&self, lto: bool, release: &Release) -> Vec<Item<'_>> {
        let form = Form::of(&self.bytes);
        let other = || {
            let message = Message::InputKind { file: self.name.clone(), kind: form.description() };
            vec![Item::new(self.name.clone(), OpenStage::Open, Source::Refused(vec![message]))]
        };
        let role = match (form, self.kind) {
            (Form::DeviceObject | Form::DeviceElf, _) => Role::Cubin,
            (Form::Fatbin, _) => Role::Fatbin,
            (_, GivenKind::DeviceCode(_)) | (Form::OtherElf | Form::Other, _) => return other(),
            (Form::Ptx, _) => Role::Ptx,
            (Form::LtoIr, _) if !lto => Role::Refused(Refusal::LtoIrWithoutLto),
            (Form::LtoIr, _) => Role::LtoIr,
            (Form::HostObject, _) => Role::HostObject,
            (Form::Archive, _) => Role::Archive,
        };
        let mut items = load::items(&self.name, &self.bytes, role, release, &|_| None);
        if let GivenKind::DeviceCode(origin @ (Origin::HostObject | Origin::Archive)) = self.kind {
            for item in &mut items {
                // The host object it was in; what that refers to is given apart.
                let host =
                    HostObject { code: Some(&self.bytes), lists_references: true, ..HostObject::default() };
                (item.origin, item.host) = (origin, Some(host));
            }
        }
        items
    }
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
