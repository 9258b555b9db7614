//! Code that uses tensor memory keeps some of it in reserved shared memory, as toolkits 12.x and 13.x do in different ways: it must be
//! of one kind.

use crate::diagnostics::{Message, Sink};
use crate::model::object::{Object, Role};
use crate::notes;
use solder_cubin::info::{self, attr};

/// The variables of both kinds that nvlink compares.
const VARIABLES: [&[u8]; 5] = [
    b"__nv_reservedSMEM_allocation_phase",
    b"__nv_reservedSMEM_allocation_mask",
    b"__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier",
    b"__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier_parity",
    b"__nv_reservedSMEM_tcgen05_partition",
];

/// Whether the first object with such code is of 12.x.
#[derive(Debug, Default)]
pub(super) struct TensorMemoryCheck(Option<bool>);

impl TensorMemoryCheck {
    /// Compares the next object in link order with the first: one message for its code, and one for each of its variables
    /// (older/tensor-memory-of-both). Code that only reads tensor memory has no attribute, and compiled with `-g` one variable
    /// (older/tensor-memory-read).
    pub(super) fn admit(&mut self, object: &Object<'_>, sink: &Sink) {
        if object.mercury.is_none() {
            return;
        }
        let is_compared = |name: &&&bstr::BStr| VARIABLES.iter().any(|of| ***name == **of);
        let variables = object.names.iter().filter(is_compared).count();
        let compared = variables + usize::from(uses_tensor_memory(object));
        if compared == 0 {
            return;
        }
        let is_older = notes::has_older_note(object);
        if *self.0.get_or_insert(is_older) == is_older {
            return;
        }
        for _ in 0..compared {
            sink.report(Message::TensorMemoryOfOtherToolkit { file: (&object.name).into() });
        }
    }
}

fn uses_tensor_memory(object: &Object<'_>) -> bool {
    let uses = |attr: u8| matches!(attr, attr::TCGEN05_1CTA_USED | attr::TCGEN05_2CTA_USED);
    object
        .sections_with(Role::FunctionInfo)
        .any(|section| info::records(section.data).flatten().any(|record| uses(record.attr)))
}
