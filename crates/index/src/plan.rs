//! From a wanted tree to a plan: the entries to remove and to add, and the blobs to chunk.
//!
//! The cost is that of the difference between the wanted tree and the base snapshot. If no base fits or a
//! policy file changed, the affected paths are decided again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use codeweaver_chunk::{self as chunk, LanguageId};
use codeweaver_git::{self as git, BStr, BString, BlobReader, ByteSlice, Mode, Oid};
use codeweaver_store::StoreReader;
use codeweaver_store::rows::{self, DocKey};
use codeweaver_store::snapshot::Snapshot;

use super::arrivals;
use super::codebase::Codebase;
use super::error::IndexError;
use crate::policy::{self, Exempt, PathDecision, Policy, SkipReason, skipped_number};

/// Maximum number of blobs whose size is looked up to estimate that of all.
const MAX_SAMPLE: usize = 1_000;

/// The origin of the doc of a planned entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedDoc {
    /// The path is skipped.
    None,
    /// A doc in the store.
    Known(u32),
    /// The result of the job with this index.
    Job(usize),
}

/// A path that the new snapshot has and the base does not have, or has with another doc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEntry {
    pub path: BString,
    pub doc: PlannedDoc,
    pub skipped: Option<SkipReason>,
    pub flags: u16,
}

/// A blob to chunk and embed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub key: DocKey,
    pub language: LanguageId,
    /// The doc that was at this path before; most of its vectors can be reused.
    pub previous: Option<u32>,
    /// The exemptions that the user grants this file.
    pub exempt: Exempt,
}

/// The difference between the base snapshot and the wanted tree.
#[derive(Debug, Default)]
pub struct Plan {
    pub removed: Vec<u32>,
    pub added: Vec<PlannedEntry>,
    pub jobs: Vec<Job>,
    pub n_files: usize,
    /// Indexed paths without a known language, by extension.
    pub unknown_extensions: BTreeMap<String, u64>,
    /// Results of [`doc_variant`], which takes longer than a look-up.
    variants: FxHashMap<(LanguageId, Exempt), u64>,
}

/// Plans the update from `base` to `tree`; `None` is the empty tree. A base that was decided under other
/// settings than the current ones is decided again.
pub fn plan(
    codebase: &Codebase,
    policy: &Policy,
    reader: &StoreReader,
    base: &Snapshot,
    tree: Option<&Oid>,
) -> Result<Plan, IndexError> {
    let mut planner = Planner {
        codebase,
        policy,
        reader,
        blobs: codebase.repo.blobs(),
        jobs: FxHashMap::default(),
        plan: Plan::default(),
    };

    let base_tree = usable_base_tree(codebase, base);
    match (base_tree, tree) {
        (Some(base_tree), Some(tree)) => planner.decide_diff(base, &base_tree, tree)?,
        (_, Some(tree)) => planner.decide_all(base, tree, &BString::default())?,
        (_, None) => planner.plan.removed.extend(base.entries.iter()),
    }

    Ok(planner.plan)
}

/// The tree of `base`, if its policy decisions were made under the current settings, so that a diff against
/// it is enough.
fn usable_base_tree(codebase: &Codebase, base: &Snapshot) -> Option<Oid> {
    let fits = base.totals.settings == codebase.settings_fingerprint && base.totals.complete;
    fits.then(|| Oid::from_hex(base.totals.tree_oid.as_bytes()).ok()).flatten()
}

/// A file that is not in a tree.
pub struct PlannedFile<'a> {
    pub path: &'a git::BStr,
    pub mode: Mode,
    pub blob_oid: Oid,
    /// Empty if the file exceeds the size limit.
    pub bytes: &'a [u8],
    /// The live entry of its path in the base snapshot.
    pub previous: Option<u32>,
}

/// A file that is not in a tree, whose bytes may not have been read.
#[derive(Clone, Copy)]
pub(crate) struct KnownFile<'a> {
    pub path: &'a git::BStr,
    pub mode: Mode,
    pub blob_oid: Oid,
    pub bytes: Option<&'a [u8]>,
}

/// Result of [`Plan::add_known`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownDoc {
    /// The file is planned.
    Planned,
    /// Nothing is planned: the first line decides the language.
    NeedsBytes,
    /// Nothing is planned: the blob is not in the store.
    NeedsJob,
}

