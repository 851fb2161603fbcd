use super::needle::NeedleSearch;
use super::*;
use crate::container::read_u32;
use proptest::collection::vec;
use proptest::prelude::*;

/// The sections as they are mapped.
struct Sections {
    bytes: [Vec<u8>; 5],
    blocks: Vec<[u32; 2]>,
    unknown: Vec<u32>,
    n_docs: u32,
}

impl Sections {
    fn new(bytes: [Vec<u8>; 5], n_docs: u32) -> Sections {
        let all =
            |bytes: &[u8]| -> Vec<u32> { bytes.chunks_exact(4).map(|four| read_u32(four, 0)).collect() };
        let blocks = all(&bytes[2]).chunks_exact(2).map(|two| [two[0], two[1]]).collect();
        let unknown = all(&bytes[3]);
        Sections { bytes, blocks, unknown, n_docs }
    }

    fn words(&self) -> Option<Words<'_>> {
        let [text, lists, _, _, filters] = &self.bytes;
        Words::new(text, lists, &self.blocks, &self.unknown, filters.as_chunks().0, self.n_docs)
    }
}

fn found(builder: WordsBuilder, needle: &Needle) -> Vec<u32> {
    let n_docs = builder.n_docs;
    let sections = Sections::new(builder.finish(), n_docs);
    let words = sections.words().unwrap();
    let mut docs = words.docs_with(needle).unwrap();
    docs.unite(&words.unknown());
    (0..n_docs).filter(|&doc| docs.contains(doc)).collect()
}

fn built(docs: &[Option<String>]) -> WordsBuilder {
    let mut builder = WordsBuilder::default();
    for doc in docs {
        builder.push_unknown();
        if let Some(text) = doc {
            builder.set_last(text.as_bytes());
        }
    }
    builder
}

fn expected(docs: &[Option<String>], needle: &Needle) -> Vec<u32> {
    let has = |text: &str| {
        let is_word = |c: char| !c.is_ascii() || c == '_' || c.is_ascii_alphanumeric();
        text.split(|c| !is_word(c)).any(|word| {
            let fold = |text: &str| if needle.ignore_case { text.to_lowercase() } else { text.to_owned() };
            let (word, wanted) = (fold(word), fold(&needle.text));
            match (needle.is_start, needle.is_end) {
                (true, true) => word == wanted,
                (true, false) => word.starts_with(&wanted),
                (false, true) => word.ends_with(&wanted),
                (false, false) => word.contains(&wanted),
            }
        })
    };

    let docs = docs.iter().enumerate();
    docs.filter(|(_, doc)| doc.as_ref().is_none_or(|text| has(text))).map(|(at, _)| at as u32).collect()
}

fn needle() -> impl Strategy<Value = Needle> {
    ("[a-cA-CékK\u{212a}_]{1,3}", any::<[bool; 3]>())
        .prop_map(|(text, [is_start, is_end, ignore_case])| Needle { text, is_start, is_end, ignore_case })
}

/// The docs of `builder` that are found by who may see `shown` alone.
fn found_among(shown: &[u32], builder: WordsBuilder, needle: &Needle) -> Vec<u32> {
    let n_docs = builder.n_docs;
    let sections = Sections::new(builder.finish(), n_docs);
    let is_shown = |doc: u32| shown.contains(&doc);
    sections.words().unwrap().limited_to(&is_shown).docs_with(needle).unwrap().iter().collect()
}

proptest! {
    #[test]
    fn the_docs_with_a_word_are_found(
        docs in vec(proptest::option::weighted(0.9, "([a-cA-CékK\u{212a}_]{1,4}[ .\n]){0,40}"), 0..90),
        needle in needle(),
        split in any::<prop::sample::Index>(),
    ) {
        let wanted = expected(&docs, &needle);
        prop_assert_eq!(&found(built(&docs), &needle), &wanted);

        let even = |doc: &u32| doc.is_multiple_of(2);
        let shown: Vec<u32> = (0..docs.len() as u32).filter(even).collect();
        let known = |doc: &u32| docs[*doc as usize].is_some();
        let wanted_among: Vec<u32> = wanted.iter().copied().filter(|doc| even(doc) && known(doc)).collect();
        prop_assert_eq!(found_among(&shown, built(&docs), &needle), wanted_among);

        let split = split.index(docs.len() + 1);
        let mut appended = built(&docs[..split]);
        appended.append(built(&docs[split..]));
        prop_assert_eq!(&found(appended, &needle), &wanted);

        // Merged, without every third doc.
        let n_docs = docs.len() as u32;
        let sections = Sections::new(built(&docs).finish(), n_docs);
        let mut merged = built(&docs[..split]);
        merged.extend(sections.words().as_ref(), n_docs, |doc| doc % 3 != 0);
        let kept = docs.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, doc)| doc.clone());
        let all: Vec<Option<String>> = docs[..split].iter().cloned().chain(kept).collect();
        prop_assert_eq!(&found(merged, &needle), &expected(&all, &needle));
    }

    #[test]
    fn damaged_sections_do_not_panic(
        docs in vec(proptest::option::weighted(0.9, "([a-c]{1,4} ){0,40}"), 1..90),
        changes in vec((0usize..5, any::<prop::sample::Index>(), any::<u8>()), 0..6),
        needle in needle(),
    ) {
        let mut sections = built(&docs).finish();
        for (section, at, byte) in changes {
            if !sections[section].is_empty() {
                let at = at.index(sections[section].len());
                sections[section][at] = byte;
            }
        }

        let sections = Sections::new(sections, docs.len() as u32);
        if let Some(words) = sections.words() {
            let _ = words.docs_with(&needle);
            let _ = words.for_each(|_, _| {});
        }
    }
}

