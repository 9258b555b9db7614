//! Links files in memory, as `link.c` does, without C: the linker is a library for Rust.
//!
//! ```text
//! cargo run -p solder-link --example jit -- sm_90 out.cubin examples/quickstart/blur.cubin examples/quickstart/weights.cubin
//! ```

use solder_link::{Linker, Release};
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [arch, output, inputs @ ..] = &words[..] else {
        eprintln!("usage: jit ARCH OUTPUT INPUT...");
        return ExitCode::from(2);
    };
    match link(arch, inputs).and_then(|image| fs::write(output, image).map_err(|e| format!("{output}: {e}")))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// The linked image of some files.
fn link(arch: &str, inputs: &[String]) -> Result<Vec<u8>, String> {
    let release = Release::CUDA_13_0;
    let target = release.target(arch).ok_or(format!("{arch} is not an architecture"))?;
    let read = |name: &String| fs::read(name).map_err(|e| format!("{name}: {e}"));
    let bytes = inputs.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut linker = Linker::new(target, release);
    for (name, bytes) in inputs.iter().zip(&bytes) {
        linker.object(name.as_str(), bytes.as_slice());
    }
    let lines = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    linker.link().map(|output| output.image).map_err(lines)
}
