//! The options of `nvJitLinkCreate`.
//!
//! nvJitLink compares the beginning of a word with its options, so that `-ltox` is `-lto` and `-report` is `-r`. Only
//! `-g`, `-O0` and `-O3` are whole words. An option that takes a value ends with `=` in the table.

use std::ops::RangeInclusive;

use solder_arch::{Arch, Kind, Release, Suffix, Target};

use crate::code::Code;
use crate::log::Log;

/// What a session is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub target: Target,
    pub time: bool,
    pub verbose: bool,
    pub lto: bool,
    pub ptx: bool,
    pub debug: bool,
    pub kernels_used: Vec<Vec<u8>>,
    /// An option without a name is one all the same: no kernel is asked for.
    pub variables_used: Option<Vec<Vec<u8>>>,
    pub relocatable: bool,
    pub extended_smem: bool,
    /// `--trace`.
    pub trace: bool,
    /// `-uidx`: a file to read.
    pub index: Option<Vec<u8>>,
    /// `-explain`, which is solder's own.
    pub explain: bool,
    /// Words for the compiler of IR, which is NVIDIA's library and knows them.
    pub compiler: Vec<Vec<u8>>,
    /// Words for `ptxas`.
    pub assembler: Vec<Vec<u8>>,
}

/// What decides which code a caller gets that asks for something that was not made. It is what was read before a word was refused.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub ptx: bool,
    pub lto: bool,
}

/// What an option does with its value.
type Apply = fn(&mut Draft, &[u8]) -> Result<(), Refused>;

/// Why a word is refused that begins with an option.
enum Refused {
    /// The value is missing, or it is none.
    Missing,
    /// There is no such value; the message says which there are.
    Value(String),
    /// The architecture cannot be linked for; its name, where the word is not what is said.
    Arch(Code, Option<String>),
}

/// How a word is compared with an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    /// It is the option.
    Whole,
    /// It begins with the option.
    Begins,
}

use Match::{Begins, Whole};

/// Which compilers get the word as it was given. They get their words in the order of the options, and what they say of values
/// that are none, or of words that are given twice, is said by nobody else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// None.
    Link,
    /// That of IR.
    Compiler,
    /// `ptxas`.
    Assembler,
    Both,
}

use To::{Assembler, Both, Compiler, Link};

