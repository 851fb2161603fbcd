//! Evidence: files that a report refers to by frames, paths, modules, messages and definitions.

use rustc_hash::FxHashMap;

use codeweaver_index::Codebase;
use codeweaver_store::rows::DocKey;

use super::messages::MessageSearch;
use super::{frames, modules};
use crate::query::parse::names::{self, QueryName};
use crate::query::parse::report::Report;
use crate::query::parse::report::trace::Frame;
use crate::query::retrieve::symbols;
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

/// Factor from the share of a frame to that of the next outer one.
const OUTER_FRAME: f32 = 0.5;
/// Maximum number of definitions of a name. A name with more says nothing.
const MAX_DEFINITIONS: usize = 12;
/// Minimum fit of a definition.
const MIN_FIT: f32 = 0.45;
/// Weights of identifiers by their places.
const OF_TITLE: f32 = 1.0;
const OF_CODE_SPAN: f32 = 0.8;
const OF_FRAME: f32 = 0.8;
const OF_PROSE: f32 = 0.4;
/// Maximum number of reasons of a file.
const MAX_REASONS: usize = 6;
/// Maximum number of rows of a file that evidence makes candidates.
const MAX_ROWS_PER_FILE: usize = 40;
/// Maximum number of files that evidence makes candidates.
const MAX_FILES: usize = 200;
/// Maximum number of functions of frames whose definitions are looked for.
const MAX_FUNCTIONS: usize = 12;

/// The evidence of a file, by kind; each 0–1, relative to the best file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parts {
    /// In a stack trace; 1 for the innermost own frame.
    pub frames: f32,
    /// Named by its path.
    pub paths: f32,
    /// Named as a module.
    pub modules: f32,
    /// Has a message verbatim.
    pub messages: f32,
    /// Defines a name of the report.
    pub names: f32,
}

/// The evidence of all files.
#[derive(Debug, Default)]
pub struct FileEvidence {
    /// Parts by doc.
    pub by_doc: FxHashMap<u32, Parts>,
    /// Reasons by doc: parts of the report that a file has, in words.
    pub reasons: FxHashMap<u32, Vec<String>>,
    /// For each frame of the report, whether its file is one of the view.
    is_own: Vec<bool>,
}

impl Parts {
    /// Returns the certainty that the report names the file, 0–1.
    pub fn named(&self) -> f32 {
        self.frames.max(self.paths).max(self.modules).max(self.messages)
    }

    /// The sum of all kinds.
    fn total(&self) -> f32 {
        self.frames + self.paths + self.modules + self.messages + self.names
    }
}

impl FileEvidence {
    /// Looks for everything that `report` names. If a file of the store cannot be read, the search for
    /// messages ends.
    pub fn gather(codebase: &Codebase, view: &View, scope: &Scope, report: &Report) -> FileEvidence {
        let mut found = FileEvidence::default();

        found.add_frames(view, report);

        for (mention, fits) in report.mentions.iter().zip(frames::resolve(view, &report.mentions)) {
            let reason = format!("the path {}", mention.path);
            found.add_entries(view, &fits, &reason, |parts| &mut parts.paths);
        }
        for (module, fits) in report.modules.iter().zip(modules::resolve(view, &report.modules)) {
            let reason = format!("the module {module}");
            found.add_entries(view, &fits, &reason, |parts| &mut parts.modules);
        }

        found.add_messages(codebase, view, report);
        found.add_names(view, scope, report);
        found.scale();

        found
    }

    fn parts(&mut self, doc: u32) -> &mut Parts {
        self.by_doc.entry(doc).or_default()
    }

    fn add_reason(&mut self, doc: u32, reason: &str) {
        let reasons = self.reasons.entry(doc).or_default();
        if reasons.len() < MAX_REASONS && !reasons.iter().any(|known| known == reason) {
            reasons.push(reason.to_owned());
        }
    }

