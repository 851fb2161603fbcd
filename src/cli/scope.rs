//! Filters of searches: options, and conditions of the query beside them.

use clap::Args;

use codeweaver::query::response::MatchState;
use codeweaver::query::{Condition, Filters, Resolved, Resolver, Searcher, TypedQuery, ViewRequest};

use super::context::Context;
use super::error::CliError;

/// Filters of `search` and `similar`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub struct ScopeArgs {
    /// In a catalogue, search only repositories whose name matches this glob or is in this group; can be
    /// repeated
    #[arg(long, value_name = "GLOB", alias = "repo")]
    pub repos: Vec<String>,
    /// Search only files in this language; can be repeated
    #[arg(long, value_name = "LANGUAGE")]
    pub lang: Vec<String>,
    /// Search only this file or directory, or files matching this glob, relative to the current directory
    /// (:/PATH: to the root); can be repeated
    #[arg(long, value_name = "PATHSPEC")]
    pub path: Vec<String>,
    /// Exclude files; as --path
    #[arg(long, value_name = "PATHSPEC")]
    pub exclude: Vec<String>,
    /// Search only symbols of this kind (function, class, …) or class (DEFINITION_TYPE, …); can be repeated
    #[arg(long, value_name = "KIND")]
    pub kind: Vec<String>,
    /// Include tests; the default unless `search.include_tests` is false
    #[arg(long, overrides_with = "no_tests")]
    pub include_tests: bool,
    /// Exclude tests
    #[arg(long, overrides_with = "include_tests")]
    pub no_tests: bool,
    /// Branch, tag, commit or tree to search instead of HEAD and the working tree
    #[arg(long)]
    pub rev: Option<String>,
    /// Search only committed files, not the working tree
    #[arg(long)]
    pub committed: bool,
}

impl ScopeArgs {
    /// Returns whether tests are searched; `None` if the setting decides.
    pub fn include_tests(&self) -> Option<bool> {
        match (self.include_tests, self.no_tests) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The options as conditions of a query.
    pub fn conditions(&self) -> Vec<Condition> {
        let named = |values: &[String], condition: fn(String) -> Condition| {
            values.iter().cloned().map(condition).collect::<Vec<_>>()
        };

        let mut conditions = [
            named(&self.repos, Condition::Repo),
            named(&self.lang, Condition::Language),
            named(&self.path, Condition::Path),
            named(&self.exclude, Condition::ExcludedPath),
            named(&self.kind, Condition::Kind),
        ]
        .concat();
        conditions.extend(self.rev.iter().cloned().map(Condition::Rev));
        conditions.extend(self.committed.then_some(Condition::State(MatchState::Committed)));

        conditions
    }

    /// Filters and view of a request with the conditions of `query`. Paths are relative to the directory of
    /// `context`; `include_tests` is the default.
    pub fn resolve(
        &self,
        query: &TypedQuery,
        searcher: &Searcher,
        context: &Context,
        include_tests: bool,
    ) -> Result<Resolved, CliError> {
        let codebase = &searcher.codebase;
        let include_tests = self.include_tests().unwrap_or(include_tests);
        let filters = Filters { include_tests, ..Filters::default() };

        let prefix = &context.prefix(codebase);
        let resolver = Resolver { searcher, prefix };
        let view = ViewRequest { cancel: context.streams.cancel(), ..ViewRequest::new(&codebase.settings) };
        Ok(resolver.resolve(query, filters, view)?)
    }
}
