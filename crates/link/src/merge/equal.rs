//! Constants that are in the output already, under `-kernels-used` and `-variables-used`.

use hashbrown::HashMap;

/// The constants of one bank.
#[derive(Default)]
pub(super) struct EqualConstants<'data> {
    /// Where the section would end if nothing were merged.
    unmerged_size: u64,
    /// Where those are that are looked for, by alignment and bytes.
    places: HashMap<(u64, &'data [u8]), u64, foldhash::fast::FixedState>,
}

impl<'data> EqualConstants<'data> {
    /// None yet, in a section that begins there.
    pub(super) fn from(start: u64) -> Self {
        Self { unmerged_size: start, ..Self::default() }
    }

    /// Where the next constants would be if nothing were merged.
    pub(super) fn next_place(&mut self, size: u64, align: u64) -> Option<u64> {
        let place = self.unmerged_size.checked_next_multiple_of(align)?;
        self.unmerged_size = place.checked_add(size)?;
        Some(place)
    }

    /// Where equal ones are. To nvlink, one word or double word of zeros is not yet a value that it has seen.
    pub(super) fn find(&self, data: &'data [u8], align: u64) -> Option<u64> {
        let is_small_zero = data.len() <= 8 && data.iter().all(|byte| *byte == 0);
        self.places.get(&(align, data)).copied().filter(|_| !is_small_zero)
    }

    /// Notes where constants are for which [`looks_for`] holds.
    pub(super) fn remember(&mut self, data: &'data [u8], align: u64, place: u64) {
        self.places.insert((align, data), place);
    }
}

/// Whether nvlink looks for constants of this size and alignment among those it has.
pub(super) fn looks_for(size: u64, align: u64) -> bool {
    match size {
        4 | 8 => align == size,
        12 | 16 | 20 | 24 | 32 | 48 | 64 => true,
        _ => false,
    }
}
