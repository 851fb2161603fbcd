//! Which paths and blobs are indexed, and why the others are not.
//!
//! In: a tree (for its `.gitattributes` and `.codeweaverignore`), the settings, a path, and later the bytes of a blob.
//! Out: a decision with its reason. This object is the only place that decides: index, overlay, call graph and outline
//! all ask it (requirement D2). Next in the flow: [`crate::chunk`].
//!
//! A decision depends on the path, the settings, the built-in tables and the policy files *of the tree*, nothing else:
//! not on the working tree, the user's global git files or the machine, so the same tree has the same files everywhere.
//! Hidden files and directories are treated like any others.
//!
//! What decides, first that applies:
//!
//! | rule | reason |
//! |---|---|
//! | links, gitlinks | [`Symlink`](SkipReason::Symlink), [`Submodule`](SkipReason::Submodule) |
//! | the store itself, paths that git would not check out, `exclude` globs | [`Excluded`](SkipReason::Excluded) |
//! | `include` globs, if there are any | [`NotIncluded`](SkipReason::NotIncluded) |
//! | `.codeweaverignore`, attribute `codeweaver=off` | [`Ignored`](SkipReason::Ignored) |
//! | names of credentials, unless in `include_secrets` or kept (below) | [`Secret`](SkipReason::Secret) |
//! | attributes `linguist-generated`, `linguist-vendored` | [`Generated`](SkipReason::Generated), [`Vendored`](SkipReason::Vendored) |
//! | the tables in `data/` | `LockFile`, `Minified`, `Generated`, `Vendored`, `Binary` |
//!
//! `-linguist-generated` and `-linguist-vendored` overrule the tables of that subject, the attribute `codeweaver` and a
//! literal `!path` in `.codeweaverignore` overrule all tables but credentials.

mod content;
mod directory;
mod rules;
mod tables;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::chunk::language::{self, LanguageId};
use crate::config::PolicySettings;
use crate::git::{BStr, BString, ByteSlice as _, GitError, Mode, Oid, Repo, STORE_DIR};

use directory::{Directories, Directory};
use rules::{Attributes, Globs, Role, Verdict};

/// Raised when the meaning of the rules changes without a change of the tables.
const VERSION: u32 = 1;
/// Name of the file with our own ignore rules, gitignore syntax, at any level.
pub const IGNORE_FILE: &str = ".codeweaverignore";
const ATTRIBUTES_FILE: &str = ".gitattributes";

/// Why a file is not in the index. Stored as its number: append only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SkipReason {
    Binary = 0,
    TooLarge = 1,
    Generated = 2,
    Vendored = 3,
    Minified = 4,
    LockFile = 5,
    LfsPointer = 6,
    /// A credential, by its name or its content (D5).
    Secret = 7,
    /// By an `exclude` glob of the settings; also the store, and paths that git would not check out.
    Excluded = 8,
    /// There are `include` globs, and none matches.
    NotIncluded = 9,
    /// By `.codeweaverignore` or the attribute `codeweaver=off`.
    Ignored = 10,
    Symlink = 11,
    Submodule = 12,
    Empty = 13,
    /// Parsing this blob brought a run down before.
    Crashed = 14,
    /// Not in this partial clone. Never stored.
    NotLocal = 15,
    /// Has a filter driver (LFS, git-crypt), which is never run.
    Filtered = 16,
}

const REASONS: &[(SkipReason, &str)] = &[
    (SkipReason::Binary, "binary"),
    (SkipReason::TooLarge, "too_large"),
    (SkipReason::Generated, "generated"),
    (SkipReason::Vendored, "vendored"),
    (SkipReason::Minified, "minified"),
    (SkipReason::LockFile, "lock_file"),
    (SkipReason::LfsPointer, "lfs_pointer"),
    (SkipReason::Secret, "secret"),
    (SkipReason::Excluded, "excluded"),
    (SkipReason::NotIncluded, "not_included"),
    (SkipReason::Ignored, "ignored"),
    (SkipReason::Symlink, "symlink"),
    (SkipReason::Submodule, "submodule"),
    (SkipReason::Empty, "empty"),
    (SkipReason::Crashed, "crashed"),
    (SkipReason::NotLocal, "not_local"),
    (SkipReason::Filtered, "filtered"),
];

