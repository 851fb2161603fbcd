//! Budget: the limits of an answer, and how matches are shortened to fit.

use crate::chunk::tokens;
use crate::query::cancel::Cancel;
use crate::query::request::Request;
use crate::query::response::Match;

/// Tokens of a match besides its texts: path, span, names of fields.
const FIXED_TOKENS: u32 = 40;
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
    pub cancel: &'a Cancel,
}

impl<'a> Budget<'a> {
    /// The limits of `request`.
    pub fn new(request: &'a Request) -> Budget<'a> {
        Budget {
            offset: request.offset,
            limit: request.limit,
            token_limit: request.token_limit,
            min_score: request.min_score,
            explain: request.explain,
            without_content: request.without_content,
            cancel: &request.view.cancel,
        }
    }

    /// Shortens `found` so that it fits after `used` tokens, and returns its tokens; `None` if it does not
    /// fit at all.
    ///
    /// The text is reduced to the signature first. The first match is then reduced to its location.
    pub fn fit(&self, found: &mut Match, used: u32, is_first: bool) -> Option<u32> {
        let mut cost = token_cost(found);
        if used + cost > self.token_limit {
            elide(found);
            cost = token_cost(found);
        }
        if used + cost > self.token_limit && is_first {
            found.to_location();
            cost = token_cost(found);
        }
        (used + cost <= self.token_limit).then_some(cost)
    }
}

fn token_cost(found: &Match) -> u32 {
    let names: u32 = found.related_symbols.iter().map(|name| tokens::count(name)).sum();
    FIXED_TOKENS + tokens::count(&found.content.text) + tokens::count(&found.content.doc) + names
}

/// Replaces the text by the signature, or by its first line if there is none.
fn elide(found: &mut Match) {
    found.content.text = if found.content.signature.is_empty() {
        found.content.text.lines().next().unwrap_or("").chars().take(MAX_LINE_CHARS).collect()
    } else {
        found.content.signature.clone()
    };
    found.content.elided = true;
    found.related_symbols.truncate(MAX_ELIDED_SYMBOLS);
    found.more_in_file.clear();
}
