//! Handles of the standard streams on Windows.

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Console::{
    GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
};

/// Keeps the standard streams of this process from children that do not ask for them.
///
/// A child gets every handle that is marked as inheritable, besides its own streams. The streams of a hook
/// are pipes that git marked, and git would wait for their end until a detached process ends. A child that
/// shares a stream on purpose still gets it: [`std::process::Command`] makes a copy for it.
pub fn keep_streams_from_children() {
    for stream in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: both calls take any value; a missing or invalid handle is refused, and then there is
        // nothing to inherit.
        unsafe { SetHandleInformation(GetStdHandle(stream), HANDLE_FLAG_INHERIT, 0) };
    }
}
