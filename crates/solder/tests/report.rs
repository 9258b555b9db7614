//! The page of `--report`: its structure always, what a browser makes of it where one is installed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DATA: &str = "<script type=\"application/json\" id=\"data\">";

/// The test runner shows this even if the test passes.
fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// The page about the example.
fn page(folder: &Path) -> String {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let report = folder.join("report.html");
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

/// A browser without a window.
fn browser() -> Option<PathBuf> {
    let given = std::env::var_os("SOLDER_BROWSER").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    let browser = given.or(found);
    if browser.is_none() {
        skipped("no browser is installed (chromium, or SOLDER_BROWSER), so nobody looked at the report");
    }
    browser
}

/// What a browser makes of a page.
fn rendered(browser: &Path, folder: &Path, page: &str) -> String {
    let path = folder.join("page.html");
    fs::write(&path, page).expect("a file");
    let output = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("file://{}", path.display()))
        .stderr(Stdio::null())
        .output()
        .expect("the browser runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_browser_draws_the_page() {
    let folder = scratch("report-browser");
    let page = page(&folder);
    let Some(browser) = browser() else { return };
    let dom = rendered(&browser, &folder, &page);
    assert!(dom.contains("data-ready=\"yes\""), "the script did not come to its end");
    assert!(dom.contains("1 kernel and 2 functions from 2 inputs"));
    assert_eq!(dom.matches("<g class=").count(), 3, "boxes of the call graph");
    assert_eq!(dom.matches("class=\"source\"").count(), 1, "where the registers come from");
    assert!(dom.contains("24 → 44 registers, stack 8 B"));
    assert!(dom.contains(".nv.constant3"));
}

/// Thousands of functions: everything is drawn, and what is too much is left out and said.
#[test]
fn a_browser_draws_a_large_page() {
    const COUNT: usize = 6000;
    let folder = scratch("report-large");
    let page = page(&folder);
    let Some(browser) = browser() else { return };
    let mut functions = String::new();
    for i in 0..COUNT {
        let kernel = i % 3 == 0;
        let callees: Vec<String> =
            [i + 1, i + 2].iter().filter(|c| **c < COUNT).map(ToString::to_string).collect();
        let _ = write!(
            functions,
            "{}{{\"name\":\"f{i}(int)\",\"kernel\":{kernel},\"size\":{},\"input\":{},\"registers\":24,\"total\":24,\
             \"frame\":8,\"stack\":-1,\"barriers\":0,\"calls\":[{}],\"indirect\":[0]}}",
            if i == 0 { "" } else { "," },
            128 * (1 + i % 40),
            i % 50,
            callees.join(",")
        );
    }
    let inputs: Vec<String> = (0..50).map(|i| format!("\"/far/away/{i}.o\"")).collect();
    let large = format!(
        "{{\"output\":\"o\",\"target\":\"sm_90\",\"size\":1,\"inputs\":[{}],\"functions\":[{functions}],\
         \"removed\":{{\"count\":0,\"size\":0}},\"sharedLimit\":49152,\"variables\":[\"v\"],\
         \"shared\":[{{\"kernel\":0,\"total\":4,\"parts\":[[0,4]]}}],\"constants\":[],\"phases\":[[\"all\",1000]]}}",
        inputs.join(",")
    );
    let page = page.replace(data(&page), &large);
    let dom = rendered(&browser, &folder, &page);
    assert!(dom.contains("data-ready=\"yes\""), "the script did not come to its end");
    assert!(dom.contains("the nearest 250 drawn"));
    assert!(dom.contains("6000 functions, the first 200 shown"));
    assert_eq!(dom.matches("(int)\"></option>").count(), COUNT / 3);
    assert!(dom.contains(">49.o<"), "folders that all inputs share are left out");
}
