//! Link-time optimization: IR to PTX to machine code.
//!
//! The IR of all inputs is compiled together. If it is the whole program, the assembled code is the output; otherwise
//! it takes part in the link, at the place of the last IR input.

mod arguments;
mod consensus;
mod options;
mod plan;

use std::time::Instant;

use bstr::ByteSlice;
use solder_cubin::raw::STT_FUNC;

use super::compilers::{CompiledPtx, Compilers, IrRequest, Ptx, Timing};
use super::store::Store;
use super::taken::Loaded;
use crate::checks::undefined;
use crate::diagnostics::{Message, Sink, Stop};
use crate::inputs::{Input, Origin};
use crate::pool::Pool;
use consensus::{Agreed, Consensus};
pub use options::LtoOptions;
use plan::Plan;

/// The compiled code, as messages name it.
const NAME: &str = "lto.cubin";

/// What became of the IR.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The PTX was asked for.
    Ptx(Vec<u8>),
    /// The output.
    Whole(Vec<u8>),
    /// It is among the objects.
    ToLink,
}

/// Compiles and assembles the IR. There is at least one module.
pub fn optimize<'data>(
    options: &LtoOptions<'_>,
    loaded: &mut Loaded<'data>,
    compilers: &dyn Compilers<'data>,
    store: &'data Store,
    pool: &Pool,
    sink: &Sink,
) -> Result<Outcome, Stop> {
    let agreed = agree(options, loaded, sink)?;
    let plan = Plan::new(options, loaded);
    let nvvm = arguments::arguments(options, plan, &agreed, &loaded.references);
    let nvjitlink = arguments::for_nvjitlink(options, &nvvm);
    let request = IrRequest { modules: &loaded.ir, nvvm: &nvvm, nvjitlink: &nvjitlink };
    let tell = |lines: &[&str]| {
        if options.verbose2 {
            sink.write(lines.concat().as_bytes());
        }
    };
    tell(&[" Running nvlink cicc-lto\n"]);
    let begun = Instant::now();
    sink.phase("compiling IR");
    sink.expect(1);
    let task = || format!("{} modules", loaded.ir.len());
    let compiled = sink
        .during(task, || compilers.compile(&request))
        .map_err(|messages| super::stopped(&messages, sink))?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
    compilers.timed(&timing(b"lto.nvvm", "cicc", "lto.ptx", milliseconds));
    tell(&steps(options, loaded.ir.len()));
    if !compiled.log.is_empty() {
        sink.report(Message::CompilerLog { log: compiled.log.into() });
    }
    // Also where nothing is assembled.
    tell(&[" Running nvlink ptxas-lto\n"]);
    // nvJitLink does not say whether references remain; the PTX does. Without `--device-c` the compiler calls
    // everything complete.
    let may_be_whole = !options.emit_ptx && !plan.partial && compiled.parts.len() == 1;
    let complete = match compiled.complete {
        _ if options.whole => may_be_whole,
        Some(complete) => complete,
        None if !plan.device_c || !may_be_whole => may_be_whole,
        None => {
            let ptx = compiled.parts.concat();
            is_complete(&ptx) && (has_kernel(&ptx) || had_kernels(options, plan, &agreed, loaded, compilers))
        }
    };
    let mut parts = compiled.parts;
    if compiled.complete.is_none() {
        parts = parts.into_iter().map(|ptx| arguments::without_suffix(options, ptx)).collect();
    }
    if options.emit_ptx {
        return Ok(Outcome::Ptx(parts.concat()));
    }
    let whole = complete && may_be_whole;
    let how =
        CompiledPtx { whole, registers: agreed.registers, split_compile: arguments::split(options, &agreed) };
    super::check_registers(how.registers).map_err(|messages| super::stopped(&messages, sink))?;
    let mut cubins = assemble(&parts, how, compilers, pool, sink)?;
    if whole {
        return Ok(Outcome::Whole(cubins.pop().unwrap_or_default()));
    }
    insert(loaded, cubins, store);
    loaded.is_optimized = !plan.partial;
    Ok(Outcome::ToLink)
}

