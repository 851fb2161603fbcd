//! Paths as users type them, and as they are shown to them: git's pathspecs.
//!
//! A path is relative to the current directory, or to the root after `:/`, or absolute. Repository paths are
//! relative to the root, with `/`, and without `.` and `..`.

use std::path::{Path, PathBuf};

use gix::bstr::{BString, ByteSlice};
use gix::glob::wildmatch;
use gix::pathspec::{MagicSignature, SearchMode};

use codeweaver_base::real_path;

use super::{Repo, quoting};

/// The directory that typed and shown paths are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// Canonical root of the worktree; `None` if bare.
    root: Option<PathBuf>,
    /// Repository path of the directory with a slash at its end; empty for the root.
    dir: BString,
}

/// A condition on repository paths: a folder, a file or a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pathspec {
    /// Only paths below this folder match. Taken literally; ends with a slash, or is empty.
    folder: BString,
    /// Pattern for the path below the folder; empty if everything matches.
    glob: BString,
    mode: Mode,
    /// Matches folders with everything below them, but no files.
    is_folder: bool,
    is_exclude: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A glob. Without a slash it also matches file names at any depth.
    Glob,
    /// A glob that matches the whole path, as after `:(glob)`.
    WholeGlob,
    Literal,
}

/// A typed path that cannot be used. `Display` states the failure, [`PathspecError::why`] the reason and
/// [`PathspecError::fix`] the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathspecError {
    /// An absolute path, or one with `..`, that leads out of the worktree.
    #[error("'{typed}' is outside the repository")]
    Outside { typed: String, root: Option<PathBuf> },
    /// Magic that is unknown or not supported.
    #[error("the pathspec '{typed}' cannot be used")]
    Magic { typed: String, why: String },
    /// Magic where a single file is expected.
    #[error("'{typed}' does not name one file")]
    NotAFile { typed: String },
    /// The empty text, or one with NUL.
    #[error("{typed:?} is not a path")]
    NotAPath { typed: String },
}

impl PathspecError {
    /// Returns the reason, in one sentence.
    pub fn why(&self) -> String {
        match self {
            PathspecError::Outside { root: Some(root), .. } => format!("the root is {}", root.display()),
            PathspecError::Outside { root: None, .. } => {
                "the repository is bare, so its paths are relative to the root of a tree".to_owned()
            }

            PathspecError::Magic { why, .. } => why.clone(),
            PathspecError::NotAFile { .. } => {
                "a pathspec that excludes or is a glob can name many".to_owned()
            }
            PathspecError::NotAPath { .. } => "a path has at least one character, and no NUL".to_owned(),
        }
    }

    /// Returns one sentence on what the user can do.
    pub fn fix(&self) -> &'static str {
        match self {
            PathspecError::Outside { root: Some(_), .. } => {
                "name a path inside it, or another repository with --project"
            }
            PathspecError::Outside { root: None, .. } => "write the path as `git ls-tree -r HEAD` lists it",

            PathspecError::Magic { .. } => {
                "use a path, a glob, :/PATH (from the root), :!PATH (all but), :(glob)PATH or :(literal)PATH; \
                 a name that begins with a colon is written ./:NAME"
            }
            PathspecError::NotAFile { .. } => "name a file: PATH, or :/PATH from the root",
            PathspecError::NotAPath { .. } => "use . for the current directory, or :/ for the root",
        }
    }
}

impl Prefix {
    /// The prefix for the directory `dir`. Outside the worktree, inside the git directory and in a bare
    /// repository it is the root.
    pub fn new(repo: &Repo, dir: &Path) -> Prefix {
        let root = repo.work_dir();
        let below = real_path::canonicalize(dir).ok().and_then(|dir| {
            let is_git_dir = dir.starts_with(repo.git_dir()) || dir.starts_with(repo.common_dir());
            let below = dir.strip_prefix(root?).ok().filter(|_| !is_git_dir)?;
            Some(slashed(below))
        });

        let mut dir = below.unwrap_or_default();
        if !dir.is_empty() {
            dir.push(b'/');
        }

        Prefix { root: root.map(Path::to_owned), dir: dir.into() }
    }

    /// The prefix for the root of the worktree.
    pub fn root(repo: &Repo) -> Prefix {
        Prefix { root: repo.work_dir().map(Path::to_owned), dir: BString::default() }
    }

    /// Returns whether this is the root.
    pub fn is_root(&self) -> bool {
        self.dir.is_empty()
    }

