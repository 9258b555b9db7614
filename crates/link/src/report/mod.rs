//! What a link tells about itself when it is asked: the call graph, what each kernel uses.

pub mod call_graph;
pub mod verbose;

use crate::options::Options;
use crate::view::View;

/// The call graph, drawn for `dot`.
pub fn draw(view: View<'_, '_>, options: &Options<'_>) -> Vec<u8> {
    call_graph::dot(view.symbols, view.graph, view.merged, options.relocatable)
}
