//! Assemblers that do not do what they should.

use super::{Context, OUTPUT, Scratch, get, mode, put};
use crate::Result;
use crate::process::{self, Ending};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough to be looked at; no assembler here reads it.
pub const PTX: &[u8] = b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n";

/// An assembler that always makes the same code.
pub fn good(context: &Context) -> Result<String> {
    put(&context.folder.join("code"), &context.callee)?;
    Ok(format!("for last; do :; done\ncat '{}' > \"$last\"\n", context.folder.join("code").display()))
}

/// Puts a script under the assembler's name into the folder.
pub fn install(scratch: &Scratch, script: &str) -> Result<()> {
    put(&scratch.file("ptxas"), format!("#!/bin/sh\n{script}").as_bytes())?;
    mode(&scratch.file("ptxas"), 0o755)
}

/// A link of PTX with the assembler of the folder, whose temporary files lie in `temporary`.
fn link(context: &Context, scratch: &Scratch) -> Result<Command> {
    put(&scratch.file("kernel.ptx"), PTX)?;
    fs::create_dir_all(scratch.file("temporary")).map_err(|e| e.to_string())?;
    let mut command = context.link(&scratch.path, &["caller.cubin", "kernel.ptx", "-o", OUTPUT]);
    command.env("PATH", format!("{}:/usr/bin:/bin", scratch.path.display()));
    command.env("TMPDIR", scratch.file("temporary"));
    Ok(command)
}

fn nothing_left(scratch: &Scratch, output: bool) -> Result<()> {
    let files = ["kernel.ptx", "ptxas", "temporary", "started"];
    let files: Vec<&str> = files.into_iter().chain(output.then_some(OUTPUT)).collect();
    scratch.only(&files)?;
    let left = fs::read_dir(scratch.file("temporary")).map_err(|e| e.to_string())?.count();
    if left == 0 { Ok(()) } else { Err(format!("{left} temporary folders are left")) }
}

/// Crashes, silence, garbage, too much to say.
pub fn misbehaving(context: &Context) -> Result<String> {
    let scratch = context.scratch("assembler")?;
    install(&scratch, &good(context)?)?;
    let (ending, _, stderr) = process::watch(&mut link(context, &scratch)?, super::LIMIT)?;
    if ending != Ending::Exit(0) {
        return Err(format!("a good assembler: {ending}: {}", String::from_utf8_lossy(&stderr)));
    }
    nothing_left(&scratch, true)?;
    let scripts = [
        ("crashes", "kill -SEGV $$\n"),
        ("is killed", "kill -KILL $$\n"),
        ("fails without a word", "exit 3\n"),
        ("writes nothing", "exit 0\n"),
        ("writes garbage", "for last; do :; done\nhead -c 5000 /dev/urandom > \"$last\"\n"),
        ("writes an empty file", "for last; do :; done\n: > \"$last\"\n"),
        ("says very much and fails", "yes a line that is said over and over | head -c 3000000 >&2; exit 1\n"),
        ("cannot be run", ""),
    ];
    for (what, script) in scripts {
        let scratch = context.scratch("assembler")?;
        install(&scratch, script)?;
        if script.is_empty() {
            mode(&scratch.file("ptxas"), 0o644)?;
        }
        let (ending, _, stderr) = process::watch(&mut link(context, &scratch)?, super::LIMIT)?;
        if ending != Ending::Exit(1) || stderr.is_empty() {
            return Err(format!("an assembler that {what}: {ending}: {}", String::from_utf8_lossy(&stderr)));
        }
        nothing_left(&scratch, false).map_err(|e| format!("an assembler that {what}: {e}"))?;
    }
    Ok(format!("{} ways to fail, an error each", scripts.len()))
}

/// One that never ends: interrupting the link ends it too.
pub fn hanging(context: &Context) -> Result<String> {
    let signals = [("INT", 2), ("TERM", 15), ("HUP", 1)];
    for (name, number) in signals {
        let scratch = context.scratch("hanging")?;
        install(&scratch, "echo $$ > ../../started\nsleep 1000\n")?;
        let mut command = heeding_signals(&link(context, &scratch)?);
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
        let started =
            wait_for(|| fs::read_to_string(scratch.file("started")).ok().filter(|id| id.ends_with('\n')))?;
        let kill = |id: &str| Command::new("kill").args([&format!("-{name}"), id]).status();
        kill(&child.id().to_string()).map_err(|e| format!("kill: {e}"))?;
        let status = child.wait().map_err(|e| e.to_string())?;
        if status.signal() != Some(number) {
            return Err(format!("SIG{name}: the link ended with {status}"));
        }
        let group = started.trim().to_string();
        wait_for(|| (!group_lives(&group)).then_some(()))
            .map_err(|_| format!("SIG{name}: the assembler lives on"))?;
        nothing_left(&scratch, false).map_err(|e| format!("SIG{name}: {e}"))?;
        let _ = get(&scratch.file("started"))?;
    }
    Ok("ended by three signals, with all that it had started".into())
}

/// The same command where this process was told to ignore signals, as those in the background are.
fn heeding_signals(command: &Command) -> Command {
    let mut same = Command::new("env");
    same.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    same.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        same.current_dir(folder);
    }
    same
}

/// Whether a process of the group is left.
fn group_lives(group: &str) -> bool {
    let mut probe = Command::new("kill");
    probe.args(["-0", "--", &format!("-{group}")]).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> Result<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        if let Some(value) = ready() {
            return Ok(value);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err("waited in vain".into())
}
