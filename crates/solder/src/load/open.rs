//! From a file to items.

use std::cell::RefCell;
use std::path::Path;

use hashbrown::HashSet;

use super::arena::Arena;
use super::{archive, chosen, file, shed};
use crate::diagnostics::{Message, Text};
use crate::options::Options;
use solder_arch::Release;
use solder_link::form::Form;
use solder_link::inputs::Origin;
use solder_link::load::classify::{self, Role};
use solder_link::load::host::HostObject;
use solder_link::load::{
    Item, OpenStage, PARALLEL_FROM, Product, Settings, Source, Unpacked, host_items, items, member_items,
};
use solder_link::pool::Pool;

/// What a file turned out to be.
#[derive(Clone)]
pub(super) struct Opened<'data> {
    /// Device and inode of an archive.
    pub archive: Option<(u64, u64)>,
    pub items: Vec<Item<'data>>,
}

impl Opened<'_> {
    /// Whether device code is in it, for whatever architecture.
    fn has_code(&self) -> bool {
        let in_host = |item: &Item<'_>| item.host.as_ref().is_some_and(|host| host.code.is_some());
        self.items.iter().any(|item| in_host(item) || item.lacks_host_code())
    }
}

/// Of each file, whether it is an archive that was given before. Archives are linked once, however often and under whatever
/// names they are given. One of the device runtime that comes before all code is as good as not given: the next one
/// counts, unless it is a library that was found under a path that was given, from index `given` on
/// (hostobj/runtime-archive-again).
pub(super) fn repeated(paths: &[&Path], given: usize, opened: &[Opened<'_>], release: &Release) -> Vec<bool> {
    let mut seen = HashSet::new();
    let mut has_code = !release.lets_runtime_come_first();
    let is_given = |path: &Path| paths[..given].iter().any(|known| known.as_os_str() == path.as_os_str());
    let mut is_repeated = |(index, file): (usize, &Opened<'_>)| {
        let Some(identity) = file.archive else {
            has_code |= file.has_code();
            return false;
        };
        let counts = has_code || !file.items.iter().any(|item| item.is_runtime);
        has_code |= counts && file.has_code();
        // What is early is told apart from what counts, and is linked once too.
        !seen.insert((identity, counts)) || (index >= given && is_given(paths[index]))
    };
    opened.iter().enumerate().map(&mut is_repeated).collect()
}

/// All items but those of archives that are `repeated`.
pub(super) fn without_repeated_archives<'data>(
    opened: Vec<Opened<'data>>,
    repeated: Vec<bool>,
    pool: &Pool,
) -> Vec<Item<'data>> {
    let mut items = pool.room_for(opened.iter().map(|file| file.items.len()).sum());
    for (file, _) in opened.into_iter().zip(repeated).filter(|(_, is_repeated)| !is_repeated) {
        items.extend(file.items);
    }
    items
}

/// Opens a file of the command line.
pub(super) fn open<'data>(path: &Path, options: &Options, arena: &'data Arena, pool: &Pool) -> Opened<'data> {
    let name = Text::from(path);
    let one = |stage, source| Opened { archive: None, items: vec![Item::new(name.clone(), stage, source)] };
    let not_opened =
        || one(OpenStage::Open, Source::Refused(vec![Message::InputNotOpened { file: name.clone() }]));
    // A large link does without the rest of a file, unless somebody is going to ask what was in it.
    let sheds = arena.is_large() && !options.is_recorded();
    if sheds && let Some(items) = small_host_object(&name, path, options, arena) {
        return Opened { archive: None, items };
    }
    let is_fatbin = path.extension().is_some_and(|extension| extension == "fatbin");
    if sheds
        && is_fatbin
        && let Some(container) = chosen::member(path, options.load_settings().request(), arena)
    {
        return one(OpenStage::Fatbinary, Source::Container(container));
    }
    let Ok(file) = file::read(path, arena) else { return not_opened() };
    let data = file.data;
    if data.is_empty() {
        return Opened { archive: None, items: Vec::new() };
    }
    if data.len() < options.release.shortest_input() && Form::of(data) != Form::Archive {
        return not_opened();
    }
    match classify::role(name.as_bytes(), data, options.lto) {
        Role::Archive => {
            let mut opened = one(OpenStage::Host, Source::Nothing);
            opened.archive = Some(file.identity);
            match archive::members(path, data, file.mapped.as_ref(), arena, options.release) {
                Ok(mut members) => {
                    if let Some(file) = &file.mapped {
                        archive::find_host_code(&mut members, file, pool);
                    }
                    let items = pool.map(&members, members.len() >= PARALLEL_FROM, member_items);
                    opened.items.extend(items.into_iter().flatten());
                }
                Err(messages) => opened.items[0].source = Source::Refused(messages),
            }
            opened
        }
        role => {
            let mut items = items(&name, data, role, options.release, &|_| None);
            let is_shed = sheds && file.mapped.is_some() && matches!(role, Role::Fatbin | Role::HostObject);
            for item in &mut items {
                item.copies_members = is_shed;
            }
            Opened { archive: None, items }
        }
    }
}

/// Opens an item, and gives back the memory of a file that the link no longer needs.
pub(super) fn unpack<'data>(item: &Item<'data>, settings: &Settings, arena: &'data Arena) -> Unpacked<'data> {
    let unpacked = item.unpack(settings, arena.store());
    let needs_file = matches!(unpacked.outcome, Ok(Product::Object(bytes)) if item.has(bytes));
    if item.copies_members && !needs_file {
        file::give_back(item.bytes);
    }
    unpacked
}

/// The items of a small host object, of which the device code and what belongs to it are kept. `None` for anything else.
fn small_host_object<'data>(
    name: &Text,
    path: &Path,
    options: &Options,
    arena: &'data Arena,
) -> Option<Vec<Item<'data>>> {
    thread_local! {
        static FILE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    // Under other names a host object is rare, and reading a file to see what it is, a waste.
    path.extension().filter(|extension| *extension == "o")?;
    FILE.with_borrow_mut(|data| {
        file::read_small(path, data)?;
        let role = || classify::role(name.as_bytes(), data, options.lto);
        let is_host = data.len() >= options.release.shortest_input() && role() == Role::HostObject;
        let host = HostObject::parse(data.as_slice()).ok().filter(|_| is_host)?;
        let host = shed::without_file(&host, data, arena);
        Some(host_items(name, host.code.unwrap_or_default(), Origin::HostObject, Ok(host)))
    })
}