impl SkipReason {
    /// All reasons, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = SkipReason> {
        REASONS.iter().map(|(reason, _)| *reason)
    }

    /// The name in output: `snake_case`.
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }

    /// The inverse of `as u8`.
    pub fn from_u8(number: u8) -> Option<SkipReason> {
        REASONS.get(usize::from(number)).map(|(reason, _)| *reason)
    }
}

/// Roles of a file by its path; priors of the ranking. A set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct PathFlags(pub u8);

impl PathFlags {
    pub const TEST: PathFlags = PathFlags(1);
    pub const EXAMPLE: PathFlags = PathFlags(2);
    pub const DOCS: PathFlags = PathFlags(4);
    /// Kept for compatibility: `compat`, `legacy`, `deprecated`.
    pub const COMPAT: PathFlags = PathFlags(8);
    pub const BENCH: PathFlags = PathFlags(16);
    /// Perhaps third-party (`external`, `deps`), indexed all the same.
    pub const VENDORED_LIKE: PathFlags = PathFlags(32);
    /// Declarations without bodies: `.d.ts`, `.pyi`.
    pub const STUB: PathFlags = PathFlags(64);
    /// Often only passes on the names of other files: `__init__.py`, `index.ts`, `mod.rs`.
    pub const REEXPORT: PathFlags = PathFlags(128);

    const NAMES: [&str; 8] =
        ["test", "example", "docs", "compat", "bench", "vendored_like", "stub", "reexport"];

    pub fn contains(self, other: PathFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Names of the roles in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| name)
    }

    fn without(self, other: PathFlags) -> PathFlags {
        PathFlags(self.0 & !other.0)
    }
}

impl std::ops::BitOr for PathFlags {
    type Output = PathFlags;
    fn bitor(self, other: PathFlags) -> PathFlags {
        PathFlags(self.0 | other.0)
    }
}

impl std::fmt::Debug for PathFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathDecision {
    /// Indexed, unless the bytes say otherwise. `language` is `None` if only the first line of the blob can tell.
    Index {
        language: Option<LanguageId>,
        flags: PathFlags,
    },
    Skip(SkipReason),
}

