//! Scripts for the host linker (`-ghls`) that keep the sections CUDA needs.
//!
//! `lcs-aug` is those sections alone. `lcs-abs` is the host linker's own script, asked for with the flags that the
//! host compiler would pass, and the sections after it; a script in a file is then tried with the linker.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::options::{HostScript, Id, Options};
use crate::shell::{self, Outcome};

/// The script's CUDA part. The blank at the end of the fourth line is nvlink's.
const SECTIONS: &[u8] = b"SECTIONS
{
\t.nvFatBinSegment : { *(.nvFatBinSegment) }
\t__nv_relfatbin : { *(__nv_relfatbin) } 
\t.nv_fatbin : { *(.nv_fatbin) }
}
";

const STDOUT: &str = "/dev/stdout";

/// The program that the scripts are for.
const HOST_LINKER: &str = "ld";

/// Picks the flags that decide which script the host linker uses out of what the compiler would run.
const PICK_LINKER_FLAGS: &str = r#" 2>&1 | grep collect2  | grep -wo -e -pie -e "-z [^[:space:]]*" -e "-m [^[:space:]]*" -e -r -e -shared  | tr "\n" " " "#;

/// Takes the script out of the linker's verbose answer: not the version, not the rulers around it.
const PICK_SCRIPT: &str = r#" | grep -Fvx -e "$(ld -V)" | sed '1,2d;$d' > "#;

/// Writes the script that the options ask for.
pub fn write(options: &Options, kind: HostScript, sink: &Sink) -> Result<(), Stop> {
    if !options.inputs.is_empty() {
        return Err(sink.fatal(Message::InputFilesWithHostScript));
    }
    match (kind, &options.output) {
        (HostScript::Augment, Some(output)) => {
            let not_opened = |_| sink.fatal(Message::OutputNotOpened { file: output.into() });
            let mut file = File::create(output).map_err(not_opened)?;
            file.write_all(SECTIONS).map_err(|error| not_written(output, &error, sink))
        }
        (HostScript::Augment, None) => write_to_stdout(sink),
        (HostScript::Complete, Some(output)) => {
            run(&host_script_command(options, output), options, sink)?;
            append(output).map_err(|error| not_written(output, &error, sink))?;
            run(&trial_command(output), options, sink)
        }
        (HostScript::Complete, None) => {
            // In a regular file the shell and this write both begin at the start, so that the sections lie
            // over the head of the script: as nvlink leaves it.
            run(&host_script_command(options, Path::new(STDOUT)), options, sink)?;
            write_to_stdout(sink)
        }
    }
}

fn append(output: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(output)?.write_all(SECTIONS)
}

fn write_to_stdout(sink: &Sink) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(SECTIONS).and_then(|()| stdout.flush());
    written.map_err(|error| not_written(Path::new(STDOUT), &error, sink))
}

fn not_written(file: &Path, error: &io::Error, sink: &Sink) -> Stop {
    sink.fatal(Message::OutputNotWritten { file: file.into(), reason: error.to_string().into() })
}

/// The command that writes the host linker's own script to `output`.
fn host_script_command(options: &Options, output: &Path) -> OsString {
    let mut command = format!("{HOST_LINKER} --verbose ").into_bytes();
    if options.host_linker_options.is_empty() {
        command.extend_from_slice(b"$(");
        command.extend_from_slice(options.host_compiler.as_ref().map_or(b"gcc", |name| name.as_bytes()));
        command.extend_from_slice(b" -### /dev/null ");
        command.extend_from_slice(match (options.shared, options.values().is_true(Id::Relocatable)) {
            (true, _) => b" -shared ".as_slice(),
            (false, true) => b" -r ",
            (false, false) => b"",
        });
        command.extend_from_slice(b" -m64 ");
        command.extend_from_slice(PICK_LINKER_FLAGS.as_bytes());
        command.push(b')');
    } else {
        // nvlink puts nothing between the elements.
        command.extend(options.host_linker_options.iter().flat_map(|element| element.as_bytes()));
    }
    command.extend_from_slice(PICK_SCRIPT.as_bytes());
    command.extend_from_slice(&shell::quote(output.as_os_str().as_bytes()));
    OsString::from_vec(command)
}

/// The command that tries a script: all that a sound one leaves to complain of is that nothing is to be linked.
fn trial_command(output: &Path) -> OsString {
    let mut command = format!("{HOST_LINKER} -T ").into_bytes();
    command.extend_from_slice(&shell::quote(output.as_os_str().as_bytes()));
    command.extend_from_slice(b" 2>&1 | grep 'no input files' > /dev/null");
    OsString::from_vec(command)
}

fn run(command: &OsString, options: &Options, sink: &Sink) -> Result<(), Stop> {
    if options.verbose {
        sink.write(&[b"#$ ", command.as_bytes(), b"\n"].concat());
    }
    match shell::run(command) {
        Ok(Outcome::Success) => return Ok(()),
        Ok(Outcome::Failure) | Err(_) => {}
        Ok(Outcome::Signal(number)) => sink.report(Message::DiedOfSignal {
            tool: HOST_LINKER.into(),
            number: number as u32,
            name: Text::from(signal_name(number)),
        }),
    }
    Err(sink.fatal(Message::HostScriptFailed))
}

/// The signals that have a name in the message.
fn signal_name(number: i32) -> &'static str {
    match number {
        4 => "(Illegal Instruction)",
        7 => "(Bus error)",
        8 => "(Floating point exception)",
        9 => "(Kill signal)",
        11 => "(Invalid memory reference)",
        _ => "",
    }
}
