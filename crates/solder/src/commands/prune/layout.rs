//! Where everything goes in a pruned executable or shared library: the sections of fat binaries, the segments, and the
//! tables that make room for another segment.

use std::ops::Range;

use solder_cubin::raw::{ET_EXEC, FileHeader, PF_R, PT_LOAD, PT_PHDR, ProgramHeader, SectionHeader};
use zerocopy::IntoBytes;

use super::host::{Code, EM_AARCH64, Host, SHF_ALLOC, SHT_DYNAMIC, SHT_NOBITS, SHT_NOTE, SHT_STRTAB};
use super::pieces::Pieces;

/// Segments that overlap a section of fat binaries without being loaded.
const OVERLAP: &str = "a segment that is not loaded holds a part of the fat binaries";

const NO_ROOM: &str = "there is no room for another segment";

/// Addresses lie below; what a program may use is far less.
const ADDRESSES: u64 = 1 << 57;

/// A section of fat binaries, and the segment that loads it.
#[derive(Clone, Copy)]
struct Cut {
    segment: usize,
    /// Bytes that stay at the start of the section, tables that were moved there included.
    kept: u64,
    /// Bytes that the file loses, in whole pages; 0 if not one comes free.
    lost: u64,
}

/// Tables after that of the segments, which make room for it.
#[derive(Clone)]
pub(super) struct Block {
    /// Where in the file they are.
    pub(super) old: Range<u64>,
    /// Where they go, in memory and in the file as it would be if it lost nothing before them.
    new: u64,
    pub(super) addresses: Range<u64>,
    new_address: u64,
    align: u64,
}

pub(super) struct Layout<'a, 'data> {
    host: &'a Host<'data>,
    code: &'a [Code<'data>],
    cuts: Vec<Cut>,
    pub(super) block: Option<Block>,
    /// In which cut the block goes.
    holder: usize,
}

/// Gives sections that no longer fit a place after all that is in memory.
pub(super) fn move_grown(host: &Host<'_>, code: &mut [Code<'_>]) -> Result<(), String> {
    let page = page(host);
    let loaded = host.segments.iter().filter(|segment| segment.p_type.get() == PT_LOAD);
    let ends = loaded.map(|segment| segment.vaddr.get().checked_add(segment.memsz.get()));
    let mut next = ends.max().flatten();
    for code in code.iter_mut().filter(|code| code.new.pieces.size() > code.size()) {
        let address = next.filter(|end| *end < ADDRESSES).ok_or("there is no room after its memory")?;
        let address = address.next_multiple_of(page);
        code.moved = Some(address);
        next = address.checked_add(code.new.pieces.size());
    }
    Ok(())
}