    /// Returns the repository path of the file that `typed` names. It need not exist. Globs are not expanded.
    ///
    /// # Errors
    /// [`PathspecError`] if it names no file or one outside of the worktree.
    pub fn file(&self, typed: &str) -> Result<String, PathspecError> {
        let mut parsed = Parsed::new(typed)?;
        if parsed.is_exclude || parsed.mode == Mode::WholeGlob {
            return Err(PathspecError::NotAFile { typed: typed.to_owned() });
        }

        if cfg!(windows) {
            parsed.path = parsed.path.replace(b"\\", b"/").into();
        }

        let (parts, _) = self.resolve(&parsed)?;
        Ok(quoting::text(&parts.join(&b'/')))
    }

    /// Parses the condition that `typed` states.
    ///
    /// # Errors
    /// [`PathspecError`] if it can match nothing in the worktree, or has magic that is not supported.
    pub fn pathspec(&self, typed: &str) -> Result<Pathspec, PathspecError> {
        let parsed = Parsed::new(typed)?;
        let (parts, n_literal) = self.resolve(&parsed)?;

        let (folder, glob) = parts.split_at(n_literal);
        let mut folder = folder.join(&b'/');
        if !folder.is_empty() {
            folder.push(b'/');
        }

        Ok(Pathspec {
            folder: folder.into(),
            glob: glob.join(&b'/').into(),
            mode: parsed.mode,
            is_folder: parsed.is_folder,
            is_exclude: parsed.is_exclude,
        })
    }

    /// Parses the conditions that `typed` states: one for each choice of its braces (`src/{a,b}/*.rs`), which
    /// git leaves to the shell. A path that exists is taken as it is, without a choice.
    ///
    /// # Errors
    /// As [`Self::pathspec`].
    pub fn pathspecs(&self, typed: &str) -> Result<Vec<Pathspec>, PathspecError> {
        let choices = expand_braces(typed);
        let is_one = choices.len() == 1 || Parsed::new(typed)?.mode == Mode::Literal;
        if is_one || self.exists(typed) == Some(true) {
            return Ok(vec![self.pathspec(typed)?]);
        }

        choices.iter().map(|choice| self.pathspec(choice)).collect()
    }

    /// Returns the repository path `path` relative to this directory, as an argument that [`Self::file`]
    /// reads.
    pub fn shown(&self, path: &str) -> String {
        let path = quoting::bytes(path);
        let mut below = path.as_slice();
        let mut n_common = 0;

        for part in self.dir.split_inclusive(|&b| b == b'/') {
            let Some(rest) = below.strip_prefix(part) else { break };
            n_common += part.len();
            below = rest;
        }

        let n_up = self.dir[n_common..].iter().filter(|&&b| b == b'/').count();
        quoting::argument(&quoting::text(&["../".repeat(n_up).as_bytes(), below].concat())).into_owned()
    }

    /// The file at the repository path `path`; `None` in a bare repository.
    pub fn on_disk(&self, path: &str) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(quoting::bytes(path).to_path_lossy()))
    }

    /// Returns `typed` written from the root, if the working tree has such a file or directory there and not
    /// below this directory.
    pub fn misplaced(&self, typed: &str) -> Option<String> {
        let from_root = format!(":/{typed}");
        let is_below_root_only = !self.is_root() && !self.exists(typed)? && self.exists(&from_root)?;
        is_below_root_only.then_some(from_root)
    }

    /// Returns whether the file that `typed` names exists; `None` if it names no file or the repository is
    /// bare.
    fn exists(&self, typed: &str) -> Option<bool> {
        Some(self.on_disk(&self.file(typed).ok()?)?.symlink_metadata().is_ok())
    }

    /// Splits the repository path of `parsed` into parts. The second value is the number of parts that come
    /// from this directory.
    fn resolve(&self, parsed: &Parsed<'_>) -> Result<(Vec<Vec<u8>>, usize), PathspecError> {
        let outside = || PathspecError::Outside { typed: parsed.typed.to_owned(), root: self.root.clone() };

        let is_absolute = parsed.path.starts_with(b"/") || Path::new(parsed.typed).is_absolute();
        let (base, path) = if is_absolute && !parsed.is_top {
            let path = lexically_normal(&parsed.path).ok_or_else(outside)?;
            (&b""[..], self.below_root(&path).ok_or_else(outside)?)
        } else {
            (if parsed.is_top { &b""[..] } else { self.dir.as_slice() }, parsed.path.to_vec())
        };

        let mut parts: Vec<Vec<u8>> =
            base.split(|&b| b == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect();
        // `..` may also remove parts of the base, which are then no longer literal.
        let mut n_literal = parts.len();

        for part in path.split(|&b| b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    parts.pop().ok_or_else(outside)?;
                    n_literal = n_literal.min(parts.len());
                }
                part => parts.push(part.to_vec()),
            }
        }

        Ok((parts, n_literal))
    }

    /// Returns the part of an absolute path below the root. Symbolic links and bind mounts above the root are
    /// followed, those below it are not.
    fn below_root(&self, path: &Path) -> Option<Vec<u8>> {
        let root = self.root.as_ref()?;
        if let Ok(below) = path.strip_prefix(root) {
            return Some(slashed(below));
        }

        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.reverse();
        let same =
            ancestors.into_iter().find(|dir| real_path::canonicalize(dir).is_ok_and(|dir| dir == *root))?;

        Some(slashed(path.strip_prefix(same).ok()?))
    }
}

