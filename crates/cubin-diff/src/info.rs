//! Attribute records: `.nv.info`, `.nv.info.<function>`, their Mercury twins, and `.nv.compat`.

use crate::list::Entry;
use crate::view::View;
use crate::words;
use solder_cubin::Section;
use solder_cubin::info::{self, Record, attr, format};

/// Attributes whose payload begins with the index of a symbol.
const ABOUT_A_SYMBOL: &[u8] = &[
    attr::IMAGE_SLOT,
    attr::IMAGE_OFFSET,
    attr::IMAGE_SIZE,
    attr::TEXTURE_NORMALIZED,
    attr::SAMPLER_INIT,
    attr::PARAM_CBANK,
    attr::FRAME_SIZE,
    attr::MIN_STACK_SIZE,
    attr::SAMPLER_FORCE_UNNORMALIZED,
    attr::BINDLESS_IMAGE_OFFSETS,
    attr::MAX_STACK_SIZE,
    attr::LOAD_CACHE_REQUEST,
    attr::REGCOUNT,
    attr::SAM_REGION_STACK_SIZE,
];

pub fn attributes(view: &View, section: &Section) -> Vec<Entry> {
    let entry = |record: Record| {
        let name = named("EIATTR_", info::attr_name(record.attr), record.attr);
        if record.attr == attr::EXTERNS && record.payload.len().is_multiple_of(4) {
            let symbols = (0..record.payload.len()).step_by(4).filter_map(|at| record.word(at));
            let list: Vec<String> = symbols.map(|symbol| view.symbol(section, symbol)).collect();
            return Entry { key: name, fields: fields(record.format, format!("{{{}}}", list.join(", "))) };
        }
        match record.word(0) {
            Some(symbol) if ABOUT_A_SYMBOL.contains(&record.attr) => {
                let value = words::hex(&record.payload[4..]);
                Entry {
                    key: format!("{name} of {}", view.symbol(section, symbol)),
                    fields: fields(record.format, value),
                }
            }
            _ => Entry { key: name, fields: fields(record.format, value(&record)) },
        }
    };
    entries(section.data, entry)
}

pub fn compat(section: &Section) -> Vec<Entry> {
    entries(section.data, |record| Entry {
        key: named("EICOMPAT_ATTR_", info::compat_name(record.attr), record.attr),
        fields: fields(record.format, value(&record)),
    })
}

fn entries<'data>(data: &'data [u8], entry: impl Fn(Record<'data>) -> Entry) -> Vec<Entry> {
    let cut = |_| Entry::named("a record that is cut off");
    info::records(data).map(|record| record.map_or_else(cut, &entry)).collect()
}

fn named(prefix: &str, name: Option<&str>, id: u8) -> String {
    name.map_or_else(|| format!("attribute {id:#04x}"), |name| format!("{prefix}{name} ({id:#04x})"))
}

fn fields(format: u8, value: String) -> Vec<(&'static str, String)> {
    let format = match format {
        format::NONE => "flag".to_owned(),
        format::BYTE => "byte".to_owned(),
        format::HALF => "half".to_owned(),
        format::SIZED => "sized".to_owned(),
        other => format!("{other:#04x}"),
    };
    vec![("", value), ("format", format)]
}

/// The value as short as its format allows; bytes that should be zero are shown when they are not.
fn value(record: &Record) -> String {
    match (record.format, record.payload) {
        (format::NONE, [0, 0]) => String::new(),
        (format::BYTE, [byte, 0]) => format!("{byte:02x}"),
        (format::HALF, [low, high]) => format!("{high:02x}{low:02x}"),
        (_, payload) => words::hex(payload),
    }
}
