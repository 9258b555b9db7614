//! The allocator of the program, made for a process that allocates a great deal, frees little and then ends.
//!
//! A large link touches hundreds of megabytes once, most of them in small blocks. With the system's allocator a third
//! of its time goes into finding places for the blocks and into the page faults of the kernel. Here small blocks stand
//! side by side in chunks, freed ones wait in a list of their size for the next of that size, and the pages of a chunk
//! are asked for many at a time. Large blocks are the system's.
//!
//! Huge pages would be faster still, but only where the kernel has some at hand: where memory is full of cached files,
//! as it is on a machine that builds, it makes room for each of them first, and the link waits.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Small blocks: at most this large, and aligned to no more than a step.
const SMALL: usize = 4096;
const STEP: usize = 16;

/// The first chunk of a thread, as much as a small link needs, and the largest one.
const FIRST_CHUNK: usize = 256 << 10;
const LARGEST_CHUNK: usize = 16 << 20;

/// How much of a chunk is asked for at a time, beyond what is needed.
const AHEAD: usize = 128 << 10;
const PAGE: usize = 4096;

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
            self.ready.set(start as usize & !(PAGE - 1));
            self.chunk.set((chunk * 4).min(LARGEST_CHUNK));
        }
        let block = self.next.get();
        if block as usize + size > self.ready.get() {
            self.make_ready(block as usize + size);
        }
        // SAFETY: at least `size` bytes of the chunk are left behind `block`.
        self.next.set(unsafe { block.add(size) });
        self.left.set(self.left.get() - size);
        block
    }

    /// Asks for the pages of the chunk up to `end` and some more, as far as they are wholly its own. A kernel that does
    /// not know the request gives them one by one.
    #[cold]
    fn make_ready(&self, end: usize) {
        let (from, chunk_end) = (self.ready.get(), self.next.get() as usize + self.left.get());
        let to = (end + AHEAD).min(chunk_end) & !(PAGE - 1);
        if to > from {
            // SAFETY: from the page in which the chunk begins to the last that it fills, all is mapped and writable,
            // and no byte changes.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_POPULATE_WRITE) };
        }
        self.ready.set(to.max(end));
    }
}

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
