//! What is done when a signal ends the run: temporary files and folders disappear, programs that were started end,
//! and an input that was cut short while it was mapped is named, as are those on which a library of the toolkit crashed.
//!
//! A handler may only call into the system, so all it needs lies ready in tables of its own. Names that were
//! taken out of a table are never freed: the handler may be reading them.

use std::ffi::{CString, OsStr};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use libc::{c_char, c_int};

use super::groups::{self, PLACES};
use super::pages;
use crate::diagnostics::{Message, Severity};
use solder_link::pool::Pool;

static FILES: [AtomicPtr<c_char>; PLACES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES];
static FOLDERS: [AtomicPtr<c_char>; PLACES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES];

/// Signals that ask a program to end.
pub(super) const ENDING: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Something that must not outlive the run. When it is dropped it is no longer looked after.
#[derive(Debug)]
#[must_use]
pub struct Temporary(Option<&'static AtomicPtr<c_char>>);

impl Temporary {
    /// A file that is removed when a signal ends the run.
    pub fn file(path: &Path) -> Self {
        Self::enter(&FILES, path)
    }

    /// A folder that is removed then, if it is empty after its files.
    pub fn folder(path: &Path) -> Self {
        Self::enter(&FOLDERS, path)
    }

    fn enter(table: &'static [AtomicPtr<c_char>], path: &Path) -> Self {
        install();
        // The working directory may change; nobody does it today.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let Ok(name) = CString::new(absolute.as_os_str().as_bytes()) else { return Self(None) };
        let name = name.into_raw();
        let null = std::ptr::null_mut();
        let free = |place: &&AtomicPtr<c_char>| {
            place.compare_exchange(null, name, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        Self(table.iter().find(free))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            place.store(std::ptr::null_mut(), Ordering::SeqCst);
        }
    }
}

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in ENDING {
            handle(signal, end as extern "C" fn(c_int) as usize, 0);
        }
    });
}

/// Sets a handler, but not over a wish to ignore the signal.
#[allow(unsafe_code)]
fn handle(signal: c_int, handler: usize, flags: c_int) {
    // SAFETY: both structures live through the calls and zeros are valid values for them; the handlers have the
    // signature that their flags ask for.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        libc::sigaction(signal, &raw const new, std::ptr::null_mut());
    }
}

/// Cleans up and lets the signal do what it does to every program.
#[allow(unsafe_code)]
extern "C" fn end(signal: c_int) {
    clean_up();
    // SAFETY: both functions may be called in a handler; the signal is delivered again when this one returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// The programs first, since they may still write files; the folders last.
#[allow(unsafe_code)]
fn clean_up() {
    let names = |table: &'static [AtomicPtr<c_char>]| {
        table
            .iter()
            .map(|place| place.swap(std::ptr::null_mut(), Ordering::SeqCst))
            .filter(|name| !name.is_null())
    };
    groups::end_all();
    // SAFETY: these functions may be called in a handler; the names are strings that are never freed.
    unsafe {
        names(&FILES).for_each(|name| {
            libc::unlink(name);
        });
        names(&FOLDERS).for_each(|name| {
            libc::rmdir(name);
        });
    }
}

/// A mapped input, in a list that only grows.
struct Mapping {
    start: usize,
    /// 0 when the mapping is gone.
    size: AtomicUsize,
    path: PathBuf,
    state: State,
    next: Option<&'static Mapping>,
}

/// By what a file is known to be the same: device, inode, size and the time of the last change.
type State = (u64, u64, u64, i64, i64);

fn state(file: &Metadata) -> State {
    (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec())
}

static MAPPINGS: AtomicPtr<Mapping> = AtomicPtr::new(std::ptr::null_mut());

/// What to print about one that is cut short, after the tool's name: before and after its path.
static CUT_SHORT: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();

fn around_path() -> (Vec<u8>, Vec<u8>) {
    const PATH: &[u8] = b"\0";
    let mut line = format!("{}: ", Severity::Fatal.padded()).into_bytes();
    Message::InputChanged { file: PATH.into() }.write_text(&mut line);
    line.push(b'\n');
    let at = line.windows(PATH.len()).position(|part| part == PATH).unwrap_or(line.len() - 1);
    let after = line.split_off(at);
    (line, after[PATH.len()..].to_vec())
}

