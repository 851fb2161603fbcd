//! `--org`: the engine of an organisation, and the codebase that stands beside it.
//!
//! A repository or catalogue at hand gives the texts that the engine does not keep, and the commits by which
//! an answer is known to be outdated. Elsewhere an empty catalogue takes its place.

use std::path::PathBuf;
use std::sync::Arc;

use codeweaver::query::Engine;
use codeweaver_git::GitError;
use codeweaver_index::catalogue::{Catalogue, Which};
use codeweaver_index::progress::Silent;
use codeweaver_index::{Codebase, IndexError};
use codeweaver_org::search::OrgEngine;
use codeweaver_org::{Address, Org};

use super::context::Context;
use super::error::CliError;

/// The engine of an organisation.
pub struct OrgPlace {
    pub engine: Arc<dyn Engine>,
    /// The codebase beside it.
    pub codebase: Codebase,
    /// Its directory.
    pub dir: PathBuf,
    /// Keeps the directory of an empty catalogue.
    _empty: Option<tempfile::TempDir>,
}

impl OrgPlace {
    /// Opens the index at `url`.
    pub fn open(url: &str, context: &Context) -> Result<OrgPlace, CliError> {
        let address = Address::from_environment(url)?;
        let (codebase, dir, empty) = match context.open() {
            Ok(codebase) => (codebase, context.dir.clone(), None),
            // A directory that the user names must be a repository.
            Err(IndexError::Git(GitError::NotARepository { .. })) if !context.is_explicit => {
                let place = tempfile::tempdir()?;
                let dir = place.path().join("empty.git");
                let catalogue = Catalogue::create(&dir)?;
                catalogue.sync(&Which::All, &Silent)?;
                (catalogue.codebase()?, dir, Some(place))
            }
            Err(error) => return Err(error.into()),
        };

        let org = Org::open_to_search(address)?;
        org.check_space(&codebase.vector_space)?;
        let engine = OrgEngine::new(Arc::new(org)).with_known_commits(known_commits(&codebase));
        Ok(OrgPlace { engine: Arc::new(engine), codebase, dir, _empty: empty })
    }
}

/// The commits of the repositories at hand, by the names that they are pushed under.
fn known_commits(codebase: &Codebase) -> Vec<(String, String)> {
    let members = codebase.repo.members().unwrap_or_default();
    let commits =
        members.all().iter().filter_map(|member| Some((member.name.clone(), member.commit.clone()?)));
    commits.collect()
}
