//! Rename detection: deleted files paired with added ones of equal or similar contents.
//!
//! `gix_diff::rewrites` compares objects of the object database only, and fails at the first that is missing.
//! Here files of the working tree and of partial clones are compared too, so the contents come from the
//! caller.

use rustc_hash::FxHashMap;

use super::{BStr, ByteSlice as _, Oid};

/// Similarity from which two files are paired, as in git.
const MIN_SIMILARITY: f64 = 0.5;
/// Maximum number of pairs whose contents are compared; beyond it, only files of the same name are.
const MAX_PAIRS: usize = 4_000;
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
    let mut pairs = same_contents(deleted, added);
    let old: Vec<usize> = (0..deleted.len()).filter(|&at| !has_old(&pairs, at)).collect();
    let new: Vec<usize> = (0..added.len()).filter(|&at| !has_new(&pairs, at)).collect();
    let needs_name = old.len() * new.len() > MAX_PAIRS;

    // Each file is read once, however many others it is compared with.
    let mut sketches: [FxHashMap<usize, Option<Sketch>>; 2] = Default::default();
    let mut scored: Vec<(f64, bool, usize, usize)> = Vec::new();

    for &o in &old {
        for &n in &new {
            let has_name = file_name(deleted[o].path) == file_name(added[n].path);
            if needs_name && !has_name {
                continue;
            }

            for (side, at) in [(0, o), (1, n)] {
                sketches[side].entry(at).or_insert_with(|| Sketch::from_text(&read(side, at)?));
            }
            let (Some(Some(before)), Some(Some(after))) = (sketches[0].get(&o), sketches[1].get(&n)) else {
                continue;
            };

            let similarity = before.similarity(after);
            if similarity >= MIN_SIMILARITY {
                scored.push((similarity, has_name, o, n));
            }
        }
    }

    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
    for (_, _, o, n) in scored {
        if !has_old(&pairs, o) && !has_new(&pairs, n) {
            pairs.push((o, n));
        }
    }

    pairs.sort_unstable();
    pairs
}

/// Returns whether a deleted file is paired already.
fn has_old(pairs: &[(usize, usize)], at: usize) -> bool {
    pairs.iter().any(|&(old, _)| old == at)
}

/// Returns whether an added file is paired already.
fn has_new(pairs: &[(usize, usize)], at: usize) -> bool {
    pairs.iter().any(|&(_, new)| new == at)
}

/// Pairs files with the same oid; those with the same name first.
fn same_contents(deleted: &[RenameSide<'_>], added: &[RenameSide<'_>]) -> Vec<(usize, usize)> {
    let mut by_oid: FxHashMap<Oid, Vec<usize>> = FxHashMap::default();
    for (at, file) in added.iter().enumerate() {
        by_oid.entry(file.oid).or_default().push(at);
    }

    let mut pairs = Vec::new();
    for needs_name in [true, false] {
        for (o, file) in deleted.iter().enumerate() {
            if has_old(&pairs, o) {
                continue;
            }
            let Some(candidates) = by_oid.get_mut(&file.oid) else { continue };
            let name = file_name(file.path);
            let found = candidates.iter().position(|&n| !needs_name || file_name(added[n].path) == name);
            if let Some(at) = found {
                pairs.push((o, candidates.remove(at)));
            }
        }
    }

    pairs
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

/// The paths of a rename for people: `src/{a => b}/x.rs` with the common parts written once.
pub fn shown_rename(old: &str, new: &str) -> String {
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
    fn common_folders_of_a_rename_are_shown_once() {
        for (old, new, expected) in [
            ("a.rs", "b.rs", "a.rs => b.rs"),
            ("src/a.rs", "src/b.rs", "src/{a.rs => b.rs}"),
            ("src/a/x.rs", "src/b/x.rs", "src/{a => b}/x.rs"),
            ("src/x.rs", "src/b/x.rs", "src/{x.rs => b/x.rs}"),
            ("a/x.rs", "b/x.rs", "{a => b}/x.rs"),
        ] {
            assert_eq!(shown_rename(old, new), expected);
        }
    }
}
