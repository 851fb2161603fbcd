//! Parses imports of Haskell from their text.

use super::facts::Import;

/// The imports of one statement: the module under its names, and each name that it brings into scope.
pub(super) fn read(text: &str) -> Vec<Import> {
    let (head, list) = match text.find('(') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };

    let words: Vec<&str> = head.split_whitespace().collect();
    let is_qualified = words.contains(&"qualified");
    let is_hiding = words.contains(&"hiding");
    let alias = words.iter().position(|word| *word == "as").and_then(|at| words.get(at + 1));
    let is_path = |word: &&&str| word.starts_with(char::is_uppercase);
    let Some(path) = words.iter().find(is_path).copied() else { return Vec::new() };

    let import = || Import { path: path.into(), ..Import::default() };
    let mut found = vec![Import { alias: Some((*alias.unwrap_or(&path)).into()), module: true, ..import() }];
    match list.filter(|_| !is_hiding) {
        _ if is_qualified => {}
        Some(list) => {
            let names = names(list).into_iter();
            found.extend(names.map(|name| Import { name: Some(name.into()), ..import() }));
        }
        None => found.push(Import { all: true, ..import() }),
    }

    found
}

/// The names in a list, up to the parenthesis that closes it, without those of constructors.
fn names(list: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0u32;
    let mut start = 0;

    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth > 0 => depth -= 1,
            b',' | b')' if depth == 0 => {
                let item = list[start..at].trim();
                let item = item.trim_start_matches("type ").trim_start_matches("pattern ");
                let name = item.split(['(', ' ']).next().unwrap_or_default();
                names.extend(Some(name).filter(|name| !name.is_empty()));
                start = at + 1;
                if byte == b')' {
                    break;
                }
            }
            _ => {}
        }
    }

    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read() {
        let shown = |text: &str| -> Vec<String> {
            let show = |import: Import| {
                let (name, alias) = (import.name.as_deref(), import.alias.as_deref());
                let all = if import.all { "*" } else { "" };
                format!("{} {}{all} {}", import.path, name.unwrap_or(""), alias.unwrap_or(""))
            };
            read(text).into_iter().map(show).collect()
        };

        assert_eq!(shown("import A.B"), ["A.B  A.B", "A.B * "]);
        assert_eq!(shown("import qualified A.B as M (c)"), ["A.B  M"]);
        assert_eq!(shown("import A.B qualified as M"), ["A.B  M"]);
        assert_eq!(
            shown("import A (b, C(..), D (E, F), (<+>), type G)"),
            ["A  A", "A b ", "A C ", "A D ", "A G "]
        );
        assert_eq!(shown("import A hiding (b)"), ["A  A", "A * "]);
        assert_eq!(shown("import (b)"), [""; 0]);
    }
}
