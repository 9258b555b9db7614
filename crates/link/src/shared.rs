//! Shared memory: which variable lies where in which kernel's shared memory.
//!
//! A variable of a kernel belongs to it. A variable of a device function or at file scope belongs to
//! every kernel that reaches a function whose code refers to it; if these are several, it has one
//! offset in all of them. Extern shared arrays begin after everything else.

use crate::model::calls::{BitSet, Calls};
use crate::model::ids::{SectionId, SymbolId};
use crate::model::mercury;
use crate::model::merged::{Content, Merged, RelocTarget, SharedObject};
use crate::options::{Options, reserved_shared};
use crate::references::DeadReferences;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The result: a value for every shared variable, a size and alignment for every kernel.
#[derive(Debug)]
pub struct SharedLayout {
    /// Offset of each variable, by symbol.
    values: Vec<u64>,
    /// Where dynamic shared memory begins in the code of each function.
    dynamic: Vec<u64>,
    /// `.nv.shared.K` of each kernel, by function; `None` if it has none.
    pub kernels: Vec<Option<KernelShared>>,
    /// `.nv_debug.shared` stays.
    pub keeps_file_section: bool,
    /// What the system keeps before everything.
    pub reserved: u64,
    /// What of it the symbols of variables count.
    pub shown_reserved: u64,
    /// The homes of the variables, for a debugger.
    pub debug: Option<Debug>,
    /// Extern arrays have one value in all code.
    one_dynamic: bool,
    /// Nothing has its place yet.
    pub is_unplaced: bool,
    /// The same, and references stay as they are.
    pub keeps_references: bool,
    /// The place of the last variable without a name, which is the value of symbol 0 (reloc/dynamic-file-32).
    pub nameless: u64,
}

/// The symbols of shared variables, which only a link with debug information keeps.
#[derive(Debug)]
pub struct Debug {
    /// The kernel, as a function, whose section holds a variable, by symbol; `None` for `.nv_debug.shared`.
    owners: Vec<Option<u32>>,
    /// The values, which count what the system keeps in front.
    values: Vec<u64>,
    /// The variables of one kernel are local.
    localizes: bool,
    /// `.nv_debug.shared`, the home of what several kernels have.
    pub file_section: KernelShared,
}

impl Debug {
    /// Whether the symbol of a shared variable is local.
    pub fn is_local(&self, symbol: SymbolId) -> bool {
        self.localizes && self.owners[symbol.index()].is_some()
    }

    /// Section and value of a shared variable.
    pub fn place(&self, merged: &Merged<'_>, symbol: SymbolId) -> (Option<SectionId>, u64) {
        let owner = self.owners[symbol.index()].and_then(|f| merged.functions[f as usize].shared);
        (owner.or(merged.well_known.file_shared), self.values[symbol.index()])
    }
}

/// How a link lays shared memory out.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes that the system keeps before everything in each kernel that uses any.
    pub reserved: u64,
    /// What of it the symbols of variables count.
    pub shown_reserved: u64,
    /// Where variables begin.
    pub start: u64,
    /// Variables keep their symbols, extern arrays among them.
    pub debug: bool,
    /// Variables keep their symbols.
    pub shows: bool,
    /// The code has a Mercury view.
    pub mercury: bool,
    /// Extern arrays say how they are aligned.
    pub aligned_arrays: bool,
    /// The symbols of variables of one kernel are local.
    pub localizes: bool,
}

impl Settings {
    /// Variables and nothing else, from 0 on.
    const NOTHING_ELSE: Self = Self {
        reserved: 0,
        shown_reserved: 0,
        start: 0,
        debug: false,
        shows: false,
        mercury: false,
        aligned_arrays: false,
        localizes: false,
    };
}

/// Size and alignment of a kernel's shared memory.
#[derive(Clone, Copy, Debug)]
pub struct KernelShared {
    /// Bytes.
    pub size: u64,
    /// What it is aligned to.
    pub align: u64,
}

