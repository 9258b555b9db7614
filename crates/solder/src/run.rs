//! A link of files: they are loaded, IR among them is compiled, and all is linked and written.

use crate::compilers::Toolkit;
use crate::dependencies;
use crate::diagnostics::{Message, Printer, Receiver, Severity, Sink, Stop};
use crate::explain::{self, Explain};
use crate::keep;
use crate::load::{self, Arena, FilesRead, Inputs, Shared, Streams};
use crate::mode::{Mode, Output};
use crate::options::Options;
use crate::os::{ending, signals, threads};
use crate::output;
use crate::register;
use crate::side_files::{self, SideFiles};
use crate::toolchain;
use solder_link::inputs;
use solder_link::layout::Layout;
use solder_link::load::Loaded;
use solder_link::load::lto::{self, Outcome};
use solder_link::model::object::Object;
use solder_link::observer::Observer;
use solder_link::options::{Record, Tool};
use solder_link::parse;
use solder_link::pool::Pool;
use solder_link::recorded_paths::PathRules;
use solder_link::view::View;
use std::fs;
use std::sync::Arc;

/// Files of a link beside its inputs, and what it shares with others.
#[derive(Clone, Copy)]
struct Around<'a, 'files> {
    side_files: &'a SideFiles,
    /// Where the files that are read are noted.
    read: Option<&'a Arc<FilesRead>>,
    /// Inputs of other links too.
    shared: Option<&'a Shared<'files>>,
}

/// Links the inputs that the options name. Other links may share them.
pub fn link(
    options: &Options,
    mode: &Mode,
    printer: &Printer,
    sink: &Sink,
    shared: Option<&Shared<'_>>,
) -> Result<(), Stop> {
    let side_files = &side_files::read(options, sink)?;
    let read = dependencies::noted(options);
    let around = Around { side_files, read: read.as_ref(), shared };
    let linked = link_as(options, *mode, printer, sink, around, Streams::default());
    let linked = linked.and_then(|()| dependencies::write(options, read.as_deref(), sink));
    linked.inspect_err(|_| explain::failed(options, printer, sink))
}

/// Links them as the release of the options, or, if that was a guess and wrong, as that of the inputs.
fn link_as(
    options: &Options,
    mut mode: Mode,
    printer: &Printer,
    sink: &Sink,
    around: Around<'_, '_>,
    streams: Streams,
) -> Result<(), Stop> {
    let pool = threads::pool(options.threads);
    let pool = &pool;
    sink.phase("loading");
    let arena = Arena::new(streams).noting(around.read.cloned());
    let toolchain = toolchain::of(options);
    let compilers = Toolkit::new(options, &toolchain, sink);
    let explain_inputs = |survey: &load::Survey<'_>, has_failed: bool| {
        if let Some(explain) = Explain::new(options, Some(survey), printer, pool) {
            explain.dropped(&toolchain.cache);
            explain.stopped(&[], None);
            if has_failed {
                explain.failed(&[], None, sink);
            }
        }
    };
    let (mut inputs, release) =
        match load::load(options, &compilers, sink, &arena, around.shared, pool, &explain_inputs)? {
            load::Outcome::Inputs(inputs, release) => (*inputs, release),
            load::Outcome::AsOther(release) => {
                let options = options.of_release(release);
                return link_as(&options, mode, printer, sink, around, arena.take_streams());
            }
        };
    let adopted = (release != options.release).then(|| options.of_release(release));
    let options = adopted.as_ref().unwrap_or(options);
    let loaded = &mut inputs.loaded;
    if options.lto && loaded.ir.is_empty() {
        sink.report(Message::NoLtoObjects);
        sink.check().map_err(|_| sink.fatal(Message::MergeFailed))?;
        mode = mode.without_ir(options);
    } else if options.lto {
        // Before the other inputs are looked into: their number decides how the IR is compiled, and its code is
        // one of them.
        match lto::optimize(&options.lto_options(), loaded, &compilers, arena.store(), pool, sink)? {
            Outcome::Ptx(text) => return output::write_output(options.output_file(sink)?, &text, sink),
            Outcome::Whole(cubin) => {
                output::write_output(options.output_file(sink)?, &cubin, sink)?;
                if let Some(explain) = Explain::new(options, inputs.survey.as_ref(), printer, pool) {
                    explain.compiled(&cubin, sink)?;
                }
                loaded.only_ir(options.keep_system_libraries, options.release);
                write_drawing(options, NO_CALLS, sink)?;
                return write_registrations(options, &inputs, sink);
            }
            Outcome::ToLink => {}
        }
    }
    if mode.output == Output::Nothing {
        write_drawing(options, NO_CALLS, sink)?;
        return write_registrations(options, &inputs, sink);
    }
    let is_large = parse::is_large(&inputs.loaded.objects);
    let linked = link_objects(options, mode, &inputs, around, printer, pool, sink)?;
    inputs.loaded.leave_out(&linked.takes_part);
    if !linked.is_written {
        check_inputs(pool, sink)?;
    }
    // These are written even if symbols are undefined, but not after a fatal error.
    write_registrations(options, &inputs, sink)?;
    if let Some(drawing) = &linked.drawing {
        write_drawing(options, drawing, sink)?;
    }
    if is_large && !options.no_fork {
        ending::leaves_much();
    }
    sink.check()
}

