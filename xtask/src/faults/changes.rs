//! Inputs that change while they are linked.
//!
//! A pipe among the inputs stops the linker between two files: the one before it has been mapped, and nothing has
//! been done with it but a look at its head.

use super::{BIG, Context, OUTPUT, Scratch, get, put, same};
use crate::Result;
use crate::process::Ending;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const CHANGED: &str = "nvlink fatal   : Input file 'large.cubin' changed while it was linked\n";
/// What is no longer an object at all is refused as one before it is missed.
const GARBAGE: &str =
    "nvlink fatal   : Input file 'large.cubin' is damaged: the ELF header: not a 64-bit little-endian ELF\n";

/// Links the large object with `pipe.cubin` after it, and changes something when the pipe is opened. The value is
/// how it ended and what it said.
fn linked_while(
    context: &Context,
    scratch: &Scratch,
    change: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(Ending, String)> {
    let pipe = scratch.file("pipe.cubin");
    let made = Command::new("mkfifo").arg(&pipe).status().map_err(|e| format!("mkfifo: {e}"))?;
    if !made.success() {
        return Err("mkfifo failed".into());
    }
    let mut command = context.link(&scratch.path, &["large.cubin", "pipe.cubin", "-o", OUTPUT]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let fill = || -> std::io::Result<()> {
        // Opening waits for the linker to open its end.
        let mut end = File::options().write(true).open(&pipe)?;
        change(&scratch.file("large.cubin"))?;
        end.write_all(&context.caller)
    };
    let filled = fill();
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut said).map_err(|e| e.to_string())?;
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    let ending = status.code().map_or_else(|| Ending::Signal(status.signal().unwrap_or(0)), Ending::Exit);
    // The linker may have gone before it read all of the pipe.
    drop(filled);
    Ok((ending, said))
}

fn reported(
    context: &Context,
    name: &str,
    wanted: &str,
    change: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<()> {
    let scratch = context.scratch(name)?;
    let (ending, said) = linked_while(context, &scratch, change)?;
    if ending != Ending::Exit(1) || said != wanted {
        return Err(format!("{ending}: {said}"));
    }
    scratch.only(&["pipe.cubin"])
}

/// The pages are gone when they are read.
pub fn cut_short(context: &Context) -> Result<String> {
    for size in [0, 4096, 1 << 20] {
        reported(context, "cut-short", CHANGED, |file| File::options().write(true).open(file)?.set_len(size))
            .map_err(|e| format!("cut to {size} bytes: {e}"))?;
    }
    Ok("an error that names the file, at three lengths".into())
}

/// Other bytes in the same file: all of them, and so few that the link would succeed.
pub fn rewritten(context: &Context) -> Result<String> {
    let other = vec![0xa5; context.large.len()];
    reported(context, "rewritten", GARBAGE, |file| fs::write(file, &other))?;
    reported(context, "rewritten", CHANGED, |file| {
        use std::os::unix::fs::FileExt;
        File::options().write(true).open(file)?.write_all_at(b"changed", 6 << 20)
    })?;
    Ok("an error that names the file, for all of it and for seven bytes".into())
}

/// Another file under the same name is not a change: what was opened is linked.
pub fn replaced(context: &Context) -> Result<String> {
    let scratch = context.scratch("replaced")?;
    let (ending, said) = linked_while(context, &scratch, |file| {
        fs::write(file.with_file_name("new"), b"something else")?;
        fs::rename(file.with_file_name("new"), file)
    })?;
    if ending != Ending::Exit(0) {
        return Err(format!("{ending}: {said}"));
    }
    scratch.only(&["pipe.cubin", OUTPUT])?;
    let undisturbed = context.scratch("undisturbed")?;
    let (ending, said) = linked_while(context, &undisturbed, |_| Ok(()))?;
    if ending != Ending::Exit(0) {
        return Err(format!("undisturbed, {ending}: {said}"));
    }
    same(&get(&scratch.file(OUTPUT))?, &get(&undisturbed.file(OUTPUT))?, "of the file that was opened")?;
    Ok("the file that was opened is linked".into())
}

/// Cut short, written anew and put back, all the time: a link succeeds, or it says what is wrong.
pub fn in_motion(context: &Context) -> Result<String> {
    let times = context.times(100);
    let (mut linked, mut refused) = (0, 0);
    for round in 0..times {
        let scratch = context.scratch("in-motion")?;
        let file = scratch.file("large.cubin");
        let mut command = context.link(&scratch.path, &BIG);
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        thread::sleep(Duration::from_micros(400 * (round as u64 % 50)));
        let size = context.large.len() as u64;
        let _ = File::options()
            .write(true)
            .open(&file)
            .and_then(|file| file.set_len(size / (1 + round as u64 % 7)));
        put(&file, &context.large)?;
        let status = child.wait().map_err(|e| e.to_string())?;
        let mut said = String::new();
        if let Some(stderr) = &mut child.stderr {
            stderr.read_to_string(&mut said).map_err(|e| e.to_string())?;
        }
        match status.code() {
            Some(0) => {
                linked += 1;
                scratch.only(&[OUTPUT])?;
            }
            Some(1) if said.lines().count() == 1 && said.contains("large.cubin") => {
                refused += 1;
                scratch.only(&[])?;
            }
            // It was opened while it was empty, and like nvlink's an empty file has nothing to say.
            Some(255) if said.contains("Undefined reference to") => {
                refused += 1;
                scratch.only(&[])?;
            }
            _ => return Err(format!("round {round}: {status}: {said}")),
        }
    }
    Ok(format!("{times} links, {linked} succeeded, {refused} said what was wrong"))
}
