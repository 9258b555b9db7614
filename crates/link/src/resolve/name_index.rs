//! An index of names, global or static: a table of hashes. A large link looks for a hundred thousand names, one after the other, and
//! most of them are new.

use crate::model::ids::EntityId;

/// What bears which name.
#[derive(Debug)]
pub struct NameIndex {
    /// A hash above the number of what has the name, counted from 1, or 0. A name that finds its place taken goes to the
    /// next. Their number is a power of two.
    places: Vec<u64>,
    names: usize,
}

/// How many places there are to begin with.
const LEAST: usize = 64;

impl Default for NameIndex {
    fn default() -> Self {
        Self { places: vec![0; LEAST], names: 0 }
    }
}

impl NameIndex {
    /// Makes room for this many names.
    pub fn expect(&mut self, names: usize) {
        // At most four of five are taken.
        let size = (names + names / 4 + 1).next_power_of_two();
        if size <= self.places.len() {
            return;
        }
        let mut places = vec![0; size];
        std::mem::swap(&mut self.places, &mut places);
        for place in places.into_iter().filter(|place| *place != 0) {
            let at = self.find((place >> 32) as u32, |_| false);
            self.places[at] = place;
        }
    }

    /// What `is_same` finds to have the name with this hash; otherwise `new`, which has it from now on.
    pub fn find_or_enter(
        &mut self,
        hash: u32,
        new: EntityId,
        is_same: impl Fn(EntityId) -> bool,
    ) -> EntityId {
        let at = self.find(hash, is_same);
        if let Some(number) = (self.places[at] as u32).checked_sub(1) {
            return EntityId::at(number as usize);
        }
        self.places[at] = u64::from(hash) << 32 | u64::from(new.number() + 1);
        self.names += 1;
        if self.names + self.names / 4 >= self.places.len() {
            self.expect(2 * self.names);
        }
        new
    }

    /// What `is_same` finds to have the name with this hash.
    pub fn get(&self, hash: u32, is_same: impl Fn(EntityId) -> bool) -> Option<EntityId> {
        let number = (self.places[self.find(hash, is_same)] as u32).checked_sub(1)?;
        Some(EntityId::at(number as usize))
    }

    /// Whether something that `is_same` finds has the name with this hash.
    pub fn contains(&self, hash: u32, is_same: impl Fn(EntityId) -> bool) -> bool {
        self.get(hash, is_same).is_some()
    }

    /// Where a name is, or belongs.
    fn find(&self, hash: u32, is_same: impl Fn(EntityId) -> bool) -> usize {
        let last = self.places.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let place = self.places[at];
            if place == 0 {
                return at;
            }
            if (place >> 32) as u32 == hash && is_same(EntityId::at(place as u32 as usize - 1)) {
                return at;
            }
            at = (at + 1) & last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EntityId, NameIndex};

    #[test]
    fn names_of_one_hash_are_told_apart_and_found_after_growth() {
        let hash = |name: usize| (name / 3) as u32 * 7;
        let mut index = NameIndex::default();
        for name in 0..1000 {
            assert_eq!(
                index.find_or_enter(hash(name), EntityId::at(name), |id| id.index() == name).index(),
                name
            );
        }
        for name in 0..1000 {
            let found = index.find_or_enter(hash(name), EntityId::at(5000), |id| id.index() == name);
            assert_eq!(found.index(), name);
        }
    }
}
