//! Places: the files and modules that a text names.

use codeweaver_text::{self as text, Mention};

use super::trace::cleaned_path;

/// Maximum number of modules.
const MAX_MODULES: usize = 40;

/// Returns the files that `text` names. A compiled Python file stands for its source.
pub fn mentions(text: &str) -> Vec<Mention> {
    let all = text::mentions(text).into_iter();
    all.map(|it| Mention { path: cleaned_path(&it.path), line: it.line }).collect()
}

/// Returns qualified names in `text` that may be those of modules or of things in them, with `.` between
/// their segments.
pub fn modules(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in text::identifiers(text) {
        let name = name.replace("::", ".").replace(['\\', '#'], ".").replace("->", ".");
        let is_module = name.contains('.') && !name.contains('/') && text::mentions(&name).is_empty();
        if is_module && found.len() < MAX_MODULES && !found.contains(&name) {
            found.push(name);
        }
    }

    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_qualified_names() {
        let found = modules("the a.b.query of `Foo::bar` and src/x.py, file.py, e.g. this. Then that");
        assert_eq!(found, ["a.b.query", "Foo.bar"]);
        assert_eq!(mentions("see a/b.pyc:3")[0].path, "a/b.py");
    }
}
