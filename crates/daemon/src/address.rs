//! The place of the socket: `daemon/` in the store directory, with mode 0700.
//!
//! ```text
//! .codeweaver/daemon/socket   0600
//!                    lock     held by the daemon as long as it listens
//! ```
//!
//! A killed daemon leaves its socket. No process listens there, so a client finds no daemon, and the next
//! daemon, which can take the lock, replaces it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use super::error::DaemonError;

/// Name of the store directory, beside `.git` or in a bare repository.
const STORE_DIR: &str = ".codeweaver";
const DIRECTORY: &str = "daemon";
const SOCKET: &str = "socket";
const LOCK: &str = "lock";
/// Maximum number of bytes of a `.git` file or a `commondir` file; longer paths cannot be opened.
const MAX_POINTER: u64 = 8192;

/// The directory of the socket of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    directory: PathBuf,
}

/// The lock of a listening daemon, released when it is dropped or the process ends.
#[derive(Debug)]
pub struct RunLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

impl Address {
    /// The address in the store directory `store`.
    pub fn of_store(store: &Path) -> Address {
        Address { directory: store.join(DIRECTORY) }
    }

    /// The address of the repository around `dir`, an absolute path, if it has a store.
    ///
    /// This is a guess from the usual places, made without opening the repository. The daemon that is found
    /// there checks that it serves `dir`, so a wrong guess costs time only.
    pub fn from_directory(dir: &Path) -> Option<Address> {
        let store = store_around(dir)?;
        store.is_dir().then(|| Address::of_store(&store))
    }

    /// The directory of the socket.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of the socket, which may be too long to connect to.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(SOCKET)
    }

    /// Connects to the daemon. Does not wait for one that is too busy to accept.
    ///
    /// # Errors
    /// No process listens, the queue of connections is full, or the peer is another user.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let near = Near::open(&self.directory)?;
        let stream = UnixStream::from(new_socket()?);
        stream.set_nonblocking(true)?;
        rustix::net::connect(&stream, &SocketAddrUnix::new(near.path(SOCKET))?)?;
        stream.set_nonblocking(false)?;
        match is_same_user(&stream)? {
            true => Ok(stream),
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the socket is another user's")),
        }
    }

    /// Creates the directory.
    ///
    /// # Errors
    /// It cannot be made, or is not private.
    pub fn create(&self) -> Result<(), DaemonError> {
        let directory = &self.directory;
        match std::fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(DaemonError::io("create", directory)(error))
            }
            _ => self.check_private(),
        }
    }

    /// Creates the directory and takes the lock of the only daemon.
    ///
    /// # Errors
    /// [`DaemonError::Running`]; the directory cannot be made or is not private.
    pub fn lock(&self) -> Result<RunLock, DaemonError> {
        self.create()?;
        let path = self.directory.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(DaemonError::io("create", &path))?;

        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(RunLock(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(DaemonError::Running),
            Err(error) => Err(DaemonError::io("lock", &path)(error.into())),
        }
    }

    /// Listens, in place of a daemon that was killed. The caller holds the lock.
    ///
    /// # Errors
    /// The file system has no sockets, or the path is too long.
    pub fn listen(&self, _: &RunLock) -> Result<UnixListener, DaemonError> {
        let no_socket = |source| DaemonError::NoSocket { path: self.socket(), source };
        let near = Near::open(&self.directory).map_err(no_socket)?;
        let path = near.path(SOCKET);

        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(no_socket(error)),
            _ => {}
        }

        // No other user can enter the directory, so the moment before the mode is set is no gap.
        let listener = UnixListener::bind(&path).map_err(no_socket)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).map_err(no_socket)?;
        Ok(listener)
    }

    /// The identity of the file at the path of the socket; `None` if there is none.
    pub fn socket_file(&self) -> Option<(u64, u64)> {
        let meta = std::fs::symlink_metadata(self.socket()).ok()?;
        Some((meta.dev(), meta.ino()))
    }

    /// Removes the socket if it is still `own`.
    pub fn remove_socket(&self, own: (u64, u64)) {
        if self.socket_file() == Some(own) {
            // What is left is replaced by the next daemon.
            let _ = std::fs::remove_file(self.socket());
        }
    }

    fn check_private(&self) -> Result<(), DaemonError> {
        let meta =
            std::fs::symlink_metadata(&self.directory).map_err(DaemonError::io("read", &self.directory))?;
        let is_own = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
        match is_own && meta.mode() & 0o077 == 0 {
            true => Ok(()),
            false => Err(DaemonError::NotPrivate { path: self.directory.clone() }),
        }
    }
}

