//! The table of messages: one row per text.

use super::severity::Severity;
use super::text::{Banks, Barriers, Demangled, Field, Handles, Hex, Text, Value};

/// What is fixed about a message.
#[derive(Debug)]
pub struct Row {
    /// A stable name for programs.
    pub code: &'static str,
    /// How serious it is, before switches change that.
    pub severity: Severity,
    /// The text, with `{field}` where a value goes.
    pub text: &'static str,
    /// The names of its values, also of those that the text has no place for.
    pub fields: &'static [&'static str],
}

macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $name:ident $({ $($field:ident : $ty:ty),* $(,)? })? = $code:literal, $severity:ident, $text:literal;
    )*) => {
        /// A message with its values.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Message { $(
            #[doc = concat!("`", $text, "`")]
            $(#[$doc])*
            $name $({ $(
                #[doc = concat!("`{", stringify!($field), "}` in the text.")]
                $field: $ty
            ),* })?,
        )* }

        #[derive(Clone, Copy)]
        enum Index { $($name),* }

        /// Every message there is.
        pub static TABLE: &[Row] = &[ $(
            Row {
                code: $code,
                severity: Severity::$severity,
                text: $text,
                fields: &[ $($(stringify!($field)),*)? ],
            },
        )* ];

        impl Message {
            /// What is fixed about the message.
            pub fn row(&self) -> &'static Row {
                let index = match self { $( Self::$name { .. } => Index::$name, )* };
                &TABLE[index as usize]
            }

            fn values(&self) -> Vec<&dyn Field> {
                match self { $( Self::$name $({ $($field),* })? => vec![ $($($field as &dyn Field),*)? ], )* }
            }
        }
    };
}

impl Message {
    /// The values by name.
    pub fn fields(&self) -> Vec<(&'static str, Vec<u8>)> {
        let written = |field: &dyn Field| {
            let mut out = Vec::new();
            field.write(&mut out);
            out
        };
        self.row().fields.iter().copied().zip(self.values().into_iter().map(written)).collect()
    }

    /// The values by name, as programs read them: numbers are numbers.
    pub fn typed_fields(&self) -> Vec<(&'static str, Value)> {
        self.row().fields.iter().copied().zip(self.values().into_iter().map(Field::value)).collect()
    }

    /// The text with its values, without tool, severity and line end.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let row = self.row();
        let values = self.values();
        let mut rest = row.text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("every row is checked by a test");
            let at = row.fields.iter().position(|field| *field == name);
            out.extend_from_slice(before.as_bytes());
            values[at.expect("every row is checked by a test")].write(out);
            rest = after;
        }
        out.extend_from_slice(rest.as_bytes());
    }
}

