//! What the linker tells about a link beside the errors of the earlier phases: limits that it exceeds,
//! the call graph, what each kernel uses. Everything here runs after all sizes are known and comes out
//! even if the link has failed by then, in nvlink's order.

pub mod attributes;
pub mod call_graph;
pub mod demangle;
pub mod limits;
pub mod registers;
pub mod verbose;

use crate::merge::Merged;

/// Something that a function passes on to a kernel. Functions come in the order given to
/// [`arrivals`], the kernels of each last one first: the order in which nvlink walks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    /// Position of the function in the walk.
    source: usize,
    /// Negated index of the kernel, so that the last one sorts first.
    kernel: std::cmp::Reverse<u32>,
}

/// Walks what each kernel reaches. `sources` are functions in the order of the walk; `take` says, for a
/// kernel and a source it reaches, whether anything new arrives there. A kernel sees its sources in
/// order.
fn arrivals(
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

fn name<'a>(merged: &Merged<'a>, function: u32) -> &'a str {
    merged.symbol(merged.functions[function as usize].symbol).name
}
