//! Which kernels must stay: those that the command line asks for or, if nothing is asked for and every input says
//! what its host code refers to, those that host code refers to.

use hashbrown::HashSet;

use crate::load::{HostReferences, ReferenceKind};
use crate::options::Options;

/// The kernels that stay, by name.
#[derive(Debug)]
pub enum Roots<'a> {
    All,
    /// `-kernels-used`: names that contain one of the texts. None stay if only variables were asked for.
    Containing(&'a [Vec<u8>]),
    Matching(Patterns<'a>),
}

impl<'a> Roots<'a> {
    pub fn new(options: &'a Options, references: &HostReferences<'a>) -> Self {
        if let Some(texts) = &options.kernels_used {
            return Self::Containing(texts);
        }
        if options.variables_used.is_some() {
            return Self::Containing(&[]);
        }
        if options.ignore_host_info || !references.decide() {
            return Self::All;
        }
        let kinds = [ReferenceKind::ExternalKernel, ReferenceKind::InternalKernel];
        Self::Matching(kinds.iter().flat_map(|kind| references.of(*kind)).copied().collect())
    }

    pub fn contain(&self, kernel: &str) -> bool {
        let name = kernel.as_bytes();
        match self {
            Self::All => true,
            Self::Containing(texts) => texts.iter().any(|text| contains(name, text)),
            Self::Matching(patterns) => patterns.matches(name),
        }
    }

    /// Whether the sections of kernels that device code launches are made like those of the others.
    pub fn prepare_launched(&self) -> bool {
        matches!(self, Self::Matching(_))
    }

    /// Whether kernels that device code launches are roots too: host code does not speak of them. With `-kernels-used`
    /// nvlink keeps them without what they call if one kernel is asked for; `count` is how many are.
    pub fn contain_launched(&self, count: usize) -> bool {
        matches!(self, Self::Matching(_)) || count != 1
    }
}

pub fn contains(name: &[u8], text: &[u8]) -> bool {
    text.is_empty() || name.windows(text.len()).any(|part| part == text)
}

/// Patterns in which `*` stands for any text. Nearly all are a name, or a name's beginning and a star: these are
/// looked up, so that many kernels and many patterns do not multiply.
#[derive(Debug, Default)]
pub struct Patterns<'a> {
    names: HashSet<&'a [u8]>,
    prefixes: HashSet<&'a [u8]>,
    prefix_lengths: Vec<usize>,
    others: Vec<&'a [u8]>,
}

impl<'a> FromIterator<&'a [u8]> for Patterns<'a> {
    fn from_iter<T: IntoIterator<Item = &'a [u8]>>(patterns: T) -> Self {
        let mut sorted = Self::default();
        for pattern in patterns {
            match pattern.iter().position(|&byte| byte == b'*') {
                None => drop(sorted.names.insert(pattern)),
                Some(star) if star + 1 == pattern.len() => drop(sorted.prefixes.insert(&pattern[..star])),
                Some(_) => sorted.others.push(pattern),
            }
        }
        sorted.prefix_lengths = sorted.prefixes.iter().map(|prefix| prefix.len()).collect();
        sorted.prefix_lengths.sort_unstable();
        sorted.prefix_lengths.dedup();
        sorted
    }
}

impl Patterns<'_> {
    fn matches(&self, name: &[u8]) -> bool {
        let has_prefix =
            |&length: &usize| name.get(..length).is_some_and(|start| self.prefixes.contains(start));
        self.names.contains(name)
            || self.prefix_lengths.iter().any(has_prefix)
            || self.others.iter().any(|pattern| matches(pattern, name))
    }
}

/// Whether the pattern covers the whole name. Where a star could end is found again only for the last star, so the
/// time is bounded by the product of the lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut last_star = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            last_star = Some((p + 1, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n]) {
            p += 1;
            n += 1;
        } else if let Some((after, from)) = last_star {
            last_star = Some((after, from + 1));
            (p, n) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let patterns: Patterns =
            ["_Z2k1*", "plain", "__nv_static_23__id_*2k3*"].map(str::as_bytes).into_iter().collect();
        for name in ["_Z2k1", "_Z2k1Pi", "plain", "__nv_static_23__id__Z2k3Pi", "__nv_static_23__id_2k3"] {
            assert!(patterns.matches(name.as_bytes()), "{name}");
        }
        for name in ["", "_Z2k", "_Z2k2Pi", "plain2", "x_Z2k1", "__nv_static_23__id__Z2k4Pi"] {
            assert!(!patterns.matches(name.as_bytes()), "{name}");
        }
        assert!(matches(b"a*b*c", b"a1b2b3c") && !matches(b"a*b*c", b"a1b2b3"));
    }
}
