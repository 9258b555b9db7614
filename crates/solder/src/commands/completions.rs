//! `solder completions SHELL`: completion of options, made from their table.

use std::ffi::OsString;
use std::fmt::Write;

use super::words::{NAMES, print};
use crate::options::{Kind, Row, TABLE};
use solder_arch::Release;

/// Makes the script of a shell.
type Maker = fn() -> String;

const SHELLS: [(&str, Maker); 3] = [("bash", bash), ("zsh", zsh), ("fish", fish)];

pub fn run(words: &[OsString]) -> Result<(), String> {
    let usage = || "expected one of bash, zsh, fish".to_string();
    let [shell] = words else { return Err(usage()) };
    if shell == "-h" || shell == "--help" {
        print("usage: solder completions bash|zsh|fish\n\nPrints a completion script for the shell.\n");
        return Ok(());
    }
    let (_, make) = SHELLS.iter().find(|(name, _)| shell == name).ok_or_else(usage)?;
    print(&make());
    Ok(())
}

fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| !row.is_hidden())
}

/// Options that may have a value are offered without one.
fn takes_value(row: &Row) -> bool {
    !matches!(row.kind, Kind::Flag | Kind::Optional | Kind::OptionalName)
}

/// The values to choose from.
fn values(row: &Row) -> Vec<&'static str> {
    match row.kind {
        Kind::Bool => vec!["true", "false"],
        _ => row.values(Release::NEWEST).to_vec(),
    }
}

/// The first sentence of the help.
fn summary(row: &Row) -> &'static str {
    let end = row.help.find([';', ':']).or_else(|| row.help.find(". ")).unwrap_or(row.help.len());
    row.help[..end].trim_end_matches('.')
}

fn subcommands() -> Vec<&'static str> {
    NAMES.to_vec()
}

fn bash() -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cases = String::new();
    for row in rows() {
        let joined = if takes_value(row) { "=" } else { "" };
        words.push(format!("--{}{joined}", row.long));
        let short = row.short.filter(|short| *short != row.long);
        words.extend(short.map(|short| format!("-{short}")));
        let values = values(row);
        if !values.is_empty() {
            let short = row.short.map_or(String::new(), |short| format!("|-{short}"));
            let list = values.join(" ");
            let _ = writeln!(cases, "        --{}{short}) values=\"{list}\" ;;", row.long);
        }
    }
    format!(
        r#"# bash completion for solder, made by 'solder completions bash'
_solder() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" values=""
    # '=' is a word of its own, unless somebody took it out of COMP_WORDBREAKS.
    if [[ $word == "=" ]]; then
        word=""
    elif [[ $before == "=" ]]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    case "$before" in
{cases}    esac
    if [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "{words}" -- "$word")
        [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
    elif [[ $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "{commands}" -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}}
complete -o filenames -F _solder solder
"#,
        words = words.join(" "),
        commands = subcommands().join(" "),
    )
}

fn zsh() -> String {
    let mut text = String::from(
        "#compdef solder\n# zsh completion for solder, made by 'solder completions zsh'\n\n_arguments -s \\\n",
    );
    for row in rows() {
        let help = escaped(summary(row), &['[', ']', ':']);
        let values = values(row);
        let action = match (takes_value(row), values.is_empty()) {
            (false, _) => String::new(),
            (true, true) => format!(":{}:_files", argument(row)),
            (true, false) => format!(":{}:({})", argument(row), values.join(" ")),
        };
        let repeated =
            if matches!(row.kind, Kind::List | Kind::Names | Kind::OptionFiles) { "*" } else { "" };
        let (equals, action) = match row.kind {
            Kind::Optional | Kind::OptionalName => ("=-", format!("::{}:", argument(row))),
            _ => (if takes_value(row) { "=" } else { "" }, action),
        };
        let _ = writeln!(text, "  '{repeated}--{}{equals}[{help}]{action}' \\", row.long);
        if let Some(short) = row.short.filter(|short| *short != row.long) {
            let joined = if row.joined { "+" } else { "" };
            let _ = writeln!(text, "  '{repeated}-{short}{joined}[{help}]{action}' \\");
        }
    }
    let _ = writeln!(text, "  '1:input or command:(({}))' \\\n  '*:input:_files'", subcommands().join(" "));
    text
}

fn argument(row: &Row) -> String {
    let name = if row.argument.is_empty() { "value" } else { row.argument };
    escaped(name, &[':'])
}

fn escaped(text: &str, special: &[char]) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c == '\'' {
            out.push_str("'\\''");
            continue;
        }
        if special.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn fish() -> String {
    let mut text = String::from("# fish completion for solder, made by 'solder completions fish'\n");
    for name in subcommands() {
        let _ = writeln!(text, "complete -c solder -n '__fish_use_subcommand' -a {name}");
    }
    for row in rows() {
        let short = match row.short {
            Some(short) if short.len() == 1 => format!(" -s {short}"),
            Some(short) => format!(" -o {short}"),
            None => String::new(),
        };
        let values = values(row);
        let argument = match (takes_value(row), values.is_empty()) {
            (false, _) => String::new(),
            (true, true) => " -r -F".to_string(),
            (true, false) => format!(" -x -a '{}'", values.join(" ")),
        };
        let help = summary(row).replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(text, "complete -c solder -l {}{short}{argument} -d '{help}'", row.long);
    }
    text
}
