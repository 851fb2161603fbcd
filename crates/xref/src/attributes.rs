//! Attributes of definitions: the decorators and annotations by which a framework may find and call a
//! function that nothing names.

use super::definitions::Def;
use super::word_search;

/// Maximum number of lines above a definition that are looked at.
const MAX_LINES: usize = 16;

/// Attributes by which nothing is called, in lower case, by the last word of their path.
const WITHOUT_CALLS: &[&str] = &[
    "abstractmethod",
    "allow",
    "async_trait",
    "available",
    "cache",
    "cached_property",
    "canignorereturnvalue",
    "cfg",
    "cfg_attr",
    "classmethod",
    "cold",
    "conditional",
    "contextmanager",
    "deleter",
    "deny",
    "deprecated",
    "discardableresult",
    "doc",
    "editorbrowsable",
    "expect",
    "final",
    "getter",
    "inlinable",
    "inline",
    "instrument",
    "jvmname",
    "jvmoverloads",
    "jvmstatic",
    "lru_cache",
    "mainactor",
    "methodimpl",
    "must_use",
    "nonnull",
    "notnull",
    "nowarn",
    "nullable",
    "obsolete",
    "optin", // typos: ignore
    "overload",
    "override",
    "property",
    "publishedapi",
    "pure",
    "returntypewillchange",
    "safevarargs",
    "setter",
    "staticmethod",
    "suppress",
    "suppressmessage",
    "suppresswarnings",
    "synchronized",
    "tailrec",
    "target_feature",
    "targetname",
    "throws",
    "track_caller",
    "usablefrominline",
    "visiblefortesting",
    "warn",
    "wraps",
];

/// Returns whether a definition in `text`, which is in `language`, has an attribute that may register it.
pub(super) fn may_register(text: &str, def: &Def, language: &str) -> bool {
    let mark = match language {
        "java" | "javascript" | "kotlin" | "python" | "scala" | "swift" | "tsx" | "typescript" => "@",
        "php" | "rust" => "#[",
        "csharp" => "[",
        "elixir" => "@impl",
        "go" => "//export",
        _ => return false,
    };

    let start = def.range.start as usize;
    let Some(of_def) = text.get(start..def.range.end as usize) else { return false };
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let name = word_search::occurrences(of_def, &def.name).next().map_or(start, |at| start + at);

    let above = lines_above(&text[..line], mark);
    let all = above.into_iter().chain(text[line..name].lines());
    all.flat_map(|line| names(line, mark)).any(|name| !WITHOUT_CALLS.contains(&name.as_str()))
}

/// The lines at the end of `text` that begin with `mark`, up to one that is neither such a line, nor part of
/// one, nor a comment or another attribute.
fn lines_above<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut n_closed = 0;

    for line in text.lines().rev().take(MAX_LINES) {
        let line = line.trim();
        // The end of another definition.
        if n_closed == 0 && line.ends_with(['}', ';']) && !line.starts_with(['/', '*']) {
            break;
        }
        let count = |brackets: [char; 3]| line.matches(brackets).count() as i32;
        n_closed += count([')', ']', '}']) - count(['(', '[', '{']);

        match () {
            () if n_closed > 0 => {}
            () if line.starts_with(mark) => found.push(line),
            () if line.starts_with(['@', '#', '/', '*', '[']) => {}
            () => break,
        }
    }
    found
}

/// The last words of the attributes in a line, in lower case.
fn names<'t>(line: &'t str, mark: &'t str) -> impl Iterator<Item = String> + 't {
    let starts = line.match_indices(mark).map(|(at, _)| at);
    let starts = starts.filter(|&at| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));

    starts.filter_map(move |at| {
        let path = &line[at + mark.len()..];
        let end = path.find(|c: char| !(c.is_alphanumeric() || "_.:".contains(c))).unwrap_or(path.len());
        let name = path[..end].rsplit(['.', ':']).next().unwrap_or_default();
        // Such a mark is an attribute by itself.
        let is_whole = mark.ends_with(char::is_alphabetic);
        (is_whole || !name.is_empty()).then(|| name.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::SymbolKind;

    use super::*;

    fn registers(language: &str, text: &str, definition: &str) -> bool {
        let start = text.find(definition).unwrap() as u32;
        let def = Def {
            name: "f".to_owned(),
            qualified: "f".to_owned(),
            kind: SymbolKind::Function,
            signature: String::new(),
            range: start..start + definition.len() as u32,
            lines: (1, 1),
            parent: None,
        };
        may_register(text, &def, language)
    }

    #[test]
    fn attributes_of_frameworks_may_call() {
        for (language, text, definition) in [
            ("python", "@app.route(\n    '/x',\n)\n# first\ndef f(): pass\n", "def f(): pass"),
            ("java", "  @EventListener void f() {}", "@EventListener void f() {}"),
            ("rust", "#[get(\"/x\")]\n#[inline]\npub fn f() {}", "pub fn f() {}"),
            ("rust", "#[no_mangle] pub extern \"C\" fn f() {}", "pub extern \"C\" fn f() {}"),
            ("csharp", "[HttpGet]\npublic void f() {}", "[HttpGet]\npublic void f() {}"),
            ("typescript", "  @Get() f() {}", "f() {}"),
            ("elixir", "  @impl true\n  def f(x), do: x", "def f(x), do: x"),
            ("go", "//export f\nfunc f() {}", "func f() {}"),
        ] {
            assert!(registers(language, text, definition), "{language}: {text}");
        }
    }

    #[test]
    fn other_attributes_and_those_of_neighbours_do_not() {
        for (language, text, definition) in [
            ("python", "@app.route('/x')\ndef g():\n    return 1\ndef f(): pass\n", "def f(): pass"),
            ("python", "@functools.lru_cache(maxsize=1)\ndef f(): pass\n", "def f(): pass"),
            ("java", "@Test void g() {}\n@Override void f() {}", "@Override void f() {}"),
            ("java", "@Get\nvoid g() {\n  run();\n}\n@Override void f() {}", "@Override void f() {}"),
            ("rust", "#[inline(always)]\npub fn f() {}", "pub fn f() {}"),
            ("csharp", "public int[] f() {}", "public int[] f() {}"),
            ("elixir", "  @doc \"x\"\n  def f(x), do: x", "def f(x), do: x"),
            ("c", "[x]\nvoid f() {}", "void f() {}"),
        ] {
            assert!(!registers(language, text, definition), "{language}: {text}");
        }
    }
}
