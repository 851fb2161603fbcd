//! Input that is made to do harm: mutations of fixtures, and texts on which a grammar would not end.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A change of a source file. Positions are relative, so that a case shrinks independently of its file.
#[derive(Debug, Clone)]
enum Mutation {
    Truncate(Index),
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Mutation> {
        let syntax = prop::sample::select(b"\0\"'`{}()[]\n\\#/*\xff".to_vec()).prop_map(|byte| vec![byte]);
        let text = prop_oneof![syntax, "\\PC{1,4}".prop_map(String::into_bytes)];
        prop_oneof![
            1 => any::<Index>().prop_map(Mutation::Truncate),
            4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
            4 => (any::<Index>(), text).prop_map(|(at, text)| Mutation::Insert(at, text)),
            4 => (any::<Index>(), 1usize..40).prop_map(|(at, len)| Mutation::Remove(at, len)),
        ]
    }

    fn apply(self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Mutation::Truncate(at) => bytes.truncate(at.index(bytes.len()) + 1),
            Mutation::Replace(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            Mutation::Insert(at, text) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, text);
            }
            Mutation::Remove(at, len) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + len).min(bytes.len()));
            }
        }
    }
}

proptest! {
    #[test]
    fn invariants_hold_on_changed_fixtures(
        (file, name) in prop::sample::select(FILES),
        mutations in prop::collection::vec(Mutation::any(), 1..12),
    ) {
        let mut bytes = read(file);
        for mutation in mutations {
            mutation.apply(&mut bytes);
        }
        check_both(&bytes, language(name), file);
    }

    #[test]
    fn invariants_hold_on_any_text(
        text in "(\\PC{0,30}[\n\t (){};:]{0,3}){0,40}",
        (_, name) in prop::sample::select(FILES),
    ) {
        check_both(text.as_bytes(), language(name), name);
    }
}

#[test]
fn hostile_input_is_bounded_for_every_grammar() {
    let deep = |open: &str| open.repeat(100_000).into_bytes();
    let mut random = fastrand::Rng::with_seed(11);
    let inputs: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("blank", b" \n\t\r\n".to_vec()),
        ("parentheses", deep("(")),
        ("brackets", deep("[")),
        ("braces", deep("{")),
        ("indents", (0..600).map(|n| format!("{}if x:\n", " ".repeat(n))).collect::<String>().into_bytes()),
        ("tags", deep("<a>")[..6_000].to_vec()),
        ("one line", "word ".repeat(60_000).into_bytes()),
        ("one word", "w".repeat(300_000).into_bytes()),
        ("quotes", deep("\"'")[..20_000].to_vec()),
        ("unary", deep("!-")[..20_000].to_vec()),
        ("NULs", vec![0; 20_000]),
        ("random", (0..8_000).map(|_| random.u8(..)).collect()),
        ("invalid UTF-8", [&b"fn main() { \"\xff\xfe\" }\n"[..], &[0xc3; 500][..]].concat()),
        ("carriage returns", b"a = 1\r\n\r\nb = 2\r\n".repeat(400)),
        ("byte order mark", b"\xef\xbb\xbfx = 1\n".to_vec()),
    ];
    let settings = ChunkerSettings::default();
    for grammar in grammar::GRAMMARS {
        for (what, bytes) in &inputs {
            let started = std::time::Instant::now();
            let blob = chunk_blob(bytes, language(grammar.name), &settings);
            check(bytes, &blob, &settings, &format!("{} {what}", grammar.name));
            if std::env::var_os("CHUNK_TIMES").is_some() && started.elapsed().as_millis() > 300 {
                eprintln!("{} {what}: {:?}", grammar.name, started.elapsed());
            }
        }
    }
}

#[test]
fn a_parse_over_its_budget_is_given_up() {
    let reason = |text: &str, name: &str| {
        let blob = chunk_blob(text.as_bytes(), language(name), &ChunkerSettings::default());
        check(text.as_bytes(), &blob, &ChunkerSettings::default(), name);
        blob.degradations.first().map(|degradation| degradation.reason)
    };
    // The scanner reads to the end of the file at every token.
    assert_eq!(reason(&"<<A\n".repeat(20_000), "bash"), Some(DegradationReason::ParseBudget));
    assert_eq!(reason(&"-}".repeat(300), "tsx"), Some(DegradationReason::TooDeep));
    // A run of one repeated character may be long.
    let drawn =
        format!("/{}\n * Text.\n {}/\nint a(void) {{ return 1; }}\n", "*".repeat(500), "*".repeat(500));
    assert_eq!(reason(&drawn, "c"), None);
}

#[test]
fn an_annotation_at_the_end_of_a_kotlin_file_ends() {
    for last in ["@Tes", "    @T(", "@A @B(x)@C"] {
        let text = format!(
            "class Point(val x: Int) {{\n    val sum: Int\n}}\nclass Other {{\n    val other: Int\n{last}"
        );
        let blob = chunk_blob(text.as_bytes(), language("kotlin"), &ChunkerSettings::default());
        check(text.as_bytes(), &blob, &ChunkerSettings::default(), last);
        assert!(symbols(&blob).iter().any(|symbol| symbol.name == "Point"), "{last}");
    }
}

#[test]
fn a_long_end_word_of_a_ruby_here_document_does_not_end_the_process() {
    let words = [300, 256, 255, 64].map(|n| "w".repeat(n));
    for word in &words {
        for begin in
            [format!("\"{word} {word}\""), format!("-'{word}'"), format!("~{word}"), format!("<{word}")]
        {
            let text =
                format!("class Log\n  def first\n    @out <<{begin}\n  end\nend\n\ndef last(x)\n  x\nend\n");
            let blob = chunk_blob(text.as_bytes(), language("ruby"), &ChunkerSettings::default());
            check(text.as_bytes(), &blob, &ChunkerSettings::default(), &begin);
        }
    }
    // Together just more than the buffer of the scanner holds.
    for (n, len) in [(4, 251), (4, 252), (15, 64), (16, 60), (204, 1), (128, 4), (60, 13)] {
        let words: Vec<String> =
            (0..n).map(|i| format!("<<{}", "abcdefghij".repeat(30)[i % 10..][..len].to_owned())).collect();
        for words in [words.join(", "), words.join(",\n")] {
            let text = format!("foo({words})\nx\n");
            let blob = chunk_blob(text.as_bytes(), language("ruby"), &ChunkerSettings::default());
            check(text.as_bytes(), &blob, &ChunkerSettings::default(), &words);
        }
    }
    // A string appended without a blank: the text after it is still parsed.
    let text = format!("def first\n  @out <<\"{} {}\"\nend\n\ndef last(x)\n  x\nend\n", words[0], words[1]);
    let blob = chunk_blob(text.as_bytes(), language("ruby"), &ChunkerSettings::default());
    assert!(symbols(&blob).iter().any(|symbol| symbol.name == "last"), "{:?}", symbols(&blob));
}
