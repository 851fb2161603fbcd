//! The choice of the paths and blobs that are indexed, with the reason for each that is not.
//!
//! Input: a tree (for its `.gitattributes` and `.codeweaverignore`), the settings, a path, and later the
//! bytes of a blob. Output: a decision with its reason. [`Policy`] is the only place that decides; index,
//! overlay, call graph and outline all use it, so that they agree on the files of a tree.
//!
//! A decision depends on the path, the settings, the built-in tables and the policy files *of the tree*. The
//! working tree, the user's global git files and the machine have no influence, so a tree has the same files
//! everywhere. Hidden files and directories are treated like all others.
//!
//! The first rule that applies decides:
//!
//! | rule | reason |
//! |---|---|
//! | links, gitlinks | [`Symlink`], [`Submodule`] |
//! | the store itself, paths that git would not check out, `exclude` globs | [`Excluded`] |
//! | `include` globs, if there are any | [`NotIncluded`] |
//! | `.codeweaverignore`, attribute `codeweaver=off` | [`Ignored`] |
//! | names of credentials, unless in `include_secrets` or kept (below) | [`Secret`] |
//! | attributes `linguist-generated`, `linguist-vendored` | [`Generated`], [`Vendored`] |
//! | the tables in `data/` | `LockFile`, `Minified`, `Generated`, `Vendored`, `Binary` |
//!
//! `-linguist-generated` and `-linguist-vendored` override the tables of that subject. The attribute
//! `codeweaver` and a literal `!path` in `.codeweaverignore` override all tables except that of credentials.
//! Both `-linguist-generated` and these also keep files that are [`GeneratedDocs`] by their content.
//!
//! [`Excluded`]: SkipReason::Excluded
//! [`Generated`]: SkipReason::Generated
//! [`GeneratedDocs`]: SkipReason::GeneratedDocs
//! [`Ignored`]: SkipReason::Ignored
//! [`NotIncluded`]: SkipReason::NotIncluded
//! [`Secret`]: SkipReason::Secret
//! [`Submodule`]: SkipReason::Submodule
//! [`Symlink`]: SkipReason::Symlink
//! [`Vendored`]: SkipReason::Vendored

mod content;
mod directory;
mod generated_docs;
mod rules;
mod tables;

use std::collections::BTreeSet;
use std::sync::Arc;

use codeweaver_chunk::language::{self, LanguageId};
use codeweaver_config::PolicySettings;
use codeweaver_git::{BStr, BString, ByteSlice as _, GitError, Mode, Oid, Repo, STORE_DIR};
use codeweaver_text as text;

use directory::{Directories, Directory};
use rules::{Attributes, Globs, Role, Verdict};

/// Version of the rules. Raised when their meaning changes without a change of the tables.
const VERSION: u32 = 2;
/// Name of the file with ignore rules, in gitignore syntax, at any level of the tree.
pub(crate) const IGNORE_FILE: &str = ".codeweaverignore";
const ATTRIBUTES_FILE: &str = ".gitattributes";

/// The reason why a file is not in the index. Discriminants are stored: append only.
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
    /// A credential, by its name or its content.
    Secret = 7,
    /// Matched by an `exclude` glob of the settings; also the store, and paths that git would not check out.
    Excluded = 8,
    /// There are `include` globs, and none matches.
    NotIncluded = 9,
    /// Ignored by `.codeweaverignore` or the attribute `codeweaver=off`.
    Ignored = 10,
    Symlink = 11,
    Submodule = 12,
    Empty = 13,
    /// Parsing this blob ended an earlier process.
    Crashed = 14,
    /// The blob is not in this partial clone. Never stored.
    NotLocal = 15,
    /// The path has a filter driver (LFS, git-crypt). Filter drivers are never run.
    Filtered = 16,
    /// The output of a documentation generator.
    GeneratedDocs = 17,
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
    (SkipReason::GeneratedDocs, "generated_docs"),
];

impl SkipReason {
    /// All reasons, in the order of their discriminants.
    pub fn all() -> impl Iterator<Item = SkipReason> {
        REASONS.iter().map(|(reason, _)| *reason)
    }

    /// The name in output, in `snake_case`.
    pub fn name(self) -> &'static str {
        REASONS[self as usize].1
    }

    /// The inverse of `as u8`.
    pub fn from_u8(number: u8) -> Option<SkipReason> {
        REASONS.get(usize::from(number)).map(|(reason, _)| *reason)
    }
}

