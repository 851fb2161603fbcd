//! Form: the fit of the wording of a unit to the kind of answer that a question asks for.

use super::question::QuestionKind;
use super::units::UnitKind;

/// Words that give an instruction.
const INSTRUCTIONS: [&str; 24] = [
    "use ",
    "run ",
    "call ",
    "pass ",
    "set ",
    "add ",
    "create ",
    "install ",
    "start ",
    "specify ",
    "configure ",
    "enable ",
    "define ",
    "to do ",
    "by using ",
    "by setting ",
    "by passing ",
    "by adding ",
    "you can ",
    "can be used ",
    "with the ",
    "via ",
    "simply ",
    "command",
];
/// Words of caveats and errors, which follow an instruction and are none.
const CAVEATS: [&str; 17] = [
    "cannot",
    "can't",
    "can not",
    "must not",
    "should not",
    "don't",
    "do not",
    "be aware",
    "note that",
    "however",
    "limitation",
    "otherwise",
    "if another",
    "you'll see",
    "won't",
    "not recommended",
    "is impossible",
];
/// Words that give a reason.
const REASONS: [&str; 13] = [
    "because",
    "since ",
    "reason",
    "in order to",
    "so that",
    "due to",
    "to avoid",
    "to prevent",
    "prevents",
    "as a result",
    "this means",
    "allows",
    "otherwise",
];
/// Words that say where something is.
const PLACES: [&str; 14] = [
    "stored",
    "located",
    "found in",
    "found at",
    "saved",
    "placed",
    "lives",
    "is in ",
    "are in ",
    "is at ",
    "default",
    "directory",
    "folder",
    "under ",
];
/// Words that say that something is possible, or is not.
const POSSIBILITIES: [&str; 14] = [
    "can ",
    "cannot",
    "can't",
    "support",
    "allow",
    "possible",
    "able to",
    "lets you",
    "yes",
    "may ",
    "works with",
    "is available",
    "option",
    "use ",
];
/// Beginnings of sentences that continue the one before, and say little without it.
const CONTINUATIONS: [&str; 24] = [
    "this ",
    "these ",
    "those ",
    "it ",
    "its ",
    "they ",
    "that ",
    "therefore",
    "also",
    "as such",
    "however",
    "then ",
    "but ",
    "and ",
    "so ",
    "otherwise",
    "in that case",
    "in this case",
    "such ",
    "instead",
    "again",
    "in addition",
    "additionally",
    "similarly",
];

/// Returns the fit of a unit without regard to the words of the question, −2 to 2.
pub fn fit(kind: QuestionKind, unit: UnitKind, text: &str, max_code: usize) -> f32 {
    let is_code = unit == UnitKind::Code;
    let is_short_code = is_code && text.len() <= max_code;
    let lower = text.to_lowercase();
    let has = |cues: &[&str]| cues.iter().any(|cue| lower.contains(cue));
    let names_code = text.contains('`');

    let fit = match kind {
        QuestionKind::HowTo => match is_code {
            true if is_short_code => 0.8,
            true => 0.0,
            false => {
                let announces = if text.ends_with(':') || names_code { 0.8 } else { 0.0 };
                let instructs = if has(&INSTRUCTIONS) { 0.6 } else { 0.0 };
                let warns = if has(&CAVEATS) { -1.4 } else { 0.0 };
                announces + instructs + warns
            }
        },
        QuestionKind::Possibility => match is_code {
            true if is_short_code => 0.4,
            true => 0.0,
            false => {
                let says_so = if has(&POSSIBILITIES) { 0.8 } else { 0.0 };
                says_so + if names_code { 0.4 } else { 0.0 }
            }
        },
        QuestionKind::Reason if is_code => -1.0,
        QuestionKind::Reason => {
            if has(&REASONS) {
                1.2
            } else {
                0.0
            }
        }
        QuestionKind::Place if is_code => -0.3,
        QuestionKind::Place => {
            let is_placed = if has(&PLACES) { 0.8 } else { 0.0 };
            is_placed + if names_code || text.contains('/') { 0.6 } else { 0.0 }
        }
        QuestionKind::Definition if is_code => -1.0,
        QuestionKind::Definition => 0.0,
        QuestionKind::Fact if is_code => -0.3,
        QuestionKind::Fact => 0.2,
    };

    let continues = !is_code && CONTINUATIONS.iter().any(|start| lower.starts_with(start));
    fit - if continues { 0.8 } else { 0.0 }
}

/// The subject of a sentence that begins as a definition ("A shard is …"); `None` for other sentences.
pub fn defined_subject(text: &str) -> Option<&str> {
    const VERBS: [&str; 10] =
        [" is ", " are ", " means ", " refers ", " lets ", " allows ", " provides ", ": ", " – ", " — "];

    let start = text.char_indices().nth(80).map_or(text, |(end, _)| &text[..end]);
    let verb = VERBS.iter().filter_map(|verb| start.find(verb)).min()?;
    Some(&start[..verb]).filter(|subject| subject.split_whitespace().count() <= 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_fit_better_than_caveats_and_continuations() {
        let how = |text: &str| fit(QuestionKind::HowTo, UnitKind::Sentence, text, 600);
        assert!(how("Use the `--port` option to change it.") > how("The server has a port."));
        assert!(how("The server has a port.") > how("If another program uses it, you'll see an error."));
        assert!(how("Pass a function to `stream`.") > how("This passes a function to `stream`."));

        let why = |text: &str| fit(QuestionKind::Reason, UnitKind::Sentence, text, 600);
        assert!(why("It is slow because metadata is missing.") > why("The resolver resolves."));
        let place = |text: &str| fit(QuestionKind::Place, UnitKind::Sentence, text, 600);
        assert!(place("The cache is stored in `~/.cache`.") > place("The cache is fast."));
    }

    #[test]
    fn the_subject_of_a_definition_is_before_its_verb() {
        assert_eq!(defined_subject("A shard is a file."), Some("A shard"));
        assert_eq!(defined_subject("Whatever you do in the whole wide world is fine."), None);
        assert_eq!(defined_subject("Run it."), None);
    }
}
