//! One link, from its words to the exit code.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use crate::console::Console;
use crate::diagnostics::{Message, Printer, Settings, Sink, Stop, Text};
use crate::explain;
use crate::host_script;
use crate::load::Shared;
use crate::mode::Mode;
use crate::options::{self, Id, Options, Values};
use crate::os::signals;
use crate::release;
use crate::run;
use crate::time_table;
use crate::toolchain;
use solder_arch::Release;

/// The name of the program.
pub const OWN_NAME: &str = "solder";

/// Does the link, which may share its inputs with others; the exit code.
pub fn run(name: &OsStr, words: Vec<OsString>, console: &Console, shared: Option<&Shared<'_>>) -> u8 {
    match run_words(name, words.into_iter().map(OsStringExt::into_vec).collect(), console, shared) {
        Ok(()) => 0,
        Err(stop) => stop.exit_code(),
    }
}

/// The variable with words for every link.
pub const OPTIONS_VARIABLE: &str = "SOLDER_OPTIONS";

fn run_words(
    name: &OsStr,
    words: Vec<Vec<u8>>,
    console: &Console,
    shared: Option<&Shared<'_>>,
) -> Result<(), Stop> {
    let mut settings = options::settings_of_words(&words);
    settings.tool = Text::from(name);
    let words = match std::env::var_os(OPTIONS_VARIABLE) {
        None => words,
        Some(more) => {
            let printer = Printer::new(settings.clone(), console);
            let more = options::words_of(more.as_encoded_bytes(), &printer.sink())?;
            let words = [more, words].concat();
            settings = Settings { tool: settings.tool, ..options::settings_of_words(&words) };
            words
        }
    };
    // The words are of use only to somebody who explains a fault in them.
    let kept = if settings.holds() { words.clone() } else { Vec::new() };
    let parser_printer = Printer::new(settings, console);
    let mut options = parse(name, words, &parser_printer).inspect_err(|_| {
        let release = release::choose(&kept).map_or(Release::NEWEST, |choice| choice.release);
        parser_printer.release(&|message| explain::of_words(message, &kept, release, None));
    })?;
    options.console = console.clone();
    parser_printer.release(&|_| Vec::new());
    signals::set_tool(&options.tool_name);
    if [Id::Help, Id::Version, Id::ListArchs].iter().any(|id| options.values().is_given(*id)) {
        console.out(about(&options).as_bytes());
        return Ok(());
    }
    let printer = Printer::new(options.message_settings(), console)
        .with_progress(options.progress, options.report.is_some())
        .with_errors(options.map.is_some() || options.report.is_some());
    let sink = printer.sink();
    if let Some(kind) = options.host_script {
        options::check_first(&options, &sink)?;
        return host_script::write(&options, kind, &sink);
    }
    check(&options, &sink).inspect_err(|_| {
        printer.release(&|message| explain::of_words(message, &kept, options.release, Some(&options)));
    })?;
    let options = release::for_inputs(options);
    let mode = Mode::of(&options);
    run::link(&options, &mode, &printer, &sink, shared)
}

fn parse(name: &OsStr, words: Vec<Vec<u8>>, printer: &Printer) -> Result<Options, Stop> {
    let sink = printer.sink();
    let choice = release::choose(&words).map_err(|message| sink.fatal(message))?;
    if let Some(version) = &choice.stands_for {
        let known = Release::NEWEST.name;
        sink.report(Message::LinkedAsNewest { version: version.as_str().into(), known });
    }
    let values = Values::parse(words, choice.release, &sink)?;
    Ok(Options::new(values, name, choice.by_inputs))
}

/// What is printed instead of a link.
#[cold]
fn about(options: &Options) -> String {
    let tool = options.tool_name.to_string_lossy();
    let is_given = |id| options.values().is_given(id);
    if is_given(Id::Help) {
        options::help(&tool, options.release)
    } else if is_given(Id::Version) {
        options::version(&tool, options.release, options.release_by_inputs)
    } else {
        options::archs(options.release)
    }
}

/// What ends a run before any input is opened.
fn check(options: &Options, sink: &Sink) -> Result<(), Stop> {
    options::check(options, sink)?;
    time_table::begin(options, sink)?;
    toolchain::check_nvvm(options, sink)
}
