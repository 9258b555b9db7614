//! Loading: every file of the command line is told apart, containers are opened, the members for the target are
//! chosen and unpacked, PTX is assembled, and device code is checked. What remains is device code in link order.
//!
//! Files are opened and unpacked in parallel. What there is to say about them is said afterwards, in link order, up
//! to the first message that ends the run, as if they had been read one by one.

mod archive;
mod arena;
mod chosen;
mod classify;
mod content;
mod file;
mod host;
mod library;
mod open;
mod peek;
mod said;
mod shed;
pub mod survey;
mod taken;

use std::path::Path;

pub use arena::Arena;

use crate::diagnostics::{Message, Sink, Stop};
use crate::keep;
use crate::options::Options;
use crate::release;
use crate::time_table;
use crate::toolchain;
pub use content::IrContent;
use open::{Item, Product};
use said::{PARALLEL_FROM, Said, Stopped};
use solder_arch::Release;
use solder_link::accept::{ExtensibleCheck, Made};
use solder_link::inputs::{Input, Origin};
use solder_link::pool::Pool;
use solder_link::roots::REFERENCE_KINDS;
use solder_toolchain::{Ptx, Toolchain};
pub use survey::Survey;
use taken::file_id;
pub use taken::{Inputs, IrModule, ReadIr, Registration};

/// What came of loading.
pub enum Loaded<'data> {
    /// They are linked as this release.
    Inputs(Box<Inputs<'data>>, &'static Release),
    /// The inputs are to be linked as another release, and must be loaded as that one does it.
    AsOther(&'static Release),
}

/// Loads all inputs. If somebody is going to ask what became of them, `surveyed` is told before the messages end the run.
pub fn load<'data>(
    options: &Options,
    toolchain: &Toolchain<'_>,
    sink: &Sink,
    arena: &'data Arena,
    pool: &Pool,
    read_ir: ReadIr<'_, 'data>,
    surveyed: &dyn Fn(&Survey<'data>),
) -> Result<Loaded<'data>, Stop> {
    let library_path = std::env::var_os("LIBRARY_PATH");
    let libraries = library::find(options, library_path.as_deref(), sink, arena)
        .map_err(|messages| stopped(&messages, sink))?;
    let files: Vec<&Path> = options.inputs.iter().chain(&libraries).map(AsRef::as_ref).collect();
    let are_many = files.len() >= PARALLEL_FROM;
    if are_many {
        arena.expect_many();
    }
    let opened = pool.map(&files, are_many, |path| open::open(path, options, arena, pool));
    let files = options.is_recorded().then(|| survey::files(&files, &opened, options.inputs.len()));
    let items = open::without_repeated_archives(opened, pool);
    let mut products = pool.map(&items, items.len() >= PARALLEL_FROM, |item| item.unpack(options, arena));
    if let Some(release) = asked_for(options, &products)
        && release != options.release
    {
        return Ok(Loaded::AsOther(release));
    }
    assemble(options, toolchain, &items, &mut products, arena, pool, sink)?;
    // What the assembler made has been accepted already.
    let release = asked_for(options, &products).unwrap_or(options.release);
    let survey = files.map(|files| Survey::new(files, &items, &products));
    let taken = take_all(options, items, products, read_ir, sink);
    if let Some(survey) = &survey {
        surveyed(survey);
    }
    taken.map(|inputs| Loaded::Inputs(Box::new(Inputs { survey, ..inputs }), release))
}

/// The release that the objects ask for, if the one they were loaded as is only a guess.
fn asked_for(options: &Options, products: &[open::Unpacked<'_>]) -> Option<&'static Release> {
    if !options.release_by_inputs {
        return None;
    }
    let toolkit = |product: &open::Unpacked<'_>| match &product.outcome {
        Ok(Product::Object(bytes)) => Made::of(bytes)?.toolkit,
        Err(messages) => messages.iter().find_map(|message| match message {
            Message::NewerThanToolkit { version, .. } => u32::try_from(*version).ok(),
            _ => None,
        }),
        Ok(_) => None,
    };
    let release = release::of_inputs(products.iter().filter_map(toolkit))?;
    Some(release.or_later_for(options.link_target()))
}

/// Says what the inputs had to say, one after the other, and takes what they gave.
fn take_all<'data>(
    options: &Options,
    items: Vec<Item<'data>>,
    products: Vec<open::Unpacked<'data>>,
    read_ir: ReadIr<'_, 'data>,
    sink: &Sink,
) -> Result<Inputs<'data>, Stop> {
    let mut inputs = Inputs::default();
    inputs.objects.reserve(items.len());
    let mut extensible = ExtensibleCheck::default();
    let registers = options.register_link_binaries.is_some() && options.release.reports_missing_host_code();
    for (position, (item, product)) in items.into_iter().zip(products).enumerate() {
        item.stage.pass(sink)?;
        let is_passed_over = matches!(product.outcome, Ok(Product::Nothing));
        if registers && item.lacks_host_code() && !is_passed_over {
            sink.report(Message::NoHostCode { file: item.name.clone() });
        }
        product.said.iter().for_each(|said| said.report(sink));
        let outcome = product.outcome.map_err(|messages| stopped(&messages, sink))?;
        if let Product::Object(bytes) = outcome {
            extensible.admit(bytes, options.release).map_err(|message| sink.fatal(message))?;
        }
        if let Some(milliseconds) = product.milliseconds {
            time_table::add(options, &item.time_row(options, milliseconds));
        }
        let modules = inputs.ir.len();
        inputs.take(options, position, item, outcome, sink);
        for module in &inputs.ir[modules..] {
            read_ir(module)?;
        }
    }
    // Warnings that are errors let the reading come to its end, and nothing else.
    sink.check()?;
    Ok(inputs)
}

