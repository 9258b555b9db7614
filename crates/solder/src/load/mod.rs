//! Loading: every file of the command line is told apart, containers are opened, the members for the target are
//! chosen and unpacked, PTX is assembled, and device code is checked. What remains is device code in link order.
//!
//! Files are opened and unpacked in parallel. What there is to say about them is said afterwards, in link order, up
//! to the first message that ends the run, as if they had been read one by one.

mod archive;
mod arena;
mod check;
mod chosen;
mod classify;
mod file;
mod host;
mod library;
mod open;
mod peek;
mod runtime;
mod said;
mod shed;
pub mod survey;

use std::path::Path;

pub use arena::Arena;
pub use host::{REFERENCE_KINDS, ReferenceKind};
pub use open::is_runtime;

use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::explain;
use crate::keep;
use crate::lto;
use crate::options::Options;
use crate::parallel;
use crate::time_table;
use crate::toolchain;
use open::{Item, Product};
use said::Said;
use solder_toolchain::{Ptx, Toolchain};
pub use survey::Survey;

/// The messages that end the run, in order.
type Stopped = Vec<Message>;

/// Where device code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A cubin, fat binary or PTX file of its own.
    File,
    /// A host object.
    HostObject,
    /// A host object in an archive.
    Archive,
}

/// Machine code that takes part in the link.
#[derive(Clone, Debug)]
pub struct DeviceObject<'data> {
    /// As messages name it: the file as given, for archives `libfg.a:f2.o`.
    pub name: Text,
    /// A device ELF that passed the checks on its header; its tables have not been looked at.
    pub bytes: &'data [u8],
    pub origin: Origin,
    /// Place among all inputs, in which the IR for link-time optimization counts too.
    pub position: usize,
    /// The device runtime, known by its file name. It is merged only if, at its place in the link order, a symbol
    /// that the driver does not provide is undefined, or with `-keep-system-libraries`. Left out, it leaves no trace,
    /// but other code behind it is then an error ([`Message::UnexpectedAfterRuntime`]).
    pub is_runtime: bool,
}

/// IR for link-time optimization.
#[derive(Clone, Debug)]
pub struct IrModule<'data> {
    pub name: Text,
    pub content: IrContent<'data>,
    /// The options the module was compiled with; `None` for a file of its own.
    pub options: Option<&'data [u8]>,
    pub origin: Origin,
    pub position: usize,
    pub is_runtime: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum IrContent<'data> {
    /// The IR as the compiler library takes it.
    Plain(&'data [u8]),
    /// A fat binary whose member only the vendor's libraries can unpack.
    Container(&'data [u8]),
}

/// What host code refers to.
#[derive(Clone, Debug, Default)]
pub struct HostReferences<'data> {
    /// Patterns by kind, in the order of [`REFERENCE_KINDS`] and of reading.
    pub patterns: [Vec<&'data [u8]>; REFERENCE_KINDS.len()],
    /// A host object refers to a kernel. That the device runtime refers to its own does not count.
    pub any_kernel: bool,
    /// A host object does not say what it refers to.
    pub incomplete: bool,
    /// Device code came without a host object.
    pub raw_inputs: bool,
}

impl<'data> HostReferences<'data> {
    /// Whether kernels that no pattern matches are removed: every host object must say what it refers to. Host code
    /// that refers to no kernel at all is taken to be a part of a program.
    pub fn decide(&self) -> bool {
        !self.incomplete && !self.raw_inputs && self.any_kernel
    }

    pub fn of(&self, kind: ReferenceKind) -> &[&'data [u8]] {
        let index = REFERENCE_KINDS.iter().position(|(known, _)| *known == kind);
        index.map_or(&[], |index| &self.patterns[index])
    }
}

/// A line of the file that `--register-link-binaries` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub id: Vec<u8>,
    /// Left out together with the runtime at this position.
    pub runtime_at: Option<usize>,
}

/// All that was loaded.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'data> {
    pub objects: Vec<DeviceObject<'data>>,
    pub ir: Vec<IrModule<'data>>,
    pub references: HostReferences<'data>,
    pub registrations: Vec<Registration>,
    /// Place of the first host object with device code, for whatever architecture. An archive of the device runtime in
    /// front of it is not asked what it refers to, and does not make code count as incomplete.
    pub first_host_code: Option<usize>,
    /// What became of every input, if somebody is going to ask.
    pub survey: Option<Survey<'data>>,
}

/// From this many files on, threads are worth their start.
const PARALLEL_FROM: usize = 48;

/// Loads all inputs.
pub fn load<'data>(
    options: &Options,
    toolchain: &Toolchain<'_>,
    sink: &Sink,
    arena: &'data Arena,
    reader: &mut lto::Reader<'data>,
) -> Result<Inputs<'data>, Stop> {
    let library_path = std::env::var_os("LIBRARY_PATH");
    let libraries = library::find(options, library_path.as_deref(), sink, arena)
        .map_err(|messages| stopped(&messages, sink))?;
    let files: Vec<&Path> = options.inputs.iter().chain(&libraries).map(AsRef::as_ref).collect();
    let are_many = files.len() >= PARALLEL_FROM;
    if are_many {
        arena.expect_many();
    }
    let opened = parallel::map(&files, are_many, |path| open::open(path, options, arena));
    let files = options.is_recorded().then(|| survey::files(&files, &opened, options.inputs.len()));
    let items = open::without_repeated_archives(opened);
    let mut products =
        parallel::map(&items, items.len() >= PARALLEL_FROM, |item| item.unpack(options, arena));
    assemble(options, toolchain, &items, &mut products, arena, sink)?;
    let survey = files.map(|files| Survey::new(files, &items, &products));
    let taken = take_all(options, items, products, reader, sink);
    if let Some(survey) = &survey {
        explain::loaded(options, survey, sink);
    }
    taken.map(|inputs| Inputs { survey, ..inputs })
}

/// Says what the inputs had to say, one after the other, and takes what they gave.
fn take_all<'data>(
    options: &Options,
    items: Vec<Item<'data>>,
    products: Vec<open::Unpacked<'data>>,
    reader: &mut lto::Reader<'data>,
    sink: &Sink,
) -> Result<Inputs<'data>, Stop> {
    let mut inputs = Inputs::default();
    inputs.objects.reserve(items.len());
    let mut is_extensible = false;
    for (position, (item, product)) in items.into_iter().zip(products).enumerate() {
        item.door.pass(sink)?;
        product.said.iter().for_each(|said| said.report(sink));
        let outcome = product.outcome.map_err(|messages| stopped(&messages, sink))?;
        if let Product::Object(bytes) = outcome {
            is_extensible |= check::is_extensible(bytes);
            if is_extensible && !check::is_of_this_toolkit(bytes, options.release) {
                return Err(sink.fatal(Message::ExtensibleOfOtherToolkit));
            }
        }
        if let Some(milliseconds) = product.milliseconds {
            time_table::add(options, &item.time_row(options, milliseconds));
        }
        let modules = inputs.ir.len();
        inputs.take(options, position, item, outcome, sink);
        for module in &inputs.ir[modules..] {
            reader.read(module, options, sink)?;
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
    let results = parallel::map(&waiting, true, |(index, ptx)| {
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
                self.objects.push(DeviceObject { name: name.clone(), bytes, origin, position, is_runtime });
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
                self.registrations.push(Registration { id: crate::register::file_id(&name), runtime_at });
            }
        }
    }
}