/// The stored number of a skip reason: 0 stands for "indexed", so reasons count from one.
pub fn skipped_number(reason: Option<SkipReason>) -> u8 {
    reason.map_or(0, |reason| reason as u8 + 1)
}

/// The inverse of [`skipped_number`].
pub fn skip_reason(number: u8) -> Option<SkipReason> {
    number.checked_sub(1).and_then(SkipReason::from_u8)
}

/// A set of roles that a file has by its path; priors of the ranking.
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
    /// Possibly third-party (`external`, `deps`), but indexed.
    pub const VENDORED_LIKE: PathFlags = PathFlags(32);
    /// Declarations without bodies: `.d.ts`, `.pyi`.
    pub const STUB: PathFlags = PathFlags(64);
    /// Often only re-exports names of other files: `__init__.py`, `index.ts`, `mod.rs`.
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

/// The decision for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathDecision {
    /// The path is indexed, unless [`Policy::decide_blob`] skips its content. `language` is `None` if it
    /// depends on the first line of the blob.
    Index {
        language: Option<LanguageId>,
        flags: PathFlags,
        exempt: Exempt,
    },
    Skip(SkipReason),
}

/// Reasons that the user does not want applied to the content of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Exempt {
    /// Exempt from [`SkipReason::Secret`].
    pub secret: bool,
    /// Exempt from [`SkipReason::GeneratedDocs`].
    pub generated_docs: bool,
}

impl Exempt {
    /// Every combination of exemptions.
    pub fn all() -> impl Iterator<Item = Exempt> {
        (0..4).map(|bits| Exempt { secret: bits & 1 != 0, generated_docs: bits & 2 != 0 })
    }

    fn from(self, reason: SkipReason) -> bool {
        match reason {
            SkipReason::Secret => self.secret,
            SkipReason::GeneratedDocs => self.generated_docs,
            _ => false,
        }
    }
}

/// The reason why a policy cannot be set up.
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
/// Policy files are read on demand. The first decision in a directory costs one tree object, later ones a
/// look-up, so deciding a single file is O(depth).
pub struct Policy {
    directories: Directories,
    /// Configured languages by extension, in lower case and without the leading dot.
    extensions: Vec<(String, LanguageId)>,
    include_secrets: BTreeSet<BString>,
    include_generated_docs: bool,
    max_blob_bytes: u64,
}

impl Policy {
    /// The policy of `tree`, or that of the settings and tables alone if nothing is committed yet.
    ///
    /// # Errors
    ///
    /// If a glob or a language of the settings is invalid, or the root tree cannot be read.
    pub fn for_tree(
        repo: &Repo,
        tree: Option<&Oid>,
        settings: &PolicySettings,
    ) -> Result<Policy, PolicyError> {
        let include = Globs::parse("include", &settings.include)?;
        let exclude = Globs::parse("exclude", &settings.exclude)?;

        Ok(Policy {
            directories: Directories::new(repo, tree, include, exclude)?,
            extensions: settings
                .file_extensions
                .iter()
                .map(|(extension, language)| configured_extension(extension, language))
                .collect::<Result<_, _>>()?,
            include_secrets: settings
                .include_secrets
                .iter()
                .map(|name| BString::from(name.as_str()))
                .collect(),
            include_generated_docs: settings.include_generated_docs,
            max_blob_bytes: settings.max_blob_bytes,
        })
    }

    /// Replaces the policy file at `path` by `bytes`, or removes it, for an overlay over the tree.
    pub fn replace_file(&mut self, path: &BStr, bytes: Option<Vec<u8>>) {
        self.directories.replace_file(path, bytes);
    }

    /// Decides by path alone, with O(depth) look-ups. `path` is relative to the root, with `/`.
    pub fn decide_path(&self, path: &BStr, mode: Mode) -> PathDecision {
        match mode {
            Mode::Symlink => return PathDecision::Skip(SkipReason::Symlink),
            Mode::Gitlink => return PathDecision::Skip(SkipReason::Submodule),
            Mode::File | Mode::Executable => {}
        }

        if !can_be_checked_out(path) {
            return PathDecision::Skip(SkipReason::Excluded);
        }

        let name_at = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
        let name = &path[name_at..];
        let Some(directory) = self.directories.get(&path[..name_at.saturating_sub(1)]) else {
            return PathDecision::Skip(SkipReason::Excluded);
        };

        match self.skip(&directory, path, name) {
            Ok(facts) => self.index(&directory, path, name, &facts),
            Err(reason) => PathDecision::Skip(reason),
        }
    }