impl<'a, 'data> Layout<'a, 'data> {
    /// patchelf adds a segment, and one for each note, and takes what lies there for the first sections of the table. After
    /// tables have moved it overwrites others, unless there is room for its segments.
    pub(super) fn of(host: &'a Host<'data>, code: &'a [Code<'data>]) -> Result<Self, String> {
        /// More than compilers and linkers leave.
        const MOST_NOTES: usize = 16;
        let notes = host.sections.iter().filter(|section| section.sh_type.get() == SHT_NOTE);
        let notes = notes.take(MOST_NOTES).count() as u64;
        let plain = Self::with_spare(host, code, 0)?;
        if plain.block.is_none() {
            return Ok(plain);
        }
        let is_good = |roomy: &Self| {
            roomy.new_segments() == plain.new_segments() && !roomy.makes_room_for_dynamic_section()
        };
        let mut roomy = (1..=notes + 1).rev().filter_map(|spare| Self::with_spare(host, code, spare).ok());
        Ok(roomy.find(is_good).unwrap_or(plain))
    }

    /// In a program that is loaded where it was linked, patchelf puts the dynamic section after the table of segments too, if it
    /// fits there with what lies up to the names of dynamic symbols. The program then crashes, since nobody may write there.
    fn makes_room_for_dynamic_section(&self) -> bool {
        let Some(block) = self.block.as_ref().filter(|_| self.host.header.e_type.get() == ET_EXEC) else {
            return false;
        };
        let sections = || self.host.sections.iter().filter(|s| !matches!(s.sh_type.get(), 0 | SHT_NOBITS));
        let is_names =
            |s: &SectionHeader| s.sh_type.get() == SHT_STRTAB && block.old.contains(&s.offset.get());
        let header = &self.host.header;
        let end = header.phoff.get() + (u64::from(header.phnum.get()) + self.new_segments()) * 56;
        let next = sections().map(|s| s.offset.get()).filter(|offset| *offset >= block.old.end).min();
        let room = next.unwrap_or(block.old.end).saturating_sub(end);
        let fits = |s: &SectionHeader| s.sh_type.get() == SHT_DYNAMIC && s.size.get() <= room;
        sections().any(|section| is_names(section) || fits(section))
    }

    /// `spare` is the number of segments that somebody may add later.
    fn with_spare(host: &'a Host<'data>, code: &'a [Code<'data>], spare: u64) -> Result<Self, String> {
        let cuts = code.iter().map(|code| Cut::of(host, code)).collect::<Result<_, _>>()?;
        let mut layout = Self { host, code, cuts, block: None, holder: 0 };
        loop {
            for (cut, code) in layout.cuts.iter_mut().zip(code) {
                cut.kept = if code.moved.is_some() { 0 } else { code.new.pieces.size() };
                cut.lost = if cut.lost == 0 { 0 } else { lost(host, code, cut.kept) };
            }
            if layout.new_segments() == 0 {
                layout.block = None;
                return Ok(layout);
            }
            layout.block = match layout.block_to_move(spare) {
                Ok(block) => block,
                // There may be room for fewer segments: the section that would lose the least keeps its pages.
                Err(_) if layout.cuts.iter().filter(|cut| cut.lost > 0).count() > 1 => {
                    let losing = layout.cuts.iter_mut().filter(|cut| cut.lost > 0);
                    losing.min_by_key(|cut| cut.lost).into_iter().for_each(|cut| cut.lost = 0);
                    continue;
                }
                Err(reason) => return Err(reason),
            };
            let Some(block) = &mut layout.block else { return Ok(layout) };
            let rooms = layout.cuts.iter().zip(code).map(|(cut, code)| match code.moved {
                Some(_) => code.size(),
                None => cut.lost,
            });
            let (holder, _) = rooms.enumerate().max_by_key(|(_, room)| *room).ok_or(NO_ROOM)?;
            let (code, cut) = (&code[holder], &mut layout.cuts[holder]);
            layout.holder = holder;
            block.place_after(code, cut.kept);
            cut.kept = block.new + (block.old.end - block.old.start) - code.range.start;
            let fits = cut.kept <= code.size();
            cut.lost = if fits { lost(host, code, cut.kept) } else { 0 };
            match code.moved {
                Some(_) if fits => return Ok(layout),
                Some(_) => return Err(NO_ROOM.into()),
                None if cut.lost > 0 => return Ok(layout),
                // It stays as it is, which may take fewer segments.
                None => {}
            }
        }
    }

    fn new_segments(&self) -> u64 {
        let has_end = self.code.iter().any(|code| code.moved.is_some());
        self.cuts.iter().filter(|cut| cut.lost > 0).count() as u64 + u64::from(has_end)
    }

    /// What lies where the longer table of segments ends.
    fn block_to_move(&self, spare: u64) -> Result<Option<Block>, String> {
        let header = &self.host.header;
        let count = u64::from(header.phnum.get());
        let start = header.phoff.get();
        let (old_end, new_end) = (start + count * 56, start + (count + self.new_segments() + spare) * 56);
        let mut sections: Vec<&SectionHeader> = self.host.sections.iter().collect();
        sections.retain(|s| !matches!(s.sh_type.get(), 0 | SHT_NOBITS) && s.size.get() > 0);
        sections.retain(|s| s.offset.get() >= old_end);
        sections.sort_by_key(|section| section.offset.get());
        let Some(first) = sections.first().filter(|section| section.offset.get() < new_end) else {
            return Ok(None);
        };
        let (begin, mut end) = (first.offset.get(), new_end);
        let (address, mut align) = (first.addr.get(), 8);
        for section in sections {
            let offset = section.offset.get();
            if offset >= end {
                break;
            }
            let is_movable = is_table(self.host, section)
                && section.flags.get() & SHF_ALLOC != 0
                && section.addr.get().wrapping_sub(address) == offset - begin;
            if !is_movable {
                return Err(format!(
                    "there is no room for another segment before section '{}'",
                    self.host.name(section)
                ));
            }
            align = align.max(section.align.get());
            end = end.max(offset + section.size.get());
            // A segment, such as that of notes, moves whole.
            for segment in self.host.segments.iter().filter(|s| ![PT_LOAD, PT_PHDR].contains(&s.p_type.get()))
            {
                let (from, size) = (segment.offset.get(), segment.filesz.get());
                if (begin..end).contains(&from) {
                    end = end.max(from.saturating_add(size));
                }
            }
        }
        let is_sound = align.is_power_of_two() && align <= 4096 && address < ADDRESSES;
        if end > self.code[0].range.start || !is_sound {
            return Err(NO_ROOM.into());
        }
        let addresses = address..address + (end - begin);
        Ok(Some(Block { old: begin..end, new: 0, addresses, new_address: 0, align }))
    }

    /// The parts of the new file.
    pub(super) fn pieces(&self) -> Pieces<'data> {
        let mut pieces = Pieces::default();
        let mut from = 0;
        for (index, (code, cut)) in self.code.iter().zip(&self.cuts).enumerate() {
            pieces.push(&self.host.data[from as usize..code.range.start as usize]);
            let start = pieces.size();
            if code.moved.is_none() {
                pieces.append(code.new.pieces.clone());
            }
            if let Some(block) = self.block.as_ref().filter(|_| index == self.holder) {
                pieces.zeros(self.block_place(block) - pieces.size());
                pieces.push(&self.host.data[block.old.start as usize..block.old.end as usize]);
            }
            pieces.zeros(start + code.size() - cut.lost - pieces.size());
            from = code.range.end;
        }
        pieces.push(&self.host.data[from as usize..]);
        for code in self.code.iter().filter(|code| code.moved.is_some()) {
            pieces.zeros(self.place_of(code) - pieces.size());
            pieces.append(code.new.pieces.clone());
        }
        pieces
    }

    /// Where in the new file a section of fat binaries begins.
    fn place_of(&self, code: &Code<'_>) -> u64 {
        let moved = self.code.iter().filter_map(|code| code.moved);
        match code.moved.zip(moved.min()) {
            Some((address, first)) => self.end().next_multiple_of(page(self.host)) + (address - first),
            None => self.place(code.range.start),
        }
    }

    /// The end of what was in the file.
    fn end(&self) -> u64 {
        self.place(self.host.data.len() as u64)
    }

    /// The segment of the sections that went to the end.
    fn last_segment(&self) -> Option<ProgramHeader> {
        let moved: Vec<_> = self.code.iter().filter_map(|code| Some((code, code.moved?))).collect();
        let ((first, start), (last, address)) = (*moved.first()?, *moved.last()?);
        let size = address + last.new.pieces.size() - start;
        Some(ProgramHeader {
            p_type: PT_LOAD.into(),
            flags: PF_R.into(),
            offset: self.place_of(first).into(),
            vaddr: start.into(),
            paddr: start.into(),
            filesz: size.into(),
            memsz: size.into(),
            align: page(self.host).into(),
        })
    }

    /// Where in the new file something is that is not in a fat binary.
    pub(super) fn place(&self, offset: u64) -> u64 {
        if let Some(block) = self.block.as_ref().filter(|block| block.old.contains(&offset)) {
            return offset - block.old.start + self.block_place(block);
        }
        let before = self.code.iter().zip(&self.cuts).filter(|(code, _)| code.range.end <= offset);
        offset - before.map(|(_, cut)| cut.lost).sum::<u64>()
    }

    /// Where in the new file the tables are that were moved.
    fn block_place(&self, block: &Block) -> u64 {
        block.new - self.cuts[..self.holder].iter().map(|cut| cut.lost).sum::<u64>()
    }

    /// Where in memory something is that is not in a fat binary.
    pub(super) fn address(&self, address: u64) -> u64 {
        match self.block.as_ref().filter(|block| block.addresses.contains(&address)) {
            Some(block) => address - block.addresses.start + block.new_address,
            None => address,
        }
    }

    pub(super) fn headers(&self, pieces: &mut Pieces<'_>) -> Result<(), String> {
        let old = &self.host.header;
        let mut segments = Vec::new();
        for (index, segment) in self.host.segments.iter().enumerate() {
            match segment.p_type.get() {
                PT_LOAD => self.split(index, segment, &mut segments),
                _ => segments.push(self.moved(segment)?),
            }
        }
        // Segments that are loaded are in the order of their addresses.
        let after =
            segments.iter().rposition(|segment| segment.p_type.get() == PT_LOAD).map_or(0, |at| at + 1);
        segments.splice(after..after, self.last_segment());
        let size = (segments.len() * size_of::<ProgramHeader>()) as u64;
        for segment in segments.iter_mut().filter(|segment| segment.p_type.get() == PT_PHDR) {
            segment.filesz = size.into();
            segment.memsz = size.into();
        }
        let count = u16::try_from(segments.len()).map_err(|_| "too many segments")?;
        let shoff = self.place(old.shoff.get());
        let header = FileHeader { phnum: count.into(), shoff: shoff.into(), ..*old };
        let mut sections: Vec<SectionHeader> = self.host.sections.to_vec();
        for section in &mut sections {
            section.offset = self.place(section.offset.get()).into();
            if section.flags.get() & SHF_ALLOC != 0 {
                section.addr = self.address(section.addr.get()).into();
            }
        }
        for code in self.code {
            let section = &mut sections[code.section];
            section.size = code.new.pieces.size().into();
            section.offset = self.place_of(code).into();
            section.addr = code.moved.unwrap_or(code.address).into();
        }
        pieces.change(0, header.as_bytes());
        pieces.change(old.phoff.get(), segments.as_bytes());
        pieces.change(shoff, sections.as_bytes());
        Ok(())
    }

    /// A segment that is not loaded moves with what it is about.
    fn moved(&self, segment: &ProgramHeader) -> Result<ProgramHeader, String> {
        let start = segment.offset.get();
        let end = start.saturating_add(segment.filesz.get());
        if self.code.iter().any(|code| start < code.range.end && end > code.range.start) {
            return Err(OVERLAP.into());
        }
        Ok(ProgramHeader {
            offset: self.place(start).into(),
            vaddr: self.address(segment.vaddr.get()).into(),
            paddr: self.address(segment.paddr.get()).into(),
            ..*segment
        })
    }

    /// A loaded segment ends where pages are cut out of it, and begins again after them.
    fn split(&self, index: usize, segment: &ProgramHeader, into: &mut Vec<ProgramHeader>) {
        let mut from = segment.offset.get();
        // Where another segment that comes before it in the table begins too, llvm-strip would take the loaded one for a part of that.
        // The page of its first byte is its own.
        let before = |from: u64| {
            let others = self.host.segments[..index].iter();
            let is_shared = others.filter(|s| s.filesz.get() > 0).any(|other| other.offset.get() == from);
            if is_shared && from > segment.offset.get() { from % page(self.host) } else { 0 }
        };
        let part = |from: u64, filesz: u64, memsz: u64| {
            let before = before(from);
            let (offset, from) = (self.place(from) - before, from - before);
            let (filesz, memsz) = (filesz + before, memsz + before);
            let passed = from - segment.offset.get();
            let vaddr = segment.vaddr.get() + passed;
            let shift = vaddr.wrapping_sub(offset);
            let most = if shift == 0 { u64::MAX } else { 1 << shift.trailing_zeros() };
            ProgramHeader {
                offset: offset.into(),
                vaddr: vaddr.into(),
                paddr: segment.paddr.get().wrapping_add(passed).into(),
                filesz: filesz.into(),
                memsz: memsz.into(),
                align: segment.align.get().min(most).into(),
                ..*segment
            }
        };
        for (code, cut) in self.code.iter().zip(&self.cuts) {
            if cut.segment == index && cut.lost > 0 {
                let size = code.range.start + cut.kept - from;
                if size > 0 {
                    into.push(part(from, size, size));
                }
                from = code.range.end;
            }
        }
        let passed = from - segment.offset.get();
        let (filesz, memsz) = (segment.filesz.get() - passed, segment.memsz.get() - passed);
        if memsz > 0 || passed == 0 {
            into.push(part(from, filesz, memsz));
        }
    }
}

