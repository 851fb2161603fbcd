//! Scan: the search of all candidates, on all cores.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use codeweaver_base::sync;
use codeweaver_git::worktree::WorktreeFile;
use codeweaver_git::{BlobReader, ByteSlice as _, Oid};
use codeweaver_index::Codebase;
use codeweaver_index::policy::SkipReason;
use codeweaver_text::{self as text, Decoded};

use super::corpus::{Corpus, CorpusFile};
use super::lines::{FileLines, LineSearch};
use super::pattern::Matchers;
use crate::query::cancel::Cancel;
use crate::query::error::QueryError;

/// Number of files that a thread takes at a time.
const UNIT: usize = 16;
/// Size from which files are searched one after the other, so that the memory of a search does not grow with
/// the number of cores.
const LARGE: u64 = 4 << 20;
/// Maximum number of bytes of lines that are kept. Further files are read again when their lines are shown.
const MAX_KEPT: usize = 32 << 20;

/// A file with matches.
pub(super) struct Hit {
    /// Position in the corpus.
    pub file: usize,
    pub language: String,
    /// The encoding that the text was decoded from; `None` for UTF-8.
    pub encoding: Option<&'static str>,
    pub n_matches: u64,
    /// Number of the first matching lines that can be shown.
    pub n_kept: u64,
    pub is_binary: bool,
    pub has_definition: bool,
    /// `None` if there was no room.
    pub lines: Option<FileLines>,
}

/// The result of a scan.
#[derive(Default)]
pub(super) struct Scanned {
    /// In the order of the files.
    pub hits: Vec<Hit>,
    /// Number of files that could not be read.
    pub n_unread: u64,
    /// The files with matches that have credentials.
    pub secret: Vec<usize>,
}

/// Everything that files are searched with.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub codebase: &'a Codebase,
    pub corpus: &'a Corpus,
    pub matchers: &'a Matchers,
    pub context: usize,
    pub cancel: &'a Cancel,
}

impl<'a> Scan<'a> {
    /// Searches all files of the corpus.
    pub fn run(&self) -> Result<Scanned, QueryError> {
        let n_files = self.corpus.files.len();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let n_threads = cores.min(n_files.div_ceil(UNIT)).max(1);
        let (next, n_kept_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));

        let large = Mutex::default();

