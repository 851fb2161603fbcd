//! Reading a file, or some of its lines, from the working tree or a revision. Needs no index.

use codeweaver_chunk::language;
use codeweaver_git::worktree::{self, WorktreeFile, WorktreeReader};
use codeweaver_git::{self as git, BStr, ByteSlice, Oid, STORE_DIR, quoting};
use codeweaver_index::catalogue;
use codeweaver_index::policy::Policy;
use codeweaver_index::{Codebase, IndexError};
use codeweaver_text::{self as text, Decoded};

use super::error::QueryError;
use super::locate;
use super::view::MatchState;

/// Maximum size of the text. [`FileText::truncated`] is set if there is more.
const MAX_BYTES: usize = 256 * 1024;

/// Lines of a file.
#[derive(Debug, Clone, schemars::JsonSchema, serde::Serialize)]
pub struct FileText {
    /// Relative to the root of the repository.
    pub path: String,
    /// Name in the language table.
    pub language: String,
    /// The lines, decoded by the byte order mark or a guess, else lossily as UTF-8.
    pub text: String,
    /// The encoding that they were decoded from; absent for UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// First and last line of `text`, 1-based, inclusive; `(0, 0)` if it has none.
    pub span: (u32, u32),
    /// Number of lines of the file.
    pub total_lines: u32,
    /// Hex oid of the contents.
    pub blob: String,
    /// The revision as typed, or `worktree`.
    pub rev: String,
    /// Whether the file is committed.
    pub state: MatchState,
    /// Whether requested lines are missing at the end because the text would be too long.
    pub truncated: bool,
}

impl FileText {
    /// Returns a note for the user on missing lines of the request; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let (last, total) = (self.span.1, self.total_lines);
        match () {
            () if !self.truncated => None,
            () if self.ends_within_line() => Some(format!("only the beginning of line {last} is shown")),
            () => Some(format!("truncated after line {last} of {total}")),
        }
    }

    /// Returns whether the last line is incomplete, because it alone would make the text too long.
    pub fn ends_within_line(&self) -> bool {
        self.truncated && !self.text.is_empty() && !self.text.ends_with('\n')
    }
}

/// Reads files of one codebase.
pub(super) struct FileReader<'a> {
    pub codebase: &'a Codebase,
    /// Whether credentials and files that git ignores are withheld.
    pub is_shared: bool,
}

