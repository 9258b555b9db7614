//! The Mercury view of objects for sm_100 and later.
//!
//! Such an object describes its code twice: as machine code in the ordinary sections, and as Mercury in
//! twins of them. nvlink links the Mercury view by the rules of earlier architectures and then makes the
//! machine code's view from the result. Here one link is done on the ordinary sections, each carrying
//! its twin along; where the two views differ, order and names follow Mercury.

mod capsule;
mod decide;
mod fastpath;
mod layout;
mod symbols;
mod twins;

pub use capsule::{capsule_patches, table_patches};
pub use decide::{decide, jump_tables};
pub use fastpath::{BIT_103, fastpath, wrong_code};
pub use layout::{
    HOLE_BEHIND_NAMES, SectionNames, hole_behind_symbol_names, section_names, segments, shares_bytes,
};
pub use solder_cubin::frames::{Event, Frame, Frames};
pub use solder_cubin::lines::{
    REGISTER_TABLE, is_line_table, places_of as register_places, translated as translated_lines,
    units as line_units,
};
pub use solder_sass::Places;
pub use solder_sass::finalize::{branch_targets, has_indirect_branches, release_stack_pointer};
pub use symbols::{RESERVED_SHARED, symbol_table};
pub use twins::Twins;

/// The first architecture whose code comes with Mercury.
pub const FROM: u16 = 100;

/// The bank number that lands in the field of a constant bank for a constant that nobody defines.
pub const NO_BANK: u8 = 3;
