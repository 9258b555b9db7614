//! The reasons for a message, and what a link did: `--explain` and its relatives.
//!
//! Nothing here takes part in a link. The phases leave their results in a [`View`] and the loader a
//! [`Survey`]; both exist only if one of these options is given, and everything told is worked out from them
//! afterwards, so that a plain link pays nothing.

mod calls;
mod command_line;
mod context;
mod cut_off;
mod dropped;
mod duplicates;
mod failed;
mod inputs;
mod limits;
mod live;
mod map;
mod names;
mod references;
mod registers;
mod report;
mod trace;
mod undefined;
mod whole;

pub use command_line::of_words;
pub use context::Explain;
pub use failed::failed;
pub use report::filled as page_of;

use crate::diagnostics::{Demangled, Message, Note, Printer, Sink, Stop};
use crate::load::Survey;
use crate::options::Options;
use context::{Context, write};
use solder_link::layout::Layout;
use solder_link::model::object::Object;
use solder_link::pool::Pool;
use solder_link::view::View;

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
            self.print(&Context::new(self, objects, None).trace(None, &self.options.trace));
        }
    }

    /// A link of which all is known but the layout.
    pub fn linked(self, objects: &[Object<'_>], view: View<'_, '_>) {
        self.stopped(objects, Some(view));
        let context = Context::new(self, objects, Some(view));
        let Options { trace, why_live, print_gc, explain_regs, .. } = self.options;
        if !trace.is_empty() {
            self.print(&context.trace(Some(view.symbols), trace));
        }
        if !why_live.is_empty() {
            self.print(&live::why(view, objects, why_live));
        }
        if *print_gc {
            self.print(&live::gc(view, objects));
        }
        if let Some(kernel) = explain_regs {
            self.print(&registers::text(view, kernel));
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
            write(self.options, file, &map::text(self, objects, view, layout), sink)?;
        }
        if let Some(file) = &self.options.report {
            write(self.options, file, &report::page(self, objects, view, layout), sink)?;
        }
        Ok(())
    }
}

impl Context<'_, '_> {
    fn notes(&self, message: &Message) -> Vec<Note> {
        match message {
            Message::UndefinedReference { symbol, .. } => self.undefined(symbol.as_bstr()),
            Message::MultipleDefinition { symbol, .. } => self.multiple(symbol.as_bstr()),
            Message::SizeMismatch { symbol, .. }
            | Message::MemorySpaceMismatch { symbol, .. }
            | Message::ManagedMismatch { symbol, .. }
            | Message::PrototypeMismatch { symbol, .. }
            | Message::CommonTooLarge { symbol, .. }
            | Message::ParameterBankMismatch { symbol } => self.mentions(symbol.as_bstr()),
            // Its text has the demangled name already.
            Message::NotGlobalEverywhere { symbol: Demangled(symbol) } => {
                let mut notes = self.mentions(symbol.as_bstr());
                notes.retain(|note| note.kind != "name");
                notes
            }
            Message::ArchNotFound { file, target } => self.not_found(file, &target.to_string()),
            Message::ArchMismatch { file, .. }
            | Message::FinalizerError { file }
            | Message::MustBeRecompiled { file, .. } => self.made_for(file),
            Message::NewerThanToolkit { version, .. } => self.newer(*version),
            Message::OutputLimited { file, .. } => self.limited(file),
            Message::OutputNotOpened { file } => command_line::not_written(file),
            Message::InputNotOpened { file } => inputs::not_opened(file),
            Message::UnexpectedAfterRuntime => self.after_runtime(),
            Message::LtoObjectsWithoutLto | Message::NvvmWithoutLto => self.holding_ir(),
            Message::DamagedInput { file, .. } | Message::NoFatbin { file } => self.ends_early(file),
            Message::CubinNotElf
            | Message::CubinNotDeviceElf
            | Message::FatbinWrongFormat
            | Message::BitcodeInput
            | Message::BinaryFormat { .. }
            | Message::BinaryKind
            | Message::UncompressFailed
            | Message::FatbinaryError
            | Message::ArchiveFormat
            | Message::InternalError => self.refused_input(),
            Message::DeletedSymbol => self.aliases(),
            Message::NoCallGraphNode | Message::MergeFailed => {
                vec![Note::new("cause", "the link stops because of the errors above")]
            }
            Message::StackSizeUnknown { kernel } => self.unknown_stack(kernel.as_bstr()),
            Message::RegisterLimit { kernel, callee, limit, .. } => {
                self.register_limit(kernel.as_bstr(), callee.as_bstr(), *limit)
            }
            Message::SharedLimit { kernel, limit, .. } => self.shared_limit(kernel.as_bstr(), limit.0),
            Message::ConstantLimit { limit, .. } => self.constant_limit(limit.0),
            Message::CompilerConstants { kernel } => self.compiler_constants(kernel.as_bstr()),
            Message::TooManyReferences { kernel, .. } => self.reference_list(kernel.as_bstr()),
            _ => Vec::new(),
        }
    }
}
