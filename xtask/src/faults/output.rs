//! Outputs that cannot be written, or not as usual.

use super::{ALWAYS, BIG, Context, OUTPUT, SMALL, expect, get, mode, put, refused, same};
use crate::process::Ending;
use crate::{Result, process};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

const OLD: &[u8] = b"the old output";

/// Runs a link after a line of the shell, which ends with `"$@"`.
fn behind(context: &Context, folder: &Path, line: &str, words: &[&str]) -> Command {
    let mut command = Command::new("/bin/sh");
    process::clean_environment(&mut command, "/usr/bin:/bin:/usr/sbin:/sbin".as_ref());
    command.args(["-c", line, "sh"]).arg(&context.solder).args(ALWAYS).args(words).current_dir(folder);
    command
}

/// A limit on the size of files.
pub fn too_large(context: &Context) -> Result<String> {
    for exists in [false, true] {
        let scratch = context.scratch("too-large")?;
        if exists {
            put(&scratch.file(OUTPUT), OLD)?;
        }
        let mut link = behind(context, &scratch.path, "ulimit -f 1000; exec \"$@\"", &BIG);
        refused(&mut link, "Could not write output file 'out.cubin': File too large")?;
        unharmed(&scratch, exists)?;
    }
    Ok("an error; the old output stays".into())
}

fn unharmed(scratch: &super::Scratch, existed: bool) -> Result<()> {
    scratch.only(if existed { &[OUTPUT] } else { &[] })?;
    if existed { same(&get(&scratch.file(OUTPUT))?, OLD, "the old output") } else { Ok(()) }
}

