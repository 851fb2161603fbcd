//! Sections of a document, from its headings.

use std::ops::Range;

use super::outline::Heading;

/// Maximum number of titles in a heading path; deeper headings are left out.
const MAX_PATH: usize = 12;

/// A heading with the text up to the next heading of any level. The text before the first heading is a
/// section without a heading.
pub(super) struct Section {
    pub heading: Option<Heading>,
    /// The bytes up to the next heading of any level.
    pub range: Range<usize>,
    /// End of the last subsection: the start of the next heading of this or a higher level.
    pub subtree_end: usize,
    /// Titles of the enclosing headings and its own, outermost first; empty titles are left out.
    pub path: Vec<String>,
}

/// Returns the sections that cover `text`, in order of position.
pub(super) fn sections(text: &str, headings: Vec<Heading>) -> Vec<Section> {
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let first = headings.first().map_or(text.len(), |heading| heading.range.start);
    if first > 0 {
        sections.push(Section { heading: None, range: 0..first, subtree_end: first, path: Vec::new() });
    }

    let starts: Vec<(usize, usize)> =
        headings.iter().map(|heading| (heading.level, heading.range.start)).collect();
    let subtree_ends = subtree_ends(&starts, text.len());

    let mut path: Vec<(usize, String)> = Vec::new();
    for (index, heading) in headings.into_iter().enumerate() {
        // Skipped levels (`#`, then `###`) nest all the same.
        while path.last().is_some_and(|(level, _)| *level >= heading.level) {
            path.pop();
        }
        path.push((heading.level, heading.title.clone()));

        let end = starts.get(index + 1).map_or(text.len(), |&(_, start)| start);
        let titles = path.iter().map(|(_, title)| title.clone()).filter(|title| !title.is_empty());
        sections.push(Section {
            range: heading.range.start..end,
            subtree_end: subtree_ends[index],
            path: titles.take(MAX_PATH).collect(),
            heading: Some(heading),
        });
    }

    sections
}

/// Returns for each heading, given as level and start, the start of the next one of the same or a higher
/// level.
fn subtree_ends(starts: &[(usize, usize)], text_end: usize) -> Vec<usize> {
    let mut ends = vec![text_end; starts.len()];
    let mut open: Vec<usize> = Vec::new();

    for (index, &(level, start)) in starts.iter().enumerate() {
        while let Some(&last) = open.last().filter(|&&last| starts[last].0 >= level) {
            ends[last] = start;
            open.pop();
        }
        open.push(index);
    }

    ends
}
