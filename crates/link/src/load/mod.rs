//! From bytes to device code in link order: inputs are told apart, containers are opened, the members for the target
//! are chosen and unpacked, PTX is assembled, and device code is checked.
//!
//! There are no files here. The caller has the bytes of its inputs, and provides the compilers ([`Compilers`]). Inputs are
//! opened in parallel. What there is to report about them is reported afterwards, in link order, up to the first message
//! that ends the link, as if they had been read one by one.

pub mod archive;
pub mod classify;
mod compilers;
mod content;
pub mod host;
mod item;
mod linked;
pub mod lto;
mod said;
mod store;
mod taken;

pub use compilers::{Assembled, Compiled, CompiledPtx, Compilers, IrRequest, NoCompilers, Ptx, Timing};
pub use content::{Content, IrContent};
pub use item::{
    Item, OpenStage, Product, Settings, Source, Unpacked, check_registers, host_items, items, member_items,
};
pub use said::{PARALLEL_FROM, Said, Stopped};
pub use store::Store;
pub use taken::{IrModule, Loaded, Registration, RegistrationId};

use crate::accept::{self, ExtensibleCheck};
use crate::diagnostics::{Message, Sink, Stop};
use crate::pool::Pool;
use linked::LinkedBefore;

/// Puts the assembled code in the place of the PTX. Assembling takes long enough to be worth a thread each.
pub fn assemble<'data>(
    settings: &Settings,
    items: &[Item<'data>],
    products: &mut [Unpacked<'data>],
    compilers: &dyn Compilers<'data>,
    store: &'data Store,
    pool: &Pool,
    sink: &Sink,
) -> Result<(), Stop> {
    let is_ptx = |product: &&Unpacked<'data>| matches!(product.outcome, Ok(Product::Ptx { .. }));
    let at_once = products.iter().filter(is_ptx).count();
    let ptx = |(index, product): (usize, &Unpacked<'data>)| match product.outcome {
        Ok(Product::Ptx { text, stored_options }) => {
            let name = items[index].name.clone();
            Some((index, Ptx { name, text, stored_options, compiled: None, at_once }))
        }
        _ => None,
    };
    let waiting: Vec<(usize, Ptx<'data>)> = products.iter().enumerate().filter_map(ptx).collect();
    if waiting.is_empty() {
        return Ok(());
    }
    sink.phase("assembling PTX");
    sink.expect(waiting.len());
    let job =
        |(_, ptx): &(usize, Ptx<'data>)| sink.during(|| ptx.name.to_string(), || compilers.assemble(ptx));
    let results = pool.map(&waiting, true, job);
    for ((index, ptx), result) in waiting.into_iter().zip(results) {
        let product = &mut products[index];
        product.outcome = match result {
            Ok(assembled) => {
                compilers.assembled(index, &ptx, &assembled)?;
                product.milliseconds = Some(assembled.milliseconds);
                product.said.push(assembled.said());
                match assembled.cubin {
                    Some(cubin) => {
                        product.toolkit = accept::toolkit_of(&cubin);
                        // The assembler's options may have named another architecture.
                        items[index].checked(store.own(cubin), settings, &mut product.said)
                    }
                    None => Err(vec![Message::FatbinaryError]),
                }
            }
            Err(messages) => Err(messages),
        };
    }
    Ok(())
}

/// Reports the messages about the inputs, one after the other, and takes what they gave.
pub fn take<'data>(
    settings: &Settings,
    items: Vec<Item<'data>>,
    products: Vec<Unpacked<'data>>,
    compilers: &dyn Compilers<'data>,
    sink: &Sink,
) -> Result<Loaded<'data>, Stop> {
    let mut loaded = Loaded::default();
    loaded.objects.reserve(items.len());
    let mut extensible = ExtensibleCheck::default();
    let mut linked_before = LinkedBefore::new(settings, &items);
    for (position, (item, product)) in items.into_iter().zip(products).enumerate() {
        item.stage.pass(sink)?;
        let is_passed_over = matches!(product.outcome, Ok(Product::Nothing));
        // A file of PTX is assembled when it is opened (hostobj/register-assembled).
        let is_ptx = matches!(item.source, Source::Ptx(_));
        let by_assembler = |said: &&Said| is_ptx && matches!(said, Said::Assembler(..));
        let (before, after) = product.said.split_at(product.said.iter().take_while(by_assembler).count());
        before.iter().try_for_each(|said| said.report(sink))?;
        let is_refused = is_ptx && product.outcome.is_err();
        if settings.reports_missing_host_code && item.lacks_host_code() && !is_passed_over && !is_refused {
            sink.report(Message::NoHostCode { file: item.name.clone() });
        }
        after.iter().try_for_each(|said| said.report(sink))?;
        let outcome = product.outcome.map_err(|messages| stopped(&messages, sink))?;
        if linked_before.has(&item).map_err(|message| sink.fatal(message))? {
            continue;
        }
        if let Product::Object(bytes) = outcome {
            extensible.admit(bytes, settings.release).map_err(|message| sink.fatal(message))?;
        }
        if let Some(milliseconds) = product.milliseconds {
            compilers.timed(&timing(&item, milliseconds));
        }
        if let Product::Ptx { .. } = outcome {
            return Err(sink.fatal(Message::NoCompiler { file: item.name, kind: "PTX" }));
        }
        let modules = loaded.ir.len();
        loaded.take(settings, position, item, outcome, sink);
        for module in &loaded.ir[modules..] {
            compilers.read(module).map_err(|messages| stopped(&messages, sink))?;
        }
    }
    let further = std::mem::take(&mut loaded.further);
    loaded.registrations.extend(further.into_iter().rev());
    // Warnings that are errors let the reading come to its end, and nothing else.
    sink.check()?;
    Ok(loaded)
}

/// A file of PTX is its own source, a member of a fat binary has no name.
fn timing<'a>(item: &'a Item<'_>, milliseconds: f64) -> Timing<'a> {
    let name = item.name.as_bytes();
    let (source, result): (&[u8], _) = match item.source {
        Source::Ptx(_) => (name, ""),
        _ => (b"ptx", "cubin"),
    };
    Timing { source, tool: "ptxas", file: name, result, milliseconds }
}

/// Reports the messages that end a link.
pub fn stopped(messages: &Stopped, sink: &Sink) -> Stop {
    for message in messages {
        sink.report(message);
    }
    Stop::FATAL
}
