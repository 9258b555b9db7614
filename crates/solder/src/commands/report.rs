//! `solder report --compare`: what changed between two links, from the data of their reports.

use std::ffi::OsString;
use std::path::Path;

use hashbrown::HashMap;
use serde_json::Value;

use super::reader::{Known, Reader, Word, flag};
use super::screen::{Screen, grouped, short, tenths};
use super::words::{open, print};
use crate::json::Json;
use crate::load::Arena;

const USAGE: &str = "\
usage: solder report --compare OLD NEW [--all] [--json]

Compares two links: what grew, what came, what went, and kernels whose registers, stack or shared memory changed. OLD
and NEW are what --report wrote: FILE.json, or a page.

  --all     every line, not only the largest changes
  --json    the same for programs
";

const OPTIONS: [Known; 3] = [flag("--compare"), flag("--all"), flag("--json")];

/// Lines of each list, unless all are asked for.
const MOST: usize = 20;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let (mut all, mut json, mut compares, mut files) = (false, false, false, Vec::new());
    let mut words = Reader::new(words, &OPTIONS, USAGE);
    while let Some(word) = words.next()? {
        match word {
            Word::File(file) => files.push(file),
            Word::Option("--compare", _) => compares = true,
            Word::Option("--all", _) => all = true,
            Word::Option("--json", _) => json = true,
            Word::Option(..) => {
                print(USAGE);
                return Ok(());
            }
        }
    }
    let ([old, new], true) = (&files[..], compares) else {
        return Err(words.wrong("expected --compare and two files"));
    };
    let comparison = Comparison::new(Link::read(Path::new(old))?, Link::read(Path::new(new))?);
    if json {
        print(&format!("{}\n", comparison.json()));
    } else {
        comparison.show(&mut Screen::new(), if all { usize::MAX } else { MOST });
    }
    Ok(())
}

/// A link, as its report has it.
struct Link {
    file: String,
    target: String,
    size: u64,
    removed: u64,
    functions: Vec<Function>,
}

#[derive(Clone, Default)]
struct Function {
    name: String,
    input: String,
    kernel: bool,
    size: u64,
    registers: u64,
    /// `None` if it is not known.
    stack: Option<u64>,
    shared: u64,
}

impl Link {
    fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let arena = Arena::default();
        let file = open(path, &arena).map_err(|error| format!("'{name}': {error}"))?;
        let text = String::from_utf8_lossy(file.data);
        let data = in_page(&text).unwrap_or(&text);
        let data: Value = serde_json::from_str(data)
            .map_err(|_| format!("'{name}' is not a report; --report FILE.json writes one"))?;
        let functions = data["functions"].as_array();
        let functions =
            functions.ok_or_else(|| format!("'{name}' is not a report: it lists no functions"))?;
        let input = |index: &Value| {
            let name = index.as_u64().and_then(|index| data["inputs"].get(index as usize)?.as_str());
            name.unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
        };
        let mut functions: Vec<Function> = functions
            .iter()
            .map(|function| Function {
                name: function["name"].as_str().unwrap_or_default().into(),
                input: input(&function["input"]),
                kernel: function["kernel"] == true,
                size: number(&function["size"]),
                registers: number(&function["total"]),
                stack: function["stack"].as_u64(),
                shared: 0,
            })
            .collect();
        for row in data["shared"].as_array().into_iter().flatten() {
            let kernel = row["kernel"].as_u64().and_then(|kernel| functions.get_mut(kernel as usize));
            if let Some(kernel) = kernel {
                kernel.shared = number(&row["total"]);
            }
        }
        let (size, removed) = (number(&data["size"]), number(&data["removed"]["size"]));
        let target = data["target"].as_str().unwrap_or_default().into();
        Ok(Self { file: name.to_string(), target, size, removed, functions })
    }

    fn code(&self) -> u64 {
        self.functions.iter().fold(0, |sum, function| sum.saturating_add(function.size))
    }

    fn kernels(&self) -> u64 {
        self.functions.iter().filter(|function| function.kernel).count() as u64
    }
}

/// The data in a page.
fn in_page(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<script type=\"application/json\" id=\"data\">")?;
    rest.split_once("</script>").map(|(data, _)| data)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

