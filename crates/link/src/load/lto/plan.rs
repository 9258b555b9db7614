//! How the IR of a program is compiled.

use super::super::taken::Loaded;
use super::options::LtoOptions;
use crate::inputs::Input;

/// How the IR is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Other code takes part, or the output is to be linked again: everything visible stays.
    pub partial: bool,
    /// References outside of the IR may remain.
    pub device_c: bool,
}

impl Plan {
    /// For these inputs.
    pub fn new(options: &LtoOptions<'_>, inputs: &Loaded<'_>) -> Self {
        let partial = options.partial || inputs.objects.iter().any(|object| !object.is_runtime);
        let matters = |object: &Input<'_>| {
            object.is_runtime && inputs.first_host_code.is_some_and(|first| object.position > first)
        };
        let has_runtime = inputs.objects.iter().any(matters);
        Self { partial, device_c: partial || has_runtime }
    }
}
