//! Tests of conventions that the compiler does not check.

use std::path::{Path, PathBuf};

/// Modules in the order in which data flows; each may import only from those before it.
const FLOW: [&str; 24] = [
    "sync",
    "random",
    "durable",
    "text",
    "config",
    "http",
    "sys",
    "git",
    "worktree",
    "hooks",
    "process",
    "chunk",
    "policy",
    "embed",
    "store",
    "index",
    "catalogue",
    "query",
    "ask",
    "xref",
    "eval",
    "mcp",
    "serve",
    "cli",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for child in std::fs::read_dir(dir).unwrap().flatten() {
        let path = child.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""))
}

#[test]
fn modules_import_only_along_the_flow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let position = |name: &str| FLOW.iter().position(|folder| *folder == name);
    let mut wrong = Vec::new();
    for path in &files {
        let relative = path.strip_prefix(&root).unwrap();
        let Some(own) = relative.iter().next().and_then(|part| part.to_str()) else { continue };
        let own = own.trim_end_matches(".rs");
        let Some(here) = position(own) else { continue };
        for target in imports(&std::fs::read_to_string(path).unwrap()) {
            if position(target).is_some_and(|there| there > here) {
                wrong.push(format!("{} imports {target}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
