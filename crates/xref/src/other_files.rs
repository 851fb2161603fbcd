//! Names in files whose references are not read: templates, notebooks, configuration, other languages.

use codeweaver_chunk::{LanguageId, readable};

use super::syntax_position::is_plain_word;
use super::word_search;

/// Languages whose names are no names of functions.
const UNRELATED: &[&str] = &["css", "scss", "less", "sass", "stylus", "svg", "csv", "tsv"];
/// Languages with code inside of text.
const TEMPLATES: &[&str] = &["vue", "svelte", "astro", "html", "erb"];
/// Words before a name that define it.
const DEFINING: &[&str] = &[
    "class",
    "const",
    "def",
    "defp",
    "fn",
    "func",
    "function",
    "interface",
    "let",
    "local",
    "sub",
    "type",
    "var",
];
/// Beginnings of lines that are comments.
const COMMENTS: &[&str] = &["#", "//", "--", "<!--", ";", "/*", "*", "{#", "<%#"];

/// Returns whether a file of this language may use a function of another language.
pub(super) fn may_use(language: &str) -> bool {
    let is_prose = LanguageId::by_name(language).is_none_or(LanguageId::is_prose);
    !is_prose && !UNRELATED.contains(&language)
}

/// The lines, 1-based, on which a file seems to use `name`; none if it defines the name itself.
///
/// A name that is a plain word counts only where it is written as code.
pub(super) fn lines_with(bytes: &[u8], language: &str, name: &str) -> Vec<u32> {
    let (text, _) = readable(bytes);
    let test = UseTest::new(language, name);

    let mut lines = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for at in word_search::occurrences(&text, name) {
        line += text[counted..at].bytes().filter(|&byte| byte == b'\n').count() as u32;
        counted = at;

        if is_defined(&text[..at]) {
            return Vec::new();
        }
        if test.is_use(&text, at) && lines.last() != Some(&line) {
            lines.push(line);
        }
    }

    lines
}

/// As [`lines_with`], of a file of which only the `lines` with the name are known, with their numbers.
pub(super) fn uses_in_lines<'t>(
    lines: impl Iterator<Item = (u32, &'t str)>,
    language: &str,
    name: &str,
) -> Vec<u32> {
    let test = UseTest::new(language, name);

    let mut used = Vec::new();
    for (line, text) in lines {
        let places: Vec<usize> = word_search::occurrences(text, name).collect();
        if places.iter().any(|&at| is_defined(&text[..at])) {
            return Vec::new();
        }
        if places.iter().any(|&at| test.is_use(text, at)) {
            used.push(line);
        }
    }

    used
}

/// The lines, 1-based, on which a module whose path ends in `word` is imported by one of the words `by`.
pub(super) fn imports_of(text: &str, word: &str, by: &[&str]) -> Vec<u32> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains(word));
    let found = lines.filter(|(_, line)| {
        word_search::occurrences(line, word).any(|at| is_imported(&line[..at], &line[at + word.len()..], by))
    });
    found.map(|(n, _)| n as u32 + 1).collect()
}

/// Returns whether the text around the last word of a path is an import by one of the words `by`.
fn is_imported(before: &str, after: &str, by: &[&str]) -> bool {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let (Some(open), Some((rest, _))) = (before.rfind(is_quote), after.split_once(is_quote)) else {
        return false;
    };
    let (head, folders) = (before[..open].trim_end(), &before[open + 1..]);

    let is_last = rest.is_empty() || rest.starts_with('.') || rest.starts_with("/index");
    let is_path = folders.is_empty() || folders.ends_with('/');
    is_last && is_path && by.iter().any(|word| head.ends_with(word)) && !is_comment(before)
}

/// Tells uses of a name from other places that have it.
struct UseTest<'n> {
    name: &'n str,
    is_plain: bool,
    is_template: bool,
    is_xml: bool,
}

