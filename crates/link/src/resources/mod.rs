//! What each kernel needs: registers, barriers and stack of everything it can reach, and what the
//! attributes of the functions it reaches say about it.

mod propagate;
mod records;
mod system;

pub use records::{Own, UNKNOWN_STACK};

use crate::diagnostics::{Message, Sink};
use crate::model::calls::{Calls, Need, OfNodes};
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::{InfoRecord, InfoValue, Merged};
use crate::model::object::Object;
use crate::notes;
use crate::options::Options;
use crate::pool::Pool;
use hashbrown::{HashMap, HashSet};
use records::{Changed, Languages, Records};
use solder_cubin::info::{attr, format};
use solder_cubin::raw;

/// As many warnings about it as anybody may want to read; of more only the number is said.
const WARNINGS_OF_RECURSION: usize = 100_000;

/// The resources of the link.
#[derive(Debug)]
pub struct Resources<'data> {
    /// Final register count of each function.
    pub registers: Vec<u32>,
    /// What the attributes of each function say of itself.
    pub own: Vec<Own>,
    /// Stack of each kernel; 0 for other functions.
    pub stack: Vec<u32>,
    records: Changed<'data>,
    /// How many barriers the header of code names, where that is not what was read: none where they became an attribute.
    pub barriers: HashMap<SectionId, u8, foldhash::fast::FixedState>,
    /// What the machine code's view has different.
    pub in_code: system::InCode,
    /// What `.nv.info` has after the records of the merge.
    pub of_module: Vec<InfoRecord<'data>>,
    /// The attributes of kernels that reach functions with the second workaround.
    pub second_workaround: HashSet<SectionId, foldhash::fast::FixedState>,
}

impl<'data> Resources<'data> {
    /// The final records of an attribute section.
    pub fn records<'a>(&'a self, merged: &'a Merged<'data>, id: SectionId) -> &'a [InfoRecord<'data>] {
        self.records.get(&id).map_or_else(|| merged.info_records(id), Vec::as_slice)
    }

    /// The final register count of the function that a symbol names.
    pub fn registers_of(&self, merged: &Merged<'_>, symbol: SymbolId) -> Option<u32> {
        Some(self.registers[merged.function_of_symbol(symbol)? as usize])
    }
}

/// Computes what each kernel needs.
pub fn compute<'data>(
    merged: &Merged<'data>,
    objects: &[Object<'data>],
    options: &Options<'_>,
    pool: &Pool,
    sink: &Sink,
) -> Resources<'data> {
    let calls = &merged.calls;
    let own = own_values(merged, pool);
    let needs = calls.needs(|node| {
        let own = own.get(node).copied().unwrap_or_default();
        (own.registers, [own.frame, own.call_stack])
    });
    let mut records = Records { merged, changed: HashMap::default() };
    let mut resources = Resources {
        registers: own.iter().map(|o| o.registers).collect(),
        own: Vec::new(),
        stack: vec![0; calls.functions],
        records: HashMap::default(),
        barriers: HashMap::default(),
        in_code: system::InCode::new(merged, &own),
        of_module: Vec::new(),
        second_workaround: HashSet::default(),
    };
    for (kernel, function) in merged.roots() {
        let at = kernel as usize;
        let [stack, call_stack] = needs[at].sums.unwrap_or([UNKNOWN_STACK; 2]);
        resources.registers[at] = needs[at].most;
        resources.stack[at] = stack;
        if let Some(info) = function.info {
            propagate::set_call_stack(&mut records, info, call_stack);
        }
    }
    if !options.suppress_stack_size_warning && !options.relocatable {
        warn_of_recursion(merged, calls, &needs, sink);
    }
    if options.relocatable {
        // All attributes stay as they were read.
        resources.own = own;
        return resources;
    }
    let has_old_object = objects.iter().any(|object| notes::is_older_than_10(object, options.release));
    propagate::propagate(calls, &own, &mut records, options.release, pool);
    resources.barriers = propagate::barriers(calls, &own, &mut records, options.release.lists_barriers());
    resources.own = own;
    resources.second_workaround = second_workaround(merged, calls);
    resources.of_module = module_records(merged, &resources.stack, has_old_object);
    resources.records = records.changed;
    resources
}

/// The attributes of kernels that reach a function with the second workaround: they have it too (mercury/workaround-of-callees).
fn second_workaround(merged: &Merged<'_>, calls: &Calls) -> HashSet<SectionId, foldhash::fast::FixedState> {
    if !merged.has_code_records {
        return HashSet::default();
    }
    let names = |record: &InfoRecord<'_>| {
        record.attr == attr::SECOND_SW_WAR && propagate::number(record.value.bytes()) != 0
    };
    let has = |node: usize| {
        let info = merged.functions.get(node).and_then(|function| function.info);
        info.is_some_and(|info| merged.code_records(info).iter().any(names))
    };
    if !(0..merged.functions.len()).any(|node| !merged.functions[node].entry && has(node)) {
        return HashSet::default();
    }
    let reached = calls.fold(has, |all, more| *all |= *more);
    let kernels = merged.roots().filter(|(kernel, _)| reached[*kernel as usize]);
    kernels.filter_map(|(_, function)| function.info).collect()
}

