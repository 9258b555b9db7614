//! `cargo xtask tools`: the commands for fat binaries, each in turn with what does the same: cuobjdump, `cp`, single links.

use crate::bench::figures::Figures;
use crate::bench::inputs;
use crate::bench::measure::Program;
use crate::bench::report::seconds;
use crate::bench::workloads::WORKLOADS;
use crate::cache::at;
use crate::process::Ending;
use crate::{Result, cache, conformance, libraries, toolkit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The architectures of the fat binaries of the workload, and how many of these are linked.
const ARCHS: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100"];
const FILES: usize = 500;

/// A row: what is measured, and the ratio that is asked for. Where the other is not to be beaten, it is the most time
/// that solder may take in terms of the other's.
struct Row {
    name: &'static str,
    other: Figures,
    solder: Figures,
    goal: Goal,
    is_same: bool,
}

enum Goal {
    Faster(f64),
    AtMost(f64),
    None,
}

const USAGE: &str = "\
usage: cargo xtask tools [--runs N]

Times inspect and extract with cuobjdump on the largest of the small libraries, prune with cp, and one link of 500 fat
binaries for eight architectures with eight links in turn; medians of N runs (5). SOLDER_BIN names the binary to time;
without it a release build is made.";

pub fn run(args: &[String]) -> Result<u8> {
    let runs = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => 5,
        ["--runs", count] => count.parse().map_err(|_| format!("'{count}' is not a number"))?,
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return Ok(0);
        }
        _ => return Err(USAGE.into()),
    };
    let folder = cache::root()?.join("bench").join(format!("tools-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
    let outcome = Tools { solder: conformance::solder()?, folder: folder.clone(), runs }.rows();
    let _ = fs::remove_dir_all(&folder);
    let rows = outcome?;
    println!("{:34} {:>10} {:>10} {:>8} {:>8}", "", "other", "solder", "ratio", "goal");
    for row in &rows {
        let (other, solder) = (row.other.median(), row.solder.median());
        let (ratio, goal) = match row.goal {
            Goal::Faster(goal) => (other / solder, format!(">= {goal}x")),
            Goal::AtMost(goal) => (solder / other, format!("<= {goal}x")),
            Goal::None => (other / solder, String::new()),
        };
        let same = if row.is_same { "equal" } else { "DIFFERS" };
        println!(
            "{:34} {:>10} {:>10} {ratio:>7.2}x {goal:>8} {same}",
            row.name,
            seconds(other),
            seconds(solder)
        );
    }
    Ok(u8::from(rows.iter().any(|row| !row.is_same)))
}

struct Tools {
    solder: PathBuf,
    folder: PathBuf,
    runs: usize,
}

/// A program and its words.
type Run<'a> = (&'a Path, Vec<String>);

impl Tools {
    fn rows(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        match libraries::largest() {
            Ok((cuobjdump, library)) => self.library(&cuobjdump, &library, &mut rows)?,
            Err(why) => eprintln!("SKIPPED: no library was looked into: {why}"),
        }
        rows.push(self.several()?);
        Ok(rows)
    }

    fn library(&self, cuobjdump: &Path, library: &Path, rows: &mut Vec<Row>) -> Result<()> {
        let file = library.display().to_string();
        let size = fs::metadata(library).map_err(|e| at(library, &e))?.len();
        println!("{file}: {} MB", size / 1_000_000);
        let words = |words: &[&str]| words.iter().copied().chain([file.as_str()]).map(String::from).collect();
        for (name, theirs, ours, goal) in [
            ("inspect: a list of cubins", &["-lelf"][..], &["inspect", "--list=elf"][..], Goal::Faster(20.0)),
            ("inspect: a summary", &["-lelf"], &["inspect"], Goal::Faster(20.0)),
            ("inspect: resource usage", &["-res-usage"], &["inspect", "--res-usage"], Goal::None),
            ("inspect: symbols", &["-symbols"], &["inspect", "--symbols"], Goal::None),
            ("extract: all cubins", &["-xelf", "all"], &["extract", "--kind=elf"], Goal::Faster(20.0)),
        ] {
            let (theirs, ours) = ((cuobjdump, words(theirs)), (self.solder.as_path(), words(ours)));
            let (other, solder, outputs) = self.in_turn(&[theirs], &[ours])?;
            // What both print or write is compared by `cargo xtask libraries`; here, that files are as many.
            let is_same = outputs[0].len() == outputs[1].len();
            rows.push(Row { name, other, solder, goal, is_same });
        }
        rows.push(self.extracted(&file)?);
        let to = ["-o", "pruned"].map(String::from);
        let ours: Vec<String> =
            ["prune", "--keep=sm_90", &file].map(String::from).into_iter().chain(to).collect();
        let cp = vec![file.clone(), "copy".into()];
        let (other, solder, _) = self.in_turn(&[(Path::new("cp"), cp)], &[(&self.solder, ours)])?;
        rows.push(Row { name: "prune: against cp", other, solder, goal: Goal::AtMost(2.0), is_same: true });
        Ok(())
    }

