//! A Debian of another machine, unpacked in a folder, whose programs run here. The kernel has qemu execute them, as
//! Debian's package qemu-user-static tells it (`binfmt_misc`), and the programs that they start, too; the folder is their
//! root, in a namespace of its own.

use crate::apt::{Apt, unpack};
use crate::cache::{self, at};
use crate::machine::Machine;
use crate::{Result, process};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suite, and what a machine with Python and a compiler has.
const SUITE: &str = "bookworm main";
const PACKAGES: [&str; 6] = ["python3", "python3-venv", "python3-pip", "g++", "dash", "coreutils"];

/// Puts folders into the root, two words each, and runs a program there.
const ENTER: &str = r#"
root=$1; shift
PATH=$PATH:/usr/sbin:/sbin
while [ "$1" != -- ]; do mkdir -p "$root$2"; mount --rbind "$1" "$root$2"; shift 2; done
shift
exec chroot "$root" "$@"
"#;

#[derive(Debug)]
pub struct Debian {
    root: PathBuf,
}

impl Debian {
    /// That of a machine, unpacked first if need be.
    pub fn of(machine: &Machine) -> Result<Self> {
        let root = cache::root()?.join(format!("debian-{}", machine.debian));
        let root = cache::make(&root, &format!("a Debian for {} (80 MB)", machine.name), |staged| {
            let tree = staged.join("tree");
            for folder in ["bin", "sbin", "lib"] {
                let place = tree.join("usr").join(folder);
                fs::create_dir_all(&place).map_err(|e| at(&place, &e))?;
                symlink(format!("usr/{folder}"), tree.join(folder)).map_err(|e| at(&tree, &e))?;
            }
            for folder in ["tmp", "root"] {
                let place = tree.join(folder);
                fs::create_dir_all(&place).map_err(|e| at(&place, &e))?;
            }
            for package in Apt::of(machine.debian, staged, SUITE)?.download_whole(&PACKAGES)? {
                unpack(&package, &tree)?;
            }
            Ok(tree)
        })?;
        let debian = Self { root };
        process::succeed(debian.command(&[], "/usr/bin/python3").arg("--version")).map_err(|e| {
            let name = machine.name;
            format!(
                "programs of {name} do not run here: {e} (do qemu-user-static and binfmt_misc handle them?)"
            )
        })?;
        Ok(debian)
    }

    /// The command that runs a program of it, which sees these folders of ours and nothing else of this machine.
    pub fn command(&self, folders: &[(&Path, &str)], program: &str) -> Command {
        let mut command = Command::new("unshare");
        process::clean_environment(&mut command, "/usr/bin:/bin".as_ref());
        command.env("HOME", "/root").env_remove("TMPDIR");
        command.args(["--map-root-user", "--mount", "sh", "-ec", ENTER, "sh"]).arg(&self.root);
        for (folder, place) in
            [(Path::new("/dev"), "/dev"), (Path::new("/proc"), "/proc")].iter().chain(folders)
        {
            command.arg(folder).arg(place);
        }
        command.args(["--", program]);
        command
    }
}