impl SharedLayout {
    /// The offset of a shared symbol as the code of `function` sees it.
    pub fn value(&self, merged: &Merged<'_>, symbol: SymbolId, function: Option<u32>) -> u64 {
        let dynamic = merged.symbol(symbol).origin.is_none();
        if merged.symbol(symbol).lost {
            // `-r` leaves the value of the first mention, which says the alignment from 13.1 on (core/shared-extern-then-sized).
            let unplaced = self.is_unplaced.then(|| self.values[symbol.index()]);
            return unplaced.unwrap_or(if self.one_dynamic { 0 } else { NOWHERE });
        }
        match function {
            // A symbol that is kept has one value.
            Some(function) if dynamic && !self.one_dynamic => self.dynamic[function as usize],
            // To debug information, an extern array without a symbol is nowhere.
            None if dynamic && !self.one_dynamic => NOWHERE,
            _ => self.values[symbol.index()],
        }
    }
}

impl SharedLayout {
    /// Section and value of a symbol in the output.
    pub fn place(&self, merged: &Merged<'_>, id: SymbolId) -> (Option<SectionId>, u64) {
        let symbol = merged.symbol(id);
        match &self.debug {
            Some(debug) if symbol.shared => debug.place(merged, id),
            _ => (symbol.section, symbol.value),
        }
    }

    /// Whether some kernel says where extern arrays begin in the code of a function.
    pub fn places_dynamic(&self, function: Option<u32>) -> bool {
        function.is_some_and(|function| self.dynamic[function as usize] != NOWHERE)
    }

    /// Whether the code of a function has a symbol of its own for where extern arrays begin: that of kernels in `-r`.
    pub fn redirects_dynamic(&self, function: Option<u32>) -> bool {
        self.is_unplaced && function.is_some_and(|function| self.dynamic[function as usize] == NOWHERE)
    }
}

/// A relocatable link places nothing, but all the same resolves the relocations of code: to the alignment, which is
/// the value of shared variables in objects.
fn unplaced(merged: &Merged<'_>, options: &Options<'_>) -> SharedLayout {
    let mut kernels = vec![None; merged.functions.len()];
    for (kernel, function) in merged.kernels() {
        let section = function.shared.map(|id| merged.section(id)).filter(|s| s.size > 0);
        kernels[kernel as usize] = section.map(|s| KernelShared { size: s.size, align: s.align() });
    }
    SharedLayout {
        values: merged.symbols.iter().map(|s| s.value).collect(),
        // With debug information, arrays have a value, and code uses it (reloc/preserved).
        dynamic: merged
            .functions
            .iter()
            .map(|f| if f.entry && !options.debug { NOWHERE } else { 0 })
            .collect(),
        kernels,
        keeps_file_section: true,
        reserved: 0,
        shown_reserved: 0,
        debug: None,
        one_dynamic: true,
        is_unplaced: true,
        keeps_references: options.release.keeps_shared_references(),
        nameless: 0,
    }
}

/// nvlink's list sort: split alternately, each half reversed, sort both, merge. It is not stable;
/// `first_wins` says from which half equal keys come.
pub fn merge_sort<T: Copy, K: Ord>(list: &[T], key: &impl Fn(&T) -> K, first_wins: bool) -> Vec<T> {
    if list.len() <= 1 {
        return list.to_vec();
    }
    let half = |start: usize| {
        let mut half: Vec<T> = list.iter().skip(start).step_by(2).copied().collect();
        half.reverse();
        merge_sort(&half, key, first_wins)
    };
    let (a, b) = (half(0), half(1));
    let mut merged = Vec::with_capacity(list.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let order = key(&a[i]).cmp(&key(&b[j]));
        if order.is_lt() || (order.is_eq() && first_wins) {
            merged.push(a[i]);
            i += 1;
        } else {
            merged.push(b[j]);
            j += 1;
        }
    }
    merged.extend(&a[i..]);
    merged.extend(&b[j..]);
    merged
}

struct Layouter<'a> {
    merged: &'a Merged<'a>,
    /// For each kernel the first one whose shared memory is the same section.
    together: Vec<usize>,
    /// The kernels, as functions.
    kernels: Vec<u32>,
    /// The kernels that reach each function; only for functions that refer to shared memory.
    reached_by: Vec<Option<BitSet>>,
    /// The functions whose code refers to each shared object.
    users: Vec<Vec<u32>>,
    cursor: Vec<u64>,
    start: u64,
    debug: bool,
    align: Vec<u64>,
    used: Vec<bool>,
    values: Vec<u64>,
    /// The place of the last variable without a name.
    nameless: u64,
    /// With debug information: the kernel, as a function, that alone has a variable.
    owners: Option<Vec<Option<u32>>>,
    /// Where the variables that several kernels have end.
    common_end: u64,
    mercury: bool,
    /// Extern arrays say how they are aligned.
    aligned_arrays: bool,
    /// The kernels with extern arrays.
    dynamic: Vec<bool>,
    /// The kernels with variables of known size, in nvlink's order; some more than once.
    met: Vec<usize>,
}

