//! Runs a program once and says what it took.
//!
//! The kernel counts the memory of the process that starts a program towards the program's peak, so a small process
//! of its own (`cargo xtask measure`) starts each of them.

use crate::cache::at;
use crate::process::Ending;
use crate::{Result, process};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a run took.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub wall: Duration,
    /// Of all processors together.
    pub processor: Duration,
    /// Peak resident memory of the largest process, in KiB.
    pub peak: u64,
    pub ending: Ending,
}

/// A program to run, and where its output goes.
#[derive(Debug)]
pub struct Program<'a> {
    pub path: &'a Path,
    pub arguments: &'a [String],
    pub folder: &'a Path,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

impl Program<'_> {
    pub fn measure(&self, toolkit: &Path) -> Result<Sample> {
        let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
        let mut helper = Command::new(own);
        helper.arg("measure").arg(&self.stdout).arg(&self.stderr).arg(self.path).args(self.arguments);
        process::clean_environment(&mut helper, &path_with(toolkit));
        let output = process::capture(helper.current_dir(self.folder))?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).ok_or_else(|| {
            format!("measuring {}: {}", self.path.display(), String::from_utf8_lossy(&output.stderr))
        })
    }
}

/// Linkers look for the assembler on the path.
fn path_with(toolkit: &Path) -> OsString {
    let mut path = toolkit.join("bin").into_os_string();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

fn parse(text: &str) -> Option<Sample> {
    let mut fields = text.trim().splitn(4, ' ');
    let wall = Duration::from_nanos(fields.next()?.parse().ok()?);
    let processor = Duration::from_micros(fields.next()?.parse().ok()?);
    let peak = fields.next()?.parse().ok()?;
    Some(Sample { wall, processor, peak, ending: Ending::parse(fields.next()?)? })
}

/// `cargo xtask measure STDOUT STDERR PROGRAM ARGUMENTS…`: prints nanoseconds, microseconds of the processors, KiB and the
/// ending.
pub fn run(args: &[String]) -> Result<u8> {
    let [stdout, stderr, program, arguments @ ..] = args else {
        return Err("measure: a part of `cargo xtask bench`".into());
    };
    let create = |path: &String| File::create(path).map_err(|e| at(Path::new(path), &e));
    let (stdout, stderr) = (create(stdout)?, create(stderr)?);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    adopt_orphans();
    let start = Instant::now();
    let status = command.status().map_err(|e| format!("{program}: {e}"))?;
    let wall = start.elapsed();
    wait_for_orphans();
    let (processor, peak) = usage_of_children()?;
    println!("{} {processor} {peak} {}", wall.as_nanos(), process::ending_of(status));
    Ok(0)
}

/// What a program leaves behind becomes a child of this process: solder has its memory given back after its end. That
/// takes no time of whoever waits for the program, but it is time of a processor, and the next run begins after it.
#[allow(unsafe_code)]
fn adopt_orphans() {
    // SAFETY: a flag of this process is set. Without it the time of orphans is not counted.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

#[allow(unsafe_code)]
fn wait_for_orphans() {
    // SAFETY: no status is asked for; no other thread waits for children.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}

#[allow(unsafe_code)]
fn usage_of_children() -> Result<(u64, u64)> {
    // SAFETY: all bytes zero are a valid `rusage`, and the pointer is valid for the call, which only writes to it.
    let (status, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), usage)
    };
    if status != 0 {
        return Err(format!("getrusage: {}", std::io::Error::last_os_error()));
    }
    let microseconds = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok((microseconds(usage.ru_utime) + microseconds(usage.ru_stime), usage.ru_maxrss as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_helper_prints() {
        let (wall, processor) = (Duration::from_micros(1500), Duration::from_micros(1700));
        let sample = Sample { wall, processor, peak: 4096, ending: Ending::Exit(0) };
        assert_eq!(parse("1500000 1700 4096 exit 0\n"), Some(sample));
        assert_eq!(parse("usage"), None);
    }
}
