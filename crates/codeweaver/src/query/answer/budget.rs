//! Budget: the limits of an answer, and how matches are shortened to fit.

use codeweaver_chunk::tokens;
use codeweaver_store::symbols::SymbolRecord;

use crate::query::cancel::Cancel;
use crate::query::error::QueryError;
use crate::query::request::{RepoSet, Request};
use crate::query::response::Match;
use crate::query::view::RowId;

/// Tokens of the location of a match besides its path and name: lines, score, class, state.
const LOCATION_TOKENS: u32 = 10;
/// Maximum number of symbols of an elided match.
const MAX_ELIDED_SYMBOLS: usize = 4;
/// Maximum length in characters of the line that stands for a text without a signature.
const MAX_LINE_CHARS: usize = 200;

/// The limits of an answer. The fields are those of [`Request`].
pub struct Budget<'a> {
    pub offset: usize,
    pub limit: usize,
    pub token_limit: u32,
    pub min_score: f32,
    pub explain: bool,
    pub without_content: bool,
    pub texts: usize,
    pub related: bool,
    pub identities: bool,
    /// Related symbols of other repositories are left out.
    pub repos: Option<&'a RepoSet>,
    pub cancel: &'a Cancel,
}

/// A match before its text is read.
pub struct Draft {
    /// Without text.
    pub found: Match,
    /// The chunk.
    pub id: RowId,
    /// The definition that answers the query, else the main one of the chunk.
    pub symbol: Option<SymbolRecord>,
    /// Whether the match is to have text.
    pub has_text: bool,
    /// Number of tokens of the text.
    pub n_tokens: u32,
    /// The text, if it was needed already; the outer `None` if it was not.
    pub text: Option<Option<Vec<u8>>>,
}

/// The matches that fit the token limit, shortened where necessary.
#[derive(Debug, Default)]
pub struct Fitted {
    /// Names of members of a catalogue that could not be read.
    pub unread_repos: Vec<String>,
    /// Best first. Each has at least its location.
    pub matches: Vec<Match>,
    /// Number of tokens of `matches`.
    pub n_tokens: u32,
    /// Number of matches that have no room for their location.
    pub n_without_room: usize,
    /// Number of `matches` that were shortened.
    pub n_shortened: usize,
    /// The token limit with which nothing would be shortened or left out or, if no match fits, with which the
    /// first one would. `None` if nothing was shortened or left out.
    pub tokens_needed: Option<u32>,
}

impl<'a> Budget<'a> {
    /// The limits of `request`.
    pub fn new(request: &'a Request) -> Budget<'a> {
        let Request { filters, view, .. } = request;

        Budget {
            offset: request.offset,
            limit: request.limit,
            token_limit: request.token_limit,
            min_score: request.min_score,
            explain: request.explain,
            without_content: request.without_content,
            texts: request.texts,
            related: request.related,
            identities: request.identities,
            repos: filters.repos.as_ref(),
            cancel: &view.cancel,
        }
    }

    /// Shortens `drafts`, which are best first, to the token limit. `read` returns the text of a match; it is
    /// called for no match that has no room for it.
    ///
    /// Keeps at least the location of as many as possible. The remaining room goes to the best matches: each
    /// gets its whole text if that fits, else its signature if that fits.
    pub fn fit(
        &self,
        drafts: Vec<Draft>,
        mut read: impl FnMut(&mut Draft) -> Result<String, QueryError>,
    ) -> Result<Fitted, QueryError> {
        let whole: u32 = drafts.iter().map(whole_cost).sum();
        let first_location = drafts.first().map(|draft| location_cost(&draft.found));
        let n_wanted = drafts.len();

        let mut fitted = Fitted::default();
        let mut located = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let location_tokens = location_cost(&draft.found);
            if fitted.n_tokens + location_tokens > self.token_limit {
                break;
            }
            fitted.n_tokens += location_tokens;
            located.push((draft, location_tokens));
        }
        fitted.n_without_room = n_wanted - located.len();

        // The locations of the matches that follow are counted already, so a long text cannot displace them.
        for (mut draft, location_tokens) in located {
            let without = fitted.n_tokens - location_tokens;
            let mut cost = whole_cost(&draft);
            let has_room = without + cost <= self.token_limit;
            fitted.n_shortened += usize::from(!has_room);
            // Without a signature, the first line of the text stands for the match, so the text is read all
            // the same.
            if draft.has_text && (has_room || draft.found.signature().is_empty()) {
                draft.found.content.text = read(&mut draft)?;
            }

            let mut found = draft.found;
            if !has_room {
                // Without content on request, there is no text to replace.
                if draft.has_text {
                    elide(&mut found);
                    cost = token_cost(&found);
                }
                if without + cost > self.token_limit {
                    found.to_location();
                    cost = token_cost(&found);
                }
            }

            fitted.n_tokens = without + cost;
            fitted.matches.push(found);
        }

        let needed = if fitted.matches.is_empty() { first_location } else { Some(whole) };
        fitted.tokens_needed = needed.filter(|_| fitted.n_without_room + fitted.n_shortened > 0);
        Ok(fitted)
    }
}

/// Number of tokens of the location and the name of a match.
fn location_cost(found: &Match) -> u32 {
    LOCATION_TOKENS + tokens::count(&found.file.path) + tokens::count(&found.name())
}

/// Number of tokens of a match with its text, whose tokens the index has counted.
fn whole_cost(draft: &Draft) -> u32 {
    token_cost(&draft.found) + if draft.has_text { draft.n_tokens } else { 0 }
}

/// Number of tokens of a match as it is.
fn token_cost(found: &Match) -> u32 {
    let content = &found.content;
    let names: u32 = found.related_symbols.iter().map(|name| tokens::count(name)).sum();
    let places: u32 = found.relations.iter().map(|related| related.n_tokens()).sum();
    // The text of an elided match is its signature.
    let signature = if content.elided { 0 } else { tokens::count(&content.signature) };

    location_cost(found)
        + tokens::count(&content.text)
        + tokens::count(&content.doc)
        + tokens::count(&content.chunk_id)
        + signature
        + names
        + places
}

/// Replaces the text by the signature, or by its own first line if there is none.
fn elide(found: &mut Match) {
    let signature = found.signature().to_owned();

    let content = &mut found.content;
    content.text = if signature.is_empty() {
        content.text.lines().next().unwrap_or("").chars().take(MAX_LINE_CHARS).collect()
    } else {
        signature
    };

    content.elided = true;
    found.related_symbols.truncate(MAX_ELIDED_SYMBOLS);
    found.relations.truncate(MAX_ELIDED_SYMBOLS);
    found.more_in_file.clear();
}
