//! What all phases know of the Mercury view, which objects for sm_100 and later have.
//!
//! Such an object describes its code twice: as machine code in the ordinary sections, and as Mercury in
//! twins of them. nvlink links the Mercury view by the rules of earlier architectures and then makes the
//! machine code's view from the result. Here one link is done on the ordinary sections, each carrying
//! its twin along; where the two views differ, order and names follow Mercury.

/// The first architecture whose code comes with Mercury.
pub const FROM: u16 = solder_arch::MERCURY_FROM;

/// The bank number that lands in the field of a constant bank for a constant that nobody defines.
pub const NO_BANK: u8 = 3;

/// How the names of symbols in the shared memory that the system keeps begin.
const RESERVED_SHARED: &[u8] = b".nv.reservedSmem.";

/// The variable with the number of columns of tensor memory, which code of 13.3 and later compiled with `-g` asks for.
const TENSOR_MEMORY_COLUMNS: &[u8] = b"__tcgen05_tmem_max_col_size";

/// Whether a variable is the driver's, and its value the compiler's (mercury/tensor-memory-columns).
pub fn is_reserved(name: &[u8]) -> bool {
    name.starts_with(RESERVED_SHARED) || name == TENSOR_MEMORY_COLUMNS
}
