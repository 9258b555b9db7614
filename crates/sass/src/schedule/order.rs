//! The order in which blocks are scheduled: reverse postorder of a depth-first search.
//!
//! The successors of a block are kept in a hash table of eight buckets under the hash of their numbers, and visited as
//! they lie there.

use super::blocks::Block;

const BUCKETS: u32 = 8;

/// FNV-1a of the four bytes of a number.
fn hash(number: u32) -> u32 {
    number
        .to_le_bytes()
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The numbers of all blocks. Those that are not reached from the first one come last.
pub fn order(blocks: &[Block]) -> Vec<usize> {
    let mut is_seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    for root in 0..blocks.len() {
        if !is_seen[root] {
            let mut part = postorder(blocks, root, &mut is_seen);
            part.reverse();
            order.append(&mut part);
        }
    }
    order
}

fn postorder(blocks: &[Block], root: usize, is_seen: &mut [bool]) -> Vec<usize> {
    let sorted = |block: usize| {
        let mut successors = blocks[block].successors.clone();
        successors.sort_by_key(|successor| hash(*successor as u32) % BUCKETS);
        successors.into_iter()
    };
    let mut finished = Vec::new();
    let mut path = vec![(root, sorted(root))];
    is_seen[root] = true;
    while let Some((block, successors)) = path.last_mut() {
        if let Some(next) = successors.find(|successor| !is_seen[*successor]) {
            is_seen[next] = true;
            path.push((next, sorted(next)));
        } else {
            finished.push(*block);
            path.pop();
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::{Block, hash, order};

    fn graph(successors: &[&[usize]]) -> Vec<Block> {
        successors.iter().map(|list| Block { successors: list.to_vec(), ..Block::default() }).collect()
    }

    #[test]
    fn buckets() {
        let buckets: Vec<u32> = (0..8).map(|number| hash(number) % 8).collect();
        assert_eq!(buckets, [5, 4, 7, 6, 1, 0, 3, 2]);
    }

    #[test]
    fn the_branch_in_the_lower_bucket_comes_last() {
        assert_eq!(order(&graph(&[&[1, 2], &[3], &[3], &[]])), [0, 2, 1, 3]);
        assert_eq!(order(&graph(&[&[1, 3], &[2], &[], &[2]])), [0, 3, 1, 2]);
        assert_eq!(order(&graph(&[&[1, 4], &[2], &[], &[2], &[2]])), [0, 1, 4, 2, 3]);
    }

    #[test]
    fn loops_and_what_is_not_reached() {
        assert_eq!(order(&graph(&[&[1], &[2, 1], &[], &[4], &[3]])), [0, 1, 2, 3, 4]);
    }
}
