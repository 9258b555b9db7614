//! What is behind a message, and what a link did: `--explain` and its relatives.
//!
//! Nothing here takes part in a link. The phases leave their results in a [`View`] and the loader a
//! [`Survey`]; both exist only if one of these options is given, and everything told is worked out from them
//! afterwards, so that a plain link pays nothing.

mod calls;
mod duplicates;
mod inputs;
mod limits;
mod live;
mod map;
mod names;
mod registers;
mod report;
mod trace;
mod undefined;
mod whole;

use std::cell::OnceCell;
use std::path::Path;

use crate::diagnostics::{Message, Note, Printer, Sink, Stop};
use crate::load::{Arena, Survey};
use crate::options::Options;
use solder_link::layout::Layout;
use solder_link::model::object::Object;
use solder_link::pool::Pool;
use solder_link::view::View;

/// What the link is asked to tell.
#[derive(Clone, Copy)]
pub struct Explain<'a, 'data> {
    options: &'a Options,
    survey: &'a Survey<'data>,
    printer: &'a Printer,
    pool: &'a Pool,
}

impl<'a, 'data> Explain<'a, 'data> {
    /// `None` if nothing is asked.
    pub fn new(
        options: &'a Options,
        survey: Option<&'a Survey<'data>>,
        printer: &'a Printer,
        pool: &'a Pool,
    ) -> Option<Self> {
        survey.map(|survey| Self { options, survey, printer, pool })
    }

    /// The messages so far, with what explains them.
    pub fn stopped(self, objects: &[Object<'_>], view: Option<View<'_, '_>>) {
        let context = Context::new(self, objects, view);
        self.printer.release(&|message| context.notes(message));
    }

    /// A link whose objects contradict each other.
    pub fn unresolved(self, objects: &[Object<'_>]) {
        self.stopped(objects, None);
        if !self.options.trace.is_empty() {
            print(&Context::new(self, objects, None).trace(None, &self.options.trace));
        }
    }

    /// A link of which all is known but the layout.
    pub fn linked(self, objects: &[Object<'_>], view: View<'_, '_>) {
        self.stopped(objects, Some(view));
        let context = Context::new(self, objects, Some(view));
        let Options { trace, why_live, print_gc, explain_regs, .. } = self.options;
        if !trace.is_empty() {
            print(&context.trace(Some(view.symbols), trace));
        }
        if !why_live.is_empty() {
            print(&live::why(view, objects, why_live));
        }
        if *print_gc {
            print(&live::gc(view, objects));
        }
        if let Some(kernel) = explain_regs {
            print(&registers::text(view, kernel));
        }
    }

    /// A link whose output is known to the byte.
    pub fn laid_out(
        self,
        objects: &[Object<'_>],
        view: View<'_, '_>,
        layout: &Layout<'_, '_>,
        sink: &Sink,
    ) -> Result<(), Stop> {
        if let Some(file) = &self.options.map {
            write(file, &map::text(self, objects, view, layout), sink)?;
        }
        if let Some(file) = &self.options.report {
            write(file, &report::page(self, objects, view, layout), sink)?;
        }
        Ok(())
    }
}

/// Reports go to standard output, apart from the messages; that nobody reads them is no fault.
fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// `-` is standard output.
fn write(file: &Path, text: &str, sink: &Sink) -> Result<(), Stop> {
    if file == Path::new("-") {
        print(text);
        return Ok(());
    }
    crate::output::write_output(file, text.as_bytes(), sink)
}

/// What explanations are drawn from; indices are made when the first message asks for them.
struct Context<'a, 'data> {
    options: &'a Options,
    survey: &'a Survey<'data>,
    objects: &'a [Object<'data>],
    view: Option<View<'a, 'data>>,
    names: OnceCell<names::Index<'a>>,
    references: OnceCell<undefined::References<'a>>,
    /// For what is read again.
    arena: Arena,
}

impl<'a, 'data> Context<'a, 'data> {
    fn new(explain: Explain<'a, 'data>, objects: &'a [Object<'data>], view: Option<View<'a, 'data>>) -> Self {
        let Explain { options, survey, .. } = explain;
        let (names, references) = (OnceCell::new(), OnceCell::new());
        Self { options, survey, objects, view, names, references, arena: Arena::new() }
    }

    fn notes(&self, message: &Message) -> Vec<Note> {
        match message {
            Message::UndefinedReference { symbol, .. } => self.undefined(&symbol.to_string()),
            Message::MultipleDefinition { symbol, .. } => self.multiple(&symbol.to_string()),
            Message::SizeMismatch { symbol, .. }
            | Message::MemorySpaceMismatch { symbol, .. }
            | Message::ManagedMismatch { symbol, .. }
            | Message::PrototypeMismatch { symbol, .. }
            | Message::CommonTooLarge { symbol, .. }
            | Message::ParameterBankMismatch { symbol }
            | Message::NotGlobalEverywhere { symbol } => self.mentions(&symbol.to_string()),
            Message::ArchNotFound { file, target } => self.not_found(file, &target.to_string()),
            Message::ArchMismatch { file, .. }
            | Message::FinalizerError { file }
            | Message::NewerThanToolkit { file, .. }
            | Message::MustBeRecompiled { file, .. } => self.made_for(file),
            Message::OutputLimited { file, .. } => self.limited(file),
            Message::InputNotOpened { file } => inputs::not_opened(file),
            Message::UnexpectedAfterRuntime => self.after_runtime(),
            Message::LtoObjectsWithoutLto | Message::NvvmWithoutLto => self.holding_ir(),
            Message::CubinNotElf
            | Message::CubinNotDeviceElf
            | Message::FatbinWrongFormat
            | Message::BitcodeInput
            | Message::BinaryFormat { .. }
            | Message::UncompressFailed
            | Message::FatbinaryError
            | Message::ArchiveFormat
            | Message::InternalError => self.refused_input(),
            Message::DeletedSymbol => self.aliases(),
            Message::NoCallGraphNode | Message::MergeFailed => {
                vec![Note::new("cause", "the link stops because of the errors above")]
            }
            Message::StackSizeUnknown { kernel } => self.unknown_stack(&kernel.to_string()),
            Message::RegisterLimit { kernel, callee, limit, .. } => {
                self.register_limit(&kernel.to_string(), &callee.to_string(), *limit)
            }
            Message::SharedLimit { kernel, limit, .. } => self.shared_limit(&kernel.to_string(), limit.0),
            Message::ConstantLimit { limit, .. } => self.constant_limit(limit.0),
            Message::CompilerConstants { kernel } => self.compiler_constants(&kernel.to_string()),
            Message::TooManyReferences { kernel, .. } => self.reference_list(&kernel.to_string()),
            _ => Vec::new(),
        }
    }
}

/// Things told at once by one thread.
const PART: usize = 512;

/// What `tell` says of the items, some at a time.
fn in_parts<T: Sync>(pool: &Pool, items: &[T], tell: impl Fn(&[T]) -> String + Send + Sync) -> Vec<String> {
    let parts: Vec<&[T]> = items.chunks(PART).collect();
    pool.map(&parts, parts.len() >= 4, |part| tell(part))
}

/// `1 byte`, `2 bytes`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The first `most` lines, then how many were left out.
fn capped(mut notes: Vec<Note>, most: usize, what: &str) -> Vec<Note> {
    let rest = notes.len().saturating_sub(most);
    // One line that says that one is missing would take its place.
    if rest > 1 {
        let kind = notes[0].kind;
        notes.truncate(most);
        notes.push(Note::new(kind, format!("and {rest} more {what}")));
    }
    notes
}