    /// Adds files by entry with shares. A file gets the largest of its shares.
    fn add_entries(
        &mut self,
        view: &View,
        fits: &[(u32, f32)],
        reason: &str,
        part: impl Fn(&mut Parts) -> &mut f32,
    ) {
        for &(entry, share) in fits {
            let Some((record, _)) = view.reader.entry(entry) else { continue };
            self.add_reason(record.doc, reason);

            let slot = part(self.parts(record.doc));
            *slot = slot.max(share);
        }
    }

    /// Adds the files of frames. The innermost own frame of each trace counts most.
    fn add_frames(&mut self, view: &View, report: &Report) {
        let named: Vec<_> = report.frames.iter().map(frames::mention).collect();

        // Without sources, .NET prints the type alone, whose namespace is often its folder.
        let types: Vec<_> = report.frames.iter().map(frames::type_of).collect();
        let by_type = modules::resolve(view, &types).into_iter();
        let by_path = frames::resolve(view, &named).into_iter();
        let fits: Vec<_> = by_path.zip(by_type).map(|(path, type_)| [path, type_].concat()).collect();
        self.is_own =
            report.frames.iter().zip(&fits).map(|(frame, fits)| frames::is_own(frame, fits)).collect();

        for trace in 0..=report.frames.last().map_or(0, |frame| frame.trace) {
            let mut share = 1.0;
            let frames = report.frames.iter().zip(&fits).zip(self.is_own.clone());
            let own = frames.filter(|((frame, _), is_own)| frame.trace == trace && *is_own);
            let mut seen: Vec<&[frames::Fit]> = Vec::new();

            // Several frames of one file count once, as the innermost of them.
            for ((frame, fits), _) in own {
                let is_seen =
                    seen.iter().any(|known| known.first().map(|it| it.0) == fits.first().map(|it| it.0));
                if is_seen {
                    continue;
                }

                seen.push(fits);
                let fits: Vec<_> = fits.iter().map(|(entry, fit)| (*entry, fit * share)).collect();
                self.add_entries(view, &fits, &shown(frame), |parts| &mut parts.frames);
                share *= OUTER_FRAME;
            }
        }
    }

    /// Adds the files that have messages of the report.
    fn add_messages(&mut self, codebase: &Codebase, view: &View, report: &Report) {
        let mut search = MessageSearch::new(codebase, view);

        for message in &report.messages {
            match search.docs(message) {
                Ok(docs) => docs.into_iter().for_each(|(doc, share)| {
                    self.parts(doc).messages += share;
                    self.add_reason(doc, &format!("the text \"{}\"", message.text));
                }),
                Err(error) => {
                    tracing::warn!(component = "searcher", operation = "messages", error = %error);
                    return;
                }
            }
        }
    }

    /// Adds the files that define a name of the report. The share of a name is divided among its definitions.
    fn add_names(&mut self, view: &View, scope: &Scope, report: &Report) {
        let n_title = codeweaver_text::identifiers(&report.title).len();
        let in_title = report.names.iter().take(n_title).map(|name| (name.as_str(), OF_TITLE));
        let in_code = report.names.iter().skip(n_title).map(|name| (name.as_str(), OF_CODE_SPAN));
        let in_prose = report.other_names.iter().map(|name| (name.as_str(), OF_PROSE));

        let frames = report.frames.iter().zip(&self.is_own);
        let frames = frames.filter(|(frame, is_own)| **is_own || !frame.is_library);
        let functions = frames.filter_map(|(frame, _)| frame.function.as_deref()).take(MAX_FUNCTIONS);
        let functions: Vec<&str> = functions.collect();
        let shares = std::iter::successors(Some(OF_FRAME), |share| Some(share * OUTER_FRAME));
        let functions = functions.into_iter().zip(shares);

        let mut known: Vec<&str> = Vec::new();
        for (name, share) in in_title.chain(in_code).chain(functions).chain(in_prose) {
            if known.contains(&name) {
                continue;
            }
            known.push(name);

            // The segment before the last is mostly the type of a method.
            let segments: Vec<&str> = names::segments(name).collect();
            for (at, segment) in segments.iter().rev().take(2).enumerate() {
                let wanted = if at == 0 { name } else { segment };
                let certainty = share * if at == 0 { 1.0 } else { 0.6 };
                self.add_definitions(view, scope, wanted, certainty);
            }
        }
    }

