//! The figures as a table for the terminal, as JSON, and as a page of the documentation.

use super::workloads::WORKLOADS;
use super::{Figures, Row, exponent};
use std::fmt::Write;
use std::fs;

pub const HEAD: &str = "\
workload         size        nvlink   (spread)         solder   (spread)      ratio    goal     cat   nvlink cpu  solder cpu  nvlink MB  solder MB";

/// One line of the table on the terminal.
pub fn line(row: &Row) -> String {
    let nvlink = row.nvlink.as_ref().map_or_else(|| format!("{:>26}", "-"), times);
    let ratio = row.ratio().map_or("-".into(), |ratio| format!("{}x", times_faster(ratio)));
    let goal = row.goal().map_or(String::new(), |goal| format!("{goal}x"));
    format!(
        "{:14} {:>7} {nvlink} {} {ratio:>9} {goal:>6} {:>8} {:>11} {:>11} {:>9} {:>9}   {}",
        row.workload.name,
        row.size,
        times(&row.solder),
        seconds(row.copy.median()),
        row.nvlink.as_ref().map_or("-".into(), |figures| seconds(figures.processor())),
        seconds(row.solder.processor()),
        row.nvlink.as_ref().map_or("-".into(), |figures| megabytes(figures.peak)),
        megabytes(row.solder.peak),
        equality(row)
    )
}

/// A goal near 1 asks for two digits.
fn times_faster(ratio: f64) -> String {
    if ratio < 2.0 { format!("{ratio:.2}") } else { format!("{ratio:.1}") }
}

fn equality(row: &Row) -> &'static str {
    match (&row.nvlink, row.differences.is_empty()) {
        (_, false) => "DIFFERS",
        (Some(_), true) => "equal",
        (None, true) => "",
    }
}

fn times(figures: &Figures) -> String {
    let (first, last) = (figures.walls.first(), figures.walls.last());
    let spread = format!("({}–{})", seconds(*first.unwrap_or(&0.0)), seconds(*last.unwrap_or(&0.0)));
    format!("{:>8} {spread:>17}", seconds(figures.median()))
}

pub fn seconds(value: f64) -> String {
    match value {
        value if value < 0.95e-3 => format!("{:.0} µs", value * 1e6),
        value if value < 0.1 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value => format!("{value:.2} s"),
    }
}

fn megabytes(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

/// The exponent of growth of processor time between the two largest sizes that both rows of a workload have.
fn growth(rows: &[Row], figures: impl Fn(&Row) -> Option<&Figures>) -> Option<f64> {
    let measured: Vec<_> =
        rows.iter().filter_map(|row| Some((row.size, figures(row)?.processor()))).collect();
    let [.., smaller, largest] = measured[..] else { return None };
    Some(exponent(smaller, largest))
}

/// The rows of each workload.
pub fn by_workload(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.workload.name == b.workload.name)
}

pub fn json(rows: &[Row]) -> String {
    let figures = |figures: &Figures| {
        let walls: Vec<_> = figures.walls.iter().map(|wall| format!("{wall:.9}")).collect();
        format!(
            "{{\"median\": {:.9}, \"processor\": {:.9}, \"peak_kib\": {}, \"seconds\": [{}]}}",
            figures.median(),
            figures.processor(),
            figures.peak,
            walls.join(", ")
        )
    };
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            format!(
                "  {{\"workload\": \"{}\", \"size\": {}, \"equal\": {}, \"goal\": {}, \"nvlink\": {}, \"solder\": {}, \"cat\": {}, \"growth\": {}}}",
                row.workload.name,
                row.size,
                row.differences.is_empty(),
                row.goal().map_or("null".into(), |goal| goal.to_string()),
                row.nvlink.as_ref().map_or("null".into(), figures),
                figures(&row.solder),
                figures(&row.copy),
                row.growth.map_or("null".into(), |growth| format!("{growth:.3}"))
            )
        })
        .collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// The rows that [`json`] wrote.
pub fn from_json(text: &str) -> Vec<Row> {
    text.lines().filter_map(row_from_json).collect()
}

