//! Which kernels must stay: those that the command line asks for or, if nothing is asked for and every input says
//! what its host code refers to, those that host code refers to.

use hashbrown::HashSet;

/// The kinds of references that host code makes to device code, with the section that lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A kernel that other files may name too.
    ExternalKernel,
    /// A static kernel.
    InternalKernel,
    /// A constant that other files may name too.
    ExternalConstant,
    /// A static constant.
    InternalConstant,
    /// A variable that other files may name too.
    ExternalVariable,
    /// A static variable.
    InternalVariable,
}

impl ReferenceKind {
    /// Whether a kernel is referred to.
    pub const fn is_kernel(self) -> bool {
        matches!(self, Self::ExternalKernel | Self::InternalKernel)
    }
}

/// All kinds, in the order in which nvlink reads them.
pub const REFERENCE_KINDS: [(ReferenceKind, &[u8]); 6] = [
    (ReferenceKind::ExternalKernel, b".nvHRKE"),
    (ReferenceKind::InternalKernel, b".nvHRKI"),
    (ReferenceKind::ExternalConstant, b".nvHRCE"),
    (ReferenceKind::InternalConstant, b".nvHRCI"),
    (ReferenceKind::ExternalVariable, b".nvHRDE"),
    (ReferenceKind::InternalVariable, b".nvHRDI"),
];

/// What host code refers to.
#[derive(Clone, Debug, Default)]
pub struct HostReferences<'data> {
    /// Patterns by kind, in the order of [`REFERENCE_KINDS`] and of reading.
    pub patterns: [Vec<&'data [u8]>; REFERENCE_KINDS.len()],
    /// A host object refers to a kernel. References of the device runtime to its own do not matter.
    pub any_kernel: bool,
    /// A host object does not say what it refers to.
    pub incomplete: bool,
    /// Device code came without a host object.
    pub raw_inputs: bool,
}

impl<'data> HostReferences<'data> {
    /// Whether kernels that no pattern matches are removed: every host object must say what it refers to. Host code
    /// that refers to no kernel at all is taken to be a part of a program.
    pub fn decide(&self) -> bool {
        !self.incomplete && !self.raw_inputs && self.any_kernel
    }

    /// The patterns of one kind.
    pub fn of(&self, kind: ReferenceKind) -> &[&'data [u8]] {
        let index = REFERENCE_KINDS.iter().position(|(known, _)| *known == kind);
        index.map_or(&[], |index| &self.patterns[index])
    }
}

/// The kernels that stay, by name.
#[derive(Debug)]
pub enum Roots<'a> {
    /// All of them.
    All,
    /// `-kernels-used`: names that contain one of the texts; a `*` in a text matches anything. None stay if only variables were asked for.
    Containing(&'a [Vec<u8>]),
    /// Those that host code refers to.
    Matching(Patterns<'a>),
    /// The same, where link-time optimization compiled the whole program: as if they had been asked for by name
    /// (lto/launched-by-device).
    Compiled(Patterns<'a>),
}

impl<'a> Roots<'a> {
    /// From `-kernels-used`, `-variables-used` and what host code refers to, if that matters. `is_optimized` is that of
    /// the link's options.
    pub fn new(
        kernels_used: Option<&'a [Vec<u8>]>,
        variables_used: Option<&'a [Vec<u8>]>,
        references: Option<&HostReferences<'a>>,
        is_optimized: bool,
    ) -> Self {
        if let Some(texts) = kernels_used {
            return Self::Containing(texts);
        }
        if variables_used.is_some() {
            return Self::Containing(&[]);
        }
        let Some(references) = references.filter(|references| references.decide()) else { return Self::All };
        let kinds = [ReferenceKind::ExternalKernel, ReferenceKind::InternalKernel];
        let patterns = kinds.iter().flat_map(|kind| references.of(*kind)).copied().collect();
        if is_optimized { Self::Compiled(patterns) } else { Self::Matching(patterns) }
    }

    /// Whether a kernel stays.
    pub fn contain(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Containing(texts) => texts.iter().any(|text| contains(name, text)),
            Self::Matching(patterns) | Self::Compiled(patterns) => patterns.matches(name),
        }
    }

    /// Whether the sections of kernels that device code launches are made like those of the others.
    pub fn prepare_launched(&self) -> bool {
        matches!(self, Self::Matching(_))
    }

    /// Whether kernels that device code launches are roots too: host code does not speak of them. If one kernel is asked for, or
    /// host code refers to one, nvlink keeps them without what they call; `count` is how many are (gc/launched-by-one-kernel).
    pub fn contain_launched(&self, count: usize) -> bool {
        matches!(self, Self::Compiled(_)) || count != 1
    }
}

/// Whether a name contains a text. A `*` in the text matches anything.
pub fn contains(name: &[u8], text: &[u8]) -> bool {
    let mut parts = text.split(|&byte| byte == b'*').filter(|part| !part.is_empty());
    // The first place of each part leaves the most for the next.
    let after = |rest: &'_ [u8], part: &[u8]| {
        rest.windows(part.len()).position(|window| window == part).map(|at| at + part.len())
    };
    parts.try_fold(name, |rest, part| Some(&rest[after(rest, part)?..])).is_some()
}

/// Patterns in which `*` matches any text. Nearly all are a name, or a name's beginning and a star: these are
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
