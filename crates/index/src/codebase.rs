//! A codebase: one worktree of a repository with its settings and the store that answers for it.

use std::path::{Path, PathBuf};

use codeweaver_chunk::{self as chunk, LanguageId};
use codeweaver_config::{Loaded, Settings, Sources};
use codeweaver_embed::{self as embed, EmbedError};
use codeweaver_git::Repo;
use codeweaver_store::layout::Trust;
use codeweaver_store::state::{Head, MARKER_KIND, Marker, Phase, State};
use codeweaver_store::{Layout, StoreLayout, StoreReader, lock};

use super::error::IndexError;
use super::status::Checkpoint;
use super::update::Target;
use crate::policy;

/// One worktree of a repository, with its settings and its place in the store. Fixed while one command runs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Codebase {
    /// The repository.
    pub repo: Repo,
    /// The location of `.codeweaver/`.
    pub layout: Layout,
    /// The settings in effect.
    pub settings: Settings,
    /// The origin of each setting, and warnings about ignored ones.
    pub loaded: Loaded,
    /// Name of this worktree within the shared store.
    pub worktree_key: String,
    /// Fingerprint of the vector space.
    pub vector_space: String,
    /// The reason why the model of the settings cannot be identified. `vector_space` is then that of an
    /// earlier index, which answers without dense retrieval; updates are refused.
    pub model_problem: Option<EmbedError>,
    /// Fingerprint of policy and chunker: part of every snapshot key.
    pub settings_fingerprint: String,
}

/// Lifecycle state of a codebase, with the details that a gate reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    /// No index has been completed.
    NotIndexed,
    /// A first index or a reindex ended before it was done. The next run continues with the stored chunks.
    Interrupted {
        /// Number of chunks that are stored.
        n_chunks: u64,
    },
    /// A first index or a reindex is running.
    Indexing,
    /// An index answers.
    Indexed,
    /// The first index failed, with the message of its error.
    IndexFailed(String),
    /// The index was built for other settings.
    RequiresReindex {
        /// Both sides of the difference.
        reason: String,
    },
}

impl Codebase {
    /// Opens the repository that contains `dir`. `overrides` are settings (key, value) that take precedence
    /// over all files.
    ///
    /// # Errors
    /// [`IndexError`] if there is no repository, if it uses an unsupported format, or if a setting is
    /// invalid.
    pub fn open(dir: &Path, overrides: &[(String, String)]) -> Result<Codebase, IndexError> {
        Codebase::from_repo(Repo::discover(dir)?, overrides)
    }

    /// As [`Self::open`], but ignores `GIT_DIR` and the other variables that git sets: the directory was
    /// named by the user.
    pub fn open_named(dir: &Path, overrides: &[(String, String)]) -> Result<Codebase, IndexError> {
        Codebase::from_repo(Repo::discover_named(dir)?, overrides)
    }

    fn from_repo(repo: Repo, overrides: &[(String, String)]) -> Result<Codebase, IndexError> {
        let mut sources = Sources::discover(repo.work_dir());
        sources.overrides.extend_from_slice(overrides);
        let loaded = Settings::load(&sources)?;

        match embed::fingerprint_of(&loaded.settings.model) {
            Ok(vector_space) => Ok(Codebase::with(repo, loaded, vector_space)),
            Err(problem) => {
                // The places of stores and states do not depend on the vector space.
                let mut codebase = Codebase::with(repo, loaded, String::new());
                let Some(vector_space) = codebase.earlier_vector_space() else { return Err(problem.into()) };
                (codebase.vector_space, codebase.model_problem) = (vector_space, Some(problem));
                Ok(codebase)
            }
        }
    }

    /// The vector space of an index of this worktree: one of the model of the settings if there is one,
    /// otherwise the newest of any other model.
    fn earlier_vector_space(&self) -> Option<String> {
        let prefix = embed::fingerprint_prefix(&self.settings.model);
        let states = self.layout.stores().into_iter().filter_map(|store| State::read(&store.state()).ok()?);
        let markers = states.filter_map(|state| {
            let head = self.head_in(&state).filter(|head| head.phase == Phase::Indexed)?;
            let space = head.marker.as_ref()?.fingerprint.clone();
            Some((space.starts_with(&prefix), head.last_run.as_ref().map(|run| run.finished_at), space))
        });

        markers.max().map(|(.., space)| space)
    }

