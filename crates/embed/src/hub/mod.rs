//! Models by name: the cache of models, and the hub that they come from.
//!
//! A model is downloaded because the user named it, by `model get` or by `model.name` in the user's own
//! settings, and never because a repository did. The downloader of fastembed is not used, because it does not
//! resume a file, compares no hash and cannot read a bundle.
//!
//! The layout of a hub: `api/models/OWNER/NAME/revision/main` names a commit,
//! `api/models/OWNER/NAME/tree/COMMIT` its files with their sizes and hashes (SHA-256 of large ones, oids of
//! blobs of small ones), and `OWNER/NAME/resolve/COMMIT/PATH` is a file, mostly by a redirect to another
//! host. All files of a model are of one commit. `HF_ENDPOINT` names another hub, `HF_TOKEN` a token for it,
//! `HF_HUB_OFFLINE=1` forbids it.
//!
//! * [`download`]: one file. [`cache`]: the folders of models, and bundles of them for machines without a
//!   network.
//! * [`runtime`]: ONNX Runtime from a Python wheel.

pub mod cache;
pub mod download;
pub mod runtime;

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use codeweaver_http::{Limits, agent, check_base};

use super::EmbedError;
use super::local;
use cache::{Cache, Manifest};
use download::{Digest, Downloads, Failure, Fetcher, RemoteFile};

pub use super::known::{Kind, known};
pub use super::names::{folder_name, repository};

const ENDPOINT: &str = "https://huggingface.co";
/// Time until a response begins, and between two parts of it.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of redirects: from the hub to the host that has the files, with some between them.
const MAX_REDIRECTS: u32 = 5;
/// Maximum size of a list of files.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// Number of attempts to read a list.
const MAX_ATTEMPTS: u32 = 4;

/// The reason why a model cannot be downloaded, or a bundle cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    #[error("HF_HUB_OFFLINE forbids it")]
    Offline,
    #[error("{variable} {why}")]
    Setting { variable: &'static str, why: String },
    #[error("{url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} answered with status {status}")]
    Status { url: String, status: u16 },
    #[error("{url} is not open to everybody (status {status})")]
    Unauthorised { url: String, status: u16 },
    #[error("{url} answered what a hub does not answer: {why}")]
    Unreadable { url: String, why: &'static str },
    #[error("{url} has the hash {found} instead of {expected}")]
    Hash { url: String, expected: String, found: String },
    #[error("the repository {repository} has no {missing}")]
    Incomplete { repository: String, missing: String },
    #[error("there is no build of ONNX Runtime for {platform} to get")]
    Platform { platform: String },
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: String },
    #[error("{} is not a bundle of `model pack`: {why}", path.display())]
    Bundle { path: PathBuf, why: String },
    #[error("another process is downloading it")]
    Busy,
    #[error("neither XDG_CACHE_HOME nor HOME is set")]
    NoCache,
}

impl DownloadError {
    /// Returns one sentence on the remedy.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::Offline => {
                "unset HF_HUB_OFFLINE, or `git codeweaver model unpack` a bundle from another machine"
            }
            Self::Setting { .. } => "correct or unset the variable",
            Self::Unreachable { .. } | Self::Status { .. } => {
                "try again, which continues; behind a proxy set HTTPS_PROXY, and HF_ENDPOINT for a mirror"
            }
            Self::Unauthorised { .. } => "accept its terms on the hub, and export HF_TOKEN",
            Self::Unreadable { .. } => "check HF_ENDPOINT",
            Self::Hash { .. } => "try again; if it stays so, the server or something before it alters files",
            Self::Incomplete { .. } => "name another model: git codeweaver model list",
            Self::Platform { .. } => "pip install onnxruntime, or set `model.ort_library`",

            Self::Io { .. } => "make room or access there, and try again",
            Self::Bundle { .. } => "make it again with `git codeweaver model pack`",
            Self::Busy => "run the command again",
            Self::NoCache => "set HOME",
        }
    }
}

/// A file of a repository.
struct ListedFile {
    path: String,
    digest: Digest,
    size: u64,
}

/// A hub of models.
pub struct Hub {
    endpoint: String,
    token: Option<String>,
    agent: ureq::Agent,
}

impl Hub {
    /// Opens the hub that the environment names.
    pub fn from_environment() -> Result<Hub, DownloadError> {
        if is_offline() {
            return Err(DownloadError::Offline);
        }

        let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let (endpoint, is_local) = check_base(&endpoint)
            .map(|(base, is_local)| (base.to_owned(), is_local))
            .map_err(|why| DownloadError::Setting { variable: "HF_ENDPOINT", why: why.to_owned() })?;
        let agent = agent(Limits { timeout: TIMEOUT, max_redirects: MAX_REDIRECTS, is_local });
        Ok(Hub { endpoint, token: variable("HF_TOKEN"), agent })
    }

    /// Downloads the model `name` into `cache`, and returns its folder. A model that exists is left as it is.
    ///
    /// # Errors
    /// [`EmbedError::UnknownModel`], [`EmbedError::Download`]. The bytes that have arrived stay for the next
    /// call.
    pub fn get(&self, name: &str, cache: &Cache, progress: &dyn Downloads) -> Result<PathBuf, EmbedError> {
        let repository = repository(name)?;
        let short = folder_name(name);
        let failed = |error| EmbedError::Download { name: short.clone(), error };

        if cache.has(&short) {
            return Ok(cache.folder(&short));
        }

        let staging = cache.stage(&short).map_err(failed)?;
        self.download(&repository, &short, &staging.folder, progress).map_err(failed)?;
        staging.publish().map_err(failed)
    }

