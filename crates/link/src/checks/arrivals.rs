//! How something that functions have comes to the kernels that reach them.

use crate::model::merged::Merged;

/// Something that a function passes on to a kernel. Functions come in the order given to
/// [`arrivals`], the kernels of each last one first: the order in which nvlink walks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    /// Position of the function in the walk.
    pub source: usize,
    /// Negated index of the kernel, so that the last one sorts first.
    pub kernel: std::cmp::Reverse<u32>,
}

/// Walks what each kernel reaches. `sources` are functions in the order of the walk; `take` says, for a
/// kernel and a source it reaches, whether anything new arrives there. A kernel sees its sources in
/// order.
pub(super) fn arrivals(
    merged: &Merged<'_>,
    sources: &[u32],
    everything_counts: bool,
    mut take: impl FnMut(u32, u32) -> bool,
) -> Vec<Arrival> {
    let mut position = vec![None; merged.functions.len()];
    for (at, source) in sources.iter().enumerate() {
        position[*source as usize] = Some(at);
    }
    let mut found = Vec::new();
    for (kernel, _) in merged.roots() {
        let mut reached: Vec<usize> = if everything_counts {
            (0..sources.len()).collect()
        } else {
            merged.calls.reach(kernel).into_iter().filter_map(|f| position[f as usize]).collect()
        };
        reached.sort_unstable();
        for source in reached {
            if sources[source] != kernel && take(kernel, sources[source]) {
                found.push(Arrival { source, kernel: std::cmp::Reverse(kernel) });
            }
        }
    }
    found.sort_unstable();
    found
}
