//! Clusters of an engine on this machine.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use codeweaver_testkit::{Run, Tool, wait_longer_for};

use crate::support::server::{Answer, raw};

/// A running cluster, ended when dropped.
pub struct Cluster {
    installation: PathBuf,
    run: PathBuf,
    /// The URL of each node.
    pub urls: Vec<String>,
    _dir: tempfile::TempDir,
}

impl Cluster {
    /// Starts a cluster of `n` nodes; `None` if there is no engine on this machine.
    pub fn start(n: usize) -> Option<Cluster> {
        let installation = Tool::ENGINE.find()?;
        let dir = tempfile::tempdir().unwrap();
        // An engine that root starts runs as another user.
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let run = dir.path().join("cluster");

        let started = engine(&["start", text(&installation), &n.to_string(), text(&run)]);
        let urls = started.success().stdout().lines().map(str::to_owned).collect();
        Some(Cluster { installation, run, urls, _dir: dir })
    }

    /// Ends node `n`, counted from 1, as a crash would.
    pub fn kill(&self, n: usize) {
        engine(&["kill", text(&self.run), &n.to_string()]).success();
    }

    /// Stops node `n` without ending it, as a machine that hangs.
    pub fn pause(&self, n: usize) {
        engine(&["pause", text(&self.run), &n.to_string()]).success();
    }

    /// Lets node `n` go on.
    pub fn resume(&self, n: usize) {
        engine(&["resume", text(&self.run), &n.to_string()]).success();
    }

    /// Changes a setting of the engine by its first node.
    pub fn put(&self, path: &str, body: &str) {
        self.request("PUT", path, body);
    }

    /// Has the engine try again to allocate copies. By itself it gives up after five failures, which a busy
    /// machine causes.
    fn retry_allocation(&self) {
        self.send("POST", "_cluster/reroute?retry_failed=true", "");
    }

    /// Starts both nodes of every copy that is being made again, the one that receives it first. Between
    /// nodes that came back, either may wait for an answer that never comes, in spite of the time limits of
    /// the engine.
    fn restart_waiting_nodes(&self) {
        let copies = self.request("GET", "_cat/recovery?format=json&active_only=true", "");
        let copies: Value = serde_json::from_str(&copies).unwrap();

        let nodes = |side: &str| -> BTreeSet<usize> {
            let names = copies.as_array().unwrap().iter().map(|copy| copy[side].as_str().unwrap());
            // A shard that is read from a disk has no source.
            names.filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect()
        };
        let (sources, targets) = (nodes("source_node"), nodes("target_node"));

        eprintln!("{sources:?} to {targets:?}: {}", self.state());
        for &number in targets.iter().chain(sources.difference(&targets)) {
            self.kill(number);
            self.restart(number);
        }
    }

    /// The state of the nodes and copies, for the reader of a failure.
    fn state(&self) -> String {
        let asked = [
            "_cat/nodes?v",
            "_cat/shards?v",
            "_cat/recovery?v&active_only=true",
            "_tasks?detailed&actions=*recovery*,*shard*",
            "_cluster/health",
            "_cluster/allocation/explain",
        ];
        asked.map(|path| self.send("GET", path, "").body).join("\n")
    }

    /// Waits until `is_whole`, and says which copies are missing if it never is.
    #[track_caller]
    pub fn wait_for_all_copies(&self, is_whole: impl Fn() -> bool) {
        let last_mended = Cell::new(Instant::now());
        wait_longer_for(PATIENCE, "all copies again", || {
            self.retry_allocation();
            if last_mended.get().elapsed() > HUNG {
                self.restart_waiting_nodes();
                last_mended.set(Instant::now());
            }
            if is_whole() {
                return Ok(());
            }

            Err(self.state())
        });
    }

    /// Sends a request to the first node, and returns the body of its answer.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: &str) -> String {
        let answer = self.send(method, path, body);
        assert_eq!(answer.status, 200, "{answer:#?}");
        answer.body
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let address = self.urls[0].trim_start_matches("http://");
        let (n, head) = (body.len(), "Content-Type: application/json\r\nConnection: close");
        let request = format!(
            "{method} /{path} HTTP/1.1\r\nHost: {address}\r\n{head}\r\nContent-Length: {n}\r\n\r\n{body}"
        );
        raw(address, request.as_bytes())
    }

    /// Starts node `n` again.
    pub fn restart(&self, n: usize) {
        engine(&["restart", text(&self.installation), text(&self.run), &n.to_string()]).success();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        engine(&["stop", text(&self.run)]);
    }
}

fn engine(args: &[&str]) -> Run {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/org/engine.py");
    Run::new(Command::new("python3").arg("-B").arg(script).args(args))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Time that a cluster may take for anything, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
/// Time after which a copy of a small shard is taken to hang.
const HUNG: Duration = Duration::from_secs(45);

/// Waits for what a cluster does.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let attempt = || if condition() { Ok(()) } else { Err("not yet") };
    wait_longer_for(PATIENCE, what, attempt);
}
