//! Developer commands of the solder workspace; `cargo xtask help` lists them.

mod apt;
pub mod assembler;
pub mod bench;
pub mod builds;
pub mod cache;
pub mod conformance;
pub mod dist;
pub mod faults;
mod foreign;
pub mod fuzz;
pub mod jit;
pub mod libraries;
pub mod machine;
pub mod nvjitlink;
mod outcome;
pub mod page;
mod pip;
pub mod process;
pub mod prune;
pub mod realcode;
mod signals;
pub mod suite;
pub mod tidy;
pub mod toolkit;
mod tools;
pub mod torture;
pub mod words;
mod workspace;

pub use outcome::Result;

const USAGE: &str = "\
usage: cargo xtask COMMAND

commands
  toolkit [RELEASE…]      install a CUDA toolkit, or assemblers of older ones, print where
  bench                   time both linkers on generated workloads
  builds [NAME…]          build programs with nvcc, make, CMake, Meson, Clang through the shadow and compare
  conformance [FILTER…]   link the cases of tests/cases with nvlink and with solder and compare
  dist                    make what packages install: manual page, completions, libnvJitLink, CMake's module
  faults                  end links early, take away space, change inputs, and look at what is left
  fuzz                    feed damaged inputs to the readers and to whole links
  libraries               compare what inspect says of real libraries with cuobjdump
  nvjitlink [FILTER…]     build libnvJitLink, and call it and NVIDIA's alike; or install NVIDIA's of a release
  page                    open reports in a browser: widths, contrast, keyboard, addresses; take pictures
  prune                   compare solder prune with nvprune, and prune real libraries
  tools                   time inspect, extract and prune, and links for several architectures
  realcode [FILTER…]      link programs made of library code with both linkers, compare function by function
  test                    install what is needed and run every test of the workspace
  tidy                    check the rules of the house that the compiler does not
  torture                 link generated programs with both linkers and compare
  wheel                   make the package for pip; install it into a new environment and use it

`cargo xtask COMMAND --help` says more.";

/// Runs one command; the value is the process's exit code.
pub fn run(args: &[String]) -> u8 {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", args),
    };
    let outcome = match command {
        "toolkit" => toolkit::run(rest),
        "bench" => bench::run(rest),
        "builds" => builds::run(rest),
        "conformance" => conformance::run(rest),
        "measure" => bench::measure::run(rest),
        "dist" => dist::run(rest),
        "faults" => faults::run(rest),
        "fuzz" => fuzz::run(rest),
        "libraries" => libraries::run(rest),
        "nvjitlink" => nvjitlink::run(rest),
        "nvjitlink-run" => nvjitlink::driver::run(rest),
        "nvjitlink-time" => nvjitlink::driver::time(rest),
        "page" => page::run(rest),
        "prune" => prune::run(rest),
        "tools" => tools::run(rest),
        "realcode" => realcode::run(rest),
        "test" => suite::run(rest),
        "tidy" => tidy::run(rest),
        "torture" => torture::run(rest),
        "wheel" => dist::wheel(rest),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            Ok(0)
        }
        other => Err(format!("unknown command '{other}'\n\n{USAGE}")),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("xtask: {message}");
        2
    })
}
