//! The allocator of the program, made for a process that allocates a great deal, frees little and then ends.
//!
//! A large link touches hundreds of megabytes once, most of them in small blocks. With the system's allocator a third
//! of its time goes into finding places for the blocks and into the page faults of the kernel. Here small blocks stand
//! side by side in chunks, freed ones wait in a list of their size for the next of that size, and the pages of a chunk
//! are asked for many at a time. Large blocks are the system's.
//!
//! Huge pages would be faster still, but only where the kernel has some at hand: where memory is full of cached files,
//! as it is on a machine that builds, it makes room for each of them first, and the link waits.

use super::pages;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

/// Small blocks: at most this large, and aligned to no more than a step.
const SMALL: usize = 4096;
const STEP: usize = 16;

/// The first chunk of a thread, as much as a small link needs, and the largest one.
const FIRST_CHUNK: usize = 256 << 10;
const LARGEST_CHUNK: usize = 16 << 20;

/// How much of a chunk is asked for at a time, beyond what is needed.
const AHEAD: usize = 128 << 10;

pub struct Heap;

/// Of each thread. A block that another thread frees changes over to that one.
struct Local {
    /// The rest of the current chunk.
    next: Cell<*mut u8>,
    left: Cell<usize>,
    /// The address up to which the chunk's pages have been asked for.
    ready: Cell<usize>,
    /// The size of the next chunk.
    chunk: Cell<usize>,
    /// Freed blocks by size in steps, each of which holds the address of the next.
    free: [Cell<*mut u8>; SMALL / STEP + 1],
}

thread_local! {
    // Constant and without a destructor: the allocator may be called at any time in the life of a thread.
    static LOCAL: Local = const {
        Local {
            next: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
            ready: Cell::new(0),
            chunk: Cell::new(FIRST_CHUNK),
            free: [const { Cell::new(ptr::null_mut()) }; SMALL / STEP + 1],
        }
    };
}

/// The size of a small block in steps; `None` for the system's blocks.
fn steps(size: usize, align: usize) -> Option<usize> {
    (size <= SMALL && align <= STEP).then(|| size.div_ceil(STEP))
}

// Blocks are aligned to a step.
#[allow(unsafe_code, clippy::cast_ptr_alignment)]
impl Local {
    fn take(&self, steps: usize) -> *mut u8 {
        let block = self.free[steps].get();
        if block.is_null() {
            return self.cut(steps * STEP);
        }
        // SAFETY: a block in the list was freed by its owner, has at least one step of memory, and `give` wrote the
        // address of the next one to its beginning.
        self.free[steps].set(unsafe { block.cast::<*mut u8>().read() });
        block
    }

    fn give(&self, block: *mut u8, steps: usize) {
        // SAFETY: the owner gave the block back, and it has at least one step of memory, aligned to a step.
        unsafe { block.cast::<*mut u8>().write(self.free[steps].get()) };
        self.free[steps].set(block);
    }

    /// A new block from the chunk, or from the next chunk. What is left of the old one is lost.
    fn cut(&self, size: usize) -> *mut u8 {
        if self.left.get() < size {
            let chunk = self.chunk.get();
            let Ok(layout) = Layout::from_size_align(chunk, STEP) else { return ptr::null_mut() };
            // SAFETY: the layout is not empty.
            let start = unsafe { System.alloc(layout) };
            if start.is_null() {
                return start;
            }
            self.next.set(start);
            self.left.set(chunk);
            self.ready.set(pages::start_of(start as usize, pages::size()));
            self.chunk.set((chunk * 4).min(LARGEST_CHUNK));
        }
        let block = self.next.get();
        if block as usize + size > self.ready.get() {
            self.make_ready(block as usize + size);
        }
        // SAFETY: at least `size` bytes of the chunk are left after `block`.
        self.next.set(unsafe { block.add(size) });
        self.left.set(self.left.get() - size);
        block
    }

    /// Prefaults the pages of the chunk up to `end` and some more, as far as they are wholly its own.
    #[cold]
    fn make_ready(&self, end: usize) {
        let chunk_end = self.next.get() as usize + self.left.get();
        let asked = ahead(self.ready.get(), end, chunk_end, pages::size());
        if !asked.is_empty() {
            prefault(asked.start, asked.len());
        }
        self.ready.set(asked.end.max(end));
    }
}

/// The pages to ask for when a chunk is needed up to `end`: none that other memory shares at its end.
fn ahead(ready: usize, end: usize, chunk_end: usize, page: usize) -> Range<usize> {
    ready..pages::start_of((end + AHEAD).min(chunk_end), page).max(ready)
}

/// Prefaults what a small link takes of the system's allocator.
#[allow(unsafe_code)]
pub fn prefault_system() {
    /// Less than it asks the kernel for at once.
    const USED: usize = 60 << 10;
    let Ok(layout) = Layout::from_size_align(USED, STEP) else { return };
    // SAFETY: the layout is not empty, and the block is given back as it was taken.
    unsafe {
        let block = System.alloc(layout);
        if !block.is_null() {
            super::memory::prefault_pages(block as usize..block as usize + USED);
            System.dealloc(block, layout);
        }
    }
}

/// Has the kernel provide pages of a chunk before they are touched.
#[cfg(all(target_os = "linux", not(miri)))]
#[allow(unsafe_code)]
fn prefault(from: usize, size: usize) {
    // SAFETY: from the page in which the chunk begins to the last that it fills, all is mapped and writable, and no byte
    // changes.
    unsafe { libc::madvise(from as *mut libc::c_void, size, libc::MADV_POPULATE_WRITE) };
}

/// Elsewhere pages come one by one, when they are touched.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn prefault(_: usize, _: usize) {}

