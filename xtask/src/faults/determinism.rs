//! The same inputs make the same bytes.

use super::{Context, OUTPUT, expect, get, put, same};
use crate::process::Ending;
use crate::torture::rng::Rng;
use crate::{Result, conformance};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Enough inputs that all parallel parts of the linker are parallel.
const COPIES: usize = 120;

/// Threads, environments, working folders and repetitions.
pub fn same_bytes(context: &Context) -> Result<String> {
    let folder = context.folder.join("determinism");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let inputs = inputs(context, &folder)?;
    let wanted = link(context, &folder, &inputs, |_| {})?;
    let mut links = 1;
    let mut check = |what: &str, at: &Path, change: &mut dyn FnMut(&mut Command)| {
        links += 1;
        same(&link(context, at, &inputs, change)?, &wanted, what)
    };
    let times = context.times(50);
    for threads in ["1", "2", "8"] {
        for _ in 0..times.div_ceil(3) {
            check(&format!("{threads} threads"), &folder, &mut |command| {
                command.arg(format!("--threads={threads}"));
            })?;
        }
        check(&format!("RAYON_NUM_THREADS={threads}"), &folder, &mut |command| {
            command.env("RAYON_NUM_THREADS", threads);
        })?;
    }
    let mut rng = Rng::new(5);
    for round in 0..times {
        check(&format!("environment {round}"), &folder, &mut |command| {
            shuffle_environment(&mut rng, command);
        })?;
    }
    // The folder is in no byte of the output, as long as the names are the same.
    for name in ["elsewhere", "a folder with blanks/and another"] {
        let other = context.folder.join(name);
        fs::create_dir_all(&other).map_err(|e| e.to_string())?;
        for input in &inputs {
            fs::copy(folder.join(input), other.join(input)).map_err(|e| e.to_string())?;
        }
        check("another working folder", &other, &mut |_| {})?;
    }
    Ok(format!("{links} links of {} objects, one result", inputs.len()))
}

/// A kernel and many functions, each in a file of its own.
fn inputs(context: &Context, folder: &Path) -> Result<Vec<String>> {
    let corpus = conformance::workspace()?.join("crates/fuzzing/corpus");
    let mut names = Vec::new();
    for (name, bytes) in [("caller.cubin", &context.caller), ("callee.cubin", &context.callee)] {
        put(&folder.join(name), bytes)?;
        names.push(name.to_string());
    }
    // Copies with names of the same length, so that nothing but the names changes.
    let plain = get(&corpus.join("callee.sm_90.cubin"))?;
    for number in 0..COPIES {
        let mut copy = plain.clone();
        for (old, new) in [("callee", "cal"), ("recursive", "recur"), ("weights", "wei"), ("table", "t")] {
            rename(&mut copy, old, new, number);
        }
        let name = format!("copy{number}.cubin");
        put(&folder.join(&name), &copy)?;
        names.push(name);
    }
    Ok(names)
}

/// Gives a global name another ending of the same length, wherever it is in the file.
fn rename(file: &mut [u8], old: &str, stem: &str, number: usize) {
    let new = format!("{stem}{number:0width$x}", width = old.len() - stem.len());
    let mut at = 0;
    while let Some(found) = file[at..].windows(old.len()).position(|part| part == old.as_bytes()) {
        file[at + found..at + found + old.len()].copy_from_slice(&new.as_bytes()[..old.len()]);
        at += found + old.len();
    }
}

fn link(
    context: &Context,
    folder: &Path,
    inputs: &[String],
    change: impl FnOnce(&mut Command),
) -> Result<Vec<u8>> {
    let words: Vec<&str> = inputs.iter().map(String::as_str).chain(["-o", OUTPUT]).collect();
    let mut command = context.link(folder, &words);
    change(&mut command);
    expect(&mut command, &Ending::Exit(0))?;
    get(&folder.join(OUTPUT))
}

/// Variables in another order, with other values, among others.
fn shuffle_environment(rng: &mut Rng, command: &mut Command) {
    let mut names: Vec<String> = (0..rng.range(5, 40)).map(|number| format!("VARIABLE_{number}")).collect();
    names.extend(["LANG", "LC_ALL", "TERM", "USER", "PWD"].map(String::from));
    rng.shuffle(&mut names);
    command.env_clear().env("PATH", "/usr/bin:/bin");
    for name in names {
        command.env(name, "x".repeat(rng.below(60)));
    }
}