    /// Decides by content, as UTF-8. The result is the same for every path with these bytes. Callers check
    /// [`max_blob_bytes`](Self::max_blob_bytes) before they read a blob.
    pub fn decide_blob(&self, bytes: &[u8], exempt: Exempt) -> Option<SkipReason> {
        if bytes.len() as u64 > self.max_blob_bytes {
            return Some(SkipReason::TooLarge);
        }
        content::skip(bytes, exempt)
    }

    /// Returns whether a file is a credential by its name or its text, whatever else is decided about it.
    pub fn has_credentials(&self, path: &BStr, bytes: &[u8]) -> bool {
        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        !self.includes_secret(path) && (is_secret_name(tables::of_file(name)) || content::is_secret(bytes))
    }

    /// Maximum size of a blob. Larger ones are [`SkipReason::TooLarge`].
    pub fn max_blob_bytes(&self) -> u64 {
        self.max_blob_bytes
    }

    /// Returns whether `include_secrets` names this file, so that [`SkipReason::Secret`] does not apply to
    /// it.
    pub(crate) fn includes_secret(&self, path: &BStr) -> bool {
        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        self.include_secrets.contains(path) || self.include_secrets.contains(name.as_bstr())
    }

    /// The language of a blob: the one decided by path, otherwise that of its first line, otherwise plain
    /// text.
    pub fn language(&self, decided: Option<LanguageId>, path: &BStr, bytes: &[u8]) -> LanguageId {
        decided
            .or_else(|| self.language_of_path(path))
            .or_else(|| language::by_first_line(&text::to_utf8(bytes)))
            .unwrap_or(language::TEXT)
    }

    /// Applies the rules of the module documentation in order. Returns the first reason to skip the path, or
    /// the facts that a decision to index it needs.
    fn skip(&self, directory: &Arc<Directory>, path: &BStr, name: &[u8]) -> Result<PathFacts, SkipReason> {
        let is_store = path.len() > STORE_DIR.len()
            && path[STORE_DIR.len()] == b'/'
            && path[..STORE_DIR.len()].eq_ignore_ascii_case(STORE_DIR.as_bytes());

        let in_settings = self.directories.in_settings(directory, path);
        let attributes = directory.attributes(path);
        let verdict = directory.verdict(path);
        let kinds = tables::of_file(name);

        // The user names the file in a rule of its own, which overrides the tables.
        let kept = verdict == Verdict::Kept || attributes.role.is_some_and(|role| role != Role::Off);

        let reason = match () {
            () if is_store || in_settings.excluded => Some(SkipReason::Excluded),
            () if !in_settings.included => Some(SkipReason::NotIncluded),
            () if verdict == Verdict::Ignored || attributes.role == Some(Role::Off) => {
                Some(SkipReason::Ignored)
            }
            () if is_secret_name(kinds) && !self.includes_secret(path) => Some(SkipReason::Secret),
            () if attributes.generated == Some(true) => Some(SkipReason::Generated),
            () if attributes.vendored == Some(true) => Some(SkipReason::Vendored),
            () if directory.is_vendored() && attributes.vendored.is_none() && !kept => {
                Some(SkipReason::Vendored)
            }
            () => skip_by_table(kinds, attributes.generated, kept),
        };

        reason.map_or(Ok(PathFacts { attributes, kinds, kept }), Err)
    }

    /// The decision for a path that no rule skips.
    fn index(&self, directory: &Directory, path: &BStr, name: &[u8], facts: &PathFacts) -> PathDecision {
        let attributes = &facts.attributes;
        let mut flags = directory.flags() | tables::flags(facts.kinds);

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
        let exempt = Exempt {
            secret: self.includes_secret(path),
            generated_docs: self.include_generated_docs || facts.kept || attributes.generated == Some(false),
        };

        let language = attributes.language.or_else(|| self.language_of_path(path));
        PathDecision::Index { language, flags, exempt }
    }

