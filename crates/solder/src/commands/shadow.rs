//! `solder shadow`: a toolkit made of links, in which `bin/nvlink` is this program.
//!
//! nvcc finds its parts from the name that it was invoked by, without following links. So a folder `bin` of links is
//! enough for it to start the `nvlink` beside it, and everything else still is the toolkit's own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::reader::{Known, Reader, Word, flag, value};
use super::words::print;
use crate::toolchain::{self, Signals};
use solder_arch::Release;
use solder_toolchain::{SHADOW_MARKER as MARKER, Toolkit};

const USAGE: &str = "\
usage: solder shadow DIR [--toolkit ROOT] [--as-nvlink VERSION]
       solder shadow DIR --remove

Makes DIR a CUDA toolkit of symbolic links in which bin/nvlink is solder. Build with DIR/bin/nvcc, or point a
build system to DIR. The toolkit is ROOT, or the one that SOLDER_TOOLKIT, CUDA_HOME, CUDA_PATH or the nvcc on
PATH lead to. Running it again brings DIR up to date. Links are done as the toolkit's own nvlink does them, or as
that of VERSION; for a toolkit that is newer than all that solder knows, VERSION must be given.

If solder's libnvJitLink is beside the program (in its folder, in nvjitlink, ../lib or ../lib/solder), DIR/lib64
has it in the place of the toolkit's, for programs that are started with LD_LIBRARY_PATH=DIR/lib64.

With --remove, DIR and its links go; the toolkit stays as it is. What solder did not make stays, and DIR with it.
";

const OPTIONS: [Known; 3] = [value("--toolkit"), value("--as-nvlink"), flag("--remove")];

pub fn run(words: &[OsString]) -> Result<(), String> {
    let mut folder = None;
    let mut root = None;
    let mut version = None;
    let mut removes = false;
    let mut words = Reader::new(words, &OPTIONS, USAGE);
    while let Some(word) = words.next()? {
        match word {
            Word::File(_) if folder.is_some() => return Err(words.wrong("more than one folder given")),
            Word::File(name) => folder = Some(PathBuf::from(name)),
            Word::Option("--toolkit", Some(value)) => root = Some(PathBuf::from(value)),
            Word::Option("--as-nvlink", Some(value)) => version = Some(value.to_string_lossy().into_owned()),
            Word::Option("--remove", _) => removes = true,
            Word::Option(..) => {
                print(USAGE);
                return Ok(());
            }
        }
    }
    let folder = folder.ok_or_else(|| words.wrong("no folder given"))?;
    if removes {
        return remove(&folder);
    }
    let toolkit = find(root.as_deref())?;
    let toolkit = shadowed(toolkit)?;
    let program = std::env::current_exe().map_err(|e| format!("cannot tell where solder is: {e}"))?;
    let release = release(&toolkit, version.as_deref())?;
    make(&folder, &toolkit, &program, release)?;
    let like = if toolkit.version.starts_with(release.name) {
        String::new()
    } else {
        format!(", which links as CUDA {} does", release.name)
    };
    print(&format!(
        "{}: CUDA {} from {}, with solder as its nvlink{like}\n",
        folder.display(),
        toolkit.version,
        toolkit.root.display()
    ));
    Ok(())
}

/// Removes the links and folders that [`make`] made, and nothing else: all that is not a link stays, and what it lies in.
fn remove(folder: &Path) -> Result<(), String> {
    let marker = folder.join(MARKER);
    if !marker.is_file() {
        return Err(format!("'{}' was not made by solder: nothing was changed", folder.display()));
    }
    for part in [folder.join("bin"), folder.join(LIBRARIES)] {
        if !part.is_symlink() && part.is_dir() {
            lay_out(&part, &[])?;
            // With something of somebody else in it, it stays.
            let _ = fs::remove_dir(&part);
        }
    }
    lay_out(folder, &[])?;
    fs::remove_file(&marker).map_err(|e| at(&marker, &e))?;
    match fs::remove_dir(folder) {
        Ok(()) => print(&format!("{}: removed\n", folder.display())),
        Err(_) => {
            print(&format!("{}: the links were removed; what is left is not solder's\n", folder.display()));
        }
    }
    Ok(())
}

/// The release to link as: the one that is asked for, or the toolkit's own.
fn release(toolkit: &Toolkit, version: Option<&str>) -> Result<&'static Release, String> {
    let known = Release::list();
    if let Some(version) = version {
        let unknown =
            || format!("there is no nvlink {version} that solder can replace; it links as CUDA {known}");
        return Release::of_version(version).ok_or_else(unknown);
    }
    Release::of_version(&toolkit.version).ok_or_else(|| {
        format!(
            "the toolkit in '{}' is CUDA {}; solder supports CUDA {known}. To try one of these, name it with --as-nvlink",
            toolkit.root.display(),
            toolkit.version
        )
    })
}

fn find(root: Option<&Path>) -> Result<Toolkit, String> {
    Toolkit::find(root, &toolchain::environment(), &Signals).map_err(|error| error.to_string())
}

/// The toolkit itself, also if the way to it led through a shadow of it.
fn shadowed(toolkit: Toolkit) -> Result<Toolkit, String> {
    let marker = toolkit.root.join(MARKER);
    if !marker.exists() {
        return Ok(toolkit);
    }
    let text = fs::read(&marker).map_err(|e| at(&marker, &e))?;
    let root = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let root = Path::new(OsStr::from_bytes(root));
    if root.join(MARKER).exists() {
        return Err(format!("'{}' is a shadow of a shadow", toolkit.root.display()));
    }
    find(Some(root))
}

