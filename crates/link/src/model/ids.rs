//! The ids in which the phases after loading speak. An optional one takes no more room than an id.

use std::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The id with this index.
            pub fn at(index: usize) -> Self {
                Self(NonZeroU32::MIN.saturating_add(index as u32))
            }
            /// The index.
            pub fn index(self) -> usize {
                self.number() as usize
            }
            /// The index, as a word.
            pub fn number(self) -> u32 {
                self.0.get() - 1
            }
        }
    };
}

id!(
    /// An input object, in link order.
    FileId
);
id!(
    /// A thing that symbols of the inputs name: one per global name, one per local symbol.
    EntityId
);
id!(
    /// A symbol of the output, in the order of creation.
    SymbolId
);
id!(
    /// The constants of a device function, in `Merged::constants`.
    ConstantId
);
id!(
    /// A section of the output, in the order of creation.
    SectionId
);
id!(
    /// A prototype string, numbered by first mention.
    PrototypeId
);

/// A property that few entities have: it takes room up to the last one of these.
#[derive(Clone, Debug)]
pub struct Rare<T>(Vec<Option<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Rare<T> {
    /// The property of an entity, if it has it.
    pub fn get(&self, entity: EntityId) -> Option<T> {
        self.0.get(entity.index()).copied().flatten()
    }

    /// The place of the property of an entity.
    pub fn get_mut(&mut self, entity: EntityId) -> &mut Option<T> {
        if self.0.len() <= entity.index() {
            self.0.resize(entity.index() + 1, None);
        }
        &mut self.0[entity.index()]
    }

    /// Those that have it, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, T)> + '_ {
        self.0.iter().enumerate().filter_map(|(index, value)| Some((EntityId::at(index), (*value)?)))
    }
}
