//! Callers and tests of a definition: the definitions around the places that mention its name.

use codeweaver_chunk::LanguageId;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;

use super::symbols::{Found, Symbols};
use super::words::{self, Calls};
use super::{MAX_DEFINITIONS, MAX_OF_RELATION, is_type};
use crate::query::answer::texts::Texts;
use crate::query::definitions::kind_of;
use crate::query::error::QueryError;
use crate::query::view::RowId;

/// Maximum number of chunks that are read for callers, and for tests.
const MAX_READ: usize = 3;
/// Larger files are not read.
const MAX_BLOB_BYTES: u32 = 128 << 10;

/// The definitions that mention a definition.
#[derive(Default)]
pub struct Mentions<'a> {
    pub callers: Vec<Found<'a>>,
    pub tests: Vec<Found<'a>>,
}

/// A chunk that has the name of a definition.
struct Place<'a> {
    /// Whether it is in another file or, for a test, in a file that is not named after that of the
    /// definition.
    is_far: bool,
    n_other_directories: usize,
    path: &'a [u8],
    start_byte: u32,
    id: RowId,
}

impl<'a> Place<'a> {
    /// The order in which places are read: the nearest first.
    fn key(&self) -> (bool, usize, &'a [u8], u32) {
        (self.is_far, self.n_other_directories, self.path, self.start_byte)
    }
}

/// The nearest definitions that mention `focus`. `same_name` are all definitions of its name.
pub fn find<'a>(
    symbols: &Symbols<'a>,
    focus: &Found<'a>,
    same_name: Option<&[Found<'a>]>,
    texts: &mut Texts<'_>,
) -> Result<Mentions<'a>, QueryError> {
    let Some(rows) = symbols.rows_with(Field::Body, focus.name) else { return Ok(Mentions::default()) };

    let (mut code, mut tests) = (Vec::new(), Vec::new());
    for id in rows {
        let Some((path, flags)) = symbols.file_of(id) else { continue };
        let is_code = LanguageId::by_name(symbols.language_of(id))
            .is_none_or(|language| !language.is_prose() && !language.is_data());
        if !is_code || blob_bytes(symbols, id) > MAX_BLOB_BYTES {
            continue;
        }

        let is_test = flags.contains(PathFlags::TEST);
        let is_same_file = symbols.view.doc_of(id) == focus.doc;
        // The tests of a file are mostly named after it.
        let is_far = if is_test { !is_named_after(path, focus.path) } else { !is_same_file };
        let n_other_directories = n_other_directories(path, focus.path);
        let start_byte = symbols.view.row(id).1.start_byte;

        let place = Place { is_far, n_other_directories, path, start_byte, id };
        if is_test { tests.push(place) } else { code.push(place) }
    }
    code.sort_unstable_by_key(Place::key);
    tests.sort_unstable_by_key(Place::key);

    let owner = symbols.around(focus).map(|parent| parent.owner_name());
    let callables = same_name.unwrap_or_default().iter().filter(|it| kind_of(&it.record).is_callable());
    let reader = MentionReader {
        symbols,
        focus,
        only_calls: !is_type(kind_of(&focus.record)),
        owner: owner.filter(|_| same_name.is_none() || callables.count() > MAX_DEFINITIONS),
    };

    let mut found = Mentions::default();
    reader.read(&code, texts, &mut found, |found| found.callers.len() >= MAX_OF_RELATION)?;
    reader.read(&tests, texts, &mut found, |found| found.tests.len() >= MAX_OF_RELATION)?;
    Ok(found)
}

/// Reads chunks for mentions of a definition.
struct MentionReader<'s, 'a> {
    symbols: &'s Symbols<'a>,
    focus: &'s Found<'a>,
    /// Whether other mentions than calls are left out.
    only_calls: bool,
    /// The type that a text must mention too, because many definitions have the name.
    owner: Option<&'a str>,
}

