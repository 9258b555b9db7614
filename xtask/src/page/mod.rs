//! `cargo xtask page`: reports in a browser without a window. Nothing may reach over the edge of a telephone, all text can be
//! read in light and dark, everything works by keyboard and by touch, and the address says what is shown.

mod browser;
mod links;

use crate::cache::at;
use crate::{Result, workspace};
use browser::Browser;
use links::Compiled;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
usage: cargo xtask page [--files N] [--pictures DIR]

Links programs of 3, 200 and 4,000 files, opens their reports in Chromium at 1280 and 390 pixels, light and dark, and
checks widths, contrast, keyboard, touch and addresses; then a page of `solder size`. Needs chromium on PATH, or SOLDER_BROWSER.

--files N looks at the report of N files only. --pictures DIR takes the pictures of the documentation instead.";

/// What is called by the name of the script in the page.
const CHECKS: &str = include_str!("checks.js");

pub fn run(args: &[String]) -> Result<u8> {
    let mut counts = vec![3, 200, 4000];
    let pictures = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["--files", count] => {
            counts = vec![count.parse().map_err(|_| format!("'{count}' is not a number"))?];
            None
        }
        ["--pictures", folder] => Some(PathBuf::from(folder)),
        ["-h" | "--help"] => {
            println!("{USAGE}");
            return Ok(0);
        }
        _ => return Err(USAGE.into()),
    };
    let Some(program) = browser::find() else {
        eprintln!(
            "SKIPPED: no browser is installed (chromium, or SOLDER_BROWSER), so nobody looked at the report"
        );
        return Ok(0);
    };
    let solder = workspace::solder()?;
    let folder = std::env::temp_dir().join(format!("solder-page-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
    let outcome = in_folder(&program, &solder, &folder, &counts, pictures.as_deref());
    let _ = fs::remove_dir_all(&folder);
    outcome
}

fn in_folder(
    program: &Path,
    solder: &Path,
    folder: &Path,
    counts: &[usize],
    pictures: Option<&Path>,
) -> Result<u8> {
    let compiled = Compiled::ensure()?;
    let mut browser = Browser::start(program, folder)?;
    let subfolder = |name: &str| {
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(|e| at(&path, &e)).map(|()| path)
    };
    let demo = compiled.demo(solder, &subfolder("3")?)?;
    if let Some(pictures) = pictures {
        take_pictures(&mut browser, &demo, pictures)?;
        return Ok(0);
    }
    let mut faults = Vec::new();
    for &count in counts {
        let report = match count {
            3 => demo.clone(),
            _ => compiled.modules(solder, &subfolder(&count.to_string())?, count)?,
        };
        let mut looked = Look {
            browser: &mut browser,
            address: format!("file://{}", report.display()),
            faults: Vec::new(),
        };
        if let Err(fault) = looked.appearance().and_then(|()| looked.use_it()) {
            looked.faults.push(fault);
        }
        println!(
            "a report of {count} files: {}",
            if looked.faults.is_empty() { "as it should be" } else { "wrong" }
        );
        faults.extend(looked.faults.into_iter().map(|fault| format!("{count} files: {fault}")));
    }
    faults.extend(whole_program(&mut browser, &compiled.whole(solder, &subfolder("whole")?)?)?);
    let sizes = links::sizes(solder, &folder.join("3"), "app.cubin")?;
    faults.extend(page_of_sizes(&mut browser, &sizes)?);
    faults.append(&mut browser.faults);
    for fault in &faults {
        println!("    {fault}");
    }
    Ok(u8::from(!faults.is_empty()))
}

/// A program that the compiler made whole: its kernels have registers, and are known to be from their modules.
fn whole_program(browser: &mut Browser, report: &Path) -> Result<Vec<String>> {
    let address = format!("file://{}", report.display());
    let mut looked = Look { browser, address, faults: Vec::new() };
    looked.open("", 390, true)?;
    for (what, expression) in [
        (
            "it is not said that it is a whole program",
            "$('summary').textContent.includes('compiled as one program')",
        ),
        (
            "the modules are not listed",
            "inputs.map(lastPart).join() === 'simulate.lto.o,render.lto.o,physics.lto.o'",
        ),
        ("kernels are missing", "kernels.length === 7 && kernels.every(i => functions[i].registers > 0)"),
        (
            "a kernel is not from its module",
            "kernels.every(i => inputOf(functions[i]) === (functions[i].name.includes('sim::') ? 'simulate.lto.o' : 'render.lto.o'))",
        ),
        ("shared memory is missing", "data.shared.length > 0 && data.reservedShared === 1024"),
        ("code is counted twice", "functions.reduce((sum, f) => sum + f.size, 0) < data.size"),
        ("something is too wide", "checks.overflow().length === 0"),
    ] {
        looked.holds(what, expression)?;
    }
    let is_right = looked.faults.is_empty();
    println!("a report of a whole program: {}", if is_right { "as it should be" } else { "wrong" });
    Ok(looked.faults)
}

/// The page of `solder size`: the map and the list of a report, without what only a link has.
fn page_of_sizes(browser: &mut Browser, page: &Path) -> Result<Vec<String>> {
    let address = format!("file://{}", page.display());
    let mut looked = Look { browser, address, faults: Vec::new() };
    for (width, is_dark) in [(1280, false), (390, true)] {
        looked.open("", width, is_dark)?;
        for (what, expression) in [
            ("no function is shown", "functions.length > 0 && boxes.length > 0"),
            (
                "sections of a link are shown",
                "['calls', 'memory', 'time', 'removed'].every(id => $(id).hidden) && !$('functions').hidden",
            ),
            ("the groups are those of a link", "$('group').children[0].textContent === 'Architecture'"),
            ("something is too wide", "checks.overflow().length === 0"),
            ("something cannot be read", "checks.contrast().length === 0"),
            ("a number is wrong", "checks.plurals().length === 0"),
        ] {
            looked.holds(what, expression)?;
        }
    }
    looked.browser.eval("canvas.focus()")?;
    looked.browser.press("ArrowRight")?;
    looked.browser.press("Enter")?;
    looked.holds(
        "Enter does not enlarge an architecture",
        "location.hash.includes('zoom=') && zoom !== null",
    )?;
    looked.browser.eval("openBox(zoom.children[0])")?;
    looked
        .holds("a function is not found in the list", "state.find !== '' && $('rows').children.length > 0")?;
    let is_right = looked.faults.is_empty();
    println!("a page of sizes: {}", if is_right { "as it should be" } else { "wrong" });
    Ok(looked.faults)
}

fn take_pictures(browser: &mut Browser, report: &Path, folder: &Path) -> Result<()> {
    let address = format!("file://{}", report.display());
    let chosen = "#kernel=void%20sim::step<(int)256>(float3 *, float3 *, float, int)&group=namespace";
    let pictures = [
        ("report.png", 1280, 1300, false),
        ("report-dark.png", 1280, 1300, true),
        ("report-phone.png", 390, 844, false),
    ];
    for (name, width, height, is_dark) in pictures {
        browser.open(&format!("{address}{chosen}"), width, is_dark)?;
        browser.picture(&folder.join(name), width, height)?;
    }
    Ok(())
}

/// One report under examination.
struct Look<'a> {
    browser: &'a mut Browser,
    address: String,
    faults: Vec<String>,
}