impl Plan {
    /// The first path whose contents are `blob`, which has a job. Cost: linear.
    pub fn path_of(&self, blob: &Oid) -> Option<&BStr> {
        // Jobs have no path, since several files can have their blob.
        let job = self.jobs.iter().position(|job| job.key.blob_oid == *blob)?;
        let entry = self.added.iter().find(|entry| entry.doc == PlannedDoc::Job(job))?;
        Some(entry.path.as_bstr())
    }

    /// About how many bytes the blobs of the jobs have, by a sample of them. Cost: milliseconds.
    pub fn n_bytes(&self, codebase: &Codebase) -> u64 {
        let mut blobs = codebase.repo.blobs();
        let max = codebase.settings.policy.max_blob_bytes;
        let step = self.jobs.len().div_ceil(MAX_SAMPLE).max(1);

        let (mut n_sampled, mut n_bytes) = (0, 0);
        for job in self.jobs.iter().step_by(step) {
            // A blob that is missing, or too large to be indexed, takes no time.
            if let Ok(Some(size)) = blobs.size(&job.key.blob_oid) {
                n_bytes += if size > max { 0 } else { size };
                n_sampled += 1;
            }
        }
        n_bytes * self.jobs.len() as u64 / n_sampled.max(1)
    }

    /// Sorts the jobs by `order`, which names each by its index.
    pub fn reorder(&mut self, order: &[usize]) {
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &job)| position[job] = at);

        // Entries refer to jobs by their index.
        for entry in &mut self.added {
            if let PlannedDoc::Job(job) = &mut entry.doc {
                *job = position[*job];
            }
        }

        self.jobs = order.iter().map(|&job| self.jobs[job].clone()).collect();
    }

    /// Plans one file that is not in a tree.
    pub fn add_file(
        &mut self,
        codebase: &Codebase,
        policy: &Policy,
        reader: &StoreReader,
        file: &PlannedFile<'_>,
    ) -> PlannedDoc {
        let PlannedFile { path, mode, blob_oid, bytes, previous } = *file;

        let (doc, skipped, flags) = match policy.decide_path(path, mode) {
            PathDecision::Skip(reason) => (PlannedDoc::None, Some(reason), 0),
            PathDecision::Index { language, flags, exempt } => {
                let language = policy.language(language, path, bytes);
                let key = DocKey { blob_oid, variant: self.variant(codebase, language, exempt) };
                let known = reader.find_doc(&key).map(PlannedDoc::Known);
                // Files with equal content share a job.
                let same = self.jobs.iter().position(|job| job.key == key).map(PlannedDoc::Job);
                let doc = known.or(same).unwrap_or_else(|| {
                    let previous = previous.and_then(|id| reader.entry(id)).map(|(record, _)| record.doc);
                    self.jobs.push(Job { key, language, previous, exempt });
                    PlannedDoc::Job(self.jobs.len() - 1)
                });
                (doc, None, u16::from(flags.0))
            }
        };

        self.added.push(PlannedEntry { path: path.to_owned(), doc, skipped, flags });
        doc
    }

    /// Plans one file that is not in a tree, unless it needs a job: if its path excludes it, or the store has
    /// its doc. `bytes` are needed only if the path does not determine the language.
    pub(crate) fn add_known(
        &mut self,
        codebase: &Codebase,
        policy: &Policy,
        reader: &StoreReader,
        file: &KnownFile<'_>,
    ) -> KnownDoc {
        let KnownFile { path, mode, blob_oid, bytes } = *file;

        let (doc, skipped, flags) = match policy.decide_path(path, mode) {
            PathDecision::Skip(reason) => (PlannedDoc::None, Some(reason), 0),
            PathDecision::Index { language, flags, exempt } => {
                let language = match (language, bytes) {
                    (Some(language), _) => language,
                    (None, Some(bytes)) => policy.language(None, path, bytes),
                    (None, None) => return KnownDoc::NeedsBytes,
                };
                let variant = self.variant(codebase, language, exempt);
                let Some(doc) = reader.find_doc(&DocKey { blob_oid, variant }) else {
                    return KnownDoc::NeedsJob;
                };
                (PlannedDoc::Known(doc), None, u16::from(flags.0))
            }
        };

        self.added.push(PlannedEntry { path: path.to_owned(), doc, skipped, flags });
        KnownDoc::Planned
    }

    fn variant(&mut self, codebase: &Codebase, language: LanguageId, exempt: Exempt) -> u64 {
        *self.variants.entry((language, exempt)).or_insert_with(|| doc_variant(codebase, language, exempt))
    }

    /// Plans one file that is not in a tree and is not read, for `reason`. A reason given by its path takes
    /// precedence.
    pub(crate) fn add_skipped(&mut self, policy: &Policy, path: &git::BStr, mode: Mode, reason: SkipReason) {
        let (reason, flags) = match policy.decide_path(path, mode) {
            PathDecision::Skip(by_path) => (by_path, 0),
            PathDecision::Index { flags, .. } => (reason, u16::from(flags.0)),
        };
        self.added.push(PlannedEntry {
            path: path.to_owned(),
            doc: PlannedDoc::None,
            skipped: Some(reason),
            flags,
        });
    }
}