    /// Opens a repository although its settings are invalid or its model is missing, to check the rest.
    ///
    /// Returns the problem beside a codebase with default settings or, if only the model is missing, with the
    /// vector space of the built-in one. The codebase must not be searched or updated.
    ///
    /// # Errors
    /// As [`Self::open`], but for [`IndexError::Config`] and [`IndexError::Embed`].
    pub fn open_despite_settings(repo: Repo) -> Result<(Codebase, Option<IndexError>), IndexError> {
        let problem = match Codebase::from_repo(repo.clone(), &[]) {
            Ok(mut codebase) => {
                let problem = codebase.model_problem.take().map(IndexError::from);
                return Ok((codebase, problem));
            }
            Err(problem @ (IndexError::Config(_) | IndexError::Embed(_))) => problem,
            Err(error) => return Err(error),
        };

        let vector_space = embed::fingerprint_of(&Settings::default().model)?;
        let loaded = match Settings::load(&Sources::discover(repo.work_dir())) {
            Ok(loaded) => loaded,
            Err(_) => Settings::load(&Sources::default())?,
        };

        Ok((Codebase::with(repo, loaded, vector_space), Some(problem)))
    }

    fn with(repo: Repo, mut loaded: Loaded, vector_space: String) -> Codebase {
        let warnings = language_warnings(&loaded);
        loaded.warnings.extend(warnings);

        let settings = loaded.settings.clone();
        let settings_fingerprint = settings_fingerprint(&settings);
        let layout = Layout::new(&repo);
        let worktree_key = repo.worktree_key();

        Codebase {
            repo,
            layout,
            settings,
            loaded,
            worktree_key,
            vector_space,
            model_problem: None,
            settings_fingerprint,
        }
    }

    /// The root of the worktree, or the git directory of a bare repository.
    pub fn root(&self) -> PathBuf {
        self.repo.work_dir().unwrap_or(self.repo.git_dir()).to_path_buf()
    }

    /// The store of the vector space in effect.
    pub fn store(&self) -> StoreLayout {
        self.layout.store(&self.vector_space)
    }

    /// The file with the hashes of files whose stat data does not prove that they are unchanged.
    pub fn stat_cache(&self) -> PathBuf {
        self.layout.cache().join(format!("stat-{}", self.worktree_key))
    }

    /// Creates the directories of the store where they are missing. They may have been removed since the
    /// process started (`git clean -fdx`); without its nonce a new `.codeweaver/` would not be trusted.
    pub fn create_store(&self) -> Result<StoreLayout, IndexError> {
        self.layout.create()?;
        let store = self.store();
        store.create()?;
        Ok(store)
    }

    /// The key of the snapshot of `tree_oid` under the current settings.
    pub fn snapshot_key(&self, tree_oid: &str) -> String {
        format!("{tree_oid}.{}", &self.settings_fingerprint[..16])
    }

    /// Reads all directories of a catalogue at HEAD, after which the blobs of its members can be read by
    /// their oids alone. Does nothing in an ordinary repository.
    ///
    /// # Errors
    /// [`IndexError::Git`] if a directory cannot be read.
    pub(super) fn find_member_blobs(&self) -> Result<(), IndexError> {
        if self.repo.is_catalogue()
            && let Some(tree) = self.repo.head()?.tree
        {
            codeweaver_git::walk_tree(&self.repo, &tree)?;
        }
        Ok(())
    }

    /// Returns whether a snapshot of the target's tree is published, so that an update has nothing to build.
    pub fn has_snapshot(&self, target: &Target) -> bool {
        let state = State::read(&self.store().state()).ok().flatten();
        state.is_some_and(|state| state.snapshots.contains_key(&self.snapshot_key(&target.tree_oid())))
    }

    /// The lifecycle state, derived from the stored state and never from the mere existence of files.
    pub fn lifecycle(&self, reader: Option<&StoreReader>) -> Lifecycle {
        self.lifecycle_in(reader.map(|reader| &*reader.state))
    }

    /// As [`Self::lifecycle`], from the state alone.
    pub fn lifecycle_in(&self, state: Option<&State>) -> Lifecycle {
        let head = state.and_then(|state| self.head_in(state));
        let is_held = || self.lease_holder().is_some();

        match head {
            Some(head) => match head.phase {
                Phase::Indexed if self.accepts(head) => Lifecycle::Indexed,
                Phase::IndexFailed if is_held() => Lifecycle::Indexing,
                Phase::IndexFailed => Lifecycle::IndexFailed(head.failure.clone().unwrap_or_default()),
                Phase::Indexing | Phase::Indexed if is_held() => Lifecycle::Indexing,
                Phase::Indexing => {
                    Lifecycle::Interrupted { n_chunks: super::status::unfinished(self).unwrap_or(0) }
                }
                Phase::Indexed => Lifecycle::NotIndexed,
            },
            // A run for the current vector space has begun. Before that, a held lock must not hide that the
            // index does not fit.
            None if super::status::running(self).is_some() => Lifecycle::Indexing,
            None => match self.other_store() {
                Some(other) => Lifecycle::RequiresReindex { reason: other },
                None if is_held() => Lifecycle::Indexing,
                None if Checkpoint::read(self).is_some() => Lifecycle::Interrupted { n_chunks: 0 },
                None => Lifecycle::NotIndexed,
            },
        }
    }

