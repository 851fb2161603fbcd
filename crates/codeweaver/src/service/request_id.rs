//! Ids of requests, which distinguish the log records of one call from those of others.
//!
//! The id is kept by the thread that works on the request. It is not a field of a span, since a span that the
//! log filter excludes has no fields.

use std::cell::RefCell;
use std::fmt;

use codeweaver_base::random;

/// A random UUID (version 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

thread_local! {
    static CURRENT: RefCell<Option<RequestId>> = const { RefCell::new(None) };
}

impl RequestId {
    /// A new id.
    pub fn random() -> RequestId {
        let (a, b) = (random::bits64(), random::bits64());

        RequestId(format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            a >> 16 & 0xffff,
            a & 0xfff,
            b >> 48 & 0x3fff | 0x8000,
            b & 0xffff_ffff_ffff
        ))
    }

    /// The request that this thread works on.
    pub fn current() -> Option<RequestId> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` on this request.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(self.clone()));
        let _guard = Restore(before);
        work()
    }
}

/// Restores the earlier id of the thread, also after a panic, since threads are reused.
struct Restore(Option<RequestId>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_a_uuid_of_version_4() {
        let id = RequestId::random().to_string();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(id.split('-').nth(2).unwrap().starts_with('4'));
        assert!("89ab".contains(&id.split('-').nth(3).unwrap()[..1]), "{id}");
        assert_ne!(id, RequestId::random().to_string());
    }

    #[test]
    fn the_id_ends_with_the_work() {
        let (outer, inner) = (RequestId::random(), RequestId::random());
        outer.run(|| {
            let panicked = std::panic::catch_unwind(|| inner.run(|| panic!("expected")));
            assert!(panicked.is_err());
            assert_eq!(RequestId::current(), Some(outer.clone()));
        });
        assert_eq!(RequestId::current(), None);
    }
}
