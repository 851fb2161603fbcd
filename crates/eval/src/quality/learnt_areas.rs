//! Areas of any repository, learnt from its folders, the labels of issues and the terms of both.
//!
//! Areas are folders and files that have a fair share of the source files and labels: the largest is divided
//! as long as it is large and there are few. The weight of a term for an area is the logarithm of how much
//! more often it occurs there than elsewhere: in paths, and in issues whose labels are there. The result is
//! the text of a table ([`super::area`]), so that a loop keeps the areas that it began with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use codeweaver_chunk::language;
use codeweaver_git::{self as git, ByteSlice as _, Repo};
use codeweaver_text as text;

use super::area::{UNCERTAIN, terms_of};
use super::issue::Issue;
use crate::error::EvalError;

/// Greatest number of areas.
const MAX_AREAS: usize = 15;
/// Share of everything from which an area is divided, and least share of a part that becomes an area.
const LARGE: f64 = 0.12;
const LEAST: f64 = 0.04;
/// Weight of a source file; a label counts 1.
const FILE: f64 = 0.25;
/// Weight of the terms of a path; those of an issue count 1.
const PATH: f64 = 0.5;
/// Strength of the prior that a term is as frequent in an area as elsewhere.
const PRIOR: f64 = 2.0;
/// Least and greatest weight of a term, and least number of its occurrences.
const MIN_WEIGHT: f64 = 0.5;
const MAX_WEIGHT: f64 = 3.0;
const MIN_COUNT: f64 = 0.3;
/// Greatest number of terms of an area.
const MAX_TERMS: usize = 80;
/// Marks an area as the part of a folder that has no area of its own.
const REST: &str = "/*";

/// Returns the table of the areas of `repos`, by the issues of `pool`, whose revisions are resolved; `None`
/// if there are fewer than two areas.
///
/// # Errors
/// [`EvalError::Git`] if a repository cannot be read.
pub fn table(repos: &BTreeMap<String, Repo>, pool: &[Issue]) -> Result<Option<String>, EvalError> {
    let files = source_files(repos, pool)?;
    let areas = Areas::new(&files, pool);
    if areas.0.len() < 2 {
        return Ok(None);
    }

    let mut table = String::from("# Learnt from folders, labels and terms. NAME: TERM=WEIGHT, TERM=WEIGHT\n");
    let mut names = BTreeSet::from([UNCERTAIN.to_owned()]);
    for (path, terms) in weights(&areas, &files, pool) {
        if terms.is_empty() {
            continue;
        }

        // The signs of a table are no part of a name, and names differ by more than case.
        let mut name = path.to_lowercase().replace([':', '#', '\n'], "_");
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let terms: Vec<String> = terms.iter().map(|(term, weight)| format!("{term}={weight:.2}")).collect();
        let _ = writeln!(table, "{name}: {}", terms.join(", "));
    }

    Ok((table.lines().count() > 2).then_some(table))
}

/// Returns the paths of the source files of each repository, at the revision of its first issue.
fn source_files(repos: &BTreeMap<String, Repo>, pool: &[Issue]) -> Result<Vec<String>, EvalError> {
    let mut files = Vec::new();
    for (name, repo) in repos {
        let Some(issue) = pool.iter().find(|issue| issue.repository == *name) else { continue };
        let tree = repo.resolve(issue.rev.as_deref().unwrap_or("HEAD"))?.tree;

        for file in git::walk_tree(repo, &tree)? {
            let language = language::by_path(file.path.as_bstr());
            if language.is_some_and(|language| !language.is_prose() && !language.is_data()) {
                files.push(in_repository(name, &file.path.to_str_lossy()));
            }
        }
    }
    Ok(files)
}

/// Returns a path with the name of its repository in front, if it has one.
fn in_repository(name: &str, path: &str) -> String {
    if name.is_empty() { path.to_owned() } else { format!("{name}/{path}") }
}

