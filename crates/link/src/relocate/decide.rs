//! What becomes of one relocation: resolved, kept for the driver, or dropped.

use super::patch::{Outcome, Patch, is_constant, is_unified_table};
use super::types::Type;
use crate::model::ids::SymbolId;
use crate::model::mercury::NO_BANK as NO_MERCURY_BANK;
use crate::model::merged::{Kind, Merged, OutputSection, OutputSymbol, Reloc, RelocTarget};
use crate::shared::SharedLayout;
use crate::textures::{BANK_OF_CODE, NO_BANK, Textures};
use solder_cubin::mercury::reloc as mercury;
use solder_cubin::{raw, reloc};

/// The bank number that lands in a constant-bank field when its symbol is in shared memory.
const SHARED_BANK: u8 = 24;

/// The place of what has none.
const NOWHERE: u64 = u64::MAX;

/// What a decision depends on beside the relocation itself.
pub struct Decider<'a, 'data> {
    pub merged: &'a Merged<'data>,
    pub relocatable: bool,
    pub shared: &'a SharedLayout,
    pub textures: &'a Textures,
    /// The function whose code or constants the relocations change.
    pub function: Option<u32>,
    /// Whether they belong to the Mercury view.
    pub is_mercury: bool,
    /// Whether the link has a Mercury view, this one or beside it.
    pub has_mercury: bool,
    /// Whether instructions by which threads of a warp let others run do nothing.
    pub removes_yields: bool,
}

impl Decider<'_, '_> {
    /// What becomes of a relocation.
    pub fn decide(&self, entry: &Reloc) -> Outcome {
        let Some(ty) = Type::of(entry.r_type, self.is_mercury) else {
            return Outcome::Wrong("no such type is known");
        };
        if self.removes_yields && !self.is_mercury && entry.target == RelocTarget::Nothing {
            // The opcode is the addend. The other type has none: 0.
            let patch = |field| Outcome::Patch(Patch::Instruction { field, value: entry.addend as u64 });
            return reloc::yield_field(entry.r_type).map_or(Outcome::Drop, patch);
        }
        match (entry.target, ty.clears()) {
            (RelocTarget::Dead, Some(count)) => Outcome::Patch(Patch::Bytes { value: 0, count }),
            (RelocTarget::Dead | RelocTarget::Nothing, _) | (RelocTarget::Symbol(_), Some(_)) => {
                Outcome::Drop
            }
            (RelocTarget::ConstantsSize, _) if self.is_mercury => Outcome::Drop,
            (RelocTarget::ConstantsSize, _) => resolved(ty, entry, self.merged.constants_size(), 0),
            (RelocTarget::Nowhere, _) => resolved(ty, entry, NOWHERE, 0),
            (RelocTarget::Symbol(id), None) => self.of_symbol(ty, entry, id),
        }
    }

    fn of_symbol(&self, ty: Type, entry: &Reloc, id: SymbolId) -> Outcome {
        let symbol = self.merged.symbol(id);
        if symbol.shared {
            return self.shared(ty, entry, id);
        }
        if let Some((offset, bank)) = self.textures.slot(id) {
            let bank = if bank == NO_BANK && symbol.is_defined() { BANK_OF_CODE } else { bank };
            return self.handle(ty, entry, offset, bank);
        }
        if let Some(base) = self.textures.unplaced(symbol).filter(|_| ty.takes_constants()) {
            // An index is not known yet.
            if !ty.names_bank() {
                return Outcome::Keep;
            }
            return Outcome::KeepWith(ty.patch(base.wrapping_add(entry.addend as u64), 0));
        }
        if let Some(constant) = symbol.constant().map(|c| &self.merged.constants[c.index()]) {
            return resolved(ty, entry, constant.offset.wrapping_add(symbol.value), constant.bank);
        }
        match symbol.section.map(|section| self.merged.section(section)) {
            None => self.undefined(ty, entry, id),
            Some(section) if symbol.kind == raw::STT_SECTION => of_section(ty, entry, section),
            Some(section) => self.placed(ty, entry, symbol, section),
        }
    }