/// A policy that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("cannot read the policy files of the tree")]
    Git(#[from] GitError),
    #[error("policy.{setting}: '{glob}' is not a glob")]
    Glob { setting: &'static str, glob: String },
    #[error("policy.file_extensions: '{extension}' is mapped to '{language}', which is not a known language")]
    Language { extension: String, language: String },
}

/// The policy for one tree under one configuration. Shared between threads.
///
/// Policy files are read on the way to the paths asked for: the first question about a directory costs one tree object,
/// the next ones a look-up, so a one-file update stays O(depth).
pub struct Policy {
    directories: Directories,
    /// By extension in lower case.
    extensions: Vec<(String, LanguageId)>,
    include_secrets: BTreeSet<BString>,
    max_blob_bytes: u64,
}

impl Policy {
    /// The policy of `tree`; without a tree (nothing is committed yet) of the settings and tables alone.
    pub fn for_tree(
        repo: &Repo,
        tree: Option<&Oid>,
        settings: &PolicySettings,
    ) -> Result<Policy, PolicyError> {
        let include = Globs::parse("include", &settings.include)?;
        let exclude = Globs::parse("exclude", &settings.exclude)?;
        let extension = |(extension, name): (&String, &String)| {
            LanguageId::by_name(name)
                .map(|language| (extension.trim_start_matches('.').to_ascii_lowercase(), language))
                .ok_or_else(|| PolicyError::Language { extension: extension.clone(), language: name.clone() })
        };
        Ok(Policy {
            directories: Directories::new(repo, tree, include, exclude)?,
            extensions: settings.file_extensions.iter().map(extension).collect::<Result<_, _>>()?,
            include_secrets: settings
                .include_secrets
                .iter()
                .map(|name| BString::from(name.as_str()))
                .collect(),
            max_blob_bytes: settings.max_blob_bytes,
        })
    }

    /// Uses `bytes` (or no file) in place of what the tree has at `path`, a policy file: the overlay's view.
    pub fn replace_file(&mut self, path: &BStr, bytes: Option<Vec<u8>>) {
        self.directories.replace_file(path, bytes);
    }

    /// Decides by path alone; `path` is relative to the root, with `/`. Cost: O(depth) look-ups.
    pub fn decide_path(&self, path: &BStr, mode: Mode) -> PathDecision {
        match mode {
            Mode::Symlink => return PathDecision::Skip(SkipReason::Symlink),
            Mode::Gitlink => return PathDecision::Skip(SkipReason::Submodule),
            Mode::File | Mode::Executable => {}
        }
        if !is_possible(path) {
            return PathDecision::Skip(SkipReason::Excluded);
        }
        let name_at = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let name = &path[name_at..];
        let Some(directory) = self.directories.get(&path[..name_at.saturating_sub(1)]) else {
            return PathDecision::Skip(SkipReason::Excluded);
        };
        match self.skip(&directory, path, name) {
            Ok((attributes, kinds)) => self.index(&directory, path, name, &attributes, kinds),
            Err(reason) => PathDecision::Skip(reason),
        }
    }

    /// Decides by content. The size is checked before reading, through [`max_blob_bytes`](Self::max_blob_bytes).
    ///
    /// The same for every path with these bytes, so it can be kept with the blob.
    pub fn decide_blob(&self, bytes: &[u8]) -> Option<SkipReason> {
        if bytes.len() as u64 > self.max_blob_bytes {
            return Some(SkipReason::TooLarge);
        }
        content::skip(bytes)
    }

    /// Larger blobs are [`SkipReason::TooLarge`].
    pub fn max_blob_bytes(&self) -> u64 {
        self.max_blob_bytes
    }

    /// Whether the user named this file in `include_secrets`: [`SkipReason::Secret`] does not apply to it.
    pub fn includes_secret(&self, path: &BStr) -> bool {
        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        self.include_secrets.contains(path) || self.include_secrets.contains(name.as_bstr())
    }

    /// The language of a blob: what the path decided, else what the first line says, else plain text.
    pub fn language(&self, decided: Option<LanguageId>, path: &BStr, bytes: &[u8]) -> LanguageId {
        decided
            .or_else(|| self.language_of_path(path))
            .or_else(|| language::by_first_line(bytes))
            .unwrap_or(language::TEXT)
    }

    fn skip(
        &self,
        directory: &Arc<Directory>,
        path: &BStr,
        name: &[u8],
    ) -> Result<(Attributes, tables::Kinds), SkipReason> {
        let is_store = path.len() > STORE_DIR.len()
            && path[STORE_DIR.len()] == b'/'
            && path[..STORE_DIR.len()].eq_ignore_ascii_case(STORE_DIR.as_bytes());
        let in_settings = self.directories.in_settings(directory, path);
        let attributes = directory.attributes(path);
        let verdict = directory.verdict(path);
        let kinds = tables::of_file(name);
        let secret = kinds & tables::SECRET != 0 && kinds & tables::NOT_SECRET == 0;
        let kept = verdict == Verdict::Kept || attributes.role.is_some_and(|role| role != Role::Off);
        let generated = kinds & (tables::LOCK_FILE | tables::MINIFIED | tables::GENERATED);
        let by_table = || match () {
            () if kept => None,
            () if kinds & tables::BINARY != 0 => Some(SkipReason::Binary),
            () if attributes.generated == Some(false) || generated == 0 => None,
            () if kinds & tables::LOCK_FILE != 0 => Some(SkipReason::LockFile),
            () if kinds & tables::MINIFIED != 0 => Some(SkipReason::Minified),
            () => Some(SkipReason::Generated),
        };
        let reason = match () {
            () if is_store || in_settings.excluded => Some(SkipReason::Excluded),
            () if !in_settings.included => Some(SkipReason::NotIncluded),
            () if verdict == Verdict::Ignored || attributes.role == Some(Role::Off) => {
                Some(SkipReason::Ignored)
            }
            () if secret && !self.includes_secret(path) => Some(SkipReason::Secret),
            () if attributes.generated == Some(true) => Some(SkipReason::Generated),
            () if attributes.vendored == Some(true) => Some(SkipReason::Vendored),
            () if directory.is_vendored() && attributes.vendored.is_none() && !kept => {
                Some(SkipReason::Vendored)
            }
            () => by_table(),
        };
        reason.map_or(Ok((attributes, kinds)), Err)
    }

    fn index(
        &self,
        directory: &Directory,
        path: &BStr,
        name: &[u8],
        attributes: &Attributes,
        kinds: tables::Kinds,
    ) -> PathDecision {
        let mut flags = directory.flags() | tables::flags(kinds);
        match attributes.documentation {
            Some(true) => flags = flags | PathFlags::DOCS,
            Some(false) => flags = flags.without(PathFlags::DOCS),
            None => {}
        }
        match attributes.role {
            Some(Role::Docs) => flags = flags | PathFlags::DOCS,
            Some(Role::Test) => flags = flags | PathFlags::TEST,
            Some(Role::Off | Role::On) | None => {}
        }
        debug_assert!(path.ends_with(name));
        PathDecision::Index { language: attributes.language.or_else(|| self.language_of_path(path)), flags }
    }

    fn language_of_path(&self, path: &BStr) -> Option<LanguageId> {
        self.configured_language(path).or_else(|| language::by_path(path))
    }

    fn configured_language(&self, path: &BStr) -> Option<LanguageId> {
        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        let of = |(extension, language): &(String, LanguageId)| {
            let dot = name.len().checked_sub(extension.len() + 1)?;
            (name[dot] == b'.' && name[dot + 1..].eq_ignore_ascii_case(extension.as_bytes()))
                .then_some((extension.len(), *language))
        };
        // The longest wins, so that `blade.php` can be told from `php`.
        self.extensions.iter().filter_map(of).max_by_key(|(length, _)| *length).map(|(_, language)| language)
    }
}

/// False for paths that git would never check out, but that a tree may name: empty parts, `.`, `..`, `.git`.
fn is_possible(path: &BStr) -> bool {
    path.split(|byte| *byte == b'/').all(|part| match part {
        b"" | b"." | b".." => false,
        part => !part.eq_ignore_ascii_case(b".git"),
    })
}

/// Whether a change of this path changes decisions about others: the prefix of the paths to decide again, `""` for all,
/// otherwise ending in `/`.
pub fn governs(path: &BStr) -> Option<BString> {
    let name_at = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    let (directory, name): (&[u8], &[u8]) = (&path[..name_at], &path[name_at..]);
    if name == ATTRIBUTES_FILE.as_bytes() || name == IGNORE_FILE.as_bytes() {
        return Some(directory.into());
    }
    // Beside a manifest `vendor` is third-party. At the root it is anyway.
    (tables::is_manifest(name) && !directory.is_empty()).then(|| [directory, b"vendor/"].concat().into())
}

/// Identity of everything that decides apart from the tree: settings, built-in tables, version of the rules. 32 hex
/// digits.
pub fn settings_fingerprint(settings: &PolicySettings) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&VERSION.to_le_bytes());
    hash.update(tables::fingerprint().as_bytes());
    // The JSON names are part of the key: a renamed field keeps its old name by `#[serde(rename)]`. Serialising plain lists and
    // maps of strings cannot fail.
    hash.update(&serde_json::to_vec(settings).unwrap_or_default());
    hash.finalize().to_hex()[..32].to_owned()
}

#[cfg(test)]
mod tests;
