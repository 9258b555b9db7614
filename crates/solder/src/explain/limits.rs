//! Limits that a link exceeds, and stacks that nobody can measure: who is responsible.

use super::calls::Named;
use bstr::BStr;
use hashbrown::HashSet;
use solder_cubin::raw;

use super::calls;
use super::context::{Context, capped, counted};
use super::names::shown;
use crate::diagnostics::Note;
use solder_link::model::ids::SectionId;
use solder_link::model::merged::Kind;
use solder_link::model::object::Object;
use solder_link::view::View;

/// Contributors named.
const MOST: usize = 12;

/// A part of a budget.
struct Share {
    size: u64,
    what: String,
}

/// The largest first.
fn budget(mut shares: Vec<Share>, total: u64, what: &str) -> Vec<Note> {
    shares.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.what.cmp(&b.what)));
    let named: u64 = shares.iter().map(|share| share.size).sum();
    let line = |share: &Share| Note::new("budget", format!("{:>9}  {}", share.size, share.what));
    let mut notes = vec![Note::new("budget", format!("{total:>9}  bytes of {what}, of which"))];
    notes.extend(capped(shares.iter().map(line).collect(), MOST, "contributors"));
    if let Some(rest) = total.checked_sub(named).filter(|rest| *rest > 0) {
        notes.push(Note::new("budget", format!("{rest:>9}  alignment")));
    }
    notes
}

fn excess(total: u64, limit: u64) -> Note {
    Note::new("excess", format!("{:>9}  too many", total.saturating_sub(limit)))
}

impl Context<'_, '_> {
    pub(super) fn unknown_stack(&self, kernel: &BStr) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let Some(kernel) = view.function(kernel) else { return Vec::new() };
        let graph = &view.merged.calls;
        let Some(way) = calls::path(graph, kernel, |node| graph.is_recursive(node)) else {
            return Vec::new();
        };
        let mut notes = Vec::new();
        if way.len() > 1 {
            notes.push(Note::new(
                "path",
                format!("{} leads to recursion", view.chain(&way, |_| String::new())),
            ));
        }
        let start = way.last().copied().unwrap_or(kernel);
        let Some(cycle) = calls::cycle(graph, start) else { return notes };
        notes.push(Note::new("cycle", format!("the cycle is {}", view.chain(&cycle, |_| String::new()))));
        if let Some(indirect) = cycle.iter().find(|node| !view.is_function(**node)) {
            let count = graph.edges(*indirect).len() as u64;
            let text = format!(
                "the call is indirect: {} of this prototype {} their address taken, and each counts as called",
                counted(count, "function"),
                if count == 1 { "has" } else { "have" }
            );
            notes.push(Note::new("indirect", text));
        }
        notes.push(Note::new("hint", "set the stack with cudaDeviceSetLimit(cudaLimitStackSize, ...), or silence this with -suppress-stack-size-warning"));
        notes
    }

    pub(super) fn register_limit(&self, kernel: &BStr, callee: &BStr, limit: u32) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let (Some(from), Some(to)) = (view.function(kernel), view.function(callee)) else {
            return Vec::new();
        };
        let own = |node: u32| format!(" [{}]", view.resources.own[node as usize].registers);
        let mut notes = Vec::new();
        if let Some(way) = calls::path(&view.merged.calls, from, |node| node == to) {
            notes.push(Note::new("path", format!("registers along the call: {}", view.chain(&way, own))));
        }
        let text = format!(
            "{} may use {limit} (its __launch_bounds__, .maxnreg or -maxrregcount): compile {} with -maxrregcount={limit}, or raise the kernel's limit",
            shown(kernel),
            shown(callee)
        );
        notes.push(Note::new("hint", text));
        notes
    }

    pub(super) fn shared_limit(&self, kernel: &BStr, limit: u64) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let Some(kernel) = view.function(kernel) else { return Vec::new() };
        let shares = shared_of(view, self.objects, kernel);
        let reserved = view.shared.reserved;
        let total = view.shared.kernels[kernel as usize].map_or(0, |s| s.size.saturating_sub(reserved));
        let mut notes = budget(shares, total, "shared memory");
        notes.push(excess(total, limit));
        notes.push(Note::new(
            "hint",
            "variables with a size of their own are limited to this; an extern __shared__ array gets more at the launch of the kernel, \
             after cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)",
        ));
        notes
    }

    pub(super) fn constant_limit(&self, limit: u64) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let is_it = |(_, s): &(usize, &solder_link::model::merged::OutputSection<'_>)| {
            matches!(s.kind, Kind::Constant(_)) && s.size > limit
        };
        let Some((section, found)) = view.merged.sections.iter().enumerate().find(is_it) else {
            return Vec::new();
        };
        let shares = variables_in(view, self.objects, SectionId::at(section));
        let what = format!("{} in all objects", view.merged.section_name(SectionId::at(section)));
        let mut notes = budget(shares, found.size, &what);
        notes.push(excess(found.size, limit));
        notes.push(Note::new(
            "hint",
            "large tables can be __device__ const variables, which have no such limit",
        ));
        notes
    }

    pub(super) fn compiler_constants(&self, kernel: &BStr) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let Some(kernel) = view.function(kernel) else { return Vec::new() };
        let reach: HashSet<u32> = view.merged.calls.reach(kernel).into_iter().collect();
        let of = view.merged.constants.iter().filter(|constant| reach.contains(&constant.function));
        let shares: Vec<Share> = of
            .map(|c| Share { size: c.size, what: format!("{}, bank {}", view.node_name(c.function), c.bank) })
            .collect();
        let largest = view.merged.functions[kernel as usize].constants.iter();
        let total = largest.map(|(_, section)| view.merged.section(*section).size).max().unwrap_or(0);
        let named: u64 = shares.iter().map(|share| share.size).sum();
        let own =
            Share { size: total.saturating_sub(named), what: format!("{} itself", view.node_name(kernel)) };
        budget(
            shares.into_iter().chain([own]).filter(|s| s.size > 0).collect(),
            total,
            "compiler-generated constants",
        )
    }

    pub(super) fn reference_list(&self, kernel: &BStr) -> Vec<Note> {
        let Some(view) = self.view else { return Vec::new() };
        let Some(kernel) = view.function(kernel) else { return Vec::new() };
        let Some(constant) = view.merged.functions[kernel as usize].constant else { return Vec::new() };
        let handles = view.textures.handles(view.merged, constant);
        let note = |(symbol, _)| Note::new("reference", shown(view.merged.symbol(symbol).name));
        capped(handles.map(note).collect(), MOST, "references")
    }
}

