//! Queries that share no word with their answer, which keyword search cannot find.
//!
//! The queries are held-out documentation, from which every word is removed whose stem is a term of the code,
//! or that starts with the same four letters as a word of the code. Those that keep at least three content
//! words, and most of their content words, are run on all code of their repository.

use anyhow::Result;
use rustc_hash::FxHashSet;

use codeweaver_text::{TermKind, for_each_term, query_terms, stem, visit_terms};

use super::held_out::{HeldOut, candidate};
use super::sets::{Set, rank};
use super::systems::{System, Task};
use crate::pair::PairKind;

/// Minimum size of a repository's pool, so that ten results are a small part of it.
const MIN_POOL: usize = 200;
/// Maximum size of a pool; larger ones are sampled by hash.
const MAX_POOL: usize = 2_000;
/// Minimum number of content words that a query keeps.
const MIN_WORDS: usize = 3;
/// Minimum share of its content words that a query keeps: with fewer, its meaning has changed.
const MIN_KEPT: f64 = 0.6;
/// Words with a common prefix of this length count as shared.
const PREFIX_BYTES: usize = 4;
/// k of recall@k.
const TOP: f64 = 10.0;

/// Prints recall@10 and mean reciprocal rank of every system.
pub fn report(held_out: &HeldOut, systems: &[System]) -> Result<serde_json::Value> {
    let header: Vec<String> = systems.iter().flat_map(System::columns).collect();
    let mut sums = vec![(0.0, 0.0); header.len()];
    let (mut n, mut repositories, mut chance) = (0, 0, 0.0);
    let mut examples = Vec::new();
    for repository in 0..held_out.repositories.len() {
        let own = held_out.pairs.iter().enumerate().filter(|(_, (number, pair))| {
            *number == repository && matches!(pair.kind, PairKind::Doc | PairKind::Chunk)
        });
        let set = Set::new(own.map(|(number, (_, pair))| candidate(number, pair)).collect(), MAX_POOL);
        if set.pool.len() < MIN_POOL {
            continue;
        }
        let queries: Vec<(usize, String)> = (0..set.queries.len())
            .filter_map(|query| {
                let codes =
                    set.relevant[query].iter().map(|&place| &*held_out.pair(set.pool[place as usize]).code);
                let text = without_shared(&held_out.pair(set.queries[query]).text, codes)?;
                Some((query, text))
            })
            .collect();
        if queries.is_empty() {
            continue;
        }
        let task = Task {
            queries: queries.iter().map(|(_, text)| text.as_str()).collect(),
            codes: set.pool.iter().map(|&number| &*held_out.pair(number).code).collect(),
            paths: set.pool.iter().map(|&number| &*held_out.pair(number).path).collect(),
        };
        let mut column = 0;
        for system in systems {
            for scores in system.scores(&task)? {
                for ((query, _), scores) in queries.iter().zip(scores.chunks_exact(set.pool.len())) {
                    let rank = rank(scores, &set.relevant[*query]);
                    sums[column].0 += f64::from(rank <= TOP);
                    sums[column].1 += 1.0 / rank;
                }
                column += 1;
            }
        }
        n += queries.len();
        chance += queries.len() as f64 * TOP / set.pool.len() as f64;
        repositories += 1;
        examples.extend(queries.into_iter().take(2).map(|(_, text)| text));
    }
    let per_query = |sum: f64| sum / n.max(1) as f64;
    println!(
        "{n} queries without a shared word, {repositories} repositories; recall@10 by chance {:.4}",
        per_query(chance)
    );
    println!("{:<12}{:>10}{:>10}", "", "recall@10", "MRR");
    let mut rows = Vec::new();
    for (name, (recall, reciprocal)) in header.iter().zip(&sums) {
        println!("{name:<12}{:>10.4}{:>10.4}", per_query(*recall), per_query(*reciprocal));
        rows.push(serde_json::json!({
            "system": name, "recall_at_10": per_query(*recall), "mrr": per_query(*reciprocal),
        }));
    }
    examples.truncate(20);
    Ok(serde_json::json!({
        "questions": n, "repositories": repositories, "chance": per_query(chance), "systems": rows, "examples": examples,
    }))
}

/// Returns `text` without the words that occur in one of `codes`, or `None` if too few content words remain.
fn without_shared<'c>(text: &str, codes: impl Iterator<Item = &'c str>) -> Option<String> {
    let mut terms: FxHashSet<String> = FxHashSet::default();
    let mut prefixes: FxHashSet<String> = FxHashSet::default();
    for code in codes {
        visit_terms(code, |term, kind| {
            if let Some(prefix) = term.get(..PREFIX_BYTES)
                && matches!(kind, TermKind::Word | TermKind::Part)
            {
                prefixes.insert(prefix.to_owned());
            }
            terms.insert(term.to_owned());
        });
    }

    let words = text.split(|c: char| c.is_whitespace() || "/,;:.()[]{}`'\"".contains(c));
    let kept: Vec<&str> =
        words.filter(|word| !word.is_empty() && !is_shared(word, &terms, &prefixes)).collect();
    let query = kept.join(" ");
    let words_in = |text: &str| query_terms(text).iter().filter(|term| meaningful(&term.term)).count();
    let n = words_in(&query);
    (n >= MIN_WORDS && n as f64 >= MIN_KEPT * words_in(text) as f64).then_some(query)
}

/// Returns whether a word has a term of `terms`, or one that starts with one of `prefixes`.
fn is_shared(word: &str, terms: &FxHashSet<String>, prefixes: &FxHashSet<String>) -> bool {
    let mut is_shared = false;
    for_each_term(word, &mut |term| {
        is_shared |= terms.contains(term) || term.get(..PREFIX_BYTES).is_some_and(|b| prefixes.contains(b));
    });
    is_shared
}

/// Returns whether a term is a content word. Stop words are already removed unless the query has nothing
/// else.
fn meaningful(term: &str) -> bool {
    let letters = term.len() >= 3 && term.bytes().all(|byte| byte.is_ascii_alphabetic());
    letters && !["the", "this", "that", "and", "for", "with", "from"].iter().any(|word| stem(word) == term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_code_and_of_their_families_are_removed() {
        let query = |text, code| without_shared(text, std::iter::once(code));
        let text = "Returns the parsed headers of a request as lower case strings";
        let code = "fn f(r: &Req) -> V { all(r).lower().parser() }";
        assert_eq!(query(text, code).as_deref(), Some("Returns the headers of a request as case strings"));
        let code = "fn f(r: &Req) -> V { parser.headerMap(r).lower().string() }";
        assert_eq!(query(text, code), None);
        assert_eq!(query("Parses the headers of it", code), None);
        assert_eq!(query(text, "requested.returning(lower, strings).casing(parse, header)"), None);
    }
}
