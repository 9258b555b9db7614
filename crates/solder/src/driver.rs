//! One run of the linker, from the words of the command line to the exit code.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use crate::commands;
use crate::diagnostics::{Message, Printer, Settings, Stop, Text};
use crate::host_script;
use crate::mode::Mode;
use crate::options::{self, Id, Options, Values};
use crate::os::signals;
use crate::release;
use crate::run;
use crate::time_table;
use crate::toolchain;
use solder_arch::Release;

/// The name used when the system gives none.
const OWN_NAME: &str = "solder";

/// Runs the linker with the program's arguments, the program's own name first; the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_else(|| OWN_NAME.into());
    let name = Path::new(&program).file_name().unwrap_or(OsStr::new(OWN_NAME));
    let words: Vec<OsString> = args.collect();
    if name == OWN_NAME
        && let Some(code) = commands::run(&words)
    {
        return code;
    }
    signals::explain_panics();
    match run_words(name, words.into_iter().map(OsStringExt::into_vec).collect()) {
        Ok(()) => 0,
        Err(stop) => stop.exit_code(),
    }
}

fn run_words(name: &OsStr, words: Vec<Vec<u8>>) -> Result<(), Stop> {
    let format = options::format_of_words(&words);
    let parser_printer = Printer::new(Settings { tool: Text::from(name), format, ..Settings::default() });
    let parser_sink = parser_printer.sink();
    let choice = release::choose(&words).map_err(|message| parser_sink.fatal(message))?;
    if let Some(version) = &choice.stands_for {
        let known = Release::NEWEST.name;
        parser_sink.report(Message::LinkedAsNewest { version: version.as_str().into(), known });
    }
    let values = Values::parse(words, choice.release, &parser_sink)?;
    let options = Options::new(values, name, choice.by_inputs);
    drop(parser_sink);
    parser_printer.release(&|_| Vec::new());
    signals::set_tool(&options.tool_name);
    let tool = options.tool_name.to_string_lossy();
    if options.values().is_given(Id::Help) {
        return print(&options::help(&tool, options.release));
    }
    if options.values().is_given(Id::Version) {
        return print(&options::version(&tool, options.release));
    }
    if options.values().is_given(Id::ListArchs) {
        return print(&options::archs(options.release));
    }
    let printer = Printer::new(options.message_settings())
        .with_progress(options.progress, options.report.is_some())
        .with_errors(options.map.is_some() || options.report.is_some());
    let sink = printer.sink();
    if let Some(kind) = options.host_script {
        return host_script::write(&options, kind, &sink);
    }
    options::check(&options, &sink)?;
    time_table::begin(&options, &sink)?;
    toolchain::check_nvvm(&options, &sink)?;
    let options = release::for_inputs(options);
    let mode = Mode::of(&options);
    run::link(&options, &mode, &printer, &sink)
}

/// Writes to standard output; that nobody reads it is not a fault.
#[allow(clippy::unnecessary_wraps)]
fn print(text: &str) -> Result<(), Stop> {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}
