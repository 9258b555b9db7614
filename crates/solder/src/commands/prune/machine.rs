//! Looks for addresses in machine code of x86-64.

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

    /// Whether anything lost is within reach of an access to memory that has the address in a register.
    fn is_near(&self, address: u64) -> bool;

    /// Whether an address is in a section that loses something.
    fn holds(&self, address: u64) -> bool;
}

/// The first address of something lost that an instruction refers to. `is_fixed` says that the program is loaded where it was
/// linked, so that its code has addresses as they are. `tables` are those of addresses, from which code for large programs counts.
pub(super) fn x86_64(
    code: &[u8],
    start: u64,
    lost: &impl Lost,
    is_fixed: bool,
    tables: &[u64],
) -> Option<u64> {
    undecoded(code, start, lost)
        .or_else(|| decoded(code, start, lost, is_fixed))
        .or_else(|| from_tables(code, lost, tables))
}

/// `movabs` of a distance. Other numbers of 64 bits that lead to something lost are improbable.
fn from_tables(code: &[u8], lost: &impl Lost, tables: &[u64]) -> Option<u64> {
    code.windows(9).find_map(|bytes| {
        let (operation, number) = bytes.split_first()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        let far = number.wrapping_add(1 << 40) >> 41;
        if operation & 0xf8 != 0xb8 || far != 0 {
            return None;
        }
        tables.iter().map(|table| table.wrapping_add(number)).find(|address| lost.is_lost(*address))
    })
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
pub(super) fn is_unlikely(number: u64) -> bool {
    /// Of members, and of what a header has.
    const ALIGN: u64 = 8;
    /// Of trailing bits.
    const MANY: u32 = 12;
    number.trailing_zeros() >= MANY || number.is_multiple_of(10_000) || !number.is_multiple_of(ALIGN)
}

#[cfg(test)]
impl Lost for std::ops::Range<u64> {
    fn is_lost(&self, address: u64) -> bool {
        self.contains(&address)
    }

    fn begins(&self, address: u64) -> bool {
        self.start == address
    }

    fn is_near(&self, _: u64) -> bool {
        true
    }

    fn holds(&self, address: u64) -> bool {
        self.contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found() {
        // lea 0x20(%rip), %rax
        let code = [0x90, 0x48, 0x8d, 0x05, 0x20, 0, 0, 0, 0xc3];
        assert_eq!(x86_64(&code, 0x1000, &(0x1028..0x1029), false, &[]), Some(0x1028));
        assert_eq!(x86_64(&code, 0x1000, &(0x1000..0x1028), false, &[]), None);
        // cmpb $7, 0x20(%rip)
        let code = [0x80, 0x3d, 0x20, 0, 0, 0, 0x07, 0xc3];
        assert_eq!(x86_64(&code, 0x1000, &(0x1020..0x1030), false, &[]), Some(0x1027));
        // mov $0x424d68, %edi
        let code = [0xbf, 0x68, 0x4d, 0x42, 0];
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), true, &[]), Some(0x42_4d68));
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), false, &[]), None);
        // mov $0x424fff, %edi
        let code = [0xbf, 0xff, 0x4f, 0x42, 0];
        assert_eq!(x86_64(&code, 0x1000, &(0x42_0000..0x43_0000), true, &[]), None);
        // movabs $-0x1000, %rax
        let code = [0x48, 0xb8, 0, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(x86_64(&code, 0x1000, &(0x3000..0x3001), false, &[0x4000]), Some(0x3000));
        assert_eq!(x86_64(&code, 0x1000, &(0x3000..0x3001), false, &[]), None);
    }

    #[test]
    fn data_between_functions_is_not_code() {
        // mov 0x20(%rip), %ecx
        let load = [0x8b, 0x0d, 0x20, 0, 0, 0];
        let nops = [0x90; SOUND];
        let lost = 0x1000..0x2000;
        let found = |code: &[u8]| x86_64(code, 0x1000, &(lost.start + 1..lost.end), false, &[]).is_some();
        assert!(found(&[&nops[..], &load, &nops].concat()));
        assert!(found(&[&[0x06][..], &nops, &load, &nops].concat()));
        assert!(!found(&[&[0x06][..], &load, &nops].concat()));
        assert!(!found(&[&nops[..], &load, &[0x06], &nops].concat()));
    }
}
