//! Finds the window of lines that has most of the words of a query.

use super::for_each_term;

/// Returns the position of the first of the `n_lines` lines that have most of `words`, the terms of a query;
/// 0 if all lines but one have room. A word counts once in a window, and the more lines have it, the less it
/// counts. Ties go to the earliest window.
pub fn densest_window(lines: &[&str], words: &[String], n_lines: usize) -> usize {
    if lines.len() <= n_lines + 1 {
        return 0;
    }

    let mut lines_of: Vec<Vec<usize>> = vec![Vec::new(); words.len()];
    let mut has_word = vec![false; lines.len()];

    for (i, line) in lines.iter().enumerate() {
        for_each_term(line, &mut |term| {
            if let Some(word) = words.iter().position(|word| word == term) {
                lines_of[word].push(i);
                has_word[i] = true;
            }
        });
    }
    lines_of.iter_mut().for_each(Vec::dedup);

    // A window starts one line of context above a line with a word, or is the last one.
    let last = lines.len() - n_lines;
    let mut best = (0, weight(&lines_of, 0, n_lines));
    for first in 1..=last {
        if first != last && !has_word.get(first + 1).copied().unwrap_or_default() {
            continue;
        }
        let weight = weight(&lines_of, first, n_lines);
        if weight > best.1 + f32::EPSILON {
            best = (first, weight);
        }
    }

    best.0
}

/// Returns the sum of the weights of the words in a window. `lines_of` has the sorted lines of each word. The
/// weight of a word is the inverse of their number.
fn weight(lines_of: &[Vec<usize>], first: usize, n_lines: usize) -> f32 {
    let mut sum = 0.0;
    for lines in lines_of {
        let next = lines.get(lines.partition_point(|&line| line < first));
        if next.is_some_and(|&line| line < first + n_lines) {
            sum += 1.0 / lines.len() as f32;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::densest_window;
    use crate::query_terms;

    fn words(query: &str) -> Vec<String> {
        query_terms(query).into_iter().map(|term| term.term).collect()
    }

    #[test]
    fn the_window_contains_the_words_of_the_query() {
        let text: Vec<String> = (0..40).map(|i| format!("line {i}")).collect();
        let mut lines: Vec<&str> = text.iter().map(String::as_str).collect();
        lines[30] = "let token = refresh(expired);";
        let first = densest_window(&lines, &words("refresh expired token"), 8);
        assert!((23..=30).contains(&first), "{first}");
        assert_eq!(densest_window(&lines, &words("nowhere"), 8), 0);
        lines.swap(30, 39);
        assert_eq!(densest_window(&lines, &words("refresh"), 8), 32, "in the last line");
        assert_eq!(densest_window(&lines[..9], &words("refresh"), 8), 0);
    }

    #[test]
    fn a_word_of_one_line_counts_more_than_words_of_many() {
        let mut lines = vec!["buffer.write(byte);"; 40];
        lines[33] = "flush();";
        let first = densest_window(&lines, &words("flush the write buffer"), 5);
        assert!((29..=33).contains(&first), "{first}");
    }
}
