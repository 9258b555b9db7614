//! `--help` and `--version`.

/// The help text for the tool's name.
pub fn help(tool: &str) -> String {
    format!("\nUsage  : {tool} [options] <objects>\n")
}

/// The version text for the tool's name.
pub fn version(tool: &str) -> String {
    format!("{tool}: solder, a device linker for CUDA, {}\n", env!("CARGO_PKG_VERSION"))
}