fn make(folder: &Path, toolkit: &Toolkit, program: &Path, release: &'static Release) -> Result<(), String> {
    claim(folder, &toolkit.root, marked(toolkit, release))?;
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(|e| at(&bin, &e))?;
    let libraries = library_links(toolkit, program, release)?;
    let own: &[&str] = if libraries.is_empty() { &["bin", MARKER] } else { &["bin", MARKER, LIBRARIES] };
    let whole = links_to(&toolkit.root, own)?;
    let mut tools = links_to(&toolkit.root.join("bin"), &["nvlink"])?;
    tools.push(("nvlink".into(), program.to_owned()));
    let lib64 = folder.join(LIBRARIES);
    if libraries.is_empty() && !lib64.is_symlink() && lib64.is_dir() {
        // Solder's library was beside the program when the folder was made.
        lay_out(&lib64, &[])?;
        fs::remove_dir(&lib64).map_err(|e| at(&lib64, &e))?;
    }
    lay_out(folder, &whole)?;
    if !libraries.is_empty() {
        fs::create_dir_all(&lib64).map_err(|e| at(&lib64, &e))?;
        lay_out(&lib64, &libraries)?;
    }
    lay_out(&bin, &tools)
}

/// The toolkit's folder of libraries.
const LIBRARIES: &str = "lib64";

/// The libraries of the toolkit, with solder's libnvJitLink among them; nothing if solder's is not there. nvcc leads solder to the
/// toolkit's own by `nvvm`, which is a link: LTO IR is still compiled by that one.
fn library_links(
    toolkit: &Toolkit,
    program: &Path,
    release: &'static Release,
) -> Result<Vec<(OsString, PathBuf)>, String> {
    let name = format!("{NVJITLINK}.{}", release.major());
    let folder = program.parent().unwrap_or(Path::new(""));
    let mut places =
        ["", "nvjitlink", "../lib", "../lib/solder"].into_iter().map(|place| folder.join(place).join(&name));
    let (Some(own), libraries) = (places.find(|place| place.is_file()), toolkit.root.join(LIBRARIES)) else {
        return Ok(Vec::new());
    };
    if !libraries.is_dir() {
        return Ok(Vec::new());
    }
    let own = own.canonicalize().map_err(|e| at(&own, &e))?;
    let mut links = links_to(&libraries, &[])?;
    links.retain(|(name, _)| !name.as_bytes().starts_with(NVJITLINK.as_bytes()));
    links.extend([(name.into(), own.clone()), (NVJITLINK.into(), own)]);
    Ok(links)
}

/// The name of the library that programs link with, without its version.
const NVJITLINK: &str = "libnvJitLink.so";

/// The version in the marker: the one that was asked for, or that of a toolkit which is newer than all that are known, since
/// its objects say so too.
fn marked<'a>(toolkit: &'a Toolkit, release: &'static Release) -> &'a str {
    let number = Release::toolkit_of(&toolkit.version);
    let is_unknown = number.is_some_and(|number| Release::NEWEST.is_older_than(number));
    if is_unknown && release == Release::NEWEST { &toolkit.version } else { release.version }
}

/// Makes the folder ours. One that holds anything else stays as it is.
fn claim(folder: &Path, root: &Path, version: &str) -> Result<(), String> {
    let marker = folder.join(MARKER);
    let empty = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(at(folder, &error)),
    };
    if !empty && !marker.is_file() {
        return Err(format!(
            "'{}' is there already and was not made by solder: nothing was changed",
            folder.display()
        ));
    }
    fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    let own = folder.canonicalize().map_err(|e| at(folder, &e))?;
    if own.starts_with(root) {
        // Made just now, or empty before.
        let _ = fs::remove_dir(folder);
        return Err(format!("'{}' lies inside the toolkit", folder.display()));
    }
    let text = [root.as_os_str().as_bytes(), b"\n", version.as_bytes(), b"\n"].concat();
    fs::write(&marker, text).map_err(|e| at(&marker, &e))
}

/// A link for every entry of a folder, apart from those left out.
fn links_to(folder: &Path, without: &[&str]) -> Result<Vec<(OsString, PathBuf)>, String> {
    let mut links = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))? {
        let entry = entry.map_err(|e| at(folder, &e))?;
        if !without.iter().any(|name| entry.file_name() == *name) {
            links.push((entry.file_name(), entry.path()));
        }
    }
    Ok(links)
}

/// Makes the links of a folder be these: what is right stays, what is not is replaced in one step, since a build may
/// be under way, and links to what the toolkit no longer has go.
fn lay_out(folder: &Path, links: &[(OsString, PathBuf)]) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
        let path = entry.path();
        if path.is_symlink() && !links.iter().any(|(name, _)| entry.file_name() == *name) {
            fs::remove_file(&path).map_err(|e| at(&path, &e))?;
        }
    }
    for (name, target) in links {
        let path = folder.join(name);
        match fs::read_link(&path) {
            Ok(existing) if existing == *target => continue,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Err(format!("'{}' is in the way: it is no link", path.display())),
        }
        let staged = folder.join(format!(".solder-{}", std::process::id()));
        let made = symlink(target, &staged).and_then(|()| fs::rename(&staged, &path));
        made.map_err(|e| at(&path, &e))?;
    }
    Ok(())
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("'{}': {error}", path.display())
}