/// The state of [`plan`].
struct Planner<'a> {
    codebase: &'a Codebase,
    policy: &'a Policy,
    reader: &'a StoreReader,
    blobs: BlobReader,
    /// The index of each planned job.
    jobs: FxHashMap<DocKey, usize>,
    plan: Plan,
}

impl Planner<'_> {
    /// Decides only the paths in the tree diff, and those that a changed policy file governs.
    fn decide_diff(&mut self, base: &Snapshot, base_tree: &Oid, tree: &Oid) -> Result<(), IndexError> {
        // Git may have collected the old tree after an amend or a rebase.
        let Ok(changes) = git::diff_trees(&self.codebase.repo, Some(base_tree), tree) else {
            return self.decide_all(base, tree, &BString::default());
        };

        // Paths whose blobs were not in this clone and have arrived. Policy files may be among them.
        let arrived = arrivals::arrived(self.codebase, self.reader, base, tree)?;
        let paths =
            changes.iter().map(|change| &change.path).chain(arrived.iter().map(|(_, file)| &file.path));
        let governed = outermost(paths.filter_map(|path| policy::governs(path.as_ref())).collect());
        let is_governed = |path: &BString| governed.iter().any(|prefix| is_below(path, prefix));

        for change in changes.iter().filter(|change| !is_governed(&change.path)) {
            let old = self.reader.find_entry(&base.entries, &change.path);
            match &change.new {
                Some((oid, mode)) => self.decide(&change.path, oid, *mode, old)?,
                None => self.plan.removed.extend(old),
            }
        }

        for (id, file) in &arrived {
            let is_changed = changes.binary_search_by(|change| change.path.cmp(&file.path)).is_ok();
            // Already decided above, or decided below with its directory.
            if is_changed || is_governed(&file.path) {
                continue;
            }
            self.decide(&file.path, &file.oid, file.mode, Some(*id))?;
        }

        for prefix in &governed {
            self.decide_all(base, tree, prefix)?;
        }

        Ok(())
    }

    /// Decides every path of `tree` below `prefix`, and removes the entries of paths that are gone.
    fn decide_all(&mut self, base: &Snapshot, tree: &Oid, prefix: &BString) -> Result<(), IndexError> {
        let mut old: FxHashMap<&[u8], u32> = FxHashMap::default();
        for (id, _, path) in self.reader.live_entries(&base.entries) {
            if is_below(path, prefix) {
                old.insert(path, id);
            }
        }

        let repo = &self.codebase.repo;
        let files = match prefix.strip_suffix(b"/") {
            Some(directory) => git::walk_directory(repo, tree, directory.as_bstr())?,
            None => git::walk_tree(repo, tree)?,
        };

        self.plan.n_files = files.len();
        for file in &files {
            let known = old.remove(file.path.as_bytes());
            self.decide(&file.path, &file.oid, file.mode, known)?;
        }

        let mut gone: Vec<u32> = old.into_values().collect();
        // A hash map has no order, and equal inputs should give equal plans.
        gone.sort_unstable();

        self.plan.removed.extend(gone);
        Ok(())
    }

    /// Plans one path; `old` is its live entry in the base. An unchanged entry is not planned.
    fn decide(&mut self, path: &BString, oid: &Oid, mode: Mode, old: Option<u32>) -> Result<(), IndexError> {
        let decision = self.policy.decide_path(path.as_ref(), mode);
        let (doc, skipped, flags) = match decision {
            PathDecision::Skip(reason) => (PlannedDoc::None, Some(reason), 0),
            PathDecision::Index { language, flags, exempt } => match self.language(language, path, oid)? {
                None => (PlannedDoc::None, Some(SkipReason::NotLocal), u16::from(flags.0)),
                Some(language) => (self.doc(oid, language, exempt, old), None, u16::from(flags.0)),
            },
        };

        if let Some(id) = old {
            if self.is_same(id, doc, skipped, flags) {
                return Ok(());
            }
            self.plan.removed.push(id);
        }

        self.plan.added.push(PlannedEntry { path: path.clone(), doc, skipped, flags });
        Ok(())
    }

    /// Returns the language of a blob, determined by its first line if the path is not enough. `None` if the
    /// blob is not local.
    fn language(
        &mut self,
        decided: Option<LanguageId>,
        path: &BString,
        oid: &Oid,
    ) -> Result<Option<LanguageId>, IndexError> {
        if let Some(language) = decided {
            return Ok(Some(language));
        }

        let name = path.rsplit(|&b| b == b'/').next();
        let extension = name.and_then(|name| name.rfind_byte(b'.').map(|dot| &name[dot..]));
        let extension = extension.map_or("(none)".to_owned(), |e| String::from_utf8_lossy(e).into_owned());

        let Some(size) = self.blobs.size_if_good(oid) else { return Ok(None) };
        // It will be skipped because of its size, so it is not read for its language.
        if size > self.policy.max_blob_bytes() {
            return Ok(Some(chunk::language::TEXT));
        }
        let Some(bytes) = self.blobs.read_if_good(oid) else { return Ok(None) };

        let language = self.policy.language(None, path.as_ref(), bytes);
        if language == chunk::language::TEXT {
            *self.plan.unknown_extensions.entry(extension).or_default() += 1;
        }
        Ok(Some(language))
    }

    /// Returns the doc of a blob, from a job of this plan or from the store, or plans a job for it.
    fn doc(&mut self, oid: &Oid, language: LanguageId, exempt: Exempt, old: Option<u32>) -> PlannedDoc {
        let key = DocKey { blob_oid: *oid, variant: self.plan.variant(self.codebase, language, exempt) };
        if let Some(&job) = self.jobs.get(&key) {
            return PlannedDoc::Job(job);
        }
        if let Some(doc) = self.reader.find_doc(&key) {
            return PlannedDoc::Known(doc);
        }

        let previous = old.and_then(|id| self.reader.entry(id)).map(|(record, _)| record.doc);
        let job = self.plan.jobs.len();
        self.plan.jobs.push(Job { key, language, previous, exempt });
        self.jobs.insert(key, job);
        PlannedDoc::Job(job)
    }

    /// Returns whether entry `id` of the base has the same content as the planned one.
    fn is_same(&self, id: u32, doc: PlannedDoc, skipped: Option<SkipReason>, flags: u16) -> bool {
        let Some((record, _)) = self.reader.entry(id) else { return false };

        let same_doc = match doc {
            PlannedDoc::None => {
                record.doc == codeweaver_store::entries::NO_DOC && record.skipped == skipped_number(skipped)
            }
            PlannedDoc::Known(known) => record.doc == known,
            PlannedDoc::Job(_) => false,
        };

        same_doc && record.flags == flags
    }
}

