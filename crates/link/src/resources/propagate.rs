//! Attributes that a kernel inherits from functions it reaches.
//!
//! Functions are taken in the order in which their attributes were read, the records of each in the
//! order of the input; what a kernel lacks is added at the end of its own records. In a link with one
//! kernel nvlink does not ask what it reaches: every function is taken, one attribute after the other.

use super::records::{Languages, Own, Records};
use crate::model::calls::Calls;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::{Function, InfoRecord, InfoValue, Merged};
use crate::pool::Pool;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_arch::Release;
use solder_cubin::info::{attr, format};
use solder_cubin::raw;

/// How the attributes of functions change those of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The kernel has it too.
    Flag,
    Largest,
    Sum,
    /// What a list names and the kernel's does not is added to it, and the function has no list any more.
    Move,
    Externs,
    /// What a list names and the kernel's does not is added to it.
    Union,
}

/// In the order in which the only kernel of a link gets them.
const RULES: &[(u8, Rule)] = &[
    (attr::CTAIDZ_USED, Rule::Flag),
    (attr::RESERVED_SMEM_USED, Rule::Flag),
    (attr::VRC_CTA_INIT_COUNT, Rule::Largest),
    (attr::TCGEN05_1CTA_USED, Rule::Flag),
    (attr::TCGEN05_2CTA_USED, Rule::Flag),
    (attr::NUM_BARRIERS, Rule::Largest),
    (attr::REG_RECONFIG, Rule::Flag),
    (attr::NUM_MBARRIERS, Rule::Sum),
    (attr::EXTERNS, Rule::Externs),
    (attr::LANGUAGE, Rule::Union),
    (attr::AT_ENTRY_FRAGMENTS, Rule::Move),
];

/// The same by attribute.
const RULE_OF: [Option<Rule>; 256] = {
    let mut rules = [None; 256];
    let mut index = 0;
    while index < RULES.len() {
        let (attr, rule) = RULES[index];
        rules[attr as usize] = Some(rule);
        index += 1;
    }
    rules
};

fn rule_of(attr: u8) -> Option<Rule> {
    RULE_OF[usize::from(attr)]
}

fn is_sum(record: &InfoRecord<'_>) -> bool {
    rule_of(record.attr) == Some(Rule::Sum)
}

/// What a function without the attribute gets as soon as any function has it.
const NO_SPARSE_MMA: [u8; 2] = [0x00, 0x80];

/// The call stack of a kernel: its own and that of its deepest call path.
pub fn set_call_stack(records: &mut Records<'_, '_>, kernel: SectionId, total: u32) {
    let is_stack = |r: &InfoRecord<'_>| matches!(r.attr, attr::CRS_STACK_SIZE | attr::SYNC_STACK);
    match records.of(kernel).iter().rposition(is_stack) {
        Some(own) if records.of(kernel)[own].value.bytes() == total.to_le_bytes() => {}
        Some(own) => records.of_mut(kernel)[own].value = InfoValue::Owned(total.to_le_bytes().into()),
        None if total != 0 => {
            let record = new_record(format::SIZED, attr::CRS_STACK_SIZE, &total.to_le_bytes());
            records.of_mut(kernel).push(record);
        }
        None => {}
    }
}

