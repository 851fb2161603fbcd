//! The policy of the directories of a tree, read on demand and inherited downwards.

use std::sync::{Arc, Mutex, RwLock};

use gix::objs::{Kind, TreeRefIter, tree::EntryKind};
use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_git::Members;
use codeweaver_git::{BStr, BString, ByteSlice as _, GitError, Objects, Oid, Repo};

use super::rules::{AttributeRules, Attributes, Globs, Macros, Replaced, Resolution, RuleSet, Verdict};
use super::{ATTRIBUTES_FILE, IGNORE_FILE, PathFlags, tables};

/// Maximum size of a policy file. Larger ones are ignored.
const MAX_POLICY_FILE_BYTES: u64 = 1 << 20;
/// Maximum depth of a path. Deeper ones cannot exist on disk.
const MAX_DEPTH: usize = 1_000;

/// The directories of a tree, loaded on demand.
pub(super) struct Directories {
    /// Loaded directories by path without trailing slash.
    loaded: RwLock<FxHashMap<BString, Arc<Directory>>>,
    reader: Mutex<Reader>,
    include: Globs,
    exclude: Globs,
    root_tree: Option<Oid>,
    /// The repositories in the tree of a catalogue.
    members: Arc<Members>,
    macros: Macros,
    replaced: Replaced,
}

/// One directory with everything inherited from its parents.
pub(super) struct Directory {
    /// Subdirectories with their trees.
    subtrees: FxHashMap<BString, Oid>,
    has_manifest: bool,
    /// Applicable rules, nearest first; shared with the parent if this directory adds none.
    rules: Arc<[Arc<RuleSet>]>,
    /// The verdict on all paths below that have none of their own.
    verdict: Option<Verdict>,
    in_settings: InSettings,
    vendored: bool,
    flags: PathFlags,
    /// Number of directories from the outermost directory of sources to this one, both included; 0 outside.
    depth_in_sources: usize,
}

/// The fields of [`Directory`] that follow from names.
#[derive(Default)]
struct Roles {
    has_manifest: bool,
    vendored: bool,
    flags: PathFlags,
    depth_in_sources: usize,
}

/// Result of the `include` and `exclude` globs of the settings.
#[derive(Clone, Copy)]
pub(super) struct InSettings {
    pub included: bool,
    pub excluded: bool,
}

impl Directory {
    pub fn flags(&self) -> PathFlags {
        self.flags
    }

    /// Returns whether the directory or one above it is third-party by the table of directory names.
    pub(crate) fn is_vendored(&self) -> bool {
        self.vendored
    }

    /// The attributes of a file in this directory.
    pub fn attributes(&self, path: &BStr) -> Attributes {
        let mut resolution = Resolution::default();

        for rules in self.rules.iter().filter(|rules| !rules.attributes.is_empty()) {
            rules.attributes.apply(rules.relative(path), &mut resolution);
        }

        resolution.finish()
    }

    /// The verdict of the ignore rules on a file in this directory.
    pub fn verdict(&self, path: &BStr) -> Verdict {
        verdict(&self.rules, self.verdict, path, false).unwrap_or(Verdict::NotIgnored)
    }
}

/// The verdict of the nearest rule that matches, otherwise the inherited one. As in git, an ignored directory
/// cannot contain exceptions.
fn verdict(rules: &[Arc<RuleSet>], inherited: Option<Verdict>, path: &BStr, is_dir: bool) -> Option<Verdict> {
    if inherited == Some(Verdict::Ignored) {
        return inherited;
    }

    let own = rules.iter().find_map(|rules| rules.ignore.verdict(rules.relative(path), is_dir));
    own.or(inherited)
}

impl Directories {
    pub fn new(repo: &Repo, tree: Option<&Oid>, include: Globs, exclude: Globs) -> Result<Self, GitError> {
        let reader = Reader { objects: repo.objects(), buffer: Vec::new() };
        let members = tree.map(|tree| repo.members_of(tree)).transpose()?.unwrap_or_default();

        let mut directories = Directories {
            loaded: RwLock::default(),
            reader: Mutex::new(reader),
            include,
            exclude,
            root_tree: tree.copied(),
            members,
            macros: Macros::default(),
            replaced: Replaced::default(),
        };

        directories.reset()?;
        Ok(directories)
    }

    /// Replaces a policy file, or removes it, and drops everything that was derived from it.
    pub fn replace_file(&mut self, path: &BStr, bytes: Option<Vec<u8>>) {
        self.replaced.insert(path.to_owned(), bytes);
        // `new` has read the tree; if it cannot be read again, directories have no rules.
        self.reset().unwrap_or_default();
    }

