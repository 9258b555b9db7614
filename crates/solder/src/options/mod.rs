//! The command line: a table of options in nvlink's grammar, the parser, and the typed result.

mod archs;
mod check;
mod help;
pub(crate) mod option_file;
mod parse;
mod record;
mod table;
mod values;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use solder_arch::{Release, Target};
use solder_link::accept::Age;
use solder_link::load::{self, lto::LtoOptions};
pub use solder_toolchain::FastCompile;

pub use archs::archs;
pub use check::{check, check_first};
pub use help::{help, own_version, version};
pub use parse::{Value, Values};
pub use table::{Id, Kind, Record, Row, TABLE};

use values::{api_version, fast_compile};

use crate::cache::bytes;
use crate::console::Console;
use crate::diagnostics::{Color, Format, Message, Settings, Show, Sink, Stop, Switches, Text};
use crate::register;

/// What kind of host linker script `-ghls` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostScript {
    /// `lcs-aug`: the CUDA sections alone.
    Augment,
    /// `lcs-abs`: the host linker's own script with the CUDA sections after it.
    Complete,
}

/// What the command line asks for. The recorded form of it is [`Options::recorded_command_line`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Name in messages and in the note: the name the linker was invoked by, or `-tool-name`.
    pub tool_name: OsString,
    /// The release of nvlink whose place is taken.
    pub release: &'static Release,
    /// It is a guess, and the newest toolkit among the inputs decides.
    pub release_by_inputs: bool,
    /// `-arch`; `None` never reaches a link.
    pub target: Option<Target>,
    /// Files in the order given. Libraries stand apart: they follow all files.
    pub inputs: Vec<PathBuf>,
    pub output: Option<PathBuf>,
    /// `-l`, in order.
    pub libraries: Vec<OsString>,
    /// `-L`, in order; `LIBRARY_PATH` follows them.
    pub library_paths: Vec<PathBuf>,
    /// `-r`.
    pub relocatable: bool,
    /// `-g`: nothing is removed, and the note is verbose.
    pub debug: bool,
    pub suppress_debug_info: bool,
    pub preserve_relocs: bool,

    /// Texts, one of which a kernel's name must contain to stay. `None`: the option was not given.
    pub kernels_used: Option<Vec<Vec<u8>>>,
    pub variables_used: Option<Vec<Vec<u8>>>,
    /// `-ignore-host-info`, or implied by `-r`.
    pub ignore_host_info: bool,
    pub keep_system_libraries: bool,
    pub allow_undefined_globals: bool,

    pub verbose: bool,
    /// `-v2`.
    pub verbose2: bool,
    pub extra_warnings: bool,
    pub report_arch: bool,
    pub warnings_are_errors: bool,
    pub disable_infos: bool,
    pub suppress_arch_warning: bool,
    pub suppress_stack_size_warning: bool,
    /// `-dump-callgraph`, or its twin that is said not to demangle and does.
    pub dump_callgraph: bool,
    pub dot_file: Option<PathBuf>,
    pub register_link_binaries: Option<PathBuf>,
    /// `-time`; `-` is standard output.
    pub time_file: Option<PathBuf>,

    /// `-lto` or `-dlto`.
    pub lto: bool,
    /// `-force-partial-lto`, or `-r` under LTO.
    pub partial_lto: bool,
    pub whole_lto: bool,
    pub emit_ptx: bool,
    pub nvvm_path: Option<PathBuf>,
    /// `-split-compile`, if given.
    pub split_compile: Option<i32>,
    /// `-split-compile-extended`, if given; gone under `-emit-ptx`.
    pub split_compile_extended: Option<i32>,
    /// `-Ofc`. The value is looked at only under `-lto`.
    pub fast_compile: FastCompile,

    pub maxrregcount: Option<i32>,
    /// Elements of `-Xptxas` as given; they are split at blanks when used.
    pub xptxas: Vec<OsString>,
    pub xnvvm: Vec<OsString>,
    pub device_stack_protector: Option<bool>,
    pub stack_protector_threshold: Option<i32>,

    pub nv_host: Option<PathBuf>,
    pub uidx_file: Option<PathBuf>,
    /// Major and minor number of `-cuda-api-version`.
    pub cuda_api_version: Option<(i32, i32)>,
    pub force_rela: bool,
    pub reserve_null_pointer: bool,
    pub dont_reserve_null_pointer: bool,
    pub disable_smem_reservation: Option<bool>,
    pub tools_patch: bool,
    pub enable_extended_smem: Option<bool>,
    pub syscall_const_offset: Option<i32>,
    pub uumn: bool,
    pub fdcmpt: bool,
    /// `-verbose-tkinfo`; where it is not given, `-g` decides.
    pub verbose_tkinfo: Option<bool>,

    /// `-ghls`: no device link, a script for the host linker.
    pub host_script: Option<HostScript>,
    /// `-host-ccbin`.
    pub host_compiler: Option<OsString>,
    /// `-Xlinker`.
    pub host_linker_options: Vec<OsString>,
    pub shared: bool,

    /// `-j`: number of threads, all processors if `None`.
    pub threads: Option<usize>,
    /// `--split-assembly`.
    pub split_assembly: bool,
    /// `--lto-memory`: the most memory for threads of the assembler.
    pub lto_memory: Option<u64>,
    /// `--cache-dir`: results of compilations are kept here.
    pub cache_dir: Option<PathBuf>,
    /// Where intermediate files are kept.
    pub save_temps: Option<PathBuf>,

    /// `--explain`.
    pub explain: bool,
    /// `--error-format`.
    pub error_format: Format,
    /// `--color`.
    pub color: Color,
    /// `--explain-regs`: the kernel, or nothing for all.
    pub explain_regs: Option<String>,
    /// `--map`, with the target in its name where that is asked for; `-` is standard output.
    pub map: Option<PathBuf>,
    pub why_live: Vec<String>,
    pub print_gc: bool,
    pub trace: Vec<String>,
    /// `--remap-path-prefix`, each `OLD=NEW`.
    pub remap_path_prefix: Vec<Vec<u8>>,
    pub reproducible: bool,
    /// `--report`; `-` is standard output.
    pub report: Option<PathBuf>,
    pub progress: Show,
    /// `--no-fork`: the program ends with all that it was made of.
    pub no_fork: bool,
    /// `--dependency-file`; `-` is standard output.
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<PathBuf>,
    /// Where the link prints.
    pub console: Console,

    values: Values,
}