fn row_from_json(line: &str) -> Option<Row> {
    let behind =
        |text: &'_ str, key: &str| text.split_once(&format!("\"{key}\": ")).map(|(_, rest)| rest.to_string());
    let number = |text: &str, key: &str| -> Option<f64> {
        behind(text, key)?.split([',', '}']).next()?.trim().parse().ok()
    };
    let name = behind(line, "workload")?;
    let name = name.split('"').nth(1)?;
    let figures = |key: &str| -> Option<Figures> {
        let text = behind(line, key)?;
        let text = text.strip_prefix('{')?.split('}').next()?;
        let list = behind(text, "seconds")?;
        let walls = list.trim_matches(['[', ']']).split(", ").filter_map(|wall| wall.parse().ok()).collect();
        let processor = vec![number(text, "processor")?];
        Some(Figures { walls, processor, peak: number(text, "peak_kib")? as u64 })
    };
    let is_equal = behind(line, "equal")?.starts_with("true");
    Some(Row {
        workload: WORKLOADS.iter().find(|workload| workload.name == name)?,
        size: number(line, "size")? as usize,
        nvlink: figures("nvlink"),
        solder: figures("solder")?,
        copy: figures("cat")?,
        growth: number(line, "growth"),
        differences: if is_equal { Vec::new() } else { vec!["differs".into()] },
    })
}

/// `docs/performance.md`.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!(
        "# Performance\n\n\
         Written by `cargo xtask bench --docs`: both linkers in turn on the same inputs, medians with the fastest and \
         the slowest run, outputs compared with `cubin-diff`. *cat* is the time of `cat inputs > file`; CPU is \
         the time of all processors together, which other work on the machine disturbs less; memory is the peak of the \
         resident set. Workloads whose name begins with *jit* are links through libnvJitLink, NVIDIA's and solder's, repeated \
         in one process.\n\n{}\n\n![time against size](performance.svg)\n\n",
        machine()
    );
    text += "| workload | size | nvlink | solder | ratio | goal | cat | nvlink CPU | solder CPU | nvlink MB | solder MB | output |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.workload.name,
            row.size,
            row.nvlink.as_ref().map_or("–".into(), |figures| times(figures).trim().to_string()),
            times(&row.solder).trim(),
            row.ratio().map_or("–".into(), |ratio| format!("{}×", times_faster(ratio))),
            row.goal().map_or(String::new(), |goal| format!("{goal}×")),
            seconds(row.copy.median()),
            row.nvlink.as_ref().map_or("–".into(), |figures| seconds(figures.processor())),
            seconds(row.solder.processor()),
            row.nvlink.as_ref().map_or("–".into(), |figures| megabytes(figures.peak)),
            megabytes(row.solder.peak),
            equality(row)
        );
    }
    text += "\n## Workloads and their growth\n\nExponents of processor time between the two largest sizes that were run, \
             of solder in turn: 1 is linear.\n\n\
             | workload | what it is | size in | nvlink | solder |\n| --- | --- | --- | ---: | ---: |\n";
    for rows in by_workload(rows) {
        let workload = rows[0].workload;
        let shown = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.2}"));
        let nvlink = shown(growth(rows, |row| row.nvlink.as_ref()));
        let in_turn = rows.last().and_then(|row| row.growth);
        let solder = shown(in_turn.or_else(|| growth(rows, |row| Some(&row.solder))));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {nvlink} | {solder} |",
            workload.name, workload.about, workload.unit
        );
    }
    text
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_string())
    };
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kib: u64 =
        field(&memory, "MemTotal").split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    format!(
        "Machine: {cores} cores of {}, {} GB of memory, Linux {}; load average at the end {}. nvlink {}.",
        field(&cpu, "model name"),
        kib >> 20,
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or_default(),
        crate::toolkit::VERSION
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_the_file() {
        let figures = |wall| Figures { walls: vec![wall, 2.0], processor: vec![1.25], peak: 4096 };
        let row = |nvlink| Row {
            workload: &WORKLOADS[0],
            size: 2,
            nvlink,
            solder: figures(0.5),
            copy: figures(0.25),
            growth: Some(0.875),
            differences: Vec::new(),
        };
        let text = json(&[row(Some(figures(1.0))), row(None)]);
        assert_eq!(json(&from_json(&text)), text);
    }
}
