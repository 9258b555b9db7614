//! Time against size of every workload, both axes logarithmic, as one picture of small panels.

use super::report::by_workload;
use super::{Figures, Row};
use std::fmt::Write;

const COLUMNS: usize = 4;
const WIDTH: f64 = 230.0;
const HEIGHT: f64 = 170.0;
/// Around the drawing of a panel: room for its title and for the numbers at the axes.
const LEFT: f64 = 46.0;
const TOP: f64 = 26.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 24.0;
const COLOURS: [(&str, &str); 3] = [("nvlink", "#76b900"), ("solder", "#c2410c"), ("cat", "#9ca3af")];

pub fn svg(rows: &[Row]) -> String {
    let panels: Vec<_> = by_workload(rows).collect();
    let height = HEIGHT * panels.len().div_ceil(COLUMNS) as f64 + 24.0;
    let width = WIDTH * COLUMNS as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (index, (name, colour)) in COLOURS.iter().enumerate() {
        let x = 10.0 + 80.0 * index as f64;
        let _ = writeln!(
            text,
            "<circle cx=\"{x}\" cy=\"12\" r=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"16\">{name}</text>",
            x + 8.0
        );
    }
    for (index, rows) in panels.iter().enumerate() {
        let x = WIDTH * (index % COLUMNS) as f64;
        let y = 24.0 + HEIGHT * (index / COLUMNS) as f64;
        let _ = writeln!(text, "<g transform=\"translate({x} {y})\">\n{}</g>", panel(rows));
    }
    text + "</svg>\n"
}

/// A scale from values to the picture.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let part = (value.ln() - self.from.ln()) / (self.to.ln() - self.from.ln()).max(1e-9);
        self.start + part * (self.end - self.start)
    }
}

fn panel(rows: &[Row]) -> String {
    let workload = rows[0].workload;
    let series = |row: &Row| [row.nvlink.clone(), Some(row.solder.clone()), Some(row.copy.clone())];
    let medians: Vec<f64> = rows
        .iter()
        .flat_map(|row| series(row).into_iter().flatten())
        .map(|figures| figures.median())
        .collect();
    let lowest = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = medians.iter().copied().fold(0.0, f64::max);
    let decade =
        |value: f64, up: bool| 10f64.powf(if up { value.log10().ceil() } else { value.log10().floor() });
    let (bottom, top) = (decade(lowest, false), decade(highest, true));
    let (first, last) = (rows[0].size as f64, rows[rows.len() - 1].size as f64);
    let x = Axis { from: first, to: last, start: LEFT, end: WIDTH - RIGHT };
    let y = Axis { from: bottom, to: top, start: HEIGHT - BOTTOM, end: TOP };
    let mut text = format!("<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}</text>\n", workload.name);
    let mut tick = bottom;
    while tick <= top * 1.01 {
        let at = y.at(tick);
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e5e7eb\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 4.0,
            at + 3.0,
            label(tick)
        );
        tick *= 10.0;
    }
    for (row, anchor) in [(&rows[0], "start"), (&rows[rows.len() - 1], "end")] {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{} {}</text>",
            x.at(row.size as f64),
            HEIGHT - BOTTOM + 14.0,
            row.size,
            if anchor == "end" { workload.unit } else { "" }
        );
    }
    for (index, (_, colour)) in COLOURS.iter().enumerate() {
        let point = |row: &Row| {
            let figures: Figures = series(row)[index].clone()?;
            Some((x.at(row.size as f64), y.at(figures.median())))
        };
        let points: Vec<_> = rows.iter().filter_map(point).collect();
        let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", path.join(" "));
        for (x, y) in points {
            let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"/>");
        }
    }
    text
}

fn label(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.9e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds if seconds < 0.9 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{seconds:.0} s"),
    }
}
