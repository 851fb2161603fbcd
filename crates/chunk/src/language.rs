//! Languages: names, extensions, file names, interpreters, delimiter families.
//!
//! The table is `data/languages.txt`. A language is a function of the path and the first line of a blob
//! alone. Other files have no influence, so a file has the same language in every tree. For this reason `.h`
//! is always C.
//!
//! Settings may name further languages ([`register`]). Only the extensions of the settings lead to them.

use std::sync::{LazyLock, PoisonError, RwLock};

use gix::bstr::{BStr, ByteSlice};
use rustc_hash::FxHashMap;

/// Index into the language table. It is not stored; stores keep the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanguageId(pub u16);

/// Plain text; also used for anything unknown.
pub const TEXT: LanguageId = LanguageId(0);
pub const MARKDOWN: LanguageId = LanguageId(1);

/// Nature of the files of a language, used as a prior by the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    Code,
    /// Written for people: documentation, licences, plain text.
    Prose,
    /// Values without behaviour: configuration, lists, serialised objects.
    Data,
}

impl LanguageId {
    /// Returns the name used in output, filters and storage, for example `rust`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the language of that name or alias, including those of linguist (`C++`). Case is ignored;
    /// blanks, `-` and `_` are equal.
    pub fn by_name(name: &str) -> Option<LanguageId> {
        let name = normalised(name);
        TABLE.names.get(name.as_str()).copied().or_else(|| registered(&name))
    }

    /// Returns whether it was named by settings and is not in the table.
    pub fn is_registered(self) -> bool {
        usize::from(self.0) >= TABLE.rows.len()
    }

    /// Returns the name of the delimiter family, a section of `data/families.txt`.
    pub fn family(self) -> &'static str {
        self.row().family
    }

    pub fn nature(self) -> Nature {
        self.row().nature
    }

    pub fn is_prose(self) -> bool {
        self.nature() == Nature::Prose
    }

    pub fn is_data(self) -> bool {
        self.nature() == Nature::Data
    }

    /// Returns the other names of the language, as written in the table.
    pub fn aliases(self) -> &'static [&'static str] {
        &self.row().aliases
    }

    /// Returns the extensions of the language without the leading dot, as written in the table.
    pub fn extensions(self) -> &'static [&'static str] {
        &self.row().extensions
    }

    fn row(self) -> &'static Row {
        let at = usize::from(self.0);
        let further = || {
            let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
            registered.get(at.checked_sub(TABLE.rows.len())?).copied()
        };

        // The field is public: an id without a language reads as plain text.
        TABLE.rows.get(at).or_else(further).unwrap_or(&TABLE.rows[0])
    }
}

/// Maximum number of languages that the settings of all codebases of a process can name.
const MAX_REGISTERED: usize = 1000;
/// Maximum length of such a name.
const MAX_NAME_BYTES: usize = 64;

/// The languages of settings, in the order in which they were named. Their rows are never freed.
static REGISTERED: RwLock<Vec<&'static Row>> = RwLock::new(Vec::new());

/// Makes the language `name` known to this process, and returns it; the one of the table if there is one.
///
/// Its delimiters are those of the family that is inferred from a text, and those of the settings. `None` if
/// the name is empty, too long or has other characters than letters, digits, `_`, `+`, `#` and `.`, or if
/// there are too many.
pub fn register(name: &str) -> Option<LanguageId> {
    if let Some(known) = LanguageId::by_name(name) {
        return Some(known);
    }

    let name = normalised(name);
    let is_valid = |c: char| c.is_alphanumeric() || "_+#.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(is_valid) {
        return None;
    }

    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have been faster.
    if let Some(at) = registered.iter().position(|row| row.name == name) {
        return id_of_registered(at);
    }
    if registered.len() >= MAX_REGISTERED {
        return None;
    }

    registered.push(Box::leak(Box::new(Row {
        name: name.leak(),
        family: "plain_style",
        nature: Nature::Code,
        extensions: Vec::new(),
        aliases: Vec::new(),
    })));
    id_of_registered(registered.len() - 1)
}

/// Returns the registered language of a normalised name.
fn registered(name: &str) -> Option<LanguageId> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    id_of_registered(registered.iter().position(|row| row.name == name)?)
}

fn id_of_registered(at: usize) -> Option<LanguageId> {
    u16::try_from(TABLE.rows.len() + at).ok().map(LanguageId)
}

impl serde::Serialize for LanguageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Returns all languages in the order of the table.
pub fn all() -> impl Iterator<Item = LanguageId> {
    (0..TABLE.rows.len()).map(|index| LanguageId(u16::try_from(index).unwrap_or(u16::MAX)))
}

