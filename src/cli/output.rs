//! A response and the parameters of its printed form.

use std::borrow::Cow;

use codeweaver::query::{Match, Response};
use codeweaver_text::{self as text, Highlighter};

use super::context::Context;
use super::places::Places;
use super::render::Paint;
use super::screen::Screen;
use super::width;

/// A response and the parameters of its printed form.
pub struct Output<'a> {
    pub response: &'a Response,
    pub places: Places,
    pub query: &'a str,
    /// Words that select the lines shown of each match.
    pub words: Vec<String>,
    pub highlighter: Highlighter,
    /// Number of better matches that are skipped.
    pub offset: usize,
    pub paint: Paint,
    pub screen: Screen,
}

impl<'a> Output<'a> {
    /// `query` is the text of the heading; the matches are the results of a search for `words`.
    pub fn new(
        context: &Context,
        response: &'a Response,
        places: Places,
        query: &'a str,
        words: &str,
    ) -> Output<'a> {
        let words_of_query = text::query_terms(words).into_iter().map(|term| term.term).collect();

        Output {
            response,
            places,
            query,
            words: words_of_query,
            highlighter: Highlighter::new(words),
            offset: 0,
            paint: context.paint,
            screen: context.screen,
        }
    }

    /// The same output, for the matches after the `offset` best.
    pub fn after(self, offset: usize) -> Output<'a> {
        Output { offset, ..self }
    }

    /// A highlighter of the words of the query and of the symbol of `found`.
    pub fn highlighter_of(&self, found: &Match) -> Highlighter {
        self.highlighter.with_symbol(&found.focus.symbol)
    }

    /// Cuts `text` if it does not fit into the rest of a line after `used` columns.
    pub fn fit<'t>(&self, text: &'t str, used: usize) -> Cow<'t, str> {
        width::fit_words(text, self.screen.columns_after(used))
    }
}
