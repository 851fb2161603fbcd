//! The files of an engine that may have a line.
//!
//! The engine has the words of files, so it names those that may match; the lines are matched here. It has no
//! files that the index leaves out, and gives only so many of one request: an answer says both.

use std::sync::Arc;

use codeweaver_git::BString;
use codeweaver_index::catalogue::Behind;
use codeweaver_index::policy::{Exempt, PathFlags, Policy};
use codeweaver_index::{Codebase, IndexError};
use codeweaver_store::StoreReader;
use codeweaver_store::segment::Segment;
use codeweaver_text::plural;

use super::corpus::{Corpus, CorpusFile, CorpusInfo};
use super::needles::Requirement;
use super::request::GrepRequest;
use crate::query::engine::{CandidateFiles, Engine, LineFiles, Placed};
use crate::query::error::QueryError;
use crate::query::members;
use crate::query::request::Filters;
use crate::query::view::MatchState;
use crate::query::view::scope::{canonical_language, passes_path};

/// The warning about files that the engine does not have.
pub(super) const NOT_THERE: &str =
    "files that the index leaves out, such as generated and vendored ones, are not in this index";

/// Collects the files of `engine` that may have a match.
pub(super) fn corpus(
    codebase: &Codebase,
    engine: &dyn Engine,
    request: &GrepRequest,
) -> Result<Corpus, QueryError> {
    let filters = &request.filters;
    if request.view.revision.is_some() {
        return Err(QueryError::Engine {
            what: "the revision cannot be searched".to_owned(),
            why: "an engine has the commits that were pushed last".to_owned(),
            fix: "search a catalogue or a clone of the repositories".to_owned(),
        });
    }

    let whole = engine.whole()?;
    let requirement = Requirement::from_pattern(&request.pattern);
    let LineFiles { found, n_candidates, n_files } = engine.files_with(&requirement, filters)?;
    let CandidateFiles { builder, places, texts, warnings: missing } = found;
    request.view.cancel.check()?;

    let mut warnings = whole.warnings.clone();
    let behind = Behind { moved: whole.moved.clone(), ..Behind::default() };
    warnings.extend(members::warnings(&whole.members()?, &behind, Some(filters)));
    warnings.extend(missing);
    let n_read = places.len() as u64;
    if n_read < n_candidates {
        let all = plural(n_candidates, "file");
        warnings.push(format!("only {n_read} of {all} that may match were searched: narrow the search"));
    }
    warnings.push(NOT_THERE.to_owned());

    // The paths of a catalogue are those of the engine, so its tree leads to the blobs.
    let repo = &codebase.repo;
    let head = repo.head().ok();
    let tree = head.and_then(|head| head.tree).filter(|_| repo.is_catalogue());
    let shown_tree = tree.map(|tree| repo.shown_tree(&tree)).transpose()?;
    let policy = Policy::for_tree(repo, None, &codebase.settings.policy).map_err(IndexError::from)?;

    let mut reader = StoreReader::empty(&codebase.store());
    let mut files = Vec::new();
    if builder.n_docs() > 0 {
        let segment = Arc::new(Segment::in_memory(builder)?);
        files = files_of(&segment, places, filters);
        reader.push_segment(segment);
    }

    Ok(Corpus {
        files,
        reader,
        policy,
        languages: filters.languages.iter().map(|name| canonical_language(name)).collect(),
        worktree: None,
        texts,
        info: CorpusInfo {
            tree: shown_tree.map(|tree| tree.to_string()).unwrap_or_default(),
            rev: "HEAD".to_owned(),
            files: n_files,
            warnings,
            ..CorpusInfo::default()
        },
    })
}

/// The files of the docs of `segment` at their places, as far as `filters` allow them.
fn files_of(segment: &Segment, places: Vec<Vec<Placed>>, filters: &Filters) -> Vec<CorpusFile> {
    let mut files = Vec::new();

    for (ordinal, (doc, places)) in (0u32..).zip(segment.docs().iter().zip(places)) {
        for Placed { path, flags } in places {
            let flags = PathFlags(flags as u8);
            if passes_path(filters, &path, flags) {
                files.push(CorpusFile {
                    path: BString::from(path),
                    blob: Some(segment.blob_oid(doc)),
                    doc: Some((0, ordinal)),
                    state: MatchState::Committed,
                    flags,
                    is_aside: false,
                    // Files with credentials are not in an index.
                    is_checked: true,
                    exempt: Exempt::default(),
                });
            }
        }
    }

    files
}
