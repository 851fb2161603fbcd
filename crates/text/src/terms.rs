//! The tokeniser: splits text into terms.
//!
//! A run of word characters (letters, digits, `_`) yields
//! * its parts, cut at `_`, at camel-case humps and acronyms (`HTTPServer` → `http`, `server`), and after
//!   digits (`base64encode` → `base64`, `encode`); a part with a numbered tail also without it (`utf8` →
//!   `utf8`, `utf`);
//! * if it has several parts, also the whole, joined (`parse_header`, `parseHeader` and `ParseHeader` →
//!   `parseheader`), so that naming styles match each other and `fileName` matches `filename`.
//!
//! Terms are lower-case and stemmed. Single letters and digits yield nothing. Chinese, Japanese and Korean
//! yield single characters and pairs of neighbours; other scripts whole words. Runs of [high
//! entropy](super::entropy) are dropped.

use super::MAX_TERM_BYTES;
use super::entropy::is_high_entropy;
use super::stem::stem_in_place;

/// The origin of a term. A run yields its parts in order and then its whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermKind {
    /// A run that is a single word.
    Word,
    /// A part of a run of several.
    Part,
    /// All parts of a run, joined.
    Whole,
    /// A word or part without its numbered tail.
    Prefix,
    /// Digits only, or a hexadecimal literal.
    Number,
    /// One character of a script written without spaces.
    Character,
    /// Two characters side by side of a script written without spaces.
    Pair,
}

/// Maximum length of a run; longer ones are dropped as encoded data.
const MAX_RUN_BYTES: usize = 256;
/// Maximum length of a decimal number; longer ones are dropped as ids and hashes.
const MAX_DECIMAL_DIGITS: usize = 8;
const MAX_HEX_LITERAL_BYTES: usize = 18;

/// Calls `visit` with every term of `text`, in order, repetitions included.
///
/// Deterministic, never panics, O(bytes). Terms are at most [`MAX_TERM_BYTES`] long and borrowed for the call
/// only.
pub fn for_each_term(text: &str, visit: &mut dyn FnMut(&str)) {
    visit_terms(text, |term, _| visit(term));
}

/// Does the same as [`for_each_term`] with the kind of each term, monomorphised for hot loops.
pub fn visit_terms(text: &str, mut visit: impl FnMut(&str, TermKind)) {
    visit_runs(text, |run, classes| visit_run(run, classes, &mut visit));
}

/// The fate of a run. Encoded data is dropped, and continues across `+`, `/`, `.`, `-` and `=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    Text,
    Encoded,
}

/// Calls `visit` with each run of `text` that is not the continuation of encoded data, and the union of its
/// classes.
#[inline]
pub(super) fn visit_runs<'t>(text: &'t str, mut visit: impl FnMut(&'t str, u8) -> Run) {
    let bytes = text.as_bytes();
    let mut at = 0;
    // End of the last run dropped as encoded data.
    let mut encoded_end = usize::MAX;

    while at < bytes.len() {
        let class = CLASS[bytes[at] as usize];
        if class == SEPARATOR {
            at += 1;
            continue;
        }

        let start = at;
        let mut classes = 0u8;
        while at < bytes.len() && CLASS[bytes[at] as usize] != SEPARATOR {
            classes |= CLASS[bytes[at] as usize];
            at += 1;
        }

        let continues_encoded = classes & NON_ASCII == 0
            && encoded_end != usize::MAX
            && start == encoded_end + 1
            && matches!(bytes[encoded_end], b'+' | b'/' | b'.' | b'-' | b'=');
        // Separators are ASCII, so runs are cut between characters.
        if continues_encoded || visit(&text[start..at], classes) == Run::Encoded {
            encoded_end = at;
        }
    }
}

/// Calls `visit` with the terms of one run of [`visit_runs`].
pub(super) fn visit_run(run: &str, classes: u8, visit: &mut impl FnMut(&str, TermKind)) -> Run {
    let mut emitter = Emitter { visit, buffer: [0; MAX_TERM_BYTES], whole: [0; MAX_TERM_BYTES] };
    if classes & NON_ASCII != 0 {
        emitter.unicode_run(run);
        return Run::Text;
    }
    if run.len() > MAX_RUN_BYTES || is_high_entropy(run.as_bytes()) {
        return Run::Encoded;
    }
    emitter.ascii_run(run.as_bytes(), classes);
    Run::Text
}

/// Calls `visit` with the terms of a path: of every folder, and of the file name without the last extension.
pub fn path_terms(path: &str, visit: &mut dyn FnMut(&str)) {
    visit_path_terms(path, |term, _| visit(term));
}