/// Returns the hash of the table, a part of the chunker fingerprint.
pub fn table_fingerprint() -> &'static str {
    &TABLE.fingerprint
}

/// Returns the language of a path: by whole file name, file-name pattern, then longest known extension.
/// `None` if unknown.
///
/// Extensions are looked up as written, then in lower case (`.C` is C++, `.TXT` is text). Suffixes for
/// templates and copies are ignored (`config.h.in`).
pub fn by_path(path: &BStr) -> Option<LanguageId> {
    let file_name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
    let file_name = file_name.to_str_lossy();

    by_file_name(path, &file_name).or_else(|| {
        let (stem, suffix) = file_name.rsplit_once('.')?;
        TRANSPARENT_SUFFIXES.contains(&suffix).then(|| by_file_name(path, stem)).flatten()
    })
}

/// Returns the language that the first line names: by `#!`, by an editor's mode line, or by a signature such
/// as `<?php`.
///
/// Reads at most [`FIRST_LINE_BYTES`] of the first line.
pub fn by_first_line(bytes: &[u8]) -> Option<LanguageId> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line = &bytes[..bytes.len().min(FIRST_LINE_BYTES)];
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);

    let line = line.trim();
    by_shebang(line).or_else(|| by_mode_line(line)).or_else(|| by_signature(line))
}

/// Longer `#!` and mode lines do not occur; kernels cut the former at 256 bytes.
const FIRST_LINE_BYTES: usize = 512;

/// Suffixes of templates and copies, before which the name of the original stands.
const TRANSPARENT_SUFFIXES: [&str; 9] =
    ["in", "template", "example", "sample", "dist", "orig", "bak", "default", "inc"];

/// Beginnings of first lines, in lower case, with the language that they identify.
const SIGNATURES: [(&str, &str); 14] = [
    ("<?php", "php"),
    ("<?hh", "hack"),
    ("<?xml", "xml"),
    ("<!doctype html", "html"),
    ("<html", "html"),
    ("%yaml", "yaml"),
    ("%!ps", "postscript"),
    ("#lang ", "racket"),
    ("#compdef", "bash"),
    ("#autoload", "bash"),
    ("diff --git ", "diff"),
    ("\\documentclass", "latex"),
    ("=pod", "pod"),
    ("% -*- erlang", "erlang"),
];

/// Returns the language by whole name, then by patterns of code (`Makefile.inc` is not PHP), then by
/// extension, then by the other patterns (`README.adoc` is AsciiDoc, `README.first` is text).
fn by_file_name(path: &BStr, file_name: &str) -> Option<LanguageId> {
    let pattern = by_pattern(file_name);

    // `Dockerfile.md` is documentation.
    by_whole_name(path, file_name)
        .or_else(|| pattern.filter(|language| !language.is_prose() && !file_name.ends_with(".md")))
        .or_else(|| by_extension(file_name))
        .or(pattern)
}

fn by_whole_name(path: &BStr, file_name: &str) -> Option<LanguageId> {
    if let Some(&language) = TABLE.file_names.get(file_name) {
        return Some(language);
    }

    // A few names include their folder (`debian/control`).
    for &(name, language) in &TABLE.folder_names {
        let folder = path.strip_suffix(name.as_bytes());
        if folder.is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/")) {
            return Some(language);
        }
    }
    None
}

/// Scans the patterns, of which there are about a dozen.
fn by_pattern(file_name: &str) -> Option<LanguageId> {
    TABLE.patterns.iter().find(|(affix, _)| affix.fits(file_name)).map(|&(_, language)| language)
}

fn by_extension(file_name: &str) -> Option<LanguageId> {
    let mut rest = file_name;

    // Longest first: `blade.php` before `php`.
    while let Some((_, extension)) = rest.split_once('.') {
        if let Some(&language) = TABLE.extensions.get(extension) {
            return Some(language);
        }
        if let Some(&language) = TABLE.extensions.get(extension.to_ascii_lowercase().as_str()) {
            return Some(language);
        }
        rest = extension;
    }

    None
}

fn by_shebang(line: &str) -> Option<LanguageId> {
    let mut words = line.strip_prefix("#!")?.split_ascii_whitespace();
    let mut program = base_name(words.next()?);
    if program == "env" {
        // Options of env and assignments precede the program: `env -S FOO=1 python3 -u`.
        program = base_name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }

    // `python3.12` is `python`, unless the table has the version.
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    TABLE.interpreters.get(program).or_else(|| TABLE.interpreters.get(name)).copied()
}

