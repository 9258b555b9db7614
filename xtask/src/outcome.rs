//! What a developer command returns.

/// The failure is a finished sentence for the terminal.
pub type Result<T> = std::result::Result<T, String>;
