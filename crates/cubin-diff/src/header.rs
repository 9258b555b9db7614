//! The file header, the list of sections and their headers.

use crate::list::{self, Entry};
use crate::sink::{Kind, Sink};
use crate::view::{Both, View, is_symbol_table};
use crate::words;
use solder_cubin::Section;
use solder_cubin::raw::{self, SectionHeader};

type Fields = Vec<(&'static str, String)>;

/// Everything in the header but the three counts and offsets that follow from the layout.
pub fn file(sink: &mut Sink, both: &Both) {
    if both.same_names && both.a.cubin.header == both.b.cubin.header {
        return;
    }
    for change in list::changed_fields(&header_fields(both.a), &header_fields(both.b)) {
        sink.push(Kind::Header, "", format!("header: {change}"));
    }
}

fn header_fields(view: &View) -> Fields {
    let h = view.cubin.header;
    let flags = h.flags.get();
    let code = match flags & 0xff {
        _ if !h.is_current() => format!("{flags:#x}"),
        4 => "SASS".to_owned(),
        2 => "Mercury capsule".to_owned(),
        other => format!("{other:#04x}"),
    };
    vec![
        ("file type", words::file_type(h.e_type.get())),
        ("architecture", format!("sm_{}", view.cubin.sm())),
        ("kind of code (e_flags)", code),
        ("section in e_flags", if h.is_current() { view.label(flags >> 24) } else { String::new() }),
        ("e_ident", format!("{:032x}", u128::from_be_bytes(h.ident))),
        ("e_version", h.version.get().to_string()),
        ("e_entry", format!("{:#x}", h.entry.get())),
        ("e_ehsize", h.ehsize.get().to_string()),
        ("e_phentsize", h.phentsize.get().to_string()),
        ("e_phnum", h.phnum.get().to_string()),
        ("e_shentsize", h.shentsize.get().to_string()),
        ("e_shnum", h.shnum.get().to_string()),
        ("section with the section names", view.label(u32::from(h.shstrndx.get()))),
    ]
}

/// Says which sections are only in one file and whether their order differs; the pairs of indices of
/// those in both.
pub fn section_list(sink: &mut Sink, both: &Both) -> Vec<(usize, usize)> {
    if both.a.labels() == both.b.labels() {
        return (0..both.a.labels().len()).map(|i| (i, i)).collect();
    }
    let entries = |view: &View| -> Vec<Entry> {
        let describe = |s: &Section| format!("{}, {:#x} bytes", words::section_type(s.sh_type()), s.size());
        let rows = view.labels().iter().zip(&view.cubin.sections);
        rows.map(|(label, s)| Entry { key: label.clone(), fields: vec![("", describe(s))] }).collect()
    };
    let (in_a, in_b) = (entries(both.a), entries(both.b));
    list::keys(sink, Kind::SectionList, "sections", &in_a, &in_b)
}

/// The header of one section, its offset apart.
pub fn section(sink: &mut Sink, both: &Both, (x, y): (usize, usize)) {
    let (a, b) = (both.a, both.b);
    let (skip_a, skip_b) = both.notes.skip(x, y);
    let (header_a, header_b) = (a.section(x).header, b.section(y).header);
    let elsewhere = SectionHeader { offset: header_a.offset, ..*header_b };
    if both.same_names && skip_a == skip_b && *header_a == elsewhere {
        return;
    }
    let mut changed = list::changed_fields(&section_fields(a, x, skip_a), &section_fields(b, y, skip_b));
    let (name_a, name_b) = (header_a.name.get(), header_b.name.get());
    if name_a != name_b && a.section_names == b.section_names {
        changed.push(format!("another copy of the name, at {name_a:#x} vs {name_b:#x}"));
    }
    if !changed.is_empty() {
        let place = &a.labels()[x];
        sink.push(Kind::SectionHeader, place, format!("{place}: {}", changed.join(", ")));
    }
}

fn section_fields(view: &View, index: usize, skip: usize) -> Fields {
    let section = view.section(index);
    let h = section.header;
    vec![
        ("type", words::section_type(section.sh_type())),
        ("flags", words::section_flags(section.flags())),
        ("size", format!("{:#x}", section.size().wrapping_sub(skip as u64))),
        ("alignment", section.align().to_string()),
        ("link to", view.label(section.link())),
        ("info", info(view, section)),
        ("entry size", h.entsize.get().to_string()),
        ("address", format!("{:#x}", h.addr.get())),
    ]
}

/// What `sh_info` means for this kind of section.
fn info(view: &View, section: &Section) -> String {
    let value = section.info();
    let sh_type = section.sh_type();
    if is_symbol_table(sh_type) {
        return format!("first global symbol {value}");
    }
    if sh_type == raw::SHT_CUDA_CAPSULE {
        return view.symbol(section, value);
    }
    if sh_type == raw::SHT_PROGBITS && section.flags() & raw::SHF_EXECINSTR != 0 {
        // Before sm_90 the top byte is the register count of the function.
        return match view.cubin.sm() {
            ..90 => format!("{} with {} registers", view.symbol(section, value & 0xff_ffff), value >> 24),
            _ => view.symbol(section, value),
        };
    }
    if section.flags() & raw::SHF_INFO_LINK != 0 {
        return view.label(value);
    }
    value.to_string()
}
