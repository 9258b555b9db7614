//! `.debug_frame` of machine code that has a Mercury view.
//!
//! nvlink makes it from that of the Mercury view: an entry there that still names a function gives one here. The first
//! of a function describes its machine code: it has what all of Mercury's say, at the places that this has in the code. Any
//! further one, of a replaced copy, is Mercury's without its instructions.

use super::merger::{FrameTable, Merger};
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::merged::{Chunk, Content, Reloc, RelocTarget};
use crate::model::object::{Object, Role};
use crate::model::symbols::Origin;
use hashbrown::{HashMap, HashSet};
use solder_cubin::frames::{Event, Frame, Frames};
use solder_cubin::mercury::reloc as mercury_reloc;
use solder_cubin::raw::{self, Rela};
use solder_cubin::{Section, reloc};
use solder_sass::Places;
use std::collections::BTreeMap;

static EMPTY: [u8; 40] = Frame::EMPTY;

/// Every byte, to be pointed at.
pub(super) static BYTES: [u8; 256] = {
    let mut bytes = [0; 256];
    let mut byte = 0;
    while byte < bytes.len() {
        bytes[byte] = byte as u8;
        byte += 1;
    }
    bytes
};

/// The relocations of a section of an input.
fn relocations_of(object: &Object<'_>, section: u32) -> Vec<Rela> {
    let of_section = |s: &&Section<'_>| s.info() == section;
    let all = object.sections_with(Role::Relocations).filter(of_section);
    all.filter_map(|s| s.relocations().ok()).flat_map(|list| list.iter().collect::<Vec<_>>()).collect()
}