/// The place of what has none.
const NOWHERE: u64 = u64::MAX;

/// The least alignment of extern arrays.
const DYNAMIC_ALIGN: u64 = 16;

/// Gives every variable in shared memory its place.
pub fn lay_out(
    merged: &Merged<'_>,
    options: &Options<'_>,
    referenced: &DeadReferences<'_, '_>,
) -> SharedLayout {
    if options.relocatable {
        return unplaced(merged, options);
    }
    let has_mercury = options.sm() >= mercury::FROM;
    let reserved = options.reserved_shared();
    let debug = options.keeps_shared_symbols();
    let settings = Settings {
        reserved,
        shown_reserved: if has_mercury { reserved_shared(options.sm()) } else { reserved },
        start: options.null_pointer(),
        debug,
        shows: debug || options.preserve_relocs,
        mercury: has_mercury,
        aligned_arrays: options.release.aligns_extern_arrays(),
        localizes: options.release.localizes_shared(),
    };
    layout(merged, &merged.calls, settings, &|id| referenced.contains(id))
}

/// Lays out shared memory. `referenced` says of a variable whether any code of the inputs, dead code too, refers to it.
fn layout(
    merged: &Merged<'_>,
    calls: &Calls,
    settings: Settings,
    referenced: &impl Fn(SymbolId) -> bool,
) -> SharedLayout {
    let mut layouter = Layouter::new(merged, calls, settings);
    let common = layouter.place_static(referenced);
    let dynamic = layouter.place_dynamic(common);
    layouter.finish(settings, common, dynamic)
}

/// Whether variables lie in the shared memory of several kernels, or of none.
pub fn has_common(merged: &Merged<'_>, calls: &Calls, referenced: &impl Fn(SymbolId) -> bool) -> bool {
    Layouter::new(merged, calls, Settings::NOTHING_ELSE).place_static(referenced)
}

/// The kernels that have variables in their shared memory, as functions, in the order in which nvlink comes upon them:
/// those that have one of known size alone, those that have one with others, those that have extern arrays. Some come
/// more than once.
pub fn kernels_met(merged: &Merged<'_>, calls: &Calls, referenced: &impl Fn(SymbolId) -> bool) -> Vec<u32> {
    let mut layouter = Layouter::new(merged, calls, Settings::NOTHING_ELSE);
    layouter.place_static(referenced);
    let mut users: Vec<u32> =
        layouter.dynamic_objects().flat_map(|i| layouter.users[i].iter().copied()).collect();
    users.sort_unstable_by_key(|user| read_at(merged, *user));
    users.dedup();
    let mut met = std::mem::take(&mut layouter.met);
    met.extend(users.iter().flat_map(|user| layouter.kernels_reaching(*user)));
    met.iter().map(|k| layouter.kernels[*k]).collect()
}

/// Whether some kernel reaches code that refers to an extern array.
pub fn reaches_dynamic(merged: &Merged<'_>, calls: &Calls) -> bool {
    let layouter = Layouter::new(merged, calls, Settings::NOTHING_ELSE);
    let mut users = layouter.dynamic_objects().flat_map(|i| layouter.users[i].iter());
    users.any(|user| !layouter.kernels_reaching(*user).is_empty())
}

/// When the relocations of a function's code were read.
pub fn read_at(merged: &Merged<'_>, function: u32) -> Option<SectionId> {
    let text = merged.section(merged.functions[function as usize].text?);
    text.rel.into_iter().chain(text.rela).min()
}

fn kernels_together(merged: &Merged<'_>, kernels: &[u32]) -> Vec<usize> {
    let mut first: HashMap<SectionId, usize, FixedState> =
        HashMap::with_capacity_and_hasher(kernels.len(), FixedState::default());
    let of = |k: usize| merged.functions[kernels[k] as usize].shared;
    (0..kernels.len()).map(|k| of(k).map_or(k, |section| *first.entry(section).or_insert(k))).collect()
}

