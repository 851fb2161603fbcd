//! The search phase: ranks the files in the tree of each issue with given weights.

use std::collections::HashMap;
use std::path::Path;

use codeweaver::query::rank::Weights;
use codeweaver_text as text;

use super::artefact::{Conversation, Found, FoundFile, Snippet};
use crate::error::EvalError;
use crate::labelled::LabelledQuery;
use crate::metric::Label;
use crate::runner::{OpenRepository, Runner};
use crate::suite::{Suite, SuiteRepository};

/// Opens the trees of issues, each given with the paths that answer it.
///
/// # Errors
/// Those of [`Runner::open`].
pub fn open<'a>(
    issues: impl Iterator<Item = (&'a Conversation, Vec<String>)>,
    repos: &Path,
) -> Result<Runner, EvalError> {
    let mut repositories: Vec<SuiteRepository> = Vec::new();

    for (conversation, relevant) in issues {
        let issue = &conversation.issue;
        let query = LabelledQuery {
            query: issue.text.clone(),
            category: conversation.product_area.clone(),
            language: None,
            intent: None,
            rev: issue.rev.clone(),
            labels: relevant.into_iter().map(Label::file).collect(),
            expected: Vec::new(),
            excluded: Vec::new(),
        };

        // Issues of one repository share its index.
        match repositories.iter_mut().find(|known| known.name == issue.repository) {
            Some(known) => known.queries.push(query),
            None => repositories.push(SuiteRepository {
                name: issue.repository.clone(),
                language: String::new(),
                revision: None,
                root: None,
                queries: vec![query],
            }),
        }
    }

    Runner::open(Suite { repositories }, repos, &[])
}

/// Searches for each of `conversations` with each of `weights`. The result has one list for each
/// conversation, in which each of `weights` has up to `n_results` files.
///
/// # Errors
/// Those of [`Runner::open`].
pub fn search(
    conversations: &[Conversation],
    weights: &[&Weights],
    n_results: usize,
    repos: &Path,
) -> Result<Vec<Vec<Found>>, EvalError> {
    let runner = open(conversations.iter().map(|conversation| (conversation, Vec::new())), repos)?;

    let mut places: HashMap<(&str, Option<&str>, &str), &OpenRepository> = HashMap::new();
    for opened in runner.repositories() {
        for query in &opened.repository.queries {
            places.insert((&opened.repository.name, query.rev.as_deref(), &query.query), opened);
        }
    }

    let mut all = Vec::new();
    for Conversation { issue, .. } in conversations {
        let place = (issue.repository.as_str(), issue.rev.as_deref(), issue.text.as_str());
        let by_weights = match places.get(&place) {
            Some(opened) => weights
                .iter()
                .map(|weights| found(opened, &issue.repository, &issue.text, weights, n_results))
                .collect(),
            // Cannot happen: every issue is one of the queries that were opened.
            None => vec![Found::default(); weights.len()],
        };
        all.push(by_weights);
    }

    Ok(all)
}

/// Searches for `text` and returns up to `n` files.
fn found(opened: &OpenRepository, repository: &str, text: &str, weights: &Weights, n: usize) -> Found {
    let ranked = opened.rank(&opened.request(text), weights);
    let terms = text::query_terms(text);
    let mut found = Found {
        search_terms_used: text::as_written(text, terms.iter()),
        exploration_log: vec![format!(
            "{} files match; the first {} are returned",
            ranked.len(),
            n.min(ranked.len())
        )],
        ..Found::default()
    };

    for file in ranked.iter().take(n) {
        let hit = opened.hit(file, true);
        found.snippets.push(Snippet { path: hit.path.clone(), lines: hit.lines, content: hit.text });
        found.files_found.push(FoundFile {
            repository: repository.to_owned(),
            path: hit.path,
            lines: hit.lines,
            symbols: hit.symbols,
            relevance: hit.relevance,
        });
    }

    found
}