/// Does the same as [`path_terms`] with the kind of each term.
pub fn visit_path_terms(path: &str, mut visit: impl FnMut(&str, TermKind)) {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    visit_terms(folders, &mut visit);

    let stem = match name.rfind('.') {
        // `.gitignore` has no extension.
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    };

    visit_terms(stem, &mut visit);
}

const SEPARATOR: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;
const NON_ASCII: u8 = 16;

const CLASS: [u8; 256] = {
    let mut table = [SEPARATOR; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            0x80.. => NON_ASCII,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    table
};

struct Emitter<'a, F> {
    visit: &'a mut F,
    buffer: [u8; MAX_TERM_BYTES],
    whole: [u8; MAX_TERM_BYTES],
}

impl<F: FnMut(&str, TermKind)> Emitter<'_, F> {
    /// Emits the terms of a run of ASCII word characters; `classes` is the union of their classes.
    fn ascii_run(&mut self, run: &[u8], classes: u8) {
        if classes == LOWER {
            return self.word(run, TermKind::Word);
        }
        if classes == DIGIT {
            if (2..=MAX_DECIMAL_DIGITS).contains(&run.len()) {
                self.emit_raw(run, TermKind::Number);
            }
            return;
        }
        if run[0] == b'0' && run.len() > 2 && matches!(run[1], b'x' | b'X') {
            if run.len() <= MAX_HEX_LITERAL_BYTES {
                self.emit_raw(run, TermKind::Number);
            }
            return;
        }

        let mut parts = Parts { run, at: 0 };
        let Some(first) = parts.next() else { return };
        // A run of one part, such as `_name`, has no whole.
        let Some(second) = parts.next() else { return self.word(first, TermKind::Word) };

        // The whole is built before `word` is called, which uses the other buffer.
        let mut joined = Joined { bytes: &mut self.whole, length: Some(0) };
        for part in [first, second].into_iter().chain(parts.clone()) {
            joined.push(part);
        }
        let length = joined.length;

        for part in [first, second].into_iter().chain(parts) {
            self.word(part, TermKind::Part);
        }

        if let Some(length) = length.filter(|&length| length > 1) {
            let length = stem_in_place(&mut self.whole[..length]);
            emit(self.visit, &self.whole[..length], TermKind::Whole);
        }
    }

    /// Emits a word or part in lower case and stemmed, and its prefix without a numbered tail.
    fn word(&mut self, part: &[u8], kind: TermKind) {
        let n = part.len();
        if !(2..=MAX_TERM_BYTES).contains(&n) {
            return;
        }

        let buffer = &mut self.buffer[..n];
        let mut digits = false;
        for (to, &from) in buffer.iter_mut().zip(part) {
            *to = from.to_ascii_lowercase();
            digits |= from.is_ascii_digit();
        }

        if !digits {
            let length = stem_in_place(buffer);
            return emit(self.visit, &self.buffer[..length], kind);
        }

        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters == 0 && part.iter().all(u8::is_ascii_digit) {
            if n <= MAX_DECIMAL_DIGITS {
                emit(self.visit, &self.buffer[..n], TermKind::Number);
            }
            return;
        }

        emit(self.visit, &self.buffer[..n], kind);
        // Shorter prefixes, as of `v2`, mean nothing alone.
        if letters >= 3 && part[letters..].iter().all(u8::is_ascii_digit) {
            let length = stem_in_place(&mut self.buffer[..letters]);
            emit(self.visit, &self.buffer[..length], TermKind::Prefix);
        }
    }

    /// Emits a run in lower case, without stemming.
    fn emit_raw(&mut self, run: &[u8], kind: TermKind) {
        let buffer = &mut self.buffer[..run.len()];
        buffer.copy_from_slice(run);
        buffer.make_ascii_lowercase();
        emit(self.visit, &self.buffer[..run.len()], kind);
    }

    /// Emits the terms of a run with characters beyond ASCII, which may hold punctuation and several scripts.
    fn unicode_run(&mut self, run: &str) {
        let mut previous: Option<char> = None; // of a script without spaces
        let mut word_start: Option<usize> = None;

        for (at, c) in run.char_indices() {
            let is_unspaced = is_unspaced(c);
            if is_unspaced || !is_word(c) {
                if let Some(start) = word_start.take() {
                    self.unicode_word(&run[start..at]);
                }
                if is_unspaced {
                    self.characters(previous, c);
                }
                previous = is_unspaced.then_some(c);
            } else {
                previous = None;
                word_start.get_or_insert(at);
            }
        }

        if let Some(start) = word_start {
            self.unicode_word(&run[start..]);
        }
    }

    /// Emits a character of a script without spaces, and its pair with the one before it.
    fn characters(&mut self, previous: Option<char>, c: char) {
        let mut text = [0u8; 8];
        let offset = previous.map_or(0, |previous| previous.encode_utf8(&mut text).len());
        let end = offset + c.encode_utf8(&mut text[offset..]).len();

        if let Ok(single) = std::str::from_utf8(&text[offset..end]) {
            (self.visit)(single, TermKind::Character);
        }
        if offset > 0
            && let Ok(pair) = std::str::from_utf8(&text[..end])
        {
            (self.visit)(pair, TermKind::Pair);
        }
    }

    /// Emits the terms of a word of a script with spaces, possibly mixed with ASCII: `größeÄndern`,
    /// `данные_json`.
    fn unicode_word(&mut self, word: &str) {
        if word.is_ascii() {
            let classes = word.bytes().fold(0, |classes, byte| classes | CLASS[byte as usize]);
            if word.len() <= MAX_RUN_BYTES && !is_high_entropy(word.as_bytes()) {
                self.ascii_run(word.as_bytes(), classes);
            }
            return;
        }

        if word.len() > 2 * MAX_RUN_BYTES {
            return;
        }

        let mut part = String::new();
        let mut whole = String::new();
        let mut n_parts = 0;
        let mut previous_lower = false;

        for c in word.chars() {
            if (c == '_' || (c.is_uppercase() && previous_lower)) && !part.is_empty() {
                n_parts += 1;
                self.unicode_part(&part, TermKind::Part);
                part.clear();
            }
            previous_lower = c.is_lowercase();
            if c != '_' {
                part.extend(c.to_lowercase());
                whole.extend(c.to_lowercase());
            }
        }

        if n_parts == 0 {
            return self.unicode_part(&part, TermKind::Word);
        }
        if !part.is_empty() {
            self.unicode_part(&part, TermKind::Part);
        }
        if whole.len() <= MAX_TERM_BYTES && part.len() < whole.len() {
            (self.visit)(&whole, TermKind::Whole);
        }
    }

    /// Emits a word or part in lower case that may be outside of ASCII.
    fn unicode_part(&mut self, part: &str, kind: TermKind) {
        if part.is_ascii() {
            self.word(part.as_bytes(), kind);
        } else if part.len() <= MAX_TERM_BYTES {
            (self.visit)(part, kind);
        }
    }
}