// SAFETY: a small block is a part of a chunk that overlaps no other until it is given back, is as long as its size in
// steps and aligned to a step; which blocks are small follows from the layout alone. All others are the system's.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match steps(layout.size(), layout.align()) {
            Some(steps) => LOCAL.with(|local| local.take(steps)),
            // SAFETY: the caller keeps to the same contract.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some(steps) = steps(layout.size(), layout.align()) else {
            // SAFETY: as above.
            return unsafe { System.alloc_zeroed(layout) };
        };
        let block = LOCAL.with(|local| local.take(steps));
        if !block.is_null() {
            // SAFETY: the block has this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match steps(layout.size(), layout.align()) {
            Some(steps) => LOCAL.with(|local| local.give(block, steps)),
            // SAFETY: as above.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, new) = (steps(layout.size(), layout.align()), steps(size, layout.align()));
        match (old, new) {
            (Some(old), Some(new)) if old == new => return block,
            // SAFETY: as above.
            (None, None) => return unsafe { System.realloc(block, layout, size) },
            _ => {}
        }
        // SAFETY: the caller makes sure that `size` fits the alignment; the new block has room for what is copied.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;

    /// A block of [`Heap`], filled with a pattern of its own.
    struct Block {
        start: *mut u8,
        layout: Layout,
        pattern: u8,
    }

    // SAFETY: nobody else has the block.
    unsafe impl Send for Block {}

    impl Block {
        fn new(size: usize, align: usize, pattern: u8) -> Self {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            // SAFETY: the layout is not empty.
            let start = unsafe { Heap.alloc(layout) };
            assert!(!start.is_null());
            assert_eq!(start as usize % align, 0);
            let block = Self { start, layout, pattern };
            block.fill();
            block
        }

        fn fill(&self) {
            // SAFETY: the block has this size.
            unsafe { self.start.write_bytes(self.pattern, self.layout.size()) };
        }

        fn holds_pattern(&self, size: usize) -> bool {
            // SAFETY: the block was filled.
            unsafe { std::slice::from_raw_parts(self.start, size) }.iter().all(|byte| *byte == self.pattern)
        }

        fn resize(&mut self, size: usize) {
            let kept = self.layout.size().min(size);
            // SAFETY: the block is of this layout, and the size is not 0.
            self.start = unsafe { Heap.realloc(self.start, self.layout, size) };
            assert!(!self.start.is_null());
            self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
            assert!(self.holds_pattern(kept));
            self.fill();
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            assert!(self.holds_pattern(self.layout.size()));
            // SAFETY: the block is of this layout, and is not used again.
            unsafe { Heap.dealloc(self.start, self.layout) };
        }
    }

    const ROUNDS: usize = if cfg!(miri) { 40 } else { 20_000 };

    /// Blocks of all sizes come and go, and none changes another.
    fn churn(seed: u64) -> Vec<Block> {
        let mut state = seed;
        let mut next = move |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let mut blocks: Vec<Block> = Vec::new();
        for round in 0..ROUNDS {
            let most = [16, 64, 600, SMALL + 64, 3 * SMALL][next(5)];
            let size = 1 + next(most);
            match next(4) {
                0 if !blocks.is_empty() => drop(blocks.swap_remove(next(blocks.len()))),
                1 if !blocks.is_empty() => {
                    let index = next(blocks.len());
                    blocks[index].resize(size);
                }
                _ => blocks.push(Block::new(size, [1, 4, 8, 16, 64, 4096][next(6)], round as u8)),
            }
        }
        blocks
    }

    #[test]
    fn blocks_do_not_overlap() {
        drop(churn(1));
    }

    #[test]
    fn blocks_change_threads() {
        let made: Vec<_> = (0..4).map(|seed| std::thread::spawn(move || churn(seed))).collect();
        let blocks: Vec<Block> =
            made.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
        let (left, right): (Vec<_>, Vec<_>) = blocks.into_iter().enumerate().partition(|(at, _)| at % 2 == 0);
        std::thread::scope(|scope| {
            scope.spawn(move || drop(left));
            scope.spawn(move || drop(right));
        });
        drop(churn(5));
    }

    #[test]
    fn freed_blocks_are_zeroed_when_asked_for() {
        drop(Block::new(200, 8, 0xff));
        let layout = Layout::from_size_align(200, 8).expect("a layout");
        // SAFETY: the layout is not empty; the block has its size and is freed once.
        unsafe {
            let start = Heap.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(start, 200).iter().all(|byte| *byte == 0));
            Heap.dealloc(start, layout);
        }
    }

    #[test]
    fn pages_are_asked_for_in_pieces_that_meet() {
        for page in [4 << 10, 16 << 10, 64 << 10] {
            // A chunk that begins and ends within a page, as the system's allocator gives it.
            let (start, chunk_end) = (10 * page + 16, 10 * page + 16 + LARGEST_CHUNK);
            let mut ready = pages::start_of(start, page);
            let mut asked = 0;
            for end in (start + 64..chunk_end).step_by(999) {
                if end > ready {
                    let range = ahead(ready, end, chunk_end, page);
                    assert_eq!((range.start % page, range.end % page), (0, 0), "page {page}, end {end}");
                    assert!(range.end <= chunk_end);
                    asked += range.len();
                    ready = range.end;
                    // The last page is shared, and comes when it is touched.
                    assert!(end <= ready || chunk_end - ready < page);
                    if end > ready {
                        break;
                    }
                }
            }
            assert_eq!(asked, LARGEST_CHUNK);
        }
    }

    #[test]
    fn a_freed_block_is_the_next_of_its_size() {
        let block = Block::new(100, 8, 1);
        let start = block.start;
        drop(block);
        assert_eq!(Block::new(97, 8, 2).start, start);
    }
}
