//! Link-time optimisation: IR to PTX to machine code.
//!
//! The IR of all inputs is compiled together. If it is the whole program the assembled code is the output; otherwise
//! it takes part in the link, at the place of the last IR input.

mod arguments;
mod consensus;

use std::time::Instant;

use solder_cubin::raw::STT_FUNC;

use crate::cache::{Cache, Key};
use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::keep;
use crate::load::{Arena, Inputs, IrContent, IrModule};
use crate::options::Options;
use crate::time_table;
use crate::toolchain::nvjitlink;
use crate::toolchain::nvvm::{self, Compiled, Program};
use crate::toolchain::ptxas::{self, Assembler, Job};
use consensus::{Agreed, Consensus};
use solder_link::checks::undefined;
use solder_link::inputs::{Input, Origin};
use solder_link::pool::Pool;

/// The compiled code, as messages name it.
const NAME: &str = "lto.cubin";

/// Takes the IR while inputs are read.
#[derive(Default)]
pub struct Reader<'data> {
    consensus: Consensus,
    /// Modules are handed to the compiler as they come, so that one it refuses ends the run there. With a cache the
    /// compiler may not be needed at all, and gets them later.
    program: Option<Program<'data>>,
}

impl<'data> Reader<'data> {
    pub fn read(&mut self, module: &IrModule<'data>, options: &Options, sink: &Sink) -> Result<(), Stop> {
        if let Some(words) = module.options {
            self.consensus.add(words);
        }
        match module.content {
            IrContent::Plain(bytes) if options.cache_dir.is_none() => {
                let program = match &mut self.program {
                    Some(program) => program,
                    none => none.insert(open(options, sink)?),
                };
                add(program, bytes, &module.name, sink)
            }
            _ => Ok(()),
        }
    }
}

fn open<'data>(options: &Options, sink: &Sink) -> Result<Program<'data>, Stop> {
    let path = nvvm::path(options).unwrap_or_default();
    Program::open(&path).map_err(|_| sink.fatal(Message::LibraryLoad))
}

fn add<'data>(
    program: &mut Program<'data>,
    bytes: &'data [u8],
    name: &Text,
    sink: &Sink,
) -> Result<(), Stop> {
    if program.add(bytes, name) { Ok(()) } else { Err(sink.fatal(Message::NvvmError)) }
}

/// What became of the IR.
pub enum Outcome {
    /// The PTX was asked for.
    Ptx(Vec<u8>),
    /// The output.
    Whole(Vec<u8>),
    /// It is among the objects.
    ToLink,
}

/// How the IR is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Other code takes part, or the output is to be linked again: everything visible stays.
    pub partial: bool,
    /// References outside of the IR may remain.
    pub device_c: bool,
}

impl Plan {
    fn new(options: &Options, inputs: &Inputs<'_>) -> Self {
        let partial = options.partial_lto || inputs.objects.iter().any(|object| !object.is_runtime);
        let counts = |object: &Input<'_>| {
            object.is_runtime && inputs.first_host_code.is_some_and(|first| object.position > first)
        };
        let has_runtime = inputs.objects.iter().any(counts);
        Self { partial, device_c: partial || has_runtime }
    }
}

/// Compiles and assembles the IR, of which there is some.
pub fn optimise<'data>(
    options: &Options,
    inputs: &mut Inputs<'data>,
    reader: Reader<'data>,
    arena: &'data Arena,
    pool: &Pool,
    sink: &Sink,
) -> Result<Outcome, Stop> {
    let agreed = reader.consensus.agree(options, sink)?;
    if arguments::extended_split(options).is_some() && arguments::split(options, &agreed).is_some() {
        sink.report(Message::IncompatibleOptions {
            first: "-split-compile",
            second: "-split-compile-extended",
            used: "-split-compile-extended",
        });
    }
    let plan = Plan::new(options, inputs);
    let arguments = arguments::arguments(options, plan, &agreed, &inputs.references);
    let begun = Instant::now();
    let scrambled = inputs.ir.iter().find(|module| matches!(module.content, IrContent::Container(_)));
    sink.phase("compiling IR");
    sink.expect(1);
    let task = || format!("{} modules", inputs.ir.len());
    let compiled = sink.during(task, || match scrambled {
        Some(module) => with_nvjitlink(options, &arguments, plan, inputs, &module.name, sink),
        None => with_nvvm(options, &arguments, inputs, reader.program, sink),
    })?;
    add_time_row(options, ["lto.nvvm", "cicc", "lto.ptx"], begun.elapsed().as_secs_f64() * 1000.0);
    if !compiled.log.is_empty() {
        sink.report(Message::CompilerLog { log: compiled.log.into() });
    }
    if options.emit_ptx {
        return Ok(Outcome::Ptx(compiled.parts.concat()));
    }
    let whole = compiled.complete && !plan.partial && compiled.parts.len() == 1;
    let mut cubins = assemble(options, &agreed, &compiled.parts, whole, pool, sink)?;
    if whole {
        return Ok(Outcome::Whole(cubins.pop().unwrap_or_default()));
    }
    // It stands where the last host object with IR does. Without one nvlink compiles the IR and loses it: there is
    // then no host code that could know its kernels, and all stay.
    let last = inputs.ir.iter().rfind(|module| module.origin != Origin::File);
    inputs.references.raw_inputs |= last.is_none();
    let position = last.or(inputs.ir.last()).map_or(0, |module| module.position);
    let at = inputs.objects.partition_point(|object| object.position < position);
    let objects = cubins.into_iter().map(|cubin| Input {
        name: NAME.into(),
        bytes: arena.own(cubin),
        origin: Origin::File,
        position,
        is_runtime: false,
    });
    inputs.objects.splice(at..at, objects);
    Ok(Outcome::ToLink)
}

