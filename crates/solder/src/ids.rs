//! The ids in which the phases after loading speak.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            pub fn at(index: usize) -> Self {
                Self(index as u32)
            }
            pub fn index(self) -> usize {
                self.0 as usize
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
    /// A section of the output, in the order of creation.
    SectionId
);