/// `own` is what the attributes of each function say of itself.
pub fn propagate(calls: &Calls, own: &[Own], records: &mut Records<'_, '_>, release: &Release, pool: &Pool) {
    let masks = complete_sparse_masks(own, records);
    let merged = records.merged;
    // Lists of functions tell nothing where all functions are in the link. Else they do even if theirs are: the kernel's
    // list begins where the first one is met.
    let has_external = own.iter().any(|own| own.lists_external);
    let has_languages = release.inherits_languages() && has_several_languages(merged, own);
    let tells = |function: &u32| {
        let own = &own[*function as usize];
        let names_language = has_languages && own.languages != Languages::Unknown;
        own.is_inherited || has_external && own.lists_externs || names_language
    };
    let mut sources: Vec<u32> = (0..merged.functions.len() as u32).filter(tells).collect();
    sources.sort_by_key(|f| merged.functions[*f as usize].attributes_read);
    let single = merged.only_root().is_some();
    let externs = Externs::new(single, &sources, records, release);
    let kernels: Vec<_> = merged.roots().filter_map(|(i, f)| Some((i, f.info?))).collect();
    let kernel_list: Vec<u32> = kernels.iter().map(|(kernel, _)| *kernel).collect();
    let reached = if single { Vec::new() } else { calls.reached(&sources, &kernel_list) };
    // The only kernel keeps its own mask unless functions were removed or had none.
    let had_none = |(function, own): (&Function, &Own)| function.alias || own.sparse_mask.is_none();
    let keeps_mask = single && !merged.functions_removed && !merged.functions.iter().zip(own).any(had_none);
    let mask = sparse_masks(calls, &masks, single);
    let update = |position: usize| {
        let (kernel, info) = kernels[position];
        let has_mask = keeps_mask || has_sparse_mask(records.of(info), mask(kernel));
        let is_told = if single {
            !sources.is_empty()
        } else {
            reached[position].iter().any(|source| sources[source] != kernel)
        };
        if has_mask && !is_told {
            return None;
        }
        let mut own = records.of(info).to_vec();
        let had_sum = own.iter().any(is_sum);
        if !keeps_mask {
            set_sparse_mask(&mut own, mask(kernel));
        }
        // The lists are in output order, which is the input's reversed.
        let of = |source: u32| {
            let info = merged.functions[source as usize].info.filter(|_| source != kernel);
            let all = info.into_iter().flat_map(|info| records.of(info).iter().rev());
            all.filter(|record| inherits(release, record.attr))
        };
        if single {
            for (attr, rule) in RULES.iter().filter(|(_, rule)| has_languages || *rule != Rule::Union) {
                let has_own = own.iter().any(|record| record.attr == *attr);
                let all = sources.iter().flat_map(|source| of(*source)).filter(|r| r.attr == *attr);
                if *rule == Rule::Move {
                    gather(&mut own, *attr, &sources, records);
                } else if *rule == Rule::Sum && !release.inherits_listed_barriers() {
                    let others = sources.iter().filter(|source| **source != kernel);
                    let infos = others.filter_map(|source| merged.functions[*source as usize].info);
                    sum_barriers(&mut own, infos.flat_map(|info| records.of(info)));
                } else if !(has_own && *attr == attr::VRC_CTA_INIT_COUNT) {
                    all.for_each(|record| apply(&mut own, record, &externs));
                }
            }
        } else {
            let reached = reached[position].iter().map(|i| sources[i]);
            let takes = |record: &&InfoRecord<'_>| has_languages || record.attr != attr::LANGUAGE;
            reached.flat_map(of).filter(takes).for_each(|record| apply(&mut own, record, &externs));
        }
        externs.finish(&mut own);
        // The only kernel gets no sum of nothing.
        own.retain(|r| had_sum || !single || !is_sum(r) || number(r.value.bytes()) != 0);
        Some(own)
    };
    let updated = pool.map_numbers(kernels.len(), update);
    for ((_, info), own) in kernels.iter().zip(updated) {
        if let Some(own) = own {
            records.set(*info, own);
        }
    }
    let moves = |r: &InfoRecord<'_>| rule_of(r.attr) == Some(Rule::Move);
    // Kernels inherit what moves, so that its functions are among the sources.
    for function in sources.iter().map(|f| &merged.functions[*f as usize]).filter(|f| !f.entry) {
        if let Some(info) = function.info.filter(|info| records.of(*info).iter().any(moves)) {
            records.of_mut(info).retain(|r| !moves(r));
        }
    }
}

/// Whether kernels inherit an attribute that has a rule.
fn inherits(release: &Release, attr: u8) -> bool {
    match attr {
        attr::TCGEN05_1CTA_USED | attr::TCGEN05_2CTA_USED => release.knows_tensor_groups(),
        attr::NUM_BARRIERS => release.inherits_listed_barriers(),
        attr::RESERVED_SMEM_USED => release.inherits_reserved_shared(),
        _ => true,
    }
}

