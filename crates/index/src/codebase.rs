//! A codebase: one worktree of a repository with its settings and the store that answers for it.

use std::path::{Path, PathBuf};

use codeweaver_chunk::{self as chunk, LanguageId, document, language};
use codeweaver_config::{Loaded, Settings, Sources};
use codeweaver_embed::{self as embed, EmbedError};
use codeweaver_git::Repo;
use codeweaver_store::layout::Trust;
use codeweaver_store::state::{Head, Marker, Phase, State};
use codeweaver_store::{Layout, StoreLayout, lock};

use super::error::IndexError;
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
        for name in loaded.settings.chunker.custom_delimiters.keys() {
            language::register(name);
        }

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
    pub(crate) fn create_store(&self) -> Result<StoreLayout, IndexError> {
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

    /// Refuses a `.codeweaver` that git tracks or that was made for another repository. Makes git ignore it
    /// again if it no longer does.
    pub fn check_trust(&self) -> Result<Trust, IndexError> {
        let trust = self.layout.trust()?;

        // A reader may not be allowed to write; `doctor` reports that.
        if trust == Trust::Ours
            && let Err(error) = self.layout.ignore()
        {
            tracing::debug!(component = "indexer", operation = "ignore the store", %error);
        }
        Ok(trust)
    }
}

const NO_LANGUAGE: &str = "there is no such language";
const NO_NAME: &str = "this cannot be the name of a language";
const DOCUMENT_LANGUAGE: &str = "documents are always split at their headings";

/// Warnings about languages in the settings that no file has.
fn language_warnings(loaded: &Loaded) -> Vec<String> {
    let chunker = &loaded.settings.chunker;
    let mut warnings = Vec::new();

    for name in chunker.custom_delimiters.keys() {
        let language = LanguageId::by_name(name);
        let why = match language {
            None => NO_NAME.to_owned(),
            Some(language) if language.is_registered() && !has_extension(loaded, language) => format!(
                "no file has it until its extensions are named: git codeweaver config set \
                 policy.file_extensions.EXT {}",
                language.name()
            ),
            Some(_) => continue,
        };
        warnings.extend(language_warning(loaded, "chunker.custom_delimiters", name, &why));
    }
    for name in &chunker.force_delimiter_for_languages {
        let why = match LanguageId::by_name(name).map(LanguageId::name) {
            None => NO_LANGUAGE.to_owned(),
            // The setting is compared as written, so another spelling of a name has no effect.
            Some(known) if known != name.as_str() => format!("the language is called `{known}` here"),
            Some(_) if LanguageId::by_name(name).is_some_and(document::is_document_language) => {
                DOCUMENT_LANGUAGE.to_owned()
            }
            Some(_) => continue,
        };
        warnings.extend(language_warning(loaded, "chunker.force_delimiter_for_languages", name, &why));
    }

    warnings
}

/// Returns whether the settings give an extension to `language`.
fn has_extension(loaded: &Loaded, language: LanguageId) -> bool {
    let mut names = loaded.settings.policy.file_extensions.values();
    names.any(|name| LanguageId::by_name(name) == Some(language))
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