    /// Drops all loaded directories and loads the root.
    fn reset(&mut self) -> Result<(), GitError> {
        let mut reader = sync::lock(&self.reader);
        let listing = match &self.root_tree {
            Some(tree) => reader.list(tree)?,
            None => Listing::default(),
        };

        let attributes = self.policy_file(&mut reader, BStr::new(""), ATTRIBUTES_FILE, listing.attributes);
        drop(reader);
        // Before the rules of the root are parsed, which may use them.
        self.macros = AttributeRules::parse_macros(&attributes);

        let above = Directory {
            subtrees: FxHashMap::default(),
            has_manifest: false,
            rules: Arc::default(),
            verdict: None,
            in_settings: InSettings { included: self.include.is_empty(), excluded: false },
            vendored: false,
            flags: PathFlags::default(),
            depth_in_sources: 0,
        };
        let root = self.directory(&above, BStr::new(""), listing);

        let mut loaded = sync::write(&self.loaded);
        loaded.clear();
        loaded.insert(BString::default(), Arc::new(root));
        Ok(())
    }

    /// The directory `path` (`""` is the root), which need not be in the tree. `None` if it exceeds
    /// [`MAX_DEPTH`].
    pub fn get(&self, path: &[u8]) -> Option<Arc<Directory>> {
        if let Some(directory) = self.loaded(path) {
            return Some(directory);
        }
        if path.iter().filter(|byte| **byte == b'/').count() > MAX_DEPTH {
            return None;
        }

        let mut current = self.loaded(b"")?;
        let ends = path.find_iter("/").chain([path.len()]);
        let mut start = 0;
        // Each directory needs the rules of the one above it, so the path is loaded from the root down.
        for end in ends {
            let (name, so_far) = (&path[start..end], path[..end].as_bstr());
            current = match self.loaded(so_far) {
                Some(directory) => directory,
                None => self.load(&current, so_far, name),
            };
            start = end + 1;
        }

        Some(current)
    }

    /// The result of the globs of the settings for a file in `directory`.
    pub(crate) fn in_settings(&self, directory: &Directory, path: &BStr) -> InSettings {
        self.settings_verdict(directory.in_settings, path, false)
    }

    fn loaded(&self, path: &[u8]) -> Option<Arc<Directory>> {
        sync::read(&self.loaded).get(path.as_bstr()).cloned()
    }

    /// Loads `path`, a child of `parent` with the given `name`.
    fn load(&self, parent: &Arc<Directory>, path: &BStr, name: &[u8]) -> Arc<Directory> {
        let tree = parent.subtrees.get(name.as_bstr());
        let listing = tree.and_then(|tree| {
            // A directory whose tree is missing from a partial clone has no rules of its own.
            sync::lock(&self.reader).list(tree).ok()
        });

        let in_tree = listing.is_some();
        let directory = Arc::new(self.directory(parent, path, listing.unwrap_or_default()));
        if in_tree {
            // Directories outside of the tree are not stored, so that decisions about paths that do not exist
            // use no memory.
            let mut loaded = sync::write(&self.loaded);
            loaded.insert(path.to_owned(), directory.clone());
        }

        directory
    }

    /// Combines the listing of a directory with everything inherited from its parent.
    fn directory(&self, parent: &Directory, path: &BStr, listing: Listing) -> Directory {
        let rules = self.rules(parent, path, &listing);
        let is_root = path.is_empty();
        let roles = self.roles(parent, path, &listing);

        Directory {
            subtrees: listing.subtrees,
            has_manifest: roles.has_manifest,
            // Rules of a directory do not apply to the directory itself.
            verdict: if is_root { None } else { verdict(&parent.rules, parent.verdict, path, true) },
            rules,
            in_settings: if is_root {
                parent.in_settings
            } else {
                self.settings_verdict(parent.in_settings, path, true)
            },
            vendored: roles.vendored,
            flags: roles.flags,
            depth_in_sources: roles.depth_in_sources,
        }
    }

    /// What the names of a directory and of those above it say about its files. The root of a repository
    /// begins anew: a member of a catalogue has the files that it has by itself, whatever its name is.
    fn roles(&self, parent: &Directory, path: &BStr, listing: &Listing) -> Roles {
        if path.is_empty() || path.to_str().is_ok_and(|path| self.members.get(path).is_some()) {
            // `vendor` at the root is always third-party.
            return Roles { has_manifest: true, ..Roles::default() };
        }

        let name = path.rfind_byte(b'/').map_or(path.as_bytes(), |slash| &path[slash + 1..]);
        let kinds = tables::of_directory(name);
        let vendored = kinds & tables::VENDORED != 0
            || kinds & tables::VENDORED_BY_MANIFEST != 0 && (parent.has_manifest || listing.has_manifest);
        let is_in_sources = parent.depth_in_sources > 0 || kinds & tables::SOURCES != 0;

        let mut flags = parent.flags | tables::flags(kinds);
        if kinds & tables::TEST_OUTSIDE_PACKAGES != 0 && parent.depth_in_sources < 2 {
            flags = flags | PathFlags::TEST;
        }

        Roles {
            has_manifest: listing.has_manifest,
            vendored: parent.vendored || vendored,
            flags,
            depth_in_sources: parent.depth_in_sources + usize::from(is_in_sources),
        }
    }

