//! Engine: an index of many repositories that is kept elsewhere, by a search engine.
//!
//! The engine finds candidates and counts; everything else happens here. A [view](super::view) is made of the
//! files that it finds, with the totals of everything that it has, and is then retrieved from, ranked and
//! shown as any other. So an answer is that of an index of the same repositories as far as the engine's
//! candidates include the best.

use std::sync::Arc;

use codeweaver_git::{MaySee, Member, Members, Oid};
use codeweaver_store::postings::N_FIELDS;
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::snapshot::Totals;
use codeweaver_text::{Mention, QueryTerm};
use rustc_hash::FxHashMap;

use super::error::QueryError;
use super::filters::Filters;

pub use codeweaver_store::words::Needle;

pub use super::grep::needles::Requirement;

/// An index that is kept elsewhere.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// The totals and the repositories of everything that may be searched.
    ///
    /// # Errors
    /// [`QueryError::Engine`] if it does not answer.
    fn whole(&self) -> Result<Whole, QueryError>;

    /// Counts of each of `terms` in everything that may be searched, in their order.
    ///
    /// # Errors
    /// As [`Self::whole`].
    fn counts(&self, terms: &[&str]) -> Result<Vec<TermTotals>, QueryError>;

    /// The files with the best rows for each of `wanted`, whole. Filters may be left out, since they are
    /// applied again.
    ///
    /// # Errors
    /// As [`Self::whole`].
    fn candidates(&self, wanted: &[Wanted], filters: &Filters) -> Result<CandidateFiles, QueryError>;

    /// The files that may have lines with what `requirement` says, whole. Filters may be left out, since they
    /// are applied again.
    ///
    /// # Errors
    /// As [`Self::whole`].
    fn files_with(&self, requirement: &Requirement, filters: &Filters) -> Result<LineFiles, QueryError>;

    /// This index for a reader who may see only the repositories that `may_see` allows.
    fn limited_to(&self, may_see: Arc<MaySee>) -> Arc<dyn Engine>;
}

/// Everything that may be searched, in numbers.
#[derive(Debug, Clone, Default)]
pub struct Whole {
    /// The repositories with the commits that they are indexed at, under the names that paths begin with.
    pub members: Vec<Member>,
    /// Sums over all live rows.
    pub totals: Totals,
    /// Number of source files of each part, by the beginning of its paths.
    pub parts: Vec<(Vec<u8>, u32)>,
    /// Names of the repositories that have newer commits.
    pub moved: Vec<String>,
    /// Sentences for the user on what is missing.
    pub warnings: Vec<String>,
}

impl Whole {
    /// The repositories as the members of a catalogue.
    ///
    /// # Errors
    /// [`QueryError::Engine`] if a name is that of a directory of another repository.
    pub fn members(&self) -> Result<Members, QueryError> {
        Members::new(self.members.clone()).map_err(|error| QueryError::Engine {
            what: "the repositories of the engine cannot be told apart".to_owned(),
            why: error.to_string(),
            fix: "remove one of them: git codeweaver org remove NAME".to_owned(),
        })
    }
}

/// Counts of a term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TermTotals {
    /// Number of rows that have it, by field.
    pub rows: [u64; N_FIELDS],
    /// Number of files that have it in any field.
    pub files: u64,
    /// Number of paths that have it.
    pub paths: u64,
}

/// The candidates that a query, or a part of one, needs.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Weighted terms, each with the weights of its fields.
    pub terms: Vec<QueryTerm>,
    /// Weight of a match in each field of a row.
    pub fields: [f32; N_FIELDS],
    pub vector: Option<Vec<i8>>,
    /// Terms of the names of definitions, and beginnings of such terms.
    pub names: Vec<String>,
    pub prefixes: Vec<String>,
    pub mentions: Vec<Mention>,
    /// Rows with all terms are wanted too, since they may have the query as it is written.
    pub is_verbatim: bool,
}

/// The files with the candidates.
#[derive(Default)]
pub struct CandidateFiles {
    /// Their docs and rows.
    pub builder: SegmentBuilder,
    /// All places of each doc, in the order of the docs.
    pub places: Vec<Vec<Placed>>,
    /// The contents of blobs, if the engine keeps them.
    pub texts: FxHashMap<Oid, Vec<u8>>,
    /// Sentences for the user on candidates that are missing.
    pub warnings: Vec<String>,
}

/// The files that may have a line.
#[derive(Default)]
pub struct LineFiles {
    /// As many as are read for one request.
    pub found: CandidateFiles,
    /// Number of files that may have the line, found or not.
    pub n_candidates: u64,
    /// Number of all files that the filters allow.
    pub n_files: u64,
}

/// A path of a doc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Beginning with the name of its repository.
    pub path: Vec<u8>,
    /// `policy::PathFlags`.
    pub flags: u16,
}