/// Whether a kernel inherits a record from a function it reaches, whatever other functions say.
pub fn is_inherited(record: &InfoRecord<'_>) -> bool {
    rule_of(record.attr).is_some_and(|rule| !matches!(rule, Rule::Externs | Rule::Union))
}

/// Whether some kernel may learn of a language from a function. Assemblers from 13.2 on name one for every function, mostly
/// the same one for all: then there is nothing to learn, and nothing to follow.
fn has_several_languages(merged: &Merged<'_>, own: &[Own]) -> bool {
    let functions = merged.functions.iter().zip(own);
    let matters = |(function, own): &(&Function, &Own)| function.entry || own.languages != Languages::Unknown;
    let mut all = functions.filter(matters).map(|(_, own)| own.languages);
    let first = all.next();
    first == Some(Languages::Several) || all.any(|languages| Some(languages) != first)
}

/// Toolkits before 13.0 name the barriers of a function in the header of its code. A kernel that is followed has as many as any
/// function that it reaches (older/barriers-of-kernels-kept). With `listed` they become an attribute, as from 13.0 on, and the header does not name them any more; that of a
/// kernel that has the attribute for other reasons goes on to do so. The value is what headers name that is not what was read.
pub fn barriers(
    calls: &Calls,
    own: &[Own],
    records: &mut Records<'_, '_>,
    listed: bool,
) -> HashMap<SectionId, u8, FixedState> {
    let mut named_now = HashMap::default();
    let named = |node: usize| own.get(node).map_or(0, |own| own.barriers);
    if (0..own.len()).all(|node| named(node) == 0) {
        return named_now;
    }
    let merged = records.merged;
    let of_functions = |node: usize| match merged.functions.get(node) {
        Some(function) if !function.entry => named(node),
        _ => 0,
    };
    let reached = calls.fold(of_functions, |all, more| *all = (*all).max(*more));
    let followed = merged.roots().map(|(index, function)| (index as usize, function));
    if !listed {
        let more = followed.filter(|(index, _)| reached[*index] > named(*index));
        named_now.extend(more.filter_map(|(index, function)| Some((function.text?, reached[index]))));
        return named_now;
    }
    let mut of_callees = vec![0; merged.functions.len()];
    followed.for_each(|(index, _)| of_callees[index] = reached[index]);
    for ((index, function), of_callees) in merged.functions.iter().enumerate().zip(of_callees) {
        let count = named(index).max(of_callees);
        let Some(info) = function.info.filter(|_| count > 0) else { continue };
        let present = records.of(info).iter().position(|record| record.attr == attr::NUM_BARRIERS);
        match present.map(|at| (at, number(records.of(info)[at].value.bytes()))) {
            Some((at, present)) if present < of_callees.into() => {
                records.of_mut(info)[at].value = InfoValue::Owned([of_callees, 0].into());
            }
            Some(_) => {}
            None => {
                records.of_mut(info).push(new_record(format::BYTE, attr::NUM_BARRIERS, &[count, 0]));
                named_now.extend(function.text.map(|text| (text, 0)));
            }
        }
    }
    named_now
}

/// As soon as one function says how it uses sparse matrix instructions, every function does. An alias
/// has no attributes of its own: the record it lacks is added to those of the function it names. What each then says.
fn complete_sparse_masks(own: &[Own], records: &mut Records<'_, '_>) -> Vec<u16> {
    let nothing = u16::from_le_bytes(NO_SPARSE_MMA);
    let merged = records.merged;
    let functions = || merged.functions.iter().zip(own);
    let mut masks: Vec<u16> = functions()
        .map(|(function, own)| if function.alias { nothing } else { own.sparse_mask.unwrap_or(0) })
        .collect();
    if own.iter().all(|own| own.sparse_mask.is_none()) {
        return masks;
    }
    for (index, (function, own)) in (0..).zip(functions()) {
        let lacking = if function.alias {
            named_by_alias(merged, function)
        } else {
            own.sparse_mask.is_none().then_some(index)
        };
        let Some(of) = lacking else { continue };
        if let Some(info) = merged.functions[of as usize].info {
            let record = new_record(format::HALF, attr::SPARSE_MMA_MASK, &NO_SPARSE_MMA);
            records.of_mut(info).push(record);
            masks[of as usize] |= nothing;
        }
    }
    masks
}

