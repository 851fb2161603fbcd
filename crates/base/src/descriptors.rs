//! The number of files and connections that the process may have open.

/// Number of descriptors that a server never needs more than.
const WANTED: u64 = 4096;

/// Raises the limit of open descriptors to what a server needs, as far as the system allows, and returns it.
#[cfg(unix)]
pub fn raise() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    let wanted = limit.maximum.unwrap_or(u64::MAX).min(WANTED);

    let raised = Rlimit { current: Some(wanted), ..limit };
    let is_raised = current < wanted && setrlimit(Resource::Nofile, raised).is_ok();
    let now = if is_raised { wanted } else { current };
    usize::try_from(now).unwrap_or(usize::MAX)
}

/// The number of descriptors that a server needs; other systems have no such limit.
#[cfg(not(unix))]
pub fn raise() -> usize {
    WANTED as usize
}
