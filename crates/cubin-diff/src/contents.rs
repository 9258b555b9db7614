//! What is in a section, read as its type says.

use crate::list::{self, Entry};
use crate::sink::{Kind, Sink};
use crate::view::{Both, View, is_symbol_table};
use crate::{bytes, info, note, table};
use solder_cubin::{Section, raw};

/// Compares the contents of two sections. If their type gives no words for the difference, the bytes do.
pub fn compare(sink: &mut Sink, both: &Both, (x, y): (usize, usize)) {
    let (in_a, in_b) = (both.a.section(x), both.b.section(y));
    let (skip_a, skip_b) = both.notes.skip(x, y);
    let (data_a, data_b) = (&in_a.data[skip_a..], &in_b.data[skip_b..]);
    let indices = has_indices(in_a.sh_type());
    if both.notes.is_longer && skip_a > 0 {
        let text = format!("the linker's own entry has {skip_a:#x} vs {skip_b:#x} bytes");
        sink.push(Kind::Note, both.a.labels()[x].as_ref(), text);
    }
    if data_a == data_b && (both.same_names || !indices) {
        return;
    }
    let place = &*both.a.labels()[x];
    let before = sink.len();
    let kinds = kinds(in_a.sh_type());
    if in_a.sh_type() == in_b.sh_type()
        && let (Some(a), Some(b)) = (entries(both.a, in_a, data_a), entries(both.b, in_b, data_b))
    {
        list::compare(sink, kinds, place, &a, &b);
        // Where names or strings differ, so do numbers that mean the same; that is said elsewhere.
        if sink.len() > before || (indices && !(both.same_names && both.same_strings)) {
            return;
        }
    }
    bytes::rows(sink, kinds.1, place, data_a, data_b);
}

/// Whether a section of this type refers to symbols or sections by index.
fn has_indices(sh_type: u32) -> bool {
    is_symbol_table(sh_type)
        || table::is_relocations(sh_type)
        || matches!(
            sh_type,
            raw::SHT_CUDA_INFO
                | raw::SHT_MERC_INFO
                | raw::SHT_CUDA_CALLGRAPH
                | raw::SHT_CUDA_PROTOTYPE
                | raw::SHT_CUDA_CAPSULE
        )
}

/// What differences between two lists of this type, and between two of their entries, are.
fn kinds(sh_type: u32) -> (Kind, Kind) {
    let both = |kind| (kind, kind);
    match sh_type {
        raw::SHT_SYMTAB | raw::SHT_MERC_SYMTAB => (Kind::SymbolList, Kind::Symbol),
        raw::SHT_STRTAB => both(Kind::Strings),
        raw::SHT_CUDA_INFO | raw::SHT_MERC_INFO => both(Kind::Info),
        raw::SHT_CUDA_COMPAT => both(Kind::Compat),
        raw::SHT_CUDA_CALLGRAPH => both(Kind::CallGraph),
        raw::SHT_CUDA_PROTOTYPE => both(Kind::Prototype),
        raw::SHT_NOTE => both(Kind::Note),
        _ if table::is_relocations(sh_type) => both(Kind::Relocation),
        _ => both(Kind::Contents),
    }
}

fn entries(view: &View, section: &Section, data: &[u8]) -> Option<Vec<Entry>> {
    match section.sh_type() {
        raw::SHT_SYMTAB | raw::SHT_MERC_SYMTAB => table::symbols(view, section),
        raw::SHT_STRTAB => Some(table::strings(data)),
        raw::SHT_CUDA_INFO | raw::SHT_MERC_INFO => Some(info::attributes(view, section)),
        raw::SHT_CUDA_COMPAT => Some(info::compat(section)),
        raw::SHT_CUDA_CALLGRAPH => table::call_graph(view, section),
        raw::SHT_CUDA_PROTOTYPE => table::prototypes(view, section),
        raw::SHT_NOTE => Some(note::entries(data)),
        raw::SHT_CUDA_CAPSULE => table::capsule(view, data),
        sh_type if table::is_relocations(sh_type) => table::relocations(view, section),
        _ => None,
    }
}
