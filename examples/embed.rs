//! Links the cubins of `examples/quickstart` in memory.
//!
//! ```text
//! cargo run -p solder-link --example embed
//! ```

use solder_link::{Linker, Pool, Release};
use std::process::ExitCode;

const BLUR: &[u8] = include_bytes!("quickstart/blur.cubin");
const WEIGHTS: &[u8] = include_bytes!("quickstart/weights.cubin");

fn main() -> ExitCode {
    let release = Release::CUDA_13_0;
    let Some(target) = release.target("sm_90") else { return ExitCode::FAILURE };
    // Links can share threads. They are started by the first link that is large enough to be worth it.
    let pool = Pool::new(2);

    let mut linker = Linker::new(target, release);
    linker.pool(&pool).verbose(true).object("blur.cubin", BLUR).object("weights.cubin", WEIGHTS);
    match linker.link() {
        Ok(output) => {
            for diagnostic in &output.report.diagnostics {
                println!("{diagnostic}");
            }
            println!("an image of {} bytes for {target}", output.image.len());
        }
        Err(problems) => {
            for problem in &problems {
                println!("{problem}");
            }
            return ExitCode::FAILURE;
        }
    }

    // The function that blur.cubin calls is in weights.cubin: without it, diagnostics say what is missing.
    match Linker::new(target, release).object("blur.cubin", BLUR).link() {
        Ok(_) => ExitCode::FAILURE,
        Err(problems) => {
            for problem in &problems {
                let fields: Vec<String> = problem
                    .fields()
                    .iter()
                    .map(|(name, value)| format!("{name} = {}", String::from_utf8_lossy(value)))
                    .collect();
                println!("without weights.cubin: {} ({})", problem.code(), fields.join(", "));
            }
            ExitCode::SUCCESS
        }
    }
}
