//! Single-file components: Vue, Svelte, Astro. Scripts, styles and templates are texts of their own
//! languages.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::cover::Host;
use crate::Chunk;
use crate::language::{self, LanguageId, TEXT};

/// The name of elements that may be in each other.
const TEMPLATE: &str = "template";

/// A text of one language in a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The bytes with the tags around the text.
    pub range: Range<usize>,
    /// The bytes of the text.
    pub code: Range<usize>,
    pub language: LanguageId,
}

/// The kind of a component, by its language.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Blocks beside each other, among them one `<template>`.
    Vue,
    /// Markup with scripts and styles in it.
    Svelte,
    /// The same after a script between lines of `---`.
    Astro,
}

/// Returns whether files of a language are components.
pub(super) fn is_component(language: LanguageId) -> bool {
    kind_of(language).is_some()
}

/// Chunks a component by its parts.
pub(super) fn chunks(host: &Host<'_>) -> Option<Vec<Chunk>> {
    let mut chunks = Vec::new();

    for part in parts(host.text, host.language) {
        let code = &host.text[part.code.clone()];
        let mut inner = (host.embedded)(code, part.language, part.code.start as u32, host.index);

        // A tag that does not fit is covered like any other text between chunks.
        if let Some(first) = inner.first_mut() {
            host.extend(first, part.range.start as u32..part.code.start as u32);
        }
        if let Some(last) = inner.last_mut() {
            host.extend(last, part.code.end as u32..part.range.end as u32);
        }
        chunks.append(&mut inner);
    }

    (!chunks.is_empty()).then(|| host.covered(chunks))
}

/// Returns the parts of a component, in order of position; none if the language is not one of components.
/// Comments between the parts belong to none. Takes linear time, whatever the text is.
pub fn parts(text: &str, language: LanguageId) -> Vec<Part> {
    let Some(kind) = kind_of(language) else { return Vec::new() };
    let mut parts: Vec<Part> =
        if kind == Kind::Astro { front_script(text) } else { None }.into_iter().collect();
    let mut at = parts.last().map_or(0, |part| part.range.end);
    let tags = Tags::new(text);

    while let Some(block) = next_block(&tags, at, kind) {
        let next = block.range.end;
        parts.extend(markup(text, at..block.range.start));
        parts.push(block);
        at = next;
    }

    parts.extend(markup(text, at..text.len()));
    parts
}

fn kind_of(language: LanguageId) -> Option<Kind> {
    match language.name() {
        "vue" => Some(Kind::Vue),
        "svelte" => Some(Kind::Svelte),
        "astro" => Some(Kind::Astro),
        _ => None,
    }
}

/// Returns the script between lines of `---` at the beginning of a component of Astro.
fn front_script(text: &str) -> Option<Part> {
    let start = text.len() - text.trim_start().len();
    let first = text[start..].strip_prefix("---")?;
    let code_start = start + 3 + first.find('\n')? + 1;

    let mut at = code_start;
    for line in text[code_start..].split_inclusive('\n') {
        if line.trim() == "---" {
            let language = LanguageId::by_name("typescript")?;
            return Some(Part { range: start..at + line.trim_end().len(), code: code_start..at, language });
        }
        at += line.len();
    }
    None
}

/// Returns a range as markup, unless it holds nothing but comments.
fn markup(text: &str, range: Range<usize>) -> Option<Part> {
    let inside = &text[range.clone()];
    let start = range.start + (inside.len() - inside.trim_start().len());
    let range = start..range.start + inside.trim_end().len();
    let rest = text.get(range.clone()).unwrap_or_default();

    let is_comment = rest.starts_with("<!--") && rest.find("-->").is_some_and(|end| end + 3 == rest.len());
    if rest.is_empty() || is_comment {
        return None;
    }
    Some(Part { code: range.clone(), range, language: LanguageId::by_name("html")? })
}

