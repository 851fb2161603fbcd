//! Tree-sitter queries for calls, imports and bindings: one file per language, and `script.scm` for the
//! common part of JavaScript and TypeScript.
//!
//! A file has two queries, separated by the line `; references`. If a language has several files, their
//! queries are concatenated. The captures of the first query:
//!
//! | capture | meaning |
//! |---|---|
//! | `@call`, `@call.bare` | name in an unqualified call; name that may be a call or a variable |
//! | `@call.member`, `@call.path` with `@receiver` | name called on a value, or through a type or module |
//! | `@call.qualified` | qualified name in a single node |
//! | `@call.new`, `@call.macro` | constructed type; called macro |
//! | `@call.applied` | function whose method `call`, `apply` or `bind` is called |
//! | `@call.loose` | name before parentheses in unparsed text (Rust macros) |
//! | `@member` | member access whose receiver has no node of its own |
//! | `@arguments`, `@trailing` | arguments of the call; a trailing argument outside the list |
//! | `@import.path` `.name` `.alias` | module path, imported name, alias |
//! | `@import.all` `.module` `.default` | flags: wildcard, the module itself, its default export |
//! | `@import.export` `.mod` | flags: re-export, child module |
//! | `@import.text` | import statement that [`super::import_syntax`] parses as text |
//! | `@import.items` | unparsed items (of a Rust macro), whose imports [`super::import_syntax`] finds |
//! | `@default` | default export of the module |
//! | `@scope`, `@block`, `@class` | range of the names bound inside |
//! | `@binding`, `@field`, `@self` | name of a value |
//! | `@type`, `@type.call`, with one of these | type of the value, or the callee that makes it |
//! | `@in.block` | flag: the scope of the binding is its block, not its function |
//! | `@base` | a base of the enclosing type |
//! | `@anonymous` | a type without a name |
//! | `@condition` | range that is compiled under a condition |
//!
//! The captures of the second are `@reference`, and `@reference.member` or `@reference.path` with
//! `@receiver`. Captures whose name begins with `_` only serve predicates.

use std::sync::OnceLock;

use tree_sitter::{Language, Query};

use codeweaver_chunk::grammar;

use super::dialect::Dialect;

const SEPARATOR: &str = "; references\n";

/// The compiled queries of one language.
pub(crate) struct Queries {
    pub facts: CompiledQuery,
    pub references: CompiledQuery,
}

/// A query with the meaning of each of its capture indices.
pub(crate) struct CompiledQuery {
    pub query: Query,
    pub captures: Vec<Capture>,
}

/// The meaning of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    Call,
    CallBare,
    CallMember,
    CallPath,
    CallQualified,
    CallNew,
    CallMacro,
    CallApplied,
    CallLoose,
    Member,
    Receiver,
    Arguments,
    Trailing,
    ImportPath,
    ImportName,
    ImportAlias,
    ImportAll,
    ImportModule,
    ImportDefault,
    ImportExport,
    ImportMod,
    ImportText,
    ImportItems,
    Default,
    Scope,
    Block,
    Class,
    Binding,
    Field,
    SelfName,
    Type,
    TypeCall,
    InBlock,
    Base,
    Anonymous,
    Condition,
    Reference,
    ReferenceMember,
    ReferencePath,
    /// Used in a predicate only.
    Auxiliary,
}

