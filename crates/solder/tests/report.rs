//! The page of `--report`: its structure and its data. `cargo xtask page` looks at it in a browser.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{scratch, skipped};

const DATA: &str = "<script type=\"application/json\" id=\"data\">";

/// The page about the example.
fn page(folder: &Path) -> String {
    report(folder, "report.html")
}

/// The report of the example, in a file of this name.
fn report(folder: &Path, name: &str) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let report = folder.join(name);
    let status = Command::new(env!("CARGO_BIN_EXE_solder"))
        .args(["-arch=sm_90", "-o", "out.cubin", "--report"])
        .arg(&report)
        .args([example.join("blur.cubin"), example.join("weights.cubin")])
        .current_dir(folder)
        .status();
    assert!(status.expect("solder runs").success());
    fs::read_to_string(report).expect("a page")
}

/// The data in a page.
fn data(page: &str) -> &str {
    let start = page.find(DATA).expect("data") + DATA.len();
    &page[start..start + page[start..].find("</script>").expect("an end")]
}

#[test]
fn the_page_stands_alone() {
    let page = page(&scratch("report-alone"));
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!without_namespace.contains(outside), "{outside}");
    }
    for mark in ["/*STYLE*/", "/*DATA*/", "/*SCRIPT*/"] {
        assert!(!page.contains(mark), "{mark}");
    }
    for element in
        ["id=\"map\"", "id=\"drawing\"", "id=\"shared\"", "id=\"constants\"", "id=\"phases\"", "id=\"rows\""]
    {
        assert_eq!(page.matches(element).count(), 1, "{element}");
    }
}

#[test]
fn the_data_is_json_about_the_link() {
    let folder = scratch("report-data");
    let page = page(&folder);
    let data = data(&page);
    for part in [
        "\"name\":\"blur(const float *, float *, int)\"",
        "\"target\":\"sm_90\"",
        "\"phases\":[[\"loading\",",
    ] {
        assert!(data.contains(part), "{part}");
    }
    assert!(!data.contains('<'));
    let path = folder.join("data.json");
    fs::write(&path, data).expect("a file");
    let program =
        "import json, sys; d = json.load(open(sys.argv[1])); print(len(d['functions']), len(d['inputs']))";
    match Command::new("python3").args(["-c", program]).arg(&path).output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "3 2\n"),
        Err(_) => skipped("python3 is not installed, so nobody parsed the data"),
    }
}

#[test]
fn the_data_alone() {
    let folder = scratch("report-json");
    let alone = report(&folder, "report.json");
    let page = page(&folder);
    // All but the times.
    let untimed = |data: &str| data.split("\"phases\"").next().map(str::to_owned);
    assert!(alone.starts_with("{\"format\":1,") && alone.ends_with("}\n"), "{alone}");
    assert_eq!(untimed(&alone), untimed(data(&page)).map(|data| data.replace("\\u003c", "<")));
}

fn compare(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solder"));
    let output = command.arg("report").args(words).current_dir(folder).env_remove("COLUMNS").output();
    let output = output.expect("solder runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn two_links_are_compared() {
    let folder = scratch("report-compare");
    let old = report(&folder, "old.json");
    page(&folder);
    let (code, stdout, stderr) = compare(&folder, &["--compare", "old.json", "report.html"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("No function changed its size"), "{stdout}");
    let new = old
        .replace("\"total\":44", "\"total\":52")
        .replace("weigh(const float *, int, int)", "weigh(const float *, int)")
        .replacen("\"size\":512,", "\"size\":1536,", 1);
    fs::write(folder.join("new.json"), new).expect("a file");
    let (_, stdout, _) = compare(&folder, &["--compare", "old.json", "new.json"]);
    for part in [
        "\nregisters\n",
        "44   52      +8  kernel blur(const float *, float *, int)  blur.cubin\n",
        "\ngrew\n",
        "+1,024",
        "\ncame\n",
        "weigh(const float *, int)  weights.cubin",
        "\nwent\n",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let (_, stdout, _) = compare(&folder, &["--compare", "--json", "old.json", "new.json"]);
    assert!(stdout.contains("\"registers\": [\n") && stdout.contains("\"new\": 52"), "{stdout}");
    fs::write(folder.join("bad.json"), "{}").expect("a file");
    for (words, reason) in [
        (&["--compare", "old.json"][..], "expected --compare and two files"),
        (&["old.json", "new.json"], "expected --compare and two files"),
        (&["--compare", "old.json", "bad.json"], "'bad.json' is not a report"),
        (&["--compare", "old.json", "none.json"], "'none.json': "),
    ] {
        let (code, _, stderr) = compare(&folder, words);
        assert_eq!(code, Some(1), "{words:?}");
        assert!(stderr.contains(reason), "{words:?}: {stderr}");
    }
}
