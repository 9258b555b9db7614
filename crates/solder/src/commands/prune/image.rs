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

use super::host::{Code, Host};
use super::layout::Layout;
use super::pieces::Pieces;
use super::references;

pub(super) fn rebuild<'data>(host: &Host<'data>, code: &[Code<'data>]) -> Result<Pieces<'data>, String> {
    let layout = Layout::of(host, code)?;
    let mut pieces = layout.pieces();
    layout.headers(&mut pieces)?;
    references::correct(host, code, &layout, &mut pieces)?;
    Ok(pieces)
}
