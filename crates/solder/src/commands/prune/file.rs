//! What kind a file is, and how it is pruned.

use solder_cubin::{elf_header, raw};
use solder_fatbin::Container;

use super::containers::{Pruned, Rebuilt};
use super::host::{ET_DYN, Host, counts};
use super::policy::Policy;
use super::{archive, image, object};

/// Alignment of a fat binary that is a file of its own.
const ALIGN: u64 = 8;

/// A file, or a member of an archive.
pub(super) fn prune<'data>(data: &'data [u8], policy: &Policy) -> Result<Pruned<'data>, String> {
    if archive::is_thin(data) {
        Err("a thin archive only names files; prune those".into())
    } else if archive::matches(data) {
        archive::rebuild(data, &|member| self::member(member, policy))
    } else if data.starts_with(&raw::ELF_MAGIC) && !is_cubin(data) || Container::matches(data) {
        member(data, policy)
    } else {
        Err("it is not a fat binary, nor an object, archive, executable or library of the host".into())
    }
}

fn is_cubin(data: &[u8]) -> bool {
    elf_header(data).is_some_and(|header| header.machine.get() == raw::EM_CUDA)
}

fn member<'data>(data: &'data [u8], policy: &Policy) -> Result<Pruned<'data>, String> {
    if Container::matches(data) {
        let Rebuilt { pieces, counts, .. } = Rebuilt::of(data, ALIGN, policy)?;
        return Ok(Pruned { pieces, counts });
    }
    if is_cubin(data) || !data.starts_with(&raw::ELF_MAGIC) {
        return Ok(Pruned::as_it_is(data));
    }
    let host = Host::read(data)?;
    let code = host.code(policy)?;
    if code.is_empty() {
        return Ok(Pruned::as_it_is(data));
    }
    let pieces = match host.header.e_type.get() {
        raw::ET_REL => object::rebuild(&host, &code)?,
        raw::ET_EXEC | ET_DYN => image::rebuild(&host, &code)?,
        other => return Err(format!("an ELF of the unknown type {other}")),
    };
    Ok(Pruned { pieces, counts: counts(&code) })
}
