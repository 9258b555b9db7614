//! The names that the merge gives. While files are merged they are written into a [`Draft`], and a name is known by its
//! number. [`Entering`] takes the drafts, in order, and enters their names into the string tables while later files are
//! merged. When all are in, [`Tables`] says where each number's name is, and what is named from then on goes to the string
//! tables at once. The names of global symbols come last.

use crate::model::ids::{FileId, SectionId};
use solder_cubin::strings::{StringTables, Table};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamePlace {
    /// In `.shstrtab` and in `.strtab`, as the names of sections do.
    Both,
    /// The same of a section that is only looked for.
    BothIfMissing,
    /// The same of a section that a strong function has for itself.
    Own,
    Sections,
    Symbols,
    /// That of a function without a name: nvlink enters the empty string too, once (core/nameless-function).
    Nameless,
    /// The same where an earlier file has an empty prototype, whose place nvlink takes for the number of a name
    /// (core/nameless-misnamed).
    Misnamed,
}

impl NamePlace {
    const ALL: [Self; 7] = [
        Self::Both,
        Self::BothIfMissing,
        Self::Own,
        Self::Sections,
        Self::Symbols,
        Self::Nameless,
        Self::Misnamed,
    ];
    const BITS: u32 = 3;

    /// Of a section that a strong function has for itself, or of any other.
    pub fn of_own(is_own: bool) -> Self {
        if is_own { Self::Own } else { Self::Both }
    }

    /// Where in the tables a name is then; 0 where it was not to be.
    pub(super) fn enter(self, names: &mut StringTables, name: &[u8]) -> [u32; 2] {
        match self {
            Self::Sections => [names.add(Table::Sections, name), 0],
            Self::Symbols => [0, names.add(Table::Symbols, name)],
            Self::Nameless | Self::Misnamed => [0, names.add_again(Table::Symbols, name)],
            Self::Both | Self::BothIfMissing => names.add_to_both(name),
            Self::Own => names.add_own(name),
        }
    }
}

/// Names in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: Vec<u8>,
    /// Where each ends, and in the low bits where it is.
    ends: Vec<u64>,
    /// How many drafts were before this one, and how many names in them.
    number: usize,
    before: u32,
}

impl Draft {
    /// The number of a new name. 0 is the empty one.
    pub(super) fn add(&mut self, place: NamePlace, parts: &[&[u8]]) -> u32 {
        let start = self.text.len();
        for part in parts {
            self.text.extend_from_slice(part);
        }
        if self.text.len() == start && !matches!(place, NamePlace::Nameless | NamePlace::Misnamed) {
            return 0;
        }
        self.ends.push((self.text.len() as u64) << NamePlace::BITS | place as u64);
        self.before + self.ends.len() as u32
    }

    /// What has been written down; the next name is the first of another draft, for which there may be an old one.
    fn hand_over(&mut self, old: Option<Self>) -> Self {
        let Self { mut text, mut ends, .. } = old.unwrap_or_else(|| Self {
            text: Vec::with_capacity(self.text.len()),
            ends: Vec::with_capacity(self.ends.len()),
            ..Self::default()
        });
        text.clear();
        ends.clear();
        let before = self.before + self.ends.len() as u32;
        std::mem::replace(self, Self { text, ends, number: self.number + 1, before })
    }

    fn names(&self) -> impl Iterator<Item = (NamePlace, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let place = NamePlace::ALL[(*end & ((1 << NamePlace::BITS) - 1)) as usize];
            let end = (*end >> NamePlace::BITS) as usize;
            (place, &self.text[std::mem::replace(&mut start, end)..end])
        })
    }
}

/// Drafts on their way into the string tables, one after the other.
#[derive(Debug)]
pub(super) struct Entering {
    /// Those that came before their turn, or while another was entered.
    waiting: Mutex<Vec<Draft>>,
    /// Those that have been entered: their memory is at hand.
    entered: Mutex<Vec<Draft>>,
    tables: Mutex<Tables>,
}

impl Entering {
    pub fn new(tables: Tables) -> Self {
        Self { waiting: Mutex::default(), entered: Mutex::default(), tables: Mutex::new(tables) }
    }

    /// A draft that has been entered.
    pub fn old(&self) -> Option<Draft> {
        locked(&self.entered).pop()
    }

    /// Enters a draft, as soon as all before it have been. While another thread enters drafts, it is left to that one.
    pub fn enter(&self, draft: Draft) {
        locked(&self.waiting).push(draft);
        while let Ok(mut tables) = self.tables.try_lock() {
            let Some(next) = take_next(&mut locked(&self.waiting), &tables) else { return };
            tables.enter(&next);
            locked(&self.entered).push(next);
        }
    }

    /// Enters what is left.
    pub fn finish(self) -> Tables {
        let mut tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self.waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = take_next(&mut waiting, &tables) {
            tables.enter(&next);
        }
        tables
    }
}