impl Look<'_> {
    fn open(&mut self, hash: &str, width: u32, is_dark: bool) -> Result<()> {
        self.browser.open(&format!("{}{hash}", self.address), width, is_dark)?;
        self.browser.eval(CHECKS)?;
        Ok(())
    }

    fn expect(&mut self, what: &str, is_so: bool) {
        if !is_so {
            self.faults.push(what.into());
        }
    }

    /// Notes a fault unless an expression is true in the page.
    fn holds(&mut self, what: &str, expression: &str) -> Result<()> {
        let value = self.browser.eval(expression)?;
        self.expect(&format!("{what} ({expression} is {value})"), value == true);
        Ok(())
    }

    /// Each width and theme, with the call graph and with the table.
    fn appearance(&mut self) -> Result<()> {
        for (width, is_dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
            for hash in ["", "#view=table&group=namespace", "#kernel=render::filters"] {
                self.open(hash, width, is_dark)?;
                self.browser.eval("query.value = 'f'; showResults()")?;
                for check in ["overflow", "contrast", "plurals"] {
                    let found = self.browser.eval(&format!("checks.{check}()"))?;
                    for fault in found.as_array().into_iter().flatten().filter_map(Value::as_str) {
                        let theme = if is_dark { "dark" } else { "light" };
                        self.faults.push(format!("{check} at {width}, {theme}, '{hash}': {fault}"));
                    }
                }
                let shows = "kernel < 0 || $('drawing').hidden || checks.kernelIsInView()";
                self.holds("the graph does not show its kernel", shows)?;
            }
        }
        Ok(())
    }

    fn use_it(&mut self) -> Result<()> {
        self.keyboard()?;
        self.touch()?;
        self.addresses()
    }

    fn keyboard(&mut self) -> Result<()> {
        self.open("", 1280, false)?;
        // Every control can be reached.
        let mut reached = Vec::new();
        for _ in 0..40 {
            self.browser.press("Tab")?;
            let at = self
                .browser
                .eval("(e => e.id || e.closest('[id]')?.id || e.tagName)(document.activeElement)")?;
            reached.push(at.as_str().unwrap_or_default().to_owned());
        }
        for control in ["query", "group", "map", "kernel", "view", "drawing"] {
            self.expect(&format!("Tab does not reach #{control}"), reached.iter().any(|id| id == control));
        }
        // The treemap: from group to group, into one, and back.
        self.browser.eval("canvas.focus()")?;
        self.browser.press("ArrowRight")?;
        self.browser.press("ArrowRight")?;
        self.holds("an arrow key chooses no box", "cursor >= 0 && $('where').textContent !== ''")?;
        self.browser.press("Enter")?;
        self.holds("Enter does not enlarge a group", "location.hash.includes('zoom=') && zoom !== null")?;
        self.browser.press("Escape")?;
        self.holds("Escape does not go back", "!location.hash.includes('zoom=') && zoom === null")?;
        // The search.
        self.browser.eval("document.activeElement.blur()")?;
        self.browser.press("/")?;
        self.holds(
            "/ does not lead to the search",
            "document.activeElement === query && query.value === ''",
        )?;
        let last = self.browser.eval("keys.get(kernels[kernels.length - 1])")?;
        self.browser.call("Input.insertText", &serde_json::json!({"text": last}))?;
        self.browser.press("ArrowDown")?;
        self.browser.press("Enter")?;
        self.browser.until("location.hash.includes('kernel=')")?;
        self.browser.until("keys.get(kernel) === keys.get(kernels[kernels.length - 1])")?;
        // Buttons and headings.
        self.browser.eval("$('view').lastChild.focus()")?;
        self.browser.press(" ")?;
        self.holds(
            "the table of calls does not come",
            "!$('calltable').hidden && $('calltable').querySelectorAll('tbody tr').length > 0",
        )?;
        self.browser.eval("document.querySelector('[data-column=name]').focus()")?;
        self.browser.press("Enter")?;
        self.holds(
            "Enter does not sort",
            "location.hash.includes('sort=name') && document.activeElement.dataset.column === 'name'",
        )
    }

    fn touch(&mut self) -> Result<()> {
        self.open("#show=size", 390, false)?;
        self.browser.eval("canvas.scrollIntoView({ block: 'center' })")?;
        let place = self
            .browser
            .eval("(b => [b.left + b.width / 2, b.top + b.height / 2])(canvas.getBoundingClientRect())")?;
        let [x, y] = [0, 1].map(|at| place[at].as_f64().unwrap_or(0.0));
        self.browser.tap(x, y)?;
        self.browser.until("location.hash.includes('zoom=') && zoom !== null")
    }

    fn addresses(&mut self) -> Result<()> {
        // A kernel by its name, by its symbol, and one that is not there.
        let name = self.browser.eval("keys.get(kernels[0])")?;
        let name = name.as_str().unwrap_or_default().to_owned();
        self.open(&format!("#kernel={name}"), 1280, false)?;
        self.holds("a kernel is not found by its name", "kernel === kernels[0] && $('missing').hidden")?;
        self.open("", 1280, false)?;
        let symbol = self.browser.eval("functions[kernels[0]].symbol")?;
        self.open(&format!("#kernel={}", symbol.as_str().unwrap_or_default()), 1280, false)?;
        self.holds("a kernel is not found by its symbol", "kernel === kernels[0]")?;
        self.open("#kernel=no_such_kernel", 1280, false)?;
        self.holds(
            "a kernel that is not there opens another",
            "kernel === -1 && !$('missing').hidden && $('drawing').hidden && $('missing').textContent.includes('no_such_kernel')",
        )?;
        // What is chosen comes back from the address, and the way back leads to what was before.
        self.open("", 1280, false)?;
        self.browser.eval(
            "$('group').children[1].click(); openBox(tree[0]); chooseKernel(kernels[0]); $('view').lastChild.click(); \
             document.querySelector('[data-column=final]').click(); $('find').value = 'f'; $('find').oninput()",
        )?;
        let chosen = self.browser.eval("JSON.stringify([state, kernel, zoom.name, treeOf])")?;
        let hash = self.browser.eval("location.hash")?;
        self.open(hash.as_str().unwrap_or_default(), 390, true)?;
        let again = self.browser.eval("JSON.stringify([state, kernel, zoom && zoom.name, treeOf])")?;
        self.expect(&format!("the address forgets: {chosen} became {again}"), chosen == again);
        self.open("", 1280, false)?;
        self.browser.eval("chooseKernel(kernels[0])")?;
        self.browser.eval("chooseKernel(kernels[kernels.length - 1])")?;
        self.browser.eval("history.back()")?;
        self.browser.until("kernel === kernels[0]")
    }
}
