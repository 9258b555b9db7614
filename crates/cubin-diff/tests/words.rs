//! What a difference is called.

use cubin_diff::{Kind, Options, diff, report};
use solder_cubin::{Cubin, raw};
use std::path::Path;

const PLAIN: Options = Options { ignore_tkinfo: false };
const IGNORE: Options = Options { ignore_tkinfo: true };

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// The offset in the file of a byte of a section.
fn at(file: &[u8], section: &str, offset: usize) -> usize {
    Cubin::parse(file).unwrap().section(section).unwrap().header.offset.get() as usize + offset
}

/// The offset in the file of a section's header.
fn header_of(file: &[u8], section: &str) -> usize {
    let cubin = Cubin::parse(file).unwrap();
    cubin.header.shoff.get() as usize + 64 * cubin.section(section).unwrap().index as usize
}

fn symbol(file: &[u8], name: &str) -> usize {
    let cubin = Cubin::parse(file).unwrap();
    (0..cubin.symbols.len()).find(|&i| cubin.symbol_name(i as u32) == Ok(name.into())).unwrap()
}

/// What is said when the bytes at `offset` are replaced.
fn said(file: &[u8], offset: usize, bytes: &[u8]) -> Vec<String> {
    let mut changed = file.to_vec();
    changed[offset..offset + bytes.len()].copy_from_slice(bytes);
    diff(file, &changed, &PLAIN).iter().map(ToString::to_string).collect()
}

#[test]
fn header_fields() {
    let file = fixture("linked.sm_80.cubin");
    assert_eq!(said(&file, 0x31, &[86]), ["header: architecture sm_80 vs sm_86"]);
    assert_eq!(said(&file, 0x10, &[1]), ["header: file type EXEC vs REL"]);
    assert_eq!(said(&file, 0x33, &[7]), ["header: section in e_flags .note.nv.cuinfo vs .nv.info"]);
}

#[test]
fn section_headers() {
    let file = fixture("linked.sm_80.cubin");
    let text = header_of(&file, ".text.k");
    assert_eq!(said(&file, text + 48, &[64]), [".text.k: alignment 128 vs 64".to_owned()]);
    assert_eq!(
        said(&file, text + 47, &[32]),
        [".text.k: info 'k' with 24 registers vs 'k' with 32 registers"]
    );
    let info = header_of(&file, ".nv.info.k");
    let other = Cubin::parse(&file).unwrap().section(".text.add").unwrap().index as u8;
    assert_eq!(said(&file, info + 44, &[other]), [".nv.info.k: info .text.k vs .text.add"]);
}

#[test]
fn symbols() {
    let file = fixture("linked.sm_90.cubin");
    let place = at(&file, ".symtab", 24 * symbol(&file, "k"));
    let i = symbol(&file, "k");
    assert_eq!(said(&file, place + 4, &[0x22]), [format!(".symtab[{i}] 'k' binding GLOBAL vs WEAK")]);
    assert_eq!(said(&file, place + 5, &[0]), [format!(".symtab[{i}] 'k' other DEFAULT+ENTRY vs DEFAULT")]);
}

#[test]
fn swapped_symbols_are_an_order_not_a_list_of_changes() {
    let file = fixture("linked.sm_90.cubin");
    let (x, y) = (symbol(&file, "counter"), symbol(&file, "calls"));
    let (at_x, at_y) = (at(&file, ".symtab", 24 * x), at(&file, ".symtab", 24 * y));
    let mut changed = file.clone();
    changed[at_x..at_x + 24].copy_from_slice(&file[at_y..at_y + 24]);
    changed[at_y..at_y + 24].copy_from_slice(&file[at_x..at_x + 24]);
    let found = diff(&file, &changed, &PLAIN);
    let first = found.first().unwrap();
    assert_eq!(first.kind, Kind::SymbolList);
    assert!(first.text.starts_with(".symtab: the order differs from A["), "{first}");
    assert!(found.iter().all(|difference| difference.kind != Kind::Symbol), "{found:?}");
}

#[test]
fn relocations() {
    let file = fixture("linked.sm_90.cubin");
    let cubin = Cubin::parse(&file).unwrap();
    let relocations = cubin.section(".rela.text.k").unwrap().relocations().unwrap();
    let counter = symbol(&file, "counter") as u32;
    let (i, entry) = relocations.iter().enumerate().find(|(_, rela)| rela.symbol.get() == counter).unwrap();
    let offset = entry.offset.get();
    let found = said(&file, at(&file, ".rela.text.k", 24 * i + 16), &[4]);
    let kind = solder_cubin::reloc::kind_of(entry.r_type.get()).unwrap().name;
    assert_eq!(
        found,
        [format!(
            ".rela.text.k[{i}] +{offset:#x} {kind} → symbol 'counter' + 0x0 vs {kind} → symbol 'counter' + 0x4"
        )]
    );
}

