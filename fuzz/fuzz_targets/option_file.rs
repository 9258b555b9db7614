#![no_main]

solder_fuzz_targets::target!("option-file");
