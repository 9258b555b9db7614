//! Says how two outcomes differ, shortly.

use super::case::{Case, Deviation, How};
use super::link::{Entry, Files, Outcome, Step};
use crate::process::Ending;

/// The differences between what nvlink did (or should have done) and what solder did.
pub fn outcomes(case: &Case, nvlink: &Outcome, solder: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    steps(case, &nvlink.steps, &solder.steps, &mut found);
    files(case, &nvlink.files, &solder.files, &mut found);
    found
}

/// From 13.1 on nvlink's `-v` prints what is in memory for the barriers of a kernel that uses none, as long as no kernel
/// before it uses one. Where solder prints that there are none, any number is right.
pub fn forget_stale_barriers(nvlink: &mut Outcome, solder: &Outcome) {
    for (theirs, ours) in nvlink.steps.iter_mut().zip(&solder.steps) {
        theirs.stdout = with_barriers_of(&theirs.stdout, &ours.stdout);
        theirs.stderr = with_barriers_of(&theirs.stderr, &ours.stderr);
    }
}

/// What nvlink printed, with solder's number of barriers where that is 0.
pub fn with_barriers_of(theirs: &[u8], ours: &[u8]) -> Vec<u8> {
    const BEFORE: &[u8] = b" registers, used ";
    const NONE: &[u8] = b" registers, used 0 ";
    let mut text = Vec::with_capacity(theirs.len());
    let mut ours = ours.split_inclusive(|byte| *byte == b'\n');
    for line in theirs.split_inclusive(|byte| *byte == b'\n') {
        let is_none = ours.next().is_some_and(|ours| find(ours, NONE).is_some());
        match find(line, BEFORE).filter(|_| is_none) {
            Some(at) => {
                let number = &line[at + BEFORE.len()..];
                // A count of 0 is printed before what was in memory, with its sign.
                let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
                let digits = number.iter().take_while(is_number).count();
                text.extend_from_slice(&line[..at + BEFORE.len()]);
                text.push(b'0');
                text.extend_from_slice(&number[digits..]);
            }
            None => text.extend_from_slice(line),
        }
    }
    text
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn steps(case: &Case, nvlink: &[Step], solder: &[Step], found: &mut Vec<String>) {
    for (index, (theirs, ours)) in nvlink.iter().zip(solder).enumerate() {
        let label = if nvlink.len() > 1 { format!("step {}: ", index + 1) } else { String::new() };
        if theirs.ending != ours.ending {
            found.push(format!("{label}nvlink: {}, solder: {}", theirs.ending, ours.ending));
        }
        for (stream, a, b) in
            [("stdout", &theirs.stdout, &ours.stdout), ("stderr", &theirs.stderr, &ours.stderr)]
        {
            if let Some(difference) = text(how(case, stream), a, b) {
                found.push(format!("{label}{stream} {difference}"));
            }
        }
    }
}

fn files(case: &Case, nvlink: &Files, solder: &Files, found: &mut Vec<String>) {
    for (name, theirs) in nvlink {
        match solder.get(name) {
            None => found.push(format!("{name}: written by nvlink only")),
            Some(ours) if ours != theirs => {
                found
                    .extend(entry(how(case, name), theirs, ours).into_iter().map(|d| format!("{name}: {d}")));
            }
            Some(_) => {}
        }
    }
    let extra = solder.keys().filter(|name| !nvlink.contains_key(*name));
    found.extend(extra.map(|name| format!("{name}: written by solder only")));
}

/// The last `compare:` line that names this file, or names none, decides.
fn how(case: &Case, name: &str) -> How {
    let fits = |files: &[String]| files.is_empty() || files.iter().any(|file| file == name);
    case.compare.iter().rev().find(|comparison| fits(&comparison.files)).map_or(How::Cubin, |found| found.how)
}

fn entry(how: How, theirs: &Entry, ours: &Entry) -> Vec<String> {
    let (Entry::File { mode, bytes: a }, Entry::File { mode: our_mode, bytes: b }) = (theirs, ours) else {
        return vec![format!("nvlink: {}, solder: {}", kind(theirs), kind(ours))];
    };
    let mut found = Vec::new();
    if mode != our_mode {
        found.push(format!("permissions {mode:o} by nvlink, {our_mode:o} by solder"));
    }
    if how == How::Cubin && a.starts_with(b"\x7fELF") && b.starts_with(b"\x7fELF") {
        let options = cubin_diff::Options { ignore_tkinfo: true };
        found.extend(cubin_diff::diff(a, b, &options).iter().map(ToString::to_string));
    } else {
        found.extend(text(how, a, b));
    }
    found
}

fn kind(entry: &Entry) -> String {
    match entry {
        Entry::Untouched => "left as it was".into(),
        Entry::File { bytes, .. } => format!("written ({} bytes)", bytes.len()),
        Entry::Link(target) => format!("link to {target}"),
        Entry::Folder => "folder".into(),
        Entry::Other => "special file".into(),
    }
}

/// The first differing line of a text, or the first differing byte of something else.
fn text(how: How, a: &[u8], b: &[u8]) -> Option<String> {
    match how {
        How::Exists => return None,
        How::Numbers => return text(How::Bytes, &without_numbers(a), &without_numbers(b)),
        How::Cubin | How::Bytes => {}
    }
    if a == b {
        return None;
    }
    let (Ok(a_text), Ok(b_text)) = (str::from_utf8(a), str::from_utf8(b)) else {
        let at = a.iter().zip(b).take_while(|(x, y)| x == y).count();
        return Some(format!("differs at byte {at:#x} ({} bytes by nvlink, {} by solder)", a.len(), b.len()));
    };
    let (mut theirs, mut ours) = (a_text.split_inclusive('\n'), b_text.split_inclusive('\n'));
    for number in 1.. {
        let (x, y) = (theirs.next(), ours.next());
        if x != y {
            let show = |line: Option<&str>| line.map_or("(end)".to_string(), |line| format!("{line:?}"));
            return Some(format!("line {number}\n    nvlink: {}\n    solder: {}", show(x), show(y)));
        }
        if x.is_none() {
            break;
        }
    }
    None
}

/// Every number, with its decimals and the blanks before it, becomes `0`.
fn without_numbers(text: &[u8]) -> Vec<u8> {
    let mut masked: Vec<u8> = Vec::with_capacity(text.len());
    let mut inside = false;
    for &byte in text {
        if byte.is_ascii_digit() || (inside && byte == b'.') {
            if !inside {
                masked.push(b'0');
            }
            inside = true;
        } else {
            masked.push(byte);
            inside = false;
        }
    }
    masked
}

/// Checks a case that states how solder differs. `reference` is what nvlink makes of `solder-same-as`.
pub fn deviation(
    case: &Case,
    stated: &Deviation,
    nvlink: &Outcome,
    (solder, before_last): (&Outcome, &Files),
    reference: Option<&Outcome>,
) -> Vec<String> {
    if outcomes(case, nvlink, solder).is_empty() {
        return vec!["solder does what nvlink does: the case no longer deviates".into()];
    }
    let mut found = Vec::new();
    let (Some((theirs, nvlink_earlier)), Some((ours, earlier))) =
        (nvlink.steps.split_last(), solder.steps.split_last())
    else {
        return found;
    };
    steps(case, nvlink_earlier, earlier, &mut found);
    let reference_step = reference.and_then(|outcome| outcome.steps.last());
    let expected_ending =
        stated.exit.map(Ending::Exit).or_else(|| reference_step.map(|step| step.ending.clone()));
    match &expected_ending {
        Some(expected) if *expected != ours.ending => {
            found.push(format!("expected {expected}, solder: {} (nvlink: {})", ours.ending, theirs.ending));
        }
        _ => {}
    }
    let streams = [
        ("stdout", &stated.stdout, &ours.stdout, reference_step.map(|step| &step.stdout)),
        ("stderr", &stated.stderr, &ours.stderr, reference_step.map(|step| &step.stderr)),
    ];
    for (stream, lines, printed, of_reference) in streams {
        let stated: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let expected = if lines.is_empty() { of_reference.cloned() } else { Some(stated.into_bytes()) };
        if let Some(difference) = expected.and_then(|expected| text(how(case, stream), &expected, printed)) {
            found.push(format!("{stream} ('nvlink' is what the case expects) {difference}"));
        }
    }
    match reference {
        Some(reference) => files(case, &reference.files, &solder.files, &mut found),
        None if ours.ending != Ending::Exit(0) && solder.files != *before_last => {
            found.push("solder failed, but changed files".into());
        }
        None => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::case::parse;

    fn outcome(code: i32, stderr: &str, out: Option<&[u8]>) -> Outcome {
        let step =
            Step { ending: Ending::Exit(code), stdout: Vec::new(), stderr: stderr.as_bytes().to_vec() };
        let file = out.map(|bytes| ("out".to_string(), Entry::File { mode: 0o644, bytes: bytes.to_vec() }));
        Outcome { steps: vec![step], files: file.into_iter().collect() }
    }

    fn case(extra: &str) -> Case {
        parse(&format!("# about: x\n# link: y\n{extra}")).unwrap()
    }

    #[test]
    fn every_observable_counts() {
        let nvlink = outcome(0, "", Some(b"a\n"));
        let count = |solder: &Outcome| outcomes(&case(""), &nvlink, solder).len();
        assert_eq!(count(&outcome(0, "", Some(b"a\n"))), 0);
        assert_eq!(count(&outcome(1, "", Some(b"a\n"))), 1);
        assert_eq!(count(&outcome(0, "x", Some(b"a\n"))), 1);
        assert_eq!(count(&outcome(0, "", Some(b"b\n"))), 1);
        assert_eq!(count(&outcome(0, "", None)), 1);
        assert_eq!(outcomes(&case(""), &outcome(0, "", None), &nvlink).len(), 1);
    }

    #[test]
    fn numbers_and_existence() {
        let (a, b) = (outcome(0, "", Some(b"t , 1.25 , ms")), outcome(0, "", Some(b"t , 17.5 , ms")));
        assert_eq!(outcomes(&case(""), &a, &b).len(), 1);
        assert_eq!(outcomes(&case("# compare: numbers out\n"), &a, &b).len(), 0);
        assert_eq!(outcomes(&case("# compare: exists\n"), &a, &b).len(), 0);
        assert_eq!(outcomes(&case("# compare: numbers other\n"), &a, &b).len(), 1);
    }

    #[test]
    fn deviations_are_held_to_their_word() {
        let case = case("# deviates: why\n# solder-exit: 1\n# solder-stderr: bad\n");
        let stated = case.deviation.as_ref().unwrap();
        let (nvlink, none) = (outcome(0, "", Some(b"a")), Files::new());
        let check = |solder: &Outcome| deviation(&case, stated, &nvlink, (solder, &none), None).len();
        assert_eq!(check(&outcome(1, "bad\n", None)), 0);
        assert_eq!(check(&outcome(1, "bad\nmore\n", None)), 1);
        assert_eq!(check(&outcome(1, "bad\n", Some(b"a"))), 1);
        assert_eq!(check(&outcome(255, "bad\n", None)), 1);
        assert_eq!(check(&outcome(0, "", Some(b"a"))), 1);
    }
}
