//! One file → its call sites, imports, bindings and bases, by the queries of its language.
//!
//! A function of the bytes and the language alone, so it may be kept under the id of the blob.

use std::ops::Range;

use super::definitions::segments;
use super::dialect::Modules;

/// How a name is used at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Form {
    /// Perhaps a call without parentheses.
    Word,
    Bare,
    Macro,
    New,
    /// Through a type or module: `A::f`.
    Path,
    /// On a value: `a.f`.
    Member,
    /// A mention that is no call.
    Mention,
    /// A type, in a question of ours.
    Type,
}

/// A place where a name is called or mentioned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    /// Offset of the name.
    pub at: u32,
    /// 1-based.
    pub line: u32,
    pub name: Box<str>,
    pub form: Form,
    /// Text before the name, without white space; empty if it is no path.
    pub receiver: Option<Box<str>>,
    /// Arguments, where their number is certain.
    pub arguments: Option<u32>,
}

/// A name that an import binds, or that is passed on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Import {
    pub at: u32,
    /// Module or qualified name, as written.
    pub path: Box<str>,
    /// What is imported of the module; the module itself if `None`.
    pub name: Option<Box<str>>,
    pub alias: Option<Box<str>>,
    pub all: bool,
    /// The alias stands for the module.
    pub module: bool,
    /// The alias stands for what the module exports as its default.
    pub default: bool,
    pub export: bool,
    /// Members of a type.
    pub is_static: bool,
    /// `mod name;`
    pub child: bool,
}

/// A name that is bound to a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Binding {
    pub at: u32,
    pub name: Box<str>,
    /// Where it is visible; `None` in the whole file.
    pub reach: Option<Range<u32>>,
    pub type_name: Option<Box<str>>,
    /// `type_name` was called, so it is the type only if it names one.
    pub by_call: bool,
}

/// A member variable with its declared type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub at: u32,
    pub name: Box<str>,
    pub type_name: Box<str>,
}

/// All that resolution needs of a file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub text: Box<str>,
    pub references: Vec<Reference>,
    pub imports: Vec<Import>,
    pub bindings: Vec<Binding>,
    pub fields: Vec<Field>,
    /// Bases of the type around an offset.
    pub bases: Vec<(u32, Box<str>)>,
    /// Names of receivers that stand for the object itself, by their offset.
    pub selfs: Vec<(u32, Box<str>)>,
    /// Types without names.
    pub anonymous: Vec<Range<u32>>,
    pub default_export: Option<Box<str>>,
    /// The parser met what it does not know.
    pub has_errors: bool,
}

/// Why a file has no facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unparsed;

impl Facts {
    /// The binding of `name` in effect at `at`: the one with the smallest reach.
    pub fn binding_at(&self, name: &str, at: u32) -> Option<&Binding> {
        let here = self.bindings.iter().filter(|binding| &*binding.name == name);
        let reaching = here.filter(|binding| binding.reach.as_ref().is_none_or(|reach| reach.contains(&at)));
        reaching
            .min_by_key(|binding| binding.reach.as_ref().map_or(u32::MAX, |reach| reach.end - reach.start))
    }
}

impl Import {
    /// The name that the import binds in its file.
    pub fn local_name(&self, modules: Modules) -> Option<&str> {
        if let Some(alias) = &self.alias {
            return Some(alias);
        }
        match (&self.name, modules) {
            (Some(name), _) => Some(name),
            (None, Modules::Declared | Modules::Rust) => segments(&self.path).last(),
            (None, Modules::Python) => segments(&self.path).next(),
            (None, _) => None,
        }
    }
}
