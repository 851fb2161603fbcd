//! Everything about one definition: its text, its callers and callees, its tests and its documentation.

use std::collections::{BTreeMap, BTreeSet};

use codeweaver::query::symbol_scan::{self, FoundSymbol};
use codeweaver::query::view::View;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::view::name_docs::NameDocs;
use codeweaver::query::view::term_rows::{TermRows, terms_of};
use codeweaver::query::{Cancel, Filters, QueryError, Searcher};
use codeweaver_chunk::{LanguageId, SymbolKind};
use codeweaver_git::{ByteSlice as _, quoting};
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;

use super::dialect;
use super::request::{CallGraphRequest, Direction};
use super::response::{CallGraphResponse, EdgeKind, Grade, Node, Unlisted};
use super::word_search;
use super::xref::Xref;

/// Time limit for the references, and for the callees, in milliseconds.
const TIME_LIMIT_MS: u64 = 4000;
/// Maximum number of lines of a comment above a definition; of a comment longer than `LONG_COMMENT`, only the
/// first `SHOWN_COMMENT` lines are shown.
const MAX_COMMENT: usize = 200;
const LONG_COMMENT: usize = 9;
const SHOWN_COMMENT: usize = 6;
/// Maximum number of documents that are read.
const MAX_DOCUMENTS: usize = 80;
/// Extensions of documentation, as opposed to plain text and approved output.
const DOCUMENT_EXTENSIONS: &[&str] =
    &["md", "mdx", "markdown", "rst", "adoc", "asciidoc", "rdoc", "org", "textile"];
/// Maximum number of sections of release notes.
const MAX_LOGS: usize = 3;
/// Separators of the parts of a qualified name.
const SEPARATORS: [char; 3] = ['.', ':', '#'];
/// Maximum number of definitions that are listed besides the one.
const MAX_OTHERS: usize = 20;
/// Number of other definitions of a name from which it is common: a text that mentions it is about this
/// definition only if it names the owner too.
const MANY_OTHERS: usize = 3;

/// A definition with everything that is known about it. Lists are complete as far as the limits allow;
/// callers shorten them for display.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The lines of the definition, with the comment above it.
    pub text: String,
    /// First line of `text`.
    pub first_line: u32,
    /// Number of lines of the comment that `text` leaves out.
    pub n_hidden: u32,
    /// Its members, if it is a type.
    pub members: Vec<FoundSymbol>,
    /// Calls and other uses in code that is no test; the most certain first, then by file and line.
    pub uses: Vec<Use>,
    pub n_uses: usize,
    /// Whether references are read in its language; if not, the absence of uses means nothing.
    pub has_references: bool,
    /// Definitions that it calls, and the number of calls that are not resolved.
    pub callees: Vec<Callee>,
    pub n_unresolved: usize,
    /// Uses in tests.
    pub tests: Vec<Use>,
    pub n_tests: usize,
    /// Tests with its name, if none uses it directly.
    pub tests_by_name: Vec<FoundSymbol>,
    pub documents: Vec<Document>,
    /// Places that name it and are no uses, as far as is known.
    pub unlisted: Option<Unlisted>,
    /// Other definitions of the same name.
    pub others: Vec<FoundSymbol>,
    pub n_others: usize,
    pub warnings: Vec<String>,
}

/// A place that refers to the definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub grade: Grade,
    pub path: String,
    pub line: u32,
    /// The definition that the place is in; empty for code outside of any.
    pub within: String,
    pub is_call: bool,
}

impl Use {
    fn is_import(&self) -> bool {
        !self.is_call && self.within.is_empty()
    }
}

/// A definition that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    pub name: String,
    pub path: String,
    pub line: u32,
    pub grade: Grade,
}

/// A section of documentation that mentions the definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Document {
    /// Release notes come last.
    is_log: bool,
    pub path: String,
    pub line: u32,
    pub title: String,
}

