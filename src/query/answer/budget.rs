//! Budget: the limits of an answer, and how matches are shortened to fit.

use crate::chunk::tokens;
use crate::query::cancel::Cancel;
use crate::query::request::Request;
use crate::query::response::Match;

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
    pub cancel: &'a Cancel,
}

/// What remains of matches within the token limit.
#[derive(Debug, Default)]
pub struct Fitted {
    /// Best first. Each has at least its location.
    pub matches: Vec<Match>,
    /// Their tokens.
    pub n_tokens: u32,
    /// Number of matches that have no room for their location.
    pub n_without_room: usize,
    /// Number of `matches` that were shortened.
    pub n_shortened: usize,
    /// Token limit with which nothing would be shortened or left out, if anything was; with which the first
    /// match would fit, if none does.
    pub tokens_needed: Option<u32>,
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

    /// Shortens `matches`, which are best first, to the token limit.
    ///
    /// As many as possible keep at least their location. The room that remains goes to the best: each has its
    /// whole text if it fits, else its signature if that fits.
    pub fn fit(&self, matches: Vec<Match>) -> Fitted {
        // Counting the tokens of the texts is most of the work, so it is done once.
        let costs: Vec<u32> = matches.iter().map(token_cost).collect();
        let whole: u32 = costs.iter().sum();
        let (n_wanted, first) = (matches.len(), matches.first().map(location_cost));
        let mut fitted = Fitted::default();
        for found in matches {
            let cost = location_cost(&found);
            if fitted.n_tokens + cost > self.token_limit {
                break;
            }
            fitted.n_tokens += cost;
            fitted.matches.push(found);
        }
        fitted.n_without_room = n_wanted - fitted.matches.len();
        for (found, mut cost) in fitted.matches.iter_mut().zip(costs) {
            let without = fitted.n_tokens - location_cost(found);
            if without + cost > self.token_limit {
                fitted.n_shortened += 1;
                // Without content on request, there is no text to replace.
                if !found.content.elided {
                    elide(found);
                    cost = token_cost(found);
                }
                if without + cost > self.token_limit {
                    found.to_location();
                    cost = token_cost(found);
                }
            }
            fitted.n_tokens = without + cost;
        }
        let needed = if fitted.matches.is_empty() { first } else { Some(whole) };
        fitted.tokens_needed = needed.filter(|_| fitted.n_without_room + fitted.n_shortened > 0);
        fitted
    }
}

fn location_cost(found: &Match) -> u32 {
    LOCATION_TOKENS + tokens::count(&found.file.path) + tokens::count(&found.name())
}

fn token_cost(found: &Match) -> u32 {
    let content = &found.content;
    let names: u32 = found.related_symbols.iter().map(|name| tokens::count(name)).sum();
    // The text of an elided match is its signature.
    let signature = if content.elided { 0 } else { tokens::count(&content.signature) };
    location_cost(found) + tokens::count(&content.text) + tokens::count(&content.doc) + signature + names
}

/// Replaces the text by the signature, or by its first line if there is none.
fn elide(found: &mut Match) {
    let content = &mut found.content;
    let signatures = [&found.focus.signature, &content.signature];
    content.text = if let Some(signature) = signatures.into_iter().find(|text| !text.is_empty()) {
        signature.clone()
    } else {
        content.text.lines().next().unwrap_or("").chars().take(MAX_LINE_CHARS).collect()
    };
    content.elided = true;
    found.related_symbols.truncate(MAX_ELIDED_SYMBOLS);
    found.more_in_file.clear();
}