    fn language_of_path(&self, path: &BStr) -> Option<LanguageId> {
        self.configured_language(path).or_else(|| language::by_path(path))
    }

    fn configured_language(&self, path: &BStr) -> Option<LanguageId> {
        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        // The longest wins: `blade.php` before `php`.
        let matching = self.extensions.iter().filter(|(extension, _)| has_extension(name, extension));
        matching.max_by_key(|(extension, _)| extension.len()).map(|(_, language)| *language)
    }
}

/// Returns whether a name of these kinds is that of a credential.
fn is_secret_name(kinds: tables::Kinds) -> bool {
    kinds & tables::SECRET != 0 && kinds & tables::NOT_SECRET == 0
}

/// The reason that the table of file names gives, unless the user keeps the file or, with the attribute
/// `linguist-generated`, says that it is not generated.
fn skip_by_table(kinds: tables::Kinds, is_generated: Option<bool>, is_kept: bool) -> Option<SkipReason> {
    let generated = kinds & (tables::LOCK_FILE | tables::MINIFIED | tables::GENERATED);
    match () {
        () if is_kept => None,
        () if kinds & tables::BINARY != 0 => Some(SkipReason::Binary),
        () if is_generated == Some(false) || generated == 0 => None,
        () if kinds & tables::LOCK_FILE != 0 => Some(SkipReason::LockFile),
        () if kinds & tables::MINIFIED != 0 => Some(SkipReason::Minified),
        () => Some(SkipReason::Generated),
    }
}

/// An extension of the settings in the form that [`has_extension`] takes, with its language.
fn configured_extension(extension: &str, name: &str) -> Result<(String, LanguageId), PolicyError> {
    let language = LanguageId::by_name(name).ok_or_else(|| PolicyError::Language {
        extension: extension.to_owned(),
        language: name.to_owned(),
    })?;
    Ok((extension.trim_start_matches('.').to_ascii_lowercase(), language))
}

/// Returns whether the file name ends in a dot and `extension`, in any case.
fn has_extension(name: &[u8], extension: &str) -> bool {
    let Some(dot) = name.len().checked_sub(extension.len() + 1) else { return false };
    name[dot] == b'.' && name[dot + 1..].eq_ignore_ascii_case(extension.as_bytes())
}

/// The facts about a path that no rule skips, as far as they decide about its content.
struct PathFacts {
    attributes: Attributes,
    kinds: tables::Kinds,
    /// Whether the user wants the file in spite of the tables.
    kept: bool,
}

/// Returns false for paths that a tree may contain but git does not check out: empty components, `.`, `..`,
/// `.git`.
fn can_be_checked_out(path: &BStr) -> bool {
    path.split(|byte| *byte == b'/').all(|part| match part {
        b"" | b"." | b".." => false,
        part => !part.eq_ignore_ascii_case(b".git"),
    })
}

/// The prefix of the paths whose decisions depend on the file at `path`: `""` for all paths, otherwise ending
/// in `/`. `None` if no other path depends on it.
pub fn governs(path: &BStr) -> Option<BString> {
    let name_at = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    let (directory, name): (&[u8], &[u8]) = (&path[..name_at], &path[name_at..]);

    if name == ATTRIBUTES_FILE.as_bytes() || name == IGNORE_FILE.as_bytes() {
        return Some(directory.into());
    }
    // `vendor` is third-party next to a manifest, and always at the root.
    (tables::is_manifest(name) && !directory.is_empty()).then(|| [directory, b"vendor/"].concat().into())
}

/// Identity of everything besides the tree that decides: settings, built-in tables, version of the rules. 32
/// hexadecimal digits.
pub fn settings_fingerprint(settings: &PolicySettings) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(&VERSION.to_le_bytes());
    hash.update(tables::fingerprint().as_bytes());
    // The JSON names are part of the key: a renamed field keeps its old name by `#[serde(rename)]`.
    // Serialising plain lists and maps of strings cannot fail.
    hash.update(&serde_json::to_vec(settings).unwrap_or_default());
    hash.finalize().to_hex()[..32].to_owned()
}

/// Identity of the rules of [`Policy::decide_blob`] besides its arguments. 16 hexadecimal digits.
pub(crate) fn content_fingerprint() -> &'static str {
    content::fingerprint()
}

#[cfg(test)]
mod tests;
