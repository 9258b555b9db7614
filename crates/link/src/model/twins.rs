//! The Mercury twin of each section of an object.

use solder_cubin::raw::Symbol;

/// The Mercury view of an object.
#[derive(Debug)]
pub struct Twins<'data> {
    /// The symbols in the order of `.symtab`, which has a few more at its end.
    pub(crate) symbols: &'data [Symbol],
    /// The twin of each section, 0 for none; and, by twin, the section it belongs to.
    pub(crate) partner: Vec<u32>,
    /// The relocations of functions whose code an earlier function of their name has too, and those of that one.
    pub(crate) copies: Vec<(u32, u32)>,
    /// The Mercury attributes of functions of whose name there is an earlier one, those of that one, and whether both have the same code, in
    /// order.
    pub(crate) later_infos: Vec<(u32, u32, bool)>,
}

impl<'data> Twins<'data> {
    /// The twin of a section, or the section that a twin belongs to.
    pub fn partner(&self, section: u32) -> Option<u32> {
        self.partner.get(section as usize).copied().filter(|partner| *partner != 0)
    }

    /// The section of the relocations that apply to a function. nvlink finds them by name, so that they are those of the
    /// first function of that name; that goes well if both have the same code.
    pub fn relocations(&self, of: u32) -> u32 {
        self.copies.iter().find(|(later, _)| *later == of).map_or(of, |(_, earlier)| *earlier)
    }

    /// The Mercury attributes of the first function of a name, by those of any.
    pub fn first_info(&self, of: u32) -> u32 {
        self.later_info(of).map_or(of, |(_, first, _)| first)
    }

    /// The Mercury attributes of the first function of a name and the section that they belong to, by those of a later one with the same code.
    pub fn infos_of_same_code(&self, of: u32) -> Option<(u32, u32)> {
        let (_, first, _) = self.later_info(of).filter(|(.., is_same)| *is_same)?;
        Some((first, self.partner(first)?))
    }

    fn later_info(&self, of: u32) -> Option<(u32, u32, bool)> {
        let at = self.later_infos.binary_search_by_key(&of, |(later, ..)| *later).ok()?;
        Some(self.later_infos[at])
    }

    /// A symbol as the Mercury view has it.
    pub fn symbol(&self, index: u32) -> Option<&'data Symbol> {
        self.symbols.get(index as usize)
    }
}
