//! `solder man`: the manual page, made from the table of options.

use std::ffi::OsString;
use std::fmt::Write;

use super::words::print;
use crate::options::{Kind, Row, TABLE};
use solder_arch::Release;

pub fn run(words: &[OsString]) -> Result<(), String> {
    match words {
        [] => {}
        [word] if word == "-h" || word == "--help" => {
            print("usage: solder man\n\nPrints the manual page; 'solder man | man -l -' shows it.\n");
            return Ok(());
        }
        _ => return Err("takes no words".into()),
    }
    print(&page());
    Ok(())
}

const HEAD: &str = r#".\" Made by 'solder man'; change the table of options instead.
.TH SOLDER 1
.SH NAME
solder \- device linker for CUDA
.SH SYNOPSIS
.B solder
.RI [ options ] " objects..."
.B \-arch
.I name
.B \-o
.I file
.br
.B solder inspect
.RB [ \-\-all | \-\-list | \-\-res\-usage | \-\-symbols | \-\-sass ]
.RB [ \-\-arch
.IR name,... ]
.RB [ \-\-kernel
.IR text ]
.RB [ \-\-sort
.IR key ]
.RB [ \-\-json ]
.I file...
.br
.B solder extract
.RB [ \-d
.IR folder ]
.RB [ \-\-arch
.IR list ]
.RB [ \-\-kind
.IR list ]
.I file...
.br
.B solder prune
.RB [ \-\-keep
.IR list ]
.RB [ \-\-drop\-ptx ]
.RB [ \-\-strip\-debug ]
.RB [ \-\-dedup ]
.RB [ \-\-compress
.IR how ]
.I file...
.RB [ \-o
.IR file " | "
.B \-d
.IR folder " | "
.BR \-\-in\-place ]
.br
.B solder fatbin \-\-create
.I file
.BR \-\-image=kind= \fIkind\fB,sm= \fIarch\fB,file= \fIfile\fR...
.br
.B solder size
.RB [ \-\-by
.IR key ]
.RB [ \-\-diff " | " \-\-page
.IR page ]
.I file...
.br
.B solder diff
.I old new
.br
.B solder report \-\-compare
.I old new
.RB [ \-\-all ]
.RB [ \-\-json ]
.br
.B solder shadow
.I folder
.RB [ \-\-toolkit
.IR root " | "
.BR \-\-remove ]
.br
.B solder doctor
.RB [ \-\-json ]
.br
.B solder cache
.RB [ stats " | " prune " | " clear ]
.RB [ \-\-limit
.IR size ]
.br
.B solder help
.RI [ command ]
.br
.B solder completions bash
|
.B zsh
|
.B fish
.br
.B solder man
.SH DESCRIPTION
solder links relocatable device code (cubins, fat binaries, host objects, archives, PTX, LTO IR) to the image that a GPU
loads. It stands in for NVIDIA's nvlink @VERSION@, with the same options, messages, exit codes and output.
.PP
Long names take two dashes, short names one. A value follows as the next word or behind an equals sign; lists are
separated by commas, and double quotes protect a comma.
"#;

const TAIL: &str = r#".SH EXIT STATUS
.TP
0
The link succeeded.
.TP
1
A message marked
.B fatal
ended it.
.TP
255
There were messages marked
.BR error .
.SH ENVIRONMENT
.TP
.B LIBRARY_PATH
Folders in which libraries are looked for behind those of
.BR \-L .
.TP
.BR SOLDER_TOOLKIT ", " CUDA_HOME ", " CUDA_PATH
The root of the CUDA toolkit, for
.B solder shadow
and for finding ptxas.
.TP
.B SOLDER_OPTIONS
Words that are put before those of every link, such as
.BR \-\-explain ,
where a build system makes command lines hard to reach. Blanks separate them, and double quotes protect blanks.
.TP
.B SOLDER_CACHE_DIR
The folder in which compiled IR and assembled PTX are kept; empty for none. Without the variable
.I ~/.cache/solder/results
is used if it is there.
.TP
.B SOLDER_CACHE_SIZE
The most that stays in that folder, such as 500M; 5G if it is not set.
.TP
.B SOLDER_CACHE_URL
The address of a store on another machine, which is asked with GET and filled with PUT.
.TP
.B NO_COLOR
If it is set, severities have no colour; without it they have one on a terminal.
.TP
.B SOLDER_AS
The toolkit whose nvlink solder takes the place of, such as 13.2, where it was not started in the
.B bin
folder of one.
.SH SEE ALSO
The documents that come with solder: docs/explain.md, docs/deviations.md.
"#;

pub fn page() -> String {
    let mut text = HEAD.replace("@VERSION@", &Release::list());
    for (title, own) in [("OPTIONS", false), ("OPTIONS OF SOLDER", true)] {
        let _ = writeln!(text, ".SH {title}");
        if own {
            text.push_str("nvlink does not know these.\n");
        }
        let mut rows: Vec<&Row> =
            TABLE.iter().filter(|row| !row.is_hidden() && row.is_own() == own).collect();
        rows.sort_by_key(|row| row.long.to_ascii_lowercase());
        for row in rows {
            write_row(&mut text, row);
        }
    }
    text + TAIL
}

fn write_row(text: &mut String, row: &Row) {
    let repeated = if matches!(row.kind, Kind::List | Kind::Names | Kind::OptionFiles) { ",..." } else { "" };
    let argument = match (row.argument, row.kind) {
        ("", Kind::Bool) => r" \fItrue\fR|\fIfalse\fR".to_string(),
        ("", _) => String::new(),
        (name, Kind::Optional | Kind::OptionalName) => format!(r"[=\fI{}\fR]", escaped(name)),
        (name, _) => format!(r" \fI{}\fR{repeated}", escaped(name)),
    };
    let short = row.short.map_or(String::new(), |short| format!(r", \fB\-{}\fR", escaped(short)));
    let _ = writeln!(text, ".TP\n\\fB\\-\\-{}\\fR{short}{argument}", escaped(row.long));
    let _ = writeln!(text, "{}", line(row.help));
    let values = row.values(Release::NEWEST);
    if values.len() > 1 {
        let _ = writeln!(text, "Values: {}.", line(&values.join(", ")));
    }
    if !row.default.is_empty() {
        let _ = writeln!(text, "Default: {}.", line(row.default));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', r"\e").replace('-', r"\-")
}

/// A line of text: one that begins with a dot or a quote would be a request.
fn line(text: &str) -> String {
    let text = escaped(text);
    if text.starts_with(['.', '\'']) { format!(r"\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_current() {
        let committed = include_str!("../../../../docs/solder.1");
        assert!(page() == committed, "run: cargo run -p solder -- man > docs/solder.1");
    }

    #[test]
    fn every_documented_option_is_there_once() {
        let page = page();
        for row in TABLE.iter().filter(|row| !row.is_hidden()) {
            let name = format!("\n\\fB\\-\\-{}\\fR", escaped(row.long));
            assert_eq!(page.matches(&name).count(), 1, "{}", row.long);
        }
    }
}
