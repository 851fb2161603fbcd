//! Links: the URLs of pages.

use crate::params::encoded;

/// Lines of a file, 1-based, inclusive.
pub type Lines = (u32, u32);

fn url(page: &str, pairs: &[(&str, Option<&str>)]) -> String {
    let given = pairs.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
    format!("{page}?{}", encoded(given))
}

/// The file view, scrolled to `lines`.
pub fn file(path: &str, lines: Option<Lines>, rev: Option<&str>) -> String {
    let Some((first, last)) = lines.filter(|(first, _)| *first > 0) else {
        return url("/file", &[("path", Some(path)), ("rev", rev)]);
    };
    let range = if last > first { format!("{first}-{last}") } else { first.to_string() };
    format!("{}#L{first}", url("/file", &[("path", Some(path)), ("rev", rev), ("lines", Some(&range))]))
}

/// The view of a file whose contents are `blob`, which never changes.
pub fn permanent(path: &str, blob: &str) -> String {
    url("/file", &[("path", Some(path)), ("blob", Some(blob))])
}

pub fn files(path: &str, rev: Option<&str>) -> String {
    match (path, rev) {
        ("", None) => "/files".to_owned(),
        _ => url("/files", &[("path", Some(path).filter(|path| !path.is_empty())), ("rev", rev)]),
    }
}

/// The definition called `name` that begins at a line.
pub fn definition(path: &str, line: u32, name: &str, rev: Option<&str>) -> String {
    symbol(&format!("{path}:{line}#{name}"), rev)
}

/// `symbol` is a name, `Type.name`, `PATH:LINE` or `PATH:LINE#NAME`.
pub fn symbol(symbol: &str, rev: Option<&str>) -> String {
    url("/symbol", &[("symbol", Some(symbol)), ("rev", rev)])
}

pub fn similar(path: &str, line: u32, rev: Option<&str>) -> String {
    url("/similar", &[("path", Some(path)), ("line", Some(&line.to_string())), ("rev", rev)])
}

pub fn history_of_file(path: &str) -> String {
    url("/history", &[("path", Some(path))])
}

pub fn history_of_symbol(symbol: &str, path: &str) -> String {
    url("/history", &[("symbol", Some(symbol)), ("path", Some(path))])
}

/// The lines that the commit `rev` changes, or that are not committed: of a file, of a definition, or of all
/// files.
pub fn changes(rev: Option<&str>, path: Option<&str>, symbol: Option<&str>) -> String {
    url("/changes", &[("rev", rev), ("path", path), ("symbol", symbol)])
}

pub fn search(query: &str) -> String {
    url("/search", &[("q", Some(query))])
}

/// The box with a filter for the directory `path`.
pub fn search_in(path: &str) -> String {
    let filter = match path {
        "" => return "/".to_owned(),
        path if path.contains(char::is_whitespace) => format!("path:\"{path}\""),
        path => format!("path:{path}"),
    };
    search(&filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_encoded_and_scroll_to_their_lines() {
        assert_eq!(
            file("a b/<x>.rs", Some((3, 7)), Some("v1")),
            "/file?path=a+b/%3Cx%3E.rs&rev=v1&lines=3-7#L3"
        );
        assert_eq!(file("a", Some((3, 3)), None), "/file?path=a&lines=3#L3");
        assert_eq!(file("a", Some((0, 0)), None), "/file?path=a");
        assert_eq!(definition("a.rs", 4, "A::b", None), "/symbol?symbol=a.rs:4%23A::b");
        assert_eq!((files("", None), files("", Some("v1"))), ("/files".into(), "/files?rev=v1".into()));
    }
}
