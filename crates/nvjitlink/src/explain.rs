//! `-explain`: every message of a link as an object of JSON on a line of the info log, with notes. The fields are those of the
//! command's `--error-format=json`.

use std::sync::{Mutex, PoisonError};

use solder_cubin::raw;
use solder_link::accept::Made;
use solder_link::demangle::demangle;
use solder_link::diagnostics::{Receiver, Value};
use solder_link::model::object::{Object, Role};
use solder_link::observer::Observer;
use solder_link::view::View;
use solder_link::{Message, Severity};

/// What a message is said to come from.
const TOOL: &str = "nvjitlink";

/// Notes of one kind about one message.
const MOST: usize = 10;

/// A line of help: a stable name of what it says, and the text.
type Note = (&'static str, String);

/// Collects the messages of a link, and explains them while the objects are there.
#[derive(Debug, Default)]
pub struct Explainer {
    explained: Mutex<Vec<(Severity, Message, Vec<Note>)>>,
}

impl Explainer {
    /// A line for every message.
    pub fn into_lines(self) -> Vec<u8> {
        let explained = self.explained.into_inner().unwrap_or_else(PoisonError::into_inner);
        explained.iter().flat_map(|(severity, message, notes)| line(*severity, message, notes)).collect()
    }

    fn explain(&self, objects: &[Object<'_>]) {
        let mut explained = self.explained.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, message, notes) in explained.iter_mut().filter(|(.., notes)| notes.is_empty()) {
            if let Some(symbol) = symbol_of(message) {
                *notes = about(&symbol, objects);
            }
        }
    }
}

impl Receiver for Explainer {
    fn message(&self, severity: Severity, message: &Message) {
        let mut explained = self.explained.lock().unwrap_or_else(PoisonError::into_inner);
        explained.push((severity, message.clone(), Vec::new()));
    }
}

impl Observer for Explainer {
    fn unresolved(&self, objects: &[Object<'_>]) {
        self.explain(objects);
    }

    fn stopped(&self, objects: &[Object<'_>], _view: Option<View<'_, '_>>) {
        self.explain(objects);
    }

    fn linked(&self, objects: &[Object<'_>], _view: View<'_, '_>) {
        self.explain(objects);
    }
}

/// Lines for the messages by which an input was refused, and what it holds.
pub fn refused(messages: &[Message], bytes: &[u8]) -> Vec<u8> {
    let notes: Vec<Note> = Made::of(bytes)
        .map(|made| {
            let kind = if made.executable { "a linked image" } else { "code" };
            let by = made.toolkit.map(|toolkit| format!(", made by CUDA {}.{}", toolkit / 10, toolkit % 10));
            ("input", format!("it holds {kind} for sm_{}{}", made.arch.number, by.unwrap_or_default()))
        })
        .into_iter()
        .collect();
    messages.iter().flat_map(|message| line(message.row().severity, message, &notes)).collect()
}

/// The name that a message is about.
fn symbol_of(message: &Message) -> Option<Vec<u8>> {
    message.fields().into_iter().find(|(field, _)| *field == "symbol").map(|(_, name)| name)
}

/// What the objects say about a name: who defines it, who refers to it, and if nobody defines it, what is nearly it.
fn about(name: &[u8], objects: &[Object<'_>]) -> Vec<Note> {
    let mut notes = Vec::new();
    let shown = shown(name);
    if shown.as_bytes() != name {
        notes.push(("name", format!("that is {shown}")));
    }
    let (mut definitions, mut references, mut similar) = (Vec::new(), Vec::new(), Vec::new());
    for object in objects {
        for (index, symbol) in object.symbols().filter(|(_, symbol)| symbol.bind() != raw::STB_LOCAL) {
            let own: &[u8] = object.names[index as usize];
            let file = &object.name;
            if own != name {
                if symbol.is_defined() && is_overload(own, &shown) {
                    let other = self::shown(own);
                    similar.push(("similar", format!("'{file}' defines {other}, which is another function")));
                }
            } else if symbol.is_defined() {
                let size = symbol.size.get();
                definitions.push(("definition", format!("'{file}' defines it, {size} bytes")));
            } else {
                references.extend(
                    places(object, index)
                        .into_iter()
                        .map(|place| ("reference", format!("{place} in '{file}' refers to it"))),
                );
            }
        }
    }
    if !definitions.is_empty() {
        similar.clear();
    }
    for list in [definitions, references, similar] {
        notes.extend(list.into_iter().take(MOST));
    }
    notes
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(&demangle(name)).into_owned()
}

/// Whether a mangled name is that of the same function with other parameters.
fn is_overload(name: &[u8], shown: &str) -> bool {
    let before = |text: &str| text.split_once('(').map(|(before, _)| before.to_owned());
    name.starts_with(b"_Z") && before(shown).is_some_and(|own| before(&self::shown(name)) == Some(own))
}

/// The functions whose code refers to a symbol, or the sections whose data do.
fn places(object: &Object<'_>, symbol: u32) -> Vec<String> {
    let mut found = Vec::new();
    for section in object.sections_with(Role::Relocations) {
        let Ok(entries) = section.relocations() else { continue };
        let of = section.info();
        if object.role(of) == Role::Debug || !entries.iter().any(|entry| entry.symbol.get() == symbol) {
            continue;
        }
        let owner = if object.role(of) == Role::Text { object.text_owner(of) } else { None };
        found.push(match owner {
            Some(owner) => {
                let is_kernel = object.symbol(owner).other & raw::STO_ENTRY != 0;
                let what = if is_kernel { "kernel" } else { "function" };
                format!("{what} {}", shown(object.names[owner as usize]))
            }
            None => object.section(of).name.to_string(),
        });
    }
    found
}

/// A message as an object on a line.
fn line(severity: Severity, message: &Message, notes: &[Note]) -> Vec<u8> {
    let mut text = Vec::new();
    message.write_text(&mut text);
    let fields: Vec<_> =
        message.typed_fields().into_iter().map(|(name, value)| (name, written(value))).collect();
    let note = |(kind, text): &Note| object(&[("kind", string(kind)), ("text", string(text))]);
    let notes: Vec<String> = notes.iter().map(note).collect();
    let line = object(&[
        ("tool", string(TOOL)),
        ("severity", string(severity.name())),
        ("code", string(message.row().code)),
        ("message", string(&String::from_utf8_lossy(&text))),
        ("fields", object(&fields)),
        ("notes", format!("[{}]", notes.join(","))),
    ]);
    (line + "\n").into_bytes()
}

fn written(value: Value) -> String {
    match value {
        Value::Text(text) => string(&String::from_utf8_lossy(&text)),
        Value::Number(number) => number.to_string(),
        Value::Nothing => "null".into(),
        Value::Rows(rows) => {
            let row = |row: Vec<(&'static str, Value)>| {
                let fields: Vec<_> = row.into_iter().map(|(name, value)| (name, written(value))).collect();
                object(&fields)
            };
            format!("[{}]", rows.into_iter().map(row).collect::<Vec<_>>().join(","))
        }
    }
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}:{value}", string(name))).collect();
    format!("{{{}}}", fields.join(","))
}

fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
