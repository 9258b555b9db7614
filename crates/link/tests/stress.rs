//! Thousands of links in one process, on eight threads, small and large mixed, with and without a pool of threads: equal
//! inputs give equal outputs, memory does not grow, no descriptor or mapping is left, and nothing is printed.
//!
//! The links are done by a child, whose streams are pipes. `SOLDER_STRESS_LINKS` sets their number.

mod common;

use common::{hash, input, target, unit};
use solder_arch::Arch;
use solder_fatbin::{Builder, Kind, NewMember, Packing};
use solder_link::{Linker, Message, Observer, Pool, Receiver, Release, Severity};
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const LINKS: usize = 10_000;
const THREADS: usize = 8;
/// Objects of a large link, beside the one that all of them call.
const UNITS: usize = 200;
/// One link in so many is large.
const LARGE_EVERY: usize = 16;

/// Names the file in which the child leaves its figures.
const CHILD: &str = "SOLDER_STRESS_CHILD";
const NUMBER: &str = "SOLDER_STRESS_LINKS";

/// What may be more at the end than after the first tenth of the links: kilobytes that the allocator keeps, and
/// mappings of its own and of the stacks of threads. What it keeps for threads varies by several megabytes from run to run.
const MORE_MEMORY: usize = 16 << 10;
const MORE_MAPPINGS: usize = 64;

fn main() -> ExitCode {
    match std::env::var_os(CHILD) {
        Some(figures) => child(Path::new(&figures)),
        None => parent(),
    }
}

