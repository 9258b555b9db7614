//! What a large link keeps of a host object.

use super::arena::Arena;
use solder_link::load::host::HostObject;

/// The same host object, of a copy of no more of the file than it needs.
pub(super) fn without_file<'new>(host: &HostObject<'_>, file: &[u8], arena: &'new Arena) -> HostObject<'new> {
    // Empty parts may be anywhere.
    let parts = || {
        let strings =
            host.references.iter().map(|(_, pattern)| pattern).chain(&host.module_ids).chain(&host.linked);
        host.code.iter().chain(strings).filter(|part| !part.is_empty())
    };
    let at = |part: &[u8]| part.as_ptr() as usize - file.as_ptr() as usize;
    let start = parts().map(|part| at(part)).min().unwrap_or(0);
    let end = parts().map(|part| at(part) + part.len()).max().unwrap_or(0);
    let copy = arena.own(file[start..end].to_vec());
    let moved = |part: &&[u8]| if part.is_empty() { &[] } else { &copy[at(part) - start..][..part.len()] };
    HostObject {
        lacks_code: host.lacks_code,
        code: host.code.as_ref().map(moved),
        module_ids: host.module_ids.iter().map(moved).collect(),
        linked: host.linked.iter().map(moved).collect(),
        references: host.references.iter().map(|(kind, pattern)| (*kind, moved(pattern))).collect(),
        lists_references: host.lists_references,
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, HostObject, without_file};

    #[test]
    fn it_does_without_its_file() {
        let file = b"head fat kernel module end".to_vec();
        let mut host = HostObject { code: Some(&file[5..8]), ..HostObject::default() };
        assert!(!host.is_empty() && HostObject::default().is_empty());
        host.references = vec![(0, &file[9..15]), (1, &[])];
        host.module_ids = vec![&file[16..22]];
        let arena = Arena::default();
        let moved = without_file(&host, &file, &arena);
        drop(file);
        assert_eq!(moved.code, Some(&b"fat"[..]));
        assert_eq!(moved.references, [(0, &b"kernel"[..]), (1, b"")]);
        assert_eq!(moved.module_ids, [b"module"]);
    }
}
