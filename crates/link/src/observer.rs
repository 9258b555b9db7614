//! What watches a link: messages, progress, explanations, maps and reports.

use crate::diagnostics::{Collector, Receiver, Stop};
use crate::layout::Layout;
use crate::model::object::Object;
use crate::view::View;

/// Watches a link. Nothing that it does changes the output; every method may be left as it is, as [`Collector`] does.
pub trait Observer: Receiver {
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

impl Observer for Collector {}

/// Tells the observer when a link ends before its time.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
    objects: Option<&'a [Object<'a>]>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, objects: &'a [Object<'a>]) -> Self {
        Self { observer, objects: Some(objects) }
    }

    /// The link ends, and so much of it was known.
    pub(crate) fn stopped(&self, view: View<'_, '_>) {
        self.observer.stopped(self.objects.unwrap_or_default(), Some(view));
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