struct Comparison {
    old: Link,
    new: Link,
    /// The same function in both links.
    both: Vec<(Function, Function)>,
    came: Vec<Function>,
    went: Vec<Function>,
}

impl Comparison {
    /// Functions go by their names. Of several with one name, static ones of several files, those of the same file belong
    /// together, and the rest in their order.
    fn new(old: Link, new: Link) -> Self {
        let mut before: HashMap<&str, Vec<&Function>> = HashMap::new();
        for function in old.functions.iter().rev() {
            before.entry(&function.name).or_default().push(function);
        }
        let (mut both, mut later) = (Vec::new(), Vec::new());
        for function in &new.functions {
            let found = before.get_mut(&*function.name).and_then(|list| {
                let at = list.iter().rposition(|other| other.input == function.input)?;
                Some(list.remove(at))
            });
            match found {
                Some(other) => both.push((other.clone(), function.clone())),
                None => later.push(function),
            }
        }
        let mut came = Vec::new();
        for function in later {
            match before.get_mut(&*function.name).and_then(Vec::pop) {
                Some(other) => both.push((other.clone(), function.clone())),
                None => came.push(function.clone()),
            }
        }
        let left: Vec<&str> =
            before.iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| *name).collect();
        let mut went: Vec<Function> =
            left.iter().flat_map(|name| &before[name]).map(|f| (*f).clone()).collect();
        drop(before);
        for list in [&mut came, &mut went] {
            list.sort_by(|a, b| (b.size, &a.name, &a.input).cmp(&(a.size, &b.name, &b.input)));
        }
        Self { old, new, both, came, went }
    }

    /// The functions of both links in which a value changed, the largest change first.
    fn changed(&self, value: impl Fn(&Function) -> Option<u64>) -> Vec<Change<'_>> {
        let change = |(old, new): &'_ (Function, Function)| (value(old), value(new));
        let mut changed: Vec<Change<'_>> = self
            .both
            .iter()
            .map(|pair| (change(pair), &pair.1))
            .filter(|((old, new), _)| old != new)
            .map(|((old, new), function)| Change { old, new, function })
            .collect();
        changed
            .sort_by(|a, b| b.weight().cmp(&a.weight()).then_with(|| a.function.name.cmp(&b.function.name)));
        changed
    }

    /// The lists of changes by title.
    fn lists(&self) -> [(&'static str, Vec<Change<'_>>); 5] {
        let of_kernel =
            |value: fn(&Function) -> Option<u64>| move |f: &Function| value(f).filter(|_| f.kernel);
        let code = self.changed(|function| Some(function.size));
        let (grew, shrank) = code.into_iter().partition(|change| change.new > change.old);
        [
            ("registers", self.changed(of_kernel(|kernel| Some(kernel.registers)))),
            ("stack", self.changed(of_kernel(|kernel| kernel.stack))),
            ("shared memory", self.changed(of_kernel(|kernel| Some(kernel.shared)))),
            ("grew", grew),
            ("shrank", shrank),
        ]
    }

    fn show(&self, screen: &mut Screen, most: usize) {
        let (old, new) = (&self.old, &self.new);
        screen.line(&format!("{} ({}) and {} ({})", old.file, old.target, new.file, new.target));
        screen.blank();
        let rows = [
            ("file", old.size, new.size, true),
            ("code", old.code(), new.code(), true),
            ("removed", old.removed, new.removed, true),
            ("kernels", old.kernels(), new.kernels(), false),
            (
                "functions",
                old.functions.len() as u64 - old.kernels(),
                new.functions.len() as u64 - new.kernels(),
                false,
            ),
        ];
        let rows: Vec<Vec<String>> = rows.into_iter().map(total).collect();
        screen.inside(|screen| screen.table(&["", "old", "new", "change", ""], &rows, 2));
        let mut is_equal = self.came.is_empty() && self.went.is_empty();
        for (title, changes) in self.lists() {
            is_equal &= changes.is_empty();
            let rows: Vec<Vec<String>> = changes.iter().take(most).map(Change::row).collect();
            list(screen, title, &rows, changes.len(), &["old", "new", "change", "name"]);
        }
        for (title, functions) in [("came", &self.came), ("went", &self.went)] {
            let row = |f: &Function| vec![grouped(f.size), f.registers.to_string(), described(f)];
            let rows: Vec<Vec<String>> = functions.iter().take(most).map(row).collect();
            list(screen, title, &rows, functions.len(), &["code", "registers", "name"]);
        }
        if is_equal {
            screen.blank();
            screen.line("No function changed its size, and no kernel its registers, stack or shared memory.");
        }
    }

    fn json(&self) -> Json {
        let link = |link: &Link| {
            Json::Object(vec![
                ("file", (&link.file).into()),
                ("target", (&link.target).into()),
                ("size", link.size.into()),
                ("code", link.code().into()),
                ("removed", link.removed.into()),
                ("kernels", link.kernels().into()),
                ("functions", (link.functions.len() as u64 - link.kernels()).into()),
            ])
        };
        let functions = |list: &[Function]| list.iter().map(Function::json).collect();
        let [registers, stack, shared, grew, shrank] = self.lists();
        let changes = |list: (&str, Vec<Change<'_>>)| list.1.iter().map(Change::json).collect();
        Json::Object(vec![
            ("old", link(&self.old)),
            ("new", link(&self.new)),
            ("registers", changes(registers)),
            ("stack", changes(stack)),
            ("shared", changes(shared)),
            ("grew", changes(grew)),
            ("shrank", changes(shrank)),
            ("came", functions(&self.came)),
            ("went", functions(&self.went)),
        ])
    }
}

