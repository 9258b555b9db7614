//! What kind a file is, and how it is pruned.

use solder_cubin::{elf_header, raw};
use solder_fatbin::Container;

use super::containers::{Counts, Pruned, Rebuilt};
use super::host::{ET_DYN, Host, counts, is_foreign};
use super::pieces::Pieces;
use super::policy::{Policy, stripped};
use super::{archive, image, object};
use crate::commands::inspect::has_device_code;

/// Alignment of a fat binary that is a file of its own.
const ALIGN: u64 = 8;

/// A file, or a member of an archive.
pub(super) fn prune<'data>(data: &'data [u8], policy: &Policy) -> Result<Pruned<'data>, String> {
    if archive::is_thin(data) {
        Err("a thin archive only names files; prune those".into())
    } else if archive::matches(data) {
        archive::rebuild(data, &|member| self::member(member, policy))
    } else if is_cubin(data) && !policy.strip_debug {
        Err("a cubin is code for one architecture; only --strip-debug makes it smaller".into())
    } else if data.starts_with(&raw::ELF_MAGIC) || Container::matches(data) {
        member(data, policy)
    } else {
        Err("it is not a fat binary or cubin, nor an object, archive, executable or library of the host"
            .into())
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
    if is_cubin(data) && policy.strip_debug {
        return cubin(data);
    }
    if is_cubin(data) || !data.starts_with(&raw::ELF_MAGIC) {
        return Ok(Pruned::as_it_is(data));
    }
    // Archives may have members for other machines.
    if is_foreign(data) && !has_device_code(data)? {
        return Ok(Pruned::as_it_is(data));
    }
    let host = Host::read(data)?;
    let mut code = host.code(policy)?;
    if code.is_empty() {
        return Ok(Pruned::as_it_is(data));
    }
    let pieces = match host.header.e_type.get() {
        raw::ET_REL => object::rebuild(&host, &code)?,
        raw::ET_EXEC | ET_DYN => image::rebuild(&host, &mut code)?,
        other => return Err(format!("an ELF of the unknown type {other}")),
    };
    Ok(Pruned { pieces, counts: counts(&code) })
}

/// A cubin without debug and line information. It is one member.
fn cubin(data: &[u8]) -> Result<Pruned<'_>, String> {
    let mut pruned = Pruned::as_it_is(data);
    pruned.counts = Counts { members: 1, kept: 1, stored: 1, ..Counts::default() };
    if let Some(new) = stripped(data)? {
        pruned.counts.stripped = 1;
        pruned.pieces = Pieces::default();
        pruned.pieces.push(new);
    }
    Ok(pruned)
}
