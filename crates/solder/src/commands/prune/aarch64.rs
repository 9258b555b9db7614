//! Looks for addresses in machine code of AArch64, which makes them in steps: `adrp` gives a page, and what follows, somewhere
//! in the function, adds the rest. Code is followed from the first step, over branches, until the register has another value.

use std::collections::HashSet;

use super::machine::{Lost, is_unlikely};

/// States of one search. What takes more is refused.
const MOST: usize = 1 << 18;

/// The first address of something lost that an instruction refers to. `is_fixed` says that the program is loaded where it was
/// linked, so that its code may have addresses as they are.
pub(super) fn find(code: &[u8], start: u64, lost: &impl Lost, is_fixed: bool) -> Option<u64> {
    let words: Vec<u32> =
        code.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let search = Search { words: &words, start, lost };
    let numbers = || if is_fixed { search.numbers() } else { None };
    (0..words.len()).find_map(|at| search.at(at)).or_else(numbers)
}

struct Search<'a, L> {
    words: &'a [u32],
    start: u64,
    lost: &'a L,
}

/// What an instruction does with a register that holds an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Effect {
    /// It uses the address with this distance added.
    used: Option<u64>,
    /// The register that the sum goes to.
    into: Option<u32>,
    /// Nothing is added.
    is_copy: bool,
    /// The register has another value afterwards.
    is_ended: bool,
}

/// Where code goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Following,
    /// So many instructions on.
    Jump(i64),
    Either(i64),
    /// After a function that was called.
    Call,
    Nowhere,
}

impl<L: Lost> Search<'_, L> {
    fn at(&self, at: usize) -> Option<u64> {
        let word = self.words[at];
        let here = self.start.wrapping_add(at as u64 * 4);
        match word & 0x9f00_0000 {
            // `adrp`
            0x9000_0000 => {
                let page = (here & !0xfff).wrapping_add_signed(distance(word) << 12);
                self.follow(at + 1, word & 31, page)
            }
            // `adr`
            0x1000_0000 => {
                let address = here.wrapping_add_signed(distance(word));
                let is_it = self.lost.begins(address) || self.lost.is_lost(address) && self.is_code(at);
                if is_it { Some(address) } else { self.follow(at + 1, word & 31, address) }
            }
            // A load from a place near the code.
            0x1800_0000 | 0x9800_0000 if word & 0x3b00_0000 == 0x1800_0000 => {
                let address = here.wrapping_add_signed(signed(word >> 5, 19) * 4);
                (self.lost.is_lost(address) && self.is_code(at)).then_some(address)
            }
            _ => None,
        }
    }

    /// Whether what follows is code as well. Data between functions looks like code, but not for long.
    fn is_code(&self, at: usize) -> bool {
        const SOUND: usize = 8;
        for &word in self.words[at + 1..].iter().take(SOUND) {
            match next(word) {
                None => return false,
                Some(Next::Nowhere | Next::Jump(_)) => return true,
                Some(_) => {}
            }
        }
        true
    }

    /// What code makes of a page, or a place near the code, in a register. What has been made of it is the address of something:
    /// if that is a fat binary that stays where it is, code may still count from there to another.
    fn follow(&self, at: usize, register: u32, base: u64) -> Option<u64> {
        /// So often it may add something.
        const SUMS: u32 = 3;
        if !self.lost.is_near(base) {
            return None;
        }
        let mut seen = HashSet::new();
        let mut open = vec![(at, register, base, 0)];
        while let Some(state) = open.pop() {
            let (at, register, base, sums) = state;
            let Some(&word) = self.words.get(at) else { continue };
            let Some(next) = next(word) else { continue };
            if !seen.insert(state) {
                continue;
            }
            if seen.len() > MOST {
                return Some(base);
            }
            let effect = effect(word, register, next);
            if let Some(address) = effect.used.map(|add| base.wrapping_add(add)) {
                let is_it = if sums == 0 { self.lost.is_lost(address) } else { self.lost.begins(address) };
                if is_it {
                    return Some(address);
                }
                let sums = if effect.is_copy { sums } else { sums + 1 };
                let is_followed = effect.is_copy || self.lost.holds(address) && sums < SUMS;
                let into = effect.into.filter(|_| is_followed);
                open.extend(into.map(|into| (at + 1, into, address, sums)));
            }
            if effect.is_ended {
                continue;
            }
            let to = |by: i64| at.checked_add_signed(by as isize);
            let (one, two) = match next {
                Next::Following | Next::Call => (Some(at + 1), None),
                Next::Jump(by) => (to(by), None),
                Next::Either(by) => (Some(at + 1), to(by)),
                Next::Nowhere => (None, None),
            };
            open.extend(one.into_iter().chain(two).map(|at| (at, register, base, sums)));
        }
        None
    }

    /// Addresses that are given as numbers of 16 bits, one after the other.
    fn numbers(&self) -> Option<u64> {
        let mut values = [0_u64; 32];
        self.words.iter().find_map(|&word| {
            let (register, shift) = ((word & 31) as usize, (word >> 21 & 3) * 16);
            let number = u64::from(word >> 5 & 0xffff) << shift;
            match word & 0xff80_0000 {
                // `movz`, `movk`
                0xd280_0000 => values[register] = number,
                0xf280_0000 => values[register] = values[register] & !(0xffff << shift) | number,
                _ => return None,
            }
            let value = values[register];
            let is_it = self.lost.begins(value) || !is_unlikely(value) && self.lost.is_lost(value);
            is_it.then_some(value)
        })
    }
}

