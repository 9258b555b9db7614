//! The options: one row each, in the order in which nvlink records them in its note.
//!
//! A row feeds the parser, `--help` and the recorded command line. Rows without help are hidden.

use solder_arch::Release;

/// How an option takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Flag,
    /// `true` or `false`.
    Bool,
    Scalar,
    /// A value that only follows `=`, and may be left out.
    Optional,
    /// A name, which may be left out. It follows `=`, or is the next word if that is neither an option nor an input.
    OptionalName,
    /// Names separated by commas outside brackets; repetitions append.
    Names,
    Number,
    /// Elements separated by commas; repetitions append.
    List,
    /// A list of option files, read where it is.
    OptionFiles,
}

/// When an option is part of the command line recorded in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Never,
    Always,
    /// Only in the verbose form, as the base name of the file.
    Verbose,
    /// Only in the verbose form, without its value.
    VerboseNameOnly,
}

/// The values that an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    Any,
    These(&'static [&'static str]),
    /// The names of the release's targets.
    Targets,
    /// The names of the hosts that the release knows.
    Hosts,
}

#[derive(Debug)]
pub struct Row {
    pub id: Id,
    /// Used with two dashes.
    pub long: &'static str,
    /// Used with one dash.
    pub short: Option<&'static str>,
    pub kind: Kind,
    /// `-Lpath`: the value may follow the short name directly.
    pub joined: bool,
    /// The value taken when the option is the last word or another option follows.
    pub implied: Option<&'static str>,
    pub allowed: Allowed,
    /// The toolkit that has it first; 0 where all of them have it.
    since: u32,
    /// The toolkit from which on the long name is known too.
    long_since: u32,
    pub record: Record,
    /// Name of the value in the help.
    pub argument: &'static str,
    /// The default stated in the help.
    pub default: &'static str,
    /// Allowed values are listed in the help (otherwise the argument names them).
    pub help: &'static str,
}

const fn row(id: Id, long: &'static str, kind: Kind) -> Row {
    Row {
        id,
        long,
        short: Some(long),
        kind,
        joined: false,
        implied: None,
        allowed: Allowed::Any,
        since: 0,
        long_since: 0,
        record: Record::Never,
        argument: "",
        default: "",
        help: "",
    }
}

const fn flag(id: Id, long: &'static str) -> Row {
    row(id, long, Kind::Flag)
}

const fn boolean(id: Id, long: &'static str) -> Row {
    row(id, long, Kind::Bool)
}

const fn scalar(id: Id, long: &'static str) -> Row {
    row(id, long, Kind::Scalar)
}

const fn number(id: Id, long: &'static str) -> Row {
    row(id, long, Kind::Number)
}

const fn list(id: Id, long: &'static str) -> Row {
    row(id, long, Kind::List)
}

impl Row {
    const fn short(mut self, short: &'static str) -> Self {
        self.short = Some(short);
        self
    }

    const fn long_only(mut self) -> Self {
        self.short = None;
        self
    }

    const fn joined(mut self) -> Self {
        self.joined = true;
        self
    }

    const fn implied(mut self, value: &'static str) -> Self {
        self.implied = Some(value);
        self
    }

    const fn allowed(mut self, values: &'static [&'static str]) -> Self {
        self.allowed = Allowed::These(values);
        self
    }

    const fn allowed_names(mut self, names: Allowed) -> Self {
        self.allowed = names;
        self
    }

    const fn since(mut self, toolkit: u32) -> Self {
        self.since = toolkit;
        self
    }

    const fn long_since(mut self, toolkit: u32) -> Self {
        self.long_since = toolkit;
        self
    }

    const fn argument(mut self, name: &'static str) -> Self {
        self.argument = name;
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = value;
        self
    }

    const fn record(mut self, record: Record) -> Self {
        self.record = record;
        self
    }

    /// A documented option; those are recorded unless the row goes on to say otherwise.
    const fn help(mut self, text: &'static str) -> Self {
        self.help = text;
        self.record(Record::Always)
    }

    /// Whether nvlink does not know the option.
    pub fn is_own(&self) -> bool {
        self.id as usize >= Id::Threads as usize
    }

    pub fn is_hidden(&self) -> bool {
        self.help.is_empty()
    }

    /// Whether the nvlink of a release knows it, or it is solder's own.
    pub fn is_of(&self, release: &Release) -> bool {
        self.since <= release.toolkit
    }

    /// The values that it takes; any if there are none.
    pub fn values(&self, release: &Release) -> &'static [&'static str] {
        match self.allowed {
            Allowed::Any => &[],
            Allowed::These(values) => values,
            Allowed::Targets => release.names(),
            Allowed::Hosts => release.cpu_archs,
        }
    }
}

