//! The detail for people: every member, with its kernels and functions; or one line for each.

use std::fmt::Write;

use super::cubin::{Cubin, Function, UNBOUNDED};
use super::fatbin::{MemberView, Ptx};
use super::host::Host;
use super::walk::{Item, Visitor};
use crate::commands::screen::{Screen, bytes, counted, grouped, short};

pub(super) struct Detail<'a> {
    pub(super) screen: &'a mut Screen,
    /// Whether the members are looked into.
    pub(super) looks_inside: bool,
    /// The summary named the file already.
    pub(super) names_file: bool,
    /// A host object without containers.
    is_empty: bool,
    /// The line of a container, until its first member is shown.
    container: Option<String>,
}

impl<'a> Detail<'a> {
    pub(super) fn new(screen: &'a mut Screen, looks_inside: bool) -> Self {
        Self { screen, looks_inside, names_file: false, is_empty: false, container: None }
    }

    fn damaged(&mut self, reason: &str) {
        self.screen.line(&format!("damaged: {reason}"));
    }

    /// Names the container before the first of its members that is shown.
    fn begin_container(&mut self) {
        if let Some(line) = self.container.take() {
            self.screen.line(&line);
            self.screen.depth += 1;
        }
    }

    fn functions(&mut self, cubin: &Cubin, kernels: bool) {
        let of_kind = cubin.functions.iter().filter(|function| function.kernel == kernels);
        let rows: Vec<Vec<String>> = of_kind.map(|function| row(function, kernels)).collect();
        if rows.is_empty() {
            return;
        }
        self.screen.line(&counted(rows.len() as u64, if kernels { "kernel" } else { "function" }));
        let headings: &[&str] = if kernels {
            &["registers", "stack", "shared", "barriers", "parameters", "code", "name"]
        } else {
            &["registers", "stack", "barriers", "code", "name"]
        };
        self.screen.inside(|screen| screen.table(headings, &rows, 1));
        if kernels && cubin.reserved_shared > 0 {
            let reserved = bytes(cubin.reserved_shared);
            self.screen.inside(|screen| {
                screen.line(&format!(
                    "shared memory includes {reserved} that the system reserves in each kernel"
                ));
            });
        }
    }

    fn show(&mut self, cubin: &Cubin) {
        let mut line = format!("{} {}", cubin.arch, cubin.form);
        line.push_str(if cubin.mercury { ", Mercury" } else { "" });
        if let Some(number) = cubin.virtual_arch {
            let _ = write!(line, ", from compute_{number}");
        }
        if let Some(toolkit) = cubin.toolkit {
            let _ = write!(line, ", CUDA {}.{}", toolkit / 10, toolkit % 10);
        }
        self.screen.line(&line);
        for tool in &cubin.tools {
            // solder's version begins with its name, which is not to be read twice.
            let (version, command_line) = (tool.version.trim(), tool.command_line.trim());
            let version = version.strip_prefix(tool.name.as_str()).map_or(version, str::trim_start);
            self.screen.line(&format!("made by {} {version}: {command_line}", tool.name));
        }
        self.functions(cubin, true);
        self.functions(cubin, false);
        for space in ["global", "constant", "shared", "local", "common", "other"] {
            let variables = cubin.variables.iter().filter(|variable| variable.space == space);
            let sizes: Vec<u64> = variables.map(|variable| variable.size).collect();
            if !sizes.is_empty() {
                let size = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
                let count = counted(sizes.len() as u64, "variable");
                self.screen.line(&format!("{count} in {space} memory, {}", bytes(size)));
            }
        }
        // Names that begin so are the assembler's own, which every object mentions.
        let is_own = |name: &&String| [".nv.", "__UFT", "__UDT"].iter().any(|start| name.starts_with(start));
        let needs = cubin.undefined.iter().filter(|name| !is_own(name));
        let needs: Vec<String> = needs.map(|name| super::cubin::shown(name.as_bytes())).collect();
        if !needs.is_empty() {
            self.screen.line(&format!("needs {}", needs.join(", ")));
        }
        for reason in &cubin.damage {
            self.damaged(reason);
        }
    }
}