/// How each function and all it reaches use sparse matrix instructions. Nearly every function says so,
/// hence one sweep for all of them.
fn sparse_masks(calls: &Calls, own: &[u16], single: bool) -> impl Fn(u32) -> u16 {
    let all = own.iter().fold(0, |all, own| all | own);
    let reached = (!single).then(|| calls.fold(|node| own.get(node).copied().unwrap_or(0), |a, b| *a |= b));
    move |kernel| reached.as_ref().map_or(all, |reached| reached[kernel as usize])
}

fn has_sparse_mask(own: &[InfoRecord<'_>], mask: u16) -> bool {
    let own = own.iter().find(|r| r.attr == attr::SPARSE_MMA_MASK);
    own.is_none_or(|record| number(record.value.bytes()) == mask)
}

fn set_sparse_mask(own: &mut [InfoRecord<'_>], mask: u16) {
    if let Some(record) = own.iter_mut().find(|r| r.attr == attr::SPARSE_MMA_MASK)
        && number(record.value.bytes()) != mask
    {
        record.value = InfoValue::Owned(mask.to_le_bytes().into());
    }
}

/// The function that an alias names.
fn named_by_alias(merged: &Merged<'_>, alias: &Function) -> Option<u32> {
    let owner = merged.section(alias.text?).function?;
    let entity = merged.symbol(owner).entity?;
    merged.function_of[entity.index()]
}

fn apply<'data>(own: &mut Vec<InfoRecord<'data>>, from: &InfoRecord<'data>, externs: &Externs<'_>) {
    let Some(rule) = rule_of(from.attr) else { return };
    if rule == Rule::Externs {
        externs.add(own, from);
        return;
    }
    let Some(record) = own.iter_mut().find(|r| r.attr == from.attr) else {
        own.push(from.clone());
        return;
    };
    let (old, new) = (record.value.bytes(), from.value.bytes());
    let merged = match rule {
        Rule::Flag | Rule::Externs => return,
        Rule::Move | Rule::Union => union(old, new).into(),
        Rule::Largest => number(old).max(number(new)).to_le_bytes().into(),
        Rule::Sum => sum(number(old), number(new)).to_le_bytes().into(),
    };
    record.value = InfoValue::Owned(merged);
}

/// CUDA 12 takes both attributes about barriers for one in a link with one kernel: the first that the kernel has becomes the sum of
/// all, its own others too (compat/newer-objects).
fn sum_barriers<'a, 'data: 'a>(
    own: &mut Vec<InfoRecord<'data>>,
    others: impl Iterator<Item = &'a InfoRecord<'data>>,
) {
    let counts = |record: &InfoRecord<'_>| matches!(record.attr, attr::NUM_BARRIERS | attr::NUM_MBARRIERS);
    let count = |record: &InfoRecord<'_>| if counts(record) { number(record.value.bytes()) } else { 0 };
    let of_kernel = own.iter().map(count).fold(0, sum);
    let total = others.map(count).fold(of_kernel, sum).to_le_bytes();
    match own.iter_mut().find(|record| counts(record)) {
        Some(record) => record.value = InfoValue::Owned(total.into()),
        None if total != [0; 2] => own.push(new_record(format::HALF, attr::NUM_MBARRIERS, &total)),
        None => {}
    }
}

/// The first list, and what only the second one names.
fn union(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut all = first.to_vec();
    for entry in second.chunks_exact(4) {
        if !all.chunks_exact(4).any(|known| known == entry) {
            all.extend_from_slice(entry);
        }
    }
    all
}

/// The assembler's count of what it could not count.
const UNKNOWN: u16 = u16::MAX;

fn sum(a: u16, b: u16) -> u16 {
    if a == UNKNOWN || b == UNKNOWN { UNKNOWN } else { a.wrapping_add(b) }
}