/// Watches over a mapped file: if another program cuts it short and its pages are gone, the run ends with a message
/// that names it. When this is dropped the mapping is no longer watched.
pub struct Mapped(&'static AtomicUsize);

impl Mapped {
    pub fn watch(bytes: &[u8], path: &Path, file: &Metadata) -> Self {
        CUT_SHORT.get_or_init(|| {
            // The handler then finds it without a call.
            pages::size();
            let handler = cut_short as extern "C" fn(c_int, *const libc::siginfo_t, *const libc::c_void);
            handle(libc::SIGBUS, handler as usize, libc::SA_SIGINFO);
            around_path()
        });
        let mapping = Box::leak(Box::new(Mapping {
            start: bytes.as_ptr() as usize,
            size: AtomicUsize::new(bytes.len()),
            path: path.to_path_buf(),
            state: state(file),
            next: None,
        }));
        let mut head = MAPPINGS.load(Ordering::Acquire);
        loop {
            mapping.next = last_mapping(head);
            let new: *mut Mapping = mapping;
            match MAPPINGS.compare_exchange(head, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Self(&mapping.size),
                Err(current) => head = current,
            }
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

#[allow(unsafe_code)]
fn last_mapping(head: *mut Mapping) -> Option<&'static Mapping> {
    // SAFETY: the head of the list is null or a mapping that was leaked, and that does not change any more.
    unsafe { head.as_ref() }
}

fn mappings() -> impl Iterator<Item = &'static Mapping> {
    let last = last_mapping(MAPPINGS.load(Ordering::Acquire));
    std::iter::successors(last, |mapping| mapping.next)
}

impl Mapping {
    /// Whether the file was written to since. One that was replaced by another is still what it was.
    fn is_changed(&self) -> bool {
        let now = fs::metadata(&self.path).map(|file| state(&file));
        let same_file = |now: &State| (now.0, now.1) == (self.state.0, self.state.1);
        self.size.load(Ordering::Acquire) > 0 && now.is_ok_and(|now| same_file(&now) && now != self.state)
    }
}

/// A mapped input that was written to since.
pub fn changed_input(pool: &Pool) -> Option<&'static Path> {
    let mappings: Vec<_> = mappings().collect();
    let changed = pool.map_numbers(mappings.len(), |index| mappings[index].is_changed());
    mappings
        .iter()
        .zip(changed)
        .filter(|(_, changed)| *changed)
        .map(|(mapping, _)| mapping.path.as_path())
        .min()
}

/// The name before messages, with its length.
static TOOL: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static TOOL_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Names the tool for messages of handlers.
pub fn set_tool(name: &OsStr) {
    let name = [name.as_bytes(), b" "].concat().leak();
    TOOL_SIZE.store(0, Ordering::SeqCst);
    TOOL.store(name.as_mut_ptr(), Ordering::SeqCst);
    TOOL_SIZE.store(name.len(), Ordering::SeqCst);
}

/// Leaves with the message that an input changed. Only calls into the system.
fn leave(mapping: &Mapping) -> ! {
    let (before, after) = CUT_SHORT.get().map_or((&[][..], &[][..]), |(before, after)| (before, after));
    leave_with(&[before, mapping.path.as_os_str().as_bytes(), after])
}

/// Leaves with a message, after the tool's name. Only calls into the system.
#[allow(unsafe_code)]
fn leave_with(words: &[&[u8]]) -> ! {
    let name = TOOL.load(Ordering::SeqCst);
    // SAFETY: the name and the words are never freed; what is called may be called in a handler.
    unsafe {
        if !name.is_null() {
            libc::write(2, name.cast(), TOOL_SIZE.load(Ordering::SeqCst));
        }
        for words in words {
            libc::write(2, words.as_ptr().cast(), words.len());
        }
        clean_up();
        libc::_exit(1)
    }
}

#[allow(unsafe_code)]
extern "C" fn cut_short(signal: c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the system hands over a valid structure.
    let address = unsafe { (*info).si_addr() } as usize;
    let is_hit = |mapping: &&Mapping| {
        holds(mapping.start, mapping.size.load(Ordering::Acquire), pages::size(), address)
    };
    if let Some(mapping) = mappings().find(is_hit) {
        leave(mapping);
    }
    // SAFETY: this may be called in a handler; the access is tried again and ends the program.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Whether an address lies in the mapping of so many bytes. Those between the end of a file and the end of its last page
/// are mapped too.
fn holds(start: usize, size: usize, page: usize, address: usize) -> bool {
    address.wrapping_sub(start) < size.next_multiple_of(page)
}

/// What the readers found sound may have changed since, and then nothing holds: a panic over a changed input is the
/// input's fault and is said to be. Whatever the reason, nothing is left behind.
pub fn explain_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(mapping) = mappings().filter(|mapping| mapping.is_changed()).min_by_key(|m| &m.path) {
            leave(mapping);
        }
        clean_up();
        default(panic);
    }));
}

/// By which a library that crashes ends the program. A mapped input that is cut short has its own handler.
const CRASHES: [c_int; 4] = [libc::SIGSEGV, libc::SIGABRT, libc::SIGFPE, libc::SIGILL];

/// What to print about a crash, after the tool's name; null while no library runs.
static CRASH: AtomicPtr<Vec<u8>> = AtomicPtr::new(std::ptr::null_mut());

/// How many libraries run, and what was done about crashes before.
static RUNNING: Mutex<(usize, [Option<libc::sigaction>; CRASHES.len()])> =
    Mutex::new((0, [None; CRASHES.len()]));

