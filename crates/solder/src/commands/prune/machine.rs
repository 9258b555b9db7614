//! Looks for addresses in machine code.

use super::x86;

/// Instructions before and after one that must be sound for it to be taken for one. Data between functions looks like code,
/// but not for long.
const SOUND: usize = 8;

/// Addresses that something had and no longer has.
pub(super) trait Lost {
    /// Whether an address leads to something that moves or goes.
    fn is_lost(&self, address: u64) -> bool;

    /// Whether what begins at an address moves or goes.
    fn begins(&self, address: u64) -> bool;
}

/// The first address of something lost that an instruction refers to. `is_fixed` says that the program is loaded where it was
/// linked, so that its code has addresses as they are.
pub(super) fn x86_64(code: &[u8], start: u64, lost: &impl Lost, is_fixed: bool) -> Option<u64> {
    undecoded(code, start, lost).or_else(|| decoded(code, start, lost, is_fixed))
}

/// `lea` and `mov` of what begins, also where the bytes around them are not sound code: that a given address is found by chance is
/// improbable.
fn undecoded(code: &[u8], start: u64, lost: &impl Lost) -> Option<u64> {
    const OPERATIONS: [u8; 2] = [0x8d, 0x8b];
    code.windows(6).enumerate().find_map(|(at, bytes)| {
        let [operation, operand, place @ ..] = bytes else { return None };
        if operand & 0xc7 != 0x05 || !OPERATIONS.contains(operation) {
            return None;
        }
        let place = i32::from_le_bytes(place.try_into().ok()?);
        let address = start.wrapping_add(at as u64 + 6).wrapping_add_signed(place.into());
        lost.begins(address).then_some(address)
    })
}

fn decoded(code: &[u8], start: u64, lost: &impl Lost, is_fixed: bool) -> Option<u64> {
    let (mut at, mut sound) = (0, SOUND);
    // What was found, and how many instructions after it were sound.
    let mut found: Option<(u64, usize)> = None;
    while at < code.len() {
        let Some(instruction) = x86::decode(&code[at..]) else {
            (at, sound, found) = (at + 1, 0, None);
            continue;
        };
        at += instruction.length;
        sound += 1;
        found = found.map(|(address, after)| (address, after + 1));
        if let Some((address, SOUND)) = found {
            return Some(address);
        }
        if found.is_none() && sound > SOUND {
            let end = start.wrapping_add(at as u64);
            found = referred(&instruction, end, lost, is_fixed).map(|address| (address, 0));
        }
    }
    found.map(|(address, _)| address)
}

fn referred(instruction: &x86::Instruction, end: u64, lost: &impl Lost, is_fixed: bool) -> Option<u64> {
    let relative = instruction.relative.map(|place| end.wrapping_add_signed(place.into()));
    let memory = relative.or(instruction.displacement.filter(|_| is_fixed));
    let number = instruction.immediate.filter(|_| is_fixed);
    // A number that begins something is no accident. One that leads to the middle may be, above all where it is compared: the C
    // library has hashes and limits among its numbers.
    let is_address = |number: &u64| {
        lost.begins(*number) || instruction.is_moved && !is_unlikely(*number) && lost.is_lost(*number)
    };
    memory.filter(|address| lost.is_lost(*address)).or(number.filter(is_address))
}

/// Numbers that are more often a mask, a limit or a hash than an address of something in a fat binary.
fn is_unlikely(number: u64) -> bool {
    /// Of members, and of what a header has.
    const ALIGN: u64 = 8;
    /// Of trailing bits.
    const MANY: u32 = 12;
    number.trailing_zeros() >= MANY || number.is_multiple_of(10_000) || !number.is_multiple_of(ALIGN)
}

/// The same for `adrp` and the `add`, or the access to memory, that follows it.
pub(super) fn aarch64(code: &[u8], start: u64, lost: &impl Lost) -> Option<u64> {
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
            let offset = offset(next).filter(|_| next >> 5 & 31 == register)?;
            let address = page.wrapping_add(offset);
            lost.is_lost(address).then_some(address)
        })
    })
}

/// What an instruction adds to a register: `add`, `ldr`, `str`.
fn offset(word: u32) -> Option<u64> {
    let number = u64::from(word >> 10 & 0xfff);
    if word & 0xffc0_0000 == 0x9100_0000 {
        return Some(number);
    }
    // The register of 16 bytes has the size of one of 1 byte.
    let size = if word & 0x0480_0000 == 0x0480_0000 { 4 } else { word >> 30 };
    (word & 0x3b00_0000 == 0x3900_0000).then_some(number << size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    impl Lost for Range<u64> {
        fn is_lost(&self, address: u64) -> bool {
            self.contains(&address)
        }

        fn begins(&self, address: u64) -> bool {
            self.start == address
        }
    }

    #[test]
    fn addresses_are_found() {
        // lea 0x20(%rip), %rax
        let code = [0x90, 0x48, 0x8d, 0x05, 0x20, 0, 0, 0, 0xc3];
        assert_eq!(x86_64(&code, 0x1000, &(0x1028..0x1029), false), Some(0x1028));
        assert_eq!(x86_64(&code, 0x1000, &(0x1000..0x1028), false), None);
        // cmpb $7, 0x20(%rip)
        let code = [0x80, 0x3d, 0x20, 0, 0, 0, 0x07, 0xc3];
        assert_eq!(x86_64(&code, 0x1000, &(0x1020..0x1030), false), Some(0x1027));
        // mov $0x424d68, %edi
        let code = [0xbf, 0x68, 0x4d, 0x42, 0];
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), true), Some(0x42_4d68));
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), false), None);
        // mov $0x424fff, %edi
        let code = [0xbf, 0xff, 0x4f, 0x42, 0];
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), true), None);
        // adrp x0, 0x3000; nop; add x0, x0, #0x18
        let code = [0x9000_0000_u32 | 1 << 30, 0xd503_201f, 0x9100_6000].map(u32::to_le_bytes).concat();
        assert_eq!(aarch64(&code, 0x1000, &(0x3018..0x3019)), Some(0x3018));
        assert_eq!(aarch64(&code, 0x1000, &(0x3010..0x3018)), None);
        // adrp x0, 0x3000; ldr w1, [x0, #0x18]; ldr q1, [x0, #0x180]
        for (load, place) in [(0xb940_1801_u32, 0x3018), (0x3dc0_6001, 0x3180)] {
            let code = [0x9000_0000_u32 | 1 << 30, load].map(u32::to_le_bytes).concat();
            assert_eq!(aarch64(&code, 0x1000, &(place..place + 1)), Some(place));
        }
    }

    #[test]
    fn data_between_functions_is_not_code() {
        // mov 0x20(%rip), %ecx
        let load = [0x8b, 0x0d, 0x20, 0, 0, 0];
        let nops = [0x90; SOUND];
        let lost = 0x1000..0x2000;
        let found = |code: &[u8]| x86_64(code, 0x1000, &(lost.start + 1..lost.end), false).is_some();
        assert!(found(&[&nops[..], &load, &nops].concat()));
        assert!(found(&[&[0x06][..], &nops, &load, &nops].concat()));
        assert!(!found(&[&[0x06][..], &load, &nops].concat()));
        assert!(!found(&[&nops[..], &load, &[0x06], &nops].concat()));
    }
}
