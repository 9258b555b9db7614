//! Checks what a linker made of the machine code of objects: takes pairs of an object and the image that was linked from
//! it, and compares the functions that both have. Relocated places are taken from the image.

use solder_cubin::Cubin;
use solder_sass::check;
use std::time::Instant;

const INSTRUCTION: usize = 16;
/// Above this bit of an instruction there are no relocated fields.
const CONTROL: u32 = 105;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut same, mut accepted, mut refused) = (0, 0, 0);
    let mut time = std::time::Duration::ZERO;
    for pair in arguments.chunks_exact(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|path| std::fs::read(path).expect("a file"));
        let [before, after] = [&before, &after].map(|bytes| Cubin::parse(bytes).expect("a cubin"));
        for text in before.sections.iter().filter(|s| s.name.starts_with(b".text.")) {
            let Some(new) = after.sections.iter().find(|s| s.name == text.name) else { continue };
            let mut old = text.data.to_vec();
            take_relocated(&before, text.index, &mut old, new.data);
            let start = Instant::now();
            let result = check(&old, new.data, &[]);
            time += start.elapsed();
            match result {
                Ok(()) if old == new.data => same += 1,
                Ok(()) => accepted += 1,
                Err(violation) => {
                    refused += 1;
                    println!("{} {}: {violation} ({:x})", pair[1], text.name, violation.at * INSTRUCTION);
                }
            }
        }
    }
    println!("{same} the same, {accepted} accepted, {refused} refused, {time:?}");
}

fn instruction(code: &[u8], index: usize) -> u128 {
    code[index * INSTRUCTION..].first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

/// Puts what the image has at relocated places of the object into the object's code. Code may
/// have moved: the nth instruction of a kind is taken for the nth one of it.
fn take_relocated(object: &Cubin<'_>, text: u32, old: &mut [u8], new: &[u8]) {
    for list in object.sections.iter().filter(|s| s.name.starts_with(b".rel") && s.info() == text) {
        for entry in list.relocations().into_iter().flat_map(|entries| entries.iter().collect::<Vec<_>>()) {
            let at = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX) / INSTRUCTION;
            let kind = |code: &[u8], index: usize| instruction(code, index) & 0xfff;
            let this = kind(old, at);
            let count = (0..at).filter(|index| kind(old, *index) == this).count();
            let mut same = (0..new.len() / INSTRUCTION).filter(|index| kind(new, *index) == this);
            let Some(place) = same.nth(count) else { continue };
            let mask = (1u128 << CONTROL) - 1;
            let mixed = instruction(old, at) & !mask | instruction(new, place) & mask;
            old[at * INSTRUCTION..][..INSTRUCTION].copy_from_slice(&mixed.to_le_bytes());
        }
    }
}