/// The key of the doc of a blob in a language.
pub fn doc_key(codebase: &Codebase, blob_oid: Oid, language: LanguageId, exempt: Exempt) -> DocKey {
    DocKey { blob_oid, variant: doc_variant(codebase, language, exempt) }
}

/// A key of everything besides its bytes that the chunks of a blob depend on.
pub(super) fn doc_variant(codebase: &Codebase, language: LanguageId, exempt: Exempt) -> u64 {
    let settings = &codebase.settings;
    // A setting that can change chunks and is missing here would leave old docs in use.
    let chunker = chunk::fingerprint(language, &settings.chunker);
    let fingerprint = format!(
        "{chunker} content={} max={} excerpts={} secret={} generated_docs={}",
        policy::content_fingerprint(),
        settings.policy.max_blob_bytes,
        settings.index.excerpts,
        exempt.secret,
        exempt.generated_docs
    );

    rows::variant(language.name(), &fingerprint)
}

/// Prefixes end in a slash; the empty one contains all paths.
fn is_below(path: &[u8], prefix: &[u8]) -> bool {
    path.starts_with(prefix)
}

/// Removes repeated prefixes and those below another one.
fn outermost(mut prefixes: Vec<BString>) -> Vec<BString> {
    prefixes.sort();
    prefixes.dedup();
    let all = prefixes.clone();

    prefixes.retain(|prefix| !all.iter().any(|other| other != prefix && is_below(prefix, other)));
    prefixes
}