/// Of each kernel, one warning for every function that it calls and from which recursion is reached. With indirect
/// calls that can be every function of the program for every kernel.
fn warn_of_recursion(merged: &Merged<'_>, calls: &Calls, needs: &OfNodes<'_, Need>, sink: &Sink) {
    let kernels: Vec<_> = merged.roots().collect();
    let callees = kernels.iter().map(|(kernel, _)| *kernel);
    let recursive = calls.count_callees(callees, |callee| needs[callee as usize].sums.is_none());
    let mut left = WARNINGS_OF_RECURSION;
    for ((_, function), count) in kernels.iter().zip(&recursive) {
        let said = left.min(*count);
        for _ in 0..said {
            let kernel = merged.symbol(function.symbol).name;
            sink.report(Message::StackSizeUnknown { kernel: kernel.into() });
        }
        left -= said;
    }
    let more = recursive.iter().sum::<usize>() - (WARNINGS_OF_RECURSION - left);
    if more > 0 {
        sink.report(Message::MoreStackSizesUnknown { count: more as u64 });
    }
}

fn own_values(merged: &Merged<'_>, pool: &Pool) -> Vec<Own> {
    let mut own = pool.map_numbers(merged.functions.len(), |index| own_records(merged, index));
    let function = |symbol: SymbolId| merged.function_of_symbol(symbol);
    if let Some(info) = merged.well_known.info {
        // What is said of a function is side by side.
        let mut last = None;
        for record in merged.info_records(info) {
            let InfoValue::Symbol(symbol, value) = record.value else { continue };
            let found = match last {
                Some((known, found)) if known == symbol => found,
                _ => function(symbol),
            };
            last = Some((symbol, found));
            let Some(function) = found else { continue };
            match record.attr {
                attr::REGCOUNT => own[function as usize].registers = value,
                attr::FRAME_SIZE => own[function as usize].frame = value,
                _ => {}
            }
        }
    }
    own
}

/// What the attributes of a function in its own section say.
fn own_records(merged: &Merged<'_>, function: usize) -> Own {
    let mut own = Own::default();
    let Some(info) = merged.functions[function].info else { return own };
    if let Some(text) = merged.functions[function].text.filter(|_| !merged.functions[function].alias) {
        own.barriers = raw::barriers(merged.section(text).flags);
    }
    let mut call_stacks = 0;
    for record in merged.info_records(info) {
        call_stacks += u32::from(matches!(record.attr, attr::CRS_STACK_SIZE | attr::SYNC_STACK));
        own.is_inherited |= propagate::is_inherited(record);
        if let InfoValue::Symbols(list) = &record.value {
            own.lists_externs |= !list.is_empty();
            own.lists_external |= list.iter().any(|id| propagate::stays_external(merged, *id));
        }
        let (InfoValue::Bytes(_) | InfoValue::Views(_)) = record.value else { continue };
        let bytes = record.value.bytes();
        match (record.attr, bytes) {
            (attr::SPARSE_MMA_MASK, _) => {
                own.sparse_mask = Some(own.sparse_mask.unwrap_or(0) | propagate::number(bytes));
            }
            (attr::LANGUAGE, _) if own.languages != Languages::Unknown => own.languages = Languages::Several,
            (attr::LANGUAGE, _) => own.languages = Languages::of(bytes),
            (attr::CRS_STACK_SIZE | attr::SYNC_STACK, [a, b, c, d]) => {
                own.call_stack = u32::from_le_bytes([*a, *b, *c, *d]);
            }
            (attr::MAXREG_COUNT, [low, high]) => {
                let limit = u32::from(u16::from_le_bytes([*low, *high]));
                own.max_registers = (limit != 0xff).then_some(limit);
            }
            _ => {}
        }
    }
    own.has_two_call_stacks = call_stacks > 1;
    own
}

/// The end of `.nv.info`: the stack sizes of the kernels, in the order of the final symbol table (which has global symbols
/// last). A mark before them says that an object came from a toolkit older than 10.0.
fn module_records<'data>(
    merged: &Merged<'data>,
    stack: &[u32],
    has_old_object: bool,
) -> Vec<InfoRecord<'data>> {
    let mut records = Vec::new();
    if has_old_object {
        let value = InfoValue::Bytes(&[0, 0]);
        records.push(InfoRecord::new(format::NONE, attr::HAS_PRE_V10_OBJECT, value));
    }
    let mut kernels: Vec<_> = merged.roots().map(|(i, f)| (i, f.symbol)).collect();
    kernels.sort_by_key(|(_, symbol)| (merged.symbol(*symbol).among_globals, *symbol));
    records.extend(kernels.into_iter().map(|(kernel, symbol)| {
        let value = InfoValue::Symbol(symbol, stack[kernel as usize]);
        InfoRecord::new(format::SIZED, attr::MIN_STACK_SIZE, value)
    }));
    records
}