#[test]
fn attributes() {
    for (arch, name) in [("sm_80", ".nv.info.k"), ("sm_100", ".nv.merc.nv.info.k")] {
        let file = fixture(&format!("linked.{arch}.cubin"));
        let cubin = Cubin::parse(&file).unwrap();
        let mut offset = 0;
        let records = solder_cubin::info::records(cubin.section(name).unwrap().data);
        for (i, record) in records.map(Result::unwrap).enumerate() {
            if record.attr == solder_cubin::info::attr::NUM_BARRIERS {
                let found = said(&file, at(&file, name, offset + 2), &[9]);
                assert_eq!(found, [format!("{name}[{i}] EIATTR_NUM_BARRIERS (0x4c) 01 vs 09")]);
                offset = usize::MAX;
                break;
            }
            offset += record.size();
        }
        assert_eq!(offset, usize::MAX, "{arch}: no barriers");
    }
}

#[test]
fn call_graph_and_prototypes() {
    let file = fixture("linked.sm_90.cubin");
    let (k, add) = (symbol(&file, "k") as u8, symbol(&file, "add") as u8);
    let found = said(&file, at(&file, ".nv.callgraph", 8), &[add]);
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with(".nv.callgraph[1] only in A: 'k' calls "), "{found:?}");
    let found = said(&file, at(&file, ".nv.prototype", 0), &[k]);
    assert_eq!(
        found,
        [".nv.prototype[0] only in A: 'add' \"#ii\"", ".nv.prototype[0] only in B: 'k' \"#ii\"",]
    );
}

#[test]
fn notes() {
    let (file, other) = (fixture("linked.sm_90.cubin"), fixture("linked-options.sm_90.cubin"));
    let found = diff(&file, &other, &PLAIN);
    let note = found.iter().find(|difference| difference.kind == Kind::Note).unwrap();
    assert_eq!(
        note.text,
        ".note.nv.tkinfo[0] tkinfo of 'nvlink' command line \"-arch sm_90 \" vs \
         \"-suppress-stack-size-warning  -arch sm_90 \""
    );
    assert_eq!(diff(&file, &other, &IGNORE), []);
    // The assembler's entry is not a linker's: it applies where it is the only one.
    let file = fixture("kernel.sm_90.cubin");
    let mut changed = file.clone();
    changed[at(&file, ".note.nv.tkinfo", 0x90)] ^= 1;
    assert_ne!(diff(&file, &changed, &IGNORE), []);
}

#[test]
fn segments_and_padding() {
    let file = fixture("linked.sm_90.cubin");
    let phoff = Cubin::parse(&file).unwrap().header.phoff.get() as usize;
    let flags = phoff + 56 + 4;
    assert_eq!(said(&file, flags, &[4]), ["segment 1: flags R+X vs R"]);
    let text = at(&file, ".text.twice", 0);
    let found = said(&file, text - 1, &[1]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(&format!("padding byte at {:#x}", text - 1)), "{found:?}");
}

/// nvlink never writes to the room it gives this section; what lies there is not part of the output.
#[test]
fn reserved_shared_memory_has_no_bytes() {
    let file = fixture("linked.sm_110.cubin");
    let cubin = Cubin::parse(&file).unwrap();
    let reserved = |s: &&solder_cubin::Section| s.sh_type() == raw::SHT_CUDA_SHARED_RESERVED;
    let section = cubin.sections.iter().find(reserved).unwrap();
    let mut changed = file.clone();
    changed[section.header.offset.get() as usize + 1] ^= 1;
    assert_eq!(diff(&file, &changed, &IGNORE), []);
    assert_eq!(diff(&file, &changed, &PLAIN)[0].kind, Kind::Padding);
}

#[test]
fn a_report_begins_with_a_summary_and_stays_short() {
    let (a, b) = (fixture("linked.sm_80.cubin"), fixture("linked.sm_90.cubin"));
    let found = diff(&a, &b, &IGNORE);
    let text = report(&found, Some(8));
    assert!(text.starts_with("header 1 · section list "), "{text}");
    assert_eq!(text.lines().nth(1), Some("header: architecture sm_80 vs sm_90"));
    assert!(text.contains(".rela.text.k: … "));
    assert_eq!(report(&found, None).lines().count(), found.len() + 1);
}