fn base_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Reads `-*- mode: ruby -*-`, `-*- ruby -*-` and `vim: set ft=ruby :`.
fn by_mode_line(line: &str) -> Option<LanguageId> {
    if let Some((_, rest)) = line.split_once("-*-") {
        let (inside, _) = rest.split_once("-*-")?;
        let mode = inside
            .split(';')
            .find_map(|part| {
                let (key, value) = part.split_once(':')?;
                key.trim().eq_ignore_ascii_case("mode").then(|| value.trim())
            })
            .unwrap_or_else(|| inside.trim());
        return built_in(mode);
    }

    let (_, rest) = line.split_once("vim:").or_else(|| line.split_once("vi:"))?;
    rest.split([' ', ':', '\t']).find_map(|word| {
        let (key, value) = word.split_once('=')?;
        ["ft", "filetype", "syntax"].contains(&key).then(|| built_in(value)).flatten()
    })
}

/// Returns the language of the table with that name or alias: the languages that other codebases of this
/// process have named have no influence on a file.
fn built_in(name: &str) -> Option<LanguageId> {
    LanguageId::by_name(name).filter(|language| !language.is_registered())
}

fn by_signature(line: &str) -> Option<LanguageId> {
    let (_, name) = SIGNATURES.iter().find(|(prefix, _)| {
        line.get(..prefix.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(prefix))
    })?;
    LanguageId::by_name(name)
}