    /// A copy of the files that extract writes, which need not be unpacked: no way to write them takes less.
    fn extracted(&self, file: &str) -> Result<Row> {
        let members = self.folder.join("members");
        let folder = members.display().to_string();
        let extract = |to: &str| ["extract", "--kind=elf", file, "-d", to].map(String::from).to_vec();
        let status = Command::new(&self.solder).args(extract(&folder)).stdout(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("'{file}' cannot be extracted"));
        }
        let copy = vec!["-r".into(), folder, "copy".into()];
        let (other, solder, _) =
            self.in_turn(&[(Path::new("cp"), copy)], &[(&self.solder, extract("members"))])?;
        fs::remove_dir_all(&members).map_err(|e| at(&members, &e))?;
        Ok(Row { name: "extract: against cp of the files", other, solder, goal: Goal::None, is_same: true })
    }

    /// One run for all architectures, and one after the other.
    fn several(&self) -> Result<Row> {
        let toolkit = toolkit::ensure()?;
        let workload = WORKLOADS.iter().find(|workload| workload.name == "fatbins-zstd");
        let inputs = inputs::ensure(&toolkit, workload.ok_or("no workload of fat binaries")?, FILES)?;
        let files = || inputs.files.iter().map(|file| inputs.folder.join(file).display().to_string());
        let link = |arch: &str, output: &str| -> Run<'_> {
            let options = [format!("-arch={arch}"), "-o".into(), output.into()];
            (self.solder.as_path(), options.into_iter().chain(files()).collect())
        };
        let alone: Vec<Run<'_>> = ARCHS.iter().map(|arch| link(arch, &format!("out.{arch}.cubin"))).collect();
        let together = [link(&ARCHS.join(","), "out.%a.cubin")];
        let (other, solder, outputs) = self.in_turn(&alone, &together)?;
        let is_same = outputs[0] == outputs[1] && outputs[0].len() == ARCHS.len();
        Ok(Row { name: "8 architectures of 500 files", other, solder, goal: Goal::Faster(1.5), is_same })
    }

    /// Runs both in turn; also the files that each leaves.
    #[allow(clippy::type_complexity)]
    fn in_turn(
        &self,
        other: &[Run<'_>],
        solder: &[Run<'_>],
    ) -> Result<(Figures, Figures, [Vec<(String, Vec<u8>)>; 2])> {
        let mut figures = [Figures::default(), Figures::default()];
        let mut files = [Vec::new(), Vec::new()];
        // The first of each only warms the cache of files.
        for run in 0..=self.runs {
            for (side, programs) in [other, solder].into_iter().enumerate() {
                let out = self.folder.join("out");
                let _ = fs::remove_dir_all(&out);
                fs::create_dir_all(&out).map_err(|e| at(&out, &e))?;
                let (mut wall, mut processor, mut peak) = (Duration::ZERO, Duration::ZERO, 0);
                for (path, arguments) in programs {
                    let nowhere = PathBuf::from("/dev/null");
                    let program =
                        Program { path, arguments, folder: &out, stdout: nowhere.clone(), stderr: nowhere };
                    let sample = program.measure(Path::new("/"))?;
                    if sample.ending != Ending::Exit(0) {
                        return Err(format!(
                            "{} {:?}: {:?}",
                            path.display(),
                            arguments.first(),
                            sample.ending
                        ));
                    }
                    wall += sample.wall;
                    processor += sample.processor;
                    peak = peak.max(sample.peak);
                }
                if run == 0 {
                    files[side] = contents(&out)?;
                } else {
                    figures[side].add(wall, processor, peak);
                }
            }
        }
        let [other, solder] = figures;
        Ok((other, solder, files))
    }
}

/// The files of a folder by name, without those of folders in it. Of large ones only the length is kept.
fn contents(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    const LARGE: u64 = 64 << 20;
    let mut found = Vec::new();
    for file in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
        let path = file.path();
        let metadata = fs::metadata(&path).map_err(|e| at(&path, &e))?;
        if metadata.is_dir() {
            continue;
        }
        let size = metadata.len();
        let bytes = if size > LARGE {
            size.to_le_bytes().to_vec()
        } else {
            fs::read(&path).map_err(|e| at(&path, &e))?
        };
        found.push((file.file_name().to_string_lossy().into_owned(), bytes));
    }
    found.sort();
    Ok(found)
}