impl FileReader<'_> {
    /// Reads `lines` (1-based, inclusive; all if `None`) of `path` in `rev`. `None` is the working tree, in a
    /// bare repository HEAD.
    ///
    /// # Errors
    /// [`QueryError::Parameter`] for invalid lines or a path outside of the repository;
    /// [`QueryError::NotFound`] if there is no such file, [`QueryError::BeyondEnd`] if it has no such line.
    pub fn read(
        &self,
        path: &str,
        lines: Option<(u32, u32)>,
        rev: Option<&str>,
    ) -> Result<FileText, QueryError> {
        let path = locate::clean(path)?;
        let path = path.as_bstr();
        self.check_internal(path)?;
        if let Some((first, last)) = lines.filter(|(first, last)| *first == 0 || first > last) {
            return Err(QueryError::Parameter {
                name: "lines",
                must: "FIRST-LAST, counted from 1",
                found: format!("{first}-{last}"),
            });
        }

        let repo = &self.codebase.repo;
        let mut rev = if repo.work_dir().is_none() { Some(rev.unwrap_or("HEAD")) } else { rev };
        let (bytes, oid, state) = match rev {
            None => {
                let (bytes, oid, state) = self.read_worktree(path)?;
                rev = state.is_none().then_some("HEAD");
                (bytes, oid, state.unwrap_or(MatchState::Committed))
            }
            Some(rev) => {
                if rev == "HEAD" {
                    catalogue::follow(repo, &|name| is_within(path, name))?;
                }
                let (bytes, oid) = self.read_revision(path, rev)?;
                (bytes, oid, MatchState::Committed)
            }
        };

        if self.is_shared {
            self.check_shared(path, &bytes, state)?;
        }

        let text = cut(path, rev.unwrap_or("worktree"), &text::decode(&bytes), oid, lines);
        match lines {
            // The first line of an empty file is no mistake.
            Some((line, _)) if line > text.total_lines.max(1) => {
                Err(QueryError::BeyondEnd { path: shown(path), line, total_lines: text.total_lines })
            }
            _ => Ok(FileText { state, ..text }),
        }
    }

    /// Reads the blob `oid` as the contents of `path`, in whichever revision it is.
    ///
    /// # Errors
    /// As [`Self::read`]. [`QueryError::NotFound`] also if no such blob is in this clone.
    pub fn read_blob(&self, path: &str, oid: &str) -> Result<FileText, QueryError> {
        let path = locate::clean(path)?;
        let path = path.as_bstr();
        self.check_internal(path)?;
        let not_found = || QueryError::NotFound { what: format!("the blob {oid} is not in this clone") };

        let id = Oid::from_hex(oid.as_bytes()).map_err(|_| not_found())?;
        let bytes = self.codebase.repo.blobs().read_whole(&id)?.ok_or_else(not_found)?;

        if self.is_shared {
            self.check_shared(path, &bytes, MatchState::Committed)?;
        }

        Ok(cut(path, oid, &text::decode(&bytes), id, None))
    }

    /// Returns an error for files of the index, which have the nonce by which a store is trusted, and of git
    /// directories with other names than `.git`, which is refused as a path that leaves the working tree.
    fn check_internal(&self, path: &BStr) -> Result<(), QueryError> {
        let is_store = |part: &[u8]| part.eq_ignore_ascii_case(STORE_DIR.as_bytes());
        if path.split(|byte| b"/\\".contains(byte)).any(is_store) {
            return withheld(path, "it belongs to the index");
        }

        let repo = &self.codebase.repo;
        let on_disk = repo.work_dir().map(|root| root.join(path.to_path_lossy()));
        let is_of_git = |path: std::path::PathBuf| {
            path.starts_with(repo.common_dir()) && !repo.common_dir().ends_with(".git")
        };
        match on_disk.is_some_and(is_of_git) {
            true => withheld(path, "it belongs to git"),
            false => Ok(()),
        }
    }

    /// Returns an error for credentials and for files that git ignores.
    fn check_shared(&self, path: &BStr, bytes: &[u8], state: MatchState) -> Result<(), QueryError> {
        let tree = self.codebase.repo.head()?.tree;
        let policy = Policy::for_tree(&self.codebase.repo, tree.as_ref(), &self.codebase.settings.policy)
            .map_err(IndexError::from)?;

        if policy.has_credentials(path, &text::to_utf8(bytes)) {
            return withheld(path, "it has credentials");
        }

        let repo = &self.codebase.repo;
        // Patterns of ignored files do not apply to tracked ones.
        if state == MatchState::Untracked && WorktreeReader::open(repo)?.is_ignored(path)? {
            return withheld(path, "git ignores it");
        }

        Ok(())
    }

    /// Reads a file of the working tree, with its oid and its state. A file that search shows as committed,
    /// because git takes it as such without a look or filters it, is that of HEAD and has no state.
    fn read_worktree(&self, path: &BStr) -> Result<(Vec<u8>, Oid, Option<MatchState>), QueryError> {
        let repo = &self.codebase.repo;
        let mut files = WorktreeReader::open(repo)?;
        let bytes = match files.file(path)? {
            WorktreeFile::Blob { bytes, .. } => Some(bytes),
            WorktreeFile::Absent => None,
            WorktreeFile::Unknown => match worktree::read_committed_file(repo, path)? {
                Some((bytes, oid)) => return Ok((bytes, oid, None)),
                None => {
                    let what = "has a filter driver or more than 32 MiB, and is not committed";
                    return Err(QueryError::NotFound { what: format!("{} {what}", shown(path)) });
                }
            },
        };
        let bytes = bytes.ok_or_else(|| QueryError::NotFound {
            what: format!("{} is not a file of the working tree", shown(path)),
        })?;

        let oid = git::hash_blob(&bytes, repo.object_hash());
        let committed = match repo.head()?.tree {
            Some(tree) => git::entry_at(repo, &tree, path)?.map(|file| file.oid),
            None => None,
        };

        let state = match files.indexed(path)? {
            // Contents that equal the commit count as committed, whatever is staged.
            _ if committed == Some(oid) => MatchState::Committed,
            Some(staged) if staged == oid => MatchState::Staged,
            Some(_) => MatchState::Dirty,
            None => MatchState::Untracked,
        };

        Ok((bytes, oid, Some(state)))
    }

    /// Reads a file of a revision, with its oid.
    fn read_revision(&self, path: &BStr, rev: &str) -> Result<(Vec<u8>, Oid), QueryError> {
        let revision = self.codebase.repo.resolve(rev)?;
        let file = git::entry_at(&self.codebase.repo, &revision.tree, path)?;
        let file =
            file.ok_or_else(|| QueryError::NotFound { what: format!("{} is not in {rev}", shown(path)) })?;

        let bytes = self.codebase.repo.blobs().read_whole(&file.oid)?;
        let bytes = bytes.ok_or_else(|| QueryError::NotFound {
            what: format!("the blob of {} is not in this clone", shown(path)),
        })?;

        Ok((bytes, file.oid))
    }
}