messages! {
    // The command line, word by word.
    UnknownOption { word: Text } = "unknown-option", Fatal, "Unknown option '{word}'";
    ArgumentExpected { option: Text } = "argument-expected", Fatal, "argument expected after '{option}'";
    NoArgumentExpected { option: Text } = "no-argument-expected", Fatal, "no argument expected after '{option}'";
    ValueNotDefined { value: Text, option: &'static str } = "value-not-defined", Fatal,
        "Value '{value}' is not defined for option '{option}'";
    ExpectedNumber { value: Text } = "expected-number", Fatal, "'{value}': expected a number";
    NumberOutOfRange { value: Text } = "number-out-of-range", Fatal, "32-bit integer value ({value}) out of range";
    ExpectedBoolean { value: Text } = "expected-boolean", Fatal, "'{value}': expected true or false";
    StrayCharacter { character: Text } = "stray-character", Fatal, "Stray '{character}' character";
    Redefinition { option: &'static str } = "option-redefined", Warning,
        "incompatible redefinition for option '{option}', the last value of this option was used";
    OptionsFileNotOpened { file: Text } = "options-file-not-opened", Fatal, "Could not open options file '{file}'";
    TooManyOptionsFiles { file: Text } = "too-many-options-files", Fatal, "Too many options file opened '{file}'";

    // The command line as a whole.
    UnknownArch { arch: Text } = "unknown-arch", Fatal, "Unknown arch name '{arch}'";
    NoOutputFile = "no-output-file", Fatal, "Must specify output file with -o option";
    NoInputFiles = "no-input-files", Fatal, "No input files specified; use option --help for more information";
    InputFilesWithHostScript = "input-files-with-host-script", Fatal,
        "Input files are not allowed with -ghls option; use --help for more information";
    HostScriptFailed = "host-script-failed", Fatal, "Host linker script creation failed.";
    DiedOfSignal { tool: Text, number: u32, name: Text } = "died-of-signal", Error,
        "'{tool}' died due to signal {number} {name}";
    VirtualTarget { arch: Text } = "virtual-target", Fatal,
        "Link target of '{arch}' is virtual target that is not JIT-able; use 'sm_' target instead";
    ConflictingOptions { first: &'static str, second: &'static str } = "conflicting-options", Fatal,
        "Conflicting options '{first}' and '{second}'";
    NvvmPathMissing = "nvvm-path-missing", Fatal, "-nvvmpath should be specified with -lto";
    InvalidArgument { option: &'static str } = "invalid-argument", Fatal, "Invalid argument for option '{option}'";
    IncompatibleOptions { first: &'static str, second: &'static str, used: &'static str } =
        "incompatible-options", Info, "Incompatible options '{first}' and '{second}', using '{used}'";
    PreserveRelocsIncomplete { arch: Text } = "preserve-relocs-incomplete", Warning,
        "Option '--preserve-relocs' is not fully implemented for gpu archtecture '{arch}' and may not work as expected";
    ApiVersionUnparsable = "api-version-unparsable", Fatal, "--cuda-api-version value cannot be parsed";
    ApiVersionMajor = "api-version-major", Fatal, "--cuda-api-version major number must be == toolkit version";
    TimeFileNotOpened { file: Text } = "time-file-not-opened", Fatal, "Cannot open file '{file}'";
    OutputNotOpened { file: Text } = "output-not-opened", Fatal, "Could not open output file '{file}'";

    // Reading inputs.
    InputNotOpened { file: Text } = "input-not-opened", Fatal, "Could not open input file '{file}'";
    FileNotRead { file: Text } = "file-not-read", Fatal, "Could not read file '{file}'";
    NoUidx = "no-uidx", Fatal, "Unified symbols found but index file not specified.";
    NotUidx = "not-uidx", Fatal, "Internal error: not uidx input";
    CubinNotElf = "cubin-not-elf", Fatal, "cubin not an elf?";
    CubinNotDeviceElf = "cubin-not-device-elf", Fatal, "cubin not a device elf?";
    FatbinWrongFormat = "fatbin-wrong-format", Fatal, "fatbin wrong format?";
    BitcodeInput = "bitcode-input", Fatal, "should never see bc files";
    NvvmWithoutLto = "nvvm-without-lto", Fatal, "should only see nvvm files when -lto";
    LtoObjectsWithoutLto = "lto-objects-without-lto", Fatal, "LTO objects found, use -dlto";
    BinaryKind = "binary-kind", Error, "Can't load this binary kind, as it's not recognized";
    BinaryFormat { key: Text, ident: Text } = "binary-format", Error,
        "Binary format for key='{key}', ident='{ident}' is not recognized";
    UncompressFailed = "uncompress-failed", Error, "Uncompress failed";
    FatbinaryError = "fatbinary-error", Fatal, "elfLink fatbinary error";
    InternalError = "internal-error", Fatal, "elfLink internal error";
    NoFatbin { file: Text } = "no-fatbin", Fatal, "Could not find fatbin in '{file}'";
    ArchiveFormat = "archive-format", Fatal, "unexpected archive format";
    MemoryAllocation = "memory-allocation", Fatal, "Memory allocation failure";
    AbiMismatch { file: Text } = "abi-mismatch", Fatal, "Input file '{file}' abi does not match";
    Expected64Bit { file: Text } = "expected-64-bit", Warning,
        "expected 64bit object '{file}' to have EF_CUDA_64BIT_ADDRESS set";
    WordSizeMismatch { file: Text } = "word-size-mismatch", Fatal,
        "Input file '{file}' size does not match target '-m64'";
    ArchMismatch { file: Text, target: Text } = "arch-mismatch", Fatal,
        "Input file '{file}' arch does not match target '{target}'";
    FinalizerError { file: Text } = "finalizer-error", Fatal, "Internal FNLZR error '{file}'";
    UnexpectedModuleIds = "unexpected-module-ids", Fatal, "unexpected data in module_ids";
    NoHostCode { file: Text } = "no-host-code", Info,
        "Input '{file}' has no host code, which could cause later host link error if there is a reference to it";
    UnsupportedBinary = "unsupported-binary", Error, "Finalization failed: 'unsupported binary'";
    UnsupportedNumber = "unsupported-number", Error, "Finalization failed: 'unsupported SM version'";
    FinalizationFailed = "finalization-failed", Fatal, "elfLink error finalization failed";
    ArchTooLong = "arch-too-long", Fatal, "specified arch exceeds buffer length";
    OutputLimited { arch: u32, file: Text } = "output-limited", Warning,
        "Output is limited to run on SM Arch '{arch}' only due to limitations in input file {file}";
    HostInfoIgnored = "host-info-ignored", Info,
        "ignore -use-host-info because -kernels-used or -variables-used is specified";
    IsaClassMissing { arch: u32, file: Text } = "isa-class-missing", Warning,
        "Output is limited to run on SM Arch '{arch}' only, due to missing attribute 'ISA_CLASS' in input file '{file}'";
    AcceleratedForOther = "accelerated-for-other", Fatal, "cannot link accelerated arch to non-accelerated";
    UnreadableRecords = "unreadable-records", Fatal, "cannot read nvcompat";
    SanitizedOfOtherToolkit { file: Text, version: u32, other: u32 } = "sanitized-of-other-toolkit", Error,
        "Cannot link sanitized object '{file}' from version {version} with sanitized object from a different toolkit version ({other})";
    NewerThanToolkit { file: Text, version: i32, toolkit: u32 } = "newer-than-toolkit", Fatal,
        "Input file '{file}' newer than toolkit ({version} vs {toolkit})";
    MustBeRecompiled { file: Text, toolkit: Text } = "must-be-recompiled", Fatal,
        "Input file '{file}' must be recompiled with toolkit >= Cuda {toolkit}";
    ExtensibleOfOtherToolkit = "extensible-of-other-toolkit", Fatal,
        "linking with -ewp objects requires using current toolkit";
    SkippingIncompatible { file: Text, library: Text } = "skipping-incompatible", Warning,
        "Skipping incompatible '{file}' when searching for -l{library}";
    UnexpectedAfterRuntime = "unexpected-after-runtime", Fatal, "unexpected object after cudadevrt";
    ArchNotFound { target: Text, file: Text } = "arch-not-found", Warning, "SM Arch ('{target}') not found in '{file}'";

    // Merging. An object with errors is read to its end, then `MergeFailed` follows.
    MultipleDefinition { symbol: Text, file: Text, first: Text } = "multiple-definition", Error,
        "Multiple definition of '{symbol}' in '{file}', first defined in '{first}'";
    SizeMismatch { symbol: Text, file: Text, first: Text } = "size-mismatch", Error,
        "Size doesn't match for '{symbol}' in '{file}', first specified in '{first}'";
    MemorySpaceMismatch { symbol: Text, file: Text, first: Text } = "memory-space-mismatch", Error,
        "Memory space doesn't match for '{symbol}' in '{file}', first specified in '{first}'";
    ManagedMismatch { symbol: Text, file: Text, first: Text } = "managed-mismatch", Error,
        "Managed attribute doesn't match for '{symbol}' in '{file}', first specified in '{first}'";
    CommonTooLarge { symbol: Text, file: Text } = "common-too-large", Error,
        "Common symbol '{symbol}' in file '{file}' has larger size than initialization";
    PrototypeMismatch { symbol: Text, file: Text, first: Text } = "prototype-mismatch", Error,
        "Prototype doesn't match for '{symbol}' in '{file}', first defined in '{first}'";
    ParameterBankMismatch { symbol: Text } = "parameter-bank-mismatch", Error,
        "Duplicate weak parameter bank for '{symbol}' is not the same size";
    NotGlobalEverywhere { symbol: Demangled } = "not-global-everywhere", Error,
        "Function '{symbol}' not declared __global__ in all source files";
    NoCallGraphNode = "no-callgraph-node", Fatal, "Internal error: no callgraph node";
    DeletedSymbol = "deleted-symbol", Fatal, "Internal error: reference to deleted symbol";
    RelocationPastEnd = "relocation-past-end", Fatal, "Internal error: relocation is past end of offset";
    NotToolsPatch { function: Text, file: Text, option: Text } = "not-tools-patch", Fatal,
        "Function '{function}' in '{file}' is missing EIATTR_TOOLS_PATCH_FUNC attribute required by {option} option";
    DeletedSection = "deleted-section", Fatal, "Internal error: reference to deleted section";
    ApiVersion { file: Text, version: u32, allowed: u32 } = "api-version", Error,
        "Object '{file}' has cuda-api-version of {version} which is greater than version on link line ({allowed})";
    ExtensibleWithOthers { file: Text } = "extensible-with-others", Warning,
        "'{file}': -ewp compiled objects should only link with libcudadevrt";
    TensorMemoryOfOtherToolkit { file: Text } = "tensor-memory-of-other-toolkit", Error,
        "Object '{file}' cannot be linked due to version mismatch. Objects using tcgen05 in 12.x cannot be linked with 13.0 or later, \
         they must be rebuilt with latest compiler";
    MergeFailed = "merge-failed", Fatal, "merge_elf failed";

    // Resolution and limits.
    UndefinedReference { symbol: Text, file: Text } = "undefined-reference", Error,
        "Undefined reference to '{symbol}' in '{file}'";
    LargeParameters = "large-parameters", Error,
        "For kernel functions with parameter size higher than 4k bytes on sm_7x and sm_8x, all objects must be compiled with 12.1 or later";
    StackSizeUnknown { kernel: Text } = "stack-size-unknown", Warning,
        "Stack size for entry function '{kernel}' cannot be statically determined";
    MoreStackSizesUnknown { count: u64 } = "more-stack-sizes-unknown", Warning,
        "Stack size for entry functions cannot be statically determined, {count} more times";
    UncalledFunction { function: Text } = "uncalled-function", Warning,
        "Function '{function}' has address taken but no calls to it found";
    RegisterLimit { kernel: Text, limit: u32, callee: Text, registers: u32 } = "register-limit", Error,
        "entry function '{kernel}' with max regcount of {limit} calls function '{callee}' with regcount of {registers}";
    SharedLimit { kernel: Text, used: Hex, limit: Hex } = "shared-limit", Error,
        "Entry function '{kernel}' uses too much shared data ({used} bytes, {limit} max)";
    CompilerConstants { kernel: Text } = "compiler-constants", Error,
        "Entry function '{kernel}' uses too much data for compiler-generated constants; please recompile with -Xptxas --disable-optimizer-constants";
    TooManyReferences { limit: u32, what: &'static str, kernel: Text } = "too-many-references", Fatal,
        "More than {limit} {what} used in entry function '{kernel}'";
    CtaGroups { function: Text } = "cta-groups", Error,
        "Function '{function}' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that is not allowed.";
    ReservedShared { function: Text } = "reserved-shared", Error,
        "Function '{function}' uses reserved shared memory when not allowed.";
    CallStackConflict = "call-stack-conflict", Fatal, "Internal error: conflicting crs_stack attribute";
    ConstantLimit { used: Hex, limit: Hex } = "constant-limit", Error,
        "File uses too much global constant data ({used} bytes, {limit} max)";

    // `-v`.
    MemoryUse { global: u64, constant: Banks } = "memory-use", Info, "{global} bytes gmem{constant}";
    FunctionProperties { function: Text } = "function-properties", Info, "Function properties for '{function}':";
    ResourceUse { function: Text, registers: u32, barriers: Barriers, stack: u32, shared: u64, constant: Banks, handles: Handles } =
        "resource-use", Info,
        "used {registers} registers,{barriers} {stack} stack, {shared} bytes smem{constant}, 0 bytes lmem{handles}";

    // Link-time optimisation.
    LibraryLoad = "library-load", Fatal, "elfLink linker library load error";
    NvvmError = "nvvm-error", Fatal, "elfLink nvvm error";
    JitCompileFailed = "jit-compile-failed", Fatal, "elfLink JIT compile failed";
    CompilerLog { log: Text } = "compiler-log", Info, "{log}";
    DeviceRuntimeExpected = "device-runtime-expected", Fatal, "expected libcudadevrt object";
    PartialLto { file: Text } = "partial-lto", Info,
        "requested LTO but '{file}' not built for LTO so doing partial LTO";
    NoLtoObjects = "no-lto-objects", Warning, "Ignoring -dlto option because no LTO objects found";
    CompilerOptionMismatch { option: &'static str } = "compiler-option-mismatch", Fatal,
        "Cicc option values for '{option}' do not match";
    OptionMissingInSome { option: &'static str, used: Text } = "option-missing-in-some", Info,
        "Some objects do not have '{option}' specified but others do; will build everything with '{used}'";

    // What nvlink has no words for.
    /// A file that begins as device code and cannot be read whole.
    DamagedInput { file: Text, place: Text, reason: Text } = "damaged-input", Fatal,
        "Input file '{file}' is damaged: {place}: {reason}";
    /// Machine code that nvlink makes anew for the target.
    CodeOfOther { file: Text, compiled_for: u64, function: Text, target: u64 } = "code-of-other-architecture", Fatal,
        "Input file '{file}' was compiled for sm_{compiled_for}: function '{function}' has double precision, 64-bit conversion or integer \
        matrix instructions, which need other code. Compile it for sm_{target}";
    /// The same where results of all kinds take longer, or instructions are missing.
    CodeTooEarly { file: Text, compiled_for: u64, function: Text, target: u64 } = "code-too-early", Fatal,
        "Input file '{file}' was compiled for sm_{compiled_for}: function '{function}' has textures or surfaces, or uses results too early for \
        sm_{target}, and this linker cannot make it anew. Compile it for sm_{target}";
    /// A capsule that cannot be brought into the form of this linker's toolkit.
    CodeOfOtherToolkit { file: Text, function: Text, toolkit: &'static str } = "code-of-other-toolkit", Fatal,
        "Input file '{file}' was compiled by toolkit 12.8: function '{function}' has instructions whose Mercury form this \
        linker cannot convert. Compile it by toolkit {toolkit}";
    /// Sizes and alignments that each could be, and together cannot.
    OutputTooLarge { size: u64 } = "output-too-large", Fatal,
        "The output would be {size} bytes long, out of all proportion to the inputs: one of them is damaged";
    /// Looked for before anything is written.
    InputChanged { file: Text } = "input-changed", Fatal,
        "Input file '{file}' changed while it was linked";
    /// The toolkit's own library ended the program.
    CompilerCrashed { file: Text, others: Text } = "compiler-crashed", Fatal,
        "The compiler library crashed on the LTO IR of '{file}'{others}: the IR is damaged, or the library has a fault";
    /// What a program hands to the library beside device code; the command has other words for files.
    InputKind { file: Text, kind: &'static str } = "input-kind", Fatal,
        "Input file '{file}' is {kind}: a device ELF or a fat binary with machine code for the target is expected";
    UnknownRelease { version: Text, known: Text } = "unknown-release", Fatal,
        "there is no nvlink {version} that could be replaced: solder links as CUDA {known}; name one with --as-nvlink";
    LinkedAsNewest { version: Text, known: &'static str } = "linked-as-newest", Warning,
        "CUDA {version} is newer than all that solder knows: linking as CUDA {known}";
    /// PTX or IR in a link whose caller gave it no compilers.
    NoCompiler { file: Text, kind: &'static str } = "no-compiler", Fatal,
        "Input file '{file}' holds {kind}, and this link has no compiler for it";
    AssemblerMissing { file: Text, places: Text } = "assembler-missing", Fatal,
        "Input file '{file}' holds PTX, but no ptxas was found to assemble it: looked for {places}; \
         SOLDER_TOOLKIT, CUDA_HOME or CUDA_PATH may name a CUDA toolkit that has one";
    /// IR that is both compressed and scrambled.
    JitLinkMissing { file: Text, places: Text } = "jit-link-missing", Fatal,
        "Input file '{file}' holds LTO IR that only libnvJitLink can unpack, and it was not found: looked for {places}; \
         install it, or compile with 'nvcc --compress-mode=none'";
    /// nvlink is never one.
    StaticProgram = "static-program", Fatal,
        "LTO needs libnvvm or libnvJitLink of a CUDA toolkit, and this program is a static one, which loads no library; \
         use solder linked with the system's C library";
    AssemblerNotRun { file: Text, assembler: Text, reason: Text } = "assembler-not-run", Fatal,
        "Input file '{file}' could not be assembled by '{assembler}': {reason}";
    OutputNotWritten { file: Text, reason: Text } = "output-not-written", Fatal,
        "Could not write output file '{file}': {reason}";
    /// Said only where explanations are asked for, as the next three.
    InputPassedOver { file: Text, reason: &'static str } = "input-passed-over", Info,
        "Input file '{file}' was passed over: {reason}";
    LibrariesNotFound { libraries: Text, places: Text } = "libraries-not-found", Info,
        "No device code was found for {libraries}, which does no harm if they are for the host: looked in {places}";
    CacheNotUsed { folder: Text, reason: Text } = "cache-not-used", Info,
        "The cache '{folder}' cannot be used, so that nothing is kept: {reason}";
    CacheSetting { problem: Text } = "cache-setting", Info, "{problem}";
    NotAPair { value: Text } = "not-a-pair", Fatal, "'{value}': expected OLD=NEW";
    Unsupported { what: Text } = "unsupported", Fatal, "{what} is not supported";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn placeholders(text: &str) -> Vec<&str> {
        text.split('{').skip(1).map(|part| part.split_once('}').expect("closed brace").0).collect()
    }

    #[test]
    fn every_text_uses_its_fields() {
        for row in TABLE {
            let named = placeholders(row.text);
            // Beside those of the text there is only what a line of `-v` is about.
            let others = row.fields.iter().filter(|field| !named.contains(field));
            assert!(others.eq((row.code == "resource-use").then_some(&"function")), "{}", row.code);
            assert!(named.iter().all(|name| row.fields.contains(name)), "{}", row.code);
        }
    }

    #[test]
    fn codes_are_unique() {
        let codes: HashSet<_> = TABLE.iter().map(|row| row.code).collect();
        assert_eq!(codes.len(), TABLE.len());
    }

    #[test]
    fn numbers_and_names_are_filled_in() {
        let mut out = Vec::new();
        Message::SharedLimit { kernel: "k".into(), used: Hex(0x157c0), limit: Hex(0xc000) }
            .write_text(&mut out);
        assert_eq!(out, b"Entry function 'k' uses too much shared data (0x157c0 bytes, 0xc000 max)");
    }
}