/// The draft whose turn it is.
fn take_next(waiting: &mut Vec<Draft>, tables: &Tables) -> Option<Draft> {
    let next = waiting.iter().position(|draft| draft.number == tables.entered)?;
    Some(waiting.swap_remove(next))
}

/// The string tables while drafts are entered into them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub names: StringTables,
    /// Where the names are, by their numbers: offsets in the two tables.
    placed: Vec<[u32; 2]>,
    /// Those that were only looked for and not there, in order.
    missing: Vec<u32>,
    /// Where the empty string is, once it was entered.
    nameless: Option<[u32; 2]>,
    /// Whether a function has it as its name.
    has_nameless: bool,
    /// Where the empty prototype is, and where all of them end.
    empty: Option<u32>,
    after_prototypes: usize,
    entered: usize,
}

impl Tables {
    /// For so many functions. Each has a few sections, and some have names that others could have. `empty` is where an
    /// empty prototype is, whose name serves functions without one too.
    pub fn new(mut names: StringTables, functions: usize, empty: Option<u32>) -> Self {
        names.expect(functions, functions);
        let mut placed = Vec::with_capacity(6 * functions);
        placed.push([0; 2]);
        let (nameless, after_prototypes) = (empty.map(|at| [0, at]), names.bytes(Table::Symbols).len());
        Self { names, placed, nameless, empty, after_prototypes, ..Self::default() }
    }

    /// Where the name is whose number the place of the empty prototype is, counted from the first one after the prototypes. nvlink
    /// has a name for a table of unified functions among them that others do not see.
    fn misnamed(&mut self) -> Option<[u32; 2]> {
        const UNIFIED_TABLE: (usize, &[u8]) = (5, b".nv.uft.entry");
        let number = self.empty? as usize;
        if number == UNIFIED_TABLE.0 {
            return Some([0, self.names.add(Table::Symbols, UNIFIED_TABLE.1)]);
        }
        let before = number - 1 - usize::from(number > UNIFIED_TABLE.0);
        let names = self.names.bytes(Table::Symbols).get(self.after_prototypes..)?;
        let starts = names.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(end, _)| end + 1);
        let start = std::iter::once(0).chain(starts).nth(before).filter(|start| *start < names.len())?;
        Some([0, (self.after_prototypes + start) as u32])
    }

    fn enter(&mut self, draft: &Draft) {
        draft.names().for_each(|(place, name)| self.add(place, name));
        self.entered += 1;
    }

    pub(super) fn add(&mut self, place: NamePlace, name: &[u8]) {
        let size = self.names.bytes(Table::Sections).len();
        let known = match place {
            NamePlace::Misnamed if !self.has_nameless => self.misnamed().or(self.nameless),
            NamePlace::Nameless | NamePlace::Misnamed => self.nameless,
            _ => None,
        };
        let placed = known.unwrap_or_else(|| place.enter(&mut self.names, name));
        if place == NamePlace::Nameless {
            self.has_nameless = true;
            self.nameless = Some(placed);
        }
        if place == NamePlace::BothIfMissing && self.names.bytes(Table::Sections).len() > size {
            self.missing.push(self.placed.len() as u32);
        }
        self.placed.push(placed);
    }

    /// Where the section name of a number is.
    pub fn of_section(&self, number: u32) -> u32 {
        self.placed[number as usize][0]
    }

    /// Where the symbol name of a number is.
    pub fn of_symbol(&self, number: u32) -> u32 {
        self.placed[number as usize][1]
    }
}

/// What the merge remembers about names.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The names that are to be entered into the string tables, while files are merged.
    pub draft: Option<Draft>,
    /// The first file with an empty prototype.
    pub empty_prototype: Option<FileId>,
    /// Names of sections that were looked for, where the section would be if there was none, and how many it would be
    /// with those that are made together with it.
    pub looked_for: Vec<(u32, SectionId, usize)>,
}

impl Naming {
    /// From now on names are written down.
    pub fn begin_files(&mut self) {
        self.draft = Some(Draft::default());
    }

    /// From now on names are entered at once. What is left of the draft.
    pub fn end_files(&mut self) -> Draft {
        self.draft.take().unwrap_or_default()
    }

    /// What has been written down, for another thread to enter.
    pub fn hand_over(&mut self, old: Option<Draft>) -> Draft {
        self.draft.as_mut().map(|draft| draft.hand_over(old)).unwrap_or_default()
    }

    /// The places of the sections that were looked for and not there, each as often as there would be sections.
    pub fn not_found(&mut self, tables: &Tables) -> impl Iterator<Item = SectionId> {
        let mut missing = tables.missing.iter().peekable();
        let looked_for = std::mem::take(&mut self.looked_for).into_iter();
        let not_found = looked_for.filter(move |(name, ..)| missing.next_if_eq(&name).is_some());
        not_found.flat_map(|(_, at, count)| std::iter::repeat_n(at, count))
    }
}

/// What a lock guards, also after a panic elsewhere.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
