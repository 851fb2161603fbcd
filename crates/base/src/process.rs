//! Detached processes: work that outlives the command that started it.
//!
//! In: a program, its arguments and a directory. Out: a process that shares no file descriptor, no terminal
//! and no temporary git state with its parent, so that neither git nor a graphical client waits for it. Used
//! by queries and servers; the hook scripts detach in `sh`, which costs less (see `codeweaver_git::hooks`).

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Environment variables of a git command that a process which outlives it must not inherit.
///
/// `GIT_INDEX_FILE` may name a temporary index (`next-index-*.lock` for `git commit PATH`) that git soon
/// removes. Prefix and quarantine are valid for that command only. `GIT_DIR`, `GIT_WORK_TREE` and
/// `GIT_COMMON_DIR` are inherited, since they identify the repository in a linked worktree.
pub const SHORT_LIVED_VARIABLES: [&str; 5] =
    ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION", "GIT_EDITOR"];

/// Added to the niceness of a detached process: lower priority than interactive work, higher than idle.
#[cfg(unix)]
const NICENESS: i32 = 10;

/// Starts `program` detached and returns its process id without waiting for it.
///
/// Standard streams are the null device, the directory is `cwd`, [`SHORT_LIVED_VARIABLES`] are removed, then
/// `envs` are set. The child must call [`become_session_leader`] first: doing so from here would need an
/// unsafe hook between fork and exec. A thread reaps the child, so a long-running parent accumulates no
/// zombies.
///
/// # Errors
/// Any error of starting a process, such as a missing program or directory.
pub fn spawn_detached<K, V>(
    program: &Path,
    args: &[OsString],
    cwd: &Path,
    envs: impl IntoIterator<Item = (K, V)>,
) -> io::Result<u32>
where
    K: AsRef<OsStr>,
    V: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());

    for name in SHORT_LIVED_VARIABLES {
        command.env_remove(name);
    }
    command.envs(envs);

    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
        const BELOW_NORMAL_PRIORITY_CLASS: u32 = 0x0000_4000;
        /// Gives the process a hidden console. Without a console, each git that it starts would open a
        /// window.
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        command.creation_flags(CREATE_NEW_PROCESS_GROUP | BELOW_NORMAL_PRIORITY_CLASS | CREATE_NO_WINDOW);
        crate::sys::keep_streams_from_children();
    }

    let mut child = command.spawn()?;
    let id = child.id();
    // If the thread cannot start, the child stays a zombie until this process exits, which does no harm.
    let _ = std::thread::Builder::new().name("reap".into()).spawn(move || child.wait());
    Ok(id)
}

/// Starts a new session, without the terminal and process group of the parent process, and lowers the
/// priority.
///
/// Must be called before any thread starts. Afterwards closing the terminal, or Ctrl-C in it, does not end
/// this process. A process that already leads its group (started by hand from a shell) stays in its session.
/// This and a refused priority are not errors. Does nothing on Windows, where the creation flags have the
/// same effect.
pub fn become_session_leader() {
    leave_session();
    #[cfg(unix)]
    let _ = rustix::process::nice(NICENESS);
}

/// As [`become_session_leader`], without a change of the priority, for processes that a user waits for.
pub fn leave_session() {
    #[cfg(unix)]
    let _ = rustix::process::setsid();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_detached_process_gets_null_streams_and_no_temporary_index() {
        let dir = tempfile::tempdir().unwrap();
        let script = "{ readlink /proc/self/fd/0 /proc/self/fd/2; pwd -P; echo \"${GIT_INDEX_FILE-none}\"; \
                      echo \"$MARK\"; } >seen.tmp; mv seen.tmp seen";
        let args = ["-c".into(), script.into()];
        let root = crate::real_path::canonicalize(dir.path()).unwrap();
        let id = spawn_detached(Path::new("/bin/sh"), &args, &root, [("MARK", "set by us")]).unwrap();
        assert_ne!(id, std::process::id());

        let seen = root.join("seen");
        let started = Instant::now();
        while !seen.exists() && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let text = std::fs::read_to_string(seen).unwrap();
        assert!(text.ends_with(&format!("{}\nnone\nset by us\n", root.display())), "{text}");
        if cfg!(target_os = "linux") {
            assert!(text.contains("/dev/null"), "{text}");
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let none: [(&str, &str); 0] = [];
        let error = spawn_detached(Path::new("/nonexistent/program"), &[], Path::new("/"), none).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
