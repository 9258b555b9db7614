//! Loading: the files of the command line and the libraries it names are read, and device code in link order is made of
//! them by [`solder_link::load`].

mod archive;
mod arena;
mod chosen;
mod file;
mod library;
mod open;
mod peek;
mod shared;
mod shed;
pub mod survey;

use std::path::Path;

pub use arena::{Arena, FilesRead, Streams};
pub use file::{Looked, look, look_at};
pub use shared::Shared;

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;
use crate::release;
use open::Opened;
use solder_arch::Release;
use solder_link::load::{self, Compilers, Loaded, PARALLEL_FROM, Unpacked, stopped};
use solder_link::pool::Pool;
pub use survey::Survey;

/// All that was loaded.
#[derive(Default)]
pub struct Inputs<'data> {
    pub loaded: Loaded<'data>,
    /// What became of every input, if somebody is going to ask.
    pub survey: Option<Survey<'data>>,
}

/// What came of loading.
pub enum Outcome<'data> {
    /// They are linked as this release.
    Inputs(Box<Inputs<'data>>, &'static Release),
    /// The inputs are to be linked as another release, and must be loaded as that one does it.
    AsOther(&'static Release),
}

/// Loads all inputs. If somebody is going to ask what became of them, `surveyed` is told, and whether loading has failed, before
/// the messages end the run.
pub fn load<'data, 'files: 'data>(
    options: &Options,
    compilers: &dyn Compilers<'data>,
    sink: &Sink,
    arena: &'data Arena,
    shared: Option<&Shared<'files>>,
    pool: &Pool,
    surveyed: &dyn Fn(&Survey<'data>, bool),
) -> Result<Outcome<'data>, Stop> {
    let library_path = std::env::var_os("LIBRARY_PATH");
    let libraries = library::find(options, library_path.as_deref(), sink, arena)
        .map_err(|messages| stopped(&messages, sink))?;
    let files: Vec<&Path> = options.inputs.iter().chain(&libraries).map(AsRef::as_ref).collect();
    let are_many = files.len() >= PARALLEL_FROM;
    let settings = options.load_settings();
    let opened: Vec<Opened<'data>> = if let Some(shared) = shared {
        shared.open(&files, options, arena, pool)
    } else {
        if are_many {
            arena.expect_many();
        }
        pool.map(&files, are_many, |path| open::open(path, options, arena, pool))
    };
    let given = options.inputs.len();
    let repeated = open::repeated(&files, given, &opened, options.release);
    let files = options.is_recorded().then(|| survey::files(&files, &opened, given, &repeated));
    let items = open::without_repeated_archives(opened, repeated, pool);
    let unpack = |item: &load::Item<'data>| open::unpack(item, &settings, arena);
    let mut products = pool.map(&items, items.len() >= PARALLEL_FROM, unpack);
    if let Some(release) = asked_for(options, &products)
        && release != options.release
    {
        return Ok(Outcome::AsOther(release));
    }
    load::assemble(&settings, &items, &mut products, compilers, arena.store(), pool, sink)?;
    // What the assembler made has been accepted already.
    let release = asked_for(options, &products).unwrap_or(options.release);
    let survey = files.map(|files| Survey::new(files, &items, &products));
    let taken = load::take(&settings, items, products, compilers, sink);
    if let Some(survey) = &survey {
        surveyed(survey, taken.is_err());
    }
    taken.map(|loaded| Outcome::Inputs(Box::new(Inputs { loaded, survey }), release))
}

/// The release that the objects ask for, if the one they were loaded as is only a guess.
fn asked_for(options: &Options, products: &[Unpacked<'_>]) -> Option<&'static Release> {
    if !options.release_by_inputs {
        return None;
    }
    let toolkit = |product: &Unpacked<'_>| match &product.outcome {
        Err(messages) => messages.iter().find_map(|message| match message {
            Message::NewerThanToolkit { version, .. } => u32::try_from(*version).ok(),
            _ => None,
        }),
        Ok(_) => product.toolkit,
    };
    let release = release::of_inputs(products.iter().filter_map(toolkit))?;
    Some(release.or_later_for(options.link_target()))
}