/// Returns the next block from `from` on: a script, a style, or for Vue any element at the outermost level.
fn next_block(tags: &Tags<'_>, from: usize, kind: Kind) -> Option<Part> {
    let text = tags.text;
    let mut at = from;

    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(text.len(), |end| start + end + 3);
            continue;
        }

        at = start + 1;
        let Some(tag) = tags.opening(start) else { continue };
        at = tag.end;
        if let Some(part) = tag.block(tags, kind) {
            return Some(part);
        }
    }

    None
}

/// The tags of a text, looked up instead of searched: a search from each of many tags that are not closed, to
/// the end of the text, would take quadratic time.
struct Tags<'a> {
    text: &'a str,
    /// Offsets of the `<` of start tags, in descending order, with those of their `>` outside of quotes.
    opening: Vec<(usize, usize)>,
    /// Offsets of the `</` of end tags by their names, in ascending order.
    closing: FxHashMap<&'a str, Vec<usize>>,
    /// Offsets of the start tags of templates, which may hold templates, and of the end tags that close them.
    templates: FxHashMap<usize, usize>,
    last_bracket: usize,
}

impl<'a> Tags<'a> {
    fn new(text: &'a str) -> Tags<'a> {
        let mut tags = Tags {
            text,
            opening: Self::ends(text),
            closing: FxHashMap::default(),
            templates: FxHashMap::default(),
            last_bracket: text.rfind('>').unwrap_or(0),
        };

        for (at, _) in text.match_indices("</") {
            tags.closing.entry(name_at(&text[at + 2..])).or_default().push(at);
        }
        tags.templates = tags.paired_templates();
        tags
    }

    /// The start tags of a text with their ends. Reads it backwards, so that the end of a tag that begins
    /// at a byte follows from those that would begin at the bytes after it.
    fn ends(text: &str) -> Vec<(usize, usize)> {
        let bytes = text.as_bytes();
        let mut opening = Vec::new();
        // The end of a tag whose attributes go on here, and after the next quote of each kind.
        let (mut end, mut after_double, mut after_single) = (None, None, None);

        for (at, byte) in text.bytes().enumerate().rev() {
            match byte {
                b'>' => end = Some(at),
                b'"' => (end, after_double) = (after_double, end),
                b'\'' => (end, after_single) = (after_single, end),
                b'<' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                    opening.extend(end.map(|end| (at, end)));
                }
                _ => {}
            }
        }
        opening
    }

    fn paired_templates(&self) -> FxHashMap<usize, usize> {
        let closing = self.closing.get(TEMPLATE).map_or(&[][..], Vec::as_slice);
        let mut closing = closing.iter().copied().peekable();
        let (mut open, mut pairs) = (Vec::new(), FxHashMap::default());

        for (start, _) in self.opening.iter().rev() {
            let Some(tag) = self.opening(*start).filter(|tag| tag.name == TEMPLATE) else { continue };
            while let Some(end) = closing.next_if(|end| *end < tag.start) {
                pairs.extend(open.pop().map(|start| (start, end)));
            }
            if !tag.is_empty() {
                open.push(tag.start);
            }
        }

        for end in closing {
            pairs.extend(open.pop().map(|start| (start, end)));
        }
        pairs
    }

    /// The start tag at `start`; `None` if there is none.
    fn opening(&self, start: usize) -> Option<Tag<'a>> {
        let at = self.opening.binary_search_by(|(other, _)| start.cmp(other)).ok()?;
        let end = self.opening[at].1;
        let inside = &self.text[start + 1..end];
        let name = name_at(inside);
        Some(Tag { name, attributes: &inside[name.len()..], start, end: end + 1 })
    }

    /// Returns the offset of the tag that closes an element.
    fn closing(&self, tag: &Tag<'_>) -> Option<usize> {
        if tag.name == TEMPLATE {
            return self.templates.get(&tag.start).copied();
        }
        let all = self.closing.get(tag.name)?;
        all.get(all.partition_point(|at| *at < tag.end)).copied()
    }
}

/// The name of the tag that goes on with `text`.
fn name_at(text: &str) -> &str {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:".contains(byte);
    &text[..text.bytes().take_while(is_of_name).count()]
}