macro_rules! ids {
    ($($name:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Id { $($name),* }
        pub const COUNT: usize = [$(Id::$name),*].len();
    };
}

ids! {
    SuppressStackSizeWarning, SuppressArchWarning, Output, Debug, Arch, Machine, Library, LibraryPath,
    RegisterLinkBinaries, Verbose, Verbose2, PreserveRelocs, DisableWarnings, WarningAsError, DisableInfos,
    KeepSystemLibraries, KernelsUsed, VariablesUsed, CpuArch, ReportArch, EmitPtx, Time, ExtraWarnings, LinkTimeOpt, Dlto,
    NvvmPath, SplitCompile, SplitCompileExtended, OfastCompile, SuppressDebugInfo, LinkAsToolsPatch, Xptxas, Xnvvm,
    MaxRegisters, UidxFile, DumpCallgraph, DumpCallgraphNoDemangle, UseHostInfo, IgnoreHostInfo, Relocatable,
    GenHostLinkerScript, DeviceStackProtector, OptionsFile, Help, Version,
    HostCompiler, HostLinkerOptions, Shared, ForcePartialLto, ForceWholeLto, AllowUndefinedGlobals,
    ReserveNullPointer, DontReserveNullPointer, DisableSmemReservation, EnableExtendedSmem, ForceRela,
    SyscallConstOffset, CudaApiVersion, DotFile, NvHost, ToolName, Uumn, Fdcmpt, VerboseTkinfo,
    StackProtectorThreshold, Threads, CacheDir, SplitAssembly, LtoMemory, SaveTemps, VerboseKeep,
    Explain, ErrorFormat, ExplainRegs, Map, WhyLive, PrintGc, Trace,
    RemapPathPrefix, Reproducible, Report, Progress, NoFork, ListArchs, Color, AsNvlink,
    DependencyFile, DependencyTarget,
}

pub static TABLE: [Row; COUNT] = [
    flag(Id::SuppressStackSizeWarning, "suppress-stack-size-warning")
        .help("No warning for kernels whose stack size cannot be determined."),
    flag(Id::SuppressArchWarning, "suppress-arch-warning")
        .help("No warning for objects that hold no code for the target architecture."),
    scalar(Id::Output, "output-file")
        .short("o")
        .argument("file name")
        .help("The file to write.")
        .record(Record::Verbose),
    flag(Id::Debug, "debug").short("g").help("Link for debugging: nothing is removed."),
    scalar(Id::Arch, "arch")
        .argument("gpu architecture name")
        .allowed_names(Allowed::Targets)
        .help("The architecture to link for."),
    number(Id::Machine, "machine")
        .short("m")
        .joined()
        .argument("bits")
        .allowed(&["64"])
        .default("64")
        .help("Width of an address on the host."),
    list(Id::Library, "library")
        .short("l")
        .joined()
        .argument("library")
        .help("Link with these libraries, looked for in the directories given with '-L'."),
    list(Id::LibraryPath, "library-path")
        .short("L")
        .joined()
        .argument("library-path")
        .help("Look for libraries in these directories."),
    scalar(Id::RegisterLinkBinaries, "register-link-binaries")
        .long_only()
        .argument("file name")
        .help("Write the names of the registration routines of the linked objects to this file.")
        .record(Record::Verbose),
    flag(Id::Verbose, "verbose").short("v").help("Print the memory and registers that the code uses."),
    flag(Id::Verbose2, "verbose2")
        .short("v2")
        .since(132)
        .help("Print what link-time optimisation does."),
    flag(Id::PreserveRelocs, "preserve-relocs").help("Keep the resolved relocations in an executable."),
    flag(Id::DisableWarnings, "disable-warnings")
        .short("w")
        .help("Accepted for compatibility; warnings are printed all the same, as nvlink does."),
    flag(Id::WarningAsError, "warning-as-error").short("Werror").help("Take warnings as errors."),
    flag(Id::DisableInfos, "disable-infos").since(130).help("Print no warnings (sic: as nvlink does, infos stay)."),
    flag(Id::KeepSystemLibraries, "keep-system-libraries")
        .help("Keep the code of system libraries such as cudadevrt even when nothing refers to it."),
    list(Id::KernelsUsed, "kernels-used")
        .argument("kernel")
        .help("Keep only kernels whose name contains one of these texts."),
    list(Id::VariablesUsed, "variables-used")
        .argument("variable")
        .help("Keep variables whose name contains one of these texts."),
    scalar(Id::CpuArch, "cpu-arch")
        .argument("cpu architecture name")
        .allowed_names(Allowed::Hosts)
        .default("'unknown'")
        .help("The host's architecture; without effect on the link."),
    flag(Id::ReportArch, "report-arch").help("Name the target architecture in messages."),
    flag(Id::EmitPtx, "emit-ptx").help("Under -lto, write the compiled PTX and stop."),
    scalar(Id::Time, "time")
        .argument("file name")
        .help(
            "Append the time taken by the compilations of this link to a file, as comma separated values; \
             '-' is standard output. An empty file gets a line of column headings first.",
        )
        .record(Record::Verbose),
    flag(Id::ExtraWarnings, "extra-warnings").short("extrawarn").help("Print more warnings."),
    flag(Id::LinkTimeOpt, "link-time-opt").short("lto").help("Optimise at link time."),
    flag(Id::Dlto, "dlto").help("The same as -lto."),
    scalar(Id::NvvmPath, "nvvmpath").help("The directory that holds lib64/libnvvm.so, for -lto."),
    number(Id::SplitCompile, "split-compile")
        .argument("amount")
        .default("1")
        .help("Threads that the compiler may use under -lto."),
    number(Id::SplitCompileExtended, "split-compile-extended")
        .argument("amount")
        .default("1")
        .help("Threads for compiling and assembling in parts under -lto."),
    scalar(Id::OfastCompile, "Ofast-compile")
        .short("Ofc")
        .since(130)
        .argument("0|min|mid|max")
        .implied("0")
        .help("How far code quality is traded for compile time under -lto; '0' is not at all, 'max' the most."),
    flag(Id::SuppressDebugInfo, "suppress-debug-info")
        .help("Do not ask for debug information when PTX is assembled. Needs --debug."),
    flag(Id::LinkAsToolsPatch, "link-as-tools-patch")
        .short("astoolspatch")
        .since(133)
        .help("Link only code that was compiled as a patch for tools."),
    list(Id::Xptxas, "Xptxas").argument("options").help("Options for the assembly of PTX."),
    list(Id::Xnvvm, "Xnvvm").argument("options").help("Options for the compiler under -lto."),
    number(Id::MaxRegisters, "maxrregcount")
        .argument("amount")
        .help("Registers that a function may use when PTX is assembled."),
    scalar(Id::UidxFile, "uidx-file").short("uidx").help("Path of a uidx file."),
    flag(Id::DumpCallgraph, "dump-callgraph").help("Print the call graph."),
    flag(Id::DumpCallgraphNoDemangle, "dump-callgraph-no-demangle")
        .help("Print the call graph (names are demangled all the same, as nvlink does)."),
    flag(Id::UseHostInfo, "use-host-info").help("Remove kernels that no host object refers to; the default."),
    flag(Id::IgnoreHostInfo, "ignore-host-info")
        .help("Keep kernels that no host object refers to."),
    flag(Id::Relocatable, "relocatable-link")
        .short("r")
        .long_since(130)
        .help("Write an object that can be linked again."),
    scalar(Id::GenHostLinkerScript, "gen-host-linker-script")
        .short("ghls")
        .argument("host linker script type")
        .allowed(&["lcs-abs", "lcs-aug"])
        .implied("lcs-abs")
        .help(
            "Link nothing, but write a script for the host linker: the CUDA sections alone ('lcs-aug'), or the \
             host linker's own script followed by them ('lcs-abs').",
        )
        .record(Record::Never),
    boolean(Id::DeviceStackProtector, "device-stack-protector")
        .since(130)
        .help("Ask for stack protectors when PTX is assembled."),
    row(Id::OptionsFile, "options-file", Kind::OptionFiles)
        .short("optf")
        .argument("file")
        .help("Take further words of the command line from these files.")
        .record(Record::VerboseNameOnly),
    flag(Id::Help, "help").short("h").help("Print this help.").record(Record::Never),
    flag(Id::Version, "version").short("V").help("Print the version.").record(Record::Never),
    // Hidden options of nvlink.
    scalar(Id::HostCompiler, "host-ccbin"),
    list(Id::HostLinkerOptions, "host-linker-options").short("Xlinker"),
    flag(Id::Shared, "shared"),
    flag(Id::ForcePartialLto, "force-partial-lto"),
    flag(Id::ForceWholeLto, "force-whole-lto"),
    flag(Id::AllowUndefinedGlobals, "allow-undefined-globals"),
    flag(Id::ReserveNullPointer, "reserve-null-pointer"),
    flag(Id::DontReserveNullPointer, "dont-reserve-null-pointer"),
    boolean(Id::DisableSmemReservation, "disable-smem-reservation"),
    boolean(Id::EnableExtendedSmem, "enable-extended-smem").since(130),
    flag(Id::ForceRela, "force-rela"),
    number(Id::SyscallConstOffset, "syscall-const-offset"),
    scalar(Id::CudaApiVersion, "cuda-api-version"),
    scalar(Id::DotFile, "dot-file").short("dot"),
    scalar(Id::NvHost, "nv-host").since(130),
    scalar(Id::ToolName, "tool-name"),
    flag(Id::Uumn, "uumn"),
    flag(Id::Fdcmpt, "fdcmpt"),
    boolean(Id::VerboseTkinfo, "verbose-tkinfo").since(130),
    number(Id::StackProtectorThreshold, "device-stack-protector-frame-size-threshold").since(130),
    // solder's own.
    number(Id::Threads, "threads")
        .short("j")
        .joined()
        .argument("amount")
        .help("Threads to link with; all processors if not given. The output is the same for any number.")
        .record(Record::Never),
    scalar(Id::CacheDir, "cache-dir")
        .argument("directory")
        .help("Keep assembled PTX and compiled IR in this directory, and take them from there.")
        .record(Record::Never),
    flag(Id::SplitAssembly, "split-assembly")
        .long_only()
        .help("Have several threads assemble a program that link-time optimization made, however small. The output is the same.")
        .record(Record::Never),
    scalar(Id::LtoMemory, "lto-memory")
        .long_only()
        .argument("size")
        .help("The most memory for threads of the assembler, such as 8G; half of what is free if not given.")
        .record(Record::Never),
    row(Id::SaveTemps, "save-temps", Kind::Optional)
        .argument("directory")
        .help("Print the commands of the link, and keep the files it makes on its way in this directory.")
        .record(Record::Never),
    flag(Id::VerboseKeep, "verbose-keep")
        .short("vkeep")
        .help("The same as --save-temps, in the current directory.")
        .record(Record::Never),
    flag(Id::Explain, "explain")
        .long_only()
        .help("Print notes under the messages that say what is behind them; repeated warnings are folded.")
        .record(Record::Never),
    scalar(Id::ErrorFormat, "error-format")
        .long_only()
        .argument("format")
        .allowed(&["text", "json"])
        .default("'text'")
        .help("How messages are printed; 'json' gives an object a line, with notes and stable codes.")
        .record(Record::Never),
    row(Id::ExplainRegs, "explain-regs", Kind::OptionalName)
        .long_only()
        .implied("")
        .argument("kernel")
        .help("Print which calls give each kernel, or this one, its registers, stack and barriers.")
        .record(Record::Never),
    scalar(Id::Map, "map")
        .long_only()
        .argument("file name")
        .help(
            "Write what went where: inputs and chosen members, sections by contributor, symbols with their \
             origin, removed functions; '-' is standard output. '%a' in the name is the target.",
        )
        .record(Record::Never),
    row(Id::WhyLive, "why-live", Kind::Names)
        .long_only()
        .argument("name")
        .help("Print the way from a kernel to each of these functions, or that they were removed.")
        .record(Record::Never),
    flag(Id::PrintGc, "print-gc")
        .long_only()
        .help("Print the functions that were removed.")
        .record(Record::Never),
    row(Id::Trace, "trace", Kind::Names)
        .long_only()
        .argument("name")
        .help("Print where each of these names was seen, chosen and replaced.")
        .record(Record::Never),
    list(Id::RemapPathPrefix, "remap-path-prefix")
        .long_only()
        .argument("old=new")
        .help("Record paths that begin with 'old' as if they began with 'new'; the last one that fits is taken.")
        .record(Record::Never),
    flag(Id::Reproducible, "reproducible")
        .long_only()
        .help("Record no folders: of paths in the recorded command lines only the last part stays.")
        .record(Record::Never),
    scalar(Id::Report, "report")
        .long_only()
        .argument("file name")
        .help(
            "Write a page for a browser: code by kernel, function and input, call graphs with registers and \
             stack, shared and constant memory, time by phase. '%a' in the name is the target.",
        )
        .record(Record::Never),
    row(Id::Progress, "progress", Kind::Optional)
        .long_only()
        .implied("always")
        .argument("when")
        .allowed(&["auto", "always", "never"])
        .default("'auto', on a terminal for links that take more than two seconds")
        .help("Show on standard error what is being compiled and assembled and what is left.")
        .record(Record::Never),
    flag(Id::NoFork, "no-fork")
        .long_only()
        .help(
            "Give the memory of a large link back before the program ends, instead of leaving a process behind that \
             does it.",
        )
        .record(Record::Never),
    flag(Id::ListArchs, "list-archs")
        .long_only()
        .help("Print the targets, and for which of them machine code and PTX of each can be linked.")
        .record(Record::Never),
    scalar(Id::Color, "color")
        .long_only()
        .argument("when")
        .allowed(&["auto", "always", "never"])
        .default("'auto', on a terminal unless NO_COLOR is set")
        .help("Whether the severity of messages has a colour.")
        .record(Record::Never),
    scalar(Id::AsNvlink, "as-nvlink")
        .long_only()
        .argument("version")
        .help(
            "Link as the nvlink of this toolkit does, such as '13.2'. Without it the toolkit beside the program decides, \
             then SOLDER_AS, then the newest object.",
        )
        .record(Record::Never),
    scalar(Id::DependencyFile, "dependency-file")
        .short("MF")
        .argument("file name")
        .help(
            "Write a rule for make and Ninja that names every file read, once the link has succeeded; '-' is standard \
             output.",
        )
        .record(Record::Never),
    scalar(Id::DependencyTarget, "dependency-target")
        .short("MT")
        .argument("file name")
        .help("The target of that rule, if it is not the output: with nvcc, the file that nvcc makes.")
        .record(Record::Never),
];

/// The rows of a release.
pub fn rows(release: &Release) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| row.is_of(release))
}

pub fn by_long(name: &[u8], release: &Release) -> Option<&'static Row> {
    rows(release).find(|row| row.long.as_bytes() == name && row.long_since <= release.toolkit)
}

pub fn by_short(name: &[u8], release: &Release) -> Option<&'static Row> {
    rows(release).find(|row| row.short.is_some_and(|short| short.as_bytes() == name))
}

/// The option whose one-letter name begins `word`, if its value may follow directly.
pub fn by_letter(word: &[u8], release: &Release) -> Option<&'static Row> {
    by_short(word.get(..1)?, release).filter(|row| row.joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_their_index() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.id as usize, index, "{}", row.long);
        }
    }

    #[test]
    fn names_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(by_long(row.long.as_bytes(), Release::NEWEST).map(|row| row.id as usize), Some(index));
            if let Some(short) = row.short {
                assert_eq!(
                    by_short(short.as_bytes(), Release::NEWEST).map(|row| row.id as usize),
                    Some(index)
                );
            }
        }
    }
}
