//! Parallel loops. Results come in the order of the items, so that the output never depends on the number of threads.
//!
//! Threads are started by the first loop that is long enough to be worth it: a link of a few cubins takes less time
//! than their start.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::prefault::pages_of;

/// The threads of a link. Several links may share one pool, at the same time too.
pub struct Pool {
    threads: OnceLock<Option<Started>>,
    start: Box<dyn Fn() -> Option<Started> + Send + Sync>,
    prefault: fn(Range<usize>),
}

/// Threads that run. The fields are dropped in this order: the threads are told to end, then waited for.
#[derive(Debug)]
struct Started {
    threads: ThreadPool,
    _own: Joined,
}

/// Waits for its threads when it is dropped. One that outlived its pool would run code of a library that the program may have
/// unloaded.
#[derive(Debug)]
struct Joined(Vec<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A panic in it was handed to whoever waited for its work.
            let _ = thread.join();
        }
    }
}

impl Started {
    /// Threads that end with this value; `None` where the system starts none.
    fn new(count: usize) -> Option<Self> {
        let handles = Mutex::new(Vec::new());
        let builder = rayon::ThreadPoolBuilder::new().num_threads(count).spawn_handler(|thread| {
            let handle = thread::Builder::new().spawn(|| thread.run())?;
            handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
            Ok(())
        });
        let threads = builder.build();
        let own = Joined(handles.into_inner().unwrap_or_else(PoisonError::into_inner));
        threads.ok().map(|threads| Self { threads, _own: own })
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::none()
    }
}

impl Pool {
    /// No threads: everything runs on the calling one.
    pub fn none() -> Self {
        Self { threads: OnceLock::from(None), start: Box::new(|| None), prefault: |_| () }
    }

    /// So many threads of its own. They are started when there is work for them, and end with the pool.
    pub fn new(threads: usize) -> Self {
        Self::with_start(move || Started::new(threads))
    }

    /// As many threads as there are processors, and at most this many. They are counted and started when there is work for
    /// them, and end with the pool.
    pub fn at_most(threads: usize) -> Self {
        Self::with_start(move || {
            let processors = thread::available_parallelism().map_or(1, usize::from);
            Some(processors.min(threads)).filter(|count| *count > 1).and_then(Started::new)
        })
    }

    /// Threads that the caller starts, when there is work for them; `None` where there are none.
    pub fn starting(start: impl Fn() -> Option<ThreadPool> + Send + Sync + 'static) -> Self {
        Self::with_start(move || Some(Started { threads: start()?, _own: Joined(Vec::new()) }))
    }

    fn with_start(start: impl Fn() -> Option<Started> + Send + Sync + 'static) -> Self {
        Self { threads: OnceLock::new(), start: Box::new(start), prefault: |_| () }
    }

    /// The same, where `prefault` has the system give the pages of a range of addresses, as a hint: the range may have
    /// ceased to be memory by then, and nothing in it may change.
    #[must_use]
    pub fn with_prefault(self, prefault: fn(Range<usize>)) -> Self {
        Self { prefault, ..self }
    }

    /// Prefaults pages.
    pub(crate) fn prefault(&self, pages: Range<usize>) {
        if !pages.is_empty() {
            (self.prefault)(pages);
        }
    }

    /// Room for this many values that are about to be written.
    pub fn room_for<T>(&self, count: usize) -> Vec<T> {
        let room = Vec::with_capacity(count);
        self.prefault(pages_of(&room));
        room
    }

    /// The threads, started if they were not. One thread is none.
    fn started(&self) -> Option<&ThreadPool> {
        let start = || (self.start)().filter(|started| started.threads.current_num_threads() > 1);
        self.threads.get_or_init(start).as_ref().map(|started| &started.threads)
    }

    /// The threads, if there are any already.
    fn running(&self) -> Option<&ThreadPool> {
        self.threads.get()?.as_ref().map(|started| &started.threads)
    }

