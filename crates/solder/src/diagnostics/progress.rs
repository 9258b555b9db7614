//! How far a link is: the phases it went through, for the report, and a line for people who wait.
//!
//! On a terminal the line is drawn by a thread of its own, from two seconds on or at once with `--progress`, and
//! erased before anything else is written. Elsewhere it is silent, or with `--progress` a line for every task.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::lock::lock;
use crate::console::Console;

/// Links shorter than this show nothing by themselves.
const PATIENCE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(150);
/// Columns of the line.
const WIDTH: usize = 78;
const ERASE: &str = "\r\x1b[K";

/// When to show something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// On a terminal, when it takes long.
    #[default]
    Automatically,
    Always,
    Never,
}

#[derive(Debug, Default)]
struct State {
    /// Phases and when they began.
    phases: Vec<(&'static str, Instant)>,
    /// Tasks of the phase: all, done, and those that run.
    total: usize,
    done: usize,
    running: Vec<String>,
    /// A line is on the terminal.
    drawn: bool,
    ended: bool,
}

impl State {
    fn line(&self, begun: Instant) -> String {
        let mut line = format!("[{} s] ", begun.elapsed().as_secs());
        line += self.phases.last().map_or("starting", |(name, _)| *name);
        if self.total > 0 {
            let _ = write!(line, ", {} of {} done", self.done, self.total);
        }
        if !self.running.is_empty() {
            let _ = write!(line, ": {}", self.running.join(", "));
        }
        match line.char_indices().nth(WIDTH) {
            Some((at, _)) => line[..at].to_string() + "...",
            None => line,
        }
    }
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// The clock of a link.
pub struct Progress {
    shared: Shared,
    /// Lines instead of one that changes.
    lines: bool,
    tool: String,
    console: Console,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// `None` if neither a report nor a person wants to know.
    pub fn new(show: Show, timed: bool, tool: &str, console: &Console) -> Option<Self> {
        let terminal = show != Show::Never && console.is_terminal();
        let lines = show == Show::Always && !terminal;
        if !timed && !terminal && !lines {
            return None;
        }
        let begun = Instant::now();
        let shared = Shared::default();
        let patience = if show == Show::Always { Duration::ZERO } else { PATIENCE };
        let drawer = terminal.then(|| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || draw(&shared, begun, patience))
        });
        Some(Self { shared, lines, tool: tool.into(), console: console.clone(), drawer })
    }

    pub fn phase(&self, name: &'static str) {
        let mut state = lock(&self.shared.0);
        state.phases.push((name, Instant::now()));
        (state.total, state.done) = (0, 0);
        state.running.clear();
    }

    /// The phase has this many tasks.
    pub fn expect(&self, tasks: usize) {
        lock(&self.shared.0).total += tasks;
    }

    pub fn begin(&self, task: &str) {
        let mut state = lock(&self.shared.0);
        state.running.push(task.into());
        if self.lines {
            let name = state.phases.last().map_or("starting", |(name, _)| *name);
            let number = state.done + state.running.len();
            let line = format!("{}: {name} {number} of {}: {task}\n", self.tool, state.total);
            self.console.err(line.as_bytes());
        }
    }

    pub fn kept(&self, what: &str) {
        if self.lines {
            self.console.err(format!("{}: {what}: taken from the cache\n", self.tool).as_bytes());
        }
    }

    pub fn end(&self, task: &str) {
        let mut state = lock(&self.shared.0);
        state.done += 1;
        if let Some(at) = state.running.iter().position(|name| name == task) {
            state.running.remove(at);
        }
    }

    /// Phases with how long they took, the last one up to now.
    pub fn phases(&self) -> Vec<(&'static str, Duration)> {
        let state = lock(&self.shared.0);
        let ends = state.phases.iter().skip(1).map(|(_, at)| *at).chain([Instant::now()]);
        state
            .phases
            .iter()
            .zip(ends)
            .map(|((name, from), to)| (*name, to.saturating_duration_since(*from)))
            .collect()
    }

    /// Takes the line away; the answer keeps it away as long as it lives.
    pub fn pause(&self) -> impl Drop + '_ {
        let mut state = lock(&self.shared.0);
        if std::mem::take(&mut state.drawn) {
            let _ = std::io::stderr().write_all(ERASE.as_bytes());
        }
        state
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.pause());
        lock(&self.shared.0).ended = true;
        self.shared.1.notify_all();
        if let Some(drawer) = self.drawer.take() {
            let _ = drawer.join();
        }
    }
}

fn draw(shared: &Shared, begun: Instant, patience: Duration) {
    let (state, changed) = &**shared;
    let mut wait = patience;
    let mut state = lock(state);
    loop {
        state = match changed.wait_timeout_while(state, wait, |state| !state.ended) {
            Ok((state, _)) => state,
            Err(_) => return,
        };
        if state.ended {
            return;
        }
        state.drawn = true;
        let line = state.line(begun);
        let _ = std::io::stderr().write_all(format!("{ERASE}{line}").as_bytes());
        wait = INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_runs_and_what_is_left() {
        let progress = Progress::new(Show::Never, true, "solder", &Console::default()).expect("a clock");
        progress.phase("assembling PTX");
        progress.expect(3);
        progress.begin("a.o");
        progress.end("a.o");
        progress.begin("b.o");
        let line = lock(&progress.shared.0).line(Instant::now());
        assert_eq!(line, "[0 s] assembling PTX, 1 of 3 done: b.o");
        progress.begin(&"x".repeat(200));
        assert_eq!(lock(&progress.shared.0).line(Instant::now()).len(), WIDTH + 3);
        progress.phase("linking");
        let names: Vec<_> = progress.phases().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["assembling PTX", "linking"]);
    }

    #[test]
    fn nobody_asks_and_nothing_is_kept() {
        assert!(Progress::new(Show::Never, false, "solder", &Console::default()).is_none());
    }
}
