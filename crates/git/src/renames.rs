//! Rename detection: deleted files paired with added ones of equal or similar contents.
//!
//! `gix_diff::rewrites` compares objects of the object database only, and fails at the first that is missing.
//! Here files of the working tree and of partial clones are compared too, so the contents come from the
//! caller.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::quoting::printed;
use super::{BStr, ByteSlice as _, Oid};

/// Similarity from which two files are paired, as in git.
const MIN_SIMILARITY: f64 = 0.5;
/// Maximum number of pairs whose contents are compared; beyond it, only files of the same name are.
const MAX_PAIRS: usize = 4_000;
/// Maximum number of pairs of the same name whose contents are compared.
const MAX_NAMED_PAIRS: usize = 50_000;
/// Maximum size of a file that is compared by content.
const MAX_BYTES: usize = 1 << 20;

/// One side of a rename.
#[derive(Debug, Clone, Copy)]
pub struct RenameSide<'a> {
    pub path: &'a BStr,
    pub oid: Oid,
}

/// Pairs files of `deleted` and `added`, as indices. Each index occurs once at most. `read` returns the
/// contents of a file, or `None` if they are not at hand: the first argument is 0 for deleted files and 1 for
/// added ones, the second the index.
pub fn find_renames(
    deleted: &[RenameSide<'_>],
    added: &[RenameSide<'_>],
    mut read: impl FnMut(usize, usize) -> Option<Vec<u8>>,
) -> Vec<(usize, usize)> {
    let mut paired = Paired::new(deleted.len(), added.len());
    pair_same_contents(deleted, added, &mut paired);

    // Each file is read once, however many others it is compared with.
    let mut sketches: [FxHashMap<usize, Option<Sketch>>; 2] = Default::default();
    let mut scored: Vec<(f64, bool, usize, usize)> = Vec::new();

    for (o, n) in candidates(deleted, added, &paired) {
        for (side, at) in [(0, o), (1, n)] {
            sketches[side].entry(at).or_insert_with(|| Sketch::from_text(&read(side, at)?));
        }
        let (Some(Some(before)), Some(Some(after))) = (sketches[0].get(&o), sketches[1].get(&n)) else {
            continue;
        };

        let similarity = before.similarity(after);
        if similarity >= MIN_SIMILARITY {
            let has_name = file_name(deleted[o].path) == file_name(added[n].path);
            scored.push((similarity, has_name, o, n));
        }
    }

    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    for (_, _, o, n) in scored {
        paired.pair(o, n);
    }

    paired.pairs.sort_unstable();
    paired.pairs
}

/// The pairs that were found.
struct Paired {
    pairs: Vec<(usize, usize)>,
    has_old: Vec<bool>,
    has_new: Vec<bool>,
}

impl Paired {
    fn new(n_deleted: usize, n_added: usize) -> Paired {
        Paired { pairs: Vec::new(), has_old: vec![false; n_deleted], has_new: vec![false; n_added] }
    }

    /// Pairs two files, unless one of them has another already.
    fn pair(&mut self, old: usize, new: usize) {
        if !self.has_old[old] && !self.has_new[new] {
            self.pairs.push((old, new));
            self.has_old[old] = true;
            self.has_new[new] = true;
        }
    }
}

/// The pairs of files whose contents are compared: all of those that have no other yet, or, if these are too
/// many, those with the same name.
fn candidates(deleted: &[RenameSide<'_>], added: &[RenameSide<'_>], paired: &Paired) -> Vec<(usize, usize)> {
    let free = |taken: &[bool]| -> Vec<usize> { (0..taken.len()).filter(|&at| !taken[at]).collect() };
    let (old, new) = (free(&paired.has_old), free(&paired.has_new));
    if old.len() * new.len() <= MAX_PAIRS {
        return old.iter().flat_map(|&o| new.iter().map(move |&n| (o, n))).collect();
    }

    let mut by_name: FxHashMap<&[u8], Vec<usize>> = FxHashMap::default();
    for &n in &new {
        by_name.entry(file_name(added[n].path)).or_default().push(n);
    }
    let named = old.iter().flat_map(|&o| {
        let same = by_name.get(file_name(deleted[o].path)).into_iter().flatten();
        same.map(move |&n| (o, n))
    });
    // Thousands of files may have one name, such as `mod.rs`.
    named.take(MAX_NAMED_PAIRS).collect()
}

/// Pairs files with the same oid; those with the same name first.
fn pair_same_contents(deleted: &[RenameSide<'_>], added: &[RenameSide<'_>], paired: &mut Paired) {
    let mut by_name: FxHashMap<(Oid, &[u8]), VecDeque<usize>> = FxHashMap::default();
    let mut by_oid: FxHashMap<Oid, VecDeque<usize>> = FxHashMap::default();
    for (at, file) in added.iter().enumerate() {
        by_name.entry((file.oid, file_name(file.path))).or_default().push_back(at);
        by_oid.entry(file.oid).or_default().push_back(at);
    }

    for (o, file) in deleted.iter().enumerate() {
        if let Some(n) = by_name.get_mut(&(file.oid, file_name(file.path))).and_then(VecDeque::pop_front) {
            paired.pair(o, n);
        }
    }

    for (o, file) in deleted.iter().enumerate() {
        let Some(same) = by_oid.get_mut(&file.oid).filter(|_| !paired.has_old[o]) else { continue };
        while let Some(n) = same.pop_front() {
            if !paired.has_new[n] {
                paired.pair(o, n);
                break;
            }
        }
    }
}

fn file_name(path: &BStr) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The lines of a file as a multiset: the number of bytes for each hash of a line.
struct Sketch {
    bytes_by_line: FxHashMap<u64, usize>,
    n_bytes: usize,
}

impl Sketch {
    /// Sketches a text; `None` if it is empty or too large.
    fn from_text(text: &[u8]) -> Option<Sketch> {
        if text.is_empty() || text.len() > MAX_BYTES {
            return None;
        }

        let mut bytes_by_line: FxHashMap<u64, usize> = FxHashMap::default();
        for line in text.lines_with_terminator() {
            let mut hasher = rustc_hash::FxHasher::default();
            std::hash::Hasher::write(&mut hasher, line);
            *bytes_by_line.entry(std::hash::Hasher::finish(&hasher)).or_default() += line.len();
        }

        Some(Sketch { bytes_by_line, n_bytes: text.len() })
    }

    /// Share of the bytes of the larger file that both files have.
    fn similarity(&self, other: &Sketch) -> f64 {
        let larger = self.n_bytes.max(other.n_bytes);

        // The sizes alone bound the similarity from above.
        if (self.n_bytes.min(other.n_bytes) as f64) < MIN_SIMILARITY * larger as f64 {
            return 0.0;
        }

        let shared = self
            .bytes_by_line
            .iter()
            .map(|(line, bytes)| other.bytes_by_line.get(line).map_or(0, |others| *bytes.min(others)));

        shared.sum::<usize>() as f64 / larger as f64
    }
}

/// The paths of a rename for people: `src/{a => b}/x.rs` with the common parts written once, or both whole if
/// one is quoted.
pub fn shown_rename(old: &str, new: &str) -> String {
    let (printed_old, printed_new) = (printed(old), printed(new));
    if printed_old.starts_with('"') || printed_new.starts_with('"') {
        return format!("{printed_old} => {printed_new}");
    }

    let common = old.split_inclusive('/').zip(new.split_inclusive('/')).take_while(|(a, b)| a == b);
    let n_prefix: usize = common.filter(|(a, _)| a.ends_with('/')).map(|(a, _)| a.len()).sum();

    let (a, b) = (&old[n_prefix..], &new[n_prefix..]);
    let ends = a.rsplit('/').zip(b.rsplit('/')).take_while(|(x, y)| x == y);
    let n_suffix: usize = ends.map(|(x, _)| x.len() + 1).sum();

    if n_suffix > 0 && n_suffix < a.len().min(b.len()) {
        let (from, to) = (&a[..a.len() - n_suffix], &b[..b.len() - n_suffix]);
        return format!("{}{{{from} => {to}}}{}", &old[..n_prefix], &a[a.len() - n_suffix..]);
    }

    match n_prefix {
        0 => format!("{old} => {new}"),
        _ => format!("{}{{{a} => {b}}}", &old[..n_prefix]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BString, hash_blob};

    fn renames(deleted: &[(&str, &str)], added: &[(&str, &str)]) -> Vec<String> {
        let side = |files: &[(&str, &str)]| -> Vec<(BString, Oid)> {
            let oid = |text: &str| hash_blob(text.as_bytes(), gix::hash::Kind::Sha1);
            files.iter().map(|(path, text)| (BString::from(*path), oid(text))).collect()
        };
        let (old, new) = (side(deleted), side(added));
        let sides = |files: &'static [(BString, Oid)]| -> Vec<RenameSide<'static>> {
            files.iter().map(|(path, oid)| RenameSide { path: path.as_ref(), oid: *oid }).collect()
        };
        let (old, new) = (sides(old.leak()), sides(new.leak()));
        let read = |side: usize, at: usize| {
            let text = if side == 0 { deleted[at].1 } else { added[at].1 };
            (text != "missing").then(|| text.as_bytes().to_vec())
        };
        let name = |(o, n): (usize, usize)| format!("{} {}", deleted[o].0, added[n].0);
        find_renames(&old, &new, read).into_iter().map(name).collect()
    }

    #[test]
    fn files_are_paired_by_contents_and_by_similarity() {
        let text = "one\ntwo\nthree\nfour\nfive\nsix\n";
        let edited = "one\ntwo\nthree\nfour\nfive\n6\n";
        assert_eq!(renames(&[("a", text)], &[("b", text)]), ["a b"]);
        assert_eq!(renames(&[("a", text)], &[("b", edited), ("c", "other\n")]), ["a b"]);
        assert!(renames(&[("a", text)], &[("b", "nothing alike\n")]).is_empty());
        // Of equal files, the one with the same name.
        let pairs = renames(&[("x/a", text), ("x/b", text)], &[("y/b", text), ("y/a", text)]);
        assert_eq!(pairs, ["x/a y/a", "x/b y/b"]);
        assert!(renames(&[("a", "missing")], &[("b", text)]).is_empty());
    }

    #[test]
    fn tens_of_thousands_of_files_are_paired() {
        let oid = |at: usize| hash_blob(&(at / 2).to_le_bytes(), gix::hash::Kind::Sha1);
        let paths =
            |dir: &str| -> Vec<BString> { (0..30_000).map(|n| format!("{dir}/f{n}").into()).collect() };
        let (old, new) = (paths("old"), paths("new"));
        let sides = |paths: &'static [BString]| -> Vec<RenameSide<'static>> {
            let side =
                |(at, path): (usize, &'static BString)| RenameSide { path: path.as_ref(), oid: oid(at) };
            paths.iter().enumerate().map(side).collect()
        };
        let (old, new) = (sides(old.leak()), sides(new.leak()));
        let pairs = find_renames(&old, &new, |_, _| None);
        assert!(pairs.iter().enumerate().all(|(at, pair)| *pair == (at, at)));
        assert_eq!(pairs.len(), 30_000);
    }

    #[test]
    fn common_folders_of_a_rename_are_shown_once() {
        for (old, new, expected) in [
            ("a.rs", "b.rs", "a.rs => b.rs"),
            ("src/a.rs", "src/b.rs", "src/{a.rs => b.rs}"),
            ("src/a/x.rs", "src/b/x.rs", "src/{a => b}/x.rs"),
            ("src/x.rs", "src/b/x.rs", "src/{x.rs => b/x.rs}"),
            ("a/x.rs", "b/x.rs", "{a => b}/x.rs"),
            ("src/a\n.rs", "src/b.rs", "\"src/a\\n.rs\" => src/b.rs"),
        ] {
            assert_eq!(shown_rename(old, new), expected);
        }
    }
}
