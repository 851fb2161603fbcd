//! The allocator of the program. Programs that use the library choose their own.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `mi_option_purge_delay` of mimalloc: the milliseconds after which freed memory goes back to the system.
const PURGE_DELAY: c_int = 15;

/// Keeps freed memory for 400 milliseconds instead of 10. A first index frees and takes buffers of megabytes
/// all the time, and the system has to provide their pages anew each time
/// (docs/research/2026-11-performance.md).
pub fn keep_freed_memory() {
    // SAFETY: called before other threads are started, as it is not thread-safe.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 400 as c_long) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_that_of_the_purge_delay() {
        // SAFETY: nothing sets it at the same time; 10 is its documented default.
        let before = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(before, 10);
        keep_freed_memory();
        // SAFETY: as above.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, 400);
    }
}
