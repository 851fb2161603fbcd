//! The table of grammars: from language name to tree-sitter language, loaded at first use.

use std::sync::OnceLock;

use tree_sitter::Language;

use super::rules::Rules;

/// A grammar with the names of the languages that it is used for.
pub struct Grammar {
    /// Section of the rules file, and the usual name of the language.
    pub name: &'static str,
    /// Other names of languages that are parsed with this grammar.
    aliases: &'static [&'static str],
    /// Crate and version; part of the chunker fingerprint.
    pub version: &'static str,
    language: fn() -> Language,
}

/// A grammar with its rules compiled to tables by kind id.
pub struct Loaded {
    pub index: usize,
    pub language: Language,
    pub(crate) rules: Rules,
}

macro_rules! grammars {
    ($($name:literal $aliases:expr, $version:literal, $language:path;)*) => {
        /// Every grammar of the program.
        pub static GRAMMARS: &[Grammar] = &[
            $(Grammar { name: $name, aliases: &$aliases, version: $version, language: || $language.into() },)*
        ];
    };
}

grammars! {
    "bash" ["shell", "sh", "zsh", "ksh"], "tree-sitter-bash 0.25.1", tree_sitter_bash::LANGUAGE;
    "c" [], "tree-sitter-c 0.24.2", tree_sitter_c::LANGUAGE;
    "clojure" ["clojurescript", "edn"], "tree-sitter-clojure-orchard 0.2.9", tree_sitter_clojure_orchard::LANGUAGE;
    "cpp" ["c++", "cuda", "arduino"], "tree-sitter-cpp 0.23.4", tree_sitter_cpp::LANGUAGE;
    "csharp" ["c#", "c_sharp"], "tree-sitter-c-sharp 0.23.5", tree_sitter_c_sharp::LANGUAGE;
    "css" [], "tree-sitter-css 0.25.0", tree_sitter_css::LANGUAGE;
    "dart" [], "tree-sitter-dart 0.3.0", tree_sitter_dart::LANGUAGE;
    "dockerfile" ["docker", "containerfile"], "tree-sitter-containerfile 0.9.2", tree_sitter_containerfile::LANGUAGE;
    "elixir" [], "tree-sitter-elixir 0.3.5", tree_sitter_elixir::LANGUAGE;
    "erlang" [], "tree-sitter-erlang 0.21.0", tree_sitter_erlang::LANGUAGE;
    "go" [], "tree-sitter-go 0.25.0", tree_sitter_go::LANGUAGE;
    "haskell" [], "tree-sitter-haskell 0.24.1", tree_sitter_haskell::LANGUAGE;
    "hcl" ["terraform"], "tree-sitter-hcl 1.1.0", tree_sitter_hcl::LANGUAGE;
    "html" ["xhtml"], "tree-sitter-html 0.23.2", tree_sitter_html::LANGUAGE;
    "java" [], "tree-sitter-java 0.23.5", tree_sitter_java::LANGUAGE;
    "javascript" ["jsx"], "tree-sitter-javascript 0.25.0", tree_sitter_javascript::LANGUAGE;
    "json" ["jsonc", "json5", "jupyter_notebook"], "tree-sitter-json 0.24.8", tree_sitter_json::LANGUAGE;
    "julia" [], "tree-sitter-julia 0.23.1", tree_sitter_julia::LANGUAGE;
    "kotlin" [], "tree-sitter-kotlin-ng 1.1.0", tree_sitter_kotlin_ng::LANGUAGE;
    "lua" [], "tree-sitter-lua 0.5.0", tree_sitter_lua::LANGUAGE;
    "make" ["makefile"], "tree-sitter-make 1.1.1", tree_sitter_make::LANGUAGE;
    "nix" [], "tree-sitter-nix 0.3.0", tree_sitter_nix::LANGUAGE;
    "ocaml" [], "tree-sitter-ocaml 0.26.0", tree_sitter_ocaml::LANGUAGE_OCAML;
    "ocaml_interface" ["ocaml-interface"], "tree-sitter-ocaml 0.26.0", tree_sitter_ocaml::LANGUAGE_OCAML_INTERFACE;
    "php" [], "tree-sitter-php 0.25.1", tree_sitter_php::LANGUAGE_PHP;
    "proto" ["protobuf"], "tree-sitter-proto 0.6.0", tree_sitter_proto::LANGUAGE;
    "python" ["starlark"], "tree-sitter-python 0.25.0", tree_sitter_python::LANGUAGE;
    "r" [], "tree-sitter-r 1.3.0", tree_sitter_r::LANGUAGE;
    "ruby" [], "tree-sitter-ruby 0.23.1", tree_sitter_ruby::LANGUAGE;
    "rust" [], "tree-sitter-rust 0.24.2", tree_sitter_rust::LANGUAGE;
    "scala" [], "tree-sitter-scala 0.26.4", tree_sitter_scala::LANGUAGE;
    "solidity" [], "tree-sitter-solidity 1.2.13", tree_sitter_solidity::LANGUAGE;
    "sql" [], "tree-sitter-sequel 0.3.11", tree_sitter_sequel::LANGUAGE;
    "swift" [], "tree-sitter-swift 0.7.4", tree_sitter_swift::LANGUAGE;
    "toml" [], "tree-sitter-toml-ng 0.7.0", tree_sitter_toml_ng::LANGUAGE;
    "tsx" [], "tree-sitter-typescript 0.23.2", tree_sitter_typescript::LANGUAGE_TSX;
    "typescript" [], "tree-sitter-typescript 0.23.2", tree_sitter_typescript::LANGUAGE_TYPESCRIPT;
    "yaml" [], "tree-sitter-yaml 0.7.2", tree_sitter_yaml::LANGUAGE;
    "zig" [], "tree-sitter-zig 1.1.2", tree_sitter_zig::LANGUAGE;
}

