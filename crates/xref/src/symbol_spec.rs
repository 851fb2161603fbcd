//! Notation of symbols: a name, a qualified name, `path:line`, or a `symbolId`.

use codeweaver::query::locate;
use codeweaver_git::quoting;

use super::definitions::{Def, DefId, Definitions, FileDefs, segments};
use super::modules::Paths;

/// Parses `path:line`, or an id that begins with it (`path:line#name`), into path, line and name. The end
/// of a range, and columns as compilers print them, say nothing.
pub fn parse_location(symbol: &str) -> Option<(&str, u32, Option<&str>)> {
    // A quoted path may contain anything; in others, the first line number at the end or before a `#` counts.
    let from = quoting::quoted_len(symbol).unwrap_or(0);

    symbol[from..].match_indices(':').find_map(|(at, _)| {
        let (path, rest) = (&symbol[..from + at], &symbol[from + at + 1..]);
        let (line, name) = rest.split_once('#').map_or((rest, None), |(line, name)| (line, Some(name)));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut numbers = line.split(['-', ':']);
        let first = numbers.next().filter(|line| is_number(line) && numbers.all(is_number))?;
        let line = first.parse().ok().filter(|&line| line > 0)?;
        (!path.is_empty()).then_some((path, line, name))
    })
}

/// `symbol` without the arguments of a call behind it: `parse` for `parse()`.
pub(crate) fn without_arguments(symbol: &str) -> &str {
    let symbol = symbol.trim();
    let called = opening(symbol).map(|at| symbol[..at].trim_end());
    let is_name = |name: &&str| !name.is_empty() && !name.ends_with("operator");
    called.filter(is_name).filter(|_| parse_location(symbol).is_none()).unwrap_or(symbol)
}

/// The place of the parenthesis that the one at the end of `call` closes.
fn opening(call: &str) -> Option<usize> {
    let mut depth = 0;
    let mut brackets = call.char_indices().rev();

    brackets
        .find_map(|(at, c)| {
            depth += i32::from(c == ')') - i32::from(c == '(');
            (depth == 0).then_some((at, c))
        })
        .filter(|&(_, c)| c == '(')
        .map(|(at, _)| at)
}

/// The definitions that `symbol` stands for, ordered by path and position.
pub(crate) fn find(symbol: &str, defs: &Definitions<'_>, paths: &Paths<'_>) -> Vec<DefId> {
    if let Some((path, line, name)) = parse_location(symbol)
        && let Ok(path) = locate::clean(path)
        && let Some(file) = paths.at(&path).and_then(|entry| defs.file(entry))
    {
        return at_line(&file, line, name).into_iter().collect();
    }

    let wanted: Vec<&str> = segments(symbol).collect();
    // A name may contain a separator (`operator/`), so the whole symbol is tried as a name too.
    let last = wanted.last().copied().unwrap_or(symbol);

    let mut found: Vec<DefId> = Vec::new();
    for name in [last, symbol] {
        for &id in defs.all_named(name).iter() {
            let whole = name == symbol;
            let fits = defs
                .with(id, |file, def| file.dialect.is_some() && (whole || matches_names(file, def, &wanted)));
            if fits.unwrap_or(false) && !found.contains(&id) {
                found.push(id);
            }
        }
    }

    found
}

/// The definition that begins at a line, or else the innermost around it.
fn at_line(file: &FileDefs, line: u32, name: Option<&str>) -> Option<DefId> {
    let here = file.defs.iter().enumerate().filter(|(_, def)| (def.lines.0..=def.lines.1).contains(&line));
    let named = here.filter(|(_, def)| name.is_none_or(|name| def.qualified == name || def.name == name));
    let best = named.min_by_key(|(_, def)| {
        (def.lines.0 != line, !(def.kind.is_callable() || def.is_type()), def.range.end - def.range.start)
    });
    best.map(|(symbol, _)| file.id(symbol as u32))
}

/// Returns whether the segments of a symbol name this definition: from the last to the first they match the
/// name, its owners and its package, and then folders and the file stem.
fn matches_names(file: &FileDefs, def: &Def, wanted: &[&str]) -> bool {
    let full = file.full_name(def);
    let def_names: Vec<&str> = full.iter().rev().map(String::as_str).collect();
    let wanted_names: Vec<&str> = wanted.iter().rev().copied().collect();

    let n = def_names.iter().zip(&wanted_names).take_while(|(a, b)| a == b).count();
    if n == wanted_names.len() {
        return true;
    }

    // The remaining segments must occur in the path, in order.
    let owners = segments(&def.qualified).count();
    if n < owners {
        return false;
    }

    let stem = file.path.rsplit_once('.').map_or(file.path.as_str(), |(stem, _)| stem);
    let mut folders = stem.split('/').rev();
    wanted_names[n..].iter().all(|part| folders.any(|folder| folder == *part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_may_be_written_as_a_call() {
        for (symbol, name) in [
            ("parse()", "parse"),
            (" Parser.next(text, 1) ", "Parser.next"),
            ("Parser.at(i).next()", "Parser.at(i).next"),
            ("(*Parser).Next()", "(*Parser).Next"),
            ("operator()", "operator()"),
            ("(<+>)", "(<+>)"),
            ("a.rs:3#f()", "a.rs:3#f()"),
            ("parse", "parse"),
        ] {
            assert_eq!(without_arguments(symbol), name);
        }
    }

    #[test]
    fn locations_are_distinguished_from_names() {
        assert_eq!(parse_location("src/a.rs:12"), Some(("src/a.rs", 12, None)));
        assert_eq!(parse_location("src/a.rs:12#A::b"), Some(("src/a.rs", 12, Some("A::b"))));
        assert_eq!(parse_location("src/a.rs:12:5-9"), Some(("src/a.rs", 12, None)));
        assert_eq!(parse_location("a#b:c.py:3#f"), Some(("a#b:c.py", 3, Some("f"))));
        assert_eq!(parse_location("\"a:1\\377\":3#f"), Some(("\"a:1\\377\"", 3, Some("f"))));
        for name in ["A::b", "a.b", "parse", "a:b", ":3", "x:0", "operator:"] {
            assert_eq!(parse_location(name), None, "{name}");
        }
    }
}
