//! Executables and shared libraries. Addresses stay: only fat binaries move, within their section, and a few small tables
//! where the table of segments needs their room. The pages that come free are cut out of the file:
//!
//! ```text
//! before   | header, segments | tables, code, constants | fat binaries                 | unwind tables | … | data
//! after    | header, segments | tables, code, constants | fat binaries |               | unwind tables | … | data
//!                                                                         not in the file
//! ```
//!
//! The segment that holds the fat binaries becomes two, which takes an entry of the table of segments. All that
//! follows in the file moves by whole pages.
//!
//! A section that has grown, of members that are no longer compressed, goes to the end of the file and of the memory, in
//! a segment of its own; its old place comes free.

use super::host::{Code, Host};
use super::layout::{self, Layout};
use super::pieces::Pieces;
use super::references;

pub(super) fn rebuild<'data>(host: &Host<'data>, code: &mut [Code<'data>]) -> Result<Pieces<'data>, String> {
    layout::move_grown(host, code)?;
    let code = &*code;
    let layout = Layout::of(host, code)?;
    let mut pieces = layout.pieces();
    layout.headers(&mut pieces)?;
    references::correct(host, code, &layout, &mut pieces)?;
    Ok(pieces)
}
