//! What the examples share.

use bstr::BStr;
use solder_cubin::Cubin;
use solder_cubin::info::{self, attr};
use solder_sass::instruction::SIZE;

/// Where the indirect branches of a function go.
pub fn jumps(object: &Cubin<'_>, name: &BStr) -> Vec<(usize, Vec<usize>)> {
    let Some(section) = object.section([b".nv.info.", &**name].concat()) else { return Vec::new() };
    let records = info::records(section.data).flatten();
    let lists = records.filter(|record| record.attr == attr::INDIRECT_BRANCH_TARGETS);
    let in_instructions = |(branch, targets): (usize, Vec<usize>)| {
        (branch / SIZE, targets.into_iter().map(|target| target / SIZE).collect())
    };
    lists.flat_map(|record| info::branch_targets(record.payload)).map(in_instructions).collect()
}
