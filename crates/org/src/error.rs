//! Errors: what does not work, why, and the remedy.

use codeweaver::QueryError;
use codeweaver_git::GitError;
use codeweaver_index::IndexError;
use codeweaver_store::StoreError;

/// Why the index of an organisation cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum OrgError {
    /// The URL or the key cannot be used.
    #[error("{what} {why}")]
    Setting {
        /// The setting.
        what: &'static str,
        /// The rule that it violates.
        why: String,
    },
    /// The engine cannot be reached.
    #[error("the engine at {url} cannot be reached: {why}")]
    Unreachable {
        /// Without credentials.
        url: String,
        /// The reason.
        why: String,
    },
    /// 401 or 403 without the block of a full disk.
    #[error("the engine refuses the key (status {status}): {why}")]
    Unauthorised {
        /// Of the response.
        status: u16,
        /// The engine's words.
        why: String,
    },
    /// The engine has too little disk space and takes no documents.
    #[error("the engine takes no documents: {why}")]
    Full {
        /// The engine's words.
        why: String,
    },
    /// The index takes no documents while `org reindex` copies it, or after one that was interrupted.
    #[error("the index takes no documents while it is copied: {why}")]
    Blocked {
        /// The engine's words.
        why: String,
    },
    /// Another process copies the index.
    #[error("another process copies the index to {index}")]
    Copied {
        /// The copy.
        index: String,
    },
    /// Shards are missing, or the engine is overloaded, also after some pauses.
    #[error("the engine does not answer completely: {why}")]
    Degraded {
        /// The engine's words.
        why: String,
    },
    /// There is no index under this name.
    #[error("there is no index called {prefix} at {url}")]
    Missing {
        /// The URL of the engine.
        url: String,
        /// The name of the index.
        prefix: String,
    },
    /// There is an index under this name already.
    #[error("there is an index called {prefix} already")]
    Exists {
        /// The name of the index.
        prefix: String,
    },
    /// The index is of another version or of another model.
    #[error("the index {prefix} does not fit this program: {why}")]
    Unfit {
        /// The name of the index.
        prefix: String,
        /// The difference.
        why: String,
    },
    /// The index has the fields of an earlier version and takes no pushes.
    #[error("the index {prefix} has the fields of version {version}")]
    Outdated {
        /// The name of the index.
        prefix: String,
        /// The version.
        version: u32,
    },
    /// Another process pushes the same repository.
    #[error("{member} is being pushed by another process")]
    Busy {
        /// The name of the repository.
        member: String,
    },
    /// There is no such repository in the index.
    #[error("the index has no repository called {member}")]
    NoMember {
        /// The name.
        member: String,
    },
    /// A repository cannot be pushed as it is.
    #[error("{what}: {why}")]
    Local {
        /// What cannot be pushed.
        what: String,
        /// The reason.
        why: String,
    },
    /// The engine answers otherwise than it should.
    #[error("the answer of the engine cannot be used (status {status}): {why}")]
    Answer {
        /// Of the response.
        status: u16,
        /// The engine's words, or the missing field.
        why: String,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The local index cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The local index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl OrgError {
    /// What does not work, as the first line of a message.
    pub fn what(&self) -> String {
        match self {
            OrgError::Setting { what, .. } => format!("{what} cannot be used"),
            OrgError::Unreachable { url, .. } => format!("the engine at {url} cannot be reached"),
            OrgError::Unauthorised { .. } => "the engine refuses the key".to_owned(),
            OrgError::Full { .. } => "the engine takes no documents".to_owned(),
            OrgError::Blocked { .. } => "the index takes no documents while it is copied".to_owned(),
            OrgError::Copied { .. } => "the index is not copied".to_owned(),

            OrgError::Degraded { .. } => "the engine does not answer completely".to_owned(),
            OrgError::Missing { prefix, .. } => format!("there is no index called {prefix}"),
            OrgError::Exists { prefix } => format!("there is an index called {prefix} already"),
            OrgError::Unfit { prefix, .. } => format!("the index {prefix} does not fit this program"),
            OrgError::Outdated { prefix, .. } => format!("the index {prefix} takes no pushes"),
            OrgError::Busy { member } => format!("{member} is not pushed"),
            OrgError::NoMember { member } => format!("there is no repository called {member}"),
            OrgError::Local { what, .. } => what.clone(),
            OrgError::Answer { .. } => "the answer of the engine cannot be used".to_owned(),
            OrgError::Git(error) => error.to_string(),
            OrgError::Store(error) => error.to_string(),
            OrgError::Index(error) => error.to_string(),
        }
    }

    /// The reason.
    pub fn why(&self) -> String {
        match self {
            OrgError::Setting { why, .. }
            | OrgError::Unreachable { why, .. }
            | OrgError::Full { why }
            | OrgError::Blocked { why }
            | OrgError::Degraded { why }
            | OrgError::Unfit { why, .. }
            | OrgError::Local { why, .. } => why.clone(),
            OrgError::Unauthorised { status, why } | OrgError::Answer { status, why } => {
                format!("status {status}: {why}")
            }

            OrgError::Missing { url, .. } => format!("the engine at {url} has none of that name"),
            OrgError::Exists { .. } => "it would be overwritten".to_owned(),
            OrgError::Copied { index } => format!("another process copies it to {index}"),
            OrgError::Outdated { version, .. } => format!("it has the fields of version {version}"),
            OrgError::Busy { .. } => "another process pushes it".to_owned(),
            OrgError::NoMember { .. } => "no push has named it".to_owned(),
            OrgError::Git(_) | OrgError::Store(_) | OrgError::Index(_) => "see above".to_owned(),
        }
    }

    /// The remedy.
    pub fn fix(&self) -> String {
        match self {
            OrgError::Setting { .. } => {
                "name the engine as https://HOST:PORT/NAME, and export CODEWEAVER_ORG_KEY for its key".to_owned()
            }
            OrgError::Unreachable { .. } => "check the URL, the network and that the engine runs".to_owned(),
            OrgError::Unauthorised { .. } => {
                "export CODEWEAVER_ORG_KEY=USER:PASSWORD or an API key of the engine".to_owned()
            }
            OrgError::Full { .. } => {
                "give the engine more disk space, or run git codeweaver org gc; the push is resumed when it is repeated"
                    .to_owned()
            }

            OrgError::Degraded { .. } => "look at git codeweaver org status, and try again".to_owned(),
            OrgError::Missing { .. } => "git codeweaver org init URL".to_owned(),
            OrgError::Exists { .. } => "name another index at the end of the URL".to_owned(),
            OrgError::Unfit { .. } => {
                "use the version and the model that made it, or make another with git codeweaver org init".to_owned()
            }
            OrgError::Outdated { .. } => {
                "git codeweaver org reindex brings it up to date while it is searched".to_owned()
            }
            OrgError::Blocked { .. } => {
                "wait for the end of git codeweaver org reindex; if it was interrupted, run it again".to_owned()
            }
            OrgError::Copied { .. } => {
                "wait for its end; one that was killed counts as dead after --take-over seconds".to_owned()
            }
            OrgError::Busy { .. } => "repeat the push when the other one has ended".to_owned(),
            OrgError::NoMember { .. } => "git codeweaver org status lists them".to_owned(),
            OrgError::Local { .. } => "correct that, and push again".to_owned(),
            OrgError::Answer { .. } => "check that the URL is that of OpenSearch with its k-NN plug-in".to_owned(),
            OrgError::Git(_) => "check the repository".to_owned(),
            OrgError::Store(_) | OrgError::Index(_) => "git codeweaver doctor".to_owned(),
        }
    }
}

impl From<OrgError> for QueryError {
    fn from(error: OrgError) -> QueryError {
        match error {
            OrgError::Git(error) => error.into(),
            OrgError::Store(error) => error.into(),
            OrgError::Index(error) => error.into(),
            error => QueryError::Engine { what: error.what(), why: error.why(), fix: error.fix() },
        }
    }
}