    /// What is weak may yet lose its place to another definition.
    fn may_move(&self, symbol: &OutputSymbol<'_>) -> bool {
        self.relocatable && symbol.bind == raw::STB_WEAK
    }

    fn shared(&self, ty: Type, entry: &Reloc, id: SymbolId) -> Outcome {
        if self.may_move(self.merged.symbol(id)) || self.shared.keeps_references {
            return Outcome::Keep;
        }
        if !ty.takes_shared() {
            return Outcome::Wrong("it cannot refer to shared memory");
        }
        // One that nobody defines is nowhere, also where its symbol says 0 (reloc/undefined-shared).
        let value = if self.merged.symbol(id).is_undefined_shared() {
            NOWHERE
        } else {
            self.shared.value(self.merged, id, self.function)
        };
        resolved(ty, entry, value, SHARED_BANK)
    }

    /// The handle of a texture, a sampler or a surface, in a table.
    fn handle(&self, ty: Type, entry: &Reloc, offset: u64, bank: u8) -> Outcome {
        if !ty.takes_constants() {
            return Outcome::Keep;
        }
        // In machine code with a Mercury view, an index for a load that knows where the table begins.
        let is_index = self.has_mercury && !self.is_mercury && !ty.names_bank();
        let base = if is_index { self.textures.base() } else { 0 };
        resolved(ty, entry, offset.wrapping_sub(base), bank)
    }

    /// Nobody defines the symbol. A constant that nobody defines is nowhere, and that is final.
    fn undefined(&self, ty: Type, entry: &Reloc, id: SymbolId) -> Outcome {
        if is_unified_table(self.merged, id) {
            return Outcome::Drop;
        }
        let symbol = self.merged.symbol(id);
        let is_final = match ty {
            Type::Mercury(r_type) => self.relocatable && matches!(r_type, mercury::ABS_16 | mercury::ABS_32),
            Type::Code(..) => ty.takes_constants(),
        };
        // The symbol does not say so where variables may be undefined (core/runtime-not-for-data).
        let is_nowhere = symbol.value == NOWHERE || self.relocatable && symbol.value == 0;
        if !is_final || !is_nowhere || !is_constant(symbol.other) {
            return Outcome::Keep;
        }
        let bank = if self.has_mercury { NO_MERCURY_BANK } else { NO_BANK };
        resolved(ty, entry, NOWHERE, bank)
    }

    /// The symbol has a place in a section.
    fn placed(
        &self,
        ty: Type,
        entry: &Reloc,
        symbol: &OutputSymbol<'_>,
        section: &OutputSection<'_>,
    ) -> Outcome {
        let (is_known, bank) = match section.kind {
            // In an image its place in the memory of every kernel is known.
            Kind::ReservedShared => (!self.is_mercury && !self.relocatable, SHARED_BANK),
            Kind::Constant(bank) | Kind::FunctionConstant(bank) => (!self.may_move(symbol), bank),
            _ => (false, 0),
        };
        if !is_known || !ty.takes_constants() {
            return Outcome::Keep;
        }
        resolved(ty, entry, symbol.value, bank)
    }
}

/// The value is known: it is written, with the addend.
fn resolved(ty: Type, entry: &Reloc, value: u64, bank: u8) -> Outcome {
    Outcome::Patch(ty.patch(value.wrapping_add(entry.addend as u64), bank))
}

/// The symbol is that of a section.
fn of_section(ty: Type, entry: &Reloc, section: &OutputSection<'_>) -> Outcome {
    match ty {
        // Line number tables are made anew for other architectures.
        Type::Mercury(mercury::OFFSET_32) => Outcome::Keep,
        // The addend has the place of this input's part already.
        Type::Mercury(_) => resolved(ty, entry, 0, 0),
        // The driver does not load debug information: an offset in it is final.
        Type::Code(..) => {
            let is_loaded = section.flags & (raw::SHF_ALLOC | raw::SHF_WRITE | raw::SHF_EXECINSTR) != 0;
            let count = ty.offset_size();
            if is_loaded || count == 0 {
                return Outcome::Keep;
            }
            Outcome::Patch(Patch::Bytes { value: entry.addend as u64, count })
        }
    }
}
