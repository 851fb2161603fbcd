//! Fault injection: tests make any write the last one.
//!
//! Every step that changes a file in `.codeweaver/` passes through [`step`]. In builds with debug assertions
//! the environment variable `CODEWEAVER_FAULT` arms one of them; release builds contain none of this.
//!
//! | value | effect |
//! |---|---|
//! | `abort:N` | the process dies at the N-th step, as if killed |
//! | `io:N` | the N-th step fails once |
//! | `full:N` | the N-th step and all after it fail, as on a full disk |
//! | `stale:N` | the N-th step fails once, as on a network drive that has lost the file handle |
//! | `nolock` | every lock is granted, as on a network drive without working locks |
//! | `parse:WORD` | the process dies when it parses a file that contains this word, as in a faulty grammar |
//! | `lost:N` | the N-th rename happens and is reported as failed, as if the reply of a server was lost |

use std::io;

/// Counts a writing step, from 1 over the life of the process. Fails if the fault says so.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn step() -> io::Result<()> {
    Ok(())
}

/// Counts a writing step, from 1 over the life of the process. Fails if the fault says so.
#[cfg(debug_assertions)]
pub fn step() -> io::Result<()> {
    armed::step()
}

/// Counts a rename, separately from steps. Called after it.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn renamed() -> io::Result<()> {
    Ok(())
}

/// Counts a rename, separately from steps. Called after it.
#[cfg(debug_assertions)]
pub fn renamed() -> io::Result<()> {
    armed::renamed()
}

/// Returns whether locks are granted without being held.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn has_no_locks() -> bool {
    false
}

/// Returns whether locks are granted without being held.
#[cfg(debug_assertions)]
pub fn has_no_locks() -> bool {
    armed::has_no_locks()
}

/// Ends the process if the fault says so. Called before `bytes` are parsed.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn parsing(_bytes: &[u8]) {}

/// Ends the process if the fault says so. Called before `bytes` are parsed.
#[cfg(debug_assertions)]
pub fn parsing(bytes: &[u8]) {
    armed::parsing(bytes);
}

#[cfg(debug_assertions)]
mod armed {
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    const VARIABLE: &str = "CODEWEAVER_FAULT";

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fault {
        Abort(u64),
        Once(u64),
        From(u64),
        Stale(u64),
        Lost(u64),
    }

    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static STEPS: AtomicU64 = AtomicU64::new(0);
    static RENAMES: AtomicU64 = AtomicU64::new(0);

    fn parse(text: &str) -> Option<Fault> {
        let (kind, number) = text.split_once(':')?;
        let number = number.parse().ok()?;
        match kind {
            "abort" => Some(Fault::Abort(number)),
            "io" => Some(Fault::Once(number)),
            "full" => Some(Fault::From(number)),
            "stale" => Some(Fault::Stale(number)),
            "lost" => Some(Fault::Lost(number)),
            _ => None,
        }
    }

    fn fault() -> Option<Fault> {
        *FAULT.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?))
    }

    pub fn has_no_locks() -> bool {
        static NONE: OnceLock<bool> = OnceLock::new();
        *NONE.get_or_init(|| std::env::var(VARIABLE).is_ok_and(|fault| fault == "nolock"))
    }

    pub fn parsing(bytes: &[u8]) {
        static WORD: OnceLock<Option<Vec<u8>>> = OnceLock::new();
        let word = WORD
            .get_or_init(|| Some(std::env::var(VARIABLE).ok()?.strip_prefix("parse:")?.as_bytes().to_vec()));
        if let Some(word) = word
            && bytes.windows(word.len().max(1)).any(|part| part == word)
        {
            std::process::abort();
        }
    }

    pub fn renamed() -> io::Result<()> {
        let Some(Fault::Lost(n)) = fault() else { return Ok(()) };
        let now = RENAMES.fetch_add(1, Ordering::SeqCst) + 1;
        if now == n { Err(io::Error::from(io::ErrorKind::NotFound)) } else { Ok(()) }
    }

    pub fn step() -> io::Result<()> {
        let Some(fault) = fault() else { return Ok(()) };
        let now = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
        match fault {
            Fault::Abort(n) if now == n => std::process::abort(),
            Fault::Once(n) if now == n => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fault::From(n) if now >= n => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fault::Stale(n) if now == n => Err(io::Error::from(io::ErrorKind::StaleNetworkFileHandle)),
            _ => Ok(()),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_what_is_meant_arms_a_fault() {
            assert_eq!(parse("abort:3"), Some(Fault::Abort(3)));
            assert_eq!(parse("io:1"), Some(Fault::Once(1)));
            assert_eq!(parse("full:9"), Some(Fault::From(9)));
            assert_eq!(parse("stale:2"), Some(Fault::Stale(2)));
            assert_eq!(parse("lost:2"), Some(Fault::Lost(2)));
            for text in ["", "abort", "abort:", "abort:x", "other:1"] {
                assert_eq!(parse(text), None, "{text}");
            }
        }
    }
}