impl<'a> MentionReader<'_, 'a> {
    /// Reads the first [`MAX_READ`] of `places`, but only until it `is_enough`.
    fn read(
        &self,
        places: &[Place<'a>],
        texts: &mut Texts<'_>,
        found: &mut Mentions<'a>,
        is_enough: fn(&Mentions<'a>) -> bool,
    ) -> Result<(), QueryError> {
        for Place { id, .. } in places.iter().take(MAX_READ) {
            if is_enough(found) {
                break;
            }
            let (_, row) = self.symbols.view.row(*id);
            let Some(bytes) = texts.blob_of(*id)? else { continue };
            let text = bytes.get(row.start_byte as usize..row.end_byte as usize).unwrap_or_default();

            // The file of the focus names the owner anyway, so only the chunk counts there.
            let is_here = self.symbols.view.doc_of(*id) == self.focus.doc;
            let searched = if is_here { text } else { bytes };
            if self.owner.is_some_and(|owner| words::mentions(searched, owner).next().is_none()) {
                continue;
            }
            self.add_mentions(*id, text, found);
        }
        Ok(())
    }

    /// Adds the definitions around the mentions in `text`, the text of the chunk `id`.
    fn add_mentions(&self, id: RowId, text: &[u8], found: &mut Mentions<'a>) {
        let (_, row) = self.symbols.view.row(id);
        let is_here = self.symbols.view.doc_of(id) == self.focus.doc;
        let calls = Calls::for_language(self.symbols.language_of(id));
        let needs_parentheses = self.only_calls && calls == Calls::Parenthesised;

        for at in words::mentions(text, self.focus.name) {
            let is_call = words::is_called(&text[at + self.focus.name.len()..]);
            if needs_parentheses && !is_call {
                continue;
            }
            let Some(around) = self.symbols.at_byte(id, row.start_byte + at as u32) else { continue };
            // A definition of the name itself, or of a type that contains the focus.
            if around.name == self.focus.name || (is_here && around.contains(&self.focus.record)) {
                continue;
            }
            if !kind_of(&around.record).is_callable() {
                continue;
            }

            let list = if around.is_test() { &mut found.tests } else { &mut found.callers };
            let is_known =
                list.iter().any(|known| known.path == around.path && known.qualified == around.qualified);
            if !is_known {
                list.push(around);
            }
        }
    }
}

/// Size of the blob of a chunk in bytes.
fn blob_bytes(symbols: &Symbols<'_>, id: RowId) -> u32 {
    let (segment, row) = symbols.view.row(id);
    segment.docs().get(row.doc as usize).map_or(0, |doc| doc.blob_bytes)
}

/// Number of directories of `path` that are not on the way to `other`.
fn n_other_directories(path: &[u8], other: &[u8]) -> usize {
    let n_shared = path.iter().zip(other).take_while(|(a, b)| a == b).count();
    count_slashes(path) - count_slashes(&path[..n_shared])
}

fn count_slashes(path: &[u8]) -> usize {
    path.iter().filter(|&&byte| byte == b'/').count()
}

/// Returns whether the name of `path` has that of `other` in it.
fn is_named_after(path: &[u8], other: &[u8]) -> bool {
    let (path, other) = (stem(path), stem(other));
    !other.is_empty() && memchr::memmem::find(&path, &other).is_some()
}

/// The file name of `path` up to its first dot, in lower case.
fn stem(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    name.split(|&byte| byte == b'.').next().unwrap_or(name).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_after_files() {
        assert!(is_named_after(b"tests/test_sessions.py", b"src/flask/sessions.py"));
        assert!(!is_named_after(b"tests/test_basic.py", b"src/flask/sessions.py"));
        assert_eq!(n_other_directories(b"src/a/b.rs", b"src/c.rs"), 1);
        assert_eq!(n_other_directories(b"src/b.rs", b"src/c/d.rs"), 0);
    }
}
