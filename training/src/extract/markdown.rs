//! Makes pairs of a paragraph or heading and the fenced code after it, from Markdown.

use codeweaver_chunk::LanguageId;

use super::filter::Collector;
use super::prose;
use crate::pair::PairKind;

/// A paragraph with fewer words is prefixed with its heading.
const FEW_WORDS: usize = 6;

/// Adds the pairs of a document.
pub fn add_pairs(path: &str, text: &str, collector: &mut Collector) {
    let (mut heading, mut paragraph) = (String::new(), String::new());
    let mut after_blank = true;
    // Skips the front matter of site generators.
    let text =
        text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---")).map_or(text, |(_, rest)| rest);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(fence) = ["```", "~~~"].into_iter().find(|fence| trimmed.starts_with(fence)) {
            let mark: String = trimmed.chars().take_while(|c| fence.starts_with(*c)).collect();
            let tag: &str =
                trimmed[mark.len()..].trim().split([' ', ',', '{', ':']).next().unwrap_or_default();
            let code: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != mark).collect();
            let language = LanguageId::by_name(tag)
                .filter(|language| !tag.is_empty() && !language.is_prose() && !language.is_data());
            if let Some(language) = language {
                collector.add(
                    PairKind::Markdown,
                    language.name(),
                    &description(&heading, &paragraph),
                    &code.join("\n"),
                    path,
                );
            }
            paragraph.clear();
        } else if let Some(title) = trimmed.strip_prefix('#') {
            heading = prose::plain(title.trim_start_matches('#').trim_end_matches('#').trim());
            paragraph.clear();
        } else if trimmed.is_empty() || trimmed.starts_with("[//]") || trimmed.starts_with('<') {
            after_blank = true;
        } else {
            if after_blank {
                paragraph.clear();
            }
            after_blank = false;
            paragraph.push_str(trimmed);
            paragraph.push(' ');
        }
    }
}

/// The last sentences of the paragraph, prefixed with the heading if they are short.
fn description(heading: &str, paragraph: &str) -> String {
    let paragraph = prose::plain(paragraph);
    let mut sentences: Vec<&str> = paragraph.split_inclusive(". ").collect();
    let total = |sentences: &[&str]| sentences.iter().map(|sentence| sentence.len()).sum::<usize>();
    while sentences.len() > 1 && (sentences.len() > 2 || total(&sentences) > prose::MAX_TEXT) {
        sentences.remove(0);
    }
    let text = sentences.concat();
    let text = text.trim().trim_end_matches(':');
    if text.split(' ').count() < FEW_WORDS { format!("{heading} {text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_code_is_described_by_the_text_before_it() {
        let text = "---\nid: x\n---\n# Reading headers\n\nOld text.\n\nUse the [reader](x.md) to take all headers\nof a file apart:\n\n```rust\nlet reader = Reader::open(path)?;\nfor header in reader.headers() { println!(\"{header}\"); }\n```\n\nExample:\n\n```python\nfor header in Reader(path).headers():\n    print(header.name, header.value)\n```\n\n```text\nno code at all, only words, only words, only words, words\n```\n";
        let mut collector = Collector::default();
        add_pairs("README.md", text, &mut collector);
        let (pairs, _) = collector.into_pairs(10);
        let mut found: Vec<(&str, &str)> =
            pairs.iter().map(|pair| (pair.language.as_str(), pair.text.as_str())).collect();
        found.sort_unstable();
        assert_eq!(
            found,
            [
                ("python", "Reading headers Example"),
                ("rust", "Use the reader to take all headers of a file apart")
            ]
        );
    }
}