        // This thread works too, so that a small search starts no other.
        let mut scanned = std::thread::scope(|scope| {
            let mut others = Vec::new();
            for _ in 1..n_threads {
                others.push(scope.spawn(|| self.search_units(&next, &n_kept_bytes, &large)));
            }

            let mut all = self.search_units(&next, &n_kept_bytes, &large)?;
            for other in others {
                all.append(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<_, QueryError>(all)
        })?;

        scanned.hits.sort_unstable_by_key(|hit| hit.file);
        Ok(scanned)
    }

    /// Searches units of files from `next` on, which other threads move too, until none is left.
    /// Files that are large are searched by one thread at a time.
    fn search_units(
        &self,
        next: &AtomicUsize,
        n_kept_bytes: &AtomicUsize,
        large: &Mutex<()>,
    ) -> Result<Scanned, QueryError> {
        let n_files = self.corpus.files.len();
        let mut scanned = Scanned::default();
        let mut blobs = self.codebase.repo.blobs();
        let mut search = LineSearch::new(self.matchers, self.context, &self.corpus.reader);
        loop {
            let start = next.fetch_add(UNIT, Relaxed);
            if start >= n_files {
                return Ok(scanned);
            }
            self.cancel.check()?;

            for at in start..n_files.min(start + UNIT) {
                let _alone = self.is_large(at, &mut blobs).then(|| sync::lock(large));
                self.file(at, &mut blobs, &mut search, n_kept_bytes, &mut scanned)?;
            }
        }
    }

    /// Returns whether the file at `at` is large, or may be.
    fn is_large(&self, at: usize, blobs: &mut BlobReader) -> bool {
        let file = &self.corpus.files[at];
        let known = file.doc.and_then(|(segment, ordinal)| {
            let docs = self.corpus.reader.segments[segment].docs();
            docs.get(ordinal as usize).map(|doc| u64::from(doc.blob_bytes))
        });

        match (known, &file.blob) {
            (Some(size), _) => size >= LARGE,
            // Only the header is read.
            (None, Some(oid)) => !matches!(blobs.size(oid), Ok(Some(size)) if size < LARGE),
            // Changed files are read under a lock already.
            (None, None) => false,
        }
    }

    /// The lines of a file whose lines were not kept; none if it has changed meanwhile.
    pub fn again(&self, hit: &Hit) -> Result<FileLines, QueryError> {
        let file = &self.corpus.files[hit.file];
        let mut blobs = self.codebase.repo.blobs();
        let Some(Decoded { text: bytes, .. }) = self.read(file, &mut blobs)? else {
            return Ok(FileLines::default());
        };
        Ok(LineSearch::new(self.matchers, self.context, &self.corpus.reader).run(file, &bytes))
    }

    /// Searches the file at `at`, and adds it to `scanned` if it has matches.
    fn file(
        &self,
        at: usize,
        blobs: &mut BlobReader,
        search: &mut LineSearch<'_>,
        n_kept_bytes: &AtomicUsize,
        scanned: &mut Scanned,
    ) -> Result<(), QueryError> {
        let file = &self.corpus.files[at];
        let Some(Decoded { text: bytes, encoding }) = self.read(file, blobs)? else {
            scanned.n_unread += 1;
            return Ok(());
        };

        let found = search.run(file, &bytes);
        if found.n_matches == 0 {
            return Ok(());
        }
        let language = self.corpus.language(file, &bytes);
        let is_wanted = self.corpus.languages.is_empty() || self.corpus.languages.contains(&language);
        if !is_wanted {
            return Ok(());
        }
        // The check reads the whole text again, so only files with matches are checked.
        if self.is_secret(file, &bytes) {
            scanned.secret.push(at);
            return Ok(());
        }

        let n_bytes = found.lines.iter().map(|line| line.text.len() + size_of_val(line)).sum();
        let FileLines { n_matches, n_kept, is_binary, has_definition, .. } = found;
        let has_room = n_kept_bytes.fetch_add(n_bytes, Relaxed) + n_bytes <= MAX_KEPT;
        let lines = has_room.then_some(found);
        scanned.hits.push(Hit {
            file: at,
            language,
            encoding,
            n_matches,
            n_kept,
            is_binary,
            has_definition,
            lines,
        });
        Ok(())
    }

    /// The text of a file in UTF-8, with its encoding; `None` if it is not in this clone or no longer in the
    /// working tree, or too large.
    fn read<'b>(
        &self,
        file: &CorpusFile,
        blobs: &'b mut BlobReader,
    ) -> Result<Option<Decoded<'b>>, QueryError>
    where
        'a: 'b,
    {
        let bytes = self.bytes(file, blobs)?;

        Ok(bytes.map(|bytes| match bytes {
            Cow::Borrowed(bytes) => text::decode(bytes),
            Cow::Owned(bytes) => text::decode_owned(bytes),
        }))
    }

    /// The bytes of a file; `None` as for [`Self::read`].
    fn bytes<'b>(
        &self,
        file: &CorpusFile,
        blobs: &'b mut BlobReader,
    ) -> Result<Option<Cow<'b, [u8]>>, QueryError>
    where
        'a: 'b,
    {
        if let Some(oid) = &file.blob {
            let corpus: &'a Corpus = self.corpus;
            if let Some(text) = corpus.texts.get(oid) {
                return Ok(Some(Cow::Borrowed(text)));
            }
            if blobs.is_unplaced(oid) {
                let tree = Oid::from_hex(self.corpus.info.tree.as_bytes());
                let _ = tree.is_ok_and(|tree| blobs.place(oid, &tree, file.path.as_bstr()));
            }
            return Ok(blobs.read_if_good(oid).map(Cow::Borrowed));
        }

        // Without an oid, the file has changed and is read from the working tree.
        let Some(worktree) = &self.corpus.worktree else { return Ok(None) };
        match sync::lock(worktree).file(file.path.as_bstr()) {
            Ok(WorktreeFile::Blob {
                bytes,
                mode: codeweaver_git::Mode::File | codeweaver_git::Mode::Executable,
            }) => Ok(Some(Cow::Owned(bytes))),
            Ok(WorktreeFile::Blob { .. } | WorktreeFile::Absent | WorktreeFile::Unknown) | Err(_) => Ok(None),
        }
    }

    /// Returns whether a file has credentials by its content.
    fn is_secret(&self, file: &CorpusFile, bytes: &[u8]) -> bool {
        if file.is_checked {
            return false;
        }
        let reason = self.corpus.policy.decide_blob(bytes, file.exempt);
        reason == Some(SkipReason::Secret)
    }
}

impl Scanned {
    fn append(&mut self, other: Scanned) {
        self.hits.extend(other.hits);
        self.n_unread += other.n_unread;
        self.secret.extend(other.secret);
    }
}