fn with_nvvm<'data>(
    options: &Options,
    arguments: &[Vec<u8>],
    inputs: &Inputs<'data>,
    program: Option<Program<'data>>,
    sink: &Sink,
) -> Result<Compiled, Stop> {
    let cache = Cache::of(options);
    let mut key = Key::new("nvvm");
    if cache.is_on() {
        key.tool(&nvvm::path(options).unwrap_or_default());
        add_to_key(&mut key, arguments, inputs);
        if let Some(compiled) = cache.get(&key).and_then(from_fields) {
            return Ok(compiled);
        }
    }
    let program = if let Some(program) = program {
        program
    } else {
        let mut program = open(options, sink)?;
        for module in &inputs.ir {
            if let IrContent::Plain(bytes) = module.content {
                add(&mut program, bytes, &module.name, sink)?;
            }
        }
        program
    };
    let compiled = program.compile(arguments).map_err(|refused| {
        sink.report(Message::CompilerLog { log: refused.text });
        sink.fatal(Message::JitCompileFailed)
    })?;
    if cache.is_on() {
        cache.put(&key, &to_fields(&compiled));
    }
    Ok(compiled)
}

/// The way of IR that only the vendor's libraries can unpack.
fn with_nvjitlink(
    options: &Options,
    arguments: &[Vec<u8>],
    plan: Plan,
    inputs: &Inputs<'_>,
    first: &Text,
    sink: &Sink,
) -> Result<Compiled, Stop> {
    let arguments = arguments::for_nvjitlink(options, arguments);
    let places = nvjitlink::places(options.nvvm_path.as_deref().unwrap_or("".as_ref()));
    let library = nvjitlink::find(&places);
    let cache = Cache::of(options);
    let mut key = Key::new("nvjitlink");
    if cache.is_on() {
        key.tool(&library);
        add_to_key(&mut key, &arguments, inputs);
        if let Some(compiled) = cache.get(&key).and_then(from_fields) {
            return Ok(compiled);
        }
    }
    let files: Vec<nvjitlink::Input<'_>> = inputs
        .ir
        .iter()
        .map(|module| {
            let (kind, bytes) = match module.content {
                IrContent::Plain(bytes) => (nvjitlink::Kind::LtoIr, bytes),
                IrContent::Container(bytes) => (nvjitlink::Kind::Fatbin, bytes),
            };
            nvjitlink::Input { kind, bytes, name: &module.name }
        })
        .collect();
    let linked =
        nvjitlink::link(library.as_os_str(), &arguments, &files).map_err(|failure| match failure {
            nvjitlink::Failure::Unusable => {
                let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
                sink.fatal(Message::JitLinkMissing { file: first.clone(), places: places.join(", ").into() })
            }
            nvjitlink::Failure::Refused(log) => {
                sink.report(Message::CompilerLog { log: log.into() });
                sink.fatal(Message::JitCompileFailed)
            }
        })?;
    // The library does not say whether references remain; the PTX does. Without `--device-c` the compiler calls
    // everything complete.
    let complete = !plan.device_c || is_complete(&linked.ptx);
    let ptx = arguments::without_suffix(options, linked.ptx);
    let compiled = Compiled { parts: vec![ptx], complete, log: linked.log };
    if cache.is_on() {
        cache.put(&key, &to_fields(&compiled));
    }
    Ok(compiled)
}

