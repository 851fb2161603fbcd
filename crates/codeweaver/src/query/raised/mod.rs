//! Raised: the code that prints a message, for a query that is one.
//!
//! What a program prints is a literal of its code with values filled in and a name in front, so neither the
//! words of the query nor its text as a whole are in the code. The literals are read when a message is asked
//! for; nothing of them is stored:
//!
//! * [`message`]: the message in the query; most queries have none and end here.
//! * [`rows`]: the chunks with most of its words, by postings.
//! * [`literals`]: the literals in them, with their values as gaps.
//! * [`fit`]: the constant text of a literal that the message has.
//! * [`sites`]: the best place of each file.
//!
//! The files with the best places become candidates and come first, each with its place as focus.

mod fit;
mod letters;
mod literals;
mod message;
mod rows;
mod sites;

use codeweaver_index::policy::PathFlags;
use rustc_hash::FxHashMap;

use super::answer::Ranking;
use super::definitions::{self, kind_of};
use super::error::QueryError;
use super::intent::Intent;
use super::locate;
use super::rank::RankedFile;
use super::request::Request;
use super::resources::Resources;
use super::response::Strategy;
use super::view::{RowId, View};
use message::Message;
use sites::Site;

/// Maximum number of files that come first.
const MAX_FILES: usize = 8;
/// Minimum score of a file that comes first, as a share of the best.
const MIN_SHARE: f32 = 0.5;
/// Factor on the score of data, and of generated or vendored copies.
const COPIES: f32 = 0.6;
/// Directories of generated, bundled or foreign copies.
const OF_COPIES: &[&str] = &[
    "dist",
    "build",
    "out",
    "generated",
    "bundle",
    "vendor",
    "third_party",
    "single_include",
    "node_modules",
];
/// Relevance of the file with the best place.
const RELEVANCE: f32 = 0.97;
/// Maximum relevance of files without a place.
const RELEVANCE_OF_OTHERS: f32 = 0.6;

/// The places in code that may have printed the message of a query.
#[derive(Default)]
pub struct Raised {
    /// The best place of each doc.
    sites: FxHashMap<u32, Site>,
    /// Their chunks, which become candidates.
    pub rows: Vec<RowId>,
}

impl Raised {
    /// Finds the places of the message that is the query of `request`. Without a message there are none.
    ///
    /// # Errors
    /// [`QueryError`] if a blob cannot be read.
    pub fn find(
        resources: &Resources<'_>,
        request: &Request,
        view: &View,
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Result<Raised, QueryError> {
        let is_about_else = request.intent.is_some_and(|intent| intent != Intent::Debug);
        let message = Message::parse(&request.query).filter(|it| it.is_certain || !is_about_else);
        let Some(message) = message else { return Ok(Raised::default()) };

        let scope = view.scope(&request.filters);
        let rows = rows::find(view, &scope, &message);
        let search = sites::Search { codebase: resources.codebase, view, message: &message, is_over };
        let sites = search.run(&rows, resources.tuning.min_parallel_rows)?;

        let mut rows: Vec<RowId> = sites.values().map(|site| site.row).collect();
        rows.sort_unstable_by_key(|id| (id.segment, id.row));
        Ok(Raised { sites, rows })
    }

    /// Returns whether there is a place.
    pub fn is_found(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Moves the files with the best places to the front of `ranking`, the best first, each with its place as
    /// focus.
    pub fn promote(&self, view: &View, ranking: &mut Ranking) {
        let mut found: Vec<(f32, usize)> = Vec::new();
        for (at, file) in ranking.files.iter().enumerate() {
            if let Some(site) = self.sites.get(&file.doc).filter(|_| !repeats(file)) {
                found.push((site.score * factor(view, file), at));
            }
        }

        // Stable: of equal places, the ranking decides.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let Some(&(best, _)) = found.first() else { return };
        found.retain(|(score, _)| *score >= best * MIN_SHARE);
        found.truncate(MAX_FILES);

        let mut files: Vec<Option<RankedFile>> =
            std::mem::take(&mut ranking.files).into_iter().map(Some).collect();
        for (score, at) in found {
            let Some(mut file) = files[at].take() else { continue };
            let site = &self.sites[&file.doc];

            // The function that a frame of a trace names is known, and nearer to the fault than its message.
            let is_known =
                file.chunks.first().is_some_and(|chunk| ranking.evidence.known_in(chunk.id).is_some());
            if let Some(at) = file.chunks.iter().position(|chunk| chunk.id == site.row)
                && !is_known
            {
                file.chunks[..=at].rotate_right(1);
                ranking.evidence.set_known(site.row, definition_at(view, site));
            }
            file.relevance = file.relevance.max(RELEVANCE * (score / best).sqrt());
            file.reasons.push(format!("the message in line {}", site.line));
            ranking.files.push(file);
        }

        for mut file in files.into_iter().flatten() {
            file.relevance = file.relevance.min(RELEVANCE_OF_OTHERS);
            ranking.files.push(file);
        }
        ranking.strategies.push(Strategy::RaisedMessage);
    }
}

/// Returns whether a file has messages that other code prints: a test, an example or a document.
fn repeats(file: &RankedFile) -> bool {
    let roles = file.features.file.roles;
    let repeating = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::DOCS, PathFlags::BENCH];
    roles.is_prose || repeating.iter().any(|&flag| roles.flags.contains(flag))
}

/// Factor on the score of a file by its role.
fn factor(view: &View, file: &RankedFile) -> f32 {
    let roles = file.features.file.roles;
    let mut folders = view.entry(file.entry).0.split(|&byte| byte == b'/');
    let is_copy = roles.flags.contains(PathFlags::VENDORED_LIKE)
        || roles.flags.contains(PathFlags::STUB)
        || folders.any(|folder| OF_COPIES.iter().any(|name| folder == name.as_bytes()));

    if roles.is_data || is_copy { COPIES } else { 1.0 }
}

/// Returns the bytes of the innermost definition around a place; none if there is no definition. A variable
/// of a function is not taken for it.
fn definition_at(view: &View, site: &Site) -> std::ops::Range<u32> {
    let rows = locate::rows(view, view.doc_of(site.row)).filter(|id| id.row <= site.row.row);
    let around = definitions::of_rows(view, rows, |_, it| (it.start_byte..it.end_byte).contains(&site.at));

    let mut innermost = 0..0;
    let mut is_callable = false;
    for (_, symbol) in around {
        let kind = kind_of(&symbol);
        if is_callable && !kind.is_callable() && !kind.has_members() {
            continue;
        }
        is_callable = kind.is_callable();
        innermost = symbol.start_byte..symbol.end_byte;
    }
    innermost
}