fn stopped(messages: &Stopped, sink: &Sink) -> Stop {
    for message in messages {
        sink.report(message);
    }
    Stop::FATAL
}

/// Puts the assembled code in the place of the PTX. Assembling takes long enough to be worth a thread each.
fn assemble<'data>(
    options: &Options,
    toolchain: &Toolchain<'_>,
    items: &[Item<'data>],
    products: &mut [open::Unpacked<'data>],
    arena: &'data Arena,
    pool: &Pool,
    sink: &Sink,
) -> Result<(), Stop> {
    let ptx = |(index, product): (usize, &open::Unpacked<'data>)| match product.outcome {
        Ok(Product::Ptx(ptx)) => Some((index, ptx)),
        _ => None,
    };
    let waiting: Vec<(usize, Ptx<'data>)> = products.iter().enumerate().filter_map(ptx).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    let assembler = toolchain.assembler();
    let flags = toolchain::flags(options);
    sink.phase("assembling PTX");
    sink.expect(waiting.len());
    let results = pool.map(&waiting, true, |(index, ptx)| {
        sink.during(|| items[*index].name.to_string(), || assembler.assemble(ptx, &flags))
    });
    for ((index, ptx), result) in waiting.into_iter().zip(results) {
        if let Ok(assembled) = &result {
            let input = (index, items[index].name.as_bytes());
            keep::assembled(options, input, (&ptx, &flags), assembled.cubin.as_deref(), sink)?;
        }
        let product = &mut products[index];
        product.outcome = match result {
            Ok(assembled) => {
                product.milliseconds = Some(assembled.milliseconds);
                product.said.push(Said::Assembler(assembled.text));
                match assembled.cubin {
                    Some(cubin) => Ok(Product::Object(arena.own(cubin))),
                    None => Err(vec![Message::FatbinaryError]),
                }
            }
            Err(error) => Err(vec![toolchain::message(error, items[index].name.clone())]),
        };
    }
    Ok(())
}

impl<'data> Inputs<'data> {
    /// Leaves only the modules of a program that is all IR, which are listed last first.
    pub fn only_ir(&mut self, keep_runtime: bool) {
        self.objects.clear();
        self.registrations.retain(|entry| keep_runtime || entry.runtime_at.is_none());
        self.registrations.reverse();
    }

    /// Leaves out the device runtime where the link did without it: some objects took part, others did not.
    pub fn leave_out(&mut self, took_part: &[bool]) {
        let without = self.objects.iter().zip(took_part).filter(|(_, took_part)| !**took_part);
        let gone: Vec<usize> = without.map(|(object, _)| object.position).collect();
        self.registrations.retain(|entry| entry.runtime_at.is_none_or(|position| !gone.contains(&position)));
    }

    /// Adds what an item gave.
    fn take(
        &mut self,
        options: &Options,
        position: usize,
        item: Item<'data>,
        product: Product<'data>,
        sink: &Sink,
    ) {
        let is_runtime = item.is_runtime;
        if let Some(host) = item.host {
            self.references.incomplete |= !host.lists_references;
            let is_early = is_runtime && item.origin == Origin::Archive && self.first_host_code.is_none();
            if host.code.is_some() && !is_early {
                self.first_host_code.get_or_insert(position);
            }
            for (kind, pattern) in host.references {
                self.references.any_kernel |= REFERENCE_KINDS[kind].0.is_kernel() && !is_runtime;
                if !(options.lto && is_early) {
                    self.references.patterns[kind].push(pattern);
                }
            }
            let ids = host.module_ids.into_iter().filter(|_| host.code.is_some());
            let runtime_at = is_runtime.then_some(position);
            self.registrations.extend(ids.map(|id| Registration { id: id.to_vec(), runtime_at }));
        }
        let Item { name, origin, .. } = item;
        match product {
            Product::Nothing => return,
            Product::Unmatched => {
                self.references.raw_inputs |= origin == Origin::File;
                return;
            }
            Product::Object(bytes) => {
                if options.lto && !is_runtime {
                    sink.report(Message::PartialLto { file: name.clone() });
                }
                self.objects.push(Input { name: name.clone(), bytes, origin, position, is_runtime });
            }
            Product::Ir { content, options } => {
                self.ir.push(IrModule { name, content, options, origin, position, is_runtime });
                return;
            }
            Product::Ptx(_) => unreachable!("assembled before"),
        }
        if origin == Origin::File {
            self.references.raw_inputs = true;
            let runtime_at = is_runtime.then_some(position);
            if options.register_link_binaries.is_some() {
                self.registrations.push(Registration { id: file_id(&name), runtime_at });
            }
        }
    }
}
