//! Comparing two lists of things that have names: symbols, relocations, records, strings.

use crate::sink::{Kind, Sink};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write;

/// One entry: `key` says which thing it is, `fields` what is said about it. A field without a name is
/// shown by its value alone.
pub struct Entry {
    pub key: String,
    pub fields: Vec<(&'static str, String)>,
}

impl Entry {
    pub fn named(key: impl Into<String>) -> Self {
        Self { key: key.into(), fields: Vec::new() }
    }

    fn describe(&self) -> String {
        let mut text = self.key.clone();
        for (name, value) in self.fields.iter().filter(|(_, value)| !value.is_empty()) {
            let space = if name.is_empty() { "" } else { " " };
            let _ = write!(text, " {name}{space}{value}");
        }
        text
    }
}

/// Compares the entries of `place` in both files. `list` is the kind of a difference between the lists
/// (something only in one, another order), `item` of one between two entries of the same key.
pub fn compare(sink: &mut Sink, (list, item): (Kind, Kind), place: &str, a: &[Entry], b: &[Entry]) {
    for (x, y) in keys(sink, list, place, a, b) {
        fields(sink, item, place, (x, &a[x]), (y, &b[y]));
    }
}

/// Says which entries are only in one list and whether the order differs; the pairs of the others.
pub fn keys(sink: &mut Sink, kind: Kind, place: &str, a: &[Entry], b: &[Entry]) -> Vec<(usize, usize)> {
    let pairs = pair(a, b);
    let in_a = unmatched(a.len(), pairs.iter().map(|p| p.0)).map(|i| ("A", i, &a[i]));
    let in_b = unmatched(b.len(), pairs.iter().map(|p| p.1)).map(|i| ("B", i, &b[i]));
    for (side, i, entry) in in_a.chain(in_b) {
        sink.push(kind, place, format!("{place}[{i}] only in {side}: {}", entry.describe()));
    }
    order(sink, kind, place, [a, b], &pairs);
    pairs
}

fn unmatched(count: usize, matched: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let mut free = vec![true; count];
    matched.for_each(|i| free[i] = false);
    (0..count).filter(move |&i| free[i])
}

/// Pairs of equal keys, in the order of `a`; the nth of a key in one goes with the nth in the other.
fn pair(a: &[Entry], b: &[Entry]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (i, entry) in b.iter().enumerate() {
        places.entry(&entry.key).or_default().push_back(i);
    }
    let partner = |(i, e): (usize, &Entry)| Some((i, places.get_mut(e.key.as_str())?.pop_front()?));
    a.iter().enumerate().filter_map(partner).collect()
}

fn order(sink: &mut Sink, kind: Kind, place: &str, [a, b]: [&[Entry]; 2], pairs: &[(usize, usize)]) {
    let mut in_b: Vec<usize> = pairs.iter().map(|p| p.1).collect();
    in_b.sort_unstable();
    let mut moved = pairs.iter().zip(&in_b).filter(|((_, y), here)| y != *here);
    let Some((&(x, _), &y)) = moved.next() else { return };
    let text = format!(
        "{place}: the order differs from A[{x}], B[{y}] on: {} vs {} ({} of {} stand elsewhere)",
        a[x].key,
        b[y].key,
        moved.count() + 1,
        pairs.len()
    );
    sink.push(kind, place, text);
}

fn fields(sink: &mut Sink, kind: Kind, place: &str, (x, a): (usize, &Entry), (y, b): (usize, &Entry)) {
    let index = if x == y { format!("[{x}]") } else { format!("[A {x}, B {y}]") };
    let changed = changed_fields(&a.fields, &b.fields);
    if !changed.is_empty() {
        sink.push(kind, place, format!("{place}{index} {} {}", a.key, changed.join(", ")));
    }
}

/// `name x vs y` for every field that is not the same in both; both lists have the same names.
pub fn changed_fields(a: &[(&'static str, String)], b: &[(&'static str, String)]) -> Vec<String> {
    let empty = String::new();
    let mut changed = Vec::new();
    for i in 0..a.len().max(b.len()) {
        let (x, y) = (a.get(i), b.get(i));
        let name = x.or(y).map_or("", |f| f.0);
        let (x, y) = (x.map_or(&empty, |f| &f.1), y.map_or(&empty, |f| &f.1));
        if x != y {
            let shown = |v: &str| if v.is_empty() { "nothing".to_owned() } else { v.to_owned() };
            let space = if name.is_empty() { "" } else { " " };
            changed.push(format!("{name}{space}{} vs {}", shown(x), shown(y)));
        }
    }
    changed
}