/// Names of areas: paths, and folders with [`REST`].
struct Areas(BTreeSet<String>);

impl Areas {
    fn new(files: &[String], pool: &[Issue]) -> Areas {
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for path in files {
            *shares.entry(path.clone()).or_default() += FILE;
        }
        for issue in pool {
            for label in &issue.relevant {
                *shares.entry(in_repository(&issue.repository, label)).or_default() += 1.0;
            }
        }

        // Folders of the same depth may be of very different sizes, so the largest is divided first.
        let total: f64 = shares.values().sum();
        let mut areas = Areas(BTreeSet::new());
        let mut open = vec![(String::new(), total)];
        while let Some((folder, share)) = take_largest(&mut open) {
            let parts = parts_of(&folder, &shares);
            let large = parts.iter().filter(|(_, share)| **share >= LEAST * total);
            let large: Vec<(String, f64)> = large.map(|(path, share)| (path.clone(), *share)).collect();

            let n_after = areas.0.len() + open.len() + large.len() + 1;
            let is_divided = share >= LARGE * total && !large.is_empty() && n_after <= MAX_AREAS;
            if !is_divided {
                areas.0.insert(folder);
                continue;
            }

            // The sums differ by rounding.
            let rest = share - large.iter().map(|(_, share)| share).sum::<f64>();
            if rest > FILE / 2.0 {
                areas.0.insert(format!("{folder}{REST}"));
            }
            open.extend(large);
        }

        // The root itself is no area: everything is in it.
        areas.0.remove("");
        areas
    }

    /// Returns the area of a path: the nearest folder, or the path itself, that is one.
    fn area_of(&self, path: &str) -> Option<&str> {
        let own = self.0.get(path);
        let folders = path.rmatch_indices('/').map(|(end, _)| &path[..end]).chain([""]);
        let around = folders.filter_map(|folder| {
            let whole = self.0.get(folder).filter(|_| !folder.is_empty());
            whole.or_else(|| self.0.get(&format!("{folder}{REST}")))
        });
        own.into_iter().chain(around).next().map(String::as_str)
    }
}

/// Removes the folder with the largest share, the first by name of equal ones.
fn take_largest(open: &mut Vec<(String, f64)>) -> Option<(String, f64)> {
    let largest = (0..open.len())
        .max_by(|&a, &b| open[a].1.total_cmp(&open[b].1).then_with(|| open[b].0.cmp(&open[a].0)));
    largest.map(|at| open.swap_remove(at))
}

/// Returns the shares of the files and folders directly in `folder`.
fn parts_of(folder: &str, shares: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };

    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    for (path, share) in shares {
        if let Some(below) = path.strip_prefix(&prefix) {
            let end = below.find('/').map_or(path.len(), |at| prefix.len() + at);
            *parts.entry(path[..end].to_owned()).or_default() += share;
        }
    }
    parts
}

/// Returns the terms of each area with their weights, the best first.
fn weights(areas: &Areas, files: &[String], pool: &[Issue]) -> BTreeMap<String, Vec<(String, f64)>> {
    let mut counts = Counts::default();
    for path in files {
        if let Some(area) = areas.area_of(path) {
            let mut terms = BTreeSet::new();
            text::path_terms(path, &mut |term| {
                terms.insert(term.to_owned());
            });
            counts.add(area, &terms, PATH);
        }
    }
    for issue in pool {
        let labels = issue.relevant.iter().map(|label| in_repository(&issue.repository, label));
        let of_labels: Vec<String> =
            labels.filter_map(|path| areas.area_of(&path).map(str::to_owned)).collect();
        let terms = terms_of(&issue.text);
        // A commit that changes files of several areas is evidence for each.
        for area in &of_labels {
            counts.add(area, &terms, 1.0 / of_labels.len() as f64);
        }
    }

    areas.0.iter().map(|area| (area.clone(), counts.weights(area))).collect()
}