/// Returns the form in which names are compared.
fn normalised(name: &str) -> String {
    name.trim().chars().map(|c| if c == ' ' || c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

struct Row {
    name: &'static str,
    family: &'static str,
    nature: Nature,
    extensions: Vec<&'static str>,
    aliases: Vec<&'static str>,
}

enum Affix {
    Prefix(&'static str),
    Suffix(&'static str),
}

impl Affix {
    /// Returns whether a file name has the affix and more.
    fn fits(&self, file_name: &str) -> bool {
        match *self {
            Affix::Prefix(prefix) => file_name.len() > prefix.len() && file_name.starts_with(prefix),
            Affix::Suffix(suffix) => file_name.len() > suffix.len() && file_name.ends_with(suffix),
        }
    }
}

struct Table {
    rows: Vec<Row>,
    names: FxHashMap<String, LanguageId>,
    extensions: FxHashMap<&'static str, LanguageId>,
    file_names: FxHashMap<&'static str, LanguageId>,
    folder_names: Vec<(&'static str, LanguageId)>,
    patterns: Vec<(Affix, LanguageId)>,
    interpreters: FxHashMap<&'static str, LanguageId>,
    fingerprint: String,
}

const SOURCE: &str = include_str!("data/languages.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(SOURCE));

/// The cells of one line of the table.
struct Cells {
    name: &'static str,
    family: &'static str,
    nature: Nature,
    extensions: Vec<&'static str>,
    file_names: Vec<&'static str>,
    interpreters: Vec<&'static str>,
    aliases: Vec<&'static str>,
}

/// Reads the cells of a line, in the order in which the table has them.
fn cells(line: &'static str) -> Cells {
    let mut cells = line.split('|').map(str::trim);
    let mut cell = || cells.next().unwrap_or_default();

    Cells {
        name: cell(),
        family: cell(),
        nature: match cell() {
            "prose" => Nature::Prose,
            "data" => Nature::Data,
            _ => Nature::Code,
        },
        extensions: items(cell()),
        file_names: items(cell()),
        interpreters: items(cell()),
        aliases: items(cell()),
    }
}

/// Returns the items of a cell with a list.
fn items(cell: &'static str) -> Vec<&'static str> {
    cell.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Returns the lines of the table without comments and blank lines.
fn lines(source: &'static str) -> impl Iterator<Item = &'static str> {
    source.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

impl Table {
    /// Parses the table. The first claim of a key wins; a test checks that keys are unique.
    fn parse(source: &'static str) -> Table {
        let mut table = Table {
            rows: Vec::new(),
            names: FxHashMap::default(),
            extensions: FxHashMap::default(),
            file_names: FxHashMap::default(),
            folder_names: Vec::new(),
            patterns: Vec::new(),
            interpreters: FxHashMap::default(),
            fingerprint: blake3::hash(source.as_bytes()).to_hex()[..16].to_owned(),
        };

        for (language, line) in (0u16..).map(LanguageId).zip(lines(source)) {
            table.add(language, cells(line));
        }

        // Aliases come after all names, so that none hides a language.
        for index in 0..table.rows.len() {
            for alias in table.rows[index].aliases.clone() {
                let language = LanguageId(u16::try_from(index).unwrap_or(u16::MAX));
                table.names.entry(normalised(alias)).or_insert(language);
            }
        }

        table
    }

    fn add(&mut self, language: LanguageId, cells: Cells) {
        self.names.entry(normalised(cells.name)).or_insert(language);
        for &extension in &cells.extensions {
            self.extensions.entry(extension).or_insert(language);
        }
        for &interpreter in &cells.interpreters {
            self.interpreters.entry(interpreter).or_insert(language);
        }

        for file_name in cells.file_names {
            if let Some(prefix) = file_name.strip_suffix('*') {
                self.patterns.push((Affix::Prefix(prefix), language));
            } else if let Some(suffix) = file_name.strip_prefix('*') {
                self.patterns.push((Affix::Suffix(suffix), language));
            } else if file_name.contains('/') {
                self.folder_names.push((file_name, language));
            } else {
                self.file_names.entry(file_name).or_insert(language);
            }
        }

        let Cells { name, family, nature, extensions, aliases, .. } = cells;
        self.rows.push(Row { name, family, nature, extensions, aliases });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn path(path: &str) -> &'static str {
        by_path(path.into()).map_or("-", LanguageId::name)
    }

    fn first(line: &str) -> &'static str {
        by_first_line(line.as_bytes()).map_or("-", LanguageId::name)
    }

    const WITH_GRAMMAR: [&str; 44] = [
        "bash",
        "c",
        "cpp",
        "csharp",
        "css",
        "elixir",
        "go",
        "haskell",
        "hcl",
        "html",
        "java",
        "javascript",
        "json",
        "kotlin",
        "lua",
        "nix",
        "php",
        "python",
        "ruby",
        "rust",
        "scala",
        "solidity",
        "swift",
        "typescript",
        "tsx",
        "yaml",
        "zig",
        "ocaml",
        "ocaml_interface",
        "dart",
        "sql",
        "toml",
        "markdown",
        "dockerfile",
        "make",
        "proto",
        "r",
        "julia",
        "erlang",
        "clojure",
        "text",
        "csharp",
        "c",
        "cpp",
    ];

    #[test]
    fn there_are_170_languages_besides_those_with_a_grammar() {
        let with_grammar: BTreeSet<_> = WITH_GRAMMAR.iter().collect();
        for name in &with_grammar {
            assert!(LanguageId::by_name(name).is_some(), "{name}");
        }
        let others = all().filter(|language| !with_grammar.contains(&language.name())).count();
        assert!(others >= 170, "{others}");
    }

    #[test]
    fn constants_are_at_their_place() {
        assert_eq!((TEXT.name(), MARKDOWN.name()), ("text", "markdown"));
        assert_eq!(LanguageId(u16::MAX).name(), "text");
    }

    #[test]
    fn every_line_is_well_formed_and_every_key_has_one_owner() {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        let mut problems = Vec::new();
        let mut claim = |kind: &str, key: &str, owner: &'static str| {
            if let Some(other) = owners.insert(format!("{kind} {key}"), owner) {
                problems.push(format!("{kind} {key}: {other} and {owner}"));
            }
        };
        for line in lines(SOURCE) {
            assert_eq!(line.matches('|').count(), 6, "{line}");
            let cells = cells(line);
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(!cells.name.is_empty() && cells.name.chars().all(plain), "{line}");
            claim("name", cells.name, cells.name);
            let own = normalised(cells.name);
            let aliases: BTreeSet<_> =
                cells.aliases.iter().map(|alias| normalised(alias)).filter(|alias| *alias != own).collect();
            aliases.iter().for_each(|alias| claim("name", alias, cells.name));
            let unique: BTreeSet<_> = cells.extensions.iter().collect();
            unique.iter().for_each(|key| claim("extension", key, cells.name));
            cells.file_names.iter().for_each(|key| claim("file", key, cells.name));
            let unique: BTreeSet<_> = cells.interpreters.iter().collect();
            unique.iter().for_each(|key| claim("interpreter", key, cells.name));
        }
        assert!(problems.is_empty(), "{problems:#?}");
    }

    #[test]
    fn names_and_aliases_ignore_case_blanks_and_hyphens() {
        for (alias, name) in [
            ("C++", "cpp"),
            ("c#", "csharp"),
            ("Objective-C", "objective_c"),
            ("Shell", "bash"),
            ("Common Lisp", "common_lisp"),
            ("Common-Lisp", "common_lisp"),
            ("JavaScript", "javascript"),
            ("ts", "typescript"),
            ("TSX", "tsx"),
            ("py", "python"),
            ("golang", "go"),
            ("Makefile", "make"),
            ("Jupyter Notebook", "jupyter_notebook"),
            ("F#", "fsharp"),
            ("sh", "bash"),
            ("Visual Basic .NET", "vbnet"),
        ] {
            assert_eq!(LanguageId::by_name(alias).map(LanguageId::name), Some(name), "{alias}");
        }
        assert_eq!(LanguageId::by_name("no such language"), None);
    }

    #[test]
    fn paths_name_languages() {
        for (file, name) in [
            ("src/main.rs", "rust"),
            ("a/b.h", "c"),
            ("b.hpp", "cpp"),
            ("b.C", "cpp"),
            ("b.m", "objective_c"),
            ("b.ts", "typescript"),
            ("b.d.ts", "typescript"),
            ("b.tsx", "tsx"),
            ("b.jsx", "javascript"),
            ("b.R", "r"),
            ("README", "text"),
            ("README.TXT", "text"),
            ("README.adoc", "asciidoc"),
            ("README.first", "text"),
            ("Makefile.inc", "make"),
            ("Dockerfile.md", "markdown"),
            ("notes.MD", "markdown"),
            ("Makefile", "make"),
            ("Makefile.am", "automake"),
            ("docker/Dockerfile", "dockerfile"),
            ("Dockerfile.dev", "dockerfile"),
            ("CMakeLists.txt", "cmake"),
            ("Rakefile", "ruby"),
            ("Gemfile", "ruby"),
            ("BUILD", "starlark"),
            ("Jenkinsfile", "groovy"),
            ("view.blade.php", "blade"),
            ("x.php", "php"),
            ("debian/control", "debian_control"),
            ("config.h.in", "c"),
            ("setup.py.example", "python"),
            (".gitignore", "ignore_list"),
            (".bashrc", "bash"),
            ("go.mod", "go_module"),
            ("Cargo.lock", "toml"),
            ("x.mli", "ocaml_interface"),
            ("no/extension", "-"),
            ("strange.zzz", "-"),
            ("", "-"),
            ("dir.rs/", "-"),
            ("trailing.", "-"),
        ] {
            assert_eq!(path(file), name, "{file}");
        }
        assert_eq!(by_path(b"\xff\xfe.rs".as_bstr()).map(LanguageId::name), Some("rust"));
        assert_eq!(by_path(b"rs.\xff\xfe".as_bstr()), None);
    }

    #[test]
    fn first_lines_name_languages() {
        for (line, name) in [
            ("#!/bin/sh", "bash"),
            ("#!/usr/bin/env python3.11\nimport x", "python"),
            ("#! /usr/bin/env -S FOO=1 deno run\n", "typescript"),
            ("#!/usr/local/bin/perl5.36 -w", "perl"),
            ("#!/usr/bin/node", "javascript"),
            ("#!/usr/bin/guile-3.0", "scheme"),
            ("<?php echo 1;", "php"),
            ("\u{feff}<?xml version=\"1.0\"?>", "xml"),
            ("<!DOCTYPE HTML>", "html"),
            ("# -*- mode: ruby; coding: utf-8 -*-", "ruby"),
            ("; -*- Scheme -*-", "scheme"),
            ("# vim: set ft=python :", "python"),
            ("#!", "-"),
            ("#!/usr/bin/env", "-"),
            ("plain words", "-"),
            ("", "-"),
            ("<ünd", "-"),
        ] {
            assert_eq!(first(line), name, "{line}");
        }
    }

    #[test]
    fn settings_name_further_languages() {
        let quenya = register("Quenya Script").unwrap();
        assert_eq!((quenya.name(), quenya.is_registered()), ("quenya_script", true));
        assert_eq!(register("quenya-script"), Some(quenya));
        assert_eq!(LanguageId::by_name("Quenya Script"), Some(quenya));
        assert_eq!(register("C++").map(LanguageId::name), Some("cpp"));
        assert_eq!((quenya.nature(), quenya.extensions()), (Nature::Code, &[][..]));
        assert_eq!(first("# -*- mode: quenya_script -*-"), "-", "the lines of a file name no such language");

        for name in ["", "a/b", "a\nb", &"x".repeat(65)] {
            assert_eq!(register(name), None, "{name:?}");
        }
        assert_eq!(LanguageId(u16::MAX).name(), "text");
    }

    #[test]
    fn natures_are_priors() {
        let nature = |name| LanguageId::by_name(name).map(LanguageId::nature);
        assert_eq!(nature("markdown"), Some(Nature::Prose));
        assert_eq!(nature("yaml"), Some(Nature::Data));
        assert_eq!(nature("rust"), Some(Nature::Code));
        assert!(TEXT.is_prose() && !TEXT.is_data());
    }
}
