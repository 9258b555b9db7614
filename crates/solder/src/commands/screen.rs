//! Text for people: lines no wider than their terminal, tables, sizes.

use std::fmt::Write;

use super::words::print;
use crate::os::terminal;

/// Text that is written a part at a time, so that memory does not grow with it.
pub(super) struct Screen {
    text: String,
    width: usize,
    pub(super) depth: usize,
}

/// Bytes that are written at once.
const PART: usize = 64 << 10;
/// No terminal is narrower for us.
const NARROWEST: usize = 40;

impl Screen {
    pub(super) fn new() -> Self {
        let width = terminal::width().map_or(usize::MAX, |width| width.max(NARROWEST));
        Self { text: String::new(), width, depth: 0 }
    }

    /// A line, continued on the next ones if it is too long.
    pub(super) fn line(&mut self, line: &str) {
        let mut indent = 2 * self.depth.min(8);
        let mut rest = printable(line);
        loop {
            let room = self.width.saturating_sub(indent).max(NARROWEST / 2);
            let (now, later) = split(&rest, room);
            let _ = writeln!(self.text, "{:indent$}{now}", "");
            if later.is_empty() {
                break;
            }
            rest = later.to_owned();
            indent = 2 * self.depth.min(8) + 4;
        }
        self.write();
    }

    /// A line whose end is left out if it is too long.
    pub(super) fn row(&mut self, line: &str) {
        let indent = 2 * self.depth.min(8);
        let room = self.width.saturating_sub(indent);
        let line = cut(&printable(line), room);
        let _ = writeln!(self.text, "{:indent$}{}", "", line.trim_end());
        self.write();
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(super) fn inside(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// A table whose columns are as wide as they must be. Numbers are aligned to the right; the last column is text.
    pub(super) fn table(&mut self, headings: &[&str], rows: &[Vec<String>], texts: usize) {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([headings[column].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..headings.len()).map(width).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for (column, cell) in cells.enumerate() {
                let width = widths[column];
                let gap = if column == 0 { "" } else { "  " };
                let _ = match column {
                    last if last + 1 == headings.len() && texts > 0 => write!(line, "{gap}{cell}"),
                    text if text < texts.saturating_sub(1) => write!(line, "{gap}{cell:width$}"),
                    _ => write!(line, "{gap}{cell:>width$}"),
                };
            }
            line
        };
        self.row(&line(&mut headings.iter().copied()));
        for row in rows {
            self.row(&line(&mut row.iter().map(String::as_str)));
        }
    }

    fn write(&mut self) {
        if self.text.len() >= PART {
            print(&self.text);
            self.text.clear();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        print(&self.text);
    }
}

/// Names come out of files: what would move the cursor is shown as a question mark.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The beginning of a line that fits, up to a blank if there is one in its second half, and the rest.
fn split(line: &str, room: usize) -> (&str, &str) {
    let Some((end, _)) = line.char_indices().nth(room) else { return (line, "") };
    let head = &line[..end];
    match head.rfind(' ').filter(|blank| *blank > end / 2) {
        Some(blank) => (&line[..blank], &line[blank + 1..]),
        None => (head, &line[end..]),
    }
}

fn cut(line: &str, room: usize) -> String {
    match line.char_indices().nth(room) {
        None => line.to_owned(),
        Some(_) => line.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// `1 byte`, `2,000 bytes`.
pub(super) fn bytes(size: u64) -> String {
    counted(size, "byte")
}

pub(super) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// `41,981`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in the unit that suits it.
pub(super) fn short(size: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (10 << 10, "KiB")];
    match units.iter().find(|(least, _)| size >= *least) {
        Some((_, "KiB")) => format!("{} KiB", tenths(size, 1024)),
        Some((unit, name)) => format!("{} {name}", tenths(size, *unit)),
        None => format!("{size} B"),
    }
}

/// A fraction with one digit after the point, rounded.
pub(super) fn tenths(number: u64, unit: u64) -> String {
    let (number, unit) = (u128::from(number), u128::from(unit.max(1)));
    let tenths = (number * 10 + unit / 2) / unit;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(
            [short(0), short(10239), short(10240), short(5 << 20)],
            ["0 B", "10239 B", "10.0 KiB", "5.0 MiB"]
        );
    }

    #[test]
    fn long_lines() {
        assert_eq!(split("aaaa bbbb cccc", 10), ("aaaa bbbb", "cccc"));
        assert_eq!(split("aaaabbbbcccc", 10), ("aaaabbbbcc", "cc"));
        assert_eq!(split("short", 10), ("short", ""));
        assert_eq!(cut("äöüäöü", 4), "äöü…");
    }
}