/// Occurrences of terms by area.
#[derive(Default)]
struct Counts {
    by_area: BTreeMap<String, BTreeMap<String, f64>>,
    /// Sums of the weights of paths and issues, by area.
    n: BTreeMap<String, f64>,
    all: BTreeMap<String, f64>,
    n_all: f64,
}

impl Counts {
    fn add(&mut self, area: &str, terms: &BTreeSet<String>, weight: f64) {
        *self.n.entry(area.to_owned()).or_default() += weight;
        self.n_all += weight;

        let of_area = self.by_area.entry(area.to_owned()).or_default();
        for term in terms {
            *of_area.entry(term.clone()).or_default() += weight;
            *self.all.entry(term.clone()).or_default() += weight;
        }
    }

    fn weights(&self, area: &str) -> Vec<(String, f64)> {
        let n = self.n.get(area).copied().unwrap_or_default();
        let mut found: Vec<(String, f64, f64)> = Vec::new();

        for (term, &count) in self.by_area.get(area).into_iter().flatten() {
            let all = self.all.get(term).copied().unwrap_or_default();
            // Without a prior, a term that occurs once would be sure evidence.
            let prior = PRIOR * all / self.n_all;
            let here = (count + prior) / (n + PRIOR);
            let elsewhere = ((all - count).max(0.0) + prior) / ((self.n_all - n).max(0.0) + PRIOR);
            let weight = (here / elsewhere).ln().min(MAX_WEIGHT);
            // Signs of the table are no part of a term.
            let is_plain = !term.contains(['=', ',', ':', '#']);
            if weight >= MIN_WEIGHT && count >= MIN_COUNT && is_plain {
                found.push((term.clone(), weight, weight * count.sqrt()));
            }
        }

        found.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        found.truncate(MAX_TERMS);
        found.into_iter().map(|(term, weight, _)| (term, weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quality::area::{self, UNCERTAIN};

    fn issue(text: &str, label: &str) -> Issue {
        Issue {
            id: text.to_owned(),
            text: text.to_owned(),
            repository: String::new(),
            rev: None,
            commit: None,
            relevant: vec![label.to_owned()],
        }
    }

    #[test]
    fn folders_with_many_labels_are_areas_and_their_terms_decide() {
        let mut files: Vec<String> = Vec::new();
        for folder in ["billing", "shipping", "search"] {
            files.extend((0..40).map(|i| format!("src/{folder}/part{i}.py")));
        }
        files.push("setup.py".to_owned());
        let pool = [
            issue("an invoice has the wrong tax", "src/billing/part1.py"),
            issue("tax of invoices is rounded", "src/billing/part2.py"),
            issue("parcels are lost in the depot", "src/shipping/part1.py"),
            issue("the depot rejects large parcels", "src/shipping/part3.py"),
        ];

        let areas = Areas::new(&files, &pool);
        let names: Vec<&str> = areas.0.iter().map(String::as_str).collect();
        assert_eq!(names, ["/*", "src/billing", "src/search", "src/shipping"]);
        assert_eq!(areas.area_of("src/billing/new.py"), Some("src/billing"));
        assert_eq!(areas.area_of("setup.py"), Some("/*"));

        let mut table = String::new();
        for (name, terms) in weights(&areas, &files, &pool) {
            let terms: Vec<String> =
                terms.iter().map(|(term, weight)| format!("{term}={weight:.2}")).collect();
            if !terms.is_empty() {
                let _ = writeln!(table, "{name}: {}", terms.join(", "));
            }
        }
        let table = area::Areas::parse(&table).unwrap();
        for (text, expected) in [
            ("Invoices show no taxes in the billing mail", "src/billing"),
            ("parcel stays in a depot", "src/shipping"),
            ("the search finds nothing twice: searching", "src/search"),
            ("it is broken", UNCERTAIN),
        ] {
            assert_eq!(table.classify(text).area, expected, "{text}");
        }
    }
}