    /// Downloads the files of a repository that running the model needs, and writes their manifest.
    fn download(
        &self,
        repository: &str,
        name: &str,
        folder: &std::path::Path,
        progress: &dyn Downloads,
    ) -> Result<(), DownloadError> {
        let commit = self.read(&format!("api/models/{repository}/revision/main"))?;
        let source = format!("{}/{repository}", self.endpoint);
        let commit = commit["sha"].as_str().filter(|sha| sha.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let commit =
            commit.ok_or_else(|| DownloadError::Unreadable { url: source.clone(), why: "no commit" })?;

        let list = self.read(&format!("api/models/{repository}/tree/{commit}?recursive=true"))?;
        let list = list
            .as_array()
            .ok_or_else(|| DownloadError::Unreadable { url: source.clone(), why: "no list of files" })?;
        let files: Vec<ListedFile> = list.iter().filter_map(listed).collect();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let is_static = self.is_static(repository, name, commit, &paths)?;
        let wanted = local::choose(&paths, is_static)
            .map_err(|missing| DownloadError::Incomplete { repository: repository.to_owned(), missing })?;

        let fetcher = Fetcher { agent: &self.agent, token: self.token.as_deref(), progress };
        for file in files.iter().filter(|file| wanted.contains(&file.path.as_str())) {
            let target = folder.join(&file.path);
            if let Some(parent) = target.parent() {
                std::fs::create_dir_all(parent).map_err(download::io(parent))?;
            }
            let url = format!("{source}/resolve/{commit}/{}", file.path);
            fetcher.fetch(&RemoteFile { url, digest: file.digest.clone(), size: file.size }, &target)?;
        }
        Manifest::new(name, &source, commit, folder, &wanted)?.write(folder)
    }

    /// Returns whether the repository has a static model. Some of them also have an ONNX file, for other
    /// programs.
    fn is_static(
        &self,
        repository: &str,
        name: &str,
        commit: &str,
        paths: &[&str],
    ) -> Result<bool, DownloadError> {
        if let Some((_, kind, _)) = known().find(|(known, ..)| *known == name) {
            return Ok(kind == Kind::Static);
        }
        if !paths.contains(&"config.json") {
            return Ok(false);
        }

        let config = self.read(&format!("{repository}/resolve/{commit}/config.json"))?;
        Ok(config["model_type"].as_str() == Some(local::STATIC_TYPE))
    }

    /// Reads a JSON document of the hub.
    fn read(&self, path: &str) -> Result<Value, DownloadError> {
        let url = format!("{}/{path}", self.endpoint);
        let mut n_attempts = 0;
        loop {
            let (error, pause) = match self.attempt(&url) {
                Ok(value) => return Ok(value),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error, pause)) => (error, pause),
            };

            n_attempts += 1;
            if n_attempts == MAX_ATTEMPTS || pause.is_some_and(|pause| pause > TIMEOUT) {
                return Err(error);
            }
            let jitter = codeweaver_base::random::bits64() as f64 / u64::MAX as f64;
            std::thread::sleep(pause.unwrap_or_else(|| codeweaver_http::backoff(n_attempts - 1, jitter)));
        }
    }

    /// Sends one request for a JSON document.
    fn attempt(&self, url: &str) -> Result<Value, Failure> {
        let url = url.to_owned();
        let mut request = self.agent.get(&url);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }

        let response = match request.call() {
            Ok(response) => response,
            Err(error) => {
                let why = codeweaver_http::api::shortened(&error.to_string());
                return Err(Failure::Passing(DownloadError::Unreachable { url, why }, None));
            }
        };
        let status = response.status().as_u16();
        if status != 200 {
            let pause = codeweaver_http::header(&response, "retry-after").and_then(codeweaver_http::pause_of);
            return Err(match status {
                401 | 403 => Failure::Final(DownloadError::Unauthorised { url, status }),
                408 | 429 | 500 | 502..=504 => Failure::Passing(DownloadError::Status { url, status }, pause),
                _ => Failure::Final(DownloadError::Status { url, status }),
            });
        }

        let mut bytes = Vec::new();
        let read = response.into_body().into_reader().take(MAX_LIST_BYTES).read_to_end(&mut bytes);
        if let Err(error) = read {
            return Err(Failure::Passing(DownloadError::Unreachable { url, why: error.to_string() }, None));
        }
        serde_json::from_slice(&bytes)
            .map_err(|_| Failure::Final(DownloadError::Unreadable { url, why: "no JSON" }))
    }
}

/// The value of an environment variable, unless it is blank.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Returns whether the user forbids downloads.
pub fn is_offline() -> bool {
    std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !["", "0", "false", "no"].contains(&&*value))
}

/// Parses an entry of a list of the hub; `None` if it is not a file.
fn listed(entry: &Value) -> Option<ListedFile> {
    let digest = match hexadecimal(&entry["lfs"]["oid"], 64) {
        Some(oid) => Digest::Sha256(oid),
        None => Digest::GitBlob(hexadecimal(&entry["oid"], 40)?),
    };
    let is_file = entry["type"].as_str() == Some("file");
    let file = ListedFile { path: entry["path"].as_str()?.to_owned(), digest, size: entry["size"].as_u64()? };
    is_file.then_some(file)
}

/// The text of a value that consists of `n` hexadecimal digits.
fn hexadecimal(value: &Value, n: usize) -> Option<String> {
    let text = value.as_str()?;
    (text.len() == n && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}
