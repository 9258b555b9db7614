//! What two libraries did, side by side.

use crate::process::Ending;

/// What a library did.
pub struct Outcome {
    pub is_whole: bool,
    pub ending: Ending,
    /// On the process's own streams.
    pub printed: Vec<u8>,
    /// A line for every call.
    pub codes: String,
    pub cubin: Option<Vec<u8>>,
    pub ptx: Option<Vec<u8>>,
    /// All IR as one module.
    pub lto_ir: Option<Vec<u8>>,
    pub error: Vec<u8>,
    pub info: Vec<u8>,
}

pub enum Verdict {
    Equal,
    /// NVIDIA's library crashed, hung or ended the process, and solder's did not.
    Survived(String),
    /// NVIDIA's library printed errors and went on, solder's reports them.
    Refused,
    /// The case says that solder differs from nvlink, or the image is one after undefined references.
    Deviates,
    /// An input cannot be made.
    Skipped(String),
    Differs(Vec<String>),
    Failed(String),
}

const UNDEFINED: &[u8] = b"error   : Undefined reference";

/// Compares NVIDIA's with solder's.
pub fn outcomes(theirs: &Outcome, ours: &Outcome) -> Verdict {
    let mut differences = Vec::new();
    if !ours.is_whole {
        return Verdict::Differs(vec![format!("solder: {}", ours.ending)]);
    }
    if !ours.printed.is_empty() {
        differences.push(format!("solder printed {:?}", String::from_utf8_lossy(&ours.printed)));
    }
    if !theirs.is_whole {
        return if differences.is_empty() {
            Verdict::Survived(theirs.ending.to_string())
        } else {
            Verdict::Differs(differences)
        };
    }
    if theirs.codes != ours.codes {
        differences.push(format!("codes:{}", side_by_side(theirs.codes.as_bytes(), ours.codes.as_bytes())));
    }
    if !same_logs(theirs, ours) {
        let with =
            |outcome: &Outcome| [&outcome.printed[..], &outcome.error, b"--\n", &outcome.info].concat();
        differences.push(format!("logs:{}", side_by_side(&with(theirs), &with(ours))));
    }
    match (&theirs.cubin, &ours.cubin) {
        (Some(theirs), Some(ours)) => differences.extend(images(theirs, ours)),
        (None, None) => {}
        (theirs, _) => {
            differences
                .push(format!("a cubin of {}", if theirs.is_some() { "NVIDIA's" } else { "solder's" }));
        }
    }
    if theirs.ptx != ours.ptx {
        differences.push("the PTX".into());
    }
    if theirs.lto_ir != ours.lto_ir {
        differences.push("the IR".into());
    }
    // The image after undefined references is not for use.
    let is_undefined = theirs.error.windows(UNDEFINED.len()).any(|part| part == UNDEFINED);
    if is_undefined && !differences.is_empty() && differences.iter().all(|text| text.starts_with("cubin: ")) {
        return Verdict::Deviates;
    }
    let printed_errors = [&theirs.printed, &theirs.error]
        .iter()
        .flat_map(|text| lines(text))
        .any(|line| line.contains("error   : ") || line.contains("fatal   : "));
    match differences.is_empty() {
        true => Verdict::Equal,
        false
            if printed_errors
                && ours.codes.lines().any(|line| !line.ends_with('0') && line.starts_with("complete")) =>
        {
            Verdict::Refused
        }
        false => Verdict::Differs(differences),
    }
}

/// How two images differ, but for the linker's own words.
pub fn images(theirs: &[u8], ours: &[u8]) -> Vec<String> {
    let found = cubin_diff::diff(theirs, ours, &cubin_diff::Options { ignore_tkinfo: true });
    found.iter().take(3).map(|difference| format!("cubin: {difference}")).collect()
}

/// Logs are equal, or NVIDIA's library printed a part of them on the process's streams.
fn same_logs(theirs: &Outcome, ours: &Outcome) -> bool {
    if lines(&theirs.error) == lines(&ours.error) && lines(&theirs.info) == lines(&ours.info) {
        return true;
    }
    let all = |outcome: &Outcome| {
        let mut all = [&outcome.printed, &outcome.error, &outcome.info].map(|text| lines(text)).concat();
        all.sort();
        all
    };
    all(theirs) == all(ours)
}

/// Lines of text, in which a time is any time.
fn lines(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let timeless = |line: &str| match line.split_once("ompile time = ") {
        Some((before, _)) => format!("{before}ompile time"),
        None => line.to_owned(),
    };
    text.trim_end_matches('\0').lines().map(timeless).collect()
}

fn side_by_side(theirs: &[u8], ours: &[u8]) -> String {
    let (theirs, ours) = (lines(theirs), lines(ours));
    let of = |side: &[String], at: usize| side.get(at).cloned().unwrap_or_default();
    let differ = (0..theirs.len().max(ours.len())).filter(|at| of(&theirs, *at) != of(&ours, *at));
    differ
        .map(|at| format!("\n      NVIDIA: {:?}\n      solder: {:?}", of(&theirs, at), of(&ours, at)))
        .collect::<Vec<_>>()
        .concat()
}

/// Prints what differs and how often, and returns the number of failures.
pub fn report(verdicts: &[(String, Verdict)]) -> usize {
    let mut counts = [0; 6];
    for (id, verdict) in verdicts {
        let (at, text) = match verdict {
            Verdict::Equal => (0, None),
            Verdict::Survived(ending) => (1, Some(format!("only NVIDIA's library: {ending}"))),
            Verdict::Refused => (2, Some("NVIDIA's library printed errors and went on".into())),
            Verdict::Deviates => (5, Some("deviates, as is known".into())),
            Verdict::Skipped(reason) => (3, Some(format!("skipped: {reason}"))),
            Verdict::Differs(differences) => {
                (4, Some(format!("DIFFERS\n    {}", differences.join("\n    "))))
            }
            Verdict::Failed(message) => (4, Some(format!("FAILED {message}"))),
        };
        counts[at] += 1;
        if let Some(text) = text {
            println!("{id}: {text}");
        }
    }
    let [equal, survived, refused, skipped, failed, deviate] = counts;
    println!(
        "{equal} equal, {survived} in which only NVIDIA's library crashed or hung, {refused} in which it printed errors \
         and went on, {deviate} deviate as is known, {skipped} skipped, {failed} differ"
    );
    failed
}