    /// The command that leads from this state to a usable index; `None` if none is needed.
    pub fn remedy(&self, lifecycle: &Lifecycle) -> Option<&'static str> {
        match lifecycle {
            Lifecycle::Indexed | Lifecycle::Indexing => None,
            Lifecycle::NotIndexed if !self.layout.was_initialised() => Some("git codeweaver init"),
            Lifecycle::NotIndexed | Lifecycle::Interrupted { .. } | Lifecycle::IndexFailed(_) => {
                Some("git codeweaver index")
            }
            Lifecycle::RequiresReindex { .. } => Some("git codeweaver index --reindex"),
        }
    }

    /// The holder of the work lease, for example `PID 4711, started 2026-11-21T10:00:00Z`.
    pub fn lease_holder(&self) -> Option<String> {
        lock::holder(&self.layout.work_lock(&self.worktree_key))
    }

    /// Returns the head of this worktree, wherever its directory is now.
    ///
    /// `None` if the head under its name is that of another worktree: a new linked worktree can have the name
    /// of a removed one. Every reader of a state uses this function, so that all agree on what is indexed.
    pub fn head_in<'s>(&self, state: &'s State) -> Option<&'s Head> {
        let head = state.heads.get(&self.worktree_key)?;
        head.marker.as_ref().is_none_or(|marker| self.is_marked_by(marker)).then_some(head)
    }

    /// Returns whether `marker` belongs to this worktree and not to another one of the same name. Its path
    /// does not decide that: a directory can be moved, and be mounted at several places at once. The nonce
    /// proves that the store belongs to this repository, which has one main worktree; a linked one has an
    /// identity of its own.
    fn is_marked_by(&self, marker: &Marker) -> bool {
        match &marker.worktree_id {
            Some(id) => self.layout.worktree_id().as_ref() == Some(id),
            // A marker of a linked worktree from a version that knew only paths.
            None => !self.repo.is_linked() || marker.codebase_path == self.root().to_string_lossy(),
        }
    }

    /// Returns whether the completion marker of `head` proves an index in this vector space.
    fn accepts(&self, head: &Head) -> bool {
        head.marker
            .as_ref()
            .is_some_and(|marker| marker.kind == MARKER_KIND && marker.fingerprint == self.vector_space)
    }

    /// Refuses a `.codeweaver` that git tracks or that was made for another repository.
    pub fn check_trust(&self) -> Result<Trust, IndexError> {
        Ok(self.layout.trust()?)
    }

    /// The description of a store of another vector space that has an index of this worktree.
    fn other_store(&self) -> Option<String> {
        let ours = self.store();
        for store in self.layout.stores().into_iter().filter(|store| *store != ours) {
            let Ok(Some(state)) = State::read(&store.state()) else { continue };
            let Some(marker) = self.head_in(&state).and_then(|head| head.marker.as_ref()) else { continue };
            return Some(format!(
                "the index was built with {}, the settings name {}",
                marker.fingerprint, self.vector_space
            ));
        }

        None
    }
}

const NO_LANGUAGE: &str = "there is no such language";

/// Warnings about languages in the settings that no file has.
fn language_warnings(loaded: &Loaded) -> Vec<String> {
    let chunker = &loaded.settings.chunker;
    let mut warnings = Vec::new();

    for name in chunker.custom_delimiters.keys() {
        if LanguageId::by_name(name).is_none() {
            warnings.extend(language_warning(loaded, "chunker.custom_delimiters", name, NO_LANGUAGE));
        }
    }
    for name in &chunker.force_delimiter_for_languages {
        let why = match LanguageId::by_name(name).map(LanguageId::name) {
            None => NO_LANGUAGE.to_owned(),
            // The setting is compared as written, so another spelling of a name has no effect.
            Some(known) if known != name.as_str() => format!("the language is called `{known}` here"),
            Some(_) => continue,
        };
        warnings.extend(language_warning(loaded, "chunker.force_delimiter_for_languages", name, &why));
    }

    warnings
}

/// A warning about the language `name` in the setting `key`; `None` if the setting has its default.
fn language_warning(loaded: &Loaded, key: &str, name: &str, why: &str) -> Option<String> {
    let origin = loaded.origins.get(key)?;
    Some(format!("{origin}: `{key}` has no effect for '{}': {why}", name.escape_debug()))
}

/// A hash of everything besides the vector space that decides what a snapshot contains.
fn settings_fingerprint(settings: &Settings) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(policy::settings_fingerprint(&settings.policy).as_bytes());
    hasher.update(&[u8::from(settings.index.excerpts)]);
    hasher.update(chunk::fingerprint_of_all(&settings.chunker).as_bytes());
    hasher.finalize().to_hex().to_string()
}
