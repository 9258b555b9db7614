//! The output file: written without a name where the system can do that, or under a temporary one, and put in place
//! at the end, so that the target is either the old file or the complete new one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::diagnostics::{Message, Sink, Stop};
use crate::os::files::{in_memory, link, nameless, replace};
use crate::os::signals::{self, Temporary};
use solder_link::pool::Pool;
use solder_link::write::{Destination, Image};

/// Why the output could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// It could not be opened.
    Open,
    /// No new file can be made beside it, and the old one may not be written over.
    Folder(io::Error),
    /// Opened, but the bytes could not be written.
    Write(io::Error),
}

impl WriteError {
    /// What commands other than a link say of it.
    pub fn reason(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Open => format!("'{path}' cannot be written"),
            Self::Folder(error) => {
                format!("'{path}' stays: beside it no new file can be made to put in its place: {error}")
            }
            Self::Write(error) => format!("'{path}': {error}"),
        }
    }
}

/// What writes the bytes of a file.
pub type Produce<'a> = &'a mut dyn FnMut(&mut File) -> io::Result<()>;

/// Writes a file. Symbolic links are followed; what is not a regular file (a pipe,
/// `/dev/null`) is written directly, and so is a file in a folder that takes no new files.
pub fn write_file(path: &Path, produce: Produce<'_>) -> Result<(), WriteError> {
    write(path, produce, true)
}

/// Writes a file as [`write_file`] does, but a regular one that is there is only ever replaced by the whole new one.
pub fn replace_file(path: &Path, produce: Produce<'_>) -> Result<(), WriteError> {
    write(path, produce, false)
}

fn write(path: &Path, produce: Produce<'_>, may_write_over: bool) -> Result<(), WriteError> {
    signals::size_limit_is_an_error();
    let target = final_target(path);
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => Err(WriteError::Open),
        Ok(meta) if !meta.is_file() => write_directly(&target, produce),
        Ok(meta) => {
            // nvlink opens the existing file for writing: one that does not allow it is an error,
            // although a rename would replace it.
            OpenOptions::new().write(true).open(&target).map_err(|_| WriteError::Open)?;
            match Unfinished::create(&target) {
                Err(_) if may_write_over => write_over(&target, produce),
                Err(error) => Err(WriteError::Folder(error)),
                Ok(new) => new.finish(&target, produce, Some(&meta.permissions())).map_err(WriteError::Write),
            }
        }
        Err(_) => {
            let new = Unfinished::create(&target).map_err(|_| WriteError::Open)?;
            new.finish(&target, produce, None).map_err(WriteError::Write)
        }
    }
}

/// Where symbolic links lead, also those that lead to a file that is not there yet.
fn final_target(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    // As many as the system follows.
    for _ in 0..40 {
        if !fs::symlink_metadata(&target).is_ok_and(|file| file.is_symlink()) {
            break;
        }
        if let Ok(found) = fs::canonicalize(&target) {
            return found;
        }
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    target
}

fn write_directly(path: &Path, produce: Produce<'_>) -> Result<(), WriteError> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).map_err(|_| WriteError::Open)?;
    produce(&mut file).map_err(WriteError::Write)
}

/// Writes a regular file where it is. It may be one of the inputs that are still read, so all of it is made first.
fn write_over(path: &Path, produce: Produce<'_>) -> Result<(), WriteError> {
    let mut whole = in_memory().map_err(WriteError::Write)?;
    produce(&mut whole).and_then(|()| whole.rewind()).map_err(WriteError::Write)?;
    write_directly(path, &mut |file| io::copy(&mut whole, file).map(drop))
}

/// A new file in the folder of the target.
struct Unfinished {
    file: File,
    /// Its name; without one it disappears by itself.
    name: Option<(PathBuf, Temporary)>,
}

impl Unfinished {
    fn create(target: &Path) -> io::Result<Self> {
        match nameless(folder_of(target)) {
            Ok(file) => Ok(Self { file, name: None }),
            Err(_) => temporary_name(target, |path| {
                OpenOptions::new().read(true).write(true).create_new(true).open(path)
            })
            .map(|(file, path, guard)| Self { file, name: Some((path, guard)) }),
        }
    }

    fn finish(
        mut self,
        target: &Path,
        produce: Produce<'_>,
        permissions: Option<&Permissions>,
    ) -> io::Result<()> {
        if let Some(permissions) = permissions {
            // An existing file keeps its permissions.
            drop(self.file.set_permissions(permissions.clone()));
        }
        let is_new = permissions.is_none();
        let written = produce(&mut self.file).and_then(|()| self.name_it(target, is_new));
        match (written, &self.name) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some((path, _))) => replace(path, target).inspect_err(|_| drop(fs::remove_file(path))),
            (Err(error), Some((path, _))) => {
                drop(fs::remove_file(path));
                Err(error)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Gives a nameless file the target's name or, if that is taken, one to be renamed from.
    fn name_it(&mut self, target: &Path, is_new: bool) -> io::Result<()> {
        if self.name.is_some() {
            return Ok(());
        }
        if is_new {
            match link(&self.file, target) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                done => return done,
            }
        }
        let ((), path, guard) = temporary_name(target, |path| link(&self.file, path))?;
        self.name = Some((path, guard));
        Ok(())
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes something under a name beside the target that nobody else uses, and has it removed if a signal ends the run.
fn temporary_name<T>(
    target: &Path,
    make: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf, Temporary)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().unwrap_or(OsStr::new("output"));
    for _ in 0..100 {
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{serial}.tmp", std::process::id()));
        let temporary = folder_of(target).join(temporary);
        let guard = Temporary::file(&temporary);
        match make(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (made, temporary, guard)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Writes an output file.
pub fn write_output(path: &Path, bytes: &[u8], sink: &Sink) -> Result<(), Stop> {
    let written = write_file(path, &mut |file| file.write_all(bytes));
    written.map_err(|error| not_written(path, &error, sink))
}

/// Writes the linked file, unless an input has changed since it was read.
pub fn write_image(path: &Path, image: Image<'_, '_>, pool: &Pool, sink: &Sink) -> Result<(), Stop> {
    let mut changed = None;
    let written = write_file(path, &mut |file| {
        image.write_to(&Target::new(file))?;
        changed = signals::changed_input(pool);
        if changed.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    });
    match changed {
        None => written.map_err(|error| not_written(path, &error, sink)),
        Some(file) => Err(sink.fatal(Message::InputChanged { file: file.into() })),
    }
}

fn not_written(path: &Path, error: &WriteError, sink: &Sink) -> Stop {
    sink.fatal(match error {
        WriteError::Open => Message::OutputNotOpened { file: path.into() },
        WriteError::Folder(error) | WriteError::Write(error) => {
            Message::OutputNotWritten { file: path.into(), reason: error.to_string().into() }
        }
    })
}

/// A file that an image is written to.
struct Target<'a> {
    file: &'a File,
    is_regular: bool,
}

impl<'a> Target<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, is_regular: file.metadata().is_ok_and(|metadata| metadata.is_file()) }
    }
}

impl Destination for Target<'_> {
    fn takes_any_order(&self) -> bool {
        self.is_regular
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut stream = self.file;
        if self.is_regular { self.file.write_all_at(bytes, offset) } else { stream.write_all(bytes) }
    }
}
