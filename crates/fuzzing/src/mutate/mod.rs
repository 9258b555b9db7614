//! Changes to an input in the terms of its kind, so that most of them pass the door and go wrong further in.

mod archive;
mod bytes;
mod elf;
mod fatbin;
mod host;
pub mod names;
mod options;
mod records;

use crate::corpus::{Corpus, Kind};
use crate::rng::Rng;

pub use options::{file as option_file, is_of_links, report_words, words as option_words};

/// Changes an input once.
pub fn mutate(rng: &mut Rng, kind: Kind, input: &mut Vec<u8>, corpus: &Corpus) {
    if rng.percent(8) {
        let other = any(rng, kind, corpus);
        return bytes::anywhere(rng, input, &other);
    }
    match kind {
        Kind::Cubin => elf::mutate(rng, input, corpus),
        Kind::Fatbin => fatbin::mutate(rng, input, corpus),
        Kind::Archive => archive::mutate(rng, input, corpus),
        Kind::HostObject => host::mutate(rng, input, corpus),
        Kind::OptionFile => options::mutate(rng, input),
    }
}

/// Changes an input a few times, most often once or twice.
pub fn mutate_some(rng: &mut Rng, kind: Kind, input: &mut Vec<u8>, corpus: &Corpus) {
    let times = [1, 1, 1, 2, 2, 3, 4, 8][rng.below(8)];
    for _ in 0..times {
        mutate(rng, kind, input, corpus);
    }
}

/// An undamaged input of a kind: one of the corpus, or one that is put together from its device code.
pub fn any(rng: &mut Rng, kind: Kind, corpus: &Corpus) -> Vec<u8> {
    if rng.percent(60)
        && let Some(found) = rng.pick(corpus.of(kind))
    {
        return found.clone();
    }
    match kind {
        Kind::Cubin => rng.pick(&corpus.devices).map(|device| device.bytes.clone()).unwrap_or_default(),
        Kind::Fatbin => {
            let chosen = corpus.linked_together(rng);
            let devices = chosen.iter().map(|&index| &corpus.devices[index]);
            fatbin::build(rng, devices)
        }
        Kind::HostObject => {
            let device = rng.below(corpus.devices.len());
            host::of_device(rng, &corpus.devices[device])
        }
        Kind::Archive => {
            let chosen = corpus.linked_together(rng);
            let members: Vec<_> =
                chosen.iter().map(|&index| host::of_device(rng, &corpus.devices[index])).collect();
            archive::build(&members)
        }
        Kind::OptionFile => option_file(rng),
    }
}

/// Changes the contents of a section: attributes, or whatever else is in it.
pub fn records(rng: &mut Rng, input: &mut Vec<u8>) {
    if input.len() >= 4 && rng.percent(60) {
        records::change_attribute(rng, input);
    } else {
        bytes::anywhere(rng, input, &[4, 0x2f, 8, 0, 1, 0, 0, 0, 9, 0, 0, 0]);
    }
}

/// Device code in a form that a host compiler gives it.
pub fn wrap(rng: &mut Rng, kind: Kind, device: &crate::corpus::Device) -> Vec<u8> {
    match kind {
        Kind::Fatbin => fatbin::build(rng, [device]),
        Kind::HostObject => host::of_device(rng, device),
        Kind::Archive => archive::build(&[host::of_device(rng, device)]),
        Kind::Cubin | Kind::OptionFile => device.bytes.clone(),
    }
}
