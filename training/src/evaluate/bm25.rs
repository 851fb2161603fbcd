//! BM25 baseline over the product's terms: all terms of a code, the terms of a query without stop words.
//!
//! S. Robertson and H. Zaragoza, "The probabilistic relevance framework: BM25 and beyond", 2009.

use rustc_hash::FxHashMap;

use codeweaver_text::{for_each_term, query_terms};

const K1: f32 = 1.2;
const B: f32 = 0.75;

pub struct Bm25 {
    /// For each term, the documents that contain it with its contribution to their score.
    postings: FxHashMap<String, Vec<(u32, f32)>>,
    n: usize,
}

impl Bm25 {
    pub fn new<'t>(documents: impl IntoIterator<Item = &'t str>) -> Bm25 {
        let mut counts: FxHashMap<String, Vec<(u32, f32)>> = FxHashMap::default();
        let mut lengths: Vec<f32> = Vec::new();
        for document in documents {
            let number = lengths.len() as u32;
            let mut length = 0.0;
            for_each_term(document, &mut |term| {
                length += 1.0;
                let postings = match counts.get_mut(term) {
                    Some(postings) => postings,
                    None => counts.entry(term.to_owned()).or_default(),
                };
                match postings.last_mut() {
                    Some((last, count)) if *last == number => *count += 1.0,
                    _ => postings.push((number, 1.0)),
                }
            });
            lengths.push(length);
        }
        let n = lengths.len();
        let mean = lengths.iter().sum::<f32>() / n.max(1) as f32;
        for postings in counts.values_mut() {
            let df = postings.len() as f32;
            let idf = (1.0 + (n as f32 - df + 0.5) / (df + 0.5)).ln();
            for (document, count) in postings {
                let length = lengths[*document as usize] / mean.max(1.0);
                *count = idf * *count * (K1 + 1.0) / (*count + K1 * (1.0 - B + B * length));
            }
        }
        Bm25 { postings: counts, n }
    }

    /// Scores of all documents.
    pub fn scores(&self, query: &str) -> Vec<f32> {
        let mut out = vec![0.0; self.n];
        for term in query_terms(query) {
            for &(document, score) in self.postings.get(&term.term).into_iter().flatten() {
                out[document as usize] += term.weight * score;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_and_short_documents_count_more() {
        let documents = [
            "fn parse(header) {}",
            "fn parse() {}",
            "fn open(file) { read(file); close(file) }",
            "fn x() {}",
        ];
        let bm25 = Bm25::new(documents);
        let scores = bm25.scores("how to parse the header");
        assert!(scores[0] > scores[1] && scores[1] > 0.0 && scores[2] == 0.0, "{scores:?}");
        assert!(bm25.scores("unknown").iter().all(|&score| score == 0.0));
    }
}