impl Cut {
    fn of(host: &Host<'_>, code: &Code<'_>) -> Result<Self, String> {
        let holds = |segment: &ProgramHeader| {
            let end = segment.offset.get().checked_add(segment.filesz.get());
            segment.p_type.get() == PT_LOAD
                && segment.offset.get() <= code.range.start
                && end.is_some_and(|end| code.range.end <= end && end <= host.data.len() as u64)
        };
        let segment = host.segments.iter().position(holds).ok_or("a fat binary is in no loaded segment")?;
        let header = &host.segments[segment];
        let address = header.vaddr.get().checked_add(code.range.start - header.offset.get());
        let is_sound = address == Some(code.address)
            && code.address < ADDRESSES
            && (code.address % page(host) == code.range.start % page(host))
            && header.memsz.get() >= header.filesz.get();
        if !is_sound {
            return Err("the fat binaries are not where their segment says".into());
        }
        Ok(Self { segment, kept: 0, lost: 1 })
    }
}

impl Block {
    /// After the fat binaries that stay.
    fn place_after(&mut self, code: &Code<'_>, kept: u64) {
        let end = code.range.start + kept;
        self.new = end + (self.old.start.wrapping_sub(end) % self.align);
        self.new_address = self.new - code.range.start + code.address;
    }
}

/// The largest page of the machine that Linux may have.
fn page(host: &Host<'_>) -> u64 {
    if host.header.machine.get() == EM_AARCH64 { 64 << 10 } else { 4 << 10 }
}

/// How many bytes of a section, in whole pages, the file can lose if so many stay at its start.
fn lost(host: &Host<'_>, code: &Code<'_>, kept: u64) -> u64 {
    let page = page(host);
    let end = (code.address + kept).next_multiple_of(page);
    let next = (code.address + code.size()) / page * page;
    next.saturating_sub(end)
}

/// Whether a section is found by way of the dynamic section, the segments and the section table alone.
fn is_table(host: &Host<'_>, section: &SectionHeader) -> bool {
    const HASHES_AND_VERSIONS: [u32; 5] = [5, 0x6fff_fff6, 0x6fff_fffd, 0x6fff_fffe, 0x6fff_ffff];
    const NOTES_STRINGS_SYMBOLS: [u32; 3] = [7, 3, 11];
    let kind = section.sh_type.get();
    HASHES_AND_VERSIONS.contains(&kind)
        || NOTES_STRINGS_SYMBOLS.contains(&kind)
        || host.name_bytes(section) == b".interp"
}
