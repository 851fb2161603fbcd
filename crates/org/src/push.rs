//! Push: from the local index to the engine.
//!
//! Only documents that the engine lacks are sent, and of the others only the places that have changed. Rows
//! are sent before their files, so a file that is there has all its rows. A push holds a lease on the
//! document of its repository; one that was killed is resumed by the next, which compares everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use codeweaver_base::sync;
use codeweaver_git::BlobReader;
use codeweaver_store::rows::chunk_id;
use codeweaver_store::time;

use super::bulk::{Change, Places};
use super::document::Document;
use super::error::OrgError;
use super::http::Method;
use super::lease::Lease;
use super::local::{Files, Local, LocalFile, LocalMember, docs_of, read_blob};
use super::members::{OrgMember, PushState, Version};
use super::org::Org;
use super::record::Doc;
use super::schema::{Kind, file_id, row_id};

/// Number of rows that one thread prepares and sends at once.
const BATCH_ROWS: usize = 400;
/// Number of documents that are looked up at once.
const LOOK_UP: usize = 2_000;

/// How a push proceeds.
#[derive(Debug, Clone)]
pub struct PushOptions {
    /// Whether the repository is compared as a whole even if nothing seems to have changed.
    pub all: bool,
    /// The time without a sign of life after which another push counts as dead. Measured here, so clocks need
    /// not agree.
    pub stall: Duration,
    /// The time to wait for another push.
    pub patience: Duration,
    /// Number of threads that prepare and send.
    pub threads: usize,
}

impl Default for PushOptions {
    fn default() -> PushOptions {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        PushOptions {
            all: false,
            stall: Duration::from_secs(15),
            patience: Duration::from_secs(120),
            // One more than cores, as each waits for the engine now and then.
            threads: cores + 1,
        }
    }
}

/// What a push did for one repository.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct PushReport {
    /// The name of the repository.
    pub name: String,
    /// The commit that is there now.
    pub commit: Option<String>,
    /// Number of its files.
    pub files: u64,
    /// Files and rows that were sent.
    pub sent_files: usize,
    /// See `sent_files`.
    pub sent_rows: usize,
    /// Files that were there and are in other places now.
    pub placed_files: usize,
    /// Files that are no longer in the repository.
    pub removed_files: usize,
    /// Files whose blobs are not in this clone.
    pub missing_blobs: usize,
    /// Bytes of all requests.
    pub sent_bytes: u64,
    /// Whether an earlier push was interrupted and everything was compared.
    pub resumed: bool,
}

/// Pushes all repositories of `local`. `told` is called for each that is done.
///
/// # Errors
/// [`OrgError::Busy`] if another process pushes one of them; those of the connection.
pub fn push(
    org: &Org,
    local: &Local<'_>,
    options: &PushOptions,
    told: &dyn Fn(&PushReport),
) -> Result<Vec<PushReport>, OrgError> {
    org.check_space(&local.codebase.vector_space)?;
    org.check_version()?;
    check_names(org, local)?;
    let mut reports = Vec::with_capacity(local.members.len());

    for member in &local.members {
        let report = Push { org, local, member, options }.run()?;
        told(&report);
        reports.push(report);
    }
    Ok(reports)
}

/// Checks that no repository is in a folder of another: the paths of both would begin alike.
fn check_names(org: &Org, local: &Local<'_>) -> Result<(), OrgError> {
    let is_below =
        |name: &str, folder: &str| name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));

    for there in org.members()? {
        let mut names = local.members.iter().map(|member| &member.name);
        let nested = names.find(|name| is_below(name, &there.name) || is_below(&there.name, name));
        if let Some(name) = nested {
            return Err(OrgError::Local {
                what: format!("{name} cannot be pushed under this name"),
                why: format!("the index has {}, and one name is a folder of the other", there.name),
            });
        }
    }
    Ok(())
}

/// Changes, each with the name of its file.
type FileChanges = Vec<(String, Change)>;

/// The push of one repository.
struct Push<'a> {
    org: &'a Org,
    local: &'a Local<'a>,
    member: &'a LocalMember,
    options: &'a PushOptions,
}

/// The files of a repository whose documents are to be changed.
#[derive(Default)]
struct Changes {
    /// Files with other places than the engine has.
    put: Files,
    /// Names of files that are gone, with their local docs as far as these are known.
    removed: BTreeMap<String, Option<u32>>,
    /// Those of them that are taken out in the requests that send new files.
    replaced: Vec<(String, u32)>,
}