/// The symbols that the relocations of a function's code name, in their order.
fn targets<'a>(merged: &'a Merged<'_>, function: u32) -> impl Iterator<Item = SymbolId> + 'a {
    let text = merged.functions[function as usize].text.map(|text| merged.section(text));
    let relocations = text.into_iter().flat_map(|text| [text.rel, text.rela]).flatten();
    let entries = relocations.flat_map(|id| match &merged.section(id).content {
        Content::Relocations(entries) => entries.as_slice(),
        _ => &[],
    });
    entries.filter_map(|entry| match entry.target {
        RelocTarget::Symbol(symbol) => Some(symbol),
        _ => None,
    })
}

/// The functions whose code refers to each shared object, by object.
pub fn find_users(merged: &Merged<'_>) -> Vec<Vec<u32>> {
    let mut users = vec![Vec::new(); merged.shared.len()];
    if merged.shared.is_empty() {
        return users;
    }
    let mut object_of = vec![None; merged.symbols.len()];
    for (i, object) in merged.shared.iter().enumerate() {
        object_of[object.symbol.index()].get_or_insert(i);
    }
    for (index, function) in merged.functions.iter().enumerate() {
        if function.alias {
            continue;
        }
        for object in targets(merged, index as u32).filter_map(|symbol| object_of[symbol.index()]) {
            let users: &mut Vec<u32> = &mut users[object];
            if users.last() != Some(&(index as u32)) {
                users.push(index as u32);
            }
        }
    }
    // A strong copy of a weak variable is used wherever that is.
    for (i, object) in merged.shared.iter().enumerate() {
        if let Some(first) = object_of[object.symbol.index()].filter(|first| *first != i) {
            let of_first = users[first].clone();
            users[i] = of_first;
        }
    }
    users
}

/// The kernels that reach each function with a reference to shared memory.
fn reached_by(
    merged: &Merged<'_>,
    calls: &Calls,
    kernels: &[u32],
    users: &[Vec<u32>],
) -> Vec<Option<BitSet>> {
    let mut interesting: Vec<u32> = users.iter().flatten().copied().collect();
    interesting.sort_unstable();
    interesting.dedup();
    if interesting.is_empty() {
        return Vec::new();
    }
    let mut sets: Vec<Option<BitSet>> = vec![None; merged.functions.len()];
    let launched = |k: usize| merged.functions[kernels[k] as usize].launched;
    let any_launched = (0..kernels.len()).any(launched);
    for (function, mut set) in interesting.iter().zip(calls.reached_by(&interesting, kernels)) {
        if any_launched {
            let mut counted = BitSet::new(kernels.len());
            let counts = |k: usize| !launched(k) || kernels[k] == *function;
            set.iter().filter(|k| counts(*k)).for_each(|k| counted.insert(k));
            set = counted;
        }
        sets[*function as usize] = Some(set);
    }
    sets
}

