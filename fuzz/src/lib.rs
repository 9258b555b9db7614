//! What the targets share: each feeds bytes to a target of `solder-fuzzing` and lets libFuzzer use its mutations
//! beside its own.

pub use libfuzzer_sys;
pub use solder_fuzzing::libfuzzer;

/// A target by its name.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::libfuzzer::run($name, data));

        $crate::libfuzzer_sys::fuzz_mutator!(
            |data: &mut [u8], size: usize, max_size: usize, seed: u32| {
                // Every other time without knowing the format.
                if seed % 2 == 0 {
                    $crate::libfuzzer_sys::fuzzer_mutate(data, size, max_size)
                } else {
                    $crate::libfuzzer::mutate($name, data, size, max_size, seed)
                }
            }
        );
    };
}
