//! Keywords: the words that a grammar spells out, and those that most languages share.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;
use tree_sitter::Language;

use crate::grammar;

/// Words that are keywords in most languages that have them.
const COMMON: &str = " \
    abstract alignas alignof and as assert async await auto base begin bool boolean break byte case catch \
    char class const constexpr continue crate def default defer defun del delegate delete desc dict do done \
    double dyn elif else elsif elseif end ensure enum esac except export extends extern false fallthrough fi \
    final finally float fn for foreach from func function global go goto guard if implements impl import in \
    include inline inout instanceof int interface internal is isnot it lambda let lock long loop macro match \
    mod module move mut namespace native new next nil noexcept none not null nullptr object of open operator \
    or out override package param pass private proc protected protocol pub public raise range readonly redo \
    ref register repeat require rescue restrict retry return sealed select self short signed sizeof static \
    static_cast str strictfp string struct subroutine super switch synchronized template then this throw \
    throws trait transient true try type typedef typeof typename undefined union unless unsafe unsigned until \
    use using val var virtual void volatile when where while with xor yield None Self True False ";

/// Words that grammars spell out although they are names in most places: the fragments of macros, accessors,
/// and parts of declarations that are rare.
const CONTEXTUAL: &[&str] = &[
    "block",
    "data",
    "date",
    "end",
    "error",
    "expr",
    "field",
    "file",
    "from",
    "get",
    "ident",
    "item",
    "key",
    "length",
    "lifetime",
    "literal",
    "meta",
    "name",
    "of",
    "option",
    "param",
    "pat",
    "pat_param",
    "path",
    "property",
    "receiver",
    "replace",
    "set",
    "size",
    "state",
    "stmt",
    "time",
    "tt",
    "ty",
    "type",
    "value",
    "vis",
];

/// Those of [`CONTEXTUAL`] that cannot be names in a language.
const RESERVED: &[(&str, &[&str])] = &[
    ("elixir", &["end"]),
    ("go", &["type"]),
    ("haskell", &["data", "of", "type"]),
    ("julia", &["end"]),
    ("lua", &["end"]),
    ("ocaml", &["end", "of", "type"]),
    ("python", &["from"]),
    ("ruby", &["end"]),
    ("rust", &["type"]),
];

/// The prefix of the names that grammars without a case of their own give to keywords (SQL).
const KEYWORD_KIND: &str = "keyword_";

/// The keywords of a language.
#[derive(Clone, Copy)]
pub enum Keywords {
    /// Those of a grammar.
    Grammar(&'static FxHashSet<String>),
    /// Those that most languages share.
    Common,
}

impl Keywords {
    /// The keywords of the language of this name, read from its grammar at the first call.
    pub fn new(language: &str) -> Keywords {
        const COUNT: usize = grammar::COUNT;
        static SETS: [OnceLock<FxHashSet<String>>; COUNT] = [const { OnceLock::new() }; COUNT];

        match grammar::index_of(language) {
            Some(index) => {
                Keywords::Grammar(SETS[index].get_or_init(|| of_grammar(&grammar::language(index), language)))
            }
            None => Keywords::Common,
        }
    }

    /// Returns whether `word` is a keyword, except where it names a member.
    pub fn contains(self, word: &str) -> bool {
        match self {
            Keywords::Grammar(words) => words.contains(word) || is_constant(word),
            Keywords::Common => is_common_keyword(word),
        }
    }
}

/// Returns whether `word` is a keyword in most languages that have it.
fn is_common_keyword(word: &str) -> bool {
    thread_local! {
        static SET: FxHashSet<&'static str> = COMMON.split_ascii_whitespace().collect();
    }

    // Most words are longer, and need no hash.
    const LONGEST: usize = 12;
    word.len() <= LONGEST && SET.with(|set| set.contains(word))
}

/// Returns whether `word` is a constant of the language itself. Grammars name these instead of spelling them.
fn is_constant(word: &str) -> bool {
    ["true", "false", "True", "False", "null", "nil", "None", "undefined", "self", "Self", "this", "super"]
        .contains(&word)
}

/// The keywords in the grammar of the language called `name`.
fn of_grammar(language: &Language, name: &str) -> FxHashSet<String> {
    let mut words = FxHashSet::default();
    let reserved = RESERVED.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, words)| words);

    for id in 0..language.node_kind_count() as u16 {
        let Some(kind) = language.node_kind_for_id(id) else { continue };
        let is_word = |text: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            text.len() > 1 && text.bytes().all(is_part) && text.starts_with(|c: char| c.is_ascii_alphabetic())
        };

        match kind.strip_prefix(KEYWORD_KIND) {
            Some(keyword) if is_word(keyword) => {
                words.extend([keyword.to_owned(), keyword.to_ascii_uppercase()])
            }
            None if !language.node_kind_is_named(id)
                && is_word(kind)
                && (reserved.contains(&kind) || !CONTEXTUAL.contains(&kind)) =>
            {
                words.insert(kind.to_owned());
            }
            _ => {}
        }
    }

    words
}
