//! Machine code as text. The toolkit's nvdisasm makes it: solder has no disassembler of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use solder_cubin::{Cubin as File, raw};
use solder_toolchain::Supervisor;

use super::options::Options;
use crate::toolchain::{self, Signals};

const NAME: &str = "nvdisasm";

pub(super) struct Disassembler {
    program: PathBuf,
    /// The cubin that it reads.
    file: PathBuf,
}

impl Disassembler {
    /// The one beside the program, or that of the toolkit that the environment names, or the first on `PATH`.
    pub(super) fn find() -> Result<Self, String> {
        let environment = toolchain::environment();
        let program = environment.find_tool(NAME).map_err(|_| {
            "--sass needs nvdisasm of the CUDA toolkit, and there is none: set SOLDER_TOOLKIT or CUDA_HOME to a toolkit \
             that has it, or add its folder to PATH (the Python package nvidia-cuda-nvdisasm has it too)"
        })?;
        let name = format!("solder-sass-{}.cubin", std::process::id());
        Ok(Self { program, file: environment.temporary.join(name) })
    }

    /// The text of a cubin, or of the functions that are asked for.
    pub(super) fn text(&self, bytes: &[u8], options: &Options) -> Result<String, String> {
        let functions = functions(bytes, options)?;
        if functions.is_empty() {
            return Ok(String::new());
        }
        let signals = Signals;
        let guard = signals.temporary_file(&self.file);
        let failed = |error: std::io::Error| format!("'{}': {error}", self.file.display());
        fs::write(&self.file, bytes).map_err(failed)?;
        let mut command = Command::new(&self.program);
        command.arg("--print-code").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !options.kernels.is_empty() {
            let numbers: Vec<String> = functions.iter().map(u32::to_string).collect();
            command.arg(format!("--cuda-function-index={}", numbers.join(",")));
        }
        let output = signals.run(command.arg(&self.file));
        drop(guard);
        let _ = fs::remove_file(&self.file);
        let output = output.map_err(|error| format!("'{}': {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let said = said.replace(&self.file.display().to_string(), "the member");
        Err(if said.is_empty() { format!("nvdisasm ends with {}", output.status) } else { said })
    }
}

/// The numbers of the symbols of functions with code that are asked for.
fn functions(bytes: &[u8], options: &Options) -> Result<Vec<u32>, String> {
    let file = File::parse(bytes).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    for (index, symbol) in file.symbols.iter().enumerate() {
        let is_code = symbol.kind() == raw::STT_FUNC && symbol.is_defined();
        let name = file.symbol_name(index as u32).map(ToString::to_string).unwrap_or_default();
        if is_code && options.wants_name(&name) {
            found.push(index as u32);
        }
    }
    Ok(found)
}
