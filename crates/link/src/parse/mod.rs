//! Parses the inputs.

mod object;
mod twins;

use crate::diagnostics::{Message, Sink, Stop};
use crate::inputs::Input;
use crate::model::object::{Damage, Object};
use crate::pool::Pool;
use crate::resolve::Resolver;
use solder_arch::Release;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Links of this many objects, or of so many bytes, are worth the start of threads and not worth tidying up after.
const MANY_OBJECTS: usize = 48;
/// So many bytes.
pub const MANY_BYTES: usize = 1 << 20;

/// Whether a link of these objects is large.
pub fn is_large(inputs: &[Input<'_>]) -> bool {
    inputs.len() >= MANY_OBJECTS || inputs.iter().map(|input| input.bytes.len()).sum::<usize>() >= MANY_BYTES
}

/// Parses the inputs, and binds the names of the first ones meanwhile: up to one that may not stay what it is.
pub(crate) fn parse<'data>(
    inputs: &[Input<'data>],
    is_large: bool,
    release: &Release,
    pool: &Pool,
    sink: &Sink,
) -> Result<(Vec<Object<'data>>, Resolver<'data, 'data>), Stop> {
    let parse = |input: &Input<'data>| Object::parse(input.name.as_bytes().into(), input.bytes, pool);
    let mut parsed: Vec<OnceLock<Result<Object<'data>, Damage>>> = Vec::new();
    parsed.resize_with(inputs.len(), OnceLock::new);
    let next = AtomicUsize::new(0);
    let parse_next = || {
        let file = next.fetch_add(1, Ordering::Relaxed);
        if file < inputs.len() {
            parsed[file].get_or_init(|| parse(&inputs[file]));
        }
        file < inputs.len()
    };
    let mut names = Resolver::new(inputs.len(), release);
    let is_lasting = |object: &Object<'_>| object.mercury.is_none();
    pool.with_help(is_large, &parse_next, |beside| {
        for (place, input) in parsed.iter().zip(inputs) {
            // Others are at work on it when there is no next one.
            while place.get().is_none() && parse_next() {}
            match place.get_or_init(|| parse(input)) {
                Ok(object) if is_lasting(object) && !input.is_runtime => {
                    names.bind_early(object);
                }
                _ => break,
            }
            let pages = names.pages_ahead();
            if !pages.is_empty() {
                beside.run(|| pool.prefault(pages));
            }
        }
        while parse_next() {}
    });
    let names = names.with(Vec::new());
    // In this order they stay where they are.
    let checked = parsed.into_iter().zip(inputs).map(|(parsed, input)| {
        let parsed = parsed.into_inner().unwrap_or_else(|| parse(input));
        parsed.map_err(|Damage { place, reason }| {
            let (file, place, reason) = (input.name.clone(), place.into(), reason.into());
            sink.fatal(Message::DamagedInput { file, place, reason })
        })
    });
    Ok((checked.collect::<Result<_, _>>()?, names))
}
