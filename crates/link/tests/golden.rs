//! Links of small inputs of our own, with what is expected of them: one case or more for every phase.
//!
//! The inputs are in `golden/inputs`, made from `golden/sources`. What a link gives is in `golden/expected`, as text: the
//! diagnostics, every section and symbol, and a hash of the whole image, in which only the linker's own entry in
//! `.note.nv.tkinfo` is left out. Where a toolkit is at hand, nvlink must give the same.
//!
//! `SOLDER_BLESS=1 cargo test -p solder-link --test golden` writes what the links give now.

mod common;

use common::{dump, input, target, unit};
use solder_link::{Linker, Release};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An option, as the library, nvlink's command line and its note have it.
#[derive(Clone, Copy)]
struct Flag {
    set: fn(&mut Linker<'_>),
    words: &'static [&'static str],
    recorded: &'static str,
}

macro_rules! flags {
    ($($name:ident = $set:expr, [$($word:literal),*], $recorded:literal;)*) => {
        $( const $name: Flag = Flag { set: $set, words: &[$($word),*], recorded: $recorded }; )*
    };
}

flags! {
    RELOCATABLE = |linker| { linker.relocatable(true); }, ["-r"], "-r  ";
    DEBUG = |linker| { linker.debug(true); }, ["-g", "-verbose-tkinfo=false"], "-g  ";
    VERBOSE = |linker| { linker.verbose(true); }, ["-v"], "-v  ";
    PRESERVE = |linker| { linker.preserve_relocs(true); }, ["-preserve-relocs"], "-preserve-relocs  ";
    RELA = |linker| { linker.force_rela(true); }, ["-force-rela"], "";
    ONLY_SECOND = |linker| { linker.kernels_used(["second"]); }, ["-kernels-used=second"], "-kernels-used second ";
    WERROR = |linker| { linker.warnings_are_errors(true); }, ["-Werror"], "-Werror  ";
    EXTRA = |linker| { linker.extra_warnings(true); }, ["-extrawarn"], "-extrawarn  ";
    CALL_GRAPH = |linker| { linker.dump_callgraph(true); }, ["-dump-callgraph"], "-dump-callgraph  ";
    EXTENDED = |linker| { linker.enable_extended_smem(true); }, ["-enable-extended-smem=true"], "";
}

#[derive(Clone, Copy)]
struct Case {
    /// The phase, a dash, and what is seen.
    name: &'static str,
    arch: &'static str,
    inputs: &'static [&'static str],
    flags: &'static [Flag],
    /// How many objects made from `unit.ptx` come before the inputs. Of their image only the hash is kept.
    units: usize,
}