#[test]
fn the_docs_of_a_set_are_listed_in_order() {
    let mut docs = DocSet::empty(130);
    [129, 0, 64, 63, 5].into_iter().for_each(|doc| docs.insert(doc));
    assert_eq!(docs.iter().collect::<Vec<_>>(), [0, 5, 63, 64, 129]);
    assert_eq!(DocSet::empty(130).iter().next(), None);
}

#[test]
fn words_of_many_blocks_are_found() {
    let docs: Vec<Option<String>> = (0..70)
        .map(|doc| Some((0..100).map(|i| format!("name_{:05}_{doc} ", (i * 7919 + doc) % 10_000)).collect()))
        .collect();
    let sections = Sections::new(built(&docs).finish(), 70);
    assert!(sections.blocks.len() > 5, "{} blocks", sections.blocks.len());

    let absent =
        Needle { text: "a_longer_text".to_owned(), is_start: false, is_end: false, ignore_case: false };
    let search = NeedleSearch::new(&absent).unwrap();
    let filters = sections.bytes[4].as_chunks().0;
    assert!(filters.iter().all(|filter| !search.may_be_in(filter)), "no block is read for it");

    for (text, is_start, is_end) in [
        ("name_00000_0", true, true),
        ("name_09999_69", true, true),
        ("name_07919_0", true, true),
        ("aaa", true, true),
        ("zzz", true, true),
        ("name_0123", true, false),
        ("_33", false, true),
        ("79", false, false),
        ("absent", false, false),
    ] {
        for ignore_case in [false, true] {
            let text = if ignore_case { text.to_uppercase() } else { text.to_owned() };
            let needle = Needle { text, is_start, is_end, ignore_case };
            assert_eq!(found(built(&docs), &needle), expected(&docs, &needle), "{needle:?}");
        }
    }
}

/// The time of a limited search must not tell which words hidden docs have. Damage shows that a part is read.
#[test]
fn a_limited_search_reads_all_blocks_and_lists_whatever_hidden_docs_have() {
    let docs: Vec<Option<String>> = (0..70)
        .map(|doc| Some((0..20).map(|i| format!("name_{:05}_{doc} ", (i * 7919 + doc) % 10_000)).collect()))
        .collect();
    let whole = built(&docs).finish();
    let n_blocks = Sections::new(whole.clone(), 70).blocks.len();
    assert!(n_blocks > 2, "{n_blocks} blocks");

    // The last doc has the first text, and no doc the second.
    let is_shown = |doc: u32| doc < 69;
    for text in ["_69", "a_longer_text"] {
        let needle = Needle { text: text.to_owned(), is_start: false, is_end: false, ignore_case: false };
        assert!(found_among(&[0, 1, 2], built(&docs), &needle).is_empty(), "{text}");

        for (section, number) in (0..n_blocks).flat_map(|number| [(0, number), (1, number)]) {
            let mut sections = Sections::new(whole.clone(), 70);
            let start = sections.blocks[number][section] as usize;
            let end = sections.blocks.get(number + 1).map(|next| next[section] as usize);
            let bytes = &mut sections.bytes[section];
            let end = end.unwrap_or(bytes.len());
            bytes[start..end].fill(0);

            let words = sections.words().unwrap();
            // The filters of all blocks exclude the second text, so its search needs none of them.
            assert!(text == "_69" || words.docs_with(&needle).is_some(), "{section} {number}");
            assert!(words.limited_to(&is_shown).docs_with(&needle).is_none(), "{text} {section} {number}");
        }
    }
}

#[test]
fn only_docs_with_a_wanted_word_are_found() {
    let docs = ["schedule", "reschedule", "schedule\u{2192}", "scheduler", "run schedule() or reschedule()"];
    let sections = Sections::new(built(&docs.map(|text| Some(text.to_owned()))).finish(), 5);
    let words = sections.words().unwrap();
    let needle = Needle { text: "schedule".to_owned(), is_start: false, is_end: false, ignore_case: false };

    let wanted = ["schedule", "schedule\u{2192}"];
    let found = words.docs_with_word(&needle, |word| wanted.iter().any(|it| it.as_bytes() == word)).unwrap();
    assert_eq!(found.iter().collect::<Vec<_>>(), [0, 2, 4]);
    assert!(words.docs_with_word(&needle, |_| false).unwrap().is_empty());
}

#[test]
fn letters_of_ascii_in_another_case_are_found() {
    let docs = ["a\u{212a}bc", "akbc", "\u{17f}hort", "other"].map(|text| Some(text.to_owned()));
    for (text, expected) in [("akbc", [0, 1].as_slice()), ("AKBC", &[0, 1]), ("short", &[2])] {
        let needle = Needle { text: text.to_owned(), is_start: true, is_end: false, ignore_case: true };
        assert_eq!(found(built(&docs), &needle), expected);
    }
}

#[test]
fn parts_of_long_words_are_found() {
    let long: String = (0..1000).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
    let docs = [None, Some(format!("x {long} y")), Some("short".to_owned())];
    for (range, is_start, is_end) in
        [(0..10, true, false), (990..1000, false, true), (300..600, false, false)]
    {
        let needle = Needle { text: long[range].to_owned(), is_start, is_end, ignore_case: false };
        assert_eq!(found(built(&docs), &needle), [0, 1], "{needle:?}");
    }
    let many = "汉字".repeat(40);
    let needle = Needle { text: many.clone(), is_start: true, is_end: true, ignore_case: true };
    assert_eq!(found(built(&[Some(many), Some("short".to_owned())]), &needle), [0]);
    let absent = Needle { text: "shor".to_owned(), is_start: true, is_end: true, ignore_case: false };
    assert_eq!(found(built(&docs), &absent), [0]);
}
