//! The results of the phases, side by side.

use crate::gc::Live;
use crate::model::graph::CallGraph;
use crate::model::merged::Merged;
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
