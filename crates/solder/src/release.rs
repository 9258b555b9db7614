//! Which release of nvlink this run takes the place of.
//!
//! `--as-nvlink` says it; else the toolkit that the program was started in, as nvcc does; else `SOLDER_AS`; else the newest
//! toolkit among the objects. The last is known only when they are loaded: until then a guess is made, and if it was wrong
//! loading begins again, see [`of_inputs`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use solder_arch::Release;
use solder_link::load::classify::{self, Role};
use solder_link::load::{self, Settings, Store};
use solder_toolchain::{beside, version_in};

use crate::diagnostics::{Message, Text};
use crate::options::Options;
use crate::toolchain::{self, Signals};

/// The variable that is asked where no toolkit is beside the program.
const VARIABLE: &str = "SOLDER_AS";

/// Where the inputs decide, this is the oldest release that is chosen: it has all options, and links objects of CUDA 12 too. Older
/// ones must be asked for.
const OLDEST_BY_INPUTS: &Release = Release::CUDA_13_0;

/// A release, and how sure it is.
#[derive(Clone, Debug)]
pub struct Choice {
    pub release: &'static Release,
    /// The inputs have the last word.
    pub by_inputs: bool,
    /// The version that was asked for, if it is newer than all that are known.
    pub stands_for: Option<String>,
}

/// The choice that can be made before any input is opened.
pub fn choose(words: &[Vec<u8>]) -> Result<Choice, Message> {
    if let Some(version) = asked_for(words) {
        return named(&version, true);
    }
    if let Some(toolkit) = beside(&toolchain::environment(), &Signals) {
        // A shadow of an unknown toolkit was asked for when it was made.
        return named(&toolkit.version, toolkit.is_shadow);
    }
    match std::env::var_os(VARIABLE).filter(|version| !version.is_empty()) {
        Some(version) => named(&version.to_string_lossy(), true),
        None => Ok(Choice { release: Release::NEWEST, by_inputs: true, stands_for: None }),
    }
}

/// The value of `--as-nvlink`, which the options themselves depend on.
fn asked_for(words: &[Vec<u8>]) -> Option<String> {
    const NAME: &[u8] = b"--as-nvlink";
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(NAME)? {
        [] => words.get(at + 1).map(|next| text(next)),
        [b'=', value @ ..] => Some(text(value)),
        _ => None,
    })
}

/// The release of a version. The newest one takes the place of an unknown newer one, if that is asked for.
fn named(version: &str, is_asked_for: bool) -> Result<Choice, Message> {
    if let Some(release) = Release::of_version(version) {
        return Ok(Choice { release, by_inputs: false, stands_for: None });
    }
    match Release::toolkit_of(version).filter(|toolkit| Release::NEWEST.is_older_than(*toolkit)) {
        Some(toolkit) if is_asked_for => {
            // Once in a run, and there is none for it among the constants.
            let release = Box::leak(Box::new(Release::NEWEST.standing_in(toolkit)));
            Ok(Choice { release, by_inputs: false, stands_for: Some(version.to_owned()) })
        }
        _ => Err(Message::UnknownRelease { version: version.into(), known: Release::list().into() }),
    }
}

/// The options for a link: where nothing but the inputs says as which release, a guess is made from the first.
pub fn for_inputs(mut options: Options) -> Options {
    let Some(target) = options.target.filter(|_| options.release_by_inputs) else { return options };
    options.release = guess(&options).or_later_for(target);
    options
}

/// A guess at the release of the inputs: that of the compiler library, or of the device code of the first input.
fn guess(options: &Options) -> &'static Release {
    let of_first = || {
        let first = options.inputs.first()?;
        toolkit_of(first, &options.load_settings()).and_then(for_toolkit)
    };
    let of_compiler = || {
        let version = version_in(options.nvvm_path.as_deref()?.parent()?)?;
        Release::of_version(&version).filter(|of| of.toolkit >= OLDEST_BY_INPUTS.toolkit)
    };
    of_compiler().or_else(of_first).unwrap_or(OLDEST_BY_INPUTS)
}

/// Large files are not worth reading twice.
const LARGEST: u64 = 1 << 20;

/// The toolkit of the device code in a file that is not large, if there is some for the target.
fn toolkit_of(path: &Path, settings: &Settings) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok().filter(|of| of.is_file() && of.len() <= LARGEST)?.len();
    let mut data = vec![0; size as usize];
    file.read_exact(&mut data).ok()?;
    let name = Text::from(path);
    let role = classify::role(name.as_bytes(), &data, settings.lto);
    if !matches!(role, Role::Cubin | Role::Fatbin | Role::HostObject) {
        return None;
    }
    let store = Store::default();
    let items = load::items(&name, &data, role, settings.release, &|_| None);
    items.first()?.unpack(settings, &store).toolkit
}

/// The release for objects of these toolkits: the oldest that links all of them.
pub fn of_inputs(toolkits: impl Iterator<Item = u32>) -> Option<&'static Release> {
    toolkits.max().map(|newest| for_toolkit(newest).unwrap_or(Release::NEWEST))
}

fn for_toolkit(toolkit: u32) -> Option<&'static Release> {
    Release::for_toolkit(toolkit.max(OLDEST_BY_INPUTS.toolkit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_a_release() {
        let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(asked_for(&words("-arch=sm_90 --as-nvlink=13.2 a.cubin")).as_deref(), Some("13.2"));
        assert_eq!(asked_for(&words("--as-nvlink 13.1.115")).as_deref(), Some("13.1.115"));
        assert_eq!(asked_for(&words("-arch=sm_90 --as-nvlinks=1")), None);
    }

    #[test]
    fn unknown_releases() {
        let is_ok = |version, asked| named(version, asked).is_ok();
        assert!(is_ok("13.0", false) && is_ok("13.4.92", false));
        assert!(!is_ok("14.0", false) && is_ok("14.0.1", true));
        assert!(!is_ok("11.8", true) && !is_ok("latest", true));
        let choice = named("14.0", true).expect("it was asked for");
        assert_eq!((choice.release.toolkit, choice.release.name), (140, Release::NEWEST.name));
    }

    #[test]
    fn the_newest_object_decides() {
        let of = |list: &[u32]| of_inputs(list.iter().copied()).map(|release| release.name);
        assert_eq!(of(&[129, 130]), Some("13.0"));
        assert_eq!(of(&[124]), Some("13.0"));
        assert_eq!(of(&[130, 132, 131]), Some("13.2"));
        assert_eq!(of(&[130, 999]), Some(Release::NEWEST.name));
        assert_eq!(of(&[]), None);
    }
}