impl Function {
    fn json(&self) -> Json {
        Json::Object(vec![
            ("name", (&self.name).into()),
            ("input", (&self.input).into()),
            ("kernel", self.kernel.into()),
            ("size", self.size.into()),
            ("registers", self.registers.into()),
        ])
    }
}

/// A value of a function in both links.
struct Change<'a> {
    old: Option<u64>,
    new: Option<u64>,
    function: &'a Function,
}

impl Change<'_> {
    fn weight(&self) -> u64 {
        self.old.unwrap_or(0).abs_diff(self.new.unwrap_or(0))
    }

    fn row(&self) -> Vec<String> {
        let known = |value: Option<u64>| value.map_or("unknown".into(), grouped);
        let change = match (self.old, self.new) {
            (Some(old), Some(new)) => signed(old, new, grouped),
            _ => String::new(),
        };
        vec![known(self.old), known(self.new), change, described(self.function)]
    }

    fn json(&self) -> Json {
        Json::Object(vec![
            ("name", (&self.function.name).into()),
            ("input", (&self.function.input).into()),
            ("old", self.old.into()),
            ("new", self.new.into()),
        ])
    }
}

fn described(function: &Function) -> String {
    let kind = if function.kernel { "kernel " } else { "" };
    let input = if function.input.is_empty() { String::new() } else { format!("  {}", function.input) };
    format!("{kind}{}{input}", function.name)
}

fn signed(old: u64, new: u64, shown: impl Fn(u64) -> String) -> String {
    let sign = if new < old { "-" } else { "+" };
    if old == new { String::new() } else { format!("{sign}{}", shown(old.abs_diff(new))) }
}

fn total((name, old, new, is_size): (&str, u64, u64, bool)) -> Vec<String> {
    let shown = |value| if is_size { short(value) } else { grouped(value) };
    let percent = match (old, new) {
        (0, _) => String::new(),
        _ if old == new => String::new(),
        _ => format!("{} %", signed(old, new, |change| tenths(change.saturating_mul(100), old))),
    };
    vec![name.into(), shown(old), shown(new), signed(old, new, shown), percent]
}

fn list(screen: &mut Screen, title: &str, rows: &[Vec<String>], count: usize, headings: &[&str]) {
    if rows.is_empty() {
        return;
    }
    screen.blank();
    screen.line(title);
    screen.inside(|screen| {
        screen.table(headings, rows, 1);
        if count > rows.len() {
            screen.line(&format!("and {} more (--all)", grouped((count - rows.len()) as u64)));
        }
    });
}
