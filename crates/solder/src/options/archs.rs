//! `--list-archs`: the targets, and which code links for which, by the rules that a link goes by.

use solder_arch::{Arch, Release, Suffix};

/// The list for one release.
pub fn archs(release: &Release) -> String {
    let mut text = format!(
        "Targets of CUDA {}: sm_N for machine code, compute_N for PTX, lto_N for LTO IR\n\n{}",
        release.name,
        line([
            "N",
            "generation",
            "family",
            "__CUDA_ARCH__",
            "machine code links for",
            "PTX and LTO IR compile for"
        ])
    );
    for arch in release.archs() {
        let later = release.archs().iter().filter(|target| target.number >= arch.number);
        let compiles_for_all = later.into_iter().all(|target| release.links_ptx(*arch, *target));
        let is_plain = arch.suffix == Suffix::None;
        let ptx = if is_plain && compiles_for_all {
            format!("{arch} and later")
        } else {
            list(release, |target| release.links_ptx(*arch, target))
        };
        let generation = arch.generation().map(|generation| generation.to_string()).unwrap_or_default();
        let family = list(release, |other| other.suffix == Suffix::None && other.is_same_family(*arch));
        let machine_code = list(release, |target| release.links_sass(*arch, target));
        let (name, cuda_arch) = (arch.to_string(), arch.cuda_arch().to_string());
        text += &line([&name, &generation, &family, &cuda_arch, &machine_code, &ptx]);
    }
    text
}

fn line([name, generation, family, cuda_arch, machine_code, ptx]: [&str; 6]) -> String {
    format!("{name:<6}{generation:<12}{family:<16}{cuda_arch:<15}{machine_code:<29}{ptx}\n")
}

fn list(release: &Release, is_listed: impl Fn(Arch) -> bool) -> String {
    let listed = release.archs().iter().filter(|arch| is_listed(**arch));
    listed.map(Arch::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_each_architecture() {
        let text = archs(Release::CUDA_13_0);
        let columns = |name: &str| {
            let line = text.lines().find(|line| line.split(' ').next() == Some(name)).expect(name);
            line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect::<Vec<_>>().join("|")
        };
        assert_eq!(text.lines().count(), 3 + 23);
        assert_eq!(columns("75"), "75|Turing|75|750|75|75 and later");
        assert_eq!(columns("80"), "80|Ampere|80 86 87 88 89|800|80 86 89|80 and later");
        assert_eq!(columns("90a"), "90a|Hopper|90|900|90 90a|90a");
        assert_eq!(columns("121f"), "121f|Blackwell|120 121|1210|121 121a 121f|121 121a 121f");
    }
}
