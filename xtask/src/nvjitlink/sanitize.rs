//! The stress of the library under the sanitizers of the compiler.

use crate::Result;
use crate::workspace::workspace;
use std::process::Command;

/// They need a nightly toolchain with the sources of the standard library, which is built anew: one that is not instrumented
/// makes the thread sanitizer report what is no race.
const SANITIZERS: &[(&str, &str)] = &[("address", "detect_leaks=1"), ("thread", "halt_on_error=1")];
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Links of each of the sixteen threads.
const LINKS: &str = "1000";

/// Runs the tests of the C interface under the sanitizers of these names, or under all. They end with an error at the first
/// finding.
pub fn run(names: &[String]) -> Result<u8> {
    let chosen =
        SANITIZERS.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|given| given == name));
    let mut failed = 0;
    for (name, options) in chosen {
        let root = workspace()?;
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&root).args(["+nightly", "test", "--quiet", "-Zbuild-std", "--target", TARGET]);
        cargo.args(["--package", "solder-nvjitlink", "--test", "interface"]);
        cargo.arg("--target-dir").arg(root.join("target").join(format!("sanitize-{name}")));
        cargo.env("RUSTFLAGS", format!("-Zsanitizer={name} -Cunsafe-allow-abi-mismatch=sanitizer"));
        // Those of the toolchain that runs this.
        cargo.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        cargo.env("ASAN_OPTIONS", options).env("TSAN_OPTIONS", options).env("SOLDER_STRESS_LINKS", LINKS);
        let status = cargo.status().map_err(|e| format!("cannot start cargo: {e}"))?;
        println!("{name}: {}", if status.success() { "clean" } else { "FAILED" });
        failed += u8::from(!status.success());
    }
    Ok(failed.min(1))
}
