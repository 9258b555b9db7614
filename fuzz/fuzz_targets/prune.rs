#![no_main]

solder_fuzz_targets::target!("prune");
