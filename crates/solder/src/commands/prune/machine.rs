//! Looks for addresses in machine code.

use std::collections::HashSet;

/// The first of the addresses that an instruction with a place relative to itself may refer to. Instructions are not
/// told apart from their operands, so that more is found than there is; that a given address is found by chance is
/// improbable.
pub(super) fn x86_64(code: &[u8], start: u64, addresses: &HashSet<u64>) -> Option<u64> {
    /// `lea` and `mov` from memory.
    const OPERATIONS: [u8; 2] = [0x8d, 0x8b];
    code.windows(6).enumerate().find_map(|(at, bytes)| {
        let [operation, operand, place @ ..] = bytes else { return None };
        if operand & 0xc7 != 0x05 || !OPERATIONS.contains(operation) {
            return None;
        }
        let place = i32::from_le_bytes(place.try_into().ok()?);
        let address = start.wrapping_add(at as u64 + 6).wrapping_add_signed(place.into());
        addresses.contains(&address).then_some(address)
    })
}

/// The same for `adrp` and the `add` that follows it.
pub(super) fn aarch64(code: &[u8], start: u64, addresses: &HashSet<u64>) -> Option<u64> {
    /// Instructions between the two.
    const NEAR: usize = 8;
    let words: Vec<u32> =
        code.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    words.iter().enumerate().find_map(|(at, &word)| {
        if word & 0x9f00_0000 != 0x9000_0000 {
            return None;
        }
        let pages = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
        let pages = i64::from((pages << 11).cast_signed() >> 11);
        let page = (start.wrapping_add(at as u64 * 4) & !0xfff).wrapping_add_signed(pages << 12);
        let register = word & 31;
        words[at + 1..].iter().take(NEAR).find_map(|&next| {
            let adds = next & 0xffc0_0000 == 0x9100_0000 && next >> 5 & 31 == register;
            let address = page.wrapping_add(u64::from(next >> 10 & 0xfff));
            (adds && addresses.contains(&address)).then_some(address)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found() {
        // lea 0x20(%rip), %rax
        let code = [0x90, 0x48, 0x8d, 0x05, 0x20, 0, 0, 0, 0xc3];
        assert_eq!(x86_64(&code, 0x1000, &HashSet::from([0x1028])), Some(0x1028));
        assert_eq!(x86_64(&code, 0x1000, &HashSet::from([0x1027])), None);
        // adrp x0, 0x3000; nop; add x0, x0, #0x18
        let code = [0x9000_0000_u32 | 1 << 30, 0xd503_201f, 0x9100_6000].map(u32::to_le_bytes).concat();
        assert_eq!(aarch64(&code, 0x1000, &HashSet::from([0x3018])), Some(0x3018));
        assert_eq!(aarch64(&code, 0x1000, &HashSet::from([0x3010])), None);
    }
}
