//! Bytes by name, and the difference of two such tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::super::screen::{Screen, grouped};
use super::super::super::words::print;
use super::options::{Asked, Form};
use crate::json::Json;

/// How many, and their bytes.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

#[derive(Default)]
pub(super) struct Table(BTreeMap<String, Sum>);

/// A row: its name, and its numbers.
type Row = (String, Vec<i64>);

impl Table {
    pub(super) fn add(&mut self, name: &str, bytes: u64) {
        let sum = match self.0.get_mut(name) {
            Some(sum) => sum,
            None => self.0.entry(name.to_owned()).or_default(),
        };
        sum.count += 1;
        sum.bytes += bytes;
    }

    fn get(&self, name: &str) -> i64 {
        self.0.get(name).map_or(0, |sum| sum.bytes as i64)
    }

    /// The largest first.
    pub(super) fn show(&self, asked: &Asked) {
        let mut rows: Vec<Row> = self
            .0
            .iter()
            .map(|(name, sum)| (name.clone(), vec![sum.count as i64, sum.bytes as i64]))
            .collect();
        rows.sort_by_key(|(_, numbers)| -numbers[1]);
        show(rows, &["count", "bytes"], asked);
    }

    /// What changed, the largest change first.
    pub(super) fn show_change(&self, new: &Self, asked: &Asked) {
        let names = self.0.keys().chain(new.0.keys().filter(|name| !self.0.contains_key(*name)));
        let change = |name: &String| {
            let (old, new) = (self.get(name), new.get(name));
            (name.clone(), vec![old, new, new - old])
        };
        let mut rows: Vec<Row> = names.map(change).filter(|(_, numbers)| numbers[2] != 0).collect();
        rows.sort_by_key(|(_, numbers)| -numbers[2].abs());
        show(rows, &["old", "new", "change"], asked);
    }
}

fn show(mut rows: Vec<Row>, columns: &[&'static str], asked: &Asked) {
    let total =
        (0..columns.len()).map(|column| rows.iter().map(|(_, numbers)| numbers[column]).sum()).collect();
    if let Some(top) = asked.top {
        rows.truncate(top);
    }
    match asked.form {
        Form::Json => print(&format!("{}\n", json(&rows, columns))),
        Form::Csv => print(&csv(&rows, columns)),
        Form::Text => {
            rows.push(("all".into(), total));
            let headings: Vec<&str> = columns.iter().copied().chain([asked.by.name()]).collect();
            let line = |(name, numbers): &Row| {
                let mut cells: Vec<String> = numbers.iter().map(|number| signed(*number)).collect();
                cells.push(name.clone());
                cells
            };
            let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
            Screen::new().table(&headings, &lines, 1);
        }
    }
}

fn signed(number: i64) -> String {
    let text = grouped(number.unsigned_abs());
    if number < 0 { format!("-{text}") } else { text }
}

fn json(rows: &[Row], columns: &[&'static str]) -> Json {
    let object = |(name, numbers): &Row| {
        let numbers = columns.iter().zip(numbers).map(|(column, number)| (*column, Json::Signed(*number)));
        Json::Object([("name", Json::from(name))].into_iter().chain(numbers).collect())
    };
    Json::List(rows.iter().map(object).collect())
}

fn csv(rows: &[Row], columns: &[&str]) -> String {
    let mut text = format!("name,{}\n", columns.join(","));
    for (name, numbers) in rows {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let _ = writeln!(text, "\"{}\",{}", name.replace('"', "\"\""), numbers.join(","));
    }
    text
}