    /// Adds the files that define `name`, unless there are too many definitions.
    fn add_definitions(&mut self, view: &View, scope: &Scope, name: &str, share: f32) {
        let wanted = QueryName { name: name.to_owned(), certainty: 1.0 };
        // A second name keeps the search from correcting a name that is defined nowhere.
        let none = QueryName { name: String::new(), certainty: 0.0 };

        let mut fits: FxHashMap<u32, f32> = FxHashMap::default();
        for (row, fit) in symbols::find(view, scope, &[wanted, none], false).fits {
            let slot = fits.entry(view.doc_of(row)).or_default();
            *slot = slot.max(fit);
        }

        // Definitions that fit much worse than the best have other names.
        let most = fits.values().copied().fold(0.0, f32::max);
        fits.retain(|_, fit| *fit >= MIN_FIT && *fit >= most * 0.7);
        if fits.len() > MAX_DEFINITIONS {
            return;
        }

        let n = fits.len() as f32;
        for (doc, fit) in fits {
            self.parts(doc).names += share * fit / n.sqrt();
            self.add_reason(doc, &format!("the definition of {name}"));
        }
    }

    /// Divides sums by that of the best file, if it is above 1.
    fn scale(&mut self) {
        for part in [(|parts| &mut parts.messages) as fn(&mut Parts) -> &mut f32, |parts| &mut parts.names] {
            let most = self.by_doc.values_mut().map(|parts| *part(parts)).fold(1.0f32, f32::max);
            self.by_doc.values_mut().for_each(|parts| *part(parts) /= most);
        }
    }

    /// Returns the frames of the report that are of files of the view.
    pub fn own_frames<'r>(&self, report: &'r Report) -> impl Iterator<Item = &'r Frame> {
        report.frames.iter().zip(self.is_own.clone()).filter(|(_, is_own)| *is_own).map(|(frame, _)| frame)
    }

    /// Returns the rows in `scope` of the files with evidence, those of the best files first.
    pub fn rows(&self, view: &View, scope: &Scope) -> Vec<RowId> {
        let mut docs: Vec<(f32, u32, usize, u32)> = Vec::new();
        for (doc, parts) in &self.by_doc {
            if let Some((s, ordinal)) = view.reader.locate_doc(*doc) {
                docs.push((parts.total(), *doc, s, ordinal));
            }
        }

        // Ties are broken by content, so that the order does not depend on the division into segments.
        docs.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then_with(|| doc_key(view, a.2, a.3).cmp(&doc_key(view, b.2, b.3)))
        });

        let mut rows = Vec::new();
        for &(_, _, s, ordinal) in docs.iter().take(MAX_FILES) {
            let in_scope =
                view.reader.segments[s].doc_rows(ordinal).filter(|&row| scope.rows[s].contains(row));
            rows.extend(in_scope.take(MAX_ROWS_PER_FILE).map(|row| RowId { segment: s as u32, row }));
        }
        rows
    }
}

/// The key of a doc, which orders docs independently of segments.
fn doc_key(view: &View, s: usize, ordinal: u32) -> Option<DocKey> {
    let segment = &view.reader.segments[s];
    segment.docs().get(ordinal as usize).map(|doc| segment.key(doc))
}

/// A frame as a reason: `the frame a/b.py:12 in f`.
fn shown(frame: &Frame) -> String {
    let line = frame.line.map_or_else(String::new, |line| format!(":{line}"));
    let function = frame.function.as_ref().map_or_else(String::new, |function| format!(" in {function}"));
    format!("the frame {}{line}{function}", frame.path.as_deref().unwrap_or_default())
}