impl Options {
    /// The typed form of parsed values. `invoked_as` is the base name of the program.
    pub fn new(values: Values, invoked_as: &OsStr, release_by_inputs: bool) -> Self {
        let path = |id| values.scalar(id).map(|text| PathBuf::from(OsStr::from_bytes(text)));
        let lto = values.is_true(Id::LinkTimeOpt) || values.is_true(Id::Dlto);
        let relocatable = values.is_true(Id::Relocatable) && values.release.links_relocatable();
        let emit_ptx = values.is_true(Id::EmitPtx);
        let extended = values.number(Id::SplitCompileExtended);
        let release = values.release;
        Self {
            tool_name: values.scalar(Id::ToolName).map_or(invoked_as.into(), os_string),
            release,
            release_by_inputs,
            target: values.scalar(Id::Arch).and_then(|name| release.target(std::str::from_utf8(name).ok()?)),
            inputs: values.inputs.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))).collect(),
            output: path(Id::Output),
            libraries: os_strings(values.list(Id::Library)),
            library_paths: values.list(Id::LibraryPath).iter().map(|path| os_string(path).into()).collect(),
            relocatable,
            debug: values.is_true(Id::Debug),
            suppress_debug_info: values.is_true(Id::SuppressDebugInfo),
            preserve_relocs: values.is_true(Id::PreserveRelocs),
            kernels_used: given_list(&values, Id::KernelsUsed),
            variables_used: given_list(&values, Id::VariablesUsed),
            ignore_host_info: relocatable || values.is_true(Id::IgnoreHostInfo),
            keep_system_libraries: values.is_true(Id::KeepSystemLibraries),
            allow_undefined_globals: values.is_true(Id::AllowUndefinedGlobals),
            verbose: values.is_true(Id::Verbose),
            verbose2: values.is_true(Id::Verbose2),
            extra_warnings: values.is_true(Id::ExtraWarnings),
            report_arch: values.is_true(Id::ReportArch),
            warnings_are_errors: values.is_true(Id::WarningAsError),
            disable_infos: values.is_true(Id::DisableInfos),
            suppress_arch_warning: values.is_true(Id::SuppressArchWarning),
            suppress_stack_size_warning: values.is_true(Id::SuppressStackSizeWarning),
            dump_callgraph: values.is_true(Id::DumpCallgraph) || values.is_true(Id::DumpCallgraphNoDemangle),
            dot_file: path(Id::DotFile),
            register_link_binaries: path(Id::RegisterLinkBinaries),
            time_file: path(Id::Time),
            lto,
            partial_lto: lto && (relocatable || values.is_true(Id::ForcePartialLto)),
            whole_lto: values.is_true(Id::ForceWholeLto),
            emit_ptx,
            nvvm_path: path(Id::NvvmPath),
            split_compile: values.number(Id::SplitCompile).or(extended.filter(|_| emit_ptx)),
            split_compile_extended: extended.filter(|_| !emit_ptx),
            fast_compile: values.scalar(Id::OfastCompile).and_then(fast_compile).unwrap_or_default(),
            maxrregcount: values.number(Id::MaxRegisters),
            xptxas: os_strings(values.list(Id::Xptxas)),
            xnvvm: os_strings(values.list(Id::Xnvvm)),
            device_stack_protector: boolean(&values, Id::DeviceStackProtector),
            stack_protector_threshold: values.number(Id::StackProtectorThreshold),
            nv_host: path(Id::NvHost),
            uidx_file: path(Id::UidxFile),
            cuda_api_version: values.scalar(Id::CudaApiVersion).and_then(api_version),
            force_rela: values.is_true(Id::ForceRela),
            reserve_null_pointer: values.is_true(Id::ReserveNullPointer),
            dont_reserve_null_pointer: values.is_true(Id::DontReserveNullPointer),
            tools_patch: values.is_true(Id::LinkAsToolsPatch),
            disable_smem_reservation: boolean(&values, Id::DisableSmemReservation),
            enable_extended_smem: boolean(&values, Id::EnableExtendedSmem),
            syscall_const_offset: values.number(Id::SyscallConstOffset),
            uumn: values.is_true(Id::Uumn),
            fdcmpt: values.is_true(Id::Fdcmpt),
            verbose_tkinfo: boolean(&values, Id::VerboseTkinfo),
            host_script: values.scalar(Id::GenHostLinkerScript).map(host_script),
            host_compiler: values.scalar(Id::HostCompiler).map(os_string),
            host_linker_options: os_strings(values.list(Id::HostLinkerOptions)),
            shared: values.is_true(Id::Shared),
            threads: values.number(Id::Threads).and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0),
            split_assembly: values.is_true(Id::SplitAssembly),
            lto_memory: values.scalar(Id::LtoMemory).and_then(|text| bytes(text.to_str().ok()?)),
            cache_dir: path(Id::CacheDir),
            save_temps: path(Id::SaveTemps)
                .or_else(|| values.is_true(Id::VerboseKeep).then(|| PathBuf::from("."))),
            explain: values.is_true(Id::Explain),
            error_format: values.scalar(Id::ErrorFormat).map_or(Format::Text, error_format),
            color: values.scalar(Id::Color).map_or(Color::Automatic, color),
            explain_regs: values.scalar(Id::ExplainRegs).map(text),
            map: about_link(&values, Id::Map),
            why_live: values.list(Id::WhyLive).iter().map(|name| text(name)).collect(),
            print_gc: values.is_true(Id::PrintGc),
            trace: values.list(Id::Trace).iter().map(|name| text(name)).collect(),
            remap_path_prefix: values.list(Id::RemapPathPrefix).to_vec(),
            reproducible: values.is_true(Id::Reproducible),
            report: about_link(&values, Id::Report),
            progress: values.scalar(Id::Progress).map_or(Show::Automatically, show),
            no_fork: values.is_true(Id::NoFork),
            dependency_file: path(Id::DependencyFile),
            dependency_target: path(Id::DependencyTarget),
            console: Console::default(),
            values,
        }
    }

    /// The same for the release that the inputs turned out to be of.
    #[must_use]
    pub fn of_release(&self, release: &'static Release) -> Self {
        Self { release, release_by_inputs: false, ..self.clone() }
    }

    /// The target of a link. [`check`] lets no link begin without one.
    pub fn link_target(&self) -> Target {
        self.target.expect("checked before linking")
    }

    /// The file to write. Only a virtual target gets this far without one, and mostly writes nothing.
    pub fn output_file(&self, sink: &Sink) -> Result<&Path, Stop> {
        let missing = || sink.fatal(Message::OutputNotOpened { file: "(null)".into() });
        self.output.as_deref().ok_or_else(missing)
    }

    /// How inputs are taken.
    pub fn load_settings(&self) -> load::Settings {
        load::Settings {
            target: self.link_target(),
            release: self.release,
            lto: self.lto,
            suppress_arch_warning: self.suppress_arch_warning,
            reports_missing_host_code: self.register_link_binaries.is_some()
                && self.release.reports_missing_host_code(),
            file_id: self.register_link_binaries.as_ref().map(|_| register::file_id as fn(&Text) -> Vec<u8>),
            age: Age::AsAskedFor,
            knows_runtime: true,
            registers: self.maxrregcount,
        }
    }

    /// How IR is compiled.
    pub fn lto_options(&self) -> LtoOptions<'_> {
        LtoOptions {
            partial: self.partial_lto,
            whole: self.whole_lto,
            debug: self.debug && !self.suppress_debug_info,
            emit_ptx: self.emit_ptx,
            verbose2: self.verbose2,
            registers: self.maxrregcount,
            split_compile: self.split_compile,
            split_compile_extended: self.split_compile_extended,
            fast_compile: match self.fast_compile {
                FastCompile::Off => None,
                FastCompile::Min => Some("min"),
                FastCompile::Mid => Some("mid"),
                FastCompile::Max => Some("max"),
            },
            ignore_host_info: self.ignore_host_info,
            kernels_used: self.kernels_used.as_deref().unwrap_or_default(),
            variables_used: self.variables_used.as_deref().unwrap_or_default(),
            xnvvm: self.xnvvm.iter().map(|element| element.as_bytes().to_vec()).collect(),
            ..LtoOptions::new(self.link_target(), self.release)
        }
    }

    /// The output of a link for a real target. [`check`] lets none begin without one.
    pub fn link_output(&self) -> &PathBuf {
        self.output.as_ref().expect("checked before linking")
    }

    /// Whether `-w` is given, and has an effect in this release.
    fn disables_warnings(&self) -> bool {
        self.release.can_silence_warnings() && self.values().is_true(Id::DisableWarnings)
    }

    /// How messages are printed once the options are known.
    pub fn message_settings(&self) -> Settings {
        Settings {
            tool: Text::from(&self.tool_name),
            report_arch: self.target.filter(|_| self.report_arch).map(|target| target.to_string().into()),
            switches: Switches {
                warnings_are_errors: self.warnings_are_errors,
                no_warnings: self.disable_infos || self.disables_warnings(),
            },
            explain: self.explain,
            format: self.error_format,
            color: self.color,
        }
    }

    /// Whether the link is to remember more than its output needs.
    pub fn is_recorded(&self) -> bool {
        let files = self.map.is_some() || self.report.is_some();
        let reports = files || self.explain_regs.is_some() || self.print_gc;
        let names = !self.why_live.is_empty() || !self.trace.is_empty();
        self.explain || self.error_format == Format::Json || reports || names
    }

    /// Unprocessed values, for the checks and the record.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