/// Returns whether a path of a catalogue is in the member called `name`.
fn is_within(path: &BStr, name: &str) -> bool {
    path.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// A path for a message.
fn shown(path: &BStr) -> String {
    quoting::printed(&quoting::text(path)).into_owned()
}

/// The error of a file that a shared searcher does not show.
fn withheld(path: &BStr, why: &'static str) -> Result<(), QueryError> {
    Err(QueryError::Withheld { path: shown(path), why })
}

/// Cuts `lines` out of `decoded`. The state of the result is that of a committed file.
fn cut(path: &BStr, rev: &str, decoded: &Decoded<'_>, oid: Oid, lines: Option<(u32, u32)>) -> FileText {
    let Decoded { text: bytes, encoding } = decoded;
    // A list of the lines could take sixteen times the memory of the file.
    let all = || bytes.split_inclusive(|&b| b == b'\n');
    let total = all().count() as u32;
    let (first, last) = lines.unwrap_or((1, total));
    let last = last.min(total);

    let mut text = Vec::new();
    let mut end = first.saturating_sub(1);
    let mut is_cut = false;
    for line in all().take(last as usize).skip(first.saturating_sub(1) as usize) {
        let available = MAX_BYTES - text.len();
        // Only the start of a line that is too long by itself, so that reading can continue at the next line.
        if line.len() > available && !text.is_empty() {
            break;
        }
        is_cut |= line.len() > available;
        text.extend_from_slice(&line[..line.len().min(available)]);
        end += 1;
    }

    let language = language::by_path(path).or_else(|| language::by_first_line(bytes));
    FileText {
        path: quoting::text(path),
        language: language.unwrap_or(language::TEXT).name().to_owned(),
        text: String::from_utf8_lossy(&text).into_owned(),
        encoding: *encoding,
        span: if end < first { (0, 0) } else { (first, end) },
        total_lines: total,
        blob: oid.to_string(),
        rev: rev.to_owned(),
        state: MatchState::Committed,
        truncated: is_cut || end < last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_selected_and_counted() {
        let oid = Oid::null(gix::hash::Kind::Sha1);
        let read = |bytes: &[u8], lines| cut("a.rs".into(), "HEAD", &text::decode(bytes), oid, lines);
        let all = read(b"one\ntwo\nthree", None);
        assert_eq!(
            (all.text.as_str(), all.span, all.total_lines, all.truncated),
            ("one\ntwo\nthree", (1, 3), 3, false)
        );
        assert_eq!(read(b"one\ntwo\nthree", Some((2, 2))).text, "two\n");
        assert_eq!(read(b"one\ntwo\n", Some((2, 9))).span, (2, 2));
        assert_eq!(read(b"one\n", Some((5, 9))).span, (0, 0));
        assert_eq!(read(b"", None).span, (0, 0));
        assert!(read(&vec![b'x'; MAX_BYTES + 1], None).truncated);
    }
}