impl<'n> UseTest<'n> {
    fn new(language: &str, name: &'n str) -> UseTest<'n> {
        UseTest {
            name,
            is_plain: is_plain_word(name),
            is_template: TEMPLATES.contains(&language) || is_template_style(language),
            is_xml: language == "xml",
        }
    }

    /// Returns whether the name at an offset of `text` is written as a use.
    fn is_use(&self, text: &str, at: usize) -> bool {
        let (before, after) = (&text[..at], &text[at + self.name.len()..]);
        let is_value = self.is_xml && before.ends_with(['"', '\'']) && after.starts_with(['"', '\'']);
        let is_code = !self.is_plain
            || is_written_as_code(before, after)
            || is_value
            || self.is_template && is_in_tag(before);
        is_code && !is_comment(before)
    }
}

fn is_template_style(language: &str) -> bool {
    LanguageId::by_name(language).is_some_and(|language| language.family() == "template_style")
}

/// Returns whether the word before a name makes it a definition.
fn is_defined(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    before.ends_with([' ', '\t']) && DEFINING.contains(&word)
}

/// Returns whether the punctuation around a name, or an import before it, makes it code.
fn is_written_as_code(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_imported = line.contains("import ");
    is_imported || after.starts_with(['(', '`']) || before.ends_with(['.', ':', '@', '`', '{', '<', '|'])
}

/// Returns whether the text before a name ends inside a tag, an expression or a script.
fn is_in_tag(before: &str) -> bool {
    let opened = before.rfind(['<', '{']);
    let closed = before.rfind(['>', '}']);
    let is_in_script = before.rfind("<script").is_some_and(|at| !before[at..].contains("</script"));
    opened > closed || is_in_script
}

fn is_comment(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    COMMENTS.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_counts_only_as_code() {
        let vue = "<template>\n  <button @click=\"save\">save it</button>\n  <p>{{ save(1) }}</p>\n</template>\n\
                   <script>\nimport { save } from './a'\n</script>\n";
        assert_eq!(lines_with(vue.as_bytes(), "vue", "save"), [2, 3, 6]);
        assert_eq!(lines_with(b"{{ url | shorten }}\nshorten it\n", "jinja", "shorten"), [1]);
        assert_eq!(lines_with(b"name: save\nrun: lib.save\n", "yaml", "save"), [2]);
        assert_eq!(lines_with(b"<bean id=\"x\"\n init-method=\"save\" on=\"to save\"/>", "xml", "save"), [2]);
        assert_eq!(lines_with(b"name: save_all\n# save_all\n", "yaml", "save_all"), [1]);
    }

    #[test]
    fn a_file_that_defines_the_name_uses_its_own() {
        assert!(lines_with(b"local function save_all() end\nsave_all()\n", "lua", "save_all").is_empty());
    }

    #[test]
    fn a_module_is_imported_by_the_end_of_its_path() {
        let text = "const Page = lazy(() => import('./pages/Page'));\n// import('./Page')\nload('./Page');\n\
                    import('../Page.vue'); import('./Page/other');\nimport X from \"./Page/index\";\n";
        assert_eq!(imports_of(text, "Page", &["import("]), [1, 4]);
        assert_eq!(imports_of(text, "Page", &["import(", "from"]), [1, 4, 5]);
    }

    #[test]
    fn lines_are_judged_like_files() {
        let used = |lines: &[(u32, &str)], name: &str| uses_in_lines(lines.iter().copied(), "python", name);
        assert_eq!(used(&[(3, "# save_all"), (5, "save_all()")], "save_all"), [5]);
        assert!(used(&[(3, "def save_all():"), (5, "save_all()")], "save_all").is_empty());
        assert_eq!(used(&[(1, "the save of it"), (2, "x.save(1)")], "save"), [2]);
    }

    #[test]
    fn prose_and_style_sheets_use_no_functions() {
        assert!(may_use("vue") && may_use("json") && may_use("lua"));
        assert!(!may_use("markdown") && !may_use("css") && !may_use("text"));
    }
}
