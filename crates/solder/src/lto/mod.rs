//! Link-time optimisation: IR to PTX to machine code.
//!
//! The IR of all inputs is compiled together. If it is the whole program the assembled code is the output; otherwise
//! it takes part in the link, at the place of the last IR input.

mod arguments;
mod consensus;
mod plan;

use std::time::Instant;

use solder_cubin::raw::STT_FUNC;
use solder_toolchain::{
    CompileError, CompileRequest, Compiled, Flags, Module, ModuleKind, Program, Ptx, Toolchain,
};

use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::keep;
use crate::load::{Arena, Inputs, IrContent, IrModule};
use crate::options::Options;
use crate::time_table;
use crate::toolchain;
use consensus::{Agreed, Consensus};
use plan::Plan;
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
                program.add(bytes, module.name.as_bytes()).map_err(|error| stopped(error, sink))
            }
            _ => Ok(()),
        }
    }
}

fn open<'data>(options: &Options, sink: &Sink) -> Result<Program<'data>, Stop> {
    let path = toolchain::nvvm(options).unwrap_or_default();
    Program::open(&path).map_err(|error| stopped(error, sink))
}

/// Says why the compiler library gave no PTX.
fn stopped(error: CompileError, sink: &Sink) -> Stop {
    match error {
        CompileError::Library { .. } => sink.fatal(Message::LibraryLoad),
        CompileError::Module => sink.fatal(Message::NvvmError),
        CompileError::Refused { log } => {
            sink.report(Message::CompilerLog { log: log.into() });
            sink.fatal(Message::JitCompileFailed)
        }
    }
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

/// Compiles and assembles the IR, of which there is some.
pub fn optimise<'data>(
    options: &Options,
    toolchain: &Toolchain<'_>,
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
        Some(module) => with_nvjitlink(options, toolchain, &arguments, plan, inputs, &module.name, sink),
        None => with_nvvm(options, toolchain, &arguments, inputs, reader.program, sink),
    })?;
    add_time_row(options, ["lto.nvvm", "cicc", "lto.ptx"], begun.elapsed().as_secs_f64() * 1000.0);
    if !compiled.log.is_empty() {
        sink.report(Message::CompilerLog { log: compiled.log.into() });
    }
    if options.emit_ptx {
        return Ok(Outcome::Ptx(compiled.parts.concat()));
    }
    let whole = compiled.complete && !plan.partial && compiled.parts.len() == 1;
    let mut cubins = assemble(options, toolchain, &agreed, &compiled.parts, whole, pool, sink)?;
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

fn modules<'a>(inputs: &'a Inputs<'_>) -> Vec<Module<'a>> {
    let module = |module: &'a IrModule<'_>| {
        let (kind, bytes) = match module.content {
            IrContent::Plain(bytes) => (ModuleKind::Ir, bytes),
            IrContent::Container(bytes) => (ModuleKind::Fatbin, bytes),
        };
        Module { kind, bytes, name: module.name.as_bytes() }
    };
    inputs.ir.iter().map(module).collect()
}

fn with_nvvm<'data>(
    options: &Options,
    toolchain: &Toolchain<'_>,
    arguments: &[Vec<u8>],
    inputs: &Inputs<'data>,
    program: Option<Program<'data>>,
    sink: &Sink,
) -> Result<Compiled, Stop> {
    let library = toolchain::nvvm(options).unwrap_or_default();
    let request = CompileRequest { arguments, modules: &modules(inputs) };
    toolchain.compile(&library, &request, program).map_err(|error| stopped(error, sink))
}

/// The way of IR that only NVIDIA's libraries can unpack.
fn with_nvjitlink(
    options: &Options,
    toolchain: &Toolchain<'_>,
    arguments: &[Vec<u8>],
    plan: Plan,
    inputs: &Inputs<'_>,
    first: &Text,
    sink: &Sink,
) -> Result<Compiled, Stop> {
    let arguments = arguments::for_nvjitlink(options, arguments);
    let request = CompileRequest { arguments: &arguments, modules: &modules(inputs) };
    let nvvm_path = options.nvvm_path.as_deref().unwrap_or("".as_ref());
    let packed = toolchain.compile_packed(nvvm_path, &request).map_err(|error| match error {
        CompileError::Library { places } => {
            let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            sink.fatal(Message::JitLinkMissing { file: first.clone(), places: places.join(", ").into() })
        }
        error => stopped(error, sink),
    })?;
    // The library does not say whether references remain; the PTX does. Without `--device-c` the compiler calls
    // everything complete.
    let complete = !plan.device_c || is_complete(&packed.ptx);
    let ptx = arguments::without_suffix(options, packed.ptx);
    Ok(Compiled { parts: vec![ptx], complete, log: packed.log })
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
    ptx.split(|&byte| byte == b'\n').filter_map(declared).all(|name| undefined::is_provided(STT_FUNC, &name))
}

/// Parts are assembled at the same time and spoken about in order.
fn assemble(
    options: &Options,
    toolchain: &Toolchain<'_>,
    agreed: &Agreed,
    parts: &[Vec<u8>],
    whole: bool,
    pool: &Pool,
    sink: &Sink,
) -> Result<Vec<Vec<u8>>, Stop> {
    let assembler = toolchain.assembler();
    // The modules had a say in these.
    let flags = Flags {
        whole,
        registers: agreed.registers,
        split_compile: arguments::split(options, agreed),
        ..toolchain::flags(options)
    };
    let to_do: Vec<Ptx<'_>> = parts.iter().map(|text| Ptx { text, stored_options: &[] }).collect();
    sink.phase("assembling");
    sink.expect(parts.len());
    let job = |ptx: &Ptx<'_>| sink.during(|| "compiled IR".into(), || assembler.assemble(ptx, &flags));
    let results = pool.map(&to_do, true, job);
    let mut cubins = Vec::with_capacity(parts.len());
    for (part, result) in results.into_iter().enumerate() {
        let assembled = result.map_err(|error| sink.fatal(toolchain::message(error, "lto.ptx".into())))?;
        sink.write(&assembled.text);
        let kept = (part, &b"lto.ptx"[..]);
        keep::assembled(options, kept, (&to_do[part], &flags), assembled.cubin.as_deref(), sink)?;
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
}