/// What the lists of all functions name, the kernel's own among them, in one record at the end. A kernel whose list names all of
/// it keeps that where it is.
fn gather(own: &mut Vec<InfoRecord<'_>>, attr: u8, sources: &[u32], records: &Records<'_, '_>) {
    let infos = sources.iter().filter_map(|f| records.merged.functions[*f as usize].info);
    let lists = infos.flat_map(|info| records.of(info).iter().rev().filter(|r| r.attr == attr));
    let all = lists.fold(Vec::new(), |all, record| union(&all, record.value.bytes()));
    let names_all = |r: &InfoRecord<'_>| r.attr == attr && r.value.bytes().len() >= all.len();
    if !all.is_empty() && !own.iter().any(names_all) {
        own.retain(|r| r.attr != attr);
        own.push(new_record(format::SIZED, attr, &all));
    }
}

/// The number that a value begins with.
pub fn number(bytes: &[u8]) -> u16 {
    match bytes {
        [low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

fn new_record<'data>(format: u8, attr: u8, bytes: &[u8]) -> InfoRecord<'data> {
    InfoRecord::new(format, attr, InfoValue::Owned(bytes.into()))
}

/// An entry of a list of externs that is kept: undefined, or a kernel to be launched.
pub fn stays_external(merged: &Merged<'_>, id: SymbolId) -> bool {
    let symbol = merged.symbol(id);
    !symbol.is_defined() || symbol.other & raw::STO_ENTRY != 0
}

/// The lists of undefined functions.
struct Externs<'a> {
    merged: &'a Merged<'a>,
    /// With one kernel: what the lists of all functions name.
    all: Option<Vec<SymbolId>>,
}

impl<'a> Externs<'a> {
    fn new(single: bool, sources: &[u32], records: &Records<'a, '_>, release: &Release) -> Self {
        let merged = records.merged;
        let all = || {
            let infos = sources.iter().filter_map(|f| merged.functions[*f as usize].info);
            let mut all = Vec::new();
            for record in infos.flat_map(|info| records.of(info).iter().rev()) {
                let InfoValue::Symbols(list) = &record.value else { continue };
                for id in list.iter().filter(|id| stays_external(merged, **id)) {
                    if !all.contains(id) {
                        all.push(*id);
                    }
                }
            }
            if release.prepends_externs() {
                all.reverse();
            }
            all
        };
        Self { merged, all: single.then(all) }
    }

    fn add(&self, own: &mut Vec<InfoRecord<'_>>, from: &InfoRecord<'_>) {
        let InfoValue::Symbols(from) = &from.value else { return };
        let from: Vec<SymbolId> =
            from.iter().copied().filter(|id| stays_external(self.merged, *id)).collect();
        if from.is_empty() && self.all.is_some() {
            return;
        }
        let at = own.iter().position(|r| r.attr == attr::EXTERNS);
        if let (Some(all), Some(at)) = (&self.all, at)
            && let InfoValue::Symbols(list) = &own[at].value
        {
            // Incomplete: a new list takes its place at the end.
            if all.iter().any(|id| !list.contains(id)) {
                own.remove(at);
                own.push(list_record(all.clone()));
            }
            return;
        }
        match at.map(|at| &mut own[at].value) {
            Some(InfoValue::Symbols(list)) => {
                let mut all = list.to_vec();
                for id in from {
                    if !all.contains(&id) {
                        all.push(id);
                    }
                }
                *list = all.into();
            }
            _ => own.push(list_record(self.all.clone().unwrap_or(from))),
        }
    }

    fn finish(&self, own: &mut Vec<InfoRecord<'_>>) {
        for record in own.iter_mut() {
            if let InfoValue::Symbols(list) = &mut record.value {
                *list = list.iter().copied().filter(|id| stays_external(self.merged, *id)).collect();
            }
        }
        own.retain(|record| !matches!(&record.value, InfoValue::Symbols(list) if list.is_empty()));
    }
}

fn list_record<'data>(list: Vec<SymbolId>) -> InfoRecord<'data> {
    InfoRecord::new(format::SIZED, attr::EXTERNS, InfoValue::Symbols(list.into()))
}
