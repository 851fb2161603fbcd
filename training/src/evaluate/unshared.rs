//! Questions that share no word with their answer: what a keyword search cannot find.
//!
//! They are made of held-out documentation: every word is taken out whose stem is a term of the code, or that begins
//! with the same four letters as a word of the code. Those that keep three words with a meaning, and most of those they
//! had, are asked among all code of their repository.

use anyhow::Result;
use codeweaver::text::{TermKind, for_each_term, query_terms, stem, visit_terms};
use rustc_hash::FxHashSet;

use super::held_out::{HeldOut, candidate};
use super::sets::{Set, rank};
use super::systems::{System, Task};
use crate::pair::PairKind;

/// Chunks that a repository has at least, so that ten of them are few.
const MIN_POOL: usize = 200;
/// Largest pool, chosen by hash.
const MAX_POOL: usize = 2_000;
/// Words with a meaning that a question keeps.
const MIN_WORDS: usize = 3;
/// Share of its words with a meaning that a question keeps: what has lost more asks for something else.
const MIN_KEPT: f64 = 0.6;
/// Words that begin with the same letters, this many, are taken for the same.
const PREFIX_BYTES: usize = 4;
const TOP: f64 = 10.0;

/// Prints recall among the first ten and mean reciprocal rank of every system.
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
        let questions: Vec<(usize, String)> = (0..set.queries.len())
            .filter_map(|query| {
                let codes =
                    set.relevant[query].iter().map(|&place| &*held_out.pair(set.pool[place as usize]).code);
                let question = without_shared(&held_out.pair(set.queries[query]).text, codes)?;
                Some((query, question))
            })
            .collect();
        if questions.is_empty() {
            continue;
        }
        let task = Task {
            queries: questions.iter().map(|(_, question)| question.as_str()).collect(),
            codes: set.pool.iter().map(|&number| &*held_out.pair(number).code).collect(),
            paths: set.pool.iter().map(|&number| &*held_out.pair(number).path).collect(),
        };
        let mut column = 0;
        for system in systems {
            for scores in system.scores(&task)? {
                for ((query, _), scores) in questions.iter().zip(scores.chunks_exact(set.pool.len())) {
                    let rank = rank(scores, &set.relevant[*query]);
                    sums[column].0 += f64::from(rank <= TOP);
                    sums[column].1 += 1.0 / rank;
                }
                column += 1;
            }
        }
        n += questions.len();
        chance += questions.len() as f64 * TOP / set.pool.len() as f64;
        repositories += 1;
        examples.extend(questions.into_iter().take(2).map(|(_, question)| question));
    }
    let per_query = |sum: f64| sum / n.max(1) as f64;
    println!(
        "{n} questions without a shared word, {repositories} repositories; recall@10 by chance {:.4}",
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

/// `text` without every word that one of `codes` has, if enough is left to ask.
fn without_shared<'c>(text: &str, codes: impl Iterator<Item = &'c str>) -> Option<String> {
    let mut terms: FxHashSet<String> = FxHashSet::default();
    let mut beginnings: FxHashSet<String> = FxHashSet::default();
    for code in codes {
        visit_terms(code, |term, kind| {
            if let Some(beginning) = term.get(..PREFIX_BYTES)
                && matches!(kind, TermKind::Word | TermKind::Part)
            {
                beginnings.insert(beginning.to_owned());
            }
            terms.insert(term.to_owned());
        });
    }
    let shared = |word: &str| {
        let mut shared = false;
        for_each_term(word, &mut |term| {
            shared |=
                terms.contains(term) || term.get(..PREFIX_BYTES).is_some_and(|b| beginnings.contains(b));
        });
        shared
    };
    let words = text.split(|c: char| c.is_whitespace() || "/,;:.()[]{}`'\"".contains(c));
    let kept: Vec<&str> = words.filter(|word| !word.is_empty() && !shared(word)).collect();
    let question = kept.join(" ");
    let words_in = |text: &str| query_terms(text).iter().filter(|term| meaningful(&term.term)).count();
    let n = words_in(&question);
    (n >= MIN_WORDS && n as f64 >= MIN_KEPT * words_in(text) as f64).then_some(question)
}

/// Stop words are gone already unless there is nothing else.
fn meaningful(term: &str) -> bool {
    let letters = term.len() >= 3 && term.bytes().all(|byte| byte.is_ascii_alphabetic());
    letters && !["the", "this", "that", "and", "for", "with", "from"].iter().any(|word| stem(word) == term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_code_and_their_kin_are_taken_out() {
        let question = |text, code| without_shared(text, std::iter::once(code));
        let text = "Returns the parsed headers of a request as lower case strings";
        let code = "fn f(r: &Req) -> V { all(r).lower().parser() }";
        assert_eq!(question(text, code).as_deref(), Some("Returns the headers of a request as case strings"));
        let code = "fn f(r: &Req) -> V { parser.headerMap(r).lower().string() }";
        assert_eq!(question(text, code), None);
        assert_eq!(question("Parses the headers of it", code), None);
        assert_eq!(question(text, "requested.returning(lower, strings).casing(parse, header)"), None);
    }
}
