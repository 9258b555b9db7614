//! From a file to items.

use std::cell::RefCell;
use std::path::Path;

use hashbrown::HashSet;

use super::arena::Arena;
use super::{archive, chosen, file, shed};
use crate::diagnostics::{Message, Text};
use crate::options::Options;
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

/// Archives are linked once, however often and under whatever names they are given.
pub(super) fn without_repeated_archives<'data>(opened: Vec<Opened<'data>>, pool: &Pool) -> Vec<Item<'data>> {
    let mut seen = HashSet::new();
    let mut items = pool.room_for(opened.iter().map(|file| file.items.len()).sum());
    for file in opened {
        if file.archive.is_none_or(|identity| seen.insert(identity)) {
            items.extend(file.items);
        }
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
