//! Question: what kind of answer is asked for.

/// The kind of answer that a question asks for, by its first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// "How do I …": steps, commands.
    HowTo,
    /// "What is …", "what does … mean": a definition.
    Definition,
    /// "Where …", "which …", "when …", "what is the default …": a fact.
    Fact,
}

impl QuestionKind {
    /// The kind of `question`. What does not begin as a question is taken for one about a fact.
    pub fn of(question: &str) -> QuestionKind {
        let lower = question.trim().to_lowercase();
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| lower.starts_with(beginning));
        if starts(&["how many", "how much", "how often", "how long", "how large", "how big", "how old"]) {
            QuestionKind::Fact
        } else if starts(&[
            "how do",
            "how to",
            "how can",
            "how should",
            "how would",
            "how must",
            "how could",
            "can i ",
        ]) {
            QuestionKind::HowTo
        } else if starts(&["what is the ", "what are the "]) {
            QuestionKind::Fact
        } else if starts(&[
            "what is ",
            "what are ",
            "what does ",
            "what do ",
            "what's ",
            "define ",
            "explain ",
        ]) {
            QuestionKind::Definition
        } else {
            QuestionKind::Fact
        }
    }
}

/// The words by which a question asks for a number. They say what is wanted, and documents answer without
/// them.
const MEASURES: [&str; 8] =
    ["how often ", "how many ", "how much ", "how long ", "how large ", "how big ", "how old ", "how far "];

/// The part of `question` that is searched for.
pub fn topic(question: &str) -> &str {
    let question = question.trim_start();
    let starts = |measure: &&&str| {
        question.get(..measure.len()).is_some_and(|start| start.eq_ignore_ascii_case(measure))
    };
    MEASURES.iter().find(starts).map_or(question, |measure| &question[measure.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_ask_for_a_number_are_not_searched_for() {
        assert_eq!(topic("How often is the lamp changed?"), "is the lamp changed?");
        assert_eq!(topic("how do I"), "how do I");
        assert_eq!(topic("how many "), "");
    }

    #[test]
    fn the_first_words_decide() {
        for (question, kind) in [
            ("How do I turn hooks off?", QuestionKind::HowTo),
            ("how many threads are used", QuestionKind::Fact),
            ("What is a shard?", QuestionKind::Definition),
            ("what is the default port", QuestionKind::Fact),
            ("turn off hooks", QuestionKind::Fact),
        ] {
            assert_eq!(QuestionKind::of(question), kind, "{question}");
        }
    }
}
