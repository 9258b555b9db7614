//! The options of `nvJitLinkCreate`.
//!
//! nvJitLink compares the beginning of a word with its options, so that `-ltox` is `-lto` and `-report` is `-r`. Only
//! `-g`, `-O0` and `-O3` are whole words. An option that takes a value ends with `=` in the table.

use solder_arch::{Arch, Kind, Release, Suffix, Target};

use crate::code::Code;
use crate::log::Log;

/// What a session is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub target: Target,
    pub registers: Option<i32>,
    pub time: bool,
    pub verbose: bool,
    pub lto: bool,
    pub ptx: bool,
    /// `-O0`; the default is `-O3`.
    pub unoptimized: bool,
    /// `-Ofc`.
    pub fast_compile: Option<&'static str>,
    pub debug: bool,
    pub line_info: bool,
    pub kernels_used: Vec<Vec<u8>>,
    pub variables_used: Vec<Vec<u8>>,
    pub xptxas: Vec<Vec<u8>>,
    pub split_compile: Option<i32>,
    pub relocatable: bool,
    /// `-explain`, which is solder's own.
    pub explain: bool,
    /// Options of the compiler of IR, in the words of nvJitLink.
    pub compiler: Vec<Vec<u8>>,
}

/// What decides which code a caller gets that asks for something that was not made. It is what was read before a word was refused.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub ptx: bool,
    pub lto: bool,
}

/// What an option does with its value.
type Apply = fn(&mut Draft, &[u8]) -> Result<(), Refused>;

/// The value of an option is missing, or there is no such value.
struct Refused;

/// How a word is compared with an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    /// It is the option.
    Whole,
    /// It begins with the option.
    Begins,
}

use Match::{Begins, Whole};