/// A start tag.
struct Tag<'a> {
    name: &'a str,
    /// The text between the name and the end of the tag.
    attributes: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Tag<'a> {
    /// Returns whether it ends with `/>`.
    fn is_empty(&self) -> bool {
        self.attributes.ends_with('/')
    }

    /// Returns the block that the tag begins; `None` if it is a part of the markup.
    fn block(&self, tags: &Tags<'_>, kind: Kind) -> Option<Part> {
        let text = tags.text;
        let is_block = kind == Kind::Vue || matches!(self.name, "script" | "style");
        if !is_block || self.is_empty() || !starts_line(text, self.start) {
            return None;
        }

        let code_end = tags.closing(self).filter(|at| *at < tags.last_bracket)?;
        let end = code_end + text[code_end..].find('>')? + 1;
        let code = self.end..code_end;
        let is_blank = text[code.clone()].trim().is_empty();
        (!is_blank).then(|| Part { range: self.start..end, code, language: self.language(kind) })
    }

    /// Returns the language of the contents: that of the attribute `lang`, else the usual one.
    fn language(&self, kind: Kind) -> LanguageId {
        let usual = match self.name {
            "script" if self.attribute("type").is_some_and(|kind| kind.ends_with("json")) => "json",
            "script" if kind == Kind::Astro => "typescript",
            "script" => "javascript",
            "style" => "css",
            "template" => "html",
            "i18n" => "json",
            _ => "text",
        };

        let named = self.attribute("lang").and_then(|name| {
            LanguageId::by_name(name).or_else(|| language::by_path(format!("part.{name}").as_str().into()))
        });
        named.or_else(|| LanguageId::by_name(usual)).unwrap_or(TEXT)
    }

    /// Returns the value of an attribute in quotes.
    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.match_indices(name).find_map(|(at, _)| {
            let is_word = self.attributes[..at].ends_with(char::is_whitespace);
            let value = self.attributes[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|c| is_word && matches!(c, '"' | '\''))?;
            value[1..].split(quote).next()
        })
    }
}

