//! Finalizes objects and compares with what nvlink made of them: takes pairs of an object and of the image linked from it
//! without `-g`. Relocations are not applied, so that opcodes and control words are compared, not operands. `--for SM` names
//! another target than the architecture of the object; `--all` also names what is the same.

mod common;

use bstr::BStr;
use common::jumps;
use solder_arch::Release;
use solder_cubin::{Cubin, raw};
use solder_sass::finalize::{Finalize, finalize, is_for_debugger, release_stack_pointer};
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::schedule::Family;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let target = (arguments.first().is_some_and(|word| word == "--for"))
        .then(|| arguments.drain(..2).nth(1).and_then(|sm| sm.parse().ok()).expect("a number"));
    let all = arguments.first().is_some_and(|word| word == "--all");
    if all {
        arguments.remove(0);
    }
    let (mut same, mut different, mut time) = (0, 0, Duration::ZERO);
    for paths in arguments.chunks_exact(2) {
        let [object, image] = [0, 1].map(|at| std::fs::read(&paths[at]).expect("a file"));
        let [object, image] = [&object, &image].map(|bytes| Cubin::parse(bytes).expect("a cubin"));
        let sm = target.unwrap_or(object.sm());
        let start = Instant::now();
        let what = Finalize {
            release: Release::CUDA_13_0,
            sm,
            has_barriers: is_for_debugger(&object),
            is_whole: true,
        };
        let finalized = finalize(&object, what).expect("known capsules");
        let object = finalized.as_deref().map_or(Ok(object), Cubin::parse).expect("a cubin");
        time += start.elapsed();
        for text in object.sections.iter().filter(|section| section.name.starts_with(b".text.")) {
            let Some(expected) = image.section(text.name).map(|section| section.data) else { continue };
            let name = &text.name[".text.".len()..];
            let mut code = text.data.to_vec();
            let owner = object.symbols.get((text.info() & 0x00ff_ffff) as usize);
            if owner.is_some_and(|owner| owner.other & raw::STO_ENTRY != 0) {
                let start = Instant::now();
                release_stack_pointer(
                    &mut code,
                    capsule(&object, name),
                    Family::of(sm, Release::CUDA_13_0),
                    |_| jumps(&object, name),
                );
                time += start.elapsed();
            }
            match first_difference(&code, expected) {
                None => same += 1,
                Some(_) => different += 1,
            }
            match first_difference(&code, expected) {
                Some(at) => println!("{} {name}: {at}", paths[0]),
                None if all => println!("{} {name}: ok", paths[0]),
                None => {}
            }
        }
    }
    println!("{same} the same, {different} different, {time:?}");
}

/// The first instruction whose opcode or control word differs, or where one code ends before the other.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let shown = |code: &[u8], at: usize| {
        let instruction = Instruction::at(code, at);
        (instruction.opcode(), instruction.0 >> 105)
    };
    let length = a.len().max(b.len()) / SIZE;
    (0..length).find(|at| shown(a, *at) != shown(b, *at))
}

/// The capsule of a function.
fn capsule<'data>(object: &Cubin<'data>, name: &BStr) -> &'data [u8] {
    object.section([b".nv.capmerc.text.", &**name].concat()).map_or(&[], |section| section.data)
}