/// A file system without space, where one can be made.
pub fn disk_full(context: &Context) -> Result<String> {
    let scratch = context.scratch("disk-full")?;
    let small = scratch.file("small");
    fs::create_dir_all(&small).map_err(|e| e.to_string())?;
    let script = "mount -t tmpfs -o size=1m none small || exit 77; printf old > small/out.cubin\n\
        \"$@\" -o small/out.cubin; code=$?; ls -A small; cat small/out.cubin; exit $code";
    let mut link = Command::new("unshare");
    process::clean_environment(&mut link, "/usr/bin:/bin:/usr/sbin:/sbin".as_ref());
    link.args(["--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, "sh"]).arg(&context.solder);
    link.args(ALWAYS).args(&BIG[..2]).current_dir(&scratch.path);
    let Ok((ending, stdout, stderr)) = process::watch(&mut link, super::LIMIT) else {
        return Ok("left out: there is no unshare".into());
    };
    let said = String::from_utf8_lossy(&stderr);
    match ending {
        Ending::Exit(1) if said.contains("No space left on device") => {}
        Ending::Exit(77 | 1) if said.contains("unshare") || said.contains("mount") => {
            return Ok("left out: no file system can be mounted here".into());
        }
        other => return Err(format!("{other}: {said}")),
    }
    same(&stdout, b"out.cubin\nold", "what is on the full file system")?;
    Ok("an error; the old output stays".into())
}

pub fn full_device(context: &Context) -> Result<String> {
    let scratch = context.scratch("full-device")?;
    let words = ["caller.cubin", "callee.cubin", "-o", "/dev/full"];
    refused(&mut context.link(&scratch.path, &words), "No space left on device")?;
    scratch.only(&[])?;
    Ok("an error".into())
}

/// As a user to whom permissions mean something.
fn restricted(mut command: Command) -> Command {
    const NOBODY: u32 = 65534;
    if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Folders and files without permission to write.
pub fn unwritable(context: &Context) -> Result<String> {
    let scratch = context.scratch("unwritable")?;
    mode(&scratch.path, 0o555)?;
    let link = || restricted(context.link(&scratch.path, &SMALL));
    refused(&mut link(), "Could not open output file 'out.cubin'")?;
    scratch.only(&[])?;
    mode(&scratch.path, 0o755)?;
    // A writable file in an unwritable folder is written where it is.
    put(&scratch.file(OUTPUT), &vec![7; 100_000])?;
    mode(&scratch.file(OUTPUT), 0o666)?;
    mode(&scratch.path, 0o555)?;
    let before = inode(&scratch.file(OUTPUT))?;
    expect(&mut link(), &Ending::Exit(0))?;
    let wanted = context.reference(&SMALL)?;
    same(&get(&scratch.file(OUTPUT))?, &wanted, "the file in the unwritable folder")?;
    if inode(&scratch.file(OUTPUT))? != before {
        return Err("the file was replaced in a folder that takes no files".into());
    }
    // The same when it is an input that is still mapped while the output is made.
    let before = context.reference(&BIG)?;
    mode(&scratch.path, 0o755)?;
    put(&scratch.file(OUTPUT), &context.large)?;
    mode(&scratch.path, 0o555)?;
    let words = ["caller.cubin", OUTPUT, "-o", OUTPUT];
    expect(&mut restricted(context.link(&scratch.path, &words)), &Ending::Exit(0))?;
    same(&get(&scratch.file(OUTPUT))?, &before, "over an input in the unwritable folder")?;
    // An unwritable file in a writable folder is not replaced.
    mode(&scratch.path, 0o777)?;
    put(&scratch.file(OUTPUT), OLD)?;
    mode(&scratch.file(OUTPUT), 0o444)?;
    refused(&mut link(), "Could not open output file 'out.cubin'")?;
    unharmed(&scratch, true)?;
    Ok("a folder, a file in it, a file".into())
}

fn inode(path: &Path) -> Result<u64> {
    fs::metadata(path).map(|file| file.ino()).map_err(|e| e.to_string())
}

/// The output is one of the inputs, under its own name and under another.
pub fn over_an_input(context: &Context) -> Result<String> {
    let scratch = context.scratch("over")?;
    fs::rename(scratch.file("caller.cubin"), scratch.file(OUTPUT)).map_err(|e| e.to_string())?;
    let words = [OUTPUT, "callee.cubin", "-o", OUTPUT];
    let wanted = context.reference(&SMALL)?;
    expect(&mut context.link(&scratch.path, &words), &Ending::Exit(0))?;
    same(&get(&scratch.file(OUTPUT))?, &wanted, "over a small input")?;
    // A mapped one.
    let scratch = context.scratch("over")?;
    fs::rename(scratch.file("large.cubin"), scratch.file(OUTPUT)).map_err(|e| e.to_string())?;
    let wanted = context.reference(&BIG)?;
    expect(&mut context.link(&scratch.path, &["caller.cubin", OUTPUT, "-o", OUTPUT]), &Ending::Exit(0))?;
    same(&get(&scratch.file(OUTPUT))?, &wanted, "over a large input")?;
    scratch.only(&[OUTPUT])?;
    Ok("a small input and a mapped one".into())
}

/// Links are followed, to files that are there and to those that are not.
pub fn symbolic_links(context: &Context) -> Result<String> {
    let wanted = context.reference(&SMALL)?;
    for exists in [true, false] {
        let scratch = context.scratch("symbolic")?;
        let folder = scratch.file("folder");
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        if exists {
            put(&folder.join("real.cubin"), OLD)?;
        }
        symlink("folder/real.cubin", scratch.file("middle")).map_err(|e| e.to_string())?;
        symlink("middle", scratch.file(OUTPUT)).map_err(|e| e.to_string())?;
        expect(&mut context.link(&scratch.path, &SMALL), &Ending::Exit(0))?;
        same(&get(&folder.join("real.cubin"))?, &wanted, "behind two links")?;
        if !fs::symlink_metadata(scratch.file(OUTPUT)).is_ok_and(|link| link.is_symlink()) {
            return Err("the link was replaced".into());
        }
        scratch.only(&[OUTPUT, "middle", "folder"])?;
    }
    Ok("to a file and to none".into())
}

/// Pipes and devices are written directly.
pub fn no_regular_file(context: &Context) -> Result<String> {
    let wanted = context.reference(&SMALL)?;
    let scratch = context.scratch("pipe")?;
    expect(
        &mut context.link(&scratch.path, &["caller.cubin", "callee.cubin", "-o", "/dev/null"]),
        &Ending::Exit(0),
    )?;
    if fs::metadata("/dev/null").is_ok_and(|null| null.is_file()) {
        return Err("/dev/null was replaced".into());
    }
    let script = "mkfifo out.cubin && { cat out.cubin > read & } && \"$@\" && wait";
    expect(&mut behind(context, &scratch.path, script, &SMALL), &Ending::Exit(0))?;
    same(&get(&scratch.file("read"))?, &wanted, "through a pipe")?;
    scratch.only(&[OUTPUT, "read"])?;
    Ok("a device and a pipe".into())
}

pub fn read_only_inputs(context: &Context) -> Result<String> {
    let scratch = context.scratch("read-only")?;
    let inputs = scratch.file("inputs");
    fs::create_dir_all(&inputs).map_err(|e| e.to_string())?;
    for name in ["caller.cubin", "large.cubin"] {
        fs::rename(scratch.file(name), inputs.join(name)).map_err(|e| e.to_string())?;
        mode(&inputs.join(name), 0o444)?;
    }
    mode(&inputs, 0o555)?;
    mode(&scratch.path, 0o777)?;
    let words = ["inputs/caller.cubin", "inputs/large.cubin", "-o", OUTPUT];
    let linked = expect(&mut restricted(context.link(&scratch.path, &words)), &Ending::Exit(0));
    mode(&inputs, 0o755)?;
    linked?;
    same(&get(&scratch.file(OUTPUT))?, &context.reference(&BIG)?, "of read-only inputs")?;
    Ok("files and their folder".into())
}

/// Many links at once into one folder: to names of their own, to the same name, and with one cache.
pub fn concurrent(context: &Context) -> Result<String> {
    let wanted = context.reference(&SMALL)?;
    let scratch = context.scratch("concurrent")?;
    super::assembler::install(&scratch, &super::assembler::good(context)?)?;
    put(&scratch.file("kernel.ptx"), super::assembler::PTX)?;
    let times = context.times(100);
    let own: Vec<String> = (0..times).map(|number| format!("own-{number}.cubin")).collect();
    let link = |words: &[&str]| {
        let mut command = context.link(&scratch.path, words);
        command.env("PATH", format!("{}:/usr/bin:/bin", scratch.path.display())).env("TMPDIR", &scratch.path);
        expect(&mut command, &Ending::Exit(0)).map(drop)
    };
    let outcomes: Vec<Result<()>> = thread::scope(|scope| {
        let started: Vec<_> = own
            .iter()
            .map(|own| {
                let link = &link;
                scope.spawn(move || {
                    link(&SMALL)?;
                    link(&["caller.cubin", "kernel.ptx", "-cache-dir=cache", "-o", own])
                })
            })
            .collect();
        started.into_iter().map(|link| link.join().unwrap_or_else(|_| Err("a panic".into()))).collect()
    });
    outcomes.into_iter().collect::<Result<()>>()?;
    same(&get(&scratch.file(OUTPUT))?, &wanted, "written by all")?;
    let sizes: Vec<usize> =
        own.iter().map(|own| get(&scratch.file(own)).map(|b| b.len())).collect::<Result<_>>()?;
    if sizes.iter().any(|size| size.abs_diff(sizes[0]) > 64) {
        return Err(format!("outputs of different sizes: {sizes:?}"));
    }
    let mut left: Vec<&str> = own.iter().map(String::as_str).collect();
    left.extend([OUTPUT, "kernel.ptx", "cache", "ptxas", "code"]);
    scratch.only(&left)?;
    let stdout =
        Command::new("find").arg(scratch.file("cache")).args(["-type", "f"]).stderr(Stdio::null()).output();
    let kept = stdout.map_err(|e| format!("find: {e}"))?.stdout;
    let kept = String::from_utf8_lossy(&kept).lines().count();
    // The result, the hash of the assembler, and the total of both.
    if kept != 3 {
        return Err(format!("{kept} files in the cache instead of three"));
    }
    Ok(format!("{} links at once, {times} of them into one file, {times} with one cache", 2 * times))
}