const fn case(name: &'static str, inputs: &'static [&'static str]) -> Case {
    Case { name, arch: "sm_90", inputs, flags: &[], units: 0 }
}

const fn with(name: &'static str, inputs: &'static [&'static str], flags: &'static [Flag]) -> Case {
    Case { name, arch: "sm_90", inputs, flags, units: 0 }
}

const fn on(arch: &'static str, case: Case) -> Case {
    Case { arch, ..case }
}

const fn after_units(units: usize, case: Case) -> Case {
    Case { units, ..case }
}

const CASES: &[Case] = &[
    case("accept-other-architecture", &["kernel.sm_75", "function.sm_90"]),
    case("resolve-across-files", &["kernel.sm_90", "function.sm_90"]),
    case("resolve-first-weak-wins", &["kernel.sm_90", "weak_one.sm_90", "weak_two.sm_90"]),
    case("resolve-first-weak-wins-reverse", &["kernel.sm_90", "weak_two.sm_90", "weak_one.sm_90"]),
    case("resolve-strong-replaces-weak", &["weak_one.sm_90", "kernel.sm_90", "function.sm_90"]),
    case("resolve-commons", &["common_one.sm_90", "common_two.sm_90"]),
    case("resolve-common-too-large", &["common_one.sm_90", "common_two.sm_90", "common_large.sm_90"]),
    case("resolve-duplicates", &["kernel.sm_90", "function.sm_90", "recursion.sm_90"]),
    case("resolve-undefined", &["kernel.sm_90", "second_kernel.sm_90"]),
    case("resolve-mismatches", &["kernel.sm_90", "weak_one.sm_90", "mismatch.sm_90"]),
    with("call_graph-text", &["pointers.sm_90", "function.sm_90", "kernel.sm_90"], &[CALL_GRAPH]),
    case("gc-dead-function", &["function.sm_90", "kernel.sm_90"]),
    with("gc-kept-for-debugger", &["function.sm_90", "kernel.sm_90"], &[DEBUG]),
    with("gc-kernels-used", &["kernel.sm_90", "second_kernel.sm_90", "function.sm_90"], &[ONLY_SECOND]),
    case("merge-two-kernels", &["second_kernel.sm_90", "kernel.sm_90", "function.sm_90"]),
    with("merge-relocatable", &["second_kernel.sm_90", "kernel.sm_90", "function.sm_90"], &[RELOCATABLE]),
    with("merge-debug", &["second_kernel.debug.sm_90", "weak_one.debug.sm_90"], &[DEBUG]),
    case("merge-lines", &["kernel.sm_90", "lines.sm_90"]),
    case("merge-jump-table", &["kernel.sm_90", "jumps.sm_90"]),
    with("resources-registers-and-barriers", &["kernel.sm_90", "barriers.sm_90"], &[VERBOSE]),
    with("resources-recursion", &["kernel.sm_90", "second_kernel.sm_90", "recursion.sm_90"], &[VERBOSE]),
    with("resources-recursion-as-error", &["kernel.sm_90", "recursion.sm_90"], &[WERROR]),
    with("shared-variables", &["shared_one.sm_90", "shared_two.sm_90"], &[VERBOSE]),
    with("shared-variables-debug", &["shared_one.sm_90", "shared_two.sm_90"], &[DEBUG]),
    case("shared-limit", &["shared_large.sm_90"]),
    with("shared-extended-limit", &["shared_large.sm_90"], &[EXTENDED]),
    case("textures-tables", &["texture_one.sm_90", "texture_two.sm_90"]),
    with("textures-relocatable", &["texture_one.sm_90", "texture_two.sm_90"], &[RELOCATABLE]),
    on("sm_75", case("textures-tables-sm_75", &["texture_one.sm_75", "texture_two.sm_75"])),
    case("relocate-pointers", &["pointers.sm_90", "function.sm_90"]),
    with("relocate-addends", &["pointers.sm_90", "function.sm_90"], &[RELOCATABLE, RELA]),
    with("relocate-preserved", &["pointers.sm_90", "function.sm_90"], &[PRESERVE]),
    with("checks-extra-warnings", &["taken.sm_90"], &[EXTRA]),
    on("sm_75", case("layout-sm_75", &["kernel.sm_75", "function.sm_75"])),
    on("sm_100", case("layout-mercury", &["kernel.sm_100", "weak_one.sm_100"])),
    on("sm_100", with("layout-mercury-relocatable", &["kernel.sm_100", "weak_one.sm_100"], &[RELOCATABLE])),
    on("sm_100", with("layout-mercury-debug", &["kernel.sm_100", "weak_one.sm_100"], &[DEBUG])),
    on("sm_103", case("finalize-other-member", &["kernel.sm_100", "weak_one.sm_100"])),
    after_units(600, case("write-many-objects", &["unit_root.sm_90"])),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

impl Case {
    /// The inputs with their names, in link order.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let units = (0..self.units).map(|number| (format!("unit_{number:04}.cubin"), unit(number)));
        let inputs = self.inputs.iter().map(|name| (format!("{name}.cubin"), input(name)));
        units.chain(inputs).collect()
    }

    fn options(&self) -> Vec<String> {
        let words = self.flags.iter().flat_map(|flag| flag.words).map(|word| (*word).into());
        [format!("-arch={}", self.arch)].into_iter().chain(words).collect()
    }

    /// What is expected, as text.
    fn text(&self, messages: &[String], call_graph: &str, image: Option<&[u8]>) -> String {
        let units = if self.units > 0 { format!(" ({} units)", self.units) } else { String::new() };
        let mut text = format!("link {}{units} {}\n", self.options().join(" "), self.inputs.join(" "));
        for message in messages {
            let _ = writeln!(text, "{message}");
        }
        text.push_str(call_graph);
        match image {
            Some(image) if self.units > 0 => text.extend(dump(image).split_inclusive('\n').take(1)),
            Some(image) => text.push_str(&dump(image)),
            None => text.push_str("no image\n"),
        }
        text
    }

    /// What solder gives.
    fn linked(&self) -> String {
        let mut linker = Linker::new(target(self.arch), Release::CUDA_13_0);
        // nvlink records the options in an order of its own, in which `-g` comes before the target.
        let recorded = |is_debug: bool| {
            let flags = self.flags.iter().filter(move |flag| (flag.words[0] == DEBUG.words[0]) == is_debug);
            flags.map(|flag| flag.recorded).collect::<String>()
        };
        linker.record("", format!("{}-arch {} {}", recorded(true), self.arch, recorded(false)));
        for flag in self.flags {
            (flag.set)(&mut linker);
        }
        for (name, bytes) in self.files() {
            linker.object(name, bytes);
        }
        let texts = |diagnostics: &[solder_link::Diagnostic]| -> Vec<String> {
            diagnostics.iter().map(ToString::to_string).collect()
        };
        match linker.link() {
            Ok(output) => {
                let report = &output.report;
                let call_graph = String::from_utf8_lossy(&report.call_graph);
                self.text(&texts(&report.diagnostics), &call_graph, Some(&output.image))
            }
            Err(problems) => self.text(&texts(&problems), "", None),
        }
    }

    /// What nvlink gives.
    fn linked_by(&self, nvlink: &Path) -> String {
        let folder = std::env::temp_dir().join(format!("solder-golden-{}-{}", std::process::id(), self.name));
        std::fs::create_dir_all(&folder).expect("a new folder");
        let files = self.files();
        for (name, bytes) in &files {
            std::fs::write(folder.join(name), bytes).expect("a new file");
        }
        let run = Command::new(nvlink)
            .args(self.options())
            .args(files.iter().map(|(name, _)| name))
            .args(["-o", "out"])
            .current_dir(&folder)
            .output()
            .expect("nvlink can be started");
        let printed = String::from_utf8_lossy(&run.stderr);
        // As in `nvlink error   : Undefined reference …`.
        let message = |line: &str| {
            let (severity, text) = line.strip_prefix("nvlink ")?.split_once(": ")?;
            Some(format!("{}: {text}", severity.trim_end()))
        };
        let messages: Vec<String> = printed.lines().filter_map(message).collect();
        let others = printed.lines().filter(|line| message(line).is_none());
        let call_graph: String = others.flat_map(|line| [line, "\n"]).collect();
        let image = std::fs::read(folder.join("out")).ok();
        let _ = std::fs::remove_dir_all(&folder);
        self.text(&messages, &call_graph, image.as_deref())
    }

    fn expected(&self) -> PathBuf {
        folder().join(format!("expected/{}.txt", self.name))
    }
}

/// The first line in which two texts differ.
fn difference(expected: &str, given: &str) -> String {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let (expected, given) = (lines(expected), lines(given));
    let at = expected.iter().zip(&given).take_while(|(a, b)| a == b).count();
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    format!("line {}:\n  expected {}\n  given    {}", at + 1, line(&expected), line(&given))
}

#[test]
fn links_give_what_is_expected() {
    let blesses = std::env::var_os("SOLDER_BLESS").is_some();
    let mut failures = Vec::new();
    for case in CASES {
        let given = case.linked();
        if blesses {
            std::fs::write(case.expected(), &given).expect("the folder can be written");
        }
        let expected = std::fs::read_to_string(case.expected()).unwrap_or_default();
        if given != expected {
            failures.push(format!("{}: {}", case.name, difference(&expected, &given)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// nvlink 13.0.88, where `cargo xtask toolkit` has put it or `SOLDER_TOOLKIT` says.
fn nvlink() -> Option<PathBuf> {
    let given = std::env::var_os("SOLDER_TOOLKIT").filter(|root| !root.is_empty()).map(PathBuf::from);
    let cache = || {
        let cache = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
        Some(cache.join(format!("solder/toolkit-{}", Release::CUDA_13_0.version)))
    };
    let nvlink = given.or_else(cache)?.join("bin/nvlink");
    nvlink.is_file().then_some(nvlink)
}

#[test]
fn nvlink_gives_the_same() {
    let Some(nvlink) = nvlink() else {
        eprintln!("skipped: there is no nvlink to compare with; `cargo xtask toolkit` installs it");
        return;
    };
    let mut failures = Vec::new();
    for case in CASES {
        let expected = std::fs::read_to_string(case.expected()).unwrap_or_default();
        let given = case.linked_by(&nvlink);
        if given != expected {
            failures.push(format!("{}: {}", case.name, difference(&given, &expected)));
        }
    }
    assert!(failures.is_empty(), "nvlink's output is not the expected one\n{}", failures.join("\n"));
}
