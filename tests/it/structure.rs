//! The workspace has the crates that the architecture names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn the_crates_are_those_of_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));

    let page = std::fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let (_, section) = page.split_once("\n## Crates\n").unwrap();
    let block = section.split("```").nth(1).unwrap();
    let lines = block.lines().filter_map(|line| line.strip_prefix("crates/"));
    let named: BTreeSet<String> =
        lines.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect();

    let directories = std::fs::read_dir(root.join("crates")).unwrap().map(Result::unwrap);
    let present: BTreeSet<String> = directories
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();

    assert_eq!(named, present, "left: docs/architecture.md, right: crates/");
}

/// Each test that a page of the requirements names is a test function in the file of that name, and each row
/// has a test or a remark.
#[test]
fn every_test_that_the_requirements_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests: Vec<(Vec<String>, BTreeSet<String>)> = ["tests/it", "crates"]
        .iter()
        .flat_map(|top| sources_below(&root.join(top)))
        .map(|file| (components(file.strip_prefix(root).unwrap()), tests_in(&file)))
        .collect();

    let (mut problems, mut n_rows) = (Vec::new(), 0);
    let pages = std::fs::read_dir(root.join("docs/requirements")).unwrap().map(|page| page.unwrap().path());
    for page in pages {
        for line in std::fs::read_to_string(&page).unwrap().lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let is_row = cells.len() == 3 && cells[0] != "row";
            n_rows += usize::from(is_row);
            if is_row && cells[1].is_empty() && cells[2].is_empty() {
                problems.push(format!("no test and no reason: {line}"));
            }
            for name in line.split('`').skip(1).step_by(2).filter(|code| code.contains("::")) {
                let (modules, function) = name.rsplit_once("::").unwrap();
                let is_there = |(path, functions): &(Vec<String>, BTreeSet<String>)| {
                    functions.contains(function) && follow(path, modules.split("::"))
                };
                if !tests.iter().any(is_there) {
                    problems.push(format!("{}: there is no test {name}", page.display()));
                }
            }
        }
    }
    assert!(problems.is_empty() && n_rows > 100, "{n_rows} rows: {problems:#?}");
}

/// Returns whether `names` are among `path` in their order.
fn follow<'a>(path: &[String], mut names: impl Iterator<Item = &'a str>) -> bool {
    let mut rest = path.iter();
    names.all(|name| rest.any(|component| component == name))
}

/// The components of a path, without the extension.
fn components(path: &Path) -> Vec<String> {
    path.with_extension("").iter().map(|component| component.to_string_lossy().into_owned()).collect()
}

/// All Rust files below a directory.
fn sources_below(directory: &Path) -> Vec<PathBuf> {
    let children = std::fs::read_dir(directory).unwrap().map(|child| child.unwrap().path());
    children
        .flat_map(|path| match path.is_dir() {
            true => sources_below(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The names of the functions with the attribute `#[test]` in a file.
fn tests_in(file: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let after_attributes = text.split("#[test]").skip(1);
    let names = after_attributes.filter_map(|rest| {
        let (_, rest) = rest.split_once("fn ")?;
        Some(rest.split('(').next()?.to_owned())
    });
    names.collect()
}