impl Pathspec {
    /// Returns whether it excludes what it matches (`:!PATH`).
    pub fn is_exclude(&self) -> bool {
        self.is_exclude
    }

    /// Returns whether it matches the file at a repository path. A folder matches everything below it, also
    /// one that a glob names by more than wildcards. `*` and `?` stay within a folder, `**` does not. A glob
    /// without a slash also matches the names of files and folders at any depth below the directory that it
    /// is relative to; a name without wildcards matches those of files only. Excluding pathspecs match alike;
    /// see [`Self::is_exclude`].
    pub fn matches(&self, path: &[u8]) -> bool {
        let Some(path) = path.strip_prefix(self.folder.as_slice()) else { return false };
        if self.glob.is_empty() {
            return true;
        }

        // Literally first, as git does: names may have brackets (`app/[id]`).
        if let Some(below) = path.strip_prefix(self.glob.as_slice())
            && (below.first() == Some(&b'/') || (below.is_empty() && !self.is_folder))
        {
            return true;
        }

        let has_slash = self.glob.contains(&b'/');
        let last_part = self.glob.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let has_wildcards = last_part.iter().any(|b| b"*?[\\".contains(b));

        let may_name_folder = self.is_folder
            || match self.mode {
                // `a/*` stands for the entries of the folder, not for the folder.
                Mode::Glob => has_slash && !last_part.iter().all(|b| b"*?".contains(b)),
                Mode::WholeGlob => has_slash && !has_wildcards,
                Mode::Literal => false,
            };

        let mut folders = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(end, _)| &path[..end]);
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        match self.mode {
            Mode::Literal => false,
            _ if may_name_folder && folders.any(|folder| self.fits(folder)) => true,
            Mode::Glob if !has_slash && has_wildcards => {
                let mut parts: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
                if self.is_folder {
                    parts.pop();
                }
                parts.into_iter().any(|part| self.fits(part))
            }
            _ if self.is_folder => false,
            Mode::WholeGlob => self.fits(path),
            Mode::Glob => self.fits(path) || (!has_slash && self.fits(name)),
        }
    }

    /// Returns whether the glob matches all of `path`.
    fn fits(&self, path: &[u8]) -> bool {
        let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
        gix::glob::wildmatch(self.glob.as_bstr(), path.as_bstr(), mode)
    }
}

impl Pathspec {
    /// Returns the repository path that it names literally; `None` for a glob.
    pub fn literal(&self) -> Option<BString> {
        let has_wildcards = self.mode != Mode::Literal && self.glob.iter().any(|b| b"*?[\\".contains(b));
        (!has_wildcards).then(|| [self.folder.as_slice(), self.glob.as_slice()].concat().into())
    }

    /// Limits a plain name to the file at that path. Without this it also matches files of that name at any
    /// depth.
    pub fn rooted(mut self) -> Pathspec {
        if self.mode == Mode::Glob && self.literal().is_some() {
            self.mode = Mode::Literal;
        }
        self
    }

    /// Returns whether it can match a file below the directory at a repository path.
    pub fn may_match_below(&self, directory: &[u8]) -> bool {
        let has_slash = self.glob.contains(&b'/');
        let is_anywhere = self.mode == Mode::Glob && !has_slash && !self.glob.is_empty();

        // The folders before the first wildcard are certain; all matches are below them.
        let literal = match self.literal() {
            Some(path) if !is_anywhere => path,
            _ => {
                let glob: &[u8] = if is_anywhere { b"" } else { &self.glob };
                let parts = glob.split_inclusive(|&b| b == b'/');
                let plain = parts
                    .take_while(|part| part.ends_with(b"/") && !part.iter().any(|b| b"*?[\\".contains(b)));
                let plain: Vec<&[u8]> = plain.collect();
                [self.folder.as_slice(), &plain.concat()].concat().into()
            }
        };
        let literal = literal.strip_suffix(b"/").unwrap_or(&literal);

        is_within(directory, literal) || is_within(literal, directory)
    }
}

