//! The options that modules were compiled with, and what a link makes of them: modules must agree.

use super::options::LtoOptions;
use crate::diagnostics::{Message, Sink, Stop};

/// An option that is looked for in the options of a module. nvlink looks for the text anywhere, not for a word, and
/// reads the number after it as C does.
struct Row {
    text: &'static [u8],
    /// As the messages call it.
    name: &'static str,
}

const ROWS: [Row; 8] = [
    Row { text: b"-ftz=", name: "-ftz" },
    Row { text: b"-prec_div=", name: "-prec-div" },
    Row { text: b"-prec_sqrt=", name: "-prec-sqrt" },
    Row { text: b"-fmad=", name: "-fmad" },
    Row { text: b"-split-compile ", name: "-split-compile" },
    Row { text: b"-maxreg ", name: "-maxrregcount" },
    Row { text: b"-generate-line-info", name: "-lineinfo" },
    Row { text: b"-inline-info", name: "-inline-info" },
];

const FTZ: usize = 0;
const SPLIT_COMPILE: usize = 4;
const MAX_REGISTERS: usize = 5;
const LINE_INFO: usize = 6;
const INLINE_INFO: usize = 7;
/// Their values must agree, in this order; registers come before them.
const MUST_AGREE: std::ops::RangeInclusive<usize> = FTZ..=SPLIT_COMPILE;

/// What is known about one option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No module has been read.
    #[default]
    Unseen,
    /// No module has it.
    Absent,
    /// Every module has it, with this value.
    Agreed(i32),
    /// Some modules have it, with this value.
    Mixed(i32),
    Conflict,
}

impl State {
    fn with(self, found: Option<i32>) -> Self {
        match (self, found) {
            (Self::Unseen | Self::Absent, None) => Self::Absent,
            (Self::Unseen, Some(value)) => Self::Agreed(value),
            (Self::Absent, Some(value)) | (Self::Agreed(value) | Self::Mixed(value), None) => {
                Self::Mixed(value)
            }
            (Self::Agreed(value) | Self::Mixed(value), Some(other)) if value != other => Self::Conflict,
            (state, _) => state,
        }
    }

    fn value(self) -> Option<i32> {
        match self {
            Self::Agreed(value) | Self::Mixed(value) => Some(value),
            _ => None,
        }
    }
}

/// The options of the modules read so far.
#[derive(Clone, Debug, Default)]
pub struct Consensus([State; ROWS.len()]);

/// What the modules agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// `-ftz`.
    pub ftz: Option<i32>,
    /// `-prec-div`.
    pub prec_div: Option<i32>,
    /// `-prec-sqrt`.
    pub prec_sqrt: Option<i32>,
    /// `-fma`.
    pub fma: Option<i32>,
    /// `-split-compile`.
    pub split_compile: Option<i32>,
    /// Greater than zero; the link's own wins.
    pub registers: Option<i32>,
    /// `-lineinfo`.
    pub line_info: bool,
    /// `-inline-info`.
    pub inline_info: bool,
}

impl Consensus {
    /// Adds a member of a fat binary. Files of their own have no options and no say.
    pub fn add(&mut self, options: &[u8]) {
        for (state, row) in self.0.iter_mut().zip(&ROWS) {
            *state = state.with(find(options, row.text));
        }
    }

    /// Reports what does not fit, in nvlink's order.
    pub fn agree(&self, options: &LtoOptions<'_>, sink: &Sink) -> Result<Agreed, Stop> {
        let mismatch =
            |row: usize| Err(sink.fatal(Message::CompilerOptionMismatch { option: ROWS[row].name }));
        if let State::Mixed(_) = self.0[LINE_INFO] {
            let option = ROWS[LINE_INFO].name;
            sink.report(Message::OptionMissingInSome { option, used: option.into() });
        }
        let given = options.registers.filter(|count| *count > 0);
        match self.0[MAX_REGISTERS] {
            _ if given.is_some() => {}
            State::Conflict => return mismatch(MAX_REGISTERS),
            State::Mixed(count) => {
                let option = ROWS[MAX_REGISTERS].name;
                sink.report(Message::OptionMissingInSome {
                    option,
                    used: format!("{option}={count}").into(),
                });
            }
            _ => {}
        }
        for row in MUST_AGREE {
            if self.0[row] == State::Conflict {
                return mismatch(row);
            }
        }
        let value = |row: usize| self.0[row].value();
        let asked = options.split_compile.filter(|_| options.release.compares_split_compile());
        if let (Some(asked), Some(threads)) = (asked, value(SPLIT_COMPILE))
            && asked != threads
        {
            return mismatch(SPLIT_COMPILE);
        }
        Ok(Agreed {
            ftz: value(FTZ),
            prec_div: value(FTZ + 1),
            prec_sqrt: value(FTZ + 2),
            fma: value(FTZ + 3),
            split_compile: value(SPLIT_COMPILE),
            registers: given.or(value(MAX_REGISTERS)).filter(|count| *count > 0),
            line_info: value(LINE_INFO).is_some(),
            inline_info: value(INLINE_INFO).is_some(),
        })
    }
}

/// The number after the first place where the text is; 0 if there is none.
fn find(options: &[u8], text: &[u8]) -> Option<i32> {
    let at = options.windows(text.len()).position(|part| part == text)?;
    Some(number(&options[at + text.len()..]))
}

/// As C's `atoi` reads it.
fn number(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value = digits.fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(i64::from(u32::MAX))
    });
    (if negative { -value } else { value }) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{Collector, Switches};
    use solder_arch::{Arch, Release, Target};

    fn agree(modules: &[&str], registers: Option<i32>) -> (Option<Agreed>, Vec<String>) {
        let collector = Collector::default();
        let sink = Sink::new(Switches::default(), &collector);
        let new = LtoOptions::new(Target::sm(Arch::plain(90)), Release::CUDA_13_0);
        let options = LtoOptions { registers, ..new };
        let mut consensus = Consensus::default();
        for module in modules {
            consensus.add(module.as_bytes());
        }
        let agreed = consensus.agree(&options, &sink).ok();
        drop(sink);
        (agreed, collector.into_diagnostics().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn equal_modules_agree_silently() {
        let module = "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1 ";
        let (agreed, said) = agree(&[module, module], None);
        let agreed = agreed.expect("agreement");
        assert_eq!((agreed.ftz, agreed.fma, agreed.registers), (Some(0), Some(1), None));
        assert!(said.is_empty());
    }

    #[test]
    fn registers_come_before_the_others_and_the_link_line_decides() {
        let modules = ["-ftz=1 -maxreg 3 -generate-line-info", "-ftz=0 -maxreg 4"];
        let (agreed, said) = agree(&modules, None);
        assert_eq!(agreed, None);
        let last = |said: &[String]| said.last().cloned().unwrap_or_default();
        assert!(
            said[0].contains("'-lineinfo'")
                && last(&said).ends_with("values for '-maxrregcount' do not match")
        );
        let (agreed, said) = agree(&modules, Some(9));
        assert!(agreed.is_none() && last(&said).ends_with("values for '-ftz' do not match"));
    }

    #[test]
    fn numbers_are_read_as_c_does() {
        assert_eq!(find(b"x-maxreg 32 -maxreg 16", b"-maxreg "), Some(32));
        assert_eq!(find(b"-maxreg   0x20", b"-maxreg "), Some(0));
        assert_eq!(find(b"-ftz=7x", b"-ftz="), Some(7));
        assert_eq!(find(b"-maxreg=32", b"-maxreg "), None);
    }
}
