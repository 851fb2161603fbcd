//! Further places of a match: other definitions of its file, and copies of it, in one line each.

use super::render::safe;
use super::width;

/// Maximum number of further places of a match that are shown.
const MAX_LISTED: usize = 4;
/// Number of characters to which the titles of further places are shortened.
const MAX_TITLE_CHARS: usize = 36;

/// Formats the first [`MAX_LISTED`] of some places, as many as fit into `columns` but at least one, and the
/// number of the others; `None` if there are none.
pub fn listed(
    what: &str,
    places: impl ExactSizeIterator<Item = String>,
    separator: &str,
    columns: usize,
) -> Option<String> {
    let n = places.len();
    let more = |n_shown: usize| format!("{separator}{} more", n - n_shown);

    let (mut list, mut n_shown) = (String::new(), 0);
    for place in places.take(MAX_LISTED) {
        let next = match n_shown {
            0 => format!("{what}: {place}"),
            _ => format!("{list}{separator}{place}"),
        };
        let room = if n_shown + 1 < n { more(n_shown + 1).len() } else { 0 };
        if n_shown > 0 && width::measure(&next) + room > columns {
            break;
        }
        (list, n_shown) = (next, n_shown + 1);
    }

    if n_shown < n {
        list += &more(n_shown);
    }
    (n > 0).then_some(list)
}

/// The `title` of a further place in about [`MAX_TITLE_CHARS`] characters, so that lines with several titles
/// do not wrap. Of the qualified name `symbol`, with which it ends, only the qualifiers are cut, never the
/// name itself.
pub fn short_title(title: &str, symbol: &str) -> String {
    let (title, symbol) = (safe(title).into_owned(), safe(symbol).into_owned());
    if title.chars().count() <= MAX_TITLE_CHARS {
        return title;
    }

    let Some(kind) = title.strip_suffix(symbol.as_str()).filter(|_| !symbol.is_empty()) else {
        return shortened(&title);
    };
    let room = MAX_TITLE_CHARS.saturating_sub(kind.chars().count() + 1);
    let starts = symbol.match_indices([':', '.', '#', '/', ' ']).map(|(at, separator)| at + separator.len());
    let starts: Vec<usize> =
        starts.filter(|&at| symbol[at..].starts_with(|c| !":.#/ ".contains(c))).collect();
    let fits = starts.iter().copied().find(|&at| symbol[at..].chars().count() <= room);
    match fits.or(starts.last().copied()) {
        Some(start) => format!("{kind}…{}", &symbol[start..]),
        None => title,
    }
}

/// Truncates `text` to [`MAX_TITLE_CHARS`] characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_cut_before_the_name() {
        for (title, symbol, expected) in [
            ("method A.b", "A.b", "method A.b"),
            (
                "method ReflectiveTypeAdapterFactory.createBoundField",
                "ReflectiveTypeAdapterFactory.createBoundField",
                "method …createBoundField",
            ),
            (
                "method a.b.Outer::Middle::Inner::operate",
                "a.b.Outer::Middle::Inner::operate",
                "method …Middle::Inner::operate",
            ),
            (
                "function a_name_that_is_longer_than_the_room_for_it",
                "a_name_that_is_longer_than_the_room_for_it",
                "function a_name_that_is_longer_than_the_room_for_it",
            ),
            ("a long title of a chunk without any definition", "", "a long title of a chunk without any…"),
        ] {
            assert_eq!(short_title(title, symbol), expected);
        }
    }

    #[test]
    fn a_list_has_whole_places_and_the_number_of_the_others() {
        let list = |n: usize, columns: usize| {
            listed("here", (0..n).map(|i| format!("place{i}")), "; ", columns).unwrap_or_default()
        };
        assert_eq!(list(0, 80), "");
        assert_eq!(list(2, 80), "here: place0; place1");
        assert_eq!(list(6, 80), "here: place0; place1; place2; place3; 2 more");
        assert_eq!(list(6, 30), "here: place0; place1; 4 more");
        assert_eq!(list(6, 1), "here: place0; 5 more");
    }
}
