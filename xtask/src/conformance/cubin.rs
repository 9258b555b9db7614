//! Compares two ELF files apart from the linker's own entry in the tool note.

use super::elf::Elf;

const TOOL_NOTE: &str = ".note.nv.tkinfo";

pub fn differences(a: &[u8], b: &[u8]) -> Vec<String> {
    if a == b {
        return Vec::new();
    }
    let (a, b) = match (Elf::parse(a), Elf::parse(b)) {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => {
            let unreadable = [("nvlink", a.err()), ("solder", b.err())];
            let say = |(who, error): (&str, Option<String>)| error.map(|e| format!("{who}'s file: {e}"));
            return unreadable.into_iter().filter_map(say).collect();
        }
    };
    let mut found = Vec::new();
    // Offsets of the tables and of the sections behind the note move with its length.
    let header = |elf: &Elf<'_>| [&elf.bytes[..0x20], &elf.bytes[0x30..0x40]].concat();
    if header(&a) != header(&b) {
        found.push("ELF header differs".to_string());
    }
    let names = |elf: &Elf<'_>| elf.sections.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    if names(&a) != names(&b) {
        found.push(format!(
            "sections\n    nvlink: {}\n    solder: {}",
            names(&a).join(" "),
            names(&b).join(" ")
        ));
        return found;
    }
    for (x, y) in a.sections.iter().zip(&b.sections) {
        let is_tool_note = x.name == TOOL_NOTE;
        let fields = |s: &super::elf::Section| (s.kind, s.flags, s.addr, s.link, s.info, s.align, s.entsize);
        if fields(x) != fields(y) || (x.size != y.size && !is_tool_note) {
            found.push(format!("section header of {}\n    nvlink: {x:x?}\n    solder: {y:x?}", x.name));
        }
        let skip = |data: &[u8]| if is_tool_note { first_note(data) } else { 0 };
        let (left, right) = (a.data(x), b.data(y));
        let (left, right) = (&left[skip(left)..], &right[skip(right)..]);
        if left != right {
            let at = left.iter().zip(right).take_while(|(p, q)| p == q).count();
            found.push(format!("content of {} differs at {at:#x}", x.name));
        }
    }
    let segments =
        |elf: &Elf<'_>| elf.segments().map(|segment| [&segment[..8], &segment[16..]].concat()).collect();
    let (left, right): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (segments(&a), segments(&b));
    if left != right {
        found.push("program headers differ".into());
    }
    found
}

/// The length of the first note of a note section.
fn first_note(data: &[u8]) -> usize {
    let word =
        |at: usize| data.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let length = 12 + word(0).next_multiple_of(4) + word(4).next_multiple_of(4);
    length.min(data.len())
}
