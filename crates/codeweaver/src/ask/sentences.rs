//! Sentences: the sentences of a paragraph of a document.
//!
//! The boundaries are those of Unicode (UAX #29), found in a form of the paragraph in which markup looks like
//! the text that it stands for: code spans are words, emphasis is a bracket, and lines run on. Unicode knows
//! no abbreviations; those of a list end no sentence.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations without their last full stop, in lower case, in alphabetical order: titles of people, parts
/// of names, references. Left out are those that are words, options or units more often: `no.`, `col.`, `ms.`
/// mostly end a sentence in documents about software. Letters with full stops (`e.g.`) need not be listed.
const ABBREVIATIONS: [&str; 44] = [
    "adm", "al", "approx", "apr", "aug", "bzgl", "bzw", "capt", "cf", "chap", "corp", "dec", "dept", "dr",
    "ed", "eds", "etc", "evtl", "feb", "fig", "figs", "gen", "ggf", "gov", "inc", "jan", "jr", "lt", "ltd",
    "maj", "messrs", "mr", "mrs", "nov", "nr", "oct", "pp", "prof", "sen", "sgt", "sr", "st", "usw", "vs",
];

/// Abbreviations that end no sentence before a number: `no. 5`, `vol. 2`.
const BEFORE_NUMBERS: [&str; 8] = ["art", "ch", "eq", "no", "nos", "par", "sec", "vol"];

// typos: off
/// Months before which a number with a full stop is an ordinal, in German: `3. Mai`.
const MONTHS: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];
// typos: on

/// The sentences of the paragraph `range` of `text`, in order, which together are the paragraph.
pub fn sentences(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let paragraph = &text[range.clone()];
    let plain = plain(paragraph);
    let (mut found, mut start) = (Vec::new(), 0);

    for (at, _) in plain.split_sentence_bound_indices().skip(1) {
        if is_boundary(paragraph, start, at) {
            let end = start + paragraph[start..at].trim_end().len();
            found.push(range.start + start..range.start + end);
            start = at;
        }
    }

    found.push(range.start + start..range.end);
    found
}

/// The paragraph as plain text of the same length, each byte at its place.
fn plain(paragraph: &str) -> String {
    let (mut in_code, mut begins_word) = (false, true);
    let mut plain = String::with_capacity(paragraph.len());

    for c in paragraph.chars() {
        in_code ^= c == '`';
        let is_blank = c.is_whitespace() && !in_code;
        match c {
            '\n' | '\r' | '\t' if is_blank => plain.push(' '),
            // A capital, since a sentence can begin with code, a number, an option or a bracket.
            _ if in_code || c == '`' || begins_word && !is_blank && !c.is_alphabetic() => {
                (0..c.len_utf8()).for_each(|_| plain.push('X'));
            }
            // Emphasis that ends, since what begins a word is replaced above.
            '*' | '_' => plain.push(')'),
            c => plain.push(c),
        }
        begins_word = is_blank;
    }

    plain
}

/// Returns whether a boundary of Unicode at `at` ends the sentence that begins at `start`. After an ASCII
/// mark, white space must stand between the sentences; other scripts need none.
fn is_boundary(paragraph: &str, start: usize, at: usize) -> bool {
    let sentence = &paragraph[start..at];
    let before = sentence.trim_end();
    let is_separated = before.len() < sentence.len() || before.ends_with(|c: char| !c.is_ascii());
    if !is_separated {
        return false;
    }

    let closed = before.trim_end_matches(['"', '\'', ')', ']', '*', '_', '”', '’']);
    match closed.strip_suffix('.') {
        Some(words) => !ends_in_abbreviation(words, &paragraph[at..]),
        None => true,
    }
}

/// Returns whether the last word before a full stop is an abbreviation where `rest` follows.
fn ends_in_abbreviation(words: &str, rest: &str) -> bool {
    let word = words.rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '*' | '_')).next();
    let word = word.unwrap_or_default();
    let are_initials =
        word.split('.').all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic));

    let lower = word.to_lowercase();
    let is_before_number = rest.starts_with(|c: char| c.is_ascii_digit());
    are_initials
        // In small letters, the unit of time.
        || word == "Ms"
        || ABBREVIATIONS.binary_search(&lower.as_str()).is_ok()
        || is_before_number && BEFORE_NUMBERS.contains(&lower.as_str())
        || is_ordinal(word, rest)
}

/// Returns whether `word` is the number of a day, and `rest` begins with its month.
fn is_ordinal(word: &str, rest: &str) -> bool {
    let is_day = matches!(word.len(), 1 | 2) && word.bytes().all(|byte| byte.is_ascii_digit());
    let next = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    is_day && MONTHS.contains(&next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text, 0..text.len()).into_iter().map(|sentence| &text[sentence]).collect()
    }

    #[test]
    fn abbreviations_end_no_sentence() {
        assert!(ABBREVIATIONS.is_sorted());
        for whole in [
            "Ask Mrs. Miller or Prof. Smith first.",
            "J. R. Smith and Mr. Jones wrote it.",
            "Other ports, e.g. Port 80, are not used.",
            "See vol. 2 and no. 5 for more.",
            "Smith et al. Described it.",
            "The U.S. Office is closed.",
            "Version 1.2.3 and v. 4 differ, z.B. Ports.",
            "Am 3. Mai und am 24. Dezember ruht der Dienst.", // typos: ignore
            "It was Gen. Miller who asked.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn sentences_end_at_marks_before_another_one() {
        assert_eq!(split("The answer is no. Ask again!"), ["The answer is no.", "Ask again!"]);
        assert_eq!(split("The limit is 3. Maintainers set it."), ["The limit is 3.", "Maintainers set it."]);
        assert_eq!(
            split("Is it on? `status` says so. **Bold.** Next."),
            ["Is it on?", "`status` says so.", "**Bold.**", "Next."]
        );
        assert_eq!(
            split("He said \"stop.\" Then it stopped.\nA line."),
            ["He said \"stop.\"", "Then it stopped.", "A line."]
        );
        assert_eq!(
            split("Read `a. B. C` first.\nIt runs\non. (See above.) End."),
            ["Read `a. B. C` first.", "It runs\non.", "(See above.)", "End."]
        );
        assert_eq!(
            split("It takes 5 ms. 0 is off. --force skips it."),
            ["It takes 5 ms.", "0 is off.", "--force skips it."]
        );
        assert_eq!(
            split("設定を変更します。再起動してください。"),
            ["設定を変更します。", "再起動してください。"]
        );
    }

    #[test]
    fn names_and_numbers_stay_whole() {
        for whole in
            ["Edit foo.Bar and a.b(X).c here.", "It takes 1.5 s on port 8.", "Use .gitignore for that."]
        {
            assert_eq!(split(whole), [whole]);
        }
    }
}
