//! Download of one file: resumed where it broke off, and checked by its hash before it has its name.
//!
//! What has arrived is in `NAME.part` beside the target. A further request asks for the rest by `Range`; a
//! server that sends the whole file instead starts it anew. Passing failures are retried as long as bytes
//! arrive between them.

use super::DownloadError;
use codeweaver_base::random;
use codeweaver_git as git;
use codeweaver_http::api::shortened;
use codeweaver_http::{backoff, header, pause_of};
use sha2::Digest as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Number of failures in sequence, without a byte between them, after which a download is given up.
const MAX_FAILURES: u32 = 5;
/// A server that asks for a longer pause gets no further request.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Number of times that a file with the wrong hash is fetched.
const MAX_MISMATCHES: u32 = 2;
const BUFFER: usize = 128 * 1024;

/// Receives the progress of downloads.
pub trait Downloads: Sync {
    /// A file begins, of which `have` of `size` bytes are there.
    fn begin(&self, _name: &str, _have: u64, _size: u64) {}
    fn add(&self, _n_bytes: u64) {}
}

/// What identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256, as of files in Git LFS.
    Sha256(String),
    /// The oid of a blob, as of files in git.
    GitBlob(String),
}

impl Digest {
    fn of(&self, path: &Path) -> Result<String, DownloadError> {
        match self {
            Digest::Sha256(_) => sha256(path),
            Digest::GitBlob(_) => {
                let bytes = std::fs::read(path).map_err(io(path))?;
                Ok(git::hash_blob(&bytes, git::SHA1).to_string())
            }
        }
    }

    fn expected(&self) -> &str {
        match self {
            Digest::Sha256(text) | Digest::GitBlob(text) => text,
        }
    }
}