/// An option, how a word is compared with it, and the first toolkit whose library takes it.
type Row = (&'static str, Match, u32, Apply);

/// The oldest library that solder is takes them.
const ALWAYS: u32 = 0;
const SINCE_12_5: u32 = 125;
const SINCE_12_6: u32 = 126;
const SINCE_13_0: u32 = 130;

/// The options, in the order in which words are compared with them.
const TABLE: &[Row] = &[
    ("-arch=", Begins, ALWAYS, |draft, value| arch(value).map(|arch| draft.arch = Some(arch))),
    ("-maxrregcount=", Begins, ALWAYS, |draft, value| {
        draft.registers = Some(number(some(value)?));
        Ok(())
    }),
    ("-time", Begins, ALWAYS, |draft, _| set(&mut draft.time)),
    ("-verbose", Begins, ALWAYS, |draft, _| set(&mut draft.verbose)),
    ("-lto", Begins, ALWAYS, |draft, _| set(&mut draft.lto)),
    ("-dlto", Begins, ALWAYS, |draft, _| set(&mut draft.lto)),
    ("-ptx", Begins, ALWAYS, |draft, _| set(&mut draft.ptx)),
    ("-O0", Whole, ALWAYS, |draft, _| set(&mut draft.unoptimized)),
    ("-O3", Whole, ALWAYS, |draft, _| {
        draft.unoptimized = false;
        Ok(())
    }),
    ("-Ofc=", Begins, SINCE_12_5, |draft, value| {
        fast_compile(draft.toolkit, value).map(|level| draft.fast_compile = level)
    }),
    ("-g", Whole, ALWAYS, |draft, _| set(&mut draft.debug)),
    ("-lineinfo", Begins, ALWAYS, |draft, _| set(&mut draft.line_info)),
    ("-ftz=", Begins, ALWAYS, |draft, value| draft.compile("-ftz=", value)),
    ("-prec-div=", Begins, ALWAYS, |draft, value| draft.compile("-prec-div=", value)),
    ("-prec-sqrt=", Begins, ALWAYS, |draft, value| draft.compile("-prec-sqrt=", value)),
    ("-fma=", Begins, ALWAYS, |draft, value| draft.compile("-fma=", value)),
    ("-kernels-used=", Begins, ALWAYS, |draft, value| names(&mut draft.kernels_used, value)),
    ("-variables-used=", Begins, ALWAYS, |draft, value| names(&mut draft.variables_used, value)),
    ("-optimize-unused-variables", Begins, ALWAYS, |draft, _| {
        draft.compile("-optimize-unused-variables", b"")
    }),
    ("-Xptxas=", Begins, ALWAYS, |draft, value| {
        draft.xptxas.push(some(value)?.to_vec());
        Ok(())
    }),
    ("-Xnvvm=", Begins, ALWAYS, |draft, value| some(value).and_then(|value| draft.compile("-Xnvvm=", value))),
    ("-split-compile=", Begins, ALWAYS, |draft, value| {
        draft.split_compile = Some(number(value));
        Ok(())
    }),
    ("-split-compile-extended=", Begins, ALWAYS, |draft, value| {
        some(value).and_then(|value| draft.compile("-split-compile-extended=", value))
    }),
    ("-jump-table-density=", Begins, ALWAYS, |draft, value| draft.compile("-jump-table-density=", value)),
    ("-no-cache", Begins, SINCE_12_5, |_, _| Ok(())),
    // Taken by 13.0.88 and listed by no header; `ptxas` is told nothing of it.
    ("-no-opt", Begins, SINCE_12_6, |_, _| Ok(())),
    ("-r", Begins, SINCE_13_0, |draft, _| set(&mut draft.relocatable)),
    ("-explain", Whole, ALWAYS, |draft, _| set(&mut draft.explain)),
];

/// The options while they are read.
#[derive(Default)]
struct Draft {
    /// Of the library that is asked.
    toolkit: u32,
    arch: Option<(Kind, u32, Suffix)>,
    registers: Option<i32>,
    time: bool,
    verbose: bool,
    lto: bool,
    ptx: bool,
    unoptimized: bool,
    fast_compile: Option<&'static str>,
    debug: bool,
    line_info: bool,
    kernels_used: Vec<Vec<u8>>,
    variables_used: Vec<Vec<u8>>,
    xptxas: Vec<Vec<u8>>,
    split_compile: Option<i32>,
    relocatable: bool,
    explain: bool,
    compiler: Vec<Vec<u8>>,
}

impl Draft {
    #[allow(clippy::unnecessary_wraps, reason = "what an option does may fail")]
    fn compile(&mut self, option: &str, value: &[u8]) -> Result<(), Refused> {
        self.compiler.push([option.as_bytes(), value].concat());
        Ok(())
    }
}

#[allow(clippy::unnecessary_wraps, reason = "what an option does may fail")]
fn set(switch: &mut bool) -> Result<(), Refused> {
    *switch = true;
    Ok(())
}

fn some(value: &[u8]) -> Result<&[u8], Refused> {
    if value.is_empty() { Err(Refused) } else { Ok(value) }
}

fn names(list: &mut Vec<Vec<u8>>, value: &[u8]) -> Result<(), Refused> {
    let names = some(value)?.split(|&byte| byte == b',').filter(|name| !name.is_empty());
    list.extend(names.map(<[u8]>::to_vec));
    Ok(())
}

/// As C's `atoi` reads it.
fn number(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (sign, digits) = match text.first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.fold(0i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(i64::from(i32::MAX)));
    (sign * value) as i32
}

/// Before 12.9 there is only the level that changes nothing.
fn fast_compile(toolkit: u32, value: &[u8]) -> Result<Option<&'static str>, Refused> {
    let levels = [("0", None), ("min", Some("min")), ("mid", Some("mid")), ("max", Some("max"))];
    let levels = if toolkit < 129 { &levels[..1] } else { &levels[..] };
    levels.iter().find(|(name, _)| value.starts_with(name.as_bytes())).map(|(_, level)| *level).ok_or(Refused)
}

/// `sm_90a`: what follows the number and its letter is not looked at.
fn arch(value: &[u8]) -> Result<(Kind, u32, Suffix), Refused> {
    let mut kinds = Kind::ALL.into_iter();
    let (kind, rest) =
        kinds.find_map(|kind| Some((kind, value.strip_prefix(kind.prefix().as_bytes())?))).ok_or(Refused)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let suffix = match rest.get(digits) {
        Some(b'a') => Suffix::A,
        Some(b'f') => Suffix::F,
        _ => Suffix::None,
    };
    if digits == 0 { Err(Refused) } else { Ok((kind, number(&rest[..digits]) as u32, suffix)) }
}

