//! Thousands of inputs from one compilation: names of a fixed length in a compiled file are replaced by others.

use crate::Result;

/// What stands for the name of the module, and for that of another module that it refers to.
pub const HOLES: [&str; 2] = ["MODXXXX", "NXTXXXX"];

/// A compiled file, and where the holes are in it.
#[derive(Debug)]
pub struct Template {
    bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Template {
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        let mut places = Vec::new();
        for (hole, text) in HOLES.iter().enumerate() {
            let found =
                bytes.windows(text.len()).enumerate().filter(|(_, window)| *window == text.as_bytes());
            places.extend(found.map(|(at, _)| (at, hole)));
        }
        if places.is_empty() {
            return Err("bench: there is nothing to replace in a template".into());
        }
        Ok(Self { bytes, places })
    }

    /// The file for a module and the one it refers to.
    pub fn fill(&self, module: usize, next: usize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let names = [name(module), name(next)];
        for (at, hole) in &self.places {
            let name = names[*hole].as_bytes();
            bytes[*at..at + name.len()].copy_from_slice(name);
        }
        bytes
    }
}

/// As long as a hole.
pub fn name(module: usize) -> String {
    format!("M{module:06}")
}

/// A stream of numbers that depends on nothing but its seed.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        let template = Template::new(b"k_MODXXXX calls f_NXTXXXX".to_vec()).unwrap();
        assert_eq!(template.fill(3, 12), b"k_M000003 calls f_M000012");
        assert!(Template::new(b"nothing".to_vec()).is_err());
    }
}
