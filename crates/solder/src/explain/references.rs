//! Who refers to which name.

use bstr::BStr;
use hashbrown::HashMap;
use solder_cubin::raw;
use solder_link::model::object::Object;

/// The objects in which each name is undefined, with its symbol there.
#[derive(Debug)]
pub struct References<'a>(pub HashMap<&'a BStr, Vec<(usize, u32)>>);

impl<'a> References<'a> {
    pub fn new(objects: &'a [Object<'_>]) -> Self {
        let mut index: HashMap<&BStr, Vec<(usize, u32)>> = HashMap::new();
        for (file, object) in objects.iter().enumerate() {
            for (symbol, raw) in object.symbols() {
                if !raw.is_defined() && raw.bind() != raw::STB_LOCAL {
                    index.entry(object.names[symbol as usize]).or_default().push((file, symbol));
                }
            }
        }
        Self(index)
    }
}
