//! What watches a link: messages, progress, explanations, maps and reports.

use std::sync::Mutex;

use crate::diagnostics::{Diagnostic, Message, Severity, Stop};
use crate::gc::Live;
use crate::layout::Layout;
use crate::model::graph::CallGraph;
use crate::model::merged::Merged;
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use crate::resources::Resources;
use crate::roots::Roots;
use crate::shared::SharedLayout;
use crate::textures::Textures;

/// The results of the phases.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, 'data> {
    /// Which definition each name means.
    pub symbols: &'a Symbols<'data>,
    /// The kernels that must stay.
    pub roots: &'a Roots<'a>,
    /// Whether functions that no kernel reaches are removed.
    pub removes_dead_code: bool,
    /// The functions that stay.
    pub live: &'a Live,
    /// Who calls whom in the inputs.
    pub graph: &'a CallGraph<'data>,
    /// The sections and symbols of the output.
    pub merged: &'a Merged<'data>,
    /// Registers, barriers and stack.
    pub resources: &'a Resources<'data>,
    /// Where shared variables lie.
    pub shared: &'a SharedLayout,
    /// The tables of handles.
    pub textures: &'a Textures,
}

/// Watches a link. Nothing that it does changes the output; every method may be left as it is.
pub trait Observer: Sync {
    /// A message, with its severity after the switches.
    fn message(&self, severity: Severity, message: &Message);

    /// Text that is not a message of the linker.
    fn text(&self, _text: &[u8]) {}

    /// A phase begins.
    fn phase(&self, _name: &'static str) {}

    /// The phase has this many tasks that take their time.
    fn expect(&self, _tasks: usize) {}

    /// Whether [`Observer::begin`] and [`Observer::end`] are of use.
    fn follows_tasks(&self) -> bool {
        false
    }

    /// Such a task begins.
    fn begin(&self, _task: &str) {}

    /// Such a task ends.
    fn end(&self, _task: &str) {}

    /// The inputs are parsed, and those that do not take part left out.
    fn parsed(&self, _objects: &[Object<'_>]) -> Result<(), Stop> {
        Ok(())
    }

    /// The objects contradict each other.
    fn unresolved(&self, _objects: &[Object<'_>]) {}

    /// The link has failed. There is a view if it came to the end of the merge.
    fn stopped(&self, _objects: &[Object<'_>], _view: Option<View<'_, '_>>) {}

    /// All is known but the layout.
    fn linked(&self, _objects: &[Object<'_>], _view: View<'_, '_>) {}

    /// The output is known to the byte, and about to be written.
    fn laid_out(
        &self,
        _objects: &[Object<'_>],
        _view: View<'_, '_>,
        _layout: &Layout<'_, '_>,
    ) -> Result<(), Stop> {
        Ok(())
    }
}

/// Keeps the messages of a link.
#[derive(Debug, Default)]
pub struct Collector(Mutex<Vec<Diagnostic>>);

impl Collector {
    /// The messages, in their order.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Observer for Collector {
    fn message(&self, severity: Severity, message: &Message) {
        let mut diagnostics = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        diagnostics.push(Diagnostic { severity, message: message.clone() });
    }
}

/// Tells the observer when a link ends before its time.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
    objects: Option<&'a [Object<'a>]>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, objects: &'a [Object<'a>]) -> Self {
        Self { observer, objects: Some(objects) }
    }

    /// The link has come to its end.
    pub(crate) fn done(mut self) {
        self.objects = None;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(objects) = self.objects {
            self.observer.stopped(objects, None);
        }
    }
}