impl Push<'_> {
    fn run(&self) -> Result<PushReport, OrgError> {
        let Push { org, local, member, options } = *self;
        let n_sent_before = org.n_sent();
        let settings = &local.codebase.settings_fingerprint;
        let known = org.member(&member.name)?;

        if let Some((known, version)) = &known
            && known.state == PushState::Complete
            && known.tree == member.tree
            && known.settings == *settings
            && !options.all
        {
            self.rename(known, *version)?;
            return Ok(PushReport { files: known.files, ..self.report(n_sent_before) });
        }

        let is_known = known.is_some();
        let times = (options.stall, options.patience);
        let (lease, before) = Lease::take(org, &member.name, known, PushState::Pushing, times)?;
        // A push that has not ended may have left anything behind.
        let before = before.filter(|before| before.state == PushState::Complete);

        let mut report = self.report(n_sent_before);
        report.resumed = is_known && before.is_none();
        let ended = lease
            .beating(|| self.change(&lease, before.as_ref(), &mut report))
            .and_then(|()| self.finish(&lease, &mut report));
        ended.inspect_err(|error| self.mark_if_lost(&lease, error))?;

        report.sent_bytes = org.n_sent() - n_sent_before;
        Ok(report)
    }

    /// Has the next push compare everything if the lease is lost at the end with `error`: what was sent since
    /// another push has taken over may be no part of what that one has pushed.
    fn mark_if_lost(&self, lease: &Lease<'_>, error: &OrgError) {
        let is_lost = match error {
            OrgError::Busy { .. } => Ok(true),
            // The engine cannot be asked.
            OrgError::Unreachable { .. } => Ok(false),
            _ => lease.is_held().map(|is_held| !is_held),
        };

        let marked = is_lost.and_then(|is_lost| match is_lost {
            true => self.org.mark_unfinished(&self.member.name),
            false => Ok(()),
        });
        if let Err(second) = marked {
            tracing::warn!(component = "org", operation = "push", error = %second, "not marked");
        }
    }

    /// Records what was pushed, which ends the lease.
    fn finish(&self, lease: &Lease<'_>, report: &mut PushReport) -> Result<(), OrgError> {
        let Push { local, member, .. } = *self;
        // A file whose blob is not here is missing there, so the next push compares everything again.
        let is_whole = report.missing_blobs == 0;
        let numbers = local.numbers(member);
        report.files = numbers.totals.n_paths;

        lease.finish(OrgMember {
            commit: member.commit.clone(),
            tree: member.tree.clone(),
            root: local.root.clone(),
            reference: member.reference.clone(),
            settings: local.codebase.settings_fingerprint.clone(),
            state: if is_whole { PushState::Complete } else { PushState::Pushing },
            pushed: time::now(),
            files: report.files,
            numbers,
            ..OrgMember::new(&member.name)
        })
    }

    /// Sends and removes what differs from the engine, of which `before` is known.
    fn change(
        &self,
        lease: &Lease<'_>,
        before: Option<&OrgMember>,
        report: &mut PushReport,
    ) -> Result<(), OrgError> {
        let changes = match before {
            Some(before) if !self.options.all => self.changes_since(before)?,
            _ => None,
        };
        let mut changes = match changes {
            Some(changes) => changes,
            None => self.changes_by_comparison()?,
        };

        self.send(&mut changes, lease, report)?;
        self.remove(&changes, lease, report)?;
        // Everything is found before the repository counts as complete.
        self.org.refresh()
    }

    fn report(&self, n_sent_before: u64) -> PushReport {
        PushReport {
            name: self.member.name.clone(),
            commit: self.member.commit.clone(),
            sent_bytes: self.org.n_sent() - n_sent_before,
            ..PushReport::default()
        }
    }

    /// Records the commit of a repository whose tree is there.
    fn rename(&self, known: &OrgMember, version: Version) -> Result<(), OrgError> {
        let LocalMember { commit, reference, .. } = self.member;
        if known.commit == *commit && known.reference == *reference {
            return Ok(());
        }

        let renamed = OrgMember {
            commit: commit.clone(),
            reference: reference.clone(),
            pushed: time::now(),
            ..known.clone()
        };
        // If another process was faster, it has recorded a commit too.
        self.org.put_member(&renamed, Some(version)).map(drop)
    }

    /// The changes since the push that `before` records; `None` if the index of its tree is no longer here.
    fn changes_since(&self, before: &OrgMember) -> Result<Option<Changes>, OrgError> {
        let Push { local, member, .. } = *self;
        let Some(old) = local.earlier(&before.root, &before.settings)? else { return Ok(None) };

        let new = &local.snapshot.entries;
        let (gone, come) = (&old.entries - new, new - &old.entries);
        let mut docs: FxHashSet<u32> = FxHashSet::default();
        for entries in [&gone, &come] {
            docs.extend(local.reader.live_entries(entries).map(|(_, record, _)| record.doc));
        }

        let of_docs = |live: &RoaringBitmap| -> RoaringBitmap {
            let entries = local.reader.live_entries(live);
            entries.filter(|(_, record, _)| docs.contains(&record.doc)).map(|(id, ..)| id).collect()
        };
        let (before, now) = (local.files(member, &of_docs(&old.entries)), local.files(member, &of_docs(new)));
        let there = |id: &str| before.get(id).map(|file| file.to_json(&member.name, true));
        let all = before.iter().map(|(id, file)| (id, Some(file.doc)));
        Ok(Some(compared(now, there, all, &member.name)))
    }

    /// The changes against everything that the engine has.
    fn changes_by_comparison(&self) -> Result<Changes, OrgError> {
        let Push { org, local, member, .. } = *self;
        let mut there: BTreeMap<String, Value> = BTreeMap::new();

        org.refresh()?;
        let query = json!({ "term": { "repo": member.name } });
        org.scan_files(&query, &["file", "at"], |source| {
            let places = source["at"].as_array().map(Vec::as_slice).unwrap_or_default();
            let own: Value =
                places.iter().filter(|place| place["r"] == member.name.as_str()).cloned().collect();
            if let Some(id) = source["file"].as_str() {
                there.insert(id.to_owned(), own);
            }
            Ok(())
        })?;

        let now = local.files(member, &local.snapshot.entries);
        if !there.is_empty() {
            let n_rows = org.count_rows(&member.name)?;
            // A file that has lost rows is sent again, as one with other places.
            for (id, places) in &mut there {
                let n_there = n_rows.get(id).copied().unwrap_or(0);
                if now.get(id).is_some_and(|file| self.n_rows_of(file.doc) != n_there) {
                    *places = Value::Null;
                }
            }
        }

        let all = there.keys().map(|id| (id, None));
        Ok(compared(now, |id| there.get(id).cloned(), all, &member.name))
    }

    /// Sends the files with changed places: whole, or only the places of those that are there.
    fn send(
        &self,
        changes: &mut Changes,
        lease: &Lease<'_>,
        report: &mut PushReport,
    ) -> Result<(), OrgError> {
        // By name, since another repository may have the same content.
        let there = self.look_up(&changes.put)?;
        if changes.put.len() > there.len() && changes.removed.len() <= BATCH_ROWS / 8 {
            // A commit that changes some files is one request for rows and one for files.
            let known = changes.removed.iter().filter_map(|(id, doc)| Some((id.clone(), (*doc)?)));
            changes.replaced = known.collect();
        }

        let changes = &*changes;
        let mut placed = Vec::new();
        let mut new: Vec<(&String, &LocalFile)> = Vec::new();
        for (id, file) in &changes.put {
            if there.contains(id) { placed.push((id, file)) } else { new.push((id, file)) }
        }

        for batch in placed.chunks(BATCH_ROWS / 8) {
            let files: Vec<(String, u32)> =
                batch.iter().map(|(id, file)| ((*id).clone(), file.doc)).collect();
            let missing = self.place(&files, changes)?;
            report.placed_files += batch.len() - missing.len();
            // Collected meanwhile.
            new.extend(batch.iter().filter(|(id, _)| missing.contains(*id)));
            lease.beat()?;
        }
        self.send_new(&new, changes, lease, report)
    }

    /// Returns which of `files` the engine has.
    fn look_up(&self, files: &Files) -> Result<FxHashSet<String>, OrgError> {
        let path = format!("{}/_mget?_source=false", self.org.alias(Kind::Files));
        let ids: Vec<&String> = files.keys().collect();
        let mut there = FxHashSet::default();

        for ids in ids.chunks(LOOK_UP) {
            let answer = self.org.connection.ask(Method::Post, &path, Some(&json!({ "ids": ids })))?;
            for doc in answer["docs"].as_array().map(Vec::as_slice).unwrap_or_default() {
                if doc["error"].is_object() {
                    return Err(super::http::error_of(503, &doc["error"]));
                }
                if doc["found"] == json!(true)
                    && let Some(id) = doc["_id"].as_str()
                {
                    there.insert(id.to_owned());
                }
            }
        }
        Ok(there)
    }

    /// Sets the places of documents that are there, of files with their local docs. Returns the names of
    /// files that are not there.
    fn place(&self, files: &[(String, u32)], changes: &Changes) -> Result<BTreeSet<String>, OrgError> {
        let name = &self.member.name;
        let places_of = |id: &str| changes.put.get(id).map_or(json!([]), |file| file.to_json(name, true));
        let places = Places { repo: name, of: &places_of };

        let (rows, mut whole) = self.placing(files);
        let mut missing: BTreeSet<String> =
            self.org.apply(rows, &places)?.into_iter().map(|(file, _)| file).collect();

        // A file is sent again as a whole if a row of it is gone.
        whole.retain(|(id, _)| !missing.contains(id));
        missing.extend(self.org.apply(whole, &places)?.into_iter().map(|(file, _)| file));
        Ok(missing)
    }

    /// The changes that set the places of files with their local docs: of their rows, and of the files.
    fn placing(&self, files: &[(String, u32)]) -> (FileChanges, FileChanges) {
        let (mut rows, mut whole) = (Vec::new(), Vec::new());
        for (id, doc) in files {
            for row in self.rows_of(*doc) {
                rows.push((id.clone(), Change::Place { kind: Kind::Rows, id: row }));
            }
            whole.push((id.clone(), Change::Place { kind: Kind::Files, id: id.clone() }));
        }
        (rows, whole)
    }

    /// The names of the documents of the rows of a local doc.
    fn rows_of(&self, doc: u32) -> Vec<String> {
        let Some((s, ordinal)) = self.local.reader.locate_doc(doc) else { return Vec::new() };
        let segment = &self.local.reader.segments[s];
        let Some(key) = self.local.key_of(doc) else { return Vec::new() };

        let rows = segment.doc_rows(ordinal).filter_map(|row| segment.rows().get(row as usize));
        rows.map(|row| row_id(&chunk_id(&key, &(row.start_byte..row.end_byte)))).collect()
    }

    /// Number of the documents of the rows of a local doc.
    fn n_rows_of(&self, doc: u32) -> u64 {
        self.rows_of(doc).into_iter().collect::<BTreeSet<_>>().len() as u64
    }

    /// Sends files that the engine does not have, on several threads.
    fn send_new(
        &self,
        new: &[(&String, &LocalFile)],
        changes: &Changes,
        lease: &Lease<'_>,
        report: &mut PushReport,
    ) -> Result<(), OrgError> {
        if new.is_empty() {
            return Ok(());
        }
        self.local.find_blobs()?;

        // A shard is decoded once, for all of its files.
        let mut by_segment: BTreeMap<usize, FxHashSet<u32>> = BTreeMap::new();
        for (_, file) in new {
            if let Some((segment, ordinal)) = self.local.reader.locate_doc(file.doc) {
                by_segment.entry(segment).or_default().insert(ordinal);
            }
        }

        let mut replaced = changes.replaced.clone();
        for (segment, ordinals) in by_segment {
            let docs = docs_of(self.local.shard(segment)?).zip(0u32..);
            let docs = docs.filter(|(_, ordinal)| ordinals.contains(ordinal)).map(|(doc, _)| doc);
            let mut batches = batches(docs);
            if let Some(first) = batches.first_mut() {
                first.replaced = std::mem::take(&mut replaced);
            }
            let sent = self.send_batches(&batches, changes, lease)?;
            report.sent_files += sent.files;
            report.sent_rows += sent.rows;
            report.missing_blobs += sent.missing;
        }

        // Without a batch, nothing has taken them out.
        self.place(&replaced, &Changes::default()).map(drop)
    }

    /// Sends batches of docs, each by one thread.
    fn send_batches(
        &self,
        batches: &[Batch],
        changes: &Changes,
        lease: &Lease<'_>,
    ) -> Result<Sent, OrgError> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let total = Mutex::new(Sent::default());
        let failure: Mutex<Option<OrgError>> = Mutex::new(None);

        std::thread::scope(|scope| {
            for _ in 0..self.options.threads.clamp(1, batches.len().max(1)) {
                scope.spawn(|| {
                    let mut blobs = self.local.codebase.repo.blobs();
                    while !is_over.load(Relaxed)
                        && let Some(batch) = batches.get(next.fetch_add(1, Relaxed))
                    {
                        let sent = self.send_batch(batch, changes, &mut blobs);
                        match sent.and_then(|sent| lease.beat().map(|()| sent)) {
                            Ok(sent) => sync::lock(&total).add(&sent),
                            Err(error) => {
                                is_over.store(true, Relaxed);
                                sync::lock(&failure).get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });

        match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)),
        }
    }

    /// Sends the rows of some docs, then their files.
    fn send_batch(&self, batch: &Batch, changes: &Changes, blobs: &mut BlobReader) -> Result<Sent, OrgError> {
        let name = &self.member.name;
        let places_of = |id: &str| changes.put.get(id).map_or(json!([]), |file| file.to_json(name, true));
        let (mut rows, mut files) = (Vec::new(), Vec::new());
        let mut sent = Sent::default();

        for doc in &batch.docs {
            let id = file_id(&doc.meta.key);
            let Some(file) = changes.put.get(&id) else { continue };
            let Some((text, bodies)) = read_blob(blobs, doc)? else {
                sent.missing += 1;
                continue;
            };

            let document = Document { org: self.org, name, id: &id, file, doc, bodies: &bodies };
            sent.files += 1;
            sent.rows += doc.rows.len();
            let sources = document.sources(&text)?;
            for (row, source) in sources.rows {
                rows.push((id.clone(), Change::Create { kind: Kind::Rows, id: row, source }));
            }
            files.push((id.clone(), Change::Create { kind: Kind::Files, id, source: sources.file }));
        }

        let (old_rows, old_files) = self.placing(&batch.replaced);
        rows.extend(old_rows);
        files.extend(old_files);

        let places = Places { repo: name, of: &places_of };
        for changes in [rows, files] {
            // Rows before files: a file that is there has all its rows.
            let missing = self.org.apply(changes, &places)?;
            let is_new = |(file, _): &&(String, Change)| !batch.replaced.iter().any(|(old, _)| old == file);
            if let Some((file, _)) = missing.iter().find(is_new) {
                // Deleted between two requests of this batch; the next push sends it.
                return Err(OrgError::Degraded { why: format!("{file} was collected while it was sent") });
            }
        }
        Ok(sent)
    }

    /// Takes the repository out of the files that it no longer has.
    fn remove(&self, changes: &Changes, lease: &Lease<'_>, report: &mut PushReport) -> Result<(), OrgError> {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        let is_replaced = |id: &String| changes.replaced.iter().any(|(replaced, _)| replaced == id);
        for (id, doc) in changes.removed.iter().filter(|(id, _)| !is_replaced(id)) {
            match doc {
                Some(doc) => known.push((id.clone(), *doc)),
                None => unknown.push(id.clone()),
            }
        }

        for batch in known.chunks(BATCH_ROWS / 8) {
            // Documents that are gone need no change.
            self.place(batch, &Changes::default())?;
            lease.beat()?;
        }

        self.org.take_out(&self.member.name, &unknown, &mut || lease.beat())?;
        report.removed_files = changes.removed.len();
        Ok(())
    }
}

/// Numbers of documents that were sent.
#[derive(Default)]
struct Sent {
    files: usize,
    rows: usize,
    missing: usize,
}

impl Sent {
    fn add(&mut self, other: &Sent) {
        self.files += other.files;
        self.rows += other.rows;
        self.missing += other.missing;
    }
}

/// The changes from `there` to `now`.
fn compared<'a>(
    now: Files,
    there: impl Fn(&str) -> Option<Value>,
    all_there: impl Iterator<Item = (&'a String, Option<u32>)>,
    name: &str,
) -> Changes {
    let gone = all_there.filter(|(id, _)| !now.contains_key(*id));
    let removed = gone.map(|(id, doc)| (id.clone(), doc)).collect();
    let put =
        now.into_iter().filter(|(id, file)| there(id).as_ref() != Some(&file.to_json(name, true))).collect();
    Changes { put, removed, replaced: Vec::new() }
}

/// Documents that one thread prepares and sends at once.
#[derive(Default)]
struct Batch {
    docs: Vec<Doc>,
    /// Files that leave the repository, with their local docs.
    replaced: Vec<(String, u32)>,
}

/// Docs in batches of about [`BATCH_ROWS`] rows.
fn batches(docs: impl Iterator<Item = Doc>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    let mut n_rows = BATCH_ROWS;

    for doc in docs {
        if n_rows >= BATCH_ROWS {
            batches.push(Batch::default());
            n_rows = 0;
        }
        n_rows += doc.rows.len();
        if let Some(last) = batches.last_mut() {
            last.docs.push(doc);
        }
    }
    batches
}