/// A file about the link. `%a` in its name is the target. Without it the target is added when nvcc links for several, each
/// with the same words: it then gives `-report-arch`.
fn about_link(values: &Values, id: Id) -> Option<PathBuf> {
    const TARGET: &str = "%a";
    let name = values.scalar(id)?;
    let target = values.scalar(Id::Arch).unwrap_or_default();
    let several = values.is_true(Id::ReportArch) && name != b"-";
    let named = name.replace(TARGET, target);
    let path = PathBuf::from(os_string(&named));
    let Some(file) = path.file_name().filter(|_| several && !name.contains_str(TARGET)) else {
        return Some(path);
    };
    let stem = path.file_stem().unwrap_or(file).as_bytes();
    let extension = &file.as_bytes()[stem.len()..];
    Some(path.with_file_name(os_string(&[stem, b".", target, extension].concat())))
}

fn os_string(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn os_strings(list: &[Vec<u8>]) -> Vec<OsString> {
    list.iter().map(|element| os_string(element)).collect()
}

fn given_list(values: &Values, id: Id) -> Option<Vec<Vec<u8>>> {
    // A list of nothing is as good as none.
    let list: Vec<_> = values.list(id).iter().filter(|value| !value.is_empty()).cloned().collect();
    (!list.is_empty()).then_some(list)
}

fn boolean(values: &Values, id: Id) -> Option<bool> {
    match values.get(id) {
        Some(Value::Bool(value)) => Some(*value),
        _ => None,
    }
}

fn show(when: &[u8]) -> Show {
    match when {
        b"always" => Show::Always,
        b"never" => Show::Never,
        _ => Show::Automatically,
    }
}

fn error_format(name: &[u8]) -> Format {
    if name == b"json" { Format::Json } else { Format::Text }
}

/// How to report faults of a command line that is still to be parsed.
pub fn settings_of_words(words: &[Vec<u8>]) -> Settings {
    let mut settings = Settings::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(word) = word.strip_prefix(b"--") else { continue };
        let (name, value) = match word.split_once_str("=") {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let value = || value.or(rest.as_slice().first().map(Vec::as_slice)).unwrap_or_default();
        match name {
            b"explain" => settings.explain = true,
            b"error-format" => settings.format = error_format(value()),
            b"color" => settings.color = color(value()),
            _ => {}
        }
    }
    settings
}

/// The words of a text, such as that of a variable.
pub fn words_of(text: &[u8], sink: &Sink) -> Result<Vec<Vec<u8>>, Stop> {
    option_file::split(text).map_err(|stray| sink.fatal(Message::StrayCharacter { character: stray.into() }))
}

/// The same, without a word about a text that cannot be split.
pub fn split_words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    option_file::split(text).ok()
}

fn color(when: &[u8]) -> Color {
    match when {
        b"always" => Color::Always,
        b"never" => Color::Never,
        _ => Color::Automatic,
    }
}

fn host_script(name: &[u8]) -> HostScript {
    if name == b"lcs-aug" { HostScript::Augment } else { HostScript::Complete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Printer;

    #[test]
    fn files_about_links_for_several_targets() {
        for (line, expected) in [
            ("--map m.txt -arch=sm_90", "m.txt"),
            ("--map %a/m-%a.txt -arch=sm_90", "sm_90/m-sm_90.txt"),
            ("--map m.txt -arch=sm_90a -report-arch", "m.sm_90a.txt"),
            ("--map d.x/m -arch=sm_90 -report-arch", "d.x/m.sm_90"),
            ("--map m-%a.txt -arch=sm_90 -report-arch", "m-sm_90.txt"),
            ("--map - -arch=sm_90 -report-arch", "-"),
        ] {
            let printer = Printer::in_memory(Settings::default());
            let words = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let values = Values::parse(words, Release::CUDA_13_0, &printer.sink()).expect("a good line");
            let options = Options::new(values, OsStr::new("nvlink"), false);
            assert_eq!(options.map, Some(expected.into()), "{line}");
        }
    }
}
