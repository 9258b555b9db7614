//! Command lines and option files.

use solder::options::{Kind, TABLE};
use solder_arch::Release;

use super::bytes;
use crate::rng::Rng;

/// Options that change what a link does with its inputs.
const FOR_LINKS: [&str; 27] = [
    "-r",
    "-g",
    "-v",
    "-preserve-relocs",
    "-force-rela",
    "-dot=/dev/null",
    "-g -suppress-debug-info",
    "-dump-callgraph",
    "-suppress-stack-size-warning",
    "-use-host-info",
    "-ignore-host-info",
    "-keep-system-libraries",
    "-kernels-used=k,kernel",
    "-variables-used=v",
    "-allow-undefined-globals",
    "-disable-smem-reservation=true",
    "-enable-extended-smem=true",
    "-reserve-null-pointer",
    "-Werror",
    "-maxrregcount=16",
    "-report-arch",
    "-cuda-api-version=13.0",
    "--explain",
    "--explain --error-format=json",
    "--explain-regs",
    "-map=/dev/null",
    "-report=/dev/null",
];

/// The options of a link, by most often none or one of those that matter.
pub fn words(rng: &mut Rng, sm: u16) -> Vec<String> {
    let suffix = if sm >= 90 && rng.percent(10) { "a" } else { "" };
    let mut words = vec![format!("-arch=sm_{sm}{suffix}")];
    let count = [0, 0, 1, 1, 1, 2, 3][rng.below(7)];
    for _ in 0..count {
        words.extend(FOR_LINKS[rng.below(FOR_LINKS.len())].split(' ').map(String::from));
    }
    words
}

/// Options that have a link say more than nvlink does, or print names.
const FOR_REPORTS: [&str; 11] = [
    "-dump-callgraph",
    "--explain",
    "--error-format=json",
    "--explain-regs",
    "--explain-regs=k",
    "--map=/dev/null",
    "--report=/dev/null",
    "-dot=/dev/null",
    "--why-live=f,k",
    "--print-gc",
    "--trace=f,k",
];

/// Some of them, together with those of a link.
pub fn report_words(rng: &mut Rng, sm: u16) -> Vec<String> {
    let mut words = words(rng, sm);
    for _ in 0..=rng.below(4) {
        let word = FOR_REPORTS[rng.below(FOR_REPORTS.len())];
        if words.iter().all(|known| known.trim_start_matches('-') != word.trim_start_matches('-')) {
            words.push(word.into());
        }
    }
    words
}

/// Whether a word is one that `words` or `report_words` makes.
pub fn is_of_links(word: &str) -> bool {
    let known = FOR_LINKS.iter().chain(&FOR_REPORTS);
    word.starts_with("-arch=sm_") || known.flat_map(|options| options.split(' ')).any(|one| one == word)
}

const ODD_VALUES: [&str; 10] =
    ["=1", " 1", "=sm_90", "=a,b", "=", "=true", " \"a b\"", "=99999999999", "=-1", "=x\\\"y"];

/// An option file: options of the table with values that fit or do not.
pub fn file(rng: &mut Rng) -> Vec<u8> {
    let mut text = if rng.percent(70) { b"-arch=sm_90 a.cubin -o b.cubin ".to_vec() } else { Vec::new() };
    // Few options more often than many, which contradict one another.
    for _ in 0..[0, 1, 1, 2, 2, 3, 5, 12][rng.below(8)] {
        let Some(row) = rng.pick(&TABLE) else { break };
        let name = match row.short {
            Some(short) if rng.percent(50) => format!("-{short}"),
            _ => format!("--{}", row.long),
        };
        text.extend_from_slice(name.as_bytes());
        let sound = match row.kind {
            Kind::Flag => "",
            Kind::Bool => "=true",
            Kind::Number => "=1",
            _ => "=a",
        };
        let value = match rng.pick(row.values(Release::CUDA_13_0)) {
            _ if rng.percent(5) => ODD_VALUES[rng.below(ODD_VALUES.len())].to_string(),
            Some(allowed) => format!("={allowed}"),
            None => sound.to_string(),
        };
        text.extend_from_slice(value.as_bytes());
        text.push(b" \n\t"[rng.below(3)]);
    }
    text
}

pub(super) fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    let other = file(rng);
    if rng.percent(50) {
        let at = rng.below(text.len() + 1);
        text.splice(at..at, other);
    } else {
        bytes::anywhere(rng, text, &other);
    }
}
