//! Runs that end before they are done.

use super::{BIG, Context, OUTPUT, SMALL, Scratch, expect, get, put};
use crate::Result;
use crate::process::Ending;
use crate::torture::rng::Rng;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const OLD: &[u8] = b"the old output";

/// `kill -9` at random moments: the old output or the complete new one.
pub fn killed(context: &Context) -> Result<String> {
    let wanted = context.reference(&BIG)?;
    let (mut old, mut new, mut strays) = (0, 0, 0);
    let times = context.times(200);
    let length = duration(context)?;
    let mut rng = Rng::new(9);
    for round in 0..times {
        let scratch = context.scratch("killed")?;
        let exists = round % 4 != 0;
        if exists {
            put(&scratch.file(OUTPUT), OLD)?;
        }
        signal_after(context, &scratch, "KILL", length.mul_f64(moment(&mut rng)))?;
        match fs::read(scratch.file(OUTPUT)) {
            Ok(found) if found == wanted => new += 1,
            Ok(found) if exists && found == OLD => old += 1,
            Err(_) if !exists => old += 1,
            Ok(found) => return Err(format!("round {round}: an output of {} bytes", found.len())),
            Err(error) => return Err(format!("round {round}: the old output is gone: {error}")),
        }
        strays += usize::from(scratch.only(&[OUTPUT]).is_err());
    }
    if old == 0 || new == 0 {
        return Err(format!("{old} old and {new} new outputs: the moments are badly chosen"));
    }
    // Between its naming and the rename the whole new file has two names.
    if strays > times.div_ceil(20) {
        return Err(format!("{strays} temporary files left behind in {times} links"));
    }
    Ok(format!("{times} links, {old} left the old output, {new} the new one, {strays} a second name for it"))
}

/// Signals that ask the program to end leave nothing behind.
pub fn interrupted(context: &Context) -> Result<String> {
    let wanted = context.reference(&BIG)?;
    let length = duration(context)?;
    let times = context.times(200);
    let mut rng = Rng::new(15);
    let mut done = 0;
    for round in 0..times {
        let scratch = context.scratch("interrupted")?;
        if round % 2 == 0 {
            put(&scratch.file(OUTPUT), OLD)?;
        }
        let signal = ["INT", "TERM", "HUP"][round % 3];
        signal_after(context, &scratch, signal, length.mul_f64(moment(&mut rng)))?;
        scratch.only(&[OUTPUT]).map_err(|e| format!("round {round}, SIG{signal}: {e}"))?;
        match fs::read(scratch.file(OUTPUT)) {
            Ok(found) if found == wanted => done += 1,
            Ok(found) if found == OLD => {}
            Ok(found) => return Err(format!("round {round}, SIG{signal}: {} bytes", found.len())),
            Err(_) => {}
        }
    }
    Ok(format!("{times} links, {} interrupted before their end", times - done))
}

/// How long the large link takes.
fn duration(context: &Context) -> Result<Duration> {
    let scratch = context.scratch("timed")?;
    let begun = Instant::now();
    expect(&mut context.link(&scratch.path, &BIG), &Ending::Exit(0))?;
    Ok(begun.elapsed())
}

/// A share of the whole; the end, where the output is written, more often than the rest.
fn moment(rng: &mut Rng) -> f64 {
    let share = f64::from(rng.below(1000) as u32) / 1000.0;
    if rng.percent(60) { 0.6 + share * 0.6 } else { share }
}

fn signal_after(context: &Context, scratch: &Scratch, signal: &str, delay: Duration) -> Result<()> {
    let mut command = context.link(&scratch.path, &BIG);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("cannot start the link: {e}"))?;
    thread::sleep(delay);
    // One that has ended is not there to get it.
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    sent.map_err(|e| format!("kill: {e}"))?;
    child.wait().map(drop).map_err(|e| e.to_string())
}

/// Standard streams that are closed: the link and its exit code are the same.
pub fn closed_streams(context: &Context) -> Result<String> {
    let wanted = context.reference(&SMALL)?;
    let closings = ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full 2>/dev/full"];
    for closing in closings {
        let scratch = context.scratch("closed")?;
        let run = |words: &str| {
            let line = format!("exec \"$0\" {words} {closing}");
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &line]).arg(&context.solder).current_dir(&scratch.path);
            command.status().map_err(|e| format!("sh: {e}"))
        };
        let linked =
            run("-arch=sm_90 -v -suppress-stack-size-warning caller.cubin callee.cubin -o out.cubin")?;
        if linked.code() != Some(0) {
            return Err(format!("{closing}: {linked}"));
        }
        same_code(&get(&scratch.file(OUTPUT))?, &wanted, closing)?;
        let refused = run("-arch=sm_90 nothing.cubin -o out2.cubin")?;
        if refused.code() != Some(1) {
            return Err(format!("{closing}, refused: {refused}"));
        }
        scratch.only(&[OUTPUT])?;
    }
    Ok(format!("{} ways to close them", closings.len()))
}

/// `-v` is recorded, so only the sizes are compared roughly.
fn same_code(found: &[u8], wanted: &[u8], what: &str) -> Result<()> {
    if found.len().abs_diff(wanted.len()) < 64 {
        Ok(())
    } else {
        Err(format!("{what}: {} bytes", found.len()))
    }
}