/// The SHA-256 of a file in hexadecimal digits.
pub fn sha256(path: &Path) -> Result<String, DownloadError> {
    let mut file = File::open(path).map_err(io(path))?;
    let (mut hasher, mut buffer) = (sha2::Sha256::new(), vec![0; BUFFER]);
    loop {
        match file.read(&mut buffer).map_err(io(path))? {
            0 => return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

pub fn io(path: &Path) -> impl Fn(std::io::Error) -> DownloadError + '_ {
    |error| DownloadError::Io { path: path.to_owned(), why: error.to_string() }
}

/// A file on a server.
#[derive(Debug, Clone)]
pub struct RemoteFile {
    pub url: String,
    pub digest: Digest,
    pub size: u64,
}

/// Why a request did not bring the rest of a file.
enum Failure {
    Final(DownloadError),
    /// With the pause that the server asks for.
    Passing(DownloadError, Option<Duration>),
}

impl From<DownloadError> for Failure {
    fn from(error: DownloadError) -> Failure {
        Failure::Final(error)
    }
}

/// Fetches files with one client.
pub struct Fetcher<'a> {
    pub agent: &'a ureq::Agent,
    /// Sent to the first host only.
    pub token: Option<&'a str>,
    pub progress: &'a dyn Downloads,
}

impl Fetcher<'_> {
    /// Makes `target` the content of `file`; asks nothing of the server if it is that already.
    ///
    /// # Errors
    /// Any [`DownloadError`]. What has arrived is kept and continued by the next call, unless its hash is
    /// wrong.
    pub fn fetch(&self, file: &RemoteFile, target: &Path) -> Result<(), DownloadError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if len(target) == file.size && file.digest.of(target)? == file.digest.expected() {
            self.progress.begin(&name, file.size, file.size);
            return Ok(());
        }
        let part = PathBuf::from(format!("{}.part", target.display()));
        let (mut n_failures, mut n_mismatches) = (0, 0);
        loop {
            let have = len(&part);
            self.progress.begin(&name, have.min(file.size), file.size);
            match self.rest(file, &part) {
                Ok(()) => {
                    let found = file.digest.of(&part)?;
                    if found == file.digest.expected() {
                        let synced = File::open(&part).and_then(|part| part.sync_all());
                        synced.map_err(io(&part))?;
                        return std::fs::rename(&part, target).map_err(io(target));
                    }
                    std::fs::remove_file(&part).map_err(io(&part))?;
                    n_mismatches += 1;
                    if n_mismatches == MAX_MISMATCHES {
                        let expected = file.digest.expected().to_owned();
                        return Err(DownloadError::Hash { url: file.url.clone(), expected, found });
                    }
                }
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error, wanted)) => {
                    n_failures = if len(&part) > have { 1 } else { n_failures + 1 };
                    if n_failures >= MAX_FAILURES || wanted.is_some_and(|wanted| wanted > MAX_PAUSE) {
                        return Err(error);
                    }
                    let jitter = random::bits64() as f64 / u64::MAX as f64;
                    std::thread::sleep(wanted.unwrap_or_else(|| backoff(n_failures - 1, jitter)));
                }
            }
        }
    }

    /// Appends the rest of `file` to `part`, or the whole if the server sends that.
    fn rest(&self, file: &RemoteFile, part: &Path) -> Result<(), Failure> {
        let have = len(part);
        if have == file.size && part.exists() {
            return Ok(());
        }
        let have = if have > file.size { 0 } else { have };
        let mut request = self.agent.get(&file.url);
        if let Some(token) = self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
        }
        let url = || file.url.clone();
        let unreachable = |why: String| DownloadError::Unreachable { url: url(), why: shortened(&why) };
        let response = request.call().map_err(|error| match error {
            ureq::Error::RequireHttpsOnly(_) => Failure::Final(unreachable("it leads to http://".to_owned())),
            ureq::Error::TooManyRedirects => Failure::Final(unreachable("too many redirects".to_owned())),
            error => Failure::Passing(unreachable(error.to_string()), None),
        })?;
        let status = response.status().as_u16();
        let continues = format!("bytes {have}-");
        let is_rest = header(&response, "content-range").is_some_and(|range| range.starts_with(&continues));
        let mut out = match status {
            200 => File::create(part),
            206 if is_rest => File::options().append(true).create(true).open(part),
            206 | 416 => {
                // The server continues elsewhere, or has another length: begin anew.
                std::fs::remove_file(part).map_err(io(part))?;
                return Err(Failure::Passing(
                    DownloadError::Status { url: url(), status },
                    Some(Duration::ZERO),
                ));
            }
            status => return Err(refusal(&response, status, file)),
        }
        .map_err(io(part))?;
        let mut reader = response.into_body().into_reader();
        let mut left = if status == 206 { file.size - have } else { file.size };
        let mut buffer = vec![0; BUFFER];
        loop {
            let n = match reader.read(&mut buffer) {
                Ok(0) if left > 0 => {
                    let why = format!("the connection was closed {left} bytes before the end");
                    return Err(Failure::Passing(unreachable(why), None));
                }
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(error) => return Err(Failure::Passing(unreachable(error.to_string()), None)),
            };
            // More than was announced is a wrong file, which its hash shows.
            let taken = n.min(left as usize);
            out.write_all(&buffer[..taken]).map_err(io(part))?;
            self.progress.add(taken as u64);
            left -= taken as u64;
            if taken < n {
                return Ok(());
            }
        }
    }
}

fn refusal(response: &ureq::http::Response<ureq::Body>, status: u16, file: &RemoteFile) -> Failure {
    let url = file.url.clone();
    match status {
        401 | 403 => Failure::Final(DownloadError::Unauthorised { url, status }),
        408 | 429 | 500 | 502..=504 => {
            let wanted = header(response, "retry-after").and_then(pause_of);
            Failure::Passing(DownloadError::Status { url, status }, wanted)
        }
        _ => Failure::Final(DownloadError::Status { url, status }),
    }
}

fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}
