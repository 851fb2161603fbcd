//! The workspace has the crates that the architecture names.

use std::collections::BTreeSet;
use std::path::Path;

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
