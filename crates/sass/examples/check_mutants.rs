//! Checks mutants: each line of the input names an object, an image, a section, an instruction of the image and the upper
//! half that it is to have instead. Prints those that are accepted, and how many are not.

use solder_cubin::Cubin;
use solder_sass::{Problem, check};
use std::collections::HashMap;
use std::io::{BufRead, stdin};

const INSTRUCTION: usize = 16;

fn main() {
    let mut files: HashMap<String, Vec<u8>> = HashMap::new();
    let lines: Vec<String> = stdin().lock().lines().map_while(Result::ok).collect();
    for path in lines.iter().flat_map(|line| line.split(' ').take(2)) {
        files.entry(path.to_owned()).or_insert_with(|| std::fs::read(path).expect("a file"));
    }
    let (mut found, mut other, mut total) = (0, 0, 0);
    let cubins: HashMap<&str, Cubin<'_>> =
        files.iter().map(|(path, bytes)| (path.as_str(), Cubin::parse(bytes).expect("a cubin"))).collect();
    for line in &lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [before, after, section, index, upper] = words[..] else { continue };
        let text = |path: &str| cubins[path].section(section).expect("a section").data.to_vec();
        let (before, mut after) = (text(before), text(after));
        let at = index.parse::<usize>().expect("an index") * INSTRUCTION;
        let upper = u64::from_str_radix(upper, 16).expect("a number");
        after[at + 8..at + INSTRUCTION].copy_from_slice(&upper.to_le_bytes());
        total += 1;
        match check(&before, &after, &[]) {
            Err(violation) if matches!(violation.problem, Problem::MissingWait { .. }) => found += 1,
            Err(_) => other += 1,
            Ok(()) => println!("accepted: {line}"),
        }
    }
    println!("{found} of {total} found by a missing wait, {other} otherwise");
}