/// Returns whether there are only blanks before an offset on its line.
fn starts_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    before.is_empty() || before.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LanguageId, chunk_blob};
    use codeweaver_config::ChunkerSettings;

    const VUE: &str = "<!-- licence -->\n<template>\n  <div id=\"app\">\n    <template v-if=\"a > b\">x</template>\n  \
                       </div>\n</template>\n\n<script setup lang=\"ts\">\nconst a: number = 1\nfunction go(): void {\n  \
                       run('</div>')\n}\n</script>\n\n<style lang=\"scss\" scoped>\n.a { color: red; }\n</style>\n";
    const SVELTE: &str = "<script>\n  export function go() {}\n</script>\n\n{#if a}\n  <p id=\"b\">{a}</p>\n{/if}\n\n\
                          <style>\n  p { color: red; }\n</style>\n";
    const ASTRO: &str = "---\nimport A from './A.astro';\nconst b: string = 'c';\nfunction d() { return b; }\n---\n\
                         <A title={b}>\n  <p id=\"e\">{d()}</p>\n</A>\n<script>\n  function f() {}\n</script>\n";

    /// The parts of a component as `language: first line`.
    fn parts_of(language: &str, text: &str) -> Vec<String> {
        let parts = parts(text, LanguageId::by_name(language).unwrap());
        let shown = parts.iter().map(|part| {
            let first = text[part.code.clone()].trim().lines().next().unwrap_or_default();
            format!("{}: {first}", part.language.name())
        });
        shown.collect()
    }

    #[test]
    fn components_have_parts() {
        assert_eq!(
            parts_of("vue", VUE),
            ["html: <div id=\"app\">", "typescript: const a: number = 1", "scss: .a { color: red; }"]
        );
        assert_eq!(
            parts_of("svelte", SVELTE),
            ["javascript: export function go() {}", "html: {#if a}", "css: p { color: red; }"]
        );
        assert_eq!(
            parts_of("astro", ASTRO),
            ["typescript: import A from './A.astro';", "html: <A title={b}>", "typescript: function f() {}"]
        );
        assert_eq!(
            parts_of("vue", "<script src=\"a.js\" />\n<i18n>\n{}\n</i18n>\n"),
            ["html: <script src=\"a.js\" />", "json: {}"]
        );

        assert_eq!(parts_of("html", VUE), [""; 0]);
    }

    #[test]
    fn the_definitions_of_all_parts_are_found_at_their_lines() {
        for (language, text, expected) in [
            ("vue", VUE, vec![("app", 3), ("a", 9), ("go", 10)]),
            ("svelte", SVELTE, vec![("go", 2), ("b", 6), ("p", 10)]),
            ("astro", ASTRO, vec![("b", 3), ("d", 4), ("e", 7), ("f", 10)]),
        ] {
            let id = LanguageId::by_name(language).unwrap();
            let blob = chunk_blob(text.as_bytes(), id, &ChunkerSettings::default());
            let symbols: Vec<(&str, u32)> = blob
                .chunks
                .iter()
                .flat_map(|chunk| &chunk.symbols)
                .map(|symbol| (symbol.name.as_str(), symbol.line_span.start))
                .collect();
            assert_eq!(symbols, expected, "{language}");

            // Every line is in a chunk, with the tags.
            let mut n_next = 1;
            for chunk in &blob.chunks {
                let between = text.lines().skip(n_next - 1).take(chunk.line_span.start as usize - n_next);
                assert!(between.into_iter().all(|line| line.trim().is_empty()), "{language}: {chunk:?}");
                n_next = chunk.line_span.end as usize + 1;
            }
            assert_eq!(n_next, text.lines().count() + 1, "{language}");
        }
    }

    #[test]
    fn tags_are_paired_by_name_and_depth() {
        let parts = parts_of(
            "vue",
            "<template>\n<template a='>'>\n<template/>\n</template>\na\n</template>\n<a>\nb\n</ab>\nc\n</a>\n\
             <b c='\n<style>\nd\n</style>\n",
        );
        assert_eq!(parts, ["html: <template a='>'>", "text: b", "html: <b c='", "css: d"]);
    }

    #[test]
    fn tags_that_are_not_closed_take_linear_time() {
        let n = 100_000;
        let blocks = "<a>\n".repeat(n);

        for text in [
            blocks.clone() + "</a",
            blocks.clone() + "</a" + &"b".repeat(4 * n),
            blocks + "</b>",
            (0..n).map(|i| format!("<t{i}>\n")).collect(),
            "<template>\n".repeat(n),
            "<template>\n".repeat(n) + &"</template>\n".repeat(n / 2),
            "<a \n".repeat(n),
            "<a b='\n\"".repeat(n),
            "<script>".repeat(n),
            "<script>\n".repeat(n),
            format!("<style>{}", "</style".repeat(n)),
        ] {
            for language in ["vue", "svelte", "astro"] {
                let began = std::time::Instant::now();
                super::parts(&text, LanguageId::by_name(language).unwrap());
                // A search from each tag took 30 s and more.
                assert!(began.elapsed().as_secs() < 10, "{language}: {}", &text[..20]);
            }
        }
    }

    #[test]
    fn any_text_is_a_component() {
        let parts = [
            "<template>",
            "</template>",
            "<script",
            " lang=\"",
            ">",
            "</script",
            "é",
            "---\n",
            "<!--",
            "/>",
            "\n",
        ];

        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2_000 {
            let text: String = (0..random.usize(..20)).map(|_| parts[random.usize(..parts.len())]).collect();
            for language in ["vue", "svelte", "astro"] {
                let found = super::parts(&text, LanguageId::by_name(language).unwrap());
                assert!(found.iter().all(|part| text.get(part.code.clone()).is_some()), "{text:?}");
                assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start), "{text:?}");
            }
        }
    }
}
