//! Parses import statements from their text, for languages whose imports are plain names.

use super::dialect::Dialect;
use super::facts::Import;
use super::haskell_imports;

/// Maximum nesting of a Rust use tree.
const MAX_DEPTH: usize = 16;
const MAX_IMPORTS: usize = 1000;

/// The imports of one statement. Paths are written as in the language, without the keyword.
pub(crate) fn read(text: &str, dialect: &Dialect) -> Vec<Import> {
    let mut found = Vec::new();

    match dialect.language {
        "rust" => use_tree("", text, 0, &mut found),
        "php" => php(text, &mut found),
        "csharp" => csharp(text, &mut found),
        "haskell" => found = haskell_imports::read(text),
        _ => jvm(text, &mut found),
    }

    found.truncate(MAX_IMPORTS);
    found
}

/// The imports and child modules among the items of Rust in `text`, which may be the arguments of a macro.
pub(crate) fn items(text: &str) -> Vec<Import> {
    let mut found = Vec::new();

    let mut rest = text;
    while let Some(end) = rest.find([';', '{', '}']) {
        // A list in braces is part of a `use`.
        let start = rest[..end].rfind('\n').map_or(0, |at| at + 1);
        let head = rest[start..end].trim_start_matches(['{', '}']).trim();
        let (export, item) = visibility(head);

        let mut next = end + 1;

        if let Some(path) = item.strip_prefix("use ") {
            let whole = rest[end..].find(';').map_or(rest.len(), |at| end + at);
            let list = if rest[end..].starts_with('{') { &rest[end..whole] } else { "" };
            let mut imports = Vec::new();
            use_tree("", &format!("{path}{list}"), 0, &mut imports);
            found.extend(imports.into_iter().map(|import| Import { export, ..import }));
            next = whole;
        } else if let Some(name) = item.strip_prefix("mod ").filter(|_| rest[end..].starts_with(';')) {
            found.push(Import { path: name.trim().into(), child: true, ..Import::default() });
        }

        rest = rest.get(next..).unwrap_or_default();
    }

    found.truncate(MAX_IMPORTS);
    found
}

/// Returns whether an item begins with `pub`, and the item without that.
fn visibility(item: &str) -> (bool, &str) {
    let Some(rest) = item.strip_prefix("pub") else { return (false, item) };
    match rest.strip_prefix('(') {
        Some(scope) => (true, scope.split_once(')').map_or("", |(_, item)| item.trim_start())),
        None => (rest.starts_with(char::is_whitespace), rest.trim_start()),
    }
}

/// Replaces each run of white space by one blank.
fn normalise_spaces(text: &str) -> String {
    let mut words = String::with_capacity(text.len());

    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }

    words
}

/// Adds the imports of a use tree: `a::b::{c, d as e, f::*}`.
fn use_tree(prefix: &str, text: &str, depth: usize, found: &mut Vec<Import>) {
    let text = text.trim();
    // The depth is limited because hostile input could exhaust the stack.
    if depth > MAX_DEPTH || text.is_empty() {
        return;
    }

    if let Some(open) = text.find('{') {
        let head = text[..open].trim().trim_end_matches("::");
        let close = text.rfind('}').filter(|&close| close > open).unwrap_or(text.len());
        let prefix = join(prefix, head);
        for part in split_top(&text[open + 1..close]) {
            use_tree(&prefix, part, depth + 1, found);
        }
        return;
    }

    let (path, alias) = match text.split_once(" as ") {
        Some((path, alias)) => (path.trim(), Some(alias.trim())),
        None => (text, None),
    };
    let path: String = path.split_whitespace().collect();
    let (path, all) = match path.strip_suffix('*') {
        Some(rest) => (rest.trim_end_matches("::"), true),
        None => (path.as_str(), false),
    };

    // `use a::{self}` is `use a`.
    let path = join(prefix, path);
    let path = path.strip_suffix("::self").unwrap_or(&path);
    found.push(Import { path: path.into(), alias: alias.map(Box::from), all, ..Import::default() });
}

fn join(prefix: &str, rest: &str) -> String {
    match (prefix.is_empty(), rest.is_empty()) {
        (true, _) => rest.to_owned(),
        (_, true) => prefix.to_owned(),
        _ => format!("{prefix}::{rest}"),
    }
}

/// Splits at commas outside braces.
fn split_top(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0i32, 0, Vec::new());

    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }

    parts.push(&text[start..]);
    parts
}

/// Adds the imports of Java, Kotlin or Scala: `import static a.B.c;`, `import a.b as c`,
/// `import a.{B, c => d}`, `import a._`.
fn jvm(text: &str, found: &mut Vec<Import>) {
    let text = normalise_spaces(text);
    let text = text.strip_prefix("import ").unwrap_or(&text).trim_end_matches(';').trim();
    let (text, is_static) = match text.strip_prefix("static ") {
        Some(rest) => (rest, true),
        None => (text, false),
    };

    for clause in split_top(text) {
        let clause = clause.trim();
        if let Some((head, list)) = clause.split_once('{') {
            let head = head.trim().trim_end_matches('.');
            for part in list.trim_end_matches('}').split(',') {
                dotted(&format!("{head}.{}", part.trim()), is_static, found);
            }
        } else {
            dotted(clause, is_static, found);
        }
    }
}

