//! Question: the kind of answer that is asked for.

/// The kind of answer that a question asks for, by its first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// "How do I …": steps, commands.
    HowTo,
    /// "Can I …", "is it possible …": whether and by which means.
    Possibility,
    /// "Why …": a reason.
    Reason,
    /// "Where …": a path, a name, a setting.
    Place,
    /// "What is …", "what does … mean": a definition.
    Definition,
    /// "Which …", "when …", "what is the default …": a fact.
    Fact,
}

impl QuestionKind {
    /// The kind of `question`. A text that does not begin as a question is taken for one about a fact.
    pub fn from_question(question: &str) -> QuestionKind {
        let lower = question.trim().to_lowercase();
        let starts = |beginnings: &[&str]| beginnings.iter().any(|beginning| lower.starts_with(beginning));

        // The order matters: a longer beginning is tested before the shorter one that it contains.
        if starts(&["how many", "how much", "how often", "how long", "how large", "how big", "how old"]) {
            QuestionKind::Fact
        } else if starts(&["how do", "how to", "how can", "how should", "how would", "how must", "how could"])
        {
            QuestionKind::HowTo
        } else if starts(&["can ", "could ", "is it possible", "is there a way", "may i ", "am i able"]) {
            QuestionKind::Possibility
        } else if starts(&["why ", "what is the reason", "for what reason"]) {
            QuestionKind::Reason
        } else if starts(&["where ", "in which file", "in which directory"]) {
            QuestionKind::Place
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

/// Beginnings of questions for a number. They are not searched for, since documents answer without them.
const MEASURES: [&str; 8] =
    ["how often ", "how many ", "how much ", "how long ", "how large ", "how big ", "how old ", "how far "];

/// The part of `question` that is searched for.
pub fn topic(question: &str) -> &str {
    let question = question.trim_start();
    let measure = MEASURES.iter().find(|measure| {
        question.get(..measure.len()).is_some_and(|start| start.eq_ignore_ascii_case(measure))
    });

    measure.map_or(question, |measure| &question[measure.len()..])
}

/// Particles that make a verb and its noun of the word before them: "roll back" and "rollback".
const PARTICLES: [&str; 11] =
    ["back", "up", "down", "out", "in", "off", "on", "over", "around", "away", "through"];

/// `topic` with each verb and its particle written as one word; `None` without any.
pub fn with_compounds(topic: &str) -> Option<String> {
    let words: Vec<&str> = topic.split_whitespace().collect();
    let mut joined: Vec<String> = Vec::new();
    let mut has_compound = false;

    for word in words {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_particle = PARTICLES.contains(&bare.to_lowercase().as_str());
        match joined.last_mut().filter(|verb| is_particle && is_verb(verb)) {
            Some(verb) => {
                verb.push_str(word);
                has_compound = true;
            }
            None => joined.push(word.to_owned()),
        }
    }

    has_compound.then(|| joined.join(" "))
}

/// Returns whether a word before a particle may be its verb.
fn is_verb(word: &str) -> bool {
    word.len() > 2
        && word.chars().all(char::is_alphabetic)
        && !QUESTION_WORDS.contains(&word.to_lowercase().as_str())
}

/// Words that begin questions.
const QUESTION_WORDS: [&str; 16] = [
    "how", "what", "which", "where", "when", "why", "who", "can", "could", "does", "do", "is", "are", "may",
    "must", "should",
];

/// `question` in lower case without the marks at its end, if it is a sentence that begins with a question
/// word.
pub fn asked(question: &str) -> Option<String> {
    let asked = question.trim_end_matches(|c: char| !c.is_alphanumeric()).trim_start().to_lowercase();
    let begins = asked.split_whitespace().next().is_some_and(|word| QUESTION_WORDS.contains(&word));
    (begins && asked.split_whitespace().count() >= 4).then_some(asked)
}

/// The numbers and versions in `question`: `8765`, `3.4`, `v2`. The index has no terms for most of them.
pub fn figures(question: &str) -> Vec<&str> {
    let words = question.split(|c: char| c.is_whitespace() || matches!(c, '/' | ':' | ',' | '='));
    let trimmed = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    trimmed.filter(|word| is_figure(word)).collect()
}

/// Returns whether `word` is a number or a version.
fn is_figure(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '_')
}

/// Returns whether `text` has `figure`, and not as a part of a longer number.
pub fn has_figure(text: &str, figure: &str) -> bool {
    text.match_indices(figure).any(|(at, _)| {
        let before: String = text[..at].chars().rev().take(2).collect();
        !continues_number(&before) && !continues_number(&text[at + figure.len()..])
    })
}

/// Returns whether the characters next to a figure, nearest first, are part of the same number.
fn continues_number(rest: &str) -> bool {
    let mut characters = rest.chars();
    match characters.next() {
        Some('.') => characters.next().is_some_and(|c| c.is_ascii_digit()),
        first => first.is_some_and(|c| c.is_ascii_digit()),
    }
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
    fn figures_are_numbers_and_versions() {
        assert_eq!(figures("which of 3.6, v2 and utf8 is at :8765?"), ["3.6", "v2", "8765"]);
        assert!(has_figure("upgrade to 3.6.", "3.6") && has_figure("v3.6", "3.6"));
        for other in ["13.6", "3.61", "3.6.1", "2.3.6", ""] {
            assert!(!has_figure(other, "3.6"), "{other}");
        }
    }

    #[test]
    fn a_verb_and_its_particle_are_one_word() {
        assert_eq!(
            with_compounds("how do I roll back a change?").as_deref(),
            Some("how do I rollback a change?")
        );
        assert_eq!(with_compounds("how do I log in?").as_deref(), Some("how do I login?"));
        assert_eq!(with_compounds("what is in a shard"), None);
        assert_eq!(with_compounds("back up").as_deref(), Some("backup"));
    }

    #[test]
    fn the_first_words_decide() {
        for (question, kind) in [
            ("How do I turn hooks off?", QuestionKind::HowTo),
            ("how many threads are used", QuestionKind::Fact),
            ("What is a shard?", QuestionKind::Definition),
            ("what is the default port", QuestionKind::Fact),
            ("turn off hooks", QuestionKind::Fact),
            ("can I turn hooks off", QuestionKind::Possibility),
            ("Why are hooks slow?", QuestionKind::Reason),
            ("where are hooks installed", QuestionKind::Place),
        ] {
            assert_eq!(QuestionKind::from_question(question), kind, "{question}");
        }
    }
}