/// Whether PTX needs nothing but what the driver provides.
fn is_complete(ptx: &[u8]) -> bool {
    let declared = |line: &[u8]| -> Option<Vec<u8>> {
        let mut rest = line.strip_prefix(b".extern .func")?.trim_ascii_start();
        if rest.starts_with(b"(") {
            let end = rest.iter().position(|&byte| byte == b')')?;
            rest = rest[end + 1..].trim_ascii_start();
        }
        let end =
            rest.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'(').unwrap_or(rest.len());
        Some(rest[..end].to_vec())
    };
    ptx.split(|&byte| byte == b'\n')
        .filter_map(declared)
        .all(|name| undefined::is_provided(STT_FUNC, &String::from_utf8_lossy(&name)))
}

fn add_to_key(key: &mut Key, arguments: &[Vec<u8>], inputs: &Inputs<'_>) {
    key.list(arguments.iter().map(Vec::as_slice));
    for module in &inputs.ir {
        let (IrContent::Plain(bytes) | IrContent::Container(bytes)) = module.content;
        // The name is part of the compiler's messages.
        key.field(module.name.as_bytes());
        key.field(bytes);
    }
}

fn to_fields(compiled: &Compiled) -> Vec<&[u8]> {
    let complete: &[u8] = if compiled.complete { b"1" } else { b"0" };
    [complete, &compiled.log].into_iter().chain(compiled.parts.iter().map(Vec::as_slice)).collect()
}

fn from_fields(mut fields: Vec<Vec<u8>>) -> Option<Compiled> {
    if fields.len() < 3 {
        return None;
    }
    let parts = fields.split_off(2);
    let log = fields.pop()?;
    Some(Compiled { parts, complete: fields.pop()? == b"1", log })
}

/// Parts are assembled at the same time and spoken about in order.
fn assemble(
    options: &Options,
    agreed: &Agreed,
    parts: &[Vec<u8>],
    whole: bool,
    pool: &Pool,
    sink: &Sink,
) -> Result<Vec<Vec<u8>>, Stop> {
    let assembler = Assembler::find();
    let compiled = ptxas::Settings {
        whole,
        registers: agreed.registers,
        split_compile: arguments::split(options, agreed),
    };
    let to_do: Vec<Job<'_>> =
        parts.iter().map(|text| Job { text, stored_options: &[], compiled: Some(compiled) }).collect();
    sink.phase("assembling");
    sink.expect(parts.len());
    let job =
        |job: &Job<'_>| sink.during(|| "compiled IR".into(), || ptxas::assemble(&assembler, job, options));
    let results = pool.map(&to_do, true, job);
    let mut cubins = Vec::with_capacity(parts.len());
    for (part, result) in results.into_iter().enumerate() {
        let assembled = result.map_err(|failure| sink.fatal(failure.message("lto.ptx".into())))?;
        sink.write(&assembled.text);
        let kept = (part, &b"lto.ptx"[..]);
        keep::assembled(options, kept, &to_do[part], assembled.cubin.as_deref(), sink)?;
        // The time of a refusal counts too.
        add_time_row(options, ["lto.ptx", "ptxas", NAME], assembled.milliseconds);
        cubins.push(assembled.cubin.ok_or_else(|| sink.fatal(Message::FatbinaryError))?);
    }
    Ok(cubins)
}

fn add_time_row(options: &Options, [source, phase, result]: [&str; 3], milliseconds: f64) {
    let target = options.link_target();
    let row = format!("{source} , {phase} ,  , {result} , {target} , nvlink , {milliseconds:.4} , ms\n");
    time_table::add(options, row.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_tells_whether_references_remain() {
        assert!(is_complete(b".version 9.0\n.extern .shared .align 4 .b8 dynamic[];\n.visible .entry k()\n"));
        let print = b".extern .func  (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0,\n";
        assert!(is_complete(print));
        assert!(!is_complete(b".extern .func  (.param .b32 func_retval0) _Z1fi\n(\n"));
        assert!(!is_complete(b".extern .func _Z1fv()\n;"));
    }

    #[test]
    fn compiled_ir_comes_back_from_its_fields() {
        let parts = vec![b"one".to_vec(), b"two".to_vec()];
        let compiled = Compiled { parts, complete: true, log: b"remark".to_vec() };
        let fields = to_fields(&compiled).into_iter().map(<[u8]>::to_vec).collect();
        assert_eq!(from_fields(fields), Some(compiled));
        assert_eq!(from_fields(vec![b"1".to_vec()]), None);
    }
}