/// An option, how a word is compared with it, the toolkits whose library takes it, and who else gets it.
type Row = (&'static str, Match, RangeInclusive<u32>, To, Apply);

/// The oldest library that solder is takes them, and the newest.
const ALWAYS: RangeInclusive<u32> = 0..=LAST;
const SINCE_12_2: RangeInclusive<u32> = 122..=LAST;
const SINCE_12_5: RangeInclusive<u32> = 125..=LAST;
const SINCE_12_6: RangeInclusive<u32> = 126..=LAST;
const SINCE_13_0: RangeInclusive<u32> = CUDA_13_0..=LAST;
const SINCE_13_4: RangeInclusive<u32> = 134..=LAST;
const SINCE_13_5: RangeInclusive<u32> = 135..=LAST;
const UNTIL_13_0: RangeInclusive<u32> = 0..=CUDA_13_0;

const LAST: u32 = u32::MAX;
const CUDA_12_9: u32 = 129;
const CUDA_13_0: u32 = 130;

/// The options, in the order in which words are compared with them. Those with two dashes, `-fast-compile`, `-uidx`, `-no-opt` and
/// `-nvvm-latest` are taken by NVIDIA's libraries and listed by no header.
const TABLE: &[Row] = &[
    ("-arch=", Begins, ALWAYS, Compiler, arch_option),
    ("-maxrregcount=", Begins, ALWAYS, Both, |_, value| some(value).map(drop)),
    ("-time", Begins, ALWAYS, Link, |draft, _| set(&mut draft.time)),
    ("-verbose", Begins, ALWAYS, Link, |draft, _| {
        draft.assemble("-v", b"");
        set(&mut draft.verbose)
    }),
    ("-lto", Begins, ALWAYS, Link, |draft, _| set(&mut draft.lto)),
    ("-dlto", Begins, ALWAYS, Link, |draft, _| set(&mut draft.lto)),
    ("-ptx", Begins, ALWAYS, Link, |draft, _| set(&mut draft.ptx)),
    ("-O0", Whole, ALWAYS, Both, |_, _| Ok(())),
    ("-O3", Whole, ALWAYS, Both, |_, _| Ok(())),
    ("-Ofc=", Begins, SINCE_12_5, Both, |draft, value| fast_compile(draft.toolkit, value)),
    ("--Ofast-compile=", Begins, SINCE_12_5, Compiler, |draft, value| {
        fast_compile(draft.toolkit, value)?;
        draft.assemble("-Ofc=", value);
        Ok(())
    }),
    ("-fast-compile", Begins, ALWAYS, Link, |draft, _| {
        draft.assemble("-fc", b"");
        Ok(())
    }),
    ("-g", Whole, ALWAYS, Both, |draft, _| set(&mut draft.debug)),
    ("-lineinfo", Begins, ALWAYS, Both, |_, _| Ok(())),
    ("-ftz=", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    ("-prec-div=", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    ("-prec-sqrt=", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    ("-fma=", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    // One name, commas included: the compiler of IR knows lists, and the linker does not.
    ("-kernels-used=", Begins, ALWAYS, Compiler, |draft, value| {
        draft.kernels_used.push(some(value)?.to_vec());
        Ok(())
    }),
    ("-variables-used=", Begins, ALWAYS, Compiler, |draft, value| {
        let names = some(value)?.split(|&byte| byte == b',').filter(|name| !name.is_empty());
        draft.variables_used.get_or_insert_default().extend(names.map(<[u8]>::to_vec));
        Ok(())
    }),
    ("-optimize-unused-variables", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    ("-Xptxas=", Begins, ALWAYS, Link, |draft, value| {
        draft.assemble("", some(value)?);
        Ok(())
    }),
    ("-Xnvvm=", Begins, ALWAYS, Compiler, |_, value| some(value).map(drop)),
    ("-split-compile=", Begins, ALWAYS, Compiler, |_, value| threads("-split-compile", value)),
    ("-split-compile-extended=", Begins, ALWAYS, Compiler, |_, value| {
        threads("-split-compile-extended", some(value)?)
    }),
    ("-jump-table-density=", Begins, ALWAYS, Compiler, |_, _| Ok(())),
    ("-no-cache", Begins, SINCE_12_5, Link, |_, _| Ok(())),
    ("--no-cache", Begins, SINCE_12_2, Link, |_, _| Ok(())),
    ("-no-opt", Begins, SINCE_12_6, Link, |_, _| Ok(())),
    ("--device-stack-protector=", Begins, SINCE_12_6, Assembler, |_, value| some(value).map(drop)),
    ("--device-stack-protector-frame-size-threshold=", Begins, SINCE_12_6, Link, |_, value| {
        some(value).map(drop)
    }),
    ("--enable-extended-smem=", Begins, SINCE_13_4, Link, |draft, value| {
        draft.extended_smem = truth("--enable-extended-smem", value)?;
        Ok(())
    }),
    ("--trace", Begins, UNTIL_13_0, Link, |draft, _| set(&mut draft.trace)),
    ("-uidx=", Begins, SINCE_12_2, Link, |draft, value| {
        draft.index = Some(value.to_vec());
        Ok(())
    }),
    ("-nvvm-latest", Begins, SINCE_13_5, Compiler, |_, _| Ok(())),
    ("-r", Begins, SINCE_13_0, Link, |draft, _| set(&mut draft.relocatable)),
    ("-explain", Whole, ALWAYS, Link, |draft, _| set(&mut draft.explain)),
];

/// The options while they are read.
#[derive(Default)]
struct Draft {
    /// Of the library that is asked.
    toolkit: u32,
    /// The release, and later ones if they may be chosen.
    releases: Vec<&'static Release>,
    arch: Option<Asking>,
    time: bool,
    verbose: bool,
    lto: bool,
    ptx: bool,
    debug: bool,
    kernels_used: Vec<Vec<u8>>,
    variables_used: Option<Vec<Vec<u8>>>,
    relocatable: bool,
    extended_smem: bool,
    trace: bool,
    index: Option<Vec<u8>>,
    explain: bool,
    compiler: Vec<Vec<u8>>,
    assembler: Vec<Vec<u8>>,
}

impl Draft {
    /// A word for `ptxas`.
    fn assemble(&mut self, option: &str, value: &[u8]) {
        self.assembler.push([option.as_bytes(), value].concat());
    }
}

/// Which architecture is the target, and the word for `ptxas`, which makes code for a real one.
fn arch_option(draft: &mut Draft, value: &[u8]) -> Result<(), Refused> {
    let arch = arch(value)?;
    // Older libraries look at the last one only, and when all words are read.
    if draft.releases.iter().all(|release| release.toolkit >= CUDA_13_0) {
        arch.known_by(&draft.releases)?;
    }
    match arch.kind {
        Kind::Sm => draft.assemble("-arch=", value),
        kind => draft.assemble("-arch=sm_", &value[kind.prefix().len()..]),
    }
    draft.arch = Some(arch);
    Ok(())
}

#[allow(clippy::unnecessary_wraps, reason = "what an option does may fail")]
fn set(switch: &mut bool) -> Result<(), Refused> {
    *switch = true;
    Ok(())
}

fn some(value: &[u8]) -> Result<&[u8], Refused> {
    if value.is_empty() { Err(Refused::Missing) } else { Ok(value) }
}

/// Threads of a compiler.
fn threads(option: &str, value: &[u8]) -> Result<(), Refused> {
    if number(value) < 0 {
        return Err(Refused::Value(format!("argument for {option} must be non-negative.")));
    }
    Ok(())
}

/// What follows the word is not looked at.
fn truth(option: &str, value: &[u8]) -> Result<bool, Refused> {
    let is = |word: &str| value.starts_with(word.as_bytes());
    match some(value)? {
        _ if is("true") => Ok(true),
        _ if is("false") => Ok(false),
        _ => Err(Refused::Value(format!("argument for {option} must be either \"true\" or \"false\"."))),
    }
}

/// As C's `atoi` reads it: of a number with more than 32 bits it keeps the low ones.
fn number(text: &[u8]) -> i32 {
    let (sign, digits) = signed(text);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits
        .fold(0i64, |value, digit| value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0')));
    value as i32
}

/// The sign of a number, and what follows it.
fn signed(text: &[u8]) -> (i64, &[u8]) {
    let text = text.trim_ascii_start();
    match text {
        [b'-', digits @ ..] => (-1, digits),
        _ => (1, text.strip_prefix(b"+").unwrap_or(text)),
    }
}

/// Before 12.9 there are two levels.
fn fast_compile(toolkit: u32, value: &[u8]) -> Result<(), Refused> {
    let (levels, which): (&[&str], _) = match toolkit {
        CUDA_12_9.. => (&["0", "min", "mid", "max"], "0, min, mid, and max"),
        _ => (&["0", "max"], "0 and max"),
    };
    if levels.iter().any(|level| value.starts_with(level.as_bytes())) {
        return Ok(());
    }
    let value = String::from_utf8_lossy(some(value)?);
    let which = format!("Only {which} are supported.");
    Err(Refused::Value(format!("unsupported value of --Ofast-compile (-Ofc): {value}. {which}")))
}

/// What a word says that names an architecture. There may be none of the number.
#[derive(Clone, Copy)]
struct Asking {
    kind: Kind,
    number: i32,
    suffix: Suffix,
}

/// `sm_90a`: of what follows the number, only the last character is looked at.
fn arch(value: &[u8]) -> Result<Asking, Refused> {
    let mut kinds = Kind::ALL.into_iter();
    let of_kind = |kind: Kind| Some((kind, value.strip_prefix(kind.prefix().as_bytes())?));
    let (kind, rest) = kinds.find_map(of_kind).ok_or(Refused::Missing)?;
    let suffix = match rest.last() {
        Some(b'a') => Suffix::A,
        Some(b'f') => Suffix::F,
        _ => Suffix::None,
    };
    match number(rest) {
        0 => Err(Refused::Missing),
        number => Ok(Asking { kind, number, suffix }),
    }
}

/// Below it, numbers are looked up.
const END_OF_NUMBERS: i32 = 1000;

impl Asking {
    /// The architecture, if one of the releases has it.
    fn known_by(self, releases: &[&'static Release]) -> Result<Arch, Refused> {
        let Some(number) = u16::try_from(self.number).ok().filter(|_| self.number < END_OF_NUMBERS) else {
            return Err(Refused::Arch(Code::UnsupportedArch, None));
        };
        // A letter that the number does not have is dropped.
        let archs = [Arch::new(number, self.suffix), Arch::plain(number)];
        let is_known = |arch: &Arch| releases.iter().any(|release| release.knows(*arch));
        archs.into_iter().find(is_known).ok_or_else(|| {
            let letter = if self.suffix == Suffix::A { "a" } else { "" };
            let is_gone = releases.first().is_some_and(|release| release.is_deprecated(number));
            let code = if is_gone { Code::UnsupportedArch } else { Code::UnrecognizedArch };
            Refused::Arch(code, Some(format!("compute_{number}{letter}")))
        })
    }
}

/// Reads the words. What is wrong with them is said in the log. If a later release may be chosen, so may its architectures.
pub fn parse(
    words: &[&[u8]],
    release: &'static Release,
    or_later: bool,
    log: &mut Log,
) -> (Asked, Result<Options, Code>) {
    let later = Release::ALL.into_iter().filter(|later| or_later && later.toolkit > release.toolkit);
    let releases = std::iter::once(release).chain(later).collect();
    let mut draft = Draft { toolkit: release.toolkit, releases, ..Draft::default() };
    let refused = words.iter().find_map(|word| read(&mut draft, word, log).err());
    let asked = Asked { ptx: draft.ptx, lto: draft.lto };
    (asked, refused.map_or_else(|| finish(draft, log), Err))
}

fn read(draft: &mut Draft, word: &[u8], log: &mut Log) -> Result<(), Code> {
    let matches = |(name, how, ..): &&Row| match how {
        Whole => word == name.as_bytes(),
        Begins => word.starts_with(name.as_bytes()),
    };
    let mut rows = TABLE.iter().filter(|(_, _, toolkits, ..)| toolkits.contains(&draft.toolkit));
    let Some((name, _, _, to, apply)) = rows.find(matches) else {
        match word {
            [b'-', b'O', level @ b'0'..=b'9'] => {
                let level = char::from(*level);
                let which = format!("unsupported value of -O: {level}. Only 0 and 3 are supported.");
                log.line(&[which.as_bytes()]);
            }
            _ => log.line(&[b"unrecognized option: ", word]),
        }
        return Err(Code::UnrecognizedOption);
    };
    apply(draft, &word[name.len()..]).map_err(|refused| refused.say(word, log))?;
    if matches!(to, Compiler | Both) {
        draft.compiler.push(word.to_vec());
    }
    if matches!(to, Assembler | Both) {
        draft.assembler.push(word.to_vec());
    }
    Ok(())
}

impl Refused {
    /// Says in the log why a word is refused.
    fn say(self, word: &[u8], log: &mut Log) -> Code {
        match self {
            Self::Missing => refuse(Code::UnrecognizedOption, "missing option value", word, log),
            Self::Value(what) => {
                log.line(&[what.as_bytes()]);
                Code::UnrecognizedOption
            }
            Self::Arch(code, named) => {
                let is_gone = code == Code::UnsupportedArch;
                let what = if is_gone { "unsupported architecture" } else { "unrecognized architecture" };
                refuse(code, what, named.as_ref().map_or(word, String::as_bytes), log)
            }
        }
    }
}

/// `ERROR NVJITLINK_ERROR_…: what (which)`.
fn refuse(code: Code, what: &str, which: &[u8], log: &mut Log) -> Code {
    log.line(&[b"ERROR ", code.name().as_bytes(), b": ", what.as_bytes(), b" (", which, b")"]);
    code
}

fn finish(draft: Draft, log: &mut Log) -> Result<Options, Code> {
    let asking = draft.arch.ok_or(Code::MissingArch)?;
    let Asking { kind, number, .. } = asking;
    let arch = asking
        .known_by(&draft.releases)
        .map_err(|refused| refused.say(format!("compute_{number}").as_bytes(), log))?;
    let incompatible = if draft.ptx && !draft.lto {
        Some("-ptx requires -lto")
    } else if kind.is_virtual() && !draft.ptx {
        Some("virtual arch requires -ptx")
    } else {
        None
    };
    if let Some(what) = incompatible {
        log.line(&[b"ERROR: ", what.as_bytes()]);
        return Err(Code::IncompatibleOptions);
    }
    let has_no_ptx = draft.releases.iter().all(|release| release.library_has_no_ptx_of_ir());
    if draft.ptx && kind == Kind::Lto && has_no_ptx {
        let arch = Target::new(kind, arch).to_string();
        log.line(&[b"ERROR: -arch=", arch.as_bytes(), b" conflicts with -ptx"]);
        return Err(Code::IncompatibleOptions);
    }
    Ok(Options {
        target: Target::new(kind, arch),
        time: draft.time,
        verbose: draft.verbose,
        lto: draft.lto,
        ptx: draft.ptx,
        debug: draft.debug,
        kernels_used: draft.kernels_used,
        variables_used: draft.variables_used,
        relocatable: draft.relocatable,
        extended_smem: draft.extended_smem,
        trace: draft.trace,
        index: draft.index,
        explain: draft.explain,
        compiler: draft.compiler,
        assembler: draft.assembler,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> (Result<Options, Code>, String) {
        parsed_by(Release::CUDA_13_0, words)
    }

    fn parsed_by(release: &'static Release, words: &[&str]) -> (Result<Options, Code>, String) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let mut log = Log::default();
        let (_, options) = parse(&words, release, false, &mut log);
        (options, String::from_utf8(log.with_nul()).expect("ASCII").trim_end_matches('\0').to_owned())
    }

    #[test]
    fn an_architecture_of_ir_has_no_ptx() {
        let words = ["-arch=lto_90", "-lto", "-ptx"];
        assert!(parsed(&words).0.is_ok());
        let (options, log) = parsed_by(Release::CUDA_13_4, &words);
        assert!(matches!(options, Err(Code::IncompatibleOptions)));
        assert_eq!(log, "ERROR: -arch=lto_90 conflicts with -ptx\n");
    }

    #[test]
    fn words_begin_with_their_option() {
        for word in [
            "-ltox",
            "-report",
            "-time=1",
            "-verbose-tkinfo",
            "-arch=sm_80a",
            "-Ofc=minx",
            "-ftz=",
            "--tracex",
        ] {
            assert!(parsed(&["-arch=sm_90", word]).0.is_ok(), "{word}");
        }
        for word in
            ["-gx", "-O", "-O33", "-O3x", "-v", "", "--arch=sm_90", "-arch", "-device-stack-protector"]
        {
            let (result, log) = parsed(&["-arch=sm_90", word]);
            assert_eq!(result.err(), Some(Code::UnrecognizedOption), "{word}");
            assert_eq!(log, format!("unrecognized option: {word}\n"));
        }
    }

    #[test]
    fn older_libraries_take_fewer() {
        let code = |version: &str, word: &str| {
            let release = Release::of_version(version).expect("a release");
            parsed_by(release, &["-arch=sm_90", word]).0.err()
        };
        let refused = Some(Code::UnrecognizedOption);
        for (word, last_without, first_with) in [
            ("-no-cache", "12.4", "12.5"),
            ("--Ofast-compile=max", "12.4", "12.5"),
            ("--device-stack-protector=true", "12.5", "12.6"),
            ("--device-stack-protector-frame-size-threshold=x", "12.5", "12.6"),
            ("--enable-extended-smem=truex", "13.3", "13.4"),
            ("-nvvm-latest", "13.4", "13.5"),
            // This one is gone.
            ("--trace", "13.1", "13.0"),
            ("-Ofc=0", "12.4", "12.5"),
            ("-no-opt", "12.5", "12.6"),
            ("-Ofc=min", "12.8", "12.9"),
            ("-r", "12.9", "13.0"),
        ] {
            assert_eq!((code(last_without, word), code(first_with, word)), (refused, None), "{word}");
        }
    }

    #[test]
    fn codes_of_values_and_architectures() {
        let code = |words: &[&str]| parsed(words).0.err();
        assert_eq!(code(&["-ftz=1"]), Some(Code::MissingArch));
        assert_eq!(code(&["-arch=sm_72"]), Some(Code::UnrecognizedArch));
        assert_eq!(code(&["-arch=sm_60"]), Some(Code::UnsupportedArch));
        for arch in ["-arch=sm_-90", "-arch=sm_1000", "-arch=sm_65626", "-arch=sm_99999999999999999999"] {
            let expected =
                format!("ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture ({arch})\n");
            let (result, log) = parsed(&[arch]);
            assert_eq!((result.err(), log), (Some(Code::UnsupportedArch), expected));
        }
        assert_eq!(code(&["-arch=sm_999"]), Some(Code::UnrecognizedArch));
        for arch in ["-arch=sm_+90", "-arch=sm_ 90", "-arch=sm_4294967386"] {
            assert_eq!(code(&[arch]), None, "{arch}");
        }
        assert_eq!(code(&["-arch=sm_00"]), Some(Code::UnrecognizedOption));
        assert_eq!(code(&["-arch=compute_90", "-lto"]), Some(Code::IncompatibleOptions));
        assert_eq!(code(&["-arch=sm_90", "-ptx"]), Some(Code::IncompatibleOptions));
        // The letter of a family is not said.
        let unknown =
            |of: &str| format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture ({of})\n");
        assert_eq!(parsed(&["-arch=sm_130a"]).1, unknown("compute_130a"));
        assert_eq!(parsed(&["-arch=sm_130f"]).1, unknown("compute_130"));
        let missing = "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-Xptxas=)\n";
        assert_eq!(parsed(&["-Xptxas=", "-arch=sm_90"]).1, missing);
    }
    #[test]
    fn values_are_refused_in_words_of_their_own() {
        for (word, expected) in [
            ("-O2", "unsupported value of -O: 2. Only 0 and 3 are supported.\n"),
            (
                "-Ofc=1",
                "unsupported value of --Ofast-compile (-Ofc): 1. Only 0, min, mid, and max are supported.\n",
            ),
            ("-Ofc=", "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-Ofc=)\n"),
            (
                "--device-stack-protector=",
                "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (--device-stack-protector=)\n",
            ),
            ("-split-compile=-1", "argument for -split-compile must be non-negative.\n"),
            ("-split-compile-extended=-1", "argument for -split-compile-extended must be non-negative.\n"),
        ] {
            let (result, log) = parsed(&["-arch=sm_90", word]);
            assert_eq!((result.err(), log.as_str()), (Some(Code::UnrecognizedOption), expected), "{word}");
        }
    }

    #[test]
    fn older_libraries_have_two_levels() {
        let older = Release::of_version("12.6").expect("a release");
        let expected = "unsupported value of --Ofast-compile (-Ofc): min. Only 0 and max are supported.\n";
        assert_eq!(parsed_by(older, &["-arch=sm_90", "--Ofast-compile=min"]).1, expected);
        assert!(parsed_by(older, &["-arch=sm_90", "-Ofc=max"]).0.is_ok());
    }

    #[test]
    fn the_letter_of_an_architecture_is_the_last_character() {
        for (word, suffix) in [
            ("-arch=sm_90xa", Suffix::A),
            ("-arch=sm_90,a", Suffix::A),
            ("-arch=sm_100fa", Suffix::A),
            ("-arch=sm_90ax", Suffix::None),
            ("-arch=sm_90a,", Suffix::None),
            ("-arch=sm_100af", Suffix::F),
        ] {
            let options = parsed(&[word]).0.unwrap_or_else(|code| panic!("{word}: {code:?}"));
            assert_eq!(options.target.arch.suffix, suffix, "{word}");
        }
    }

    #[test]
    fn an_option_without_names_is_one() {
        let names = |word| parsed(&["-arch=sm_90", word]).0.ok().and_then(|options| options.variables_used);
        assert_eq!(names("-variables-used=,"), Some(Vec::new()));
        assert_eq!(names("-variables-used=a,b"), Some(vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(names("-lto"), None);
    }

    #[test]
    fn every_architecture_is_looked_up_since_13_0() {
        let words = ["-arch=sm_30", "-arch=sm_90"];
        assert_eq!(parsed(&words).0.err(), Some(Code::UnsupportedArch));
        let older = Release::of_version("12.9").expect("a release");
        assert_eq!(parsed_by(older, &words).0.err(), None);
    }

    #[test]
    fn kernels_used_is_one_name() {
        let (options, _) = parsed(&["-arch=sm_90", "-kernels-used=a,b", "-kernels-used=,"]);
        let options = options.unwrap_or_else(|code| panic!("{code:?}"));
        assert_eq!(options.kernels_used, [b"a,b".to_vec(), b",".to_vec()]);
    }
}