    /// `work` of every item; on several threads if it is worth their start.
    pub fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        is_worth: bool,
        work: impl Fn(&T) -> R + Send + Sync,
    ) -> Vec<R> {
        let threads = if is_worth && items.len() > 1 { self.started() } else { None };
        match threads {
            Some(threads) => threads.install(|| items.par_iter().map(work).collect()),
            None => items.iter().map(work).collect(),
        }
    }

    /// The same where some items take much longer than others: those of the most `weight` come first, and no thread has
    /// several of them waiting that another could do.
    pub fn map_uneven<T: Sync, R: Send>(
        &self,
        items: &[T],
        weight: impl Fn(&T) -> u64,
        work: impl Fn(&T) -> R + Send + Sync,
    ) -> Vec<R> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|at| Reverse(weight(&items[*at])));
        let one = |at: &usize| (*at, work(&items[*at]));
        let threads = if items.len() > 1 { self.started() } else { None };
        let mut results: Vec<(usize, R)> = match threads {
            Some(threads) => threads.install(|| order.par_iter().with_max_len(1).map(one).collect()),
            None => order.iter().map(one).collect(),
        };
        results.sort_unstable_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }

    /// Does both, at the same time if there are threads already.
    pub fn join<A: Send, B: Send>(
        &self,
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        match self.running() {
            Some(threads) => threads.join(a, b),
            None => (a(), b()),
        }
    }

    /// Does `work` on this thread. If it is worth their start, the others take what it hands out and otherwise `help`,
    /// as long as there is something left to do.
    pub fn with_help<'scope, R>(
        &self,
        is_worth: bool,
        help: &'scope (impl Fn() -> bool + Sync),
        work: impl FnOnce(&Beside<'_, 'scope>) -> R,
    ) -> R {
        let Some(threads) = (if is_worth { self.started() } else { None }) else {
            return work(&Beside(None));
        };
        threads.in_place_scope(|scope| {
            for _ in 1..threads.current_num_threads() {
                scope.spawn(|_| {
                    while help() {
                        rayon::yield_now();
                    }
                });
            }
            work(&Beside(Some(scope)))
        })
    }

    /// Does `work` on this thread, and what it hands out on others; all of it is done in the end.
    pub fn beside<'scope, R>(&self, work: impl FnOnce(&Beside<'_, 'scope>) -> R) -> R {
        match self.running() {
            Some(threads) => threads.in_place_scope(|scope| work(&Beside(Some(scope)))),
            None => work(&Beside(None)),
        }
    }

    /// `work` with every part of something long.
    pub fn for_each_part<T: Send>(&self, parts: Vec<T>, work: impl Fn(T) + Send + Sync) {
        let threads = if parts.len() > 1 { self.started() } else { None };
        match threads {
            Some(threads) => threads.install(|| parts.into_par_iter().for_each(work)),
            None => parts.into_iter().for_each(work),
        }
    }

    /// `work` of every number below `count`, where each takes little time.
    pub fn map_numbers<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
        let Some(threads) = (if count >= MANY { self.started() } else { None }) else {
            return (0..count).map(work).collect();
        };
        let mut results = self.room_for(count);
        threads.install(|| {
            (0..count).into_par_iter().with_min_len(AT_A_TIME).map(work).collect_into_vec(&mut results);
        });
        results
    }

    /// `work` with every item, where each takes little time; in place.
    pub fn for_each_of<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
        let threads = if items.len() >= MANY { self.started() } else { None };
        match threads {
            Some(threads) => {
                threads.install(|| items.par_iter_mut().with_min_len(AT_A_TIME).for_each(work));
            }
            None => items.iter_mut().for_each(work),
        }
    }
}

/// Sections that are worth a thread.
const MANY: usize = 512;
/// And those that one takes at a time.
const AT_A_TIME: usize = 64;

/// Takes what is to be done beside something else.
pub struct Beside<'a, 'scope>(Option<&'a rayon::Scope<'scope>>);

impl std::fmt::Debug for Beside<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Beside").field(&self.0.is_some()).finish()
    }
}

impl<'scope> Beside<'_, 'scope> {
    /// Has `work` done by another thread; at once, if there is none.
    pub fn run(&self, work: impl FnOnce() + Send + 'scope) {
        match self.0 {
            Some(scope) => scope.spawn(|_| work()),
            None => work(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_with_and_without_threads() {
        let items: Vec<usize> = (0..2000).collect();
        for pool in [Pool::none(), Pool::new(1), Pool::new(3)] {
            assert_eq!(pool.map(&items, true, |item| item * 2)[1999], 3998);
            assert_eq!(pool.map_uneven(&items, |item| *item as u64 % 7, |item| *item), items);
            assert_eq!(pool.map_numbers(2000, |number| number), items);
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
            let mut list = items.clone();
            pool.for_each_of(&mut list, |item| *item += 1);
            assert_eq!((list[0], list[1999]), (1, 2000));
        }
    }
}