/// The shared variables that a kernel has, with who has them.
fn shared_of(view: View<'_, '_>, objects: &[Object<'_>], kernel: u32) -> Vec<Share> {
    let reach: HashSet<u32> = view.merged.calls.reach(kernel).into_iter().collect();
    let users = solder_link::shared::find_users(view.merged);
    let mut shares = Vec::new();
    for (object, users) in view.merged.shared.iter().zip(&users).filter(|(o, _)| !o.dynamic) {
        let user = users.iter().find(|user| reach.contains(*user));
        let by = match (object.owner, user) {
            (Some(owner), _) if owner == kernel => "of the kernel itself".to_string(),
            (_, Some(user)) if *user == kernel => "used by the kernel itself".to_string(),
            (_, Some(user)) => format!("used by {}", view.node_name(*user)),
            _ => continue,
        };
        let symbol = view.merged.symbol(object.symbol);
        let what = format!("{}, {by}{}", shown(symbol.name), from(objects, symbol.origin));
        shares.push(Share { size: object.size, what });
    }
    shares
}

fn from(objects: &[Object<'_>], origin: Option<solder_link::model::symbols::Origin>) -> String {
    origin.map_or(String::new(), |origin| format!(", '{}'", objects[origin.file.index()].name))
}

fn variables_in(view: View<'_, '_>, objects: &[Object<'_>], section: SectionId) -> Vec<Share> {
    let in_it =
        view.merged.symbols.iter().filter(|s| s.section == Some(section) && s.kind == raw::STT_OBJECT);
    let share = |symbol: &solder_link::model::merged::OutputSymbol<'_>| Share {
        size: symbol.size,
        what: format!("{}{}", shown(symbol.name), from(objects, symbol.origin)),
    };
    in_it.map(share).collect()
}
