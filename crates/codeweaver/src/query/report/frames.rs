//! Frames and paths: the files of a view that a report names by their paths.

use rustc_hash::FxHashMap;

use codeweaver_store::entries::NO_DOC;
use codeweaver_text::Mention;

use crate::query::parse::mentions;
use crate::query::parse::report::trace::Frame;
use crate::query::view::View;

/// File names that most projects have several times, so that the name alone identifies no file.
const COMMON: &str = "\
    __init__.py __main__.py index.js index.ts index.tsx index.mjs mod.rs lib.rs main.rs main.go \
    main.py main.c main.cpp app.py app.js app.ts utils.py utils.js utils.ts util.py util.js \
    test.py test.js init.lua package.json conftest.py setup.py Program.cs Main.java Main.kt \
    index.php README.md config.py config.js server.js base.py core.py types.ts types.py \
    errors.py exceptions.py";

/// A file by its entry, and its fit to a named path, 0–1.
pub type Fit = (u32, f32);

/// Returns the best fitting files of each of `named`, by entry. The fits of several equally good files are
/// divided among them.
pub fn resolve(view: &View, named: &[Mention]) -> Vec<Vec<Fit>> {
    if named.is_empty() {
        return Vec::new();
    }

    let mut by_name: FxHashMap<&[u8], Vec<usize>> = FxHashMap::default();
    for (at, mention) in named.iter().enumerate() {
        let name = mention.path.rsplit('/').next().unwrap_or(&mention.path);
        by_name.entry(name.as_bytes()).or_default().push(at);
    }

    let mut found: Vec<Vec<(u32, f32, usize)>> = vec![Vec::new(); named.len()];
    for (entry, record, path) in view.reader.live_entries(&view.snapshot.entries) {
        let last = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        let Some(places) = by_name.get(last).filter(|_| record.doc != NO_DOC) else { continue };

        for &at in places {
            let n_common = n_common(named[at].path.as_bytes(), path);
            found[at].push((entry, mentions::fit(&named[at], path), n_common));
        }
    }

    found.into_iter().zip(named).map(|(fits, mention)| best(fits, mention)).collect()
}

/// Returns the number of components at the end that two paths share.
fn n_common(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.rsplit(|&b| b == b'/').zip(b.rsplit(|&b| b == b'/'));
    pairs.take_while(|(a, b)| a == b).count()
}

/// Returns the files with the most common components; none if the name is too common to identify one.
fn best(mut fits: Vec<(u32, f32, usize)>, mention: &Mention) -> Vec<Fit> {
    let most = fits.iter().map(|(_, _, n)| *n).max().unwrap_or(0);
    fits.retain(|(_, _, n)| *n == most);

    // Without an agreeing folder, a common name identifies a file only if it is given without folders and
    // there is one such file.
    let is_bare = !mention.path.contains('/');
    let is_common = most < 2 && is_common_name(&mention.path);

    let n = fits.len() as f32;
    let factor = if is_common && (n > 1.0 || !is_bare) { 0.0 } else { 1.0 / n };
    fits.into_iter().map(|(entry, fit, _)| (entry, fit * factor)).filter(|(_, fit)| *fit > 0.0).collect()
}

fn is_common_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    COMMON.split_ascii_whitespace().any(|known| known == name)
}

/// Returns the path of `frame` as a mention; empty if it has none.
pub fn mention(frame: &Frame) -> Mention {
    Mention { path: frame.path.clone().unwrap_or_default(), line: frame.line }
}

/// Returns the qualified function of a frame without a path, with `.` between its segments; empty if it has a
/// path.
pub fn type_of(frame: &Frame) -> String {
    match (&frame.path, &frame.function) {
        (None, Some(function)) => function.replace("::", "."),
        _ => String::new(),
    }
}

/// Returns whether a frame whose file fits with `fits` is one of the repository's. An installed package may
/// have files of any name, so a folder must agree too.
pub fn is_own(frame: &Frame, fits: &[Fit]) -> bool {
    let total: f32 = fits.iter().map(|(_, fit)| fit).sum();
    total >= if frame.is_library { 0.65 } else { 0.35 }
}
