//! Names under which bytes are counted together.

/// What sections of one kernel begin with, the longest first.
const OF_KERNELS: [&str; 9] = [
    ".nv.capmerc.text.",
    ".nv.merc.nv.info.",
    ".nv.merc.rela.text.",
    ".nv.shared.",
    ".nv.local.",
    ".nv.info.",
    ".rela.text.",
    ".rel.text.",
    ".text.",
];

/// The name of a section without that of the kernel that it is about.
pub(super) fn section(name: &str) -> String {
    if let Some(prefix) = OF_KERNELS.iter().find(|prefix| name.starts_with(**prefix)) {
        return prefix.trim_end_matches('.').into();
    }
    for prefix in [".nv.constant", ".rela.nv.constant", ".rel.nv.constant"] {
        if let Some(rest) = name.strip_prefix(prefix) {
            let bank: String = rest.chars().take_while(char::is_ascii_digit).collect();
            return format!("{prefix}{bank}");
        }
    }
    name.into()
}

/// A name without the arguments of its templates and its own.
pub(super) fn family(demangled: &str) -> String {
    const NAMELESS: &str = "(anonymous namespace)";
    let mut family = String::new();
    let mut depth = 0_usize;
    let mut rest = demangled;
    while let Some(character) = rest.chars().next() {
        if depth == 0 && rest.starts_with(NAMELESS) {
            family.push_str(NAMELESS);
            rest = &rest[NAMELESS.len()..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '<' => {
                if depth == 0 {
                    family.push_str("<>");
                }
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => break,
            _ if depth == 0 => family.push(character),
            _ => {}
        }
    }
    // The type of the result comes first, where there is one.
    let start = family.rfind(' ').filter(|at| !family[..*at].ends_with("(anonymous")).map_or(0, |at| at + 1);
    family[start..].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(section(".text._Z1kv"), ".text");
        assert_eq!(section(".nv.constant0._Z1kv"), ".nv.constant0");
        assert_eq!(section(".nv.info"), ".nv.info");
        assert_eq!(family("void sim::step<(int)256, A<B>>(float3 *, int)"), "sim::step<>");
        assert_eq!(family("a::(anonymous namespace)::k(int)"), "a::(anonymous namespace)::k");
        assert_eq!(family("kernel"), "kernel");
        assert_eq!(family("void f<a>::g<b>(T1)"), "f<>::g<>");
    }
}
