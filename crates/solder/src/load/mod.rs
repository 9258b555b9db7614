//! Loading: the files of the command line and the libraries it names are read, and device code in link order is made of
//! them by [`solder_link::load`].

mod archive;
mod arena;
mod chosen;
mod file;
mod library;
mod open;
mod peek;
mod shed;
pub mod survey;

use std::path::Path;

pub use arena::Arena;

use crate::diagnostics::{Sink, Stop};
use crate::options::Options;
use solder_link::load::{self, Compilers, Loaded, PARALLEL_FROM, stopped};
use solder_link::pool::Pool;
pub use survey::Survey;

/// All that was loaded.
#[derive(Default)]
pub struct Inputs<'data> {
    pub loaded: Loaded<'data>,
    /// What became of every input, if somebody is going to ask.
    pub survey: Option<Survey<'data>>,
}

/// Loads all inputs. If somebody is going to ask what became of them, `surveyed` is told before the messages end the run.
pub fn load<'data>(
    options: &Options,
    compilers: &dyn Compilers<'data>,
    sink: &Sink,
    arena: &'data Arena,
    pool: &Pool,
    surveyed: &dyn Fn(&Survey<'data>),
) -> Result<Inputs<'data>, Stop> {
    let library_path = std::env::var_os("LIBRARY_PATH");
    let libraries = library::find(options, library_path.as_deref(), sink, arena)
        .map_err(|messages| stopped(&messages, sink))?;
    let files: Vec<&Path> = options.inputs.iter().chain(&libraries).map(AsRef::as_ref).collect();
    let are_many = files.len() >= PARALLEL_FROM;
    if are_many {
        arena.expect_many();
    }
    let settings = options.load_settings();
    let opened = pool.map(&files, are_many, |path| open::open(path, options, arena, pool));
    let files = options.is_recorded().then(|| survey::files(&files, &opened, options.inputs.len()));
    let items = open::without_repeated_archives(opened, pool);
    let unpack = |item: &load::Item<'data>| open::unpack(item, &settings, arena);
    let mut products = pool.map(&items, items.len() >= PARALLEL_FROM, unpack);
    load::assemble(&items, &mut products, compilers, arena.store(), pool, sink)?;
    let survey = files.map(|files| Survey::new(files, &items, &products));
    let taken = load::take(&settings, items, products, compilers, sink);
    if let Some(survey) = &survey {
        surveyed(survey);
    }
    taken.map(|loaded| Inputs { loaded, survey })
}
