//! Download of one file: resumed at its last byte, and checked by its hash before it gets its name.
//!
//! Until then the bytes are in `NAME.part` beside the target. A further request asks for the rest by `Range`;
//! if the server sends the whole file instead, it is written anew. Temporary failures are retried as long as
//! bytes arrive between them.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::Digest as _;

use codeweaver_base::random;
use codeweaver_git as git;
use codeweaver_http::api::shortened;
use codeweaver_http::{backoff, header, pause_of};

use super::DownloadError;

/// Number of failures in sequence, without a byte between them, after which a download fails.
const MAX_FAILURES: u32 = 5;
/// Maximum pause. A server that asks for a longer one gets no further request.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Number of downloads with a wrong hash after which a file is not requested again.
const MAX_MISMATCHES: u32 = 2;
const BUFFER: usize = 128 * 1024;

/// Receives the progress of downloads.
pub trait Downloads: Sync {
    /// A file begins, of which `have` of `size` bytes are there.
    fn begin(&self, _name: &str, _have: u64, _size: u64) {}
    /// Bytes have arrived.
    fn add(&self, _n_bytes: u64) {}
}

/// Hash that identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256, as of files in Git LFS.
    Sha256(String),
    /// The oid of a blob, as of files in git.
    GitBlob(String),
}

impl Digest {
    /// Computes the hash of this kind of a file.
    fn compute(&self, path: &Path) -> Result<String, DownloadError> {
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

/// Returns the SHA-256 of a file in hexadecimal digits.
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

/// Converts an I/O error on `path`.
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

/// The reason why a request did not bring the rest of a file.
pub(super) enum Failure {
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
    /// Token that is sent to the first host only.
    pub token: Option<&'a str>,
    pub progress: &'a dyn Downloads,
}

impl Fetcher<'_> {
    /// Downloads `file` to `target`. Sends no request if `target` has that content already.
    ///
    /// # Errors
    /// Any [`DownloadError`]. The bytes that have arrived stay for the next call, unless their hash is wrong.
    pub fn fetch(&self, file: &RemoteFile, target: &Path) -> Result<(), DownloadError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if len(target) == file.size && file.digest.compute(target)? == file.digest.expected() {
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
                    let found = file.digest.compute(&part)?;
                    if found == file.digest.expected() {
                        // The rename is atomic, but without this a power cut could leave a file without its
                        // bytes.
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
                Err(Failure::Passing(error, pause)) => {
                    n_failures = if len(&part) > have { 1 } else { n_failures + 1 };
                    if n_failures >= MAX_FAILURES || pause.is_some_and(|pause| pause > MAX_PAUSE) {
                        return Err(error);
                    }
                    let jitter = random::bits64() as f64 / u64::MAX as f64;
                    std::thread::sleep(pause.unwrap_or_else(|| backoff(n_failures - 1, jitter)));
                }
            }
        }
    }

    /// Appends the rest of `file` to `part`, or replaces `part` if the server sends the whole file.
    fn rest(&self, file: &RemoteFile, part: &Path) -> Result<(), Failure> {
        let have = len(part);
        if have == file.size && part.exists() {
            return Ok(());
        }
        let have = if have > file.size { 0 } else { have };

        let response = self.request(file, have)?;
        let status = response.status().as_u16();
        let continues = format!("bytes {have}-");
        let is_rest = header(&response, "content-range").is_some_and(|range| range.starts_with(&continues));

        let mut out = match status {
            200 => File::create(part),
            206 if is_rest => File::options().append(true).create(true).open(part),
            206 | 416 => {
                // The server continues elsewhere, or has another length: start again at once.
                std::fs::remove_file(part).map_err(io(part))?;
                let error = DownloadError::Status { url: file.url.clone(), status };
                return Err(Failure::Passing(error, Some(Duration::ZERO)));
            }
            status => return Err(refusal(&response, status, file)),
        }
        .map_err(io(part))?;

        let left = if status == 206 { file.size - have } else { file.size };
        let mut reader = response.into_body().into_reader();
        self.copy(file, part, &mut reader, &mut out, left)
    }

    /// Requests a file from byte `have` on.
    fn request(&self, file: &RemoteFile, have: u64) -> Result<ureq::http::Response<ureq::Body>, Failure> {
        let mut request = self.agent.get(&file.url);
        if let Some(token) = self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
        }

        request.call().map_err(|error| match error {
            ureq::Error::RequireHttpsOnly(_) => Failure::Final(unreachable(file, "it leads to http://")),
            ureq::Error::TooManyRedirects => Failure::Final(unreachable(file, "too many redirects")),
            error => Failure::Passing(unreachable(file, &error.to_string()), None),
        })
    }

    /// Copies the `left` bytes of a response to `out`, the file `part`.
    fn copy(
        &self,
        file: &RemoteFile,
        part: &Path,
        reader: &mut impl Read,
        out: &mut File,
        mut left: u64,
    ) -> Result<(), Failure> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let n = match reader.read(&mut buffer) {
                Ok(0) if left > 0 => {
                    let why = format!("the connection was closed {left} bytes before the end");
                    return Err(Failure::Passing(unreachable(file, &why), None));
                }
                Ok(0) => return Ok(()),
                Ok(n) => n,
                Err(error) => return Err(Failure::Passing(unreachable(file, &error.to_string()), None)),
            };

            // More bytes than announced belong to a wrong file, which its hash shows.
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

fn unreachable(file: &RemoteFile, why: &str) -> DownloadError {
    DownloadError::Unreachable { url: file.url.clone(), why: shortened(why) }
}

/// Classifies a status other than 200 and 206.
fn refusal(response: &ureq::http::Response<ureq::Body>, status: u16, file: &RemoteFile) -> Failure {
    let url = file.url.clone();
    match status {
        401 | 403 => Failure::Final(DownloadError::Unauthorised { url, status }),
        408 | 429 | 500 | 502..=504 => {
            let pause = header(response, "retry-after").and_then(pause_of);
            Failure::Passing(DownloadError::Status { url, status }, pause)
        }
        _ => Failure::Final(DownloadError::Status { url, status }),
    }
}

/// The length of a file; 0 if it does not exist.
fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}