/// Number of grammars.
pub const COUNT: usize = GRAMMARS.len();
static LOADED: [OnceLock<Loaded>; COUNT] = [const { OnceLock::new() }; COUNT];

/// Returns the position in [`GRAMMARS`] of the grammar of a language.
pub fn index_of(language: &str) -> Option<usize> {
    GRAMMARS.iter().position(|grammar| grammar.name == language || grammar.aliases.contains(&language))
}

/// Returns the grammar of a language, compiled at the first call.
pub fn by_language(language: &str) -> Option<&'static Loaded> {
    index_of(language).map(loaded)
}

/// Returns the grammar for a text of a language: the C++ grammar for C texts with declarations that only C++
/// has.
///
/// `.h` files are C by their path, which alone decides the language of a blob, but many are C++.
pub fn for_text(language: &str, text: &str) -> Option<&'static Loaded> {
    by_language(if language == "c" && is_cpp(text) { "cpp" } else { language })
}

/// Returns the versions of all grammars that [`for_text`] may return for a language.
pub fn versions_of(language: &str) -> String {
    let version = |name| index_of(name).map_or("none", |at| GRAMMARS[at].version);

    if language == "c" {
        format!("{} {}", version("c"), version("cpp"))
    } else {
        version(language).to_owned()
    }
}

/// Returns whether at least two lines of a text begin like declarations of C++. A single one may be inside
/// `#ifdef __cplusplus`.
fn is_cpp(text: &str) -> bool {
    const MIN_LINES: usize = 2;

    text.lines().filter(|line| begins_like_cpp(line)).take(MIN_LINES).count() == MIN_LINES
}

/// Returns whether a line begins like a declaration that C does not have.
fn begins_like_cpp(line: &str) -> bool {
    let line = line.trim_start();
    names_scope(line, "class")
        || names_scope(line, "namespace")
        || line.starts_with("template <")
        || line.starts_with("template<")
        || line.starts_with("using namespace ")
        || ["public:", "private:", "protected:"].contains(&line.trim_end())
}

/// Returns whether `keyword` and a name begin a line. In C, the keyword may itself be the name of a variable.
fn names_scope(line: &str, keyword: &str) -> bool {
    line.strip_prefix(keyword).is_some_and(|rest| {
        rest.starts_with(' ') && !rest.trim_start().starts_with(['=', ';', ',', ')', '(', '*'])
    })
}

/// Returns the tree-sitter language at a position in [`GRAMMARS`], without its rules.
///
/// # Panics
///
/// If there is no such position.
pub fn language(index: usize) -> Language {
    (GRAMMARS[index].language)()
}

/// Returns the grammar at a position in [`GRAMMARS`], compiled at the first call.
///
/// # Panics
///
/// If there is no such position.
pub fn loaded(index: usize) -> &'static Loaded {
    LOADED[index].get_or_init(|| {
        let language = language(index);
        let rules = Rules::new(GRAMMARS[index].name, &language);
        Loaded { index, language, rules }
    })
}

/// Returns all names of the languages that a grammar parses, its own first.
#[cfg(test)]
pub fn names_of(grammar: &str) -> Vec<&'static str> {
    let found = GRAMMARS.iter().find(|known| known.name == grammar);
    found
        .map(|known| [known.name].into_iter().chain(known.aliases.iter().copied()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grammar_is_accepted_by_the_parser() {
        for (index, grammar) in GRAMMARS.iter().enumerate() {
            let mut parser = tree_sitter::Parser::new();
            assert!(parser.set_language(&loaded(index).language).is_ok(), "{}", grammar.name);
        }
    }

    #[test]
    fn headers_of_cpp_are_not_parsed_as_c() {
        let name = |language, text| for_text(language, text).map_or("", |found| GRAMMARS[found.index].name);
        let cpp =
            "#pragma once\nnamespace a {\ntemplate <typename T> class B {\n public:\n  T get();\n};\n}\n";
        let shared =
            "#ifdef __cplusplus\nnamespace a {\n#endif\nint class_of(int);\nstruct b { int class; };\n";
        for (language, text, expected) in [
            ("c", cpp, "cpp"),
            ("cpp", cpp, "cpp"),
            ("c", "class A {\nprivate:\n  int a;\n};\n", "cpp"),
            ("c", "#include <stdio.h>\nint main(void) { return 0; }\n", "c"),
            ("c", shared, "c"),
            ("rust", cpp, "rust"),
        ] {
            assert_eq!(name(language, text), expected, "{text}");
        }
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = include_str!("../../../Cargo.lock");
        for grammar in GRAMMARS {
            let (name, version) = grammar.version.split_once(' ').unwrap_or_default();
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{} is not what Cargo.lock has", grammar.version);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> =
            GRAMMARS.iter().flat_map(|g| g.aliases.iter().copied().chain([g.name])).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(before, names.len());
    }
}
