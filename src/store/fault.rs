//! Faults on demand: proof that any write may be the last one (requirements X1, X2).
//!
//! Every step that changes a file in `.codeweaver/` passes through [`step`]. In builds with debug assertions the environment
//! variable `CODEWEAVER_FAULT` arms one of them; in release builds nothing of this exists.
//!
//! | value | what happens |
//! |---|---|
//! | `abort:N` | the process dies at the N-th step, as if killed |
//! | `io:N` | the N-th step fails once |
//! | `full:N` | the N-th step and all after it fail, as on a full disk |

use std::io;

/// A step that writes; counted from 1 over the life of the process.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn step() -> io::Result<()> {
    Ok(())
}

/// A step that writes; counted from 1 over the life of the process.
#[cfg(debug_assertions)]
pub fn step() -> io::Result<()> {
    armed::step()
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
    }

    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static STEPS: AtomicU64 = AtomicU64::new(0);

    fn parse(text: &str) -> Option<Fault> {
        let (kind, number) = text.split_once(':')?;
        let number = number.parse().ok()?;
        match kind {
            "abort" => Some(Fault::Abort(number)),
            "io" => Some(Fault::Once(number)),
            "full" => Some(Fault::From(number)),
            _ => None,
        }
    }

    pub fn step() -> io::Result<()> {
        let Some(fault) = FAULT.get_or_init(|| parse(&std::env::var(VARIABLE).ok()?)) else { return Ok(()) };
        let now = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
        match *fault {
            Fault::Abort(n) if now == n => std::process::abort(),
            Fault::Once(n) if now == n => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fault::From(n) if now >= n => Err(io::Error::from(io::ErrorKind::StorageFull)),
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
            for text in ["", "abort", "abort:", "abort:x", "other:1"] {
                assert_eq!(parse(text), None, "{text}");
            }
        }
    }
}