/// Calls `visit` with a term of at least two letters.
fn emit(visit: &mut impl FnMut(&str, TermKind), ascii: &[u8], kind: TermKind) {
    if ascii.len() > 1
        && let Ok(term) = std::str::from_utf8(ascii)
    {
        visit(term, kind);
    }
}

/// Joins parts in lower case. `length` is `None` once they do not fit.
struct Joined<'a> {
    bytes: &'a mut [u8; MAX_TERM_BYTES],
    length: Option<usize>,
}

impl Joined<'_> {
    /// Appends a part, unless it or one before does not fit.
    fn push(&mut self, part: &[u8]) {
        self.length = self.length.and_then(|length| {
            let target = self.bytes.get_mut(length..length + part.len())?;
            target.copy_from_slice(part);
            target.make_ascii_lowercase();
            Some(length + part.len())
        });
    }
}

/// Iterator over the non-empty parts of a run of ASCII word characters.
#[derive(Clone)]
struct Parts<'a> {
    run: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while self.run.get(self.at) == Some(&b'_') {
            self.at += 1;
        }

        let start = self.at;
        while self.at < self.run.len() {
            self.at += 1;
            if self.at == self.run.len() || is_boundary(self.run, start, self.at) {
                break;
            }
        }

        (self.at > start).then(|| &self.run[start..self.at])
    }
}

/// Returns whether a part that begins at `start` ends before `at` (`start < at < run.len()`).
fn is_boundary(run: &[u8], start: usize, at: usize) -> bool {
    let class = |index: usize| run.get(index).map_or(SEPARATOR, |&byte| CLASS[byte as usize]);

    match (class(at - 1), class(at)) {
        (_, UNDERSCORE) => true,
        (LOWER | DIGIT, UPPER) => true,
        // HTTP|Server; but the s of URLs and IDs belongs to the acronym.
        (UPPER, UPPER) => {
            class(at + 1) == LOWER && (run[at + 1] != b's' || matches!(class(at + 2), LOWER | DIGIT))
        }
        // base64|encode, sha256|sum; but i18n, k8s, v2beta1 and 64bit are one word.
        (DIGIT, LOWER) => {
            run[start].is_ascii_alphabetic()
                && at - start >= 3
                && class(at + 1) == LOWER
                && class(at + 2) == LOWER
                && run[start..].iter().take(3).all(u8::is_ascii_alphabetic)
        }
        _ => false,
    }
}

