//! What the machine code's view needs more than Mercury's: registers and stack for calls of the system (`merge::system_calls`).

use super::records::{Own, UNKNOWN_STACK};
use crate::model::ids::SymbolId;
use crate::model::merged::Merged;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_cubin::info::attr;

/// The values that differ, by function.
#[derive(Debug, Default)]
pub struct InCode {
    registers: HashMap<SymbolId, u32, FixedState>,
    frame: HashMap<SymbolId, u32, FixedState>,
    stack: HashMap<SymbolId, u32, FixedState>,
}

impl InCode {
    pub(super) fn new(merged: &Merged<'_>, own: &[Own]) -> Self {
        let mut new = Self::default();
        if merged.system_callers.is_empty() {
            return new;
        }
        let mut frames: Vec<u32> = own.iter().map(|own| own.frame).collect();
        for caller in &merged.system_callers {
            let symbol = merged.functions[caller.function as usize].symbol;
            frames[caller.function as usize] = caller.frame;
            new.registers.insert(symbol, caller.registers);
            new.frame.insert(symbol, caller.frame);
        }
        // Where anything is called, nvlink works out the stack of the kernels that call something, and forgets the others.
        let calls = |function: u32| !merged.calls.edges(function).is_empty();
        let has_calls = (0..merged.functions.len() as u32).any(calls);
        let needs = merged.calls.needs(|node| (0, [frames.get(node).copied().unwrap_or(0), 0]));
        for (kernel, function) in merged.roots().filter(|(kernel, _)| !has_calls || calls(*kernel)) {
            let stack = needs[kernel as usize].sums.map_or(UNKNOWN_STACK, |[stack, _]| stack);
            new.stack.insert(function.symbol, stack);
        }
        new
    }

    /// The value of an attribute of a function that is `value` in the Mercury view.
    pub fn value(&self, attr: u8, function: SymbolId, value: u32) -> u32 {
        match attr {
            attr::REGCOUNT => self.registers.get(&function).map_or(value, |more| value.max(*more)),
            attr::FRAME_SIZE => self.frame.get(&function).copied().unwrap_or(value),
            attr::MIN_STACK_SIZE => self.stack.get(&function).copied().unwrap_or(value),
            _ => value,
        }
    }
}
