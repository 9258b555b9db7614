//! Calls of functions of the system, which code has in place of instructions that its machine lacks: textures and surfaces on sm_107.
//! They are not in the Mercury view, and nvlink adds them when it makes the machine code's view, after all else.

use super::merger::{Merger, New};
use crate::model::calls::BitSet;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::{Kind, OutputSymbol, Reloc, RelocTarget, SystemCaller};
use crate::model::object::{Object, Role};
use crate::model::symbols::Origin;
use bstr::BStr;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_cubin::info::{attr, records};
use solder_cubin::raw::{self, Rela};
use solder_cubin::strings::Table;

impl<'data> Merger<'_, 'data> {
    /// Adds the calls of all functions, in the order of their code. nvlink takes the functions as its threads come to them, so that the
    /// order of its symbols is not always the same.
    pub(super) fn system_calls(&mut self) {
        if !self.objects.iter().any(Object::calls_system) {
            return;
        }
        let mut callers: Vec<_> = (0..).zip(&self.out.functions).filter(|(_, f)| !f.alias).collect();
        callers.sort_by_key(|(_, function)| function.text);
        let callers: Vec<_> = callers.into_iter().map(|(at, f)| (at, f.symbol, f.text)).collect();
        let mut known = HashMap::default();
        for (function, symbol, text) in callers {
            let (Some(text), Some(origin)) = (text, self.out.symbol(symbol).origin) else { continue };
            let caller = self.system_caller(function, text, origin, &mut known);
            self.out.system_callers.extend(caller);
        }
        self.list_system_functions();
    }

    /// The calls in the copy of a function that prevails.
    fn system_caller(
        &mut self,
        function: u32,
        text: SectionId,
        Origin { file, symbol }: Origin,
        known: &mut HashMap<&'data BStr, SymbolId, FixedState>,
    ) -> Option<SystemCaller> {
        let object = &self.objects[file.index()];
        let section = u32::from(object.symbol(symbol).shndx.get());
        let lists = object.sections_with(Role::Relocations).filter(|list| list.info() == section);
        let entries =
            lists.filter_map(|list| list.relocations().ok()).flat_map(|list| list.iter().collect::<Vec<_>>());
        let calls: Vec<Rela> = entries.filter(|entry| object.is_of_system(entry.symbol.get())).collect();
        let mut relocations = Vec::with_capacity(calls.len());
        for call in calls {
            let name = object.names[call.symbol.get() as usize];
            let callee = *known.entry(name).or_insert_with(|| self.system_function(name));
            relocations.push(Reloc {
                offset: call.offset.get(),
                target: RelocTarget::Symbol(callee),
                r_type: call.r_type.get(),
                addend: call.addend.get(),
                file,
            });
        }
        if relocations.is_empty() {
            return None;
        }
        let [registers, frame] = [attr::REGCOUNT, attr::FRAME_SIZE].map(|attr| said_of(object, symbol, attr));
        let new = New {
            kind: Kind::LateRelocations,
            name: &[],
            sh_type: raw::SHT_RELA,
            flags: raw::SHF_INFO_LINK,
            align: 8,
            entsize: size_of::<Rela>() as u64,
        };
        let section = self.push_section(&new, 0);
        self.out.section_mut(section).of = Some(text);
        Some(SystemCaller { function, text, section, relocations, registers, frame, new_callees: Vec::new() })
    }

    /// A symbol for a function of the system, after all others.
    fn system_function(&mut self, name: &'data BStr) -> SymbolId {
        let offset = self.out.names.tables.add_again(Table::Symbols, name);
        let (bind, kind) = (raw::STB_GLOBAL, raw::STT_FUNC);
        let symbol = self.push_named(OutputSymbol { name, bind, kind, ..OutputSymbol::default() }, offset);
        self.out.symbol_mut(symbol).rest_mut().of_system = true;
        symbol
    }

    /// Says of functions, and of the kernels that reach them, what they call. A call is in the call graph if that was not said before.
    fn list_system_functions(&mut self) {
        let mut externs: HashMap<u32, Vec<SymbolId>, FixedState> = HashMap::default();
        let functions: Vec<u32> = self.out.system_callers.iter().map(|caller| caller.function).collect();
        let kernels: Vec<u32> = self.out.roots().map(|(kernel, _)| kernel).collect();
        let reached_by = if self.settings.relocatable {
            Vec::new()
        } else {
            self.out.calls.reached_by(&functions, &kernels)
        };
        for (at, caller) in self.out.system_callers.iter_mut().enumerate() {
            for relocation in &caller.relocations {
                let RelocTarget::Symbol(callee) = relocation.target else { continue };
                let own = externs.entry(caller.function).or_default();
                if own.contains(&callee) {
                    continue;
                }
                own.push(callee);
                caller.new_callees.push(callee);
                for kernel in reached_by.get(at).into_iter().flat_map(BitSet::iter) {
                    let list = externs.entry(kernels[kernel]).or_default();
                    if !list.contains(&callee) {
                        list.push(callee);
                    }
                }
            }
        }
        let info = |function: u32| self.out.functions[function as usize].info;
        self.out.system_externs =
            externs.into_iter().filter_map(|(f, list)| Some((info(f)?, list))).collect();
    }
}

/// What the machine code's view of an object says of a function.
fn said_of(object: &Object<'_>, function: u32, attr: u8) -> u32 {
    let all = object.first(Role::Info).into_iter().flat_map(|section| records(section.data).flatten());
    let said = all.filter(|record| record.attr == attr).filter_map(|record| {
        let (symbol, value) = record.payload.split_first_chunk()?;
        (u32::from_le_bytes(*symbol) == function).then_some(u32::from_le_bytes(*value.first_chunk()?))
    });
    said.last().unwrap_or(0)
}
