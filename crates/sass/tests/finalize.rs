//! Objects in `data/finalize` become what nvlink made of them, and damaged ones do no harm.

use solder_arch::Release;
use solder_cubin::info::{self, format};
use solder_cubin::{Cubin, raw};
use solder_sass::finalize::{Finalize, finalize, is_for_debugger, release_stack_pointer};
use solder_sass::instruction::{Instruction, SIZE};
use solder_sass::schedule::Family;
use std::path::Path;

/// Name, target, whether it was linked with `-g`.
const OBJECTS: [(&str, u16, bool); 5] = [
    ("fences", 120, false),
    ("exits", 100, true),
    ("other-member", 103, false),
    ("older-12.8", 120, false),
    ("older-12.9", 100, false),
];

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/finalize").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn what(sm: u16, is_debug: bool) -> Finalize<'static> {
    Finalize { release: Release::CUDA_13_0, sm, has_barriers: is_debug, is_whole: !is_debug }
}

fn finalized(name: &str, sm: u16, is_debug: bool) -> Vec<u8> {
    let object = data(&format!("{name}.cubin"));
    let cubin = Cubin::parse(&object).expect("a cubin");
    finalize(&cubin, what(sm, is_debug)).expect("known code").unwrap_or_else(|| panic!("{name}: no change"))
}

/// Opcodes and control words. Operands may be relocated.
fn schedule(code: &[u8]) -> Vec<(u16, u128)> {
    let of = |instruction: Instruction| (instruction.opcode(), instruction.0 >> 105);
    (0..code.len() / SIZE).map(|at| of(Instruction::at(code, at))).collect()
}

#[test]
fn code_is_that_of_nvlink() {
    for (name, sm, is_debug) in OBJECTS {
        let (object, image) = (finalized(name, sm, is_debug), data(&format!("{name}.linked.cubin")));
        let [object, image] = [&object, &image].map(|bytes| Cubin::parse(bytes).expect("a cubin"));
        let [code, expected] = [&object, &image].map(|cubin| cubin.section(".text.k").expect("code").data);
        let mut code = code.to_vec();
        if !is_debug {
            release_stack_pointer(&mut code, &[], Family::of(sm, Release::CUDA_13_0), |_| Vec::new());
        }
        assert_eq!(schedule(&code), schedule(expected), "{name}");
    }
}

#[test]
fn what_names_places_moves_with_the_code() {
    /// Attributes that are lists of places: exits, and where warps meet.
    const PLACES: [u8; 3] = [0x1c, 0x28, 0x31];
    let places = |cubin: &Cubin<'_>| -> Vec<(u8, Vec<u8>)> {
        let records = info::records(cubin.section(".nv.info.k").expect("attributes").data).flatten();
        let is_list = |r: &info::Record<'_>| r.format == format::SIZED && PLACES.contains(&r.attr);
        let mut lists: Vec<_> = records.filter(is_list).map(|r| (r.attr, r.payload.to_vec())).collect();
        lists.sort();
        lists
    };
    let size = |cubin: &Cubin<'_>| {
        let is_kernel = |s: &&raw::Symbol| s.kind() == raw::STT_FUNC && s.other & raw::STO_ENTRY != 0;
        let kernel = cubin.symbols.iter().find(is_kernel).expect("a kernel");
        (kernel.value.get(), kernel.size.get())
    };
    for (name, sm, is_debug) in OBJECTS {
        let (object, image) = (finalized(name, sm, is_debug), data(&format!("{name}.linked.cubin")));
        let [object, image] = [&object, &image].map(|bytes| Cubin::parse(bytes).expect("a cubin"));
        assert_eq!(places(&object), places(&image), "{name}");
        assert_eq!(size(&object), size(&image), "{name}");
    }
}

#[test]
fn the_lines_of_moved_code_are_those_of_nvlink() {
    let (object, image) = (finalized("exits", 100, true), data("exits.linked.cubin"));
    let [object, image] = [&object, &image].map(|bytes| Cubin::parse(bytes).expect("a cubin"));
    for table in [".debug_line", ".nv_debug_line_sass"] {
        let [object, image] = [&object, &image].map(|cubin| cubin.section(table).expect("lines").data);
        assert!(object == image, "{table}");
    }
}

/// A second time there is nothing to do for code of this toolkit and the target's architecture.
#[test]
fn what_is_finalized_stays() {
    for (name, sm, is_debug) in [OBJECTS[0], OBJECTS[1]] {
        let object = finalized(name, sm, is_debug);
        let cubin = Cubin::parse(&object).expect("a cubin");
        assert_eq!(finalize(&cubin, what(sm, is_debug)).map(|again| again.is_some()), Ok(false), "{name}");
    }
}

#[test]
fn only_a_debuggers_code_makes_a_link_one_for_a_debugger() {
    for (name, ..) in OBJECTS {
        let object = data(&format!("{name}.cubin"));
        assert!(!is_for_debugger(&Cubin::parse(&object).expect("a cubin")), "{name}");
    }
}

/// Bytes of an object are damaged, one at a time, in several ways. What comes of it does not matter, but it comes.
#[test]
fn damaged_objects() {
    for (name, sm, is_debug) in OBJECTS {
        let object = data(&format!("{name}.cubin"));
        for at in (0..object.len()).step_by(5) {
            let mut damaged = object.clone();
            damaged[at] = [0xff, 0, damaged[at] ^ 1, damaged[at].wrapping_add(0x40)][at % 4];
            if let Ok(cubin) = Cubin::parse(&damaged) {
                let all = Finalize {
                    release: Release::CUDA_13_0,
                    sm,
                    has_barriers: at % 3 == 0 || is_debug,
                    is_whole: true,
                };
                let _ = finalize(&cubin, all);
            }
        }
    }
}
