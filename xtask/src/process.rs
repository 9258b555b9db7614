//! Starting other programs.

use crate::{Result, signals};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Runs a command to its end and keeps what it prints.
pub fn capture(command: &mut Command) -> Result<Output> {
    signals::handle_by_default(command);
    command.stdin(Stdio::null()).output().map_err(|e| cannot_start(command, &e))
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Result<()> {
    let output = capture(command)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed: {}", command.get_program().to_string_lossy(), text.trim()))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().to_string_lossy())
}

/// How a watched program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Exit(i32),
    Signal(i32),
    Timeout,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Timeout => f.write_str("timeout"),
        }
    }
}

impl Ending {
    /// The inverse of `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            Some(("exit", code)) => code.parse().ok().map(Self::Exit),
            Some(("signal", signal)) => signal.parse().ok().map(Self::Signal),
            _ => (text == "timeout").then_some(Self::Timeout),
        }
    }
}

/// Gives a command a small environment of its own, so that results do not depend on the caller's.
pub fn clean_environment(command: &mut Command, path: &OsStr) {
    command.env_clear().env("PATH", path).env("LC_ALL", "C");
    for name in ["HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// Runs a command with pipes for its output, and kills it and its children when `limit` has passed.
pub fn watch(command: &mut Command, limit: Duration) -> Result<(Ending, Vec<u8>, Vec<u8>)> {
    watch_into(command, Stdio::piped(), limit)
}

/// The same with another place for standard output.
pub fn watch_into(
    command: &mut Command,
    stdout: Stdio,
    limit: Duration,
) -> Result<(Ending, Vec<u8>, Vec<u8>)> {
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped()).process_group(0);
    signals::handle_by_default(command);
    let mut child = command.spawn().map_err(|e| cannot_start(command, &e))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let ending = wait(&mut child, limit).map_err(|e| cannot_start(command, &e))?;
    let collect = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok((ending, collect(stdout), collect(stderr)))
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Ending> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ending_of(status));
        }
        if start.elapsed() > limit {
            // The whole group: a shell's children would keep the pipes open.
            let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
            child.wait()?;
            return Ok(Ending::Timeout);
        }
        thread::sleep(Duration::from_micros(if start.elapsed().as_millis() < 50 { 500 } else { 5000 }));
    }
}

pub fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exit(code),
        (None, signal) => Ending::Signal(signal.unwrap_or(0)),
    }
}
