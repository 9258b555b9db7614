//! The report for people.

use std::fmt::Write;

use super::cubin::{Cubin, Function, UNBOUNDED};
use super::fatbin::{Fatbin, MemberView};
use super::host::Host;
use super::item::{Content, Item};

pub fn of(items: &[Item]) -> String {
    let mut page = Page { text: String::new(), depth: 0 };
    for item in items {
        page.item(item);
    }
    page.text
}

struct Page {
    text: String,
    depth: usize,
}

impl Page {
    /// A line. Names come out of files: what would move the cursor is shown instead.
    fn line(&mut self, line: &str) {
        let _ = write!(self.text, "{:width$}", "", width = 2 * self.depth);
        self.text.extend(line.chars().map(|c| if c.is_control() { '?' } else { c }));
        self.text.push('\n');
    }

    fn inside(&mut self, write: impl FnOnce(&mut Self)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn damage(&mut self, reason: &str) {
        self.line(&format!("damaged: {reason}"));
    }

    fn item(&mut self, item: &Item) {
        self.line(&format!("{}: {}, {}", item.name, item.kind(), bytes(item.size)));
        self.inside(|page| match &item.content {
            Content::Cubin(cubin) => page.cubin(cubin),
            Content::Fatbins(fatbins) => {
                for fatbin in fatbins {
                    page.fatbin("", fatbin);
                }
            }
            Content::Host(host) => page.host(host),
            Content::Archive { members, damage, .. } => {
                for member in members {
                    page.item(member);
                }
                if let Some(reason) = damage {
                    page.damage(reason);
                }
            }
            Content::Ptx(ptx) => page.line(&format!("PTX {} for {}", ptx.version, ptx.target)),
            Content::Damaged(reason) => page.damage(reason),
            Content::LtoIr | Content::Other => {}
        });
    }

    fn host(&mut self, host: &Host) {
        self.line(&format!("for {}", host.machine));
        for id in &host.module_ids {
            self.line(&format!("module {id}"));
        }
        if !host.references.is_empty() {
            self.line(&format!("refers to {}", host.references.join(" ")));
        }
        for (form, fatbin) in &host.fatbins {
            self.fatbin(form, fatbin);
        }
        if host.fatbins.is_empty() {
            self.line("no device code");
        }
    }

    fn fatbin(&mut self, form: &str, fatbin: &Fatbin) {
        let form = if form.is_empty() { String::new() } else { format!(", {form}") };
        self.line(&format!("fat binary{form}, {}", bytes(fatbin.size)));
        self.inside(|page| {
            for member in &fatbin.members {
                page.member(member);
            }
            if let Some(reason) = &fatbin.damage {
                page.damage(reason);
            }
        });
    }

    fn member(&mut self, member: &MemberView) {
        let mut line = format!("{} {}", member.arch, member.kind);
        if member.kind == "PTX" {
            let _ = write!(line, " {}.{}", member.version.0, member.version.1);
        }
        let _ = write!(line, ", {}", bytes(member.unpacked));
        if member.compression != "none" {
            let _ = write!(line, " ({} with {})", member.packed, member.compression);
        }
        for (told, what) in [(member.debug, ", for debugging"), (member.scrambled, ", scrambled")] {
            line.push_str(if told { what } else { "" });
        }
        if !member.name.is_empty() {
            let _ = write!(line, ", {}", member.name);
        }
        if !member.options.is_empty() {
            let _ = write!(line, ", options '{}'", member.options);
        }
        self.line(&line);
        self.inside(|page| {
            if let Some(cubin) = &member.cubin {
                page.cubin(cubin);
            }
            if let Some(reason) = &member.damage {
                page.damage(reason);
            }
        });
    }

    fn cubin(&mut self, cubin: &Cubin) {
        let mut line = format!("sm_{} {}", cubin.number, cubin.form);
        line.push_str(if cubin.mercury { ", Mercury" } else { "" });
        if let Some(origin) = cubin.origin {
            let (major, minor) = (origin.toolkit / 10, origin.toolkit % 10);
            let _ = write!(line, ", from compute_{}, CUDA {major}.{minor}", origin.virtual_sm);
        }
        self.line(&line);
        for tool in &cubin.tools {
            self.line(&format!("made by {} {}: {}", tool.name, tool.version, tool.command_line.trim()));
        }
        for function in &cubin.functions {
            self.line(&describe(function));
        }
        for space in ["global", "constant", "shared", "local", "common", "other"] {
            let variables = cubin.variables.iter().filter(|variable| variable.space == space);
            let sizes: Vec<u64> = variables.map(|variable| variable.size).collect();
            if !sizes.is_empty() {
                let size = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size));
                self.line(&format!("{} in {space} memory, {}", count(sizes.len(), "variable"), bytes(size)));
            }
        }
        if !cubin.undefined.is_empty() {
            self.line(&format!("needs {}", cubin.undefined.join(" ")));
        }
        for reason in &cubin.damage {
            self.damage(reason);
        }
    }
}

fn describe(function: &Function) -> String {
    let mut line = String::from(if function.kernel { "kernel " } else { "function " });
    line.push_str(&function.name);
    if function.binding != "global" {
        let _ = write!(line, " ({})", function.binding);
    }
    let _ = write!(line, ": {} of code", bytes(function.code));
    if let Some(registers) = function.registers {
        let _ = write!(line, ", {}", count(registers as usize, "register"));
    }
    match function.stack.or(function.frame) {
        Some(UNBOUNDED) => line.push_str(", stack without bound"),
        Some(stack) => {
            let _ = write!(line, ", {} of stack", bytes(stack.into()));
        }
        None => {}
    }
    if function.kernel {
        let _ = write!(line, ", {} of shared memory", bytes(function.shared));
    }
    let _ = write!(line, ", {}", count(function.barriers as usize, "barrier"));
    if let Some(parameters) = function.parameters {
        let _ = write!(line, ", {} of parameters", bytes(parameters.into()));
    }
    line
}

fn bytes(size: u64) -> String {
    count(usize::try_from(size).unwrap_or(usize::MAX), "byte")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