/// While it lives, a crash is an error with this message: a library of the toolkit runs in this process, on inputs that nobody
/// can check for it.
#[must_use]
pub struct CrashIsAnError(());

impl CrashIsAnError {
    #[allow(unsafe_code)]
    pub fn with(message: &Message) -> Self {
        let mut line = format!("{}: ", Severity::Fatal.padded()).into_bytes();
        message.write_text(&mut line);
        line.push(b'\n');
        CRASH.store(Box::into_raw(Box::new(line)), Ordering::SeqCst);
        give_handlers_a_stack();
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.0 == 0 {
            running.1 = CRASHES.map(|signal| {
                // SAFETY: zeros are valid values for the structures, which live through the call; the handler has the signature
                // that its flags ask for.
                unsafe {
                    let (mut new, mut old): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
                    new.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
                    // The stack may be what is used up.
                    new.sa_flags = libc::SA_ONSTACK;
                    (libc::sigaction(signal, &raw const new, &raw mut old) == 0).then_some(old)
                }
            });
        }
        running.0 += 1;
        Self(())
    }
}

impl Drop for CrashIsAnError {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.0 -= 1;
        if running.0 > 0 {
            return;
        }
        CRASH.store(std::ptr::null_mut(), Ordering::SeqCst);
        for (signal, old) in CRASHES.into_iter().zip(running.1) {
            if let Some(old) = old {
                // SAFETY: what was set before is set again.
                unsafe { libc::sigaction(signal, &raw const old, std::ptr::null_mut()) };
            }
        }
    }
}

/// Gives this thread a stack for handlers, if it has none: its own may be used up. It is needed until the end.
#[allow(unsafe_code)]
fn give_handlers_a_stack() {
    const SIZE: usize = 64 << 10;
    // SAFETY: zeros are a valid value for the structures, which live through the calls; the stack is never freed.
    unsafe {
        let mut now: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &raw mut now);
        if now.ss_flags & libc::SS_DISABLE == 0 {
            return;
        }
        let stack = vec![0u8; SIZE].leak();
        let new = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: SIZE };
        libc::sigaltstack(&raw const new, std::ptr::null_mut());
    }
}

/// Leaves with the message. Only calls into the system.
#[allow(unsafe_code)]
extern "C" fn crashed(signal: c_int) {
    // SAFETY: the message was leaked and does not change; what is called may be called in a handler.
    unsafe {
        if let Some(line) = CRASH.load(Ordering::SeqCst).as_ref() {
            leave_with(&[line]);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Signals that this program ignores for itself, and what it was started with for them.
static IGNORED: [(c_int, AtomicUsize); 2] =
    [(libc::SIGPIPE, AtomicUsize::new(NOT_IGNORED)), (libc::SIGXFSZ, AtomicUsize::new(NOT_IGNORED))];
/// No address of a handler.
const NOT_IGNORED: usize = libc::SIG_ERR;

#[allow(unsafe_code)]
fn ignore(signal: c_int) {
    // SAFETY: ignoring a signal has no preconditions.
    let before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    if let Some((_, first)) = IGNORED.iter().find(|(ignored, _)| *ignored == signal) {
        let _ = first.compare_exchange(NOT_IGNORED, before, Ordering::SeqCst, Ordering::Relaxed);
    }
}

/// Makes a file that grows past the limit for its size an error of the write instead of the end of the program.
pub fn size_limit_is_an_error() {
    ignore(libc::SIGXFSZ);
}

/// Makes a reader who has gone an error of the write.
pub fn broken_pipe_is_an_error() {
    ignore(libc::SIGPIPE);
}

/// Gives a process that is about to become another program the signals that this program was started with. The handlers go
/// first: a signal that waited until now must not have this process clean up after its parent.
#[allow(unsafe_code)]
pub(super) fn restore(mask: &libc::sigset_t) {
    // SAFETY: zeros are a valid value for the structure, which lives through the calls; all that is called may be called
    // between a fork and the start of the other program.
    unsafe {
        for signal in ENDING.into_iter().chain([libc::SIGBUS]) {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut now);
            if now.sa_sigaction != libc::SIG_IGN {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        for (signal, before) in &IGNORED {
            match before.load(Ordering::SeqCst) {
                NOT_IGNORED => {}
                before => {
                    libc::signal(*signal, before);
                }
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn the_last_page_of_a_mapping_is_its_own() {
        for page in [4 << 10, 16 << 10, 64 << 10] {
            let (start, size) = (7 * page, page + 1);
            assert!(holds(start, size, page, start));
            assert!(holds(start, size, page, start + 2 * page - 1));
            assert!(!holds(start, size, page, start + 2 * page));
            assert!(!holds(start, size, page, start - 1));
            assert!(!holds(start, 0, page, start), "no longer watched");
        }
    }
}