fn parent() -> ExitCode {
    let figures = std::env::temp_dir().join(format!("solder-stress-{}", std::process::id()));
    let start = Instant::now();
    let run = Command::new(std::env::current_exe().expect("the path of the test"))
        .env(CHILD, &figures)
        // With an arena for each thread, what the allocator keeps says little about what the links keep.
        .env("MALLOC_ARENA_MAX", "2")
        .stdin(Stdio::null())
        .output()
        .expect("the test can start itself");
    let text = std::fs::read_to_string(&figures).unwrap_or_default();
    let _ = std::fs::remove_file(&figures);
    println!("{text}in {:.1} s", start.elapsed().as_secs_f64());
    let is_silent = run.stdout.is_empty() && run.stderr.is_empty();
    if !run.status.success() || !is_silent {
        println!("{}", run.status);
        println!("printed: {}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// A kind of link, and what its result is known by.
struct Work {
    name: &'static str,
    /// Whether it gives an image.
    links: bool,
    target: &'static str,
    inputs: Vec<(String, Vec<u8>)>,
    set: fn(&mut Linker<'_>),
}

impl Work {
    fn new(name: &'static str, target: &'static str, inputs: &[&str], set: fn(&mut Linker<'_>)) -> Self {
        let inputs = inputs.iter().map(|name| (format!("{name}.cubin"), input(name))).collect();
        Self { name, links: true, target, inputs, set }
    }

    /// Links; a hash of the image and of all that was reported.
    fn link(&self, pool: Option<&Pool>, observer: Option<&dyn Observer>) -> u64 {
        let mut linker = Linker::new(target(self.target), Release::CUDA_13_0);
        (self.set)(&mut linker);
        for (name, bytes) in &self.inputs {
            linker.object(name, bytes);
        }
        if let Some(pool) = pool {
            linker.pool(pool);
        }
        if let Some(observer) = observer {
            linker.observer(observer);
        }
        let linked = linker.link();
        assert_eq!(linked.is_ok(), self.links, "{}", self.name);
        match linked {
            Ok(output) => hash(&output.image) ^ hash(format!("{:?}", output.report).as_bytes()),
            Err(problems) => hash(format!("{problems:?}").as_bytes()),
        }
    }
}

fn works() -> Vec<Work> {
    let plain = |_: &mut Linker<'_>| {};
    let code = input("kernel.sm_90");
    let member = NewMember::new(Kind::Elf, Arch::plain(90), &code);
    let fatbin = Builder::new().member(&NewMember { compression: Packing::Zstd, ..member }).finish();
    let large = (0..UNITS).map(|number| (format!("unit_{number}.cubin"), unit(number)));
    let root = [("root.cubin".to_string(), input("unit_root.sm_90"))];
    vec![
        Work { name: "large", links: true, target: "sm_90", inputs: large.chain(root).collect(), set: plain },
        Work::new("small", "sm_90", &["kernel.sm_90", "function.sm_90"], plain),
        Work::new("mercury", "sm_100", &["kernel.sm_100", "weak_one.sm_100"], plain),
        Work { links: false, ..Work::new("undefined", "sm_90", &["kernel.sm_90"], plain) },
        Work::new("relocatable", "sm_90", &["texture_one.sm_90", "texture_two.sm_90"], |linker| {
            linker.relocatable(true);
        }),
        Work::new("verbose", "sm_90", &["shared_one.sm_90", "shared_two.sm_90"], |linker| {
            linker.verbose(true).dump_callgraph(true).draw_callgraph(true);
        }),
        Work {
            name: "fat binary",
            links: true,
            target: "sm_90",
            inputs: vec![("a.fatbin".into(), fatbin), ("b.cubin".into(), input("recursion.sm_90"))],
            set: plain,
        },
        Work {
            name: "damaged",
            links: false,
            target: "sm_90",
            inputs: vec![("a.cubin".into(), code[..code.len() / 2].to_vec())],
            set: plain,
        },
    ]
}

/// Counts the phases that it is told of.
#[derive(Default)]
struct Phases(AtomicUsize);

impl Observer for Phases {}

impl Receiver for Phases {
    fn message(&self, _: Severity, _: &Message) {}

    fn phase(&self, _: &'static str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    kilobytes: usize,
    descriptors: usize,
    mappings: usize,
}

fn held() -> Held {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    let digits: String = memory.chars().filter(char::is_ascii_digit).collect();
    Held {
        kilobytes: digits.parse().expect("a number"),
        descriptors: std::fs::read_dir("/proc/self/fd").expect("/proc").count(),
        mappings: std::fs::read_to_string("/proc/self/maps").expect("/proc").lines().count(),
    }
}

/// Does links `first` to `last` on all threads; the kinds whose result is not the first one of their kind.
fn links(works: &[Work], expected: &[u64], pool: &Pool, first: usize, last: usize) -> Vec<&'static str> {
    let next = AtomicUsize::new(first);
    let phases = Phases::default();
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= last {
                return wrong;
            }
            let kind = if number.is_multiple_of(LARGE_EVERY) { 0 } else { 1 + number % (works.len() - 1) };
            let own = Pool::new(2);
            let pool = match number / LARGE_EVERY % 3 {
                0 => None,
                1 => Some(pool),
                _ => Some(&own),
            };
            let observer = number.is_multiple_of(2).then_some(&phases as &dyn Observer);
            if works[kind].link(pool, observer) != expected[kind] {
                wrong.push(works[kind].name);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn child(figures: &Path) -> ExitCode {
    let links_wanted = std::env::var(NUMBER).ok().and_then(|text| text.parse().ok()).unwrap_or(LINKS);
    let works = works();
    let before = held();
    let expected: Vec<u64> = works.iter().map(|work| work.link(None, None)).collect();
    let pool = Pool::new(3);
    let warm_up = links_wanted / 10;
    let mut wrong = links(&works, &expected, &pool, 0, warm_up);
    let warm = held();
    wrong.extend(links(&works, &expected, &pool, warm_up, links_wanted));
    drop(pool);
    let after = held();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{links_wanted} links: before {before:?}\n  after a tenth {warm:?}\n  at the end {after:?}"
    );
    let _ = std::fs::write(figures, &text);
    let mut faults = Vec::new();
    if !wrong.is_empty() {
        wrong.sort_unstable();
        wrong.dedup();
        faults.push(format!("other outputs: {wrong:?}"));
    }
    if after.kilobytes > warm.kilobytes + MORE_MEMORY {
        faults.push("memory has grown".into());
    }
    if after.descriptors != before.descriptors {
        faults.push("descriptors are left".into());
    }
    if after.mappings > warm.mappings + MORE_MAPPINGS {
        faults.push("mappings are left".into());
    }
    if faults.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("{}", faults.join("; "));
    ExitCode::FAILURE
}
