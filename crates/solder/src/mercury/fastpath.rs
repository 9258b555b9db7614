//! What `.nv.compat` says about finalizing the code for other architectures.

use crate::merge::{Content, Kind, Merged};

/// The bits of the architectures for which the code of a target can be finalized easily.
const BITS: &[(u16, u64)] = &[(100, 0x09), (120, 0x50)];

/// That of sm_103, which has slower units for some instructions.
const BIT_103: u64 = 0x08;

/// The instructions that sm_103 executes differently: double precision arithmetic and integer matrices.
/// The low nine bits of an instruction say which it is, whatever its operands are.
const NOT_FOR_103: &[u16] = &[0x028, 0x029, 0x02a, 0x02b, 0x037, 0x03f];
const OPERATION: u16 = 0x1ff;
const INSTRUCTION: usize = 16;

/// The bits for the functions that stay. nvlink looks at these and not at what the inputs say.
pub fn fastpath(merged: &Merged<'_>, sm: u16) -> u64 {
    let Some((_, bits)) = BITS.iter().find(|(of, _)| *of == sm) else { return 0 };
    let mut code = merged.sections.iter().filter(|s| s.kind == Kind::Text).peekable();
    if code.peek().is_none() {
        return 0;
    }
    let differs = bits & BIT_103 != 0
        && code.any(|section| {
            matches!(&section.content, Content::Bytes(chunks)
        if chunks.iter().any(|chunk| uses_any(chunk.data, NOT_FOR_103)))
        });
    if differs { bits & !BIT_103 } else { *bits }
}

fn uses_any(code: &[u8], operations: &[u16]) -> bool {
    let operation = |i: &[u8]| u16::from_le_bytes([i[0], i[1]]) & OPERATION;
    code.chunks_exact(INSTRUCTION).any(|i| operations.contains(&operation(i)))
}