impl Capture {
    fn from_name(name: &str) -> Option<Capture> {
        Some(match name {
            "call" => Capture::Call,
            "call.bare" => Capture::CallBare,
            "call.member" => Capture::CallMember,
            "call.path" => Capture::CallPath,
            "call.qualified" => Capture::CallQualified,
            "call.new" => Capture::CallNew,
            "call.macro" => Capture::CallMacro,
            "call.applied" => Capture::CallApplied,
            "call.loose" => Capture::CallLoose,
            "member" => Capture::Member,
            "receiver" => Capture::Receiver,
            "arguments" => Capture::Arguments,
            "trailing" => Capture::Trailing,
            "import.path" => Capture::ImportPath,

            "import.name" => Capture::ImportName,
            "import.alias" => Capture::ImportAlias,
            "import.all" => Capture::ImportAll,
            "import.module" => Capture::ImportModule,
            "import.default" => Capture::ImportDefault,
            "import.export" => Capture::ImportExport,
            "import.mod" => Capture::ImportMod,
            "import.text" => Capture::ImportText,
            "import.items" => Capture::ImportItems,

            "default" => Capture::Default,
            "scope" => Capture::Scope,
            "block" => Capture::Block,
            "class" => Capture::Class,
            "binding" => Capture::Binding,
            "field" => Capture::Field,
            "self" => Capture::SelfName,
            "type" => Capture::Type,
            "type.call" => Capture::TypeCall,
            "in.block" => Capture::InBlock,
            "base" => Capture::Base,
            "anonymous" => Capture::Anonymous,
            "condition" => Capture::Condition,

            "reference" => Capture::Reference,
            "reference.member" => Capture::ReferenceMember,
            "reference.path" => Capture::ReferencePath,
            name if name.starts_with('_') => Capture::Auxiliary,
            _ => return None,
        })
    }
}

macro_rules! sources {
    ($($language:literal: $($file:literal)+),*) => {
        const SOURCES: &[(&str, &[&str])] =
            &[$(($language, &[$(include_str!(concat!("queries/", $file, ".scm"))),+])),*];
    };
}

sources! {
    "bash": "bash", "c": "c", "cpp": "cpp", "csharp": "csharp", "elixir": "elixir", "go": "go", "haskell": "haskell", "java": "java", "javascript": "script" "javascript",
    "kotlin": "kotlin", "lua": "lua", "php": "php", "python": "python", "ruby": "ruby", "rust": "rust", "scala": "scala",
    "swift": "swift", "tsx": "script" "typescript", "typescript": "script" "typescript",
    "zig": "zig"
}

static COMPILED: [OnceLock<Option<Queries>>; SOURCES.len()] = [const { OnceLock::new() }; SOURCES.len()];

/// The queries of a dialect, compiled on first use.
pub(crate) fn for_dialect(dialect: &Dialect) -> Option<&'static Queries> {
    let at = SOURCES.iter().position(|(language, _)| *language == dialect.language)?;
    COMPILED[at]
        .get_or_init(|| {
            let language = &grammar::by_language(dialect.language)?.language;
            compile(language, SOURCES[at].1).ok()
        })
        .as_ref()
}

fn compile(language: &Language, sources: &[&str]) -> Result<Queries, String> {
    let parts =
        sources.iter().map(|source| source.split_once(SEPARATOR).ok_or("the line `; references` is missing"));
    let (facts, references): (Vec<&str>, Vec<&str>) =
        parts.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();

    Ok(Queries {
        facts: compile_query(language, &facts.concat())?,
        references: compile_query(language, &references.concat())?,
    })
}

/// Compiles one query, whose captures must all be known.
fn compile_query(language: &Language, text: &str) -> Result<CompiledQuery, String> {
    let query = Query::new(language, text).map_err(|error| error.to_string())?;
    let captures = query
        .capture_names()
        .iter()
        .map(|name| Capture::from_name(name).ok_or_else(|| format!("unknown capture @{name}")))
        .collect::<Result<_, _>>()?;
    Ok(CompiledQuery { query, captures })
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;

    #[test]
    fn the_queries_of_every_dialect_compile() {
        for dialect in dialect::all() {
            let (_, sources) = SOURCES.iter().find(|(language, _)| *language == dialect.language).unwrap();
            let language = &grammar::by_language(dialect.language).unwrap().language;
            if let Err(problem) = compile(language, sources) {
                panic!("{}: {problem}", dialect.language);
            }
        }
        assert_eq!(dialect::all().count(), SOURCES.len());
    }
}
