//! Rules in which releases differ, each under the name of what it asks. All was observed with the tools of the releases.

use crate::Release;

impl Release {
    /// `.nv.compat`: the record of what can be finalized easily is taken over from the inputs also below sm_100, and keeps
    /// its place among the others (compat/records).
    pub const fn keeps_fastpath_record(&self) -> bool {
        self.toolkit >= 132
    }

    /// `.nv.compat`: Mercury code has a record with the version of the finalizer (compat/records).
    pub const fn names_its_finalizer(&self) -> bool {
        self.toolkit >= 134
    }

    /// `.nv.compat`: matrices of sm_100 alone keep code from being finalized easily for sm_103 (compat/records).
    pub const fn tcgen05_ties_code_to_its_number(&self) -> bool {
        self.toolkit < 131
    }
}