/// Adds the import of one dotted path, which may have an alias or end in a wildcard.
fn dotted(path: &str, is_static: bool, found: &mut Vec<Import>) {
    let (path, alias) = match path.split_once(" as ").or_else(|| path.split_once("=>")) {
        Some((path, alias)) => (path.trim(), Some(alias.trim())),
        None => (path.trim(), None),
    };

    let wild =
        path.strip_suffix(".*").or_else(|| path.strip_suffix("._")).or_else(|| path.strip_suffix(".given"));
    let (path, all) = (wild.unwrap_or(path), wild.is_some());

    // Scala hides a name with the alias `_`.
    if !path.is_empty() && alias != Some("_") {
        let path: String = path.split_whitespace().collect();
        found.push(Import {
            path: path.into(),
            alias: alias.map(Box::from),
            all,
            is_static,
            ..Import::default()
        });
    }
}

/// Adds the import of a `using` directive: `using A.B;`, `using X = A.B;`, `using static A.B;`,
/// `global using A;`.
fn csharp(text: &str, found: &mut Vec<Import>) {
    let text = normalise_spaces(text);
    let text = text.strip_prefix("global ").unwrap_or(&text);
    let text = text.strip_prefix("using ").unwrap_or(text).trim_end_matches(';').trim();
    let (text, is_static) = match text.strip_prefix("static ") {
        Some(rest) => (rest, true),
        None => (text, false),
    };

    let (alias, path) = match text.split_once('=') {
        Some((alias, path)) => (Some(alias.trim()), path.trim()),
        None => (None, text),
    };

    found.push(Import {
        path: path.into(),
        alias: alias.map(Box::from),
        all: alias.is_none(),
        is_static,
        ..Import::default()
    });
}

/// Adds the imports of a `use` statement of PHP: `use A\B;`, `use A\B as C;`, `use function A\f;`,
/// `use A\{B, C as D};`.
fn php(text: &str, found: &mut Vec<Import>) {
    let text = normalise_spaces(text);
    let text = text.strip_prefix("use ").unwrap_or(&text).trim_end_matches(';').trim();
    let text = text.strip_prefix("function ").or_else(|| text.strip_prefix("const ")).unwrap_or(text);

    for clause in split_top(text) {
        let clause = clause.trim();
        match clause.split_once('{') {
            Some((head, list)) => {
                let head = head.trim().trim_end_matches('\\');
                for part in list.trim_end_matches('}').split(',') {
                    let part = part.trim();
                    let part = part.strip_prefix("function ").unwrap_or(part);
                    dotted(&format!("{head}\\{part}"), false, found);
                }
            }
            None => dotted(clause.trim_start_matches('\\'), false, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dialect;
    use super::*;

    fn of(language: &str, text: &str) -> Vec<String> {
        let shown = |i: &Import| {
            let alias = i.alias.as_deref().map(|alias| format!(" as {alias}")).unwrap_or_default();
            let all = if i.all { " all" } else { "" };
            let is_static = if i.is_static { " static" } else { "" };
            format!("{}{alias}{all}{is_static}", i.path)
        };
        read(text, dialect::for_language(language).unwrap()).iter().map(shown).collect()
    }

    #[test]
    fn imports_among_items_are_found() {
        let text = "{\n    pub use a::{b, c};\n    #[doc(hidden)]\n    mod d;\n    pub mod e;\n    fn f() { g(); }\n\
                    \x20   cfg! {\n        pub use d::h;\n    }\n    mod i { use j::k; }\n}";
        let shown: Vec<_> = items(text).iter().map(|i| (i.path.to_string(), i.child, i.export)).collect();
        let of = |path: &str, child, export| (path.to_owned(), child, export);
        assert_eq!(
            shown,
            [
                of("a::b", false, true),
                of("a::c", false, true),
                of("d", true, false),
                of("e", true, false),
                of("d::h", false, true),
                // As in a whole file, what an inline module imports counts for the file.
                of("j::k", false, false)
            ]
        );
        for hostile in ["", "{", "use", "use ;", "pub(", "pub(x", "use a::{", "mod ;", "é{ü;"] {
            items(hostile);
        }
    }

    #[test]
    fn import_statements_are_parsed() {
        assert_eq!(
            of("rust", "a::b::{self, c, d as e,\n f::*, g::{h}}"),
            ["a::b", "a::b::c", "a::b::d as e", "a::b::f all", "a::b::g::h"]
        );
        assert_eq!(of("java", "import static a.B.c;"), ["a.B.c static"]);
        assert_eq!(of("java", "import a.b.*;"), ["a.b all"]);
        assert_eq!(of("kotlin", "import a.b as c"), ["a.b as c"]);
        assert_eq!(of("scala", "import a.{B, c => d, e => _}, f._"), ["a.B", "a.c as d", "f all"]);
        assert_eq!(of("csharp", "using X = A.B;"), ["A.B as X"]);
        assert_eq!(of("csharp", "using static A.B;"), ["A.B all static"]);
        assert_eq!(of("php", "use function A\\f, B\\{C, D as E};"), ["A\\f", "B\\C", "B\\D as E"]);
        for hostile in ["", "{", "}", "{{{{", "use ;;", "a::{b", "import {", "é::{ü}"] {
            for dialect in dialect::all() {
                let _ = read(hostile, dialect);
            }
        }
    }
}