/// Returns whether the path `inner` is `outer` or below it.
fn is_within(inner: &[u8], outer: &[u8]) -> bool {
    outer.is_empty()
        || inner.strip_prefix(outer).is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// The path from the root of the repository.
impl std::fmt::Display for Pathspec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.is_folder { "/" } else { "" };
        match format!("{}{}{slash}", self.folder, self.glob).as_str() {
            "" => f.write_str(":/"),
            path => f.write_str(path),
        }
    }
}

/// Expands alternatives in braces, as a shell does: `a.{c,h}` is `a.c` and `a.h`. Braces without a comma, and
/// more than 100 alternatives, are taken literally.
fn expand_braces(text: &str) -> Vec<String> {
    const MAX_ALTERNATIVES: usize = 100;

    let mut expanded = Vec::new();
    let mut waiting = vec![text.to_owned()];

    while let Some(next) = waiting.pop() {
        let Some((before, alternatives, after)) = first_braces(&next) else {
            expanded.push(next);
            continue;
        };

        let variants = alternatives.iter().rev().map(|middle| format!("{before}{middle}{after}"));
        waiting.extend(variants);
        if waiting.len() + expanded.len() > MAX_ALTERNATIVES {
            return vec![text.to_owned()];
        }
    }

    expanded
}

/// Splits a text at its first braces with a comma: the text before, the alternatives, the text after.
fn first_braces(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (open, _) in text.match_indices('{') {
        let (mut depth, mut commas) = (0, vec![open]);
        for (at, byte) in text.bytes().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b',' if depth == 1 => commas.push(at),
                _ => {}
            }

            if depth == 0 {
                // Braces without a comma are literal; later ones may have one.
                if commas.len() == 1 {
                    break;
                }
                commas.push(at);
                let parts = commas.windows(2).map(|ends| &text[ends[0] + 1..ends[1]]).collect();
                return Some((&text[..open], parts, &text[at + 1..]));
            }
        }
    }
    None
}

/// A typed path without its magic.
struct Parsed<'a> {
    typed: &'a str,
    path: BString,
    mode: Mode,
    is_top: bool,
    is_folder: bool,
    is_exclude: bool,
}

impl Parsed<'_> {
    /// Parses a path as it was typed.
    fn new(typed: &str) -> Result<Parsed<'_>, PathspecError> {
        if typed.is_empty() || typed.contains('\0') {
            return Err(PathspecError::NotAPath { typed: typed.to_owned() });
        }

        // A quoted path was printed by this program, so it is literal.
        if let Some(path) = quoting::unquoted(typed) {
            let is_folder = path.ends_with(b"/");
            let mode = Mode::Literal;
            return Ok(Parsed { typed, path, mode, is_top: false, is_folder, is_exclude: false });
        }

        let magic = |why: String| PathspecError::Magic { typed: typed.to_owned(), why };
        let pattern = gix::pathspec::Pattern::from_bytes(typed.as_bytes(), Default::default())
            .map_err(|error| magic(super::error::one_line(&error)))?;
        if pattern.signature.contains(MagicSignature::ICASE) {
            return Err(magic("'icase' is not supported".to_owned()));
        }
        if !pattern.attributes.is_empty() {
            return Err(magic("'attr' is not supported".to_owned()));
        }

        let is_folder = pattern.signature.contains(MagicSignature::MUST_BE_DIR);
        // The parser removes the slash at the end, also that of the root directory.
        let path = if typed == "/" { "/".into() } else { pattern.path().to_owned() };

        Ok(Parsed {
            typed,
            path,
            mode: match pattern.search_mode {
                SearchMode::ShellGlob => Mode::Glob,
                SearchMode::PathAwareGlob => Mode::WholeGlob,
                SearchMode::Literal => Mode::Literal,
            },
            is_top: pattern.signature.contains(MagicSignature::TOP) || pattern.is_nil(),
            is_folder,
            is_exclude: pattern.is_excluded(),
        })
    }
}

/// Returns an absolute path without `.` and `..`; `None` if it leads above the root of the file system.
fn lexically_normal(path: &[u8]) -> Option<PathBuf> {
    use std::path::Component;

    let mut normal = PathBuf::new();

    for component in Path::new(path.to_str().ok()?).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            other => normal.push(other),
        }
    }

    Some(normal)
}

/// The bytes of a path with `/` as separator.
fn slashed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) { bytes.replace(b"\\", b"/") } else { bytes.to_vec() }
}

#[cfg(test)]
mod tests;
