//! From the command line of a case to calls of the library.

use crate::words;

/// Options of nvlink that nvJitLink has too, with its words for them, and whether a value follows.
const OPTIONS: &[(&str, &str, bool)] = &[
    ("-arch", "-arch", true),
    ("-r", "-r", false),
    ("-g", "-g", false),
    ("-v", "-verbose", false),
    ("-verbose", "-verbose", false),
    ("--verbose", "-verbose", false),
    ("-kernels-used", "-kernels-used", true),
    ("-variables-used", "-variables-used", true),
    ("-maxrregcount", "-maxrregcount", true),
    ("-Xptxas", "-Xptxas", true),
    ("-Ofc", "-Ofc", true),
    ("-Ofast-compile", "--Ofast-compile", true),
    ("-device-stack-protector", "--device-stack-protector", true),
    ("-enable-extended-smem", "--enable-extended-smem", true),
    ("-lto", "-lto", false),
    ("-dlto", "-lto", false),
    ("-emit-ptx", "-ptx", false),
];

/// Options of nvlink with a list of names; the library takes a list for one name.
const LISTS: [&str; 2] = ["-kernels-used", "-variables-used"];

/// Options of nvlink that say nothing to the library.
const WITHOUT_MEANING: &[(&str, bool)] = &[("-o", true), ("-m64", false), ("-nvvmpath", true)];

/// What asks the assembler about itself. The one in the library answers otherwise than the program.
const QUESTIONS: [&str; 5] = ["-V", "--version", "-h", "--help", "-version-ls"];

/// The line of a script that says to fetch the IR as one module, too.
pub const LTO_IR: &str = "lto-ir";

/// What an input is, by its extension; anything else is for the library to tell.
const TYPES: &[(&str, u32)] = &[("cubin", 1), ("ptx", 2), ("ltoir", 3), ("fatbin", 4), ("o", 5), ("a", 6)];
const ANY: u32 = 10;

/// The script of a link line: `None` if it asks for something that nvJitLink does not have. Every second input is a file,
/// the others are data, and every third is of type "any"; `salt` says where the counting begins.
pub fn of(line: &str, salt: usize) -> Option<String> {
    let mut count = salt;
    let how = |known| {
        let kind = if count % 3 == 2 { ANY } else { known };
        let how = if count.is_multiple_of(2) { "data" } else { "file" };
        count += 1;
        (how, kind)
    };
    of_words(&words::split(line).ok()?, how)
}

/// The script of the words of a link line whose inputs are all data, of the type that their names say. Where nvlink takes a
/// list of names, the library takes an option for each.
pub fn from_memory(words: &[String]) -> Option<String> {
    let mut single = Vec::new();
    for word in words {
        let list = word.split_once('=').filter(|(name, list)| LISTS.contains(name) && list.contains(','));
        match list {
            Some((name, list)) => single.extend(list.split(',').map(|value| format!("{name}={value}"))),
            None => single.push(word.clone()),
        }
    }
    of_words(&single, |known| ("data", known))
}

/// `how` says of an input, from its type, how it is handed over and as what.
fn of_words(all: &[String], mut how: impl FnMut(u32) -> (&'static str, u32)) -> Option<String> {
    let mut script = Vec::new();
    let mut rest = all.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            let extension = word.rsplit_once('.').map_or("", |(_, extension)| extension);
            let known = TYPES.iter().find(|(name, _)| *name == extension).map_or(ANY, |(_, kind)| *kind);
            let (how, kind) = how(known);
            script.push(format!("{how}\t{kind}\t{word}"));
            continue;
        }
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        if let Some((_, takes_value)) = WITHOUT_MEANING.iter().find(|(known, _)| *known == name) {
            if *takes_value && joined.is_none() {
                rest.next()?;
            }
            continue;
        }
        let (_, own, takes_value) = OPTIONS.iter().find(|(known, ..)| *known == name)?;
        if !takes_value && joined.is_some() {
            return None;
        }
        let value =
            if *takes_value { Some(joined.or_else(|| rest.next().map(String::as_str))?) } else { None };
        if *own == "-Xptxas" && value.is_some_and(|value| QUESTIONS.contains(&value)) {
            return None;
        }
        // nvlink takes quotes off a list; nvJitLink has no such thing.
        if value.is_some_and(|value| value.contains(['"', '\t', '\n'])) {
            return None;
        }
        script.push(value.map_or(format!("option\t{own}"), |value| format!("option\t{own}={value}")));
    }
    let has_arch = script.iter().any(|line| line.starts_with("option\t-arch="));
    has_arch.then(|| script.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{from_memory, of};

    #[test]
    fn lines_become_calls() {
        let script = of("-arch=sm_90 a.cubin b.o -o out.cubin -v c.x", 0).expect("all of it is known");
        let expected = "option\t-arch=sm_90\ndata\t1\ta.cubin\nfile\t5\tb.o\noption\t-verbose\ndata\t10\tc.x";
        assert_eq!(script, expected);
        assert_eq!(of("-arch=sm_90 -dump-callgraph a.cubin", 0), None);
        assert_eq!(of("a.cubin", 0), None);
    }

    #[test]
    fn lists_become_an_option_for_each_name() {
        let words = ["-arch=sm_90", "-kernels-used=a,b", "-variables-used=c"].map(String::from);
        let expected = "option\t-arch=sm_90\noption\t-kernels-used=a\noption\t-kernels-used=b\noption\t-variables-used=c";
        assert_eq!(from_memory(&words).as_deref(), Some(expected));
    }
}