impl<'data> Merger<'_, 'data> {
    /// Reads the frames of an input whose Mercury twin has been appended.
    pub(super) fn append_frames(&mut self, file: FileId, section: &Section<'data>, out: SectionId) {
        self.mercury.frames.section = Some(out);
        self.out.files[file.index()].sections[section.index as usize] = Some((out, 0));
        let object = &self.objects[file.index()];
        let is_function = |e: &Rela| object.symbol(e.symbol.get()).kind() == raw::STT_FUNC;
        let functions: HashMap<u64, u32, foldhash::fast::FixedState> = relocations_of(object, section.index)
            .iter()
            .filter(|e| is_function(e))
            .map(|e| (e.offset.get(), e.symbol.get()))
            .collect();
        for frame in Frames::of(section.data) {
            if let Some(symbol) = functions.get(&frame.address()) {
                self.mercury.frames.code.entry(Origin { file, symbol: *symbol }).or_insert(frame);
            }
        }
        let Some(twin) = object.mercury.as_ref().and_then(|twins| twins.partner(section.index)) else {
            return;
        };
        let Some((_, base)) = self.out.files[file.index()].sections[twin as usize] else { return };
        let frames = Frames::of(object.section(twin).data);
        self.mercury.frames.mercury.extend(frames.map(|frame| (base + frame.range.start, frame)));
    }

    /// Makes the section and its relocations, which are in the order of Mercury's.
    pub(super) fn finish_frames(&mut self) {
        let FrameTable { code, mercury, section: Some(section) } = std::mem::take(&mut self.mercury.frames)
        else {
            return;
        };
        let Some(relocations) = self.out.section(section).rela else { return };
        let Some(twin) = self.out.section(relocations).twin else { return };
        let Content::Relocations(of_mercury) = &self.out.section(twin).content else { return };
        let of_function = |entry: &Reloc| match entry.target {
            RelocTarget::Symbol(id) if entry.r_type == mercury_reloc::FRAME_64 => {
                self.frame_counts(id, entry.file).then_some(id)
            }
            _ => None,
        };
        let functions: HashMap<u64, SymbolId, foldhash::fast::FixedState> =
            of_mercury.iter().filter_map(|entry| Some((entry.offset, of_function(entry)?))).collect();
        let of_symbol =
            |(at, frame): (u64, Frame<'data>)| Some((*functions.get(&(at + Frame::ADDRESS))?, at, frame));
        let made = self.make_frames(&code, &mercury.into_iter().filter_map(of_symbol).collect::<Vec<_>>());
        let mut list: Vec<Reloc> = of_mercury
            .iter()
            .filter(|entry| of_function(entry).is_some())
            .filter_map(|entry| {
                let frame = made.moved.get(&entry.offset.checked_sub(Frame::ADDRESS)?)?;
                Some(Reloc { offset: frame + Frame::ADDRESS, r_type: reloc::R_CUDA_64, ..*entry })
            })
            .collect();
        let out = self.out.section(section);
        list.extend(out.symbol.into_iter().flat_map(|symbol| made.pointers(symbol)));
        *self.out.section_mut(relocations).relocations_mut() = list;
        let out = self.out.section_mut(section);
        (out.content, out.size) = (Content::Bytes(made.chunks), made.end);
    }

    /// The frames for those of Mercury, each with its function and its place in Mercury's section.
    fn make_frames(
        &self,
        code: &HashMap<Origin, Frame<'data>, foldhash::fast::FixedState>,
        mercury: &[(SymbolId, u64, Frame<'data>)],
    ) -> FrameBytes<'data> {
        // A function that has a frame under another name needs none here.
        let mut described: HashSet<Option<SectionId>, foldhash::fast::FixedState> =
            self.first_aliases().map(|(_, text)| Some(text)).collect();
        let mut by_function: HashMap<_, Vec<&Frame<'data>>, foldhash::fast::FixedState> = HashMap::default();
        for (function, _, frame) in mercury {
            by_function.entry(self.out.symbol(*function).section).or_default().push(frame);
        }
        let mut made = FrameBytes::default();
        for (function, at, frame) in mercury {
            let function = self.out.symbol(*function);
            let is_first = described.insert(function.section);
            let of_code = function.origin.and_then(|origin| code.get(&origin)).filter(|_| is_first);
            let all = &by_function[&function.section];
            // What a single one says the assembler has put into the machine code's already.
            let is_new = |of_code: &&Frame<'data>| all.len() > 1 || of_code.counts_bytes();
            let events = of_code.filter(is_new).zip(function.origin);
            let events = events.and_then(|(_, origin)| events_in_code(&self.places(origin)?, all));
            made.push(*at, of_code, frame, events.as_deref().map(|events| (events, function.size)));
        }
        made
    }

    /// Where the Mercury instructions of a function lie in its machine code.
    pub(super) fn places(&self, origin: Origin) -> Option<Places> {
        let object = &self.objects[origin.file.index()];
        let text = u32::from(object.symbol(origin.symbol).shndx.get());
        let capsule = object.mercury.as_ref()?.partner(text)?;
        Places::of(object.section(text).data, object.section(capsule).data)
    }

    /// Whether a frame from this file speaks of a copy of the function that nvlink has not forgotten.
    pub(super) fn frame_counts(&self, function: SymbolId, file: FileId) -> bool {
        let symbol = self.out.symbol(function);
        symbol.is_function() && symbol.has_debug_of(file)
    }

    /// The other names that come before the name of their function, and its section. Up to 13.4 nvlink takes the first
    /// name that it meets for the function's.
    pub(super) fn first_aliases(&self) -> impl Iterator<Item = (SymbolId, SectionId)> {
        let place = |id: SymbolId| (self.out.symbol(id).among_globals, id);
        let aliases = self.out.functions.iter().filter(|f| f.alias);
        aliases.filter_map(move |f| {
            let text = f.text?;
            let function = self.out.section(text).function?;
            let is_first = self.settings.takes_first_name && place(f.symbol) < place(function);
            is_first.then_some((f.symbol, text))
        })
    }

    /// The first name of a function has its size.
    pub(super) fn size_aliases(&mut self) {
        // In an object of a relocatable link it may have one already, which Mercury's view does not know.
        for alias in self.out.functions.iter().filter(|f| f.alias).map(|f| f.symbol).collect::<Vec<_>>() {
            self.out.symbol_mut(alias).size = 0;
        }
        let mut first: Vec<_> = self.first_aliases().collect();
        first.sort_by_key(|(alias, of)| (*of, self.out.symbol(*alias).among_globals, *alias));
        first.dedup_by_key(|(_, of)| *of);
        for (alias, text) in first {
            let size = self.out.section(text).function.map_or(0, |f| self.out.symbol(f).size);
            let symbol = self.out.symbol_mut(alias);
            symbol.rest_mut().differs.size = Some(symbol.size);
            symbol.size = size;
        }
    }
}

/// What the frames of Mercury say, in the order of the machine code; of one place the last one holds. What they say of places
/// where no instruction begins is lost.
fn events_in_code<'data>(places: &Places, frames: &[&Frame<'data>]) -> Option<Vec<Event<'data>>> {
    let mut events = BTreeMap::new();
    for frame in frames {
        for event in frame.events()? {
            events.extend(places.in_code(event.at).map(|at| (at, event.instructions)));
        }
    }
    Some(events.into_iter().map(|(at, instructions)| Event { at, instructions }).collect())
}