    /// The rules of a directory, nearest first; those of the parent if it adds none.
    fn rules(&self, parent: &Directory, path: &BStr, listing: &Listing) -> Arc<[Arc<RuleSet>]> {
        let replaced = !self.replaced.is_empty();
        if listing.attributes.is_none() && listing.ignore.is_none() && !replaced {
            return parent.rules.clone();
        }

        let mut reader = sync::lock(&self.reader);
        let attributes = self.policy_file(&mut reader, path, ATTRIBUTES_FILE, listing.attributes);
        let ignore = self.policy_file(&mut reader, path, IGNORE_FILE, listing.ignore);
        let own = RuleSet {
            base: if path.is_empty() { 0 } else { path.len() + 1 },
            attributes: AttributeRules::parse(&attributes, &self.macros),
            ignore: Globs::from_ignore_file(&ignore),
        };

        if own.attributes.is_empty() && own.ignore.is_empty() {
            return parent.rules.clone();
        }

        std::iter::once(Arc::new(own)).chain(parent.rules.iter().cloned()).collect()
    }

    /// The result of the globs of the settings for `path`, given that of the directory above it.
    fn settings_verdict(&self, inherited: InSettings, path: &BStr, is_dir: bool) -> InSettings {
        InSettings {
            included: is_listed(&self.include, path, is_dir, inherited.included),
            excluded: inherited.excluded || is_listed(&self.exclude, path, is_dir, false),
        }
    }

    /// Reads a policy file; empty if there is none or it cannot be read.
    fn policy_file(&self, reader: &mut Reader, directory: &BStr, name: &str, oid: Option<Oid>) -> Vec<u8> {
        if !self.replaced.is_empty() {
            let mut path = directory.to_owned();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name.as_bytes());
            if let Some(bytes) = self.replaced.get(&path) {
                return bytes.clone().unwrap_or_default();
            }
        }

        oid.and_then(|oid| reader.blob(&oid)).unwrap_or_default()
    }
}

/// Returns whether `globs` match a path. Without a match, the result for the directory above it applies.
fn is_listed(globs: &Globs, path: &BStr, is_dir: bool, inherited: bool) -> bool {
    match globs.verdict(path, is_dir) {
        Some(Verdict::Ignored) => true,
        Some(_) => false,
        None => inherited,
    }
}

/// The entries of a tree object that the policy needs.
#[derive(Default)]
struct Listing {
    subtrees: FxHashMap<BString, Oid>,
    attributes: Option<Oid>,
    ignore: Option<Oid>,
    has_manifest: bool,
}

/// Reads objects into one buffer.
struct Reader {
    objects: Objects,
    buffer: Vec<u8>,
}

impl Reader {
    /// Reads the entries of a tree.
    fn list(&mut self, tree: &Oid) -> Result<Listing, GitError> {
        let mut listing = Listing::default();
        if tree.is_empty_tree() {
            return Ok(listing);
        }

        let bad = |reason: String| GitError::BadObject { oid: *tree, expected: "tree", reason };
        let found = self.objects.try_find(tree, &mut self.buffer).map_err(bad)?;
        let found = found.ok_or(GitError::ObjectMissing { oid: *tree })?;

        if found.kind != Kind::Tree {
            return Err(bad(format!("it is a {}", found.kind)));
        }

        for entry in TreeRefIter::from_bytes(found.data, tree.kind()) {
            let entry = entry.map_err(|error| bad(error.to_string()))?;
            let name: &[u8] = entry.filename;
            match entry.mode.kind() {
                EntryKind::Tree => {
                    listing.subtrees.insert(name.into(), entry.oid.to_owned());
                }
                // As in git, a policy file that is a symbolic link is ignored.
                EntryKind::Blob | EntryKind::BlobExecutable => {
                    if name == ATTRIBUTES_FILE.as_bytes() {
                        listing.attributes = Some(entry.oid.to_owned());
                    } else if name == IGNORE_FILE.as_bytes() {
                        listing.ignore = Some(entry.oid.to_owned());
                    }
                    listing.has_manifest |= tables::is_manifest(name);
                }
                EntryKind::Link | EntryKind::Commit => {}
            }
        }

        Ok(listing)
    }

    /// Reads a policy file; `None` if it is missing or too large.
    fn blob(&mut self, oid: &Oid) -> Option<Vec<u8>> {
        let header = self.objects.try_header(oid).ok()??;
        if header.kind != Kind::Blob || header.size > MAX_POLICY_FILE_BYTES {
            return None;
        }

        let found = self.objects.try_find(oid, &mut self.buffer).ok()??;
        Some(found.data.to_vec())
    }
}
