//! `--trace`: where a name was seen, chosen and replaced.

use bstr::ByteSlice;
use std::fmt::Write;

use super::context::Context;
use super::duplicates::Mention;
use super::names::{self, shown};
use super::undefined;
use solder_link::model::ids::FileId;
use solder_link::model::symbols::Symbols;

impl Context<'_, '_> {
    /// Every mention of the names; without `symbols` the link stopped before one was chosen.
    pub(super) fn trace(&self, symbols: Option<&Symbols<'_>>, wanted: &[String]) -> String {
        let mut text = String::new();
        for name in wanted {
            let found = names::symbols(self.objects, name);
            let _ = writeln!(text, "trace of {name}:");
            for (file, symbol) in &found {
                let mention = Mention { object: &self.objects[*file], symbol: *symbol };
                let real = mention.object.names[*symbol as usize];
                let real = if real == name { "it".to_string() } else { shown(real) };
                let _ = write!(text, "    '{}'", mention.object.name);
                if !mention.raw().is_defined() {
                    let places = undefined::places(mention.object, *symbol);
                    let places =
                        if places.is_empty() { String::new() } else { format!(" in {}", places.join(", ")) };
                    let _ = writeln!(text, " refers to {real}{places}");
                    continue;
                }
                let fate = symbols.map_or("", |symbols| fate(symbols, *file, *symbol));
                let _ = writeln!(text, " defines {real}, {}{fate}", mention.what());
            }
            for note in self.skipped_definitions(name.as_bytes().as_bstr()) {
                let _ = writeln!(text, "    {}", note.text);
            }
            if found.is_empty() {
                let _ = writeln!(text, "    no linked object mentions it");
                text.push_str(&names::suggestion(names::all(self.objects), name));
            }
        }
        text
    }
}

fn fate(symbols: &Symbols<'_>, file: usize, symbol: u32) -> &'static str {
    let file = FileId::at(file);
    if symbols.is_definition(file, symbol) {
        ": chosen"
    } else if symbols.accepted(file, symbol) {
        ": chosen, then replaced by a better one"
    } else {
        ": left out"
    }
}