/// The section in the making.
#[derive(Debug, Default)]
struct FrameBytes<'data> {
    chunks: Vec<Chunk<'data>>,
    end: u64,
    /// Where the frames of Mercury went.
    moved: HashMap<u64, u64, foldhash::fast::FixedState>,
    /// Frames and their CIEs.
    frames: Vec<(u64, u64)>,
}

impl<'data> FrameBytes<'data> {
    /// A frame, with these events and for code of this size if they are given.
    fn push(
        &mut self,
        at: u64,
        of_code: Option<&Frame<'data>>,
        mercury: &Frame<'data>,
        events: Option<(&[Event<'data>], u64)>,
    ) {
        let cie = self.end;
        match (events, mercury.cie.split_at_checked(Frame::CODE_ALIGNMENT)) {
            // Its places are counted in words now. The registers that it is about are those of the copy that came first.
            (Some(_), Some((before, [_, after @ ..]))) => {
                self.chunk(before);
                self.number(u64::from(Frame::WORD), 1);
                self.chunk(after);
            }
            _ => self.chunk(of_code.unwrap_or(mercury).cie),
        }
        self.moved.insert(at, self.end);
        self.frames.push((self.end, cie));
        match (of_code, events) {
            (Some(frame), Some((events, size))) => self.with_events(frame, events, size),
            (Some(frame), None) => self.chunk(frame.fde),
            (None, _) => self.without_instructions(mercury),
        }
    }

    fn chunk(&mut self, data: &'data [u8]) {
        self.chunks.push(Chunk { offset: self.end, data });
        self.end += data.len() as u64;
    }

    fn number(&mut self, value: u64, bytes: usize) {
        for byte in &value.to_le_bytes()[..bytes] {
            self.chunk(&BYTES[usize::from(*byte)..][..1]);
        }
    }

    /// The frame with these instructions.
    fn with_events(&mut self, frame: &Frame<'data>, events: &[Event<'data>], code: u64) {
        /// An instruction that goes on.
        const ADVANCE: usize = 1 + size_of::<u32>();
        let Some(head) = frame.head() else { return self.chunk(frame.fde) };
        let start = self.end;
        let before = |index: usize| index.checked_sub(1).map_or(0, |before| events[before].at);
        let goes_on = |(index, event): &(usize, &Event<'data>)| event.at != before(*index);
        let advances = events.iter().enumerate().filter(goes_on).count() * ADVANCE;
        let instructions: usize = events.iter().map(|event| event.instructions.len()).sum();
        let size = (head.len() + advances + instructions).next_multiple_of(Frame::ALIGN);
        let pointer = Frame::POINTER as usize;
        self.chunk(&head[..pointer - size_of::<u64>()]);
        self.number((size - pointer) as u64, size_of::<u64>());
        self.chunk(&head[pointer..Frame::CODE_RANGE]);
        self.number(code, size_of::<u64>());
        for (index, event) in events.iter().enumerate() {
            if goes_on(&(index, event)) {
                self.number(u64::from(Frame::ADVANCE), 1);
                self.number((event.at - before(index)) / u64::from(Frame::WORD), size_of::<u32>());
            }
            self.chunk(event.instructions);
        }
        self.end = start + size as u64;
    }

    fn without_instructions(&mut self, frame: &Frame<'data>) {
        let end = self.end + EMPTY.len() as u64;
        self.chunk(&EMPTY[..Frame::ADDRESS as usize + size_of::<u64>()]);
        self.chunk(frame.range_of_code());
        self.end = end;
    }

    fn pointers(&self, section: SymbolId) -> impl Iterator<Item = Reloc> {
        self.frames.iter().map(move |(frame, cie)| Reloc {
            offset: frame + Frame::POINTER,
            target: RelocTarget::Symbol(section),
            r_type: reloc::R_CUDA_64,
            addend: *cie as i64,
            file: FileId::at(0),
        })
    }
}
