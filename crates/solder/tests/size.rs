//! `solder size` and `solder diff`.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{PROGRAM, example, run, scratch, text};
use solder_arch::Arch;
use solder_fatbin::{Builder, Kind, NewMember};

fn solder(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    run(Command::new(PROGRAM).args(words).current_dir(folder))
}

fn said(folder: &Path, words: &[&str]) -> String {
    let (code, stdout, stderr) = solder(folder, words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}");
    stdout
}

/// Two fat binaries, the second with one member more.
fn inputs(folder: &Path) -> usize {
    let cubin = fs::read(example("weights.cubin")).expect("the example");
    let member = |number| NewMember::new(Kind::Elf, Arch::plain(number), &cubin);
    let one = Builder::new().member(&member(80)).member(&member(90));
    fs::write(folder.join("one.fatbin"), one.finish()).expect("a file");
    fs::write(folder.join("two.fatbin"), one.clone().member(&member(90)).finish()).expect("a file");
    (one.finish().len() - 16) / 2
}

#[test]
fn sizes() {
    let folder = scratch("size");
    let member = inputs(&folder);
    let csv = said(&folder, &["size", "--csv", "one.fatbin", "two.fatbin"]);
    assert_eq!(
        csv,
        format!("name,count,bytes\n\"sm_90 ELF\",3,{}\n\"sm_80 ELF\",2,{}\n", 3 * member, 2 * member)
    );
    let csv = said(&folder, &["size", "--csv", "--diff", "one.fatbin", "two.fatbin", "--by=arch"]);
    assert_eq!(csv, format!("name,old,new,change\n\"sm_90 ELF\",{member},{},{member}\n", 2 * member));
    let json = said(&folder, &["size", "--json", "--by=kernel", "--top=1", "--arch=sm_80", "one.fatbin"]);
    let rows: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((rows.as_array().map(Vec::len), &rows[0]["count"]), (Some(1), &1.into()), "{json}");
    // All bytes of a cubin are counted, once.
    let weights = example("weights.cubin");
    let csv = said(&folder, &["size", "--csv", "--by=section", text(&weights)]);
    let bytes = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(bytes.sum::<u64>(), fs::metadata(&weights).expect("the example").len(), "{csv}");
    let shown = said(&folder, &["size", "--by", "family", text(&weights)]);
    assert!(
        shown.contains("family") && shown.lines().last().is_some_and(|line| line.ends_with("all")),
        "{shown}"
    );
    for words in [&["size"][..], &["size", "--diff", "one.fatbin"], &["size", "--by=colour", "one.fatbin"]] {
        let (code, _, stderr) = solder(&folder, words);
        assert!(code == Some(1) && stderr.starts_with("solder size: "), "{stderr}");
    }
    for words in [["missing", "one.fatbin"], ["one.fatbin", "missing"]] {
        let (code, stdout, stderr) = solder(&folder, &[&["size", "--diff"], &words[..]].concat());
        assert!(code == Some(1) && stderr.contains("'missing'"), "{stderr}");
        assert_eq!(stdout, "", "half of a comparison");
    }
    fs::write(folder.join("cut.fatbin"), &fs::read(folder.join("one.fatbin")).expect("a file")[..500])
        .expect("a file");
    assert_eq!(solder(&folder, &["size", "cut.fatbin"]).0, Some(1));
}

/// What the assembler makes for a kernel lies inside of the kernel, and is counted once.
#[test]
fn functions_in_functions() {
    let folder = scratch("size-inside");
    let cubin =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden/inputs/slow_path.sm_90.cubin");
    let count = |by: &str, wanted: &dyn Fn(&str) -> bool| {
        let csv = said(&folder, &["size", "--csv", by, text(&cubin)]);
        let rows = csv.lines().skip(1).filter(|line| wanted(line));
        let bytes: Vec<u64> = rows.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
        (bytes.len(), bytes.iter().sum::<u64>())
    };
    let (_, code) = count("--by=section", &|line| line.starts_with("\".text\""));
    assert_eq!(count("--by=kernel", &|_| true), (2, code));
    assert_eq!(count("--by=family", &|_| true).1, code);
}

#[test]
fn differences() {
    let folder = scratch("diff");
    let [blur, weights] = ["blur.cubin", "weights.cubin"].map(example);
    assert_eq!(said(&folder, &["diff", text(&blur), text(&blur)]), "");
    let (code, stdout, stderr) = solder(&folder, &["diff", text(&blur), text(&weights)]);
    assert_eq!((code, stderr.as_str()), (Some(1), "solder diff: the files differ\n"));
    assert!(stdout.contains(".text"), "{stdout}");
    let (code, _, stderr) = solder(&folder, &["diff", text(&blur), "missing"]);
    assert!(code == Some(1) && stderr.contains("'missing': "), "{stderr}");
}

/// `cargo xtask page` opens such a page in a browser.
#[test]
fn pages() {
    let folder = scratch("size-page");
    inputs(&folder);
    assert_eq!(said(&folder, &["size", "--page", "size.html", "two.fatbin", "one.fatbin"]), "");
    let page = fs::read_to_string(folder.join("size.html")).expect("the page");
    let (_, rest) = page.split_once("id=\"data\">").expect("data");
    let data: serde_json::Value =
        serde_json::from_str(rest.split("</script>").next().unwrap()).expect("JSON");
    assert_eq!(
        (&data["sizes"], &data["files"], &data["target"]),
        (&true.into(), &2.into(), &"sm_80, sm_90".into())
    );
    let inputs = data["inputs"].as_array().expect("a list");
    assert_eq!(inputs.len(), 4, "{inputs:?}");
    let twice = data["functions"].as_array().expect("a list").iter().find(|row| row["copies"] == 2);
    assert_eq!(
        twice.map(|row| &inputs[row["input"].as_u64().unwrap() as usize]),
        Some(&"two.fatbin: sm_90".into())
    );
    let (code, _, stderr) = solder(&folder, &["size", "--page=x", "--json", "one.fatbin"]);
    assert!(code == Some(1) && stderr.contains("--page is for itself"), "{stderr}");
}