/// Reads the words. What is wrong with them is said in the log. If a later release may be chosen, so may its architectures.
pub fn parse(
    words: &[&[u8]],
    release: &'static Release,
    or_later: bool,
    log: &mut Log,
) -> (Asked, Result<Options, Code>) {
    let mut draft = Draft { toolkit: release.toolkit, ..Draft::default() };
    let refused = words.iter().find_map(|word| read(&mut draft, word, log).err());
    let asked = Asked { ptx: draft.ptx, lto: draft.lto };
    (asked, refused.map_or_else(|| finish(draft, release, or_later, log), Err))
}

fn read(draft: &mut Draft, word: &[u8], log: &mut Log) -> Result<(), Code> {
    let matches = |(name, how, ..): &&Row| match how {
        Whole => word == name.as_bytes(),
        Begins => word.starts_with(name.as_bytes()),
    };
    let mut rows = TABLE.iter().filter(|(_, _, since, _)| *since <= draft.toolkit);
    let Some((name, .., apply)) = rows.find(matches) else {
        log.line(&[b"unrecognized option: ", word]);
        return Err(Code::UnrecognizedOption);
    };
    apply(draft, &word[name.len()..])
        .map_err(|Refused| refuse(Code::UnrecognizedOption, "missing option value", word, log))
}

/// `ERROR NVJITLINK_ERROR_…: what (which)`.
fn refuse(code: Code, what: &str, which: &[u8], log: &mut Log) -> Code {
    log.line(&[b"ERROR ", code.name().as_bytes(), b": ", what.as_bytes(), b" (", which, b")"]);
    code
}

fn finish(draft: Draft, release: &'static Release, or_later: bool, log: &mut Log) -> Result<Options, Code> {
    let (kind, number, suffix) = draft.arch.ok_or(Code::MissingArch)?;
    let number = u16::try_from(number).unwrap_or(u16::MAX);
    let letter = if suffix == Suffix::A { "a" } else { "" };
    let named = format!("compute_{number}{letter}");
    // A letter that the number does not have is dropped.
    let archs = [Arch::new(number, suffix), Arch::plain(number)];
    let later = Release::ALL.into_iter().filter(|later| or_later && later.toolkit > release.toolkit);
    let releases: Vec<_> = std::iter::once(release).chain(later).collect();
    let Some(arch) = archs.into_iter().find(|arch| releases.iter().any(|release| release.knows(*arch)))
    else {
        return Err(if release.is_deprecated(number) {
            refuse(Code::UnsupportedArch, "unsupported architecture", named.as_bytes(), log)
        } else {
            refuse(Code::UnrecognizedArch, "unrecognized architecture", named.as_bytes(), log)
        });
    };
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
    Ok(Options {
        target: Target::new(kind, arch),
        registers: draft.registers,
        time: draft.time,
        verbose: draft.verbose,
        lto: draft.lto,
        ptx: draft.ptx,
        unoptimized: draft.unoptimized,
        fast_compile: draft.fast_compile,
        debug: draft.debug,
        line_info: draft.line_info,
        kernels_used: draft.kernels_used,
        variables_used: draft.variables_used,
        xptxas: draft.xptxas,
        split_compile: draft.split_compile,
        relocatable: draft.relocatable,
        explain: draft.explain,
        compiler: draft.compiler,
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
    fn words_begin_with_their_option() {
        for word in ["-ltox", "-report", "-time=1", "-verbose-tkinfo", "-arch=sm_80a", "-Ofc=minx", "-ftz="] {
            assert!(parsed(&["-arch=sm_90", word]).0.is_ok(), "{word}");
        }
        for word in ["-gx", "-O1", "-O3x", "-v", "", "--arch=sm_90", "-arch", "-device-stack-protector"] {
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
        assert_eq!(code(&["-arch=sm_99999999999"]), Some(Code::UnrecognizedArch));
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
}