/// What the compiler says under `-v2` that it does, line by line. It says so while it works, and with nvJitLink nothing of it
/// (lto/verbose).
fn steps(options: &LtoOptions<'_>, modules: usize) -> Vec<&'static str> {
    let steps = [
        (options.release.names_linking_step(), "  Running LibNVVM module linking step\n"),
        (true, "  Running source modules parsing\n"),
        (modules > 1, "  Running modules linking\n"),
        (true, "  Running LTO step\n"),
        (true, "  Running LibNVVM optimization step\n"),
        (true, "  Running LibNVVM code-generation step\n"),
    ];
    steps.into_iter().filter(|(is_said, _)| *is_said).map(|(_, line)| line).collect()
}

/// The options on which the modules agree, with those of the link.
fn agree(options: &LtoOptions<'_>, loaded: &Loaded<'_>, sink: &Sink) -> Result<Agreed, Stop> {
    let mut consensus = Consensus::default();
    loaded.ir.iter().filter_map(|module| module.options).for_each(|words| consensus.add(words));
    let agreed = consensus.agree(options, sink)?;
    if arguments::extended_split(options).is_some() && arguments::split(options, &agreed).is_some() {
        sink.report(Message::IncompatibleOptions {
            first: "-split-compile",
            second: "-split-compile-extended",
            used: "-split-compile-extended",
        });
    }
    Ok(agreed)
}

/// Puts the code where the last host object with IR is. Without one nvlink compiles the IR and loses it: there is
/// then no host code that could know its kernels, and all stay.
fn insert<'data>(loaded: &mut Loaded<'data>, cubins: Vec<Vec<u8>>, store: &'data Store) {
    let last = loaded.ir.iter().rfind(|module| module.origin != Origin::File);
    loaded.references.raw_inputs |= last.is_none();
    let position = last.or(loaded.ir.last()).map_or(0, |module| module.position);
    let at = loaded.objects.partition_point(|object| object.position < position);
    let objects = cubins.into_iter().map(|cubin| Input {
        name: NAME.into(),
        bytes: store.own(cubin),
        origin: Origin::File,
        position,
        is_runtime: false,
    });
    loaded.objects.splice(at..at, objects);
}

fn has_kernel(ptx: &[u8]) -> bool {
    ptx.lines().any(|line| !line.starts_with(b".extern") && line.contains_str(b".entry "))
}

/// Whether the IR has kernels and every one was removed, because nothing refers to them. IR that never had one is not a whole program
/// (lto/without-kernels).
fn had_kernels<'data>(
    options: &LtoOptions<'_>,
    plan: Plan,
    agreed: &Agreed,
    loaded: &Loaded<'data>,
    compilers: &dyn Compilers<'data>,
) -> bool {
    if !arguments::removes(options, &loaded.references) {
        return false;
    }
    let all =
        LtoOptions { ignore_host_info: true, kernels_used: &[], variables_used: &[], ..options.clone() };
    let nvvm = arguments::arguments(&all, plan, agreed, &loaded.references);
    let nvjitlink = arguments::for_nvjitlink(&all, &nvvm);
    let request = IrRequest { modules: &loaded.ir, nvvm: &nvvm, nvjitlink: &nvjitlink };
    compilers.compile(&request).is_ok_and(|compiled| has_kernel(&compiled.parts.concat()))
}

/// Whether PTX needs nothing but what the driver provides. It provides no kernel (lto/undefined-kernel).
fn is_complete(ptx: &[u8]) -> bool {
    let declared = |line: &[u8]| -> Option<Vec<u8>> {
        if line.starts_with(b".extern .entry") {
            return Some(Vec::new());
        }
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

/// Parts are assembled at the same time and reported on in order.
fn assemble(
    parts: &[Vec<u8>],
    how: CompiledPtx,
    compilers: &dyn Compilers<'_>,
    pool: &Pool,
    sink: &Sink,
) -> Result<Vec<Vec<u8>>, Stop> {
    let ptx = |text| Ptx {
        name: "lto.ptx".into(),
        text,
        stored_options: None,
        compiled: Some(how),
        at_once: parts.len(),
    };
    let to_do: Vec<Ptx<'_>> = parts.iter().map(|text| ptx(text)).collect();
    sink.phase("assembling");
    sink.expect(parts.len());
    let job = |ptx: &Ptx<'_>| sink.during(|| "compiled IR".into(), || compilers.assemble(ptx));
    let results = pool.map(&to_do, true, job);
    let mut cubins = Vec::with_capacity(parts.len());
    for (part, result) in results.into_iter().enumerate() {
        let assembled = result.map_err(|messages| super::stopped(&messages, sink))?;
        assembled.said().report(sink)?;
        compilers.assembled(part, &to_do[part], &assembled)?;
        // The time of a refusal is in the table too.
        compilers.timed(&timing(b"lto.ptx", "ptxas", NAME, assembled.milliseconds));
        cubins.push(assembled.cubin.ok_or_else(|| sink.fatal(Message::FatbinaryError))?);
    }
    Ok(cubins)
}

fn timing<'a>(source: &'a [u8], tool: &'static str, result: &'static str, milliseconds: f64) -> Timing<'a> {
    Timing { source, tool, file: b"", result, milliseconds }
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
        assert!(!is_complete(b".extern .entry _Z1kPi\n(\n"));
    }
}
