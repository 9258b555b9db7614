//! `.nv.callgraph`: pairs of words in four parts, each begun by a pair whose first word is 0.

use crate::raw::WordPair;

/// Which part of the call graph a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// caller, callee
    Call,
    /// function whose address is taken, offset of its prototype
    Taken,
    /// caller, offset of the prototype of an indirect call
    Indirect,
    /// caller, function whose address it takes
    Takes,
}

pub const MARKERS: [(u32, Part); 4] = [
    (0xffff_ffff, Part::Call),
    (0xffff_fffe, Part::Taken),
    (0xffff_fffd, Part::Indirect),
    (0xffff_fffc, Part::Takes),
];

/// The records of a call graph section with the part each is in. Records before the first
/// marker or after an unknown one belong to no part and are left out.
pub fn records(pairs: &[WordPair]) -> impl Iterator<Item = (Part, u32, u32)> + '_ {
    let mut part = None;
    pairs.iter().filter_map(move |pair| {
        let (a, b) = (pair.a.get(), pair.b.get());
        if a == 0 {
            part = MARKERS.iter().find(|(marker, _)| *marker == b).map(|(_, part)| *part);
            return None;
        }
        part.map(|part| (part, a, b))
    })
}
