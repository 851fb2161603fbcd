//! Progress of a request that waits for its index.

use std::fmt;

use codeweaver_store::StoreError;

/// A reason for which a request waits. `Display` is a sentence for the user.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// The index is gone, and is being built again.
    Rebuilding,
    /// The index is damaged, and is being repaired.
    Repairing(&'a StoreError),
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Rebuilding => {
                f.write_str("the index of this repository was deleted or damaged and is being rebuilt")
            }
            Progress::Repairing(damage) => write!(f, "{damage}; it is being repaired"),
        }
    }
}