/// Links device code and writes the image.
fn link_objects<'data>(
    options: &Options,
    mode: Mode,
    inputs: &Inputs<'data>,
    around: Around<'data, '_>,
    printer: &Printer,
    pool: &Pool,
    sink: &Sink,
) -> Result<solder_link::link::Linked, Stop> {
    let Inputs { loaded, survey } = inputs;
    let explain = Explain::new(options, survey.as_ref(), printer, pool);
    let watcher = Watcher { options, printer, sink, explain };
    let write = |image: solder_link::write::Image<'_, '_>| {
        output::write_image(options.link_output(), image, pool, sink)
    };
    solder_link::link::link(
        inputs::Inputs { objects: &loaded.objects, first_host_code: loaded.first_host_code },
        &solder_link::options::Options {
            // The process ends after the link, unless there are others.
            forgets_memory: around.shared.is_none(),
            ..linker_options(options, mode, loaded, around.side_files.nv_host.as_deref())
        },
        &watcher,
        &write,
        pool,
        &sink.received_by(&watcher),
    )
}

fn linker_options<'a>(
    options: &'a Options,
    mode: Mode,
    loaded: &'a Loaded<'a>,
    host: Option<&'a [u8]>,
) -> solder_link::options::Options<'a> {
    solder_link::options::Options {
        relocatable: mode.output == Output::Relocatable,
        debug: options.debug && !options.suppress_debug_info,
        keeps_dead_code: !mode.removes_dead_code,
        preserve_relocs: options.preserve_relocs,
        force_rela: options.force_rela,
        is_optimized: loaded.is_optimized,
        kernels_used: options.kernels_used.as_deref(),
        variables_used: options.variables_used.as_deref(),
        references: (!options.ignore_host_info).then_some(&loaded.references),
        keep_system_libraries: options.keep_system_libraries,
        allow_undefined_globals: options.allow_undefined_globals,
        verbose: options.verbose,
        extra_warnings: options.extra_warnings,
        suppress_stack_size_warning: options.suppress_stack_size_warning,
        dump_callgraph: options.dump_callgraph,
        draw_callgraph: options.dot_file.is_some(),
        host,
        cuda_api_version: options.cuda_api_version,
        reserve_null_pointer: options.reserve_null_pointer && !options.dont_reserve_null_pointer,
        tools_patch: options.tools_patch,
        disable_smem_reservation: options.disable_smem_reservation == Some(true),
        enable_extended_smem: options.enable_extended_smem == Some(true),
        record: Record {
            tool: Tool::Nvlink,
            object: options.recorded_object_name(),
            command_line: options.recorded_command_line(),
            paths: PathRules::new(&options.remap_path_prefix, options.reproducible),
        },
        ..solder_link::options::Options::new(options.link_target(), options.release)
    }
}

/// Prints what the link reports, with explanations if they are asked for, and keeps intermediate files.
struct Watcher<'a, 'data> {
    options: &'a Options,
    printer: &'a Printer,
    sink: &'a Sink<'a>,
    explain: Option<Explain<'a, 'data>>,
}

impl Receiver for Watcher<'_, '_> {
    fn message(&self, severity: Severity, message: &Message) {
        self.printer.message(severity, message);
    }

    fn text(&self, text: &[u8]) {
        self.printer.text(text);
    }

    fn phase(&self, name: &'static str) {
        self.printer.phase(name);
    }
}

impl Observer for Watcher<'_, '_> {
    fn parsed(&self, objects: &[Object<'_>]) -> Result<(), Stop> {
        keep::linked(self.options, objects, self.sink)
    }

    fn unresolved(&self, objects: &[Object<'_>]) {
        if let Some(explain) = self.explain {
            explain.unresolved(objects);
            explain.failed(objects, None, self.sink);
        }
    }

    fn stopped(&self, objects: &[Object<'_>], view: Option<View<'_, '_>>) {
        if let Some(explain) = self.explain {
            explain.stopped(objects, view);
            explain.failed(objects, view, self.sink);
        }
    }

    fn linked(&self, objects: &[Object<'_>], view: View<'_, '_>) {
        if let Some(explain) = self.explain {
            explain.linked(objects, view);
            // Undefined names let the link go on, but nothing is written.
            if self.sink.errors() > 0 {
                explain.failed(objects, Some(view), self.sink);
            }
        }
    }

    fn laid_out(
        &self,
        objects: &[Object<'_>],
        view: View<'_, '_>,
        layout: &Layout<'_, '_>,
    ) -> Result<(), Stop> {
        self.explain.map_or(Ok(()), |explain| explain.laid_out(objects, view, layout, self.sink))
    }
}

/// What was read from an input that has changed since is worth nothing.
fn check_inputs(pool: &Pool, sink: &Sink) -> Result<(), Stop> {
    let changed = |file: &std::path::Path| Err(sink.fatal(Message::InputChanged { file: file.into() }));
    signals::changed_input(pool).map_or(Ok(()), changed)
}

/// A call graph without calls.
const NO_CALLS: &[u8] = b"digraph callgraph {\n}\n";

/// The call graph of `-dot`. Where nothing is linked it has no calls, and is written all the same.
fn write_drawing(options: &Options, drawing: &[u8], sink: &Sink) -> Result<(), Stop> {
    options.dot_file.as_ref().map_or(Ok(()), |file| output::write_output(file, drawing, sink))
}

fn write_registrations(options: &Options, inputs: &Inputs<'_>, sink: &Sink) -> Result<(), Stop> {
    let Some(file) = &options.register_link_binaries else { return Ok(()) };
    // nvlink looks for the name of the runtime's module in the file, and for no name if the runtime was left out: any file has that
    // (hostobj/register-existing).
    let is_there = || fs::metadata(file).is_ok_and(|found| found.is_file());
    if inputs.loaded.dropped_runtime && is_there() {
        return Ok(());
    }
    register::write(file, &inputs.loaded.registrations, sink)
}
