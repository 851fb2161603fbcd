//! The facts of one file that resolution needs: references, imports, bindings and bases.

use std::hash::Hasher;
use std::ops::Range;
use std::sync::OnceLock;

use rustc_hash::FxHasher;

use super::definitions::{Def, segments};
use super::dialect::Modules;

/// The syntactic form of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Form {
    /// An unqualified name that may be a call without parentheses.
    Word,
    /// An unqualified call: `f()`.
    Bare,
    /// A function that is called, or bound to its arguments, by a method: `f.call(x)`, `f.bind(x)` (scripts).
    Applied,
    /// A macro call: `f!()`.
    Macro,
    /// A construction: `new A()`.
    New,
    /// Through a type or module: `A::f`.
    Path,
    /// On a value: `a.f`.
    Member,
    /// A reference that is not a call.
    Mention,
    /// The name of a type, looked up during resolution. Never in extracted facts.
    Type,
}

/// A place where a name is called or mentioned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    /// Byte offset of the name.
    pub at: u32,
    /// 1-based.
    pub line: u32,
    pub name: Box<str>,
    pub form: Form,
    /// Text before the name, without white space; empty if it is not a path of names.
    pub receiver: Option<Box<str>>,
    /// Number of arguments, if it is certain.
    pub arguments: Option<u32>,
}

impl Reference {
    /// A definition as a reference to itself.
    pub fn to_definition(def: &Def) -> Reference {
        Reference {
            at: def.range.start,
            line: def.lines.0,
            name: def.name.as_str().into(),
            form: Form::Mention,
            receiver: None,
            arguments: None,
        }
    }
}

/// A name that an import binds or re-exports.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Import {
    pub at: u32,
    /// Module or qualified name, as written; with angle brackets if they are written (C, C++).
    pub path: Box<str>,
    /// The name imported from the module; the module itself if `None`.
    pub name: Option<Box<str>>,
    pub alias: Option<Box<str>>,
    /// A wildcard import.
    pub all: bool,
    /// The alias stands for the module.
    pub module: bool,
    /// The alias stands for the default export of the module.
    pub default: bool,
    /// The name is re-exported.
    pub export: bool,
    /// A static import: members of a type.
    pub is_static: bool,
    /// `mod name;`
    pub child: bool,
}

/// A name that is bound to a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    pub at: u32,
    /// Offset from which it is in effect: the end of its own statement, or 0.
    pub from: u32,
    pub name: Box<str>,
    /// The range in which it is visible; `None` for the whole file.
    pub reach: Option<Range<u32>>,
    pub type_name: Option<Box<str>>,
    /// `type_name` was called to make the value, so it is the type only if it names one.
    pub by_call: bool,
}

/// A member variable with its declared type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub at: u32,
    pub name: Box<str>,
    pub type_name: Box<str>,
}

/// The facts of one file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub text: Box<str>,
    pub references: Vec<Reference>,
    pub imports: Vec<Import>,
    pub bindings: Vec<Binding>,
    pub fields: Vec<Field>,
    /// Names of bases, by an offset inside the type that has them.
    pub bases: Vec<(u32, Box<str>)>,
    /// Receivers that stand for the object itself, by their offset (Go).
    pub self_names: Vec<(u32, Box<str>)>,
    /// Ranges of types without a name.
    pub anonymous_types: Vec<Range<u32>>,
    /// Ranges that are compiled under a condition (C, C++), without those around most of the file, which are
    /// guards against repeated inclusion.
    pub conditions: Vec<Range<u32>>,
    pub default_export: Option<Box<str>>,
    /// The syntax tree contains errors.
    pub has_errors: bool,
    /// Sorted hashes of the words in the text, made on first use.
    words: OnceLock<Box<[u64]>>,
    has_cpp: OnceLock<bool>,
}

/// The file could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unparsed;

impl Facts {
    /// The binding of `name` in effect at `at`: the one with the smallest reach.
    pub fn binding_at(&self, name: &str, at: u32) -> Option<&Binding> {
        let here = self.bindings.iter().filter(|binding| &*binding.name == name && binding.from <= at);
        let reaching = here.filter(|binding| binding.reach.as_ref().is_none_or(|reach| reach.contains(&at)));

        reaching
            .min_by_key(|binding| binding.reach.as_ref().map_or(u32::MAX, |reach| reach.end - reach.start))
    }
}

impl Facts {
    /// The conditions under which `at` is compiled.
    pub fn conditions_at(&self, at: u32) -> impl Iterator<Item = &Range<u32>> {
        self.conditions.iter().filter(move |range| range.contains(&at))
    }

    /// Returns whether a line is a declaration that C++ has and C has not.
    pub fn has_cpp(&self) -> bool {
        *self.has_cpp.get_or_init(|| self.text.lines().any(|line| is_cpp_declaration(line.trim())))
    }

    /// Returns whether the text has `word`, in code or elsewhere.
    pub fn has_word(&self, word: &str) -> bool {
        let words = self.words.get_or_init(|| {
            let words = self.text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut hashes: Vec<u64> = words.filter(|word| !word.is_empty()).map(hash).collect();
            hashes.sort_unstable();
            hashes.dedup();
            hashes.into()
        });

        words.binary_search(&hash(word)).is_ok()
    }
}

/// Returns whether a line is a declaration of C++: a template, a namespace or a class.
fn is_cpp_declaration(line: &str) -> bool {
    let (word, rest) = line.split_at(line.find([' ', '<']).unwrap_or(line.len()));
    match word {
        "template" => rest.trim_start().starts_with('<'),
        "namespace" => rest.ends_with('{'),
        "class" => rest.ends_with(['{', ';']) && !rest.contains(['=', '(']),
        _ => false,
    }
}

fn hash(word: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(word.as_bytes());
    hasher.finish()
}

impl Import {
    /// The name that the import binds in its file.
    pub fn local_name(&self, modules: Modules) -> Option<&str> {
        if let Some(alias) = &self.alias {
            return Some(alias);
        }

        match (&self.name, modules) {
            (Some(name), _) => Some(name),
            (None, Modules::Declared | Modules::Rust | Modules::Qualified) => segments(&self.path).last(),
            (None, Modules::Python) => segments(&self.path).next(),
            (None, _) => None,
        }
    }
}
