//! `--help` and `--version`, in the form of nvlink's.

use solder_arch::Release;

use super::table::{self, Kind, Row};

const NAME_WIDTH: usize = 52;
const SHORT_WIDTH: usize = 28;
const INDENT: usize = 8;
const TEXT_WIDTH: usize = 80;

/// The help text, with the options sorted by their long names.
pub fn help(tool: &str, release: &Release) -> String {
    let mut rows: Vec<&Row> = table::rows(release).filter(|row| !row.is_hidden()).collect();
    rows.sort_by_key(|row| row.long);
    let mut text = format!("\nUsage  : {tool} [options] <objects>\n\nOptions\n=======\n\n");
    for row in rows {
        let name = long_form(row);
        let short = row.short.map_or(name.clone(), |short| format!("(-{short})"));
        text += &[padded(&name, NAME_WIDTH), padded(&short, SHORT_WIDTH)].concat();
        text.push('\n');
        text += &wrapped(row.help);
        let values = row.values(release);
        if values.len() > 1 {
            text += &wrapped(&format!("Allowed values for this option:  {}.", allowed(values)));
        }
        if !row.default.is_empty() {
            text += &wrapped(&format!("Default value:  {}.", row.default));
        }
        text.push('\n');
    }
    text
}

fn padded(text: &str, width: usize) -> String {
    format!("{text:width$}")
}

/// The version text; `by_inputs` if the release is that of the newest object of a link.
pub fn version(tool: &str, release: &Release, by_inputs: bool) -> String {
    let (version, build) = (env!("CARGO_PKG_VERSION"), own_version());
    let banner = release.banner();
    let or = if by_inputs { ", or an earlier one, as the newest object of a link asks" } else { "" };
    format!(
        "{tool}: solder, an open device linker for CUDA\n\
         Copyright (c) the solder authors, under MIT or Apache-2.0\n\
         Version {version}\n\
         In place of nvlink of the Cuda compilation tools, {banner}{or}\n\
         Build solder {build}\n"
    )
}

/// solder's own version, with the commit that it was built from.
pub fn own_version() -> String {
    let commit = option_env!("SOLDER_COMMIT").map_or(String::new(), |commit| format!(", commit {commit}"));
    format!("{}{commit}", env!("CARGO_PKG_VERSION"))
}

fn long_form(row: &Row) -> String {
    let repeated = if matches!(row.kind, Kind::List | Kind::Names | Kind::OptionFiles) { ",..." } else { "" };
    match row.argument {
        "" => format!("--{}", row.long),
        argument => format!("--{} <{argument}>{repeated}", row.long),
    }
}

/// The values, with a break allowed after each comma.
fn allowed(values: &[&str]) -> String {
    let names: Vec<_> = values.iter().map(|name| format!("'{name}'")).collect();
    names.join(", ")
}

fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > TEXT_WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out += &" ".repeat(INDENT);
        } else {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.len();
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_option_is_listed_and_no_other() {
        let text = help("solder", Release::NEWEST);
        for row in &table::TABLE {
            let listed =
                text.lines().any(|line| line.split_whitespace().next() == Some(&format!("--{}", row.long)));
            assert_eq!(listed, !row.is_hidden(), "{}", row.long);
        }
        assert!(text.lines().all(|line| line.trim_end().len() <= 110));
    }
}
