//! The memory allocator of the binary.
//!
//! Tensor operations allocate and free the same large blocks in every step. By default mimalloc returns unused pages to
//! the system after 10 ms, and the next step faults them in again, which costs several percent. So purging is disabled.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay` of `mimalloc.h`, the same number in mimalloc 2 and 3; the crate has no
/// constant for it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Disables purging unless the environment says otherwise through `MIMALLOC_PURGE_DELAY`.
pub(crate) fn configure() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
        // SAFETY: the function stores one number in mimalloc's table of options; it is called once,
        // from `main`, before any other thread runs, and 15 is inside the table.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
    }
}
