//! Bytes that come into being while inputs are opened: unpacked members, assembled PTX, compiled IR.

use elsa::sync::FrozenVec;

/// Owns bytes that a link borrows. They are added from any thread, do not move, and are freed with the store.
#[derive(Default)]
pub struct Store(FrozenVec<Vec<u8>>);

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Store").field(&self.0.len()).finish()
    }
}

impl Store {
    /// Takes bytes, and lends them.
    pub fn own(&self, bytes: Vec<u8>) -> &[u8] {
        if bytes.is_empty() { &[] } else { self.0.push_get(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_bytes_stay() {
        let store = Store::default();
        let kept: Vec<&[u8]> = (0..1000u32).map(|n| store.own(n.to_le_bytes().to_vec())).collect();
        for (n, bytes) in kept.into_iter().enumerate() {
            assert_eq!(bytes, (n as u32).to_le_bytes());
        }
    }
}
