//! What `.nv.compat` says about finalizing the code for other architectures.

use crate::model::merged::{Kind, Merged};
use crate::model::object::Object;
use bstr::BStr;
use solder_arch::Release;
use solder_sass::{is_fit_for_103, is_fit_for_107};

/// The bits of the architectures for which the code of a target can be finalized easily.
const BITS: &[(u16, u64)] = &[(100, 0x09), (120, 0x50)];

/// That of sm_103, which has slower units for some instructions.
const BIT_103: u64 = 0x08;

/// Those of the other architectures of the family.
const BITS_OF_OTHERS: u64 = BIT_103 | 0x40;

/// What the code says about finalizing it for other architectures.
#[derive(Clone, Copy, Debug)]
pub struct Fastpath {
    bits: u64,
    has_code: bool,
}

impl Fastpath {
    /// The bits of the record. Code may be tied to its own architecture, as other records say.
    pub fn bits(self, is_tied: bool) -> u64 {
        if is_tied && self.has_code { self.bits & !BITS_OF_OTHERS } else { self.bits }
    }
}

/// The instructions that sm_103 executes differently: double precision arithmetic and integer matrices.
/// The low nine bits of an instruction say which it is, whatever its operands are.
const NOT_FOR_103: &[u16] = &[0x028, 0x029, 0x02a, 0x02b, 0x037, 0x03f];
const OPERATION: u16 = 0x1ff;
const INSTRUCTION: usize = 16;

/// Comparisons with a number in single and in double precision. Where no other predicate comes in, nvlink takes the
/// one for the other.
const COMPARE_SINGLE: u16 = 0x80b;
const COMPARE_DOUBLE: u16 = 0x42a;
const FORM: u16 = 0xfff;

/// The bits for the functions that stay. nvlink looks at these, or only at the architecture, and not at what the inputs say.
pub fn fastpath(merged: &Merged<'_>, sm: u16, release: &Release) -> Fastpath {
    let bits = BITS.iter().find(|(of, _)| *of == sm).map_or(0, |(_, bits)| *bits);
    let mut code = merged.sections.iter().filter(|s| s.kind == Kind::Text).peekable();
    let has_code = code.peek().is_some();
    if !release.finalizes_by_code() {
        return Fastpath { bits, has_code };
    }
    let differs = bits & BIT_103 != 0
        && code.any(|section| {
            let mut chunks = section.chunks().iter();
            chunks.any(|chunk| chunk.data.chunks_exact(INSTRUCTION).any(differs_on_103))
        });
    let bits = if differs { bits & !BIT_103 } else { bits };
    Fastpath { bits: if has_code { bits } else { 0 }, has_code }
}

/// The architectures on which code of others may not do as it is, though it links for them.
const DIFFERENT: u16 = 103;
pub const SLOWER: u16 = 107;

/// A function whose code, compiled for another architecture, would be wrong on the target: it, its file and that
/// architecture. nvlink makes such code anew, and so does solder (`members`) what it understands.
pub fn wrong_code<'a>(
    merged: &'a Merged<'_>,
    objects: &'a [Object<'_>],
    sm: u16,
    release: &Release,
) -> Option<(&'a BStr, &'a Object<'a>, u16)> {
    if ![DIFFERENT, SLOWER].contains(&sm) {
        return None;
    }
    let interval = release.double_interval();
    merged.sections.iter().filter(|s| s.kind == Kind::Text).find_map(|section| {
        let symbol = merged.symbol(section.function?);
        let object = &objects[symbol.origin?.file.index()];
        let compiled_for = object.cubin.sm();
        let code = section.first_chunk()?;
        let is_fit = compiled_for == sm
            || if sm == SLOWER { is_fit_for_107(code) } else { is_fit_for_103(code, interval) };
        (!is_fit).then_some((symbol.name, object, compiled_for))
    })
}

fn differs_on_103(instruction: &[u8]) -> bool {
    let code = u16::from_le_bytes([instruction[0], instruction[1]]);
    match code & FORM {
        COMPARE_SINGLE => compares_alone(instruction),
        COMPARE_DOUBLE => !compares_alone(instruction),
        _ => NOT_FOR_103.contains(&(code & OPERATION)),
    }
}

/// Whether a comparison is combined with nothing: `and` with the predicate that is always true.
fn compares_alone(instruction: &[u8]) -> bool {
    let and = instruction[9] & 0x0c == 0;
    let always = instruction[10] & 0x80 != 0 && instruction[11] & 0x07 == 0x03;
    and && always
}
