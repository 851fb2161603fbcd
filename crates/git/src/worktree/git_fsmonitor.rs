//! Client of git's own file-system monitor (`git fsmonitor--daemon`), where `core.fsmonitor` is on.
//!
//! The daemon collects the paths that change. A client sends the token of an earlier answer and gets the
//! paths that have changed since. Before the daemon answers, it waits for the events of everything that
//! happened before the request. So a path that it does not name is unchanged, as far as git relies on that
//! too.
//!
//! Only a daemon that runs already is asked. None is started, and a program that `core.fsmonitor` names is
//! never run, since a repository could name any. Unix only: the daemon listens on a socket in the git
//! directory; requests and answers are packet lines that end with a flush packet (git's `simple-ipc.h` and
//! `fsmonitor-ipc.h`).

use crate::{BString, Repo};

/// An answer of the daemon.
pub(super) struct Answer {
    /// Token that stands for the time of the answer.
    pub token: BString,
    /// The paths that have changed; `None` if the daemon does not know them. A path of a directory ends with
    /// a slash and stands for everything below it.
    pub changed: Option<Vec<BString>>,
}

/// Requests the paths that have changed since the answer with `token`, or only a token. `None` if
/// `core.fsmonitor` is not on or no daemon answers in time.
pub(super) fn ask(repo: &Repo, token: Option<&[u8]>) -> Option<Answer> {
    let is_on = repo.local().config_snapshot().boolean("core.fsmonitor");
    if is_on != Some(true) {
        return None;
    }

    let answer = transport::ask(&repo.git_dir().join(SOCKET), token.unwrap_or(NO_TOKEN));
    let answer =
        answer.inspect_err(|error| tracing::debug!(%error, "git's fsmonitor does not answer")).ok()?;
    decode(&answer)
}

/// Name of the socket in the git directory.
const SOCKET: &str = "fsmonitor--daemon.ipc";
/// The token that git sends if it has none.
const NO_TOKEN: &[u8] = b"builtin:fake";

/// Splits an answer into the token and the paths, each ended by a zero byte. The path `/` stands for all
/// paths.
fn decode(answer: &[u8]) -> Option<Answer> {
    let mut parts = answer.split(|&byte| byte == 0);
    let token = BString::from(parts.next().filter(|token| !token.is_empty())?);
    let paths: Vec<BString> = parts.filter(|path| !path.is_empty()).map(BString::from).collect();
    let is_known = !paths.iter().any(|path| path.starts_with(b"/"));
    Some(Answer { token, changed: is_known.then_some(paths) })
}

#[cfg(unix)]
mod transport {
    use std::io::{Error, ErrorKind, Read, Result, Write};
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::time::Duration;

    /// Maximum time to wait for the daemon. Without its answer every path is checked, which takes about as
    /// long in a large repository.
    const TIMEOUT: Duration = Duration::from_millis(50);
    /// Maximum length of an answer. With more changed paths everything is checked.
    const MAX_BYTES: usize = 1 << 20;
    /// Number of digits of the length of a packet. The length includes them.
    const HEADER: usize = 4;

    /// Sends `question` to the socket at `path` and returns the answer.
    pub fn ask(path: &Path, question: &[u8]) -> Result<Vec<u8>> {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;

        let header = format!("{:04x}", question.len() + HEADER);
        stream.write_all(&[header.as_bytes(), question, b"0000"].concat())?;

        let mut answer = Vec::new();
        loop {
            let mut header = [0; HEADER];
            stream.read_exact(&mut header)?;

            let text = std::str::from_utf8(&header).ok();
            let len = text.and_then(|text| usize::from_str_radix(text, 16).ok());

            match len.ok_or(ErrorKind::InvalidData)? {
                0 => return Ok(answer),
                len if len < HEADER || answer.len() + len > MAX_BYTES => {
                    return Err(Error::from(ErrorKind::InvalidData));
                }
                len => {
                    let start = answer.len();
                    answer.resize(start + len - HEADER, 0);
                    stream.read_exact(&mut answer[start..])?;
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod transport {
    use std::io::{ErrorKind, Result};
    use std::path::Path;

    pub fn ask(_: &Path, _: &[u8]) -> Result<Vec<u8>> {
        Err(ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_token_and_paths() {
        let decoded = |bytes: &[u8]| decode(bytes).map(|answer| (answer.token, answer.changed));
        let token = || BString::from("builtin:1:2");
        assert_eq!(decoded(b"builtin:1:2\0"), Some((token(), Some(Vec::new()))));
        let paths = vec![BString::from("a"), BString::from("b/c")];
        assert_eq!(decoded(b"builtin:1:2\0a\0b/c\0"), Some((token(), Some(paths))));
        assert_eq!(decoded(b"builtin:1:2\0/\0"), Some((token(), None)));
        assert_eq!(decoded(b""), None);
    }
}