/// The lowest bits of a number, with its sign.
fn signed(number: u32, bits: u32) -> i64 {
    i64::from((number << (32 - bits)).cast_signed() >> (32 - bits))
}

/// That of `adr` and `adrp`.
fn distance(word: u32) -> i64 {
    signed((word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3, 21)
}

/// `None` for what is not an instruction.
fn next(word: u32) -> Option<Next> {
    Some(match word >> 25 & 15 {
        // Matrices have these, data too.
        0 if word >> 31 == 0 => return None,
        1 | 3 => return None,
        10 | 11 => match word >> 24 {
            0x14..=0x17 => Next::Jump(signed(word, 26)),
            0x94..=0x97 => Next::Call,
            0x34 | 0x35 | 0x54 | 0xb4 | 0xb5 => Next::Either(signed(word >> 5, 19)),
            0x36 | 0x37 | 0xb6 | 0xb7 => Next::Either(signed(word >> 5, 14)),
            0xd6 | 0xd7 if word >> 21 & 7 == 1 => Next::Call,
            0xd6 | 0xd7 => Next::Nowhere,
            // `brk`
            0xd4 if word >> 21 & 7 == 1 => Next::Nowhere,
            _ => Next::Following,
        },
        _ => Next::Following,
    })
}

fn effect(word: u32, register: u32, next: Next) -> Effect {
    let field = |at: u32| word >> at & 31;
    let is = |at: u32| field(at) == register;
    let used_if = |is_used: bool| is_used.then_some(0);
    match word >> 25 & 15 {
        8 | 9 => immediate(word, register),
        // Two registers.
        5 | 13 => {
            let is_copy = word & 0xffe0_ffe0 == 0xaa00_03e0 || word & 0x1fe0_0c00 == 0x1a80_0000;
            let has_third = word & 0x1f00_0000 == 0x1b00_0000;
            let is_read = is(5) || is(16) || has_third && is(10);
            // Comparisons and flags.
            let has_result = word & 0x1fe0_0000 != 0x1a40_0000
                && (word & 0x1fe0_0000 != 0x1a00_0000 || word & 0xfc00 == 0);
            let into = (is_copy && is_read).then_some(field(0));
            Effect { used: used_if(is_read), into, is_copy, is_ended: has_result && is(0) }
        }
        4 | 6 | 12 | 14 => memory(word, register),
        10 | 11 => match next {
            // Functions keep these registers.
            Next::Call => Effect { is_ended: !(19..30).contains(&register), ..Effect::default() },
            // `mrs`
            _ => Effect { is_ended: word & 0xfff0_0000 == 0xd530_0000 && is(0), ..Effect::default() },
        },
        // Scalable vectors.
        2 => Effect { used: used_if(is(5)), ..Effect::default() },
        _ => Effect::default(),
    }
}

fn immediate(word: u32, register: u32) -> Effect {
    let (result, source) = (word & 31, word >> 5 & 31);
    let is_ended = result == register;
    // `adr`, `adrp`, and numbers of 16 bits have no source.
    let has_source = !matches!(word >> 23 & 7, 0 | 1 | 5);
    if !has_source || source != register {
        return Effect { is_ended, ..Effect::default() };
    }
    // `add` and `sub`; without a result it is a comparison.
    if word >> 23 & 7 == 2 {
        let number = u64::from(word >> 10 & 0xfff) << (12 * (word >> 22 & 1));
        let number = if word >> 30 & 1 == 1 { number.wrapping_neg() } else { number };
        let is_compared = word >> 29 & 1 == 1 && result == 31;
        return Effect {
            used: (!is_compared).then_some(number),
            into: Some(result),
            is_copy: false,
            is_ended,
        };
    }
    Effect { used: Some(0), is_ended, ..Effect::default() }
}

fn memory(word: u32, register: u32) -> Effect {
    let (first, base, second) = (word & 31, word >> 5 & 31, word >> 10 & 31);
    let is_vector = word >> 26 & 1 == 1;
    let distance = |number: i64| Some(number.cast_unsigned()).filter(|_| base == register);
    let stored = |is_read: bool| if is_read { Some(0) } else { None };
    // From a place near the code.
    if word & 0x3b00_0000 == 0x1800_0000 {
        return Effect { is_ended: !is_vector && first == register, ..Effect::default() };
    }
    // Two registers.
    if word & 0x3a00_0000 == 0x2800_0000 {
        let is_load = word >> 22 & 1 == 1;
        let scale = if is_vector { 2 + (word >> 30) } else { 2 + (word >> 31) };
        let is_either = !is_vector && (first == register || second == register);
        // After the access, the register changes by the number.
        let number = if word >> 23 & 3 == 1 { 0 } else { signed(word >> 15, 7) << scale };
        let is_changed = matches!(word >> 23 & 3, 1 | 3) && base == register;
        let used = distance(number).or(stored(is_either && !is_load));
        return Effect { used, is_ended: is_load && is_either || is_changed, ..Effect::default() };
    }
    if word & 0x3a00_0000 == 0x3800_0000 {
        let is_load = word >> 22 & 3 != 0 && !is_vector;
        let is_own = !is_vector && first == register;
        // A hint has no register.
        let is_hint = word & 0xffc0_0000 == 0xf980_0000;
        if word >> 24 & 1 == 1 {
            // The register of 16 bytes has the size of one of 1 byte.
            let size = if word & 0x0480_0000 == 0x0480_0000 { 4 } else { word >> 30 };
            let used = distance(i64::from(word >> 10 & 0xfff) << size).or(stored(is_own && !is_load));
            return Effect { used, is_ended: is_load && is_own && !is_hint, ..Effect::default() };
        }
        let (has_index, mode) = (word >> 21 & 1 == 1, word >> 10 & 3);
        let number = if has_index || mode == 1 { 0 } else { signed(word >> 12, 9) };
        let is_changed = !has_index && mode & 1 == 1 && base == register;
        let is_index = has_index && word >> 16 & 31 == register;
        let used = distance(number).or(stored(is_index || is_own && !is_load));
        // What exchanges memory and registers is taken for a store.
        let is_ended = is_changed || is_load && is_own && (!has_index || mode == 2);
        return Effect { used, is_ended, ..Effect::default() };
    }
    Effect { used: distance(0).or(stored(!is_vector && first == register)), ..Effect::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    /// `adrp x0, 0x3000` at 0x1000.
    const ADRP: u32 = 0x9000_0000 | 1 << 30;
    const NOP: u32 = 0xd503_201f;
    const RET: u32 = 0xd65f_03c0;

    fn found(words: &[u32], lost: Range<u64>) -> Option<u64> {
        let code = words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        find(&code, 0x1000, &lost, true)
    }

    #[test]
    fn a_page_and_what_is_added() {
        // add x0, x0, #0x18
        let add = 0x9100_6000_u32;
        assert_eq!(found(&[ADRP, NOP, add], 0x3018..0x3019), Some(0x3018));
        assert_eq!(found(&[ADRP, NOP, add], 0x3010..0x3018), None);
        // ldr w1, [x0, #0x18]; ldr q1, [x0, #0x180]; ldp x1, x2, [x0, #0x10]; ldur x1, [x0, #0x11]
        let loads =
            [(0xb940_1801, 0x3018), (0x3dc0_6001, 0x3180), (0xa941_0801, 0x3010), (0xf841_1001, 0x3011)];
        for (load, place) in loads {
            assert_eq!(found(&[ADRP, load, RET], place..place + 1), Some(place), "{load:x}");
        }
        // However far away.
        let far = [&[ADRP][..], &[NOP; 100], &[add]].concat();
        assert_eq!(found(&far, 0x3018..0x3019), Some(0x3018));
    }

    #[test]
    fn a_register_with_another_value_is_not_followed() {
        let add = 0x9100_6000_u32;
        let lost = 0x3018..0x3019;
        // mov x0, #0; ldr x0, [x1]; ret; bl
        for other in [0xd280_0000, 0xf940_0020, RET, 0x9400_0010] {
            assert_eq!(found(&[ADRP, other, add], lost.clone()), None, "{other:x}");
        }
        // adrp x19 is kept by a call: bl; add x0, x19, #0x18
        assert_eq!(found(&[ADRP | 0x13, 0x9400_0010, 0x9100_6260], lost.clone()), Some(0x3018));
        // cbz x1, +3; mov x0, #0; ret; add x0, x0, #0x18
        assert_eq!(found(&[ADRP, 0xb400_0061, 0xd280_0000, RET, add], lost.clone()), Some(0x3018));
        // b +3; add (of another function); ret; ret
        assert_eq!(found(&[ADRP, 0x1400_0003, add, RET, RET], lost), None);
    }

    #[test]
    fn near_places_and_numbers() {
        // adr x0, 0x1018; ldr x0, 0x1018
        for word in [0x1000_00c0, 0x5800_00c0] {
            assert_eq!(found(&[word, RET], 0x1018..0x1019), Some(0x1018), "{word:x}");
            assert_eq!(found(&[word, RET], 0x1010..0x1018), None, "{word:x}");
        }
        // movz x0, #0x4d68; movk x0, #0x42, lsl #16
        assert_eq!(found(&[0xd289_ad00, 0xf2a0_0840, RET], 0x42_0000..0x43_0000), Some(0x42_4d68));
    }
}