fn align_up(value: u64, align: u64) -> u64 {
    value.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

impl<'a> Layouter<'a> {
    fn new(merged: &'a Merged<'a>, calls: &Calls, settings: Settings) -> Self {
        let Settings { start, debug, shows, mercury, aligned_arrays, .. } = settings;
        let kernels: Vec<u32> = merged.kernels().map(|(i, _)| i).collect();
        let count = kernels.len();
        let users = find_users(merged);
        let mut reached_by = reached_by(merged, calls, &kernels, &users);
        let together = kernels_together(merged, &kernels);
        if together.iter().enumerate().any(|(k, first)| k != *first) {
            for set in reached_by.iter_mut().flatten() {
                let mut merged = BitSet::new(count);
                set.iter().for_each(|k| merged.insert(together[k]));
                *set = merged;
            }
        }
        Layouter {
            merged,
            reached_by,
            users,
            together,
            cursor: vec![start; count],
            start,
            align: vec![1; count],
            used: vec![false; count],
            values: vec![0; merged.symbols.len()],
            nameless: 0,
            debug,
            owners: shows.then(|| vec![None; merged.symbols.len()]),
            common_end: 0,
            kernels,
            mercury,
            aligned_arrays,
            dynamic: vec![false; count],
            met: Vec::new(),
        }
    }

    fn kernels_of(&self, object: usize) -> BitSet {
        let mut set = BitSet::new(self.kernels.len());
        let owner = self.merged.shared[object].owner;
        if let Some(k) = owner.and_then(|owner| self.kernels.binary_search(&owner).ok()) {
            set.insert(self.together[k]);
        }
        for user in &self.users[object] {
            if let Some(kernels) = &self.reached_by[*user as usize] {
                set.union(kernels);
            }
        }
        set
    }

    /// The kernels that reach a function which refers to shared memory, the last one first.
    fn kernels_reaching(&self, user: u32) -> Vec<usize> {
        let kernels = self.reached_by[user as usize].iter().flat_map(BitSet::iter);
        let mut kernels: Vec<usize> = kernels.collect();
        kernels.reverse();
        kernels
    }

    /// Gives every variable of known size its place. Whether some are common to several kernels.
    fn place_static(&mut self, referenced: &impl Fn(SymbolId) -> bool) -> bool {
        let objects = &self.merged.shared;
        let owned: Vec<usize> = (0..objects.len()).filter(|i| objects[*i].owner.is_some()).collect();
        let free: Vec<usize> = (0..objects.len()).filter(|i| objects[*i].owner.is_none()).collect();
        let free = merge_sort(&free, &|i| std::cmp::Reverse(objects[*i].size), false);
        let mut private: Vec<Vec<usize>> = vec![Vec::new(); self.kernels.len()];
        let mut common = Vec::new();
        for object in owned.into_iter().chain(free).filter(|i| !objects[*i].dynamic) {
            let kernels = self.kernels_of(object);
            for k in kernels.iter() {
                self.used[k] = true;
                self.align[k] = self.align[k].max(objects[object].align);
            }
            let count = kernels.count();
            if objects[object].owner.is_none() && count == 0 && !referenced(objects[object].symbol) {
                continue;
            }
            if count == 1 {
                let k = kernels.iter().next().unwrap_or(0);
                private[k].push(object);
                self.met.push(k);
            } else {
                common.push((object, kernels));
            }
        }
        let any_common = !common.is_empty();
        for (object, _) in &common {
            let mut users = self.users[*object].clone();
            users.sort_by_key(|user| read_at(self.merged, *user));
            let kernels: Vec<usize> = users.iter().flat_map(|user| self.kernels_reaching(*user)).collect();
            self.met.extend(kernels);
        }
        self.place_common(common);
        for (k, list) in private.iter().enumerate() {
            let key = |i: &usize| (std::cmp::Reverse(objects[*i].align), objects[*i].size);
            for object in merge_sort(list, &key, true) {
                let SharedObject { symbol, size, align, .. } = objects[object];
                let value = align_up(self.cursor[k], align);
                self.values[symbol.index()] = value;
                self.cursor[k] = value.saturating_add(size);
                if self.merged.symbol(symbol).name.is_empty() {
                    self.nameless = value;
                }
                if let Some(owners) = &mut self.owners {
                    owners[symbol.index()] = Some(self.kernels[k]);
                }
            }
        }
        any_common
    }

    /// Variables of several kernels share a slot when no kernel uses two of them.
    fn place_common(&mut self, common: Vec<(usize, BitSet)>) {
        struct Slot {
            kernels: BitSet,
            members: Vec<(usize, BitSet)>,
        }
        if common.is_empty() {
            return;
        }
        let objects = &self.merged.shared;
        let mut slots: Vec<Slot> = Vec::new();
        for (object, kernels) in common {
            match slots.iter_mut().find(|slot| !slot.kernels.intersects(&kernels)) {
                Some(slot) => {
                    slot.kernels.union(&kernels);
                    slot.members.push((object, kernels));
                }
                None => slots.push(Slot { kernels: kernels.clone(), members: vec![(object, kernels)] }),
            }
        }
        let mut cursor = self.start;
        for slot in slots {
            let align = slot.members.iter().map(|(o, _)| objects[*o].align).max().unwrap_or(1);
            let size = slot.members.iter().map(|(o, _)| objects[*o].size).max().unwrap_or(0);
            let value = align_up(cursor, align);
            for (object, kernels) in &slot.members {
                self.values[objects[*object].symbol.index()] = value;
                for k in kernels.iter() {
                    self.cursor[k] = self.cursor[k].max(value.saturating_add(objects[*object].size));
                }
            }
            cursor = value.saturating_add(size);
        }
        self.common_end = cursor;
    }

    /// Where dynamic shared memory begins, by function. Kernels that reach the same code that uses it
    /// agree on one offset.
    fn place_dynamic(&mut self, common: bool) -> Vec<u64> {
        let mut functions: Vec<u32> =
            self.dynamic_objects().flat_map(|i| self.users[i].iter().copied()).collect();
        functions.sort_unstable();
        functions.dedup();
        let (mut group, align) = self.group_by_code(&functions);
        if self.debug {
            self.join_by_symbol(&mut group);
        }
        let mut base = vec![0; self.kernels.len()];
        let mut begin = vec![0; self.kernels.len()];
        for k in (0..self.kernels.len()).filter(|k| self.dynamic[*k]) {
            let root = find(&mut group, k);
            // An array that keeps its symbol begins where the kernel's section ends.
            let of_section =
                if common { self.align[k].max(self.merged.file_shared_align) } else { self.align[k] };
            let align = if self.debug && self.aligned_arrays { of_section } else { align[root] };
            begin[root] = begin[root].max(align_up(self.cursor[k], align));
            base[root] = base[root].max(self.cursor[k]);
        }
        let mut value = vec![0; self.merged.functions.len()];
        for function in functions {
            let kernel = self.reached_by[function as usize].as_ref().and_then(|set| set.iter().next());
            // A function that no kernel reaches has no place to begin at.
            value[function as usize] = kernel.map_or(NOWHERE, |k| begin[find(&mut group, k)]);
        }
        for object in self.dynamic_objects() {
            let begin = self.kernels_of(object).iter().next().map_or(0, |k| begin[find(&mut group, k)]);
            let begin = if self.owners.is_some() && !self.debug { NOWHERE } else { begin };
            self.values[self.merged.shared[object].symbol.index()] = begin;
        }
        for k in (0..self.kernels.len()).filter(|k| self.dynamic[*k]) {
            let root = find(&mut group, k);
            // Where arrays say their alignment, a section ends where this kernel's arrays could begin.
            self.cursor[k] = if self.debug || !self.aligned_arrays { begin[root] } else { base[root] };
        }
        value
    }

    /// The groups of kernels that share code with extern arrays, and what these are aligned to, by group: what the
    /// array says that the first relocation names. It counts in the order in which relocations were read: code that
    /// joins groups gives them that of the last one made, whatever its own arrays say. A kernel's section is aligned as all of
    /// its arrays say.
    fn group_by_code(&mut self, functions: &[u32]) -> (Vec<usize>, Vec<u64>) {
        let mut said: HashMap<SymbolId, u64, FixedState> = HashMap::default();
        for object in self.dynamic_objects() {
            let SharedObject { symbol, align, .. } = self.merged.shared[object];
            let align = if self.aligned_arrays { align.max(DYNAMIC_ALIGN) } else { DYNAMIC_ALIGN };
            said.entry(symbol).or_insert(align);
            for k in self.kernels_of(object).iter() {
                self.align[k] = self.align[k].max(align);
            }
        }
        let mut functions = functions.to_vec();
        functions.sort_by_key(|function| read_at(self.merged, *function));
        let mut group: Vec<usize> = (0..self.kernels.len()).collect();
        let mut aligned: Vec<Option<(usize, u64)>> = vec![None; self.kernels.len()];
        for (time, function) in functions.into_iter().enumerate() {
            let kernels: Vec<usize> =
                self.reached_by[function as usize].iter().flat_map(BitSet::iter).collect();
            let Some(first) = kernels.first() else { continue };
            let root = find(&mut group, *first);
            let mut align = None;
            for k in kernels {
                self.dynamic[k] = true;
                self.used[k] = true;
                let joined = find(&mut group, k);
                align = align.max(aligned[joined]);
                group[joined] = root;
            }
            let named = || targets(self.merged, function).find_map(|symbol| said.get(&symbol).copied());
            aligned[root] = align.or_else(|| Some((time, named()?)));
        }
        (group, aligned.into_iter().map(|align| align.map_or(DYNAMIC_ALIGN, |(_, align)| align)).collect())
    }

    fn dynamic_objects(&self) -> impl Iterator<Item = usize> + use<> {
        let dynamic: Vec<usize> =
            (0..self.merged.shared.len()).filter(|i| self.merged.shared[*i].begins_after_others()).collect();
        dynamic.into_iter()
    }

    /// A symbol that is kept can have one value only: all kernels that use it agree on one.
    fn join_by_symbol(&self, group: &mut [usize]) {
        for object in self.dynamic_objects() {
            let kernels: Vec<usize> = self.kernels_of(object).iter().collect();
            for pair in kernels.windows(2) {
                let (a, b) = (find(group, pair[0]), find(group, pair[1]));
                group[b] = a;
            }
        }
    }

    fn finish(self, settings: Settings, common: bool, dynamic: Vec<u64>) -> SharedLayout {
        let Settings { reserved, shown_reserved, .. } = settings;
        let nameless = self.nameless;
        let any_dynamic = self.merged.shared.iter().any(|o| o.dynamic);
        let file_align = self.merged.file_shared_align;
        let keeps_file_section = any_dynamic && !(common && file_align > 16);
        let everywhere = common && file_align >= 16 && any_dynamic;
        let mut kernels = vec![None; self.merged.functions.len()];
        for (k, kernel) in self.kernels.iter().enumerate() {
            let own = if self.used[k] { self.cursor[k] } else { 0 };
            let align = if common { self.align[k].max(file_align) } else { self.align[k] };
            let rounds = self.aligned_arrays && self.dynamic[k];
            let own = if rounds { align_up(own, align) } else { own };
            let size = own.saturating_add(reserved);
            // The section of a kernel that was not asked for is made only for what it uses.
            let has_section = self.merged.functions[*kernel as usize].shared.is_some();
            if !self.used[k] && (!everywhere || !has_section || (size == 0 && !keeps_file_section)) {
                continue;
            }
            // Memory whose size only the launch knows goes where the section for it goes.
            let empty = if self.mercury { own == 0 } else { any_dynamic && size == 0 };
            let is_aligned = self.aligned_arrays && self.align[k] > DYNAMIC_ALIGN;
            if empty && (!keeps_file_section || is_aligned) {
                continue;
            }
            kernels[*kernel as usize] = Some(KernelShared { size, align });
        }
        let Some(owners) = self.owners else {
            return SharedLayout {
                values: self.values,
                dynamic,
                kernels,
                keeps_file_section,
                reserved,
                shown_reserved,
                debug: None,
                one_dynamic: false,
                is_unplaced: false,
                keeps_references: false,
                nameless,
            };
        };
        let least = if any_dynamic { 16 } else { 1 };
        let align = if common { file_align.max(least) } else { least };
        let file_section = KernelShared { size: self.common_end.saturating_add(reserved), align };
        let everywhere = common || self.mercury;
        let front = |i: usize| if owners[i].is_some() || everywhere { shown_reserved } else { 0 };
        let mut values: Vec<u64> =
            (0..self.values.len()).map(|i| self.values[i].wrapping_add(front(i))).collect();
        // nvlink moves a variable once for each of its copies, but not that of the Mercury view.
        let mut seen = vec![false; self.values.len()];
        let moved = if self.mercury { &[][..] } else { &self.merged.shared };
        for i in moved.iter().map(|object| object.symbol.index()) {
            if std::mem::replace(&mut seen[i], true) {
                values[i] = values[i].wrapping_add(front(i));
            }
        }
        let localizes = settings.localizes;
        let debug = Some(Debug { owners, values, localizes, file_section });
        let keeps_file_section = common || any_dynamic;
        let one_dynamic = self.debug;
        SharedLayout {
            values: self.values,
            dynamic,
            kernels,
            keeps_file_section,
            reserved,
            shown_reserved,
            debug,
            one_dynamic,
            is_unplaced: false,
            keeps_references: false,
            nameless,
        }
    }
}

/// The representative of a kernel's group.
pub fn find(group: &mut [usize], mut k: usize) -> usize {
    while group[k] != k {
        group[k] = group[group[k]];
        k = group[k];
    }
    k
}
