//! Callers and tests of a definition: the definitions around the places that mention its name.

use super::symbols::{Found, Symbols};
use super::words::{self, Calls};
use super::{MAX_DEFINITIONS, MAX_OF_RELATION, is_type};
use crate::query::answer::texts::Texts;
use crate::query::definitions::kind_of;
use crate::query::error::QueryError;
use crate::query::view::RowId;
use codeweaver_chunk::LanguageId;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;

/// Maximum number of chunks that are read for callers, and for tests.
const MAX_READ: usize = 3;
/// Larger files are not read.
const MAX_BLOB_BYTES: u32 = 128 << 10;

/// Who mentions a definition.
#[derive(Default)]
pub struct Mentions<'a> {
    pub callers: Vec<Found<'a>>,
    pub tests: Vec<Found<'a>>,
}

/// A chunk that has the name.
struct Place<'a> {
    is_far: bool,
    n_other_directories: usize,
    path: &'a [u8],
    start_byte: u32,
    id: RowId,
}

impl<'a> Place<'a> {
    /// By which the places to read are chosen.
    fn key(&self) -> (bool, usize, &'a [u8], u32) {
        (self.is_far, self.n_other_directories, self.path, self.start_byte)
    }
}

/// The nearest definitions that mention `focus`. `same_name` are all definitions of its name.
pub fn of<'a>(
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
    let by = By {
        symbols,
        focus,
        only_calls: !is_type(kind_of(&focus.record)),
        owner: owner.filter(|_| same_name.is_none() || callables.count() > MAX_DEFINITIONS),
    };
    let mut found = Mentions::default();
    by.read(&code, texts, &mut found, |found| found.callers.len() >= MAX_OF_RELATION)?;
    by.read(&tests, texts, &mut found, |found| found.tests.len() >= MAX_OF_RELATION)?;
    Ok(found)
}

/// How mentions are recognised.
struct By<'s, 'a> {
    symbols: &'s Symbols<'a>,
    focus: &'s Found<'a>,
    /// Whether other mentions than calls are left out.
    only_calls: bool,
    /// The type that a text must mention too, since many definitions have the name.
    owner: Option<&'a str>,
}

impl<'a> By<'_, 'a> {
    /// Reads `places` until it `is_enough`.
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
            let is_here = self.symbols.view.doc_of(*id) == self.focus.doc;
            let has_owner =
                |owner: &str| words::mentions(if is_here { text } else { bytes }, owner).next().is_some();
            if self.owner.is_some_and(|owner| !has_owner(owner)) {
                continue;
            }
            let calls = Calls::of(self.symbols.language_of(*id));
            let needs_parentheses = self.only_calls && calls == Calls::Parenthesised;
            for at in words::mentions(text, self.focus.name) {
                let is_call = words::is_called(&text[at + self.focus.name.len()..]);
                if needs_parentheses && !is_call {
                    continue;
                }
                let Some(around) = self.symbols.at_byte(*id, row.start_byte + at as u32) else { continue };
                // A definition of the name itself, or of a type that contains the focus.
                if around.name == self.focus.name || (is_here && around.contains(&self.focus.record)) {
                    continue;
                }
                if !kind_of(&around.record).is_callable() {
                    continue;
                }
                let list = if around.is_test() { &mut found.tests } else { &mut found.callers };
                let is_known =
                    |known: &Found<'_>| known.path == around.path && known.qualified == around.qualified;
                if !list.iter().any(is_known) {
                    list.push(around);
                }
            }
        }
        Ok(())
    }
}

fn blob_bytes(symbols: &Symbols<'_>, id: RowId) -> u32 {
    let (segment, row) = symbols.view.row(id);
    segment.docs().get(row.doc as usize).map_or(0, |doc| doc.blob_bytes)
}

/// Number of directories of `path` that are not on the way to `other`.
fn n_other_directories(path: &[u8], other: &[u8]) -> usize {
    let directories = |path: &'_ [u8]| path.iter().filter(|&&byte| byte == b'/').count();
    let shared = path.iter().zip(other).take_while(|(a, b)| a == b).map(|(a, _)| a);
    directories(path) - shared.filter(|&&byte| byte == b'/').count()
}

/// Whether the name of `path` has that of `other` in it.
fn is_named_after(path: &[u8], other: &[u8]) -> bool {
    let name = |path: &[u8]| {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        name.split(|&byte| byte == b'.').next().unwrap_or(name).to_ascii_lowercase()
    };
    let (path, other) = (name(path), name(other));
    !other.is_empty() && memchr::memmem::find(&path, &other).is_some()
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