/// An open directory and a short path of it: addresses of sockets have about a hundred bytes.
struct Near {
    directory: PathBuf,
    /// Keeps `directory` valid if it is a path of this descriptor.
    _open: Option<OwnedFd>,
}

impl Near {
    /// Number of bytes of a directory that is short enough, with the name of the socket.
    const MAX_PLAIN: usize = 80;

    fn open(directory: &Path) -> io::Result<Near> {
        if directory.as_os_str().len() <= Near::MAX_PLAIN || cfg!(not(target_os = "linux")) {
            return Ok(Near { directory: directory.to_owned(), _open: None });
        }

        let open = OwnedFd::from(File::open(directory)?);
        Ok(Near { directory: format!("/proc/self/fd/{}", open.as_raw_fd()).into(), _open: Some(open) })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// A socket that child processes do not inherit.
#[cfg(target_os = "linux")]
fn new_socket() -> io::Result<OwnedFd> {
    let close = rustix::net::SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, close, None)?)
}

/// As for Linux, in two steps: other systems have no such flag.
#[cfg(not(target_os = "linux"))]
fn new_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(socket)
}

/// Returns whether the other end of `stream` is a process of this user.
///
/// # Errors
/// The system does not say.
#[cfg(target_os = "linux")]
pub fn is_same_user(stream: &UnixStream) -> io::Result<bool> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid == rustix::process::geteuid())
}

/// Elsewhere, the mode of the directory decides, which only its owner can enter.
#[cfg(not(target_os = "linux"))]
pub fn is_same_user(_: &UnixStream) -> io::Result<bool> {
    Ok(true)
}

/// The store directory of the repository around `dir`, whether or not it exists.
fn store_around(dir: &Path) -> Option<PathBuf> {
    for parent in dir.ancestors() {
        let dot_git = parent.join(".git");
        match std::fs::metadata(&dot_git) {
            Ok(meta) if meta.is_dir() => return Some(parent.join(STORE_DIR)),
            Ok(_) => return store_of_linked(parent, &dot_git),
            Err(_) if parent.join("HEAD").is_file() && parent.join("objects").is_dir() => {
                return Some(parent.join(STORE_DIR));
            }
            Err(_) => {}
        }
    }

    None
}

/// The store directory of the worktree at `root`, whose `.git` is a file: a linked worktree or a submodule.
fn store_of_linked(root: &Path, dot_git: &Path) -> Option<PathBuf> {
    let git_dir = root.join(read_pointer(dot_git)?.strip_prefix("gitdir:")?.trim());
    let Some(common) = read_pointer(&git_dir.join("commondir")) else { return Some(root.join(STORE_DIR)) };

    let common = codeweaver_base::real_path::canonicalize(git_dir.join(common.trim())).ok()?;
    match common.file_name().is_some_and(|name| name == ".git") {
        true => Some(common.parent()?.join(STORE_DIR)),
        false => Some(common.join(STORE_DIR)),
    }
}

/// The text of a small file that names a directory.
fn read_pointer(path: &Path) -> Option<String> {
    use std::io::Read as _;

    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_POINTER).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_socket_of_a_deep_directory_has_a_short_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("d".repeat(120)).join("e".repeat(120));
        std::fs::create_dir_all(&store).unwrap();
        let address = Address::of_store(&store);
        let lock = address.lock().unwrap();
        let listener = address.listen(&lock).unwrap();
        address.connect().unwrap();
        assert!(listener.accept().is_ok());
    }

    #[test]
    fn one_daemon_has_the_lock_and_replaces_the_socket_of_a_dead_one() {
        let dir = tempfile::tempdir().unwrap();
        let address = Address::of_store(dir.path());
        let lock = address.lock().unwrap();
        drop(address.listen(&lock).unwrap());
        assert!(matches!(address.lock(), Err(DaemonError::Running)));
        assert!(address.connect().is_err(), "no process listens there");

        drop(lock);
        let lock = address.lock().unwrap();
        let _listener = address.listen(&lock).unwrap();
        address.connect().unwrap();
    }

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let address = Address::of_store(dir.path());
        std::fs::create_dir(address.directory()).unwrap();
        std::fs::set_permissions(address.directory(), PermissionsExt::from_mode(0o750)).unwrap();
        assert!(matches!(address.lock(), Err(DaemonError::NotPrivate { .. })));
    }
}