/// Returns whether a character is a letter, digit, combining mark or `_`.
fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || c == '_'
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{200c}' | '\u{200d}')
}

/// Returns whether a character is of a script written without spaces between words, or of Hangul, whose words
/// carry particles.
fn is_unspaced(c: char) -> bool {
    c >= '\u{e00}'
        && matches!(c,
            '\u{e00}'..='\u{eff}' // Thai, Lao
            | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' // Myanmar, Khmer
            | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
        && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> String {
        let mut out = Vec::new();
        for_each_term(text, &mut |term| out.push(term.to_owned()));
        out.join(" ")
    }

    /// Pins the terms of sample texts. A change here requires a new `TERMS_VERSION`.
    #[test]
    fn golden_table() {
        for (text, expected) in [
            ("HTTPServer", "http server httpserver"),
            ("parseHTTPResponse2", "pars http response2 respons parsehttpresponse2"),
            (
                "parse_header parseHeader PARSE_HEADER",
                "pars header parseheader pars header parseheader pars header parseheader",
            ),
            ("__init__ _private", "init privat"),
            ("utf8 UTF8 utf-8", "utf8 utf utf8 utf utf"),
            ("base64encode sha256sum", "base64 base encod base64encode sha256 sha sum sha256sum"),
            ("i18n k8s v2beta1 64bit x86_64", "i18n k8s v2beta1 64bit x86 64 x8664"),
            ("URLs userIDs", "url user id userid"),
            ("XMLHttpRequest", "xml http request xmlhttprequest"),
            ("iOS GitHub", "os ios git hub github"),
            ("fileName filename file_names", "file name filenam filenam file name filenam"),
            ("well-known kebab-case", "well known kebab case"),
            ("x = 1 + 42; y = 0xFF; 123456789", "42 0xff"),
            ("the parsing of parsed files", "the pars of pars file"),
            ("foo::bar.baz()", "foo bar baz"),
            ("can't don't", "can don"),
            ("日本語", "日 本 日本 語 本語"),
            ("größe Größe", "größe größe"),
            ("größeÄndern", "größe ändern größeändern"),
            ("данные_json", "данные json данныеjson"),
            ("“quoted”—dash…", "quot dash"),
            ("key = \"4eC39HqLyjWDarjtT1zdp7dc\"", "key"),
            ("da39a3ee5e6b4b0d3255bfef95601890afd80709 ok", "ok"),
            ("4eC39HqLyjWDarjtT1zdp7dc/abcd+efgh==", ""),
            ("Texture2DArray", "texture2 textur array texture2darray"),
            ("\u{0}\u{1}", ""),
        ] {
            assert_eq!(terms(text), expected, "{text}");
        }
    }

    #[test]
    fn path_terms_exclude_the_extension() {
        let mut out = Vec::new();
        path_terms("src/httpServer/request_parser.test.ts", &mut |term| out.push(term.to_owned()));
        assert_eq!(out.join(" "), "src http server httpserver request parser requestparser test");
        out.clear();
        path_terms(".gitignore", &mut |term| out.push(term.to_owned()));
        assert_eq!(out.join(" "), "gitignor");
    }

    #[test]
    fn long_names_yield_parts_only() {
        let name = "test_that_".repeat(10);
        assert_eq!(terms(&name), "test that ".repeat(10).trim_end());
        assert_eq!(terms(&"a".repeat(65)), "");
        assert_eq!(terms(&"a".repeat(64)).len(), 64);
        assert_eq!(terms(&"ab".repeat(1 << 20)), "");
    }

    #[test]
    fn terms_of_any_text_are_bounded_lower_case_and_deterministic() {
        let mut random = fastrand::Rng::with_seed(7);
        let alphabet: Vec<char> =
            "aZ9_ -.:/+=sedig\u{0}\u{7f}éßİǅΣς日本한ไท\u{301}\u{200d}\u{1F600}𝒜\u{10ffff}".chars().collect();
        for _ in 0..3000 {
            let length = random.usize(..60);
            let text: String = (0..length)
                .map(|_| {
                    if random.u8(..8) == 0 {
                        random.char(..)
                    } else {
                        alphabet[random.usize(..alphabet.len())]
                    }
                })
                .collect();
            let first = terms(&text);
            assert_eq!(first, terms(&text));
            for term in first.split(' ').filter(|term| !term.is_empty()) {
                assert!(term.len() <= MAX_TERM_BYTES, "{term}");
                assert!(!term.bytes().any(|byte| byte.is_ascii_uppercase()), "{term}");
            }
        }
    }
}
