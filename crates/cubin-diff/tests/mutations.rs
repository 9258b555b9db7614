//! Nothing may be overlooked and nothing may panic: real cubins, changed byte by byte and cut short.

use cubin_diff::{Difference, Kind, Options, diff};
use std::path::Path;

const PLAIN: Options = Options { ignore_tkinfo: false };
const IGNORE: Options = Options { ignore_tkinfo: true };
const ARCHS: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

fn fixture(name: &str, arch: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(format!("{name}.{arch}.cubin"))).unwrap()
}

/// Where the linker's own note lies: the first of its section.
fn linker_note(file: &[u8]) -> std::ops::Range<usize> {
    let cubin = solder_cubin::Cubin::parse(file).unwrap();
    let notes = cubin.section(".note.nv.tkinfo").unwrap();
    let first = solder_cubin::note::notes(notes.data).next().unwrap();
    let start = notes.header.offset.get() as usize;
    start..start + 24 + first.desc.len()
}

/// Changes every byte of `file` in turn, one bit or all of them, and gives what is said of it against `other`.
fn each_change(other: &[u8], file: &[u8], options: Options, mut check: impl FnMut(usize, u8, &[Difference])) {
    let mut changed = file.to_vec();
    for at in 0..file.len() {
        let bits = if at % 3 == 0 { 0xff } else { 1 << (at % 8) };
        changed[at] ^= bits;
        check(at, bits, &diff(other, &changed, &options));
        changed[at] ^= bits;
    }
}

#[test]
fn every_byte_counts() {
    for name in ["kernel", "linked"] {
        for arch in ARCHS {
            let file = fixture(name, arch);
            each_change(&file, &file, PLAIN, |at, bits, found| {
                assert!(!found.is_empty(), "{name}.{arch}: byte {at:#x} ^ {bits:#x} is overlooked");
            });
        }
    }
}

#[test]
fn every_byte_counts_but_the_linkers_note() {
    for arch in ARCHS {
        let file = fixture("linked", arch);
        let note = linker_note(&file);
        each_change(&file, &file, IGNORE, |at, bits, found| {
            assert!(
                !found.is_empty() || note.contains(&at),
                "{arch}: byte {at:#x} ^ {bits:#x} is overlooked"
            );
        });
        let descriptor = note.start + 0x90..note.start + 0x98;
        for at in descriptor {
            let mut changed = file.clone();
            changed[at] ^= 1;
            assert_eq!(diff(&file, &changed, &IGNORE), [], "{arch}: the linker's command line at {at:#x}");
            assert_ne!(diff(&file, &changed, &PLAIN), []);
        }
    }
}

#[test]
fn a_longer_note_of_the_linker_hides_nothing() {
    for arch in ARCHS {
        let (file, longer) = (fixture("linked", arch), fixture("linked-options", arch));
        assert_ne!(diff(&file, &longer, &PLAIN), []);
        assert_eq!(diff(&file, &longer, &IGNORE), [], "{arch}");
        let note = linker_note(&longer);
        each_change(&file, &longer, IGNORE, |at, bits, found| {
            assert!(
                !found.is_empty() || note.contains(&at),
                "{arch}: byte {at:#x} ^ {bits:#x} is overlooked"
            );
        });
    }
}

#[test]
fn cut_files_are_reported_and_never_panic() {
    for arch in ARCHS {
        let file = fixture("linked", arch);
        for end in 0..file.len() {
            let found = diff(&file, &file[..end], &IGNORE);
            assert!(
                !found.is_empty() && diff(&file[..end], &file, &PLAIN).len() == found.len(),
                "{arch}: {end:#x}"
            );
        }
    }
}

/// Several changes at once, in both files, reach combinations that single ones do not.
#[test]
fn damaged_files_never_panic() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for arch in ARCHS {
        let files = [fixture("linked", arch), fixture("linked-options", arch)];
        for _ in 0..4_000 {
            let mut pair = files.clone();
            for file in &mut pair {
                for _ in 0..=random(6) {
                    let at = random(file.len());
                    file[at] = [0, 0xff, 0x80, random(256) as u8][random(4)];
                }
            }
            let found = diff(&pair[0], &pair[1], &IGNORE);
            assert_eq!(found.is_empty(), diff(&pair[1], &pair[0], &IGNORE).is_empty());
        }
    }
}

#[test]
fn other_files_are_compared_as_bytes() {
    assert_eq!(diff(b"abc", b"abc", &PLAIN), []);
    let found = diff(b"abc", b"abd", &PLAIN);
    assert!(found.iter().all(|difference| difference.kind == Kind::Bytes), "{found:?}");
    let file = fixture("kernel", "sm_90");
    let found = diff(&file, &file[..0x1000], &PLAIN);
    assert_eq!(found[0].kind, Kind::Unreadable);
    assert_eq!(diff(&file[..0x1000], &file[..0x1000], &PLAIN), []);
}
