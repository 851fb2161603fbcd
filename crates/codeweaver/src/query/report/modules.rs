//! Modules: files by the qualified names of modules and types, as `a.b.c` for `src/a/b.py`.

use rustc_hash::FxHashMap;

use codeweaver_store::entries::NO_DOC;

use super::frames::Fit;
use crate::query::parse::names;
use crate::query::view::View;

/// Stems of files that stand for their folder.
const FOLDER_FILES: &[&str] = &["__init__", "mod", "index", "init", "lib"];
/// Maximum number of names at the end that may be of things inside of the module.
const MAX_INNER: usize = 2;
/// Maximum number of files of a module. A module that fits more files identifies none.
const MAX_FILES: usize = 4;

/// Returns the files of each of `modules` by entry, with their fits, 0–1: at least two segments must agree
/// with the path.
pub fn resolve(view: &View, modules: &[String]) -> Vec<Vec<Fit>> {
    let mut wanted: FxHashMap<String, Vec<(usize, Vec<String>)>> = FxHashMap::default();
    for (at, module) in modules.iter().enumerate() {
        let segments: Vec<String> = module.split('.').map(names::normalised).collect();
        for inner in 0..=MAX_INNER.min(segments.len().saturating_sub(2)) {
            let outer = &segments[..segments.len() - inner];
            let Some(last) = outer.last().filter(|last| !last.is_empty()) else { continue };
            wanted.entry(last.clone()).or_default().push((at, outer.to_vec()));
        }
    }

    if wanted.is_empty() {
        return vec![Vec::new(); modules.len()];
    }

    let mut found: Vec<Vec<(u32, usize)>> = vec![Vec::new(); modules.len()];
    for (entry, record, path) in view.reader.live_entries(&view.snapshot.entries) {
        if record.doc == NO_DOC {
            continue;
        }

        // A file that stands for its folder is named by the folder alone.
        let path = String::from_utf8_lossy(path);
        let mut components: Vec<&str> = path.split('/').collect();
        let stem = components.pop().map_or("", |name| name.split('.').next().unwrap_or(name));
        if !FOLDER_FILES.contains(&stem) || components.is_empty() {
            components.push(stem);
        }

        let last = components.last().map(|it| names::normalised(it)).unwrap_or_default();
        for (at, segments) in wanted.get(&last).into_iter().flatten() {
            let pairs = segments.iter().rev().zip(components.iter().rev());
            let n =
                pairs.take_while(|(segment, component)| **segment == names::normalised(component)).count();
            if n >= 2 {
                found[*at].push((entry, n));
            }
        }
    }

    found.into_iter().zip(modules).map(|(fits, module)| best(fits, module)).collect()
}

/// Returns the files with the most common segments; none if they are too many.
fn best(mut fits: Vec<(u32, usize)>, module: &str) -> Vec<Fit> {
    let most = fits.iter().map(|(_, n)| *n).max().unwrap_or(0);
    fits.retain(|(_, n)| *n == most);
    // One file fits in two ways if the module is `a.a`.
    fits.dedup();
    if fits.len() > MAX_FILES {
        return Vec::new();
    }

    let share = (most as f32 / module.split('.').count() as f32 / fits.len() as f32).min(1.0);
    fits.into_iter().map(|(entry, _)| (entry, share)).collect()
}
