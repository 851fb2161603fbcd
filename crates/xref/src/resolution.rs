//! The outcome of resolving a reference, and of one lookup on the way.

use super::definitions::DefId;
use super::response::Grade;

/// Evidence of a name that is imported from outside the repository.
pub(super) const FROM_LIBRARY: &str = "imported from a library";
/// Evidence of a name that the language requires to be imported.
pub(super) const NOT_IMPORTED: &str = "neither defined nor imported here";
/// Evidence of a name that no file defines.
pub(super) const NO_DEFINITION: &str = "no definition of that name found";
/// Evidence of a name that one definition has.
pub(super) const ONLY_DEFINITION: &str = "the only definition of that name";
/// Evidence of a name that several definitions have, of which one fits the site.
pub(super) const ONLY_FITTING: &str = "the only definition of that name that fits";
/// Evidence of a call through a variable or parameter.
pub(super) const LOCAL_VALUE: &str = "a local value";
/// Evidence of a member of a value of a library.
pub(super) const OF_LIBRARY: &str = "the receiver is of a library";
/// Evidence of a member of a value of the language's own library.
pub(super) const OF_LANGUAGE: &str = "the receiver is of the language's own library";
/// Evidence of a member of a global of the language.
pub(super) const GLOBAL: &str = "a global of the language";
/// Evidence of a member that may be inherited from a base outside the repository.
pub(super) const EXTERNAL_BASE: &str = "a base outside of the repository";

/// The definitions that a reference resolves to, with a grade.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolution {
    pub grade: Grade,
    /// Ordered by path and position. Empty if and only if the grade is `Unresolved`.
    pub targets: Vec<DefId>,
    /// The evidence for the grade, as shown in answers.
    pub evidence: &'static str,
}

impl Resolution {
    pub fn unresolved(evidence: &'static str) -> Resolution {
        Resolution { grade: Grade::Unresolved, targets: Vec::new(), evidence }
    }

    /// Returns whether it is known what the reference means, in the repository or outside of it.
    pub fn is_settled(&self) -> bool {
        let is_outside =
            matches!(self.evidence, LOCAL_VALUE | FROM_LIBRARY | OF_LIBRARY | OF_LANGUAGE | GLOBAL);
        !self.targets.is_empty() || is_outside
    }

    /// The definition, if the grade is exact.
    pub fn proven(&self) -> Option<DefId> {
        (self.grade == Grade::Exact).then(|| self.targets.first().copied()).flatten()
    }
}

/// The outcome of looking a name up in one place: imports, a package, a module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Lookup {
    /// The name refers to one of these definitions.
    Found(Vec<DefId>),
    /// The name is defined outside the repository.
    External,
    /// This lookup decides nothing.
    Undecided,
}