impl Visitor for Detail<'_> {
    fn looks_inside(&self) -> bool {
        self.looks_inside
    }

    fn begin(&mut self, item: &Item<'_>) {
        if !self.names_file {
            self.screen.line(&format!("{}: {}, {}", item.name, item.kind, short(item.size)));
        }
        self.names_file = false;
        self.screen.depth += 1;
    }

    fn end(&mut self) {
        self.screen.depth -= 1;
    }

    fn cubin(&mut self, cubin: &Cubin, _size: u64) {
        if self.looks_inside {
            self.show(cubin);
        }
    }

    fn host(&mut self, host: &Host) {
        self.is_empty = true;
        if !self.looks_inside {
            return;
        }
        for id in &host.module_ids {
            self.screen.line(&format!("module {id}"));
        }
        if !host.references.is_empty() {
            self.screen.line(&format!("refers to {}", host.references.join(" ")));
        }
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, size: u64) {
        self.is_empty = false;
        let form = form.map_or(String::new(), |form| format!(", {form}"));
        self.container = Some(format!("fat binary{form}, {}", short(size)));
    }

    fn member(&mut self, member: &MemberView) {
        self.begin_container();
        self.screen.line(&describe(member));
        self.screen.depth += 1;
        if let Some(cubin) = &member.cubin {
            self.show(cubin);
        }
        if let Some(reason) = &member.damage {
            self.damaged(reason);
        }
        self.screen.depth -= 1;
    }

    fn end_fatbin(&mut self, _form: Option<&'static str>, damage: Option<&str>) {
        if let Some(reason) = damage {
            self.begin_container();
            self.damaged(reason);
        }
        if self.container.take().is_none() {
            self.screen.depth -= 1;
        }
    }

    fn end_fatbins(&mut self) {
        if std::mem::take(&mut self.is_empty) {
            self.screen.line("no device code");
        }
    }

    fn end_archive(&mut self, damage: Option<&str>) {
        if let Some(reason) = damage {
            self.damaged(reason);
        }
    }

    fn ptx(&mut self, ptx: &Ptx, _size: u64) {
        self.screen.line(&format!("PTX {} for {}", ptx.version, ptx.target));
    }

    fn damage(&mut self, reason: &str) {
        self.damaged(reason);
    }
}

fn describe(member: &MemberView) -> String {
    let mut line = format!("{} {}", member.arch, member.kind);
    if member.kind == "PTX" {
        let _ = write!(line, " {}.{}", member.version.0, member.version.1);
    }
    let _ = write!(line, ", {}", short(member.unpacked));
    if member.compression != "none" {
        let _ = write!(line, " ({} with {})", short(member.packed), member.compression);
    }
    for (holds, what) in [(member.debug, ", for debugging"), (member.scrambled, ", scrambled")] {
        line.push_str(if holds { what } else { "" });
    }
    if !member.name.is_empty() {
        let _ = write!(line, ", {}", member.name);
    }
    if !member.options.is_empty() {
        let _ = write!(line, ", options '{}'", member.options);
    }
    line
}

/// A function as a line of a table.
fn row(function: &Function, kernel: bool) -> Vec<String> {
    let number = |value: Option<u32>| value.map_or("-".into(), |value| grouped(value.into()));
    let binding =
        if function.binding == "global" { String::new() } else { format!(" ({})", function.binding) };
    let mut row = vec![number(function.registers), stack(function)];
    row.extend(kernel.then(|| grouped(function.shared)));
    row.push(grouped(function.barriers.into()));
    row.extend(kernel.then(|| number(function.parameters)));
    row.push(grouped(function.code));
    row.push(format!("{}{binding}", function.demangled));
    row
}

/// The stack that a function needs with all that it calls.
pub(super) fn stack(function: &Function) -> String {
    match function.stack.or(function.frame) {
        Some(UNBOUNDED) => "unbounded".into(),
        Some(stack) => grouped(stack.into()),
        None => "-".into(),
    }
}