impl About {
    /// Collects everything that is known about `symbol`, a definition of `view`.
    ///
    /// # Errors
    /// [`QueryError::Cancelled`], and those of reading the repository.
    pub fn new(
        searcher: &Searcher,
        view: &View,
        symbol: &FoundSymbol,
        rev: Option<&str>,
        (cancel, update): (&Cancel, RequestUpdate<'_>),
    ) -> Result<About, QueryError> {
        let mut about = About::default();
        about.read_text(searcher, view, symbol)?;

        let id = format!("{}:{}#{}", symbol.path, symbol.lines.0, symbol.qualified_name);
        let mut request = CallGraphRequest {
            rev: rev.map(str::to_owned),
            limit: super::MAX_LIMIT,
            timeout_ms: TIME_LIMIT_MS,
            cancel: cancel.clone(),
            ..CallGraphRequest::new(&id, Direction::References)
        };

        let is_supported = dialect::for_language(&symbol.language).is_some();
        about.has_references = is_supported && has_references(symbol.kind);
        if has_references(symbol.kind) && !is_supported {
            let (name, language) = (&symbol.name, &symbol.language);
            about.warnings.push(format!("uses and tests are not known in {language}: find_text {name:?}"));
        }

        if about.has_references {
            let references = Xref::new(searcher).query(&request, update)?;
            about.sort_uses(view, &references);
            about.say_limits(&references, "uses");
            about.unlisted = references.unlisted;
        }

        if is_supported && symbol.kind.is_callable() {
            request.direction = Direction::Callees;
            let callees = Xref::new(searcher).query(&request, update)?;
            about.take_callees(&callees);
            about.say_limits(&callees, "calls");
        }

        about.find_others(view, symbol);
        about.find_documents(searcher, view, symbol)?;

        cancel.check()?;
        Ok(about)
    }

    /// Reads the text of the definition and of the comment above it, and its members.
    fn read_text(
        &mut self,
        searcher: &Searcher,
        view: &View,
        symbol: &FoundSymbol,
    ) -> Result<(), QueryError> {
        let path = quoting::bytes(&symbol.path);
        let Some(entry) = view.reader.find_entry(&view.snapshot.entries, &path) else { return Ok(()) };
        let Some(oid) = view.reader.blob_of(entry) else { return Ok(()) };
        let Some(bytes) = view.blob(&searcher.codebase, &oid)? else {
            self.warnings.push("its text is not in this clone".to_owned());
            return Ok(());
        };

        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        let last = (symbol.lines.1 as usize).min(lines.len());
        let first = (symbol.lines.0 as usize).saturating_sub(1).min(last);

        // The comment and the attributes above a definition belong to it, up to a blank line.
        let mut start = first;
        while start > 0 && first - start < MAX_COMMENT && is_above(lines[start - 1]) {
            start -= 1;
        }
        self.first_line = start as u32 + 1;

        // A long comment is cut; the attributes after it are kept, since they are next to the definition.
        let above = lines[start..first].iter().rev();
        let n_attributes =
            above.take_while(|line| matches!(line.trim_ascii().first(), Some(b'@' | b'['))).count();
        let end_of_comment = first - n_attributes;
        let mut shown: Vec<&[u8]> = lines[start..end_of_comment].to_vec();
        if shown.len() > LONG_COMMENT {
            shown.truncate(SHOWN_COMMENT);
            shown.push("…\n".as_bytes());
        }

        shown.extend(&lines[end_of_comment..last]);
        self.text = String::from_utf8_lossy(&shown.concat()).into_owned();
        self.n_hidden = (last - start + 1).saturating_sub(shown.len() + 1) as u32;

        if symbol.kind.has_members() {
            self.members = members(view, entry, symbol);
        }
        Ok(())
    }

    /// Sorts references into uses and tests.
    fn sort_uses(&mut self, view: &View, response: &CallGraphResponse) {
        let nodes: BTreeMap<&str, &Node> =
            response.nodes.iter().map(|node| (node.symbol_id.as_str(), node)).collect();
        let mut seen: BTreeSet<(String, u32)> = BTreeSet::new();
        let mut found: Vec<(bool, Use)> = Vec::new();

        let mut edges: Vec<_> = response.edges.iter().filter(|edge| edge.dst_symbol_id.is_some()).collect();
        // The most certain edge of a line comes first; further ones from the same line are left out.
        edges.sort_by_key(|edge| (edge.grade, edge.kind));
        let (mut n_uses, mut n_tests) = (0, 0);

        for edge in edges {
            let node = nodes.get(edge.src_symbol_id.as_str());
            let mut n_here = 0;

            for site in &edge.sites {
                if !seen.insert((site.file.clone(), site.start_line)) {
                    continue;
                }
                n_here += 1;
                let is_test = is_test_file(view, &site.file)
                    || node.is_some_and(|node| node.kind == "test" || is_test_name(&node.qualified_name));
                let within = node.filter(|node| node.kind != "file").map(|node| node.qualified_name.clone());
                let it = Use {
                    grade: edge.grade,
                    path: site.file.clone(),
                    line: site.start_line,
                    within: within.unwrap_or_default(),
                    is_call: edge.kind == EdgeKind::Call,
                };
                found.push((is_test, it));
            }

            let is_test = found.last().is_some_and(|(is_test, _)| *is_test);
            // An edge names its first sites only; the others are counted like the last of them.
            let n_more = if n_here > 0 { edge.site_count.saturating_sub(edge.sites.len()) } else { 0 };
            if is_test { n_tests += n_more } else { n_uses += n_more }
        }

        // An import says nothing beside a use in the same file.
        let has_use: BTreeSet<String> =
            found.iter().filter(|(_, it)| !it.is_import()).map(|(_, it)| it.path.clone()).collect();
        for (is_test, it) in found {
            if it.is_import() && has_use.contains(&it.path) {
                continue;
            }
            if is_test { self.tests.push(it) } else { self.uses.push(it) }
        }

        self.uses.sort();
        self.tests.sort();
        self.n_uses = self.uses.len() + n_uses;
        self.n_tests = self.tests.len() + n_tests;
    }

    /// Adds warnings about edges that a response lacks; `what` names the edges.
    fn say_limits(&mut self, response: &CallGraphResponse, what: &str) {
        if response.coverage.is_cut {
            let coverage = &response.coverage;
            self.warnings.push(format!(
                "{what} may be missing: {} of {} files that may have some were read",
                coverage.files_read, coverage.candidate_files
            ));
        }

        if response.edges_truncated {
            let (shown, total) = (response.edges.len(), response.total_edge_count);
            self.warnings.push(format!("{what} are missing: {shown} of {total} were looked at"));
        }

        for warning in &response.warnings {
            // Codes report limits, which are described above; only the limit of roots is not.
            let is_reported =
                warning.starts_with("CALL_GRAPH_") && !warning.starts_with("CALL_GRAPH_ROOTS_LIMIT");
            if !is_reported && !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }

    /// Collects the callees, the most certain first.
    fn take_callees(&mut self, response: &CallGraphResponse) {
        let nodes: BTreeMap<&str, &Node> =
            response.nodes.iter().map(|node| (node.symbol_id.as_str(), node)).collect();
        let mut seen = BTreeSet::new();
        let mut unresolved = BTreeSet::new();

        for edge in &response.edges {
            let Some(node) = edge.dst_symbol_id.as_deref().and_then(|id| nodes.get(id)) else {
                unresolved.insert(&edge.name);
                continue;
            };

            // The candidates of an ambiguous call are one entry.
            let (is_ambiguous, name) = (edge.grade == Grade::Ambiguous, last_of(&edge.name));
            if !seen.insert(if is_ambiguous { name } else { &node.symbol_id }) {
                continue;
            }

            // A name with many definitions says nothing about the callee.
            if is_ambiguous && edge.candidates > MANY_OTHERS {
                unresolved.insert(&edge.name);
                continue;
            }

            self.callees.push(Callee {
                name: node.qualified_name.clone(),
                path: node.file.clone(),
                line: node.span.map_or(1, |span| span.0),
                grade: edge.grade,
            });
        }

        self.n_unresolved = unresolved.len();
        self.callees.sort_by_key(|callee| callee.grade);
    }

    /// Finds the sections of prose that mention the name exactly. A name that is a common word counts only
    /// where it is written as code.
    fn find_documents(
        &mut self,
        searcher: &Searcher,
        view: &View,
        symbol: &FoundSymbol,
    ) -> Result<(), QueryError> {
        let terms = terms_of(&symbol.name);
        if terms.is_empty() {
            return Ok(());
        }

        let owner = last_of(
            symbol.qualified_name.strip_suffix(&symbol.name).unwrap_or_default().trim_end_matches(SEPARATORS),
        );

        let rows = rows_of_prose(view, &symbol.name, &terms);
        let mut found = Vec::new();
        // Each section is read from its blob.
        if rows.len() > MAX_DOCUMENTS {
            let n = rows.len();
            self.warnings.push(format!("{MAX_DOCUMENTS} of {n} sections with its words were looked at"));
        }

        for (s, row) in rows.into_iter().take(MAX_DOCUMENTS) {
            let segment = &view.reader.segments[s];
            let (Some(record), base) =
                (segment.rows().get(row as usize), view.reader.state.segments[s].doc_base)
            else {
                continue;
            };
            let Some(doc) = segment.docs().get(record.doc as usize) else { continue };
            let Some(bytes) = view.blob(&searcher.codebase, &segment.blob_oid(doc))? else { continue };
            let text = bytes.get(record.start_byte as usize..record.end_byte as usize).unwrap_or_default();

            let Some(at) = mention(text, &symbol.name) else { continue };
            // A name that others have too may mean one of them, unless the owner is mentioned.
            if self.n_others >= MANY_OTHERS && !owner.is_empty() && mention(text, owner).is_none() {
                continue;
            }

            let line = record.start_line + text[..at].iter().filter(|&&byte| byte == b'\n').count() as u32;
            for entry in view.entries_of(base + record.doc) {
                let path = quoting::text(view.entry(entry).0);
                let lower = path.to_lowercase();
                let extension = lower.rsplit('.').next().unwrap_or_default();
                if !DOCUMENT_EXTENSIONS.contains(&extension) {
                    continue;
                }
                let is_log = ["change", "history", "news", "release"].iter().any(|word| lower.contains(word));
                found.push(Document { is_log, path, line, title: segment.text(record.title) });
            }
        }

        found.sort();
        found.dedup_by(|a, b| a.path == b.path && a.title == b.title);

        // More releases than a few that mention it would hide the rest.
        let n_logs = found.iter().filter(|document| document.is_log).count();
        found.truncate(found.len() - n_logs.saturating_sub(MAX_LOGS));

        self.documents = found;
        Ok(())
    }

    /// Finds other definitions of the name; and tests with its name, if no test uses it.
    fn find_others(&mut self, view: &View, symbol: &FoundSymbol) {
        let mut others =
            symbol_scan::scan_named(view, &any_file(), &symbol.name, &|name, _| name == symbol.name);
        others.retain(|it| {
            (it.path != symbol.path || it.lines != symbol.lines)
                && !matches!(it.kind, SymbolKind::Impl | SymbolKind::Heading | SymbolKind::Key)
        });

        self.n_others = others.len();
        others.truncate(MAX_OTHERS);
        self.others = others;

        if self.tests.is_empty() && self.n_others < MANY_OTHERS && has_references(symbol.kind) {
            let wanted = plain(&symbol.name);
            // A shorter name occurs in too many other names.
            if wanted.len() >= 4 {
                self.tests_by_name =
                    symbol_scan::scan_tests(view, &any_file(), &|name, _| plain(name).contains(&wanted));
                self.tests_by_name.retain(|it| {
                    let is_other = (&it.path, it.lines) != (&symbol.path, symbol.lines);
                    is_other && (it.kind.is_callable() || it.kind.has_members())
                });
            }
        }
    }
}

/// The members that a type in the file of `entry` contains directly.
fn members(view: &View, entry: u32, symbol: &FoundSymbol) -> Vec<FoundSymbol> {
    let doc = view.reader.entry(entry).map(|(record, _)| record.doc);
    let inner = doc.map(|doc| symbol_scan::of_doc(view, doc, &any_file(), &|_, _| true));

    let mut members = inner.unwrap_or_default();
    members.retain(|it| {
        it.path == symbol.path
            && it.nesting == symbol.nesting + 1
            && (symbol.lines.0..=symbol.lines.1).contains(&it.lines.0)
            && it.qualified_name != symbol.qualified_name
    });
    members
}

/// The rows of prose that contain all `terms` of `name`, of files that have it, as segment and row.
fn rows_of_prose(view: &View, name: &str, terms: &[String]) -> Vec<(usize, u32)> {
    let docs = NameDocs::new(view, name, word_search::has_word);
    let mut rows = Vec::new();

    TermRows::new(view).with_all(Field::Body, terms, &mut |id| {
        let (segment, record) = view.row(id);
        let doc = segment.docs().get(record.doc as usize);
        let language = doc.and_then(|doc| LanguageId::by_name(segment.language(doc.language)));
        if language.is_some_and(LanguageId::is_prose) && docs.may_have(view, id) {
            rows.push((id.segment as usize, id.row));
        }
    });
    rows
}

/// The name without its qualifiers.
fn last_of(name: &str) -> &str {
    name.rsplit(SEPARATORS).next().unwrap_or(name)
}

fn any_file() -> Filters {
    Filters { include_tests: true, ..Filters::default() }
}

fn has_references(kind: SymbolKind) -> bool {
    !matches!(kind, SymbolKind::Heading | SymbolKind::Key | SymbolKind::Selector | SymbolKind::Test)
}

/// Returns whether a line above a definition belongs to it: a comment or an attribute.
fn is_above(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let begins = |start: &str| line.starts_with(start.as_bytes());

    ["//", "/*", "*", "#", "@", "--", ";;", "%", "[", "'''", "\"\"\""].iter().any(|start| begins(start))
        && !begins("#include")
        && !begins("#define")
        && !begins("#endif")
}

fn is_test_file(view: &View, path: &str) -> bool {
    let path = quoting::bytes(path);
    let entry = view.reader.find_entry(&view.snapshot.entries, &path);
    entry.is_some_and(|entry| view.entry(entry).1.contains(PathFlags::TEST))
}

/// Returns whether a qualified name is in a module of tests.
fn is_test_name(name: &str) -> bool {
    name.split(SEPARATORS).any(|part| matches!(part, "tests" | "test" | "Tests"))
}

/// A name in lower case without separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The offset at which `text` mentions `name` as a whole word; if the name is a plain word, written as code.
fn mention(text: &[u8], name: &str) -> Option<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase())
        || name.bytes().skip(1).all(|byte| byte.is_ascii_lowercase());

    text.find_iter(name).find(|&at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
        let after = text.get(at + name.len()).copied().unwrap_or(b' ');
        let is_code = matches!(before, b'`' | b'.' | b':' | b'#' | b'~') || matches!(after, b'`' | b'(');
        !is_word(before) && !is_word(after) && (!is_plain || is_code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_mentioned_only_as_code() {
        assert_eq!(mention(b"You may run it.", "run"), None);
        assert_eq!(mention(b"Call `run` first.", "run"), Some(6));
        assert_eq!(mention(b"app.run() starts", "run"), Some(4));
        assert_eq!(mention(b"the retry_with_backoff helper", "retry_with_backoff"), Some(4));
        assert_eq!(mention(b"retry_with_backoffs", "retry_with_backoff"), None);
        assert!(is_test_name("parse::tests::reads") && !is_test_name("testing::run"));
    }
}
