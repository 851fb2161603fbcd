//! The daemon: the same answers as without it, and no trace of it where it does not run.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use codeweaver_testkit::{FILES, Run, TestRepo, Tool, copy_program, program, wait_for, wait_until};

/// Path of the socket.
const SOCKET: &str = ".codeweaver/daemon/socket";

/// A daemon in the foreground, killed when dropped.
struct Daemon(Child);

impl Daemon {
    fn start(repo: &TestRepo) -> Daemon {
        let mut command = repo.command(program());
        command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = Daemon(command.spawn().unwrap());
        wait_until("the daemon answers", || status(repo)["running"] == true);
        daemon
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Kills it as nothing can be prepared for.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits until it has ended by itself.
    #[track_caller]
    fn wait(&mut self) -> i32 {
        wait_for("the daemon ends", || match self.0.try_wait().unwrap() {
            Some(status) => Ok(status.code().unwrap_or(-1)),
            None => Err("it runs"),
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn status(repo: &TestRepo) -> serde_json::Value {
    repo.codeweaver(["daemon", "status", "--json"]).json()
}

/// Returns whether a daemon runs within a second, the time of many starts.
fn runs_soon(repo: &TestRepo) -> bool {
    let is_running = |_| {
        std::thread::sleep(Duration::from_millis(50));
        status(repo)["running"] == true
    };
    (0..20).any(is_running)
}

fn n_served(repo: &TestRepo) -> u64 {
    status(repo)["served"].as_u64().unwrap()
}

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["index"]).success();
    repo
}

/// Runs a command without the daemon.
fn alone(repo: &TestRepo, args: &[&str]) -> Run {
    Run::new(repo.command(program()).env("CODEWEAVER_DAEMON", "off").args(args))
}

/// Stdout, stderr and exit code, without the times that an answer took.
fn comparable(run: &Run) -> (String, String, i32) {
    let without_times = |text: String| {
        let is_time =
            |line: &str| ["execution_time_ms", "executionTimeMs"].iter().any(|name| line.contains(name));
        let lines = text.lines().filter(|line| !is_time(line)).map(without_milliseconds);
        lines.collect::<Vec<_>>().join("\n")
    };
    (without_times(run.stdout()), without_times(run.stderr()), run.code())
}

/// A line whose numbers before ` ms` are left out.
fn without_milliseconds(line: &str) -> String {
    let parts: Vec<&str> = line.split(" ms").collect();
    let last = parts.len() - 1;
    let without = |(i, part): (usize, &&str)| match i == last {
        true => (*part).to_owned(),
        false => part.trim_end_matches(|digit: char| digit.is_ascii_digit() || digit == ',').to_owned(),
    };
    parts.iter().enumerate().map(without).collect::<Vec<_>>().join(" ms")
}

/// Commands that a daemon runs, with an answer, without one, and with errors.
const COMMANDS: &[&[&str]] = &[
    &["search", "split a header line"],
    &["search", "-o", "json", "call again after a pause"],
    &["search", "-o", "markdown", "-l", "2", "header"],
    &["search", "--mode", "exact", "header"],
    &["search", "--mode", "regex", "pars(e|er)", "-o", "json"],
    &["search", "--files-with-matches", "header"],
    &["search", "--path", "src", "--color", "always", "header"],
    &["search", "--lang", "haskell", "zygohistomorphic"],
    &["search", "--rev", "no-such-revision", "header"],
    &["search", "--explain", "--ann", "exact", "retry"],
    &["search", "--for-agent", "header"],
    &["search", "--vimgrep", "header"],
    &["similar", "src/parse.rs:2"],
    &["similar", "src/no-such-file.rs:2"],
    &["read", "src/parse.rs:1-3"],
    &["read", "parse_header"],
    &["read", "src/parse.rs", "src/absent.rs"],
    &["outline", "src/retry.py"],
    &["graph", "callers", "parse_header"],
    &["graph", "definitions", "-o", "json", "retry_with_backoff"],
    &["tool", "find_code", "header", "max_results=3"],
    &["tool", "read_code", "src/parse.rs"],
    &["tool", "find_symbol", "parse_header"],
    &["tool", "find_text", "attempt"],
    &["tool", "no_such_tool"],
    &["tool"],
    &["search", "--no-such-option", "x"],
];

/// Compares all commands with and without the daemon of `repo`.
#[track_caller]
fn assert_same_answers(repo: &TestRepo, when: &str) {
    for args in COMMANDS {
        assert_same_answer(repo, args, when);
    }
}

/// Compares a command. The first answer may start an update in the background, which the second one shows, so
/// answers that differ are compared again.
#[track_caller]
fn assert_same_answer(repo: &TestRepo, args: &[&str], when: &str) {
    for _ in 0..2 {
        if comparable(&repo.codeweaver(args)) == comparable(&alone(repo, args)) {
            return;
        }
        repo.wait_until_current();
    }
    assert_eq!(comparable(&repo.codeweaver(args)), comparable(&alone(repo, args)), "{when}: {args:?}");
}

#[test]
fn its_answers_are_those_of_the_command() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);

    assert_same_answers(&repo, "clean");
    let served = n_served(&repo);
    // All but the last, whose arguments are not understood.
    assert!(served >= COMMANDS.len() as u64 - 1, "{:#}", status(&repo));

    repo.write("src/parse.rs", "pub fn parse_header(line: &str) -> &str {\n    line\n}\n");
    assert_same_answers(&repo, "edited");
    repo.write("src/parse.rs", "pub fn parse_header(line: &str) -> &str {\n    lien\n}\n");
    assert_same_answers(&repo, "edited again, to the same length");

    repo.write("src/new/header.rs", "/// Joins a header.\npub fn join_header() {}\n").remove("src/retry.py");
    assert_same_answers(&repo, "a new directory and a removed file");

    repo.commit("second");
    assert_same_answers(&repo, "committed");
    repo.wait_until_current();
    assert_same_answers(&repo, "indexed");

    repo.git(["checkout", "-q", "HEAD~1"]);
    assert_same_answers(&repo, "checked out");
    repo.codeweaver(["index", "--reindex", "--quiet"]).success();
    assert_same_answers(&repo, "indexed anew");
    repo.codeweaver(["gc"]).success();
    assert_same_answers(&repo, "collected");
    assert!(n_served(&repo) >= 9 * (COMMANDS.len() as u64 - 1), "{:#}", status(&repo));
}

#[test]
fn linked_worktrees_and_subdirectories_are_served_as_themselves() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    repo.git(["worktree", "add", "-q", "../linked"]);
    let linked = repo.at("../linked");
    linked.write("src/parse.rs", "pub fn parse_linked() {}\n");

    let served = n_served(&repo);
    assert_same_answers(&linked, "in a linked worktree");
    assert!(linked.found(&["parse_linked"]).contains(&"src/parse.rs".to_owned()));
    assert_same_answers(&repo.at("src"), "in a subdirectory");
    assert!(n_served(&repo) >= served + 2 * (COMMANDS.len() as u64 - 1), "{:#}", status(&repo));

    // Another repository below the first is another one.
    repo.git(["init", "-q", "src/inner"]);
    let inner = repo.at("src/inner");
    let (with, without) = (inner.codeweaver(["search", "header"]), alone(&inner, &["search", "header"]));
    assert_eq!(comparable(&with), comparable(&without));
}

#[test]
fn a_command_named_by_project_is_answered_from_there() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    let other = TestRepo::with_files(&[("other.rs", "pub fn parse_header_elsewhere() {}\n")]);
    other.codeweaver(["index"]).success();
    let elsewhere = other.root().to_str().unwrap();

    for project in ["src", ".", elsewhere, "no-such-directory"] {
        let args = ["search", "header", "--project", project, "--files-with-matches"];
        assert_eq!(comparable(&repo.codeweaver(args)), comparable(&alone(&repo, &args)), "{project}");
    }
}

#[test]
fn the_socket_is_private_and_goes_with_the_daemon() {
    let repo = indexed();
    let mut daemon = Daemon::start(&repo);
    let mode = |path: &str| repo.path(path).symlink_metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".codeweaver/daemon"), mode(SOCKET)), (0o700, 0o600));
    assert!(repo.path(SOCKET).symlink_metadata().unwrap().file_type().is_socket());
    assert_eq!(repo.git_text(["status", "--porcelain"]), "");

    repo.codeweaver(["daemon", "stop"]).success();
    assert_eq!(daemon.wait(), 0);
    assert!(!repo.path(SOCKET).exists());
    repo.codeweaver(["daemon", "status"]).fails(1);
    repo.codeweaver(["daemon", "stop"]).fails(1);
}

#[test]
fn the_socket_of_a_killed_daemon_is_no_daemon_and_is_replaced() {
    let repo = indexed();
    let mut daemon = Daemon::start(&repo);
    daemon.kill();
    assert!(repo.path(SOCKET).symlink_metadata().is_ok());
    assert_eq!(status(&repo)["running"], false);
    assert_same_answers(&repo, "killed");

    let _next = Daemon::start(&repo);
    repo.codeweaver(["search", "header"]).success();
    assert_eq!(n_served(&repo), 1);
}

#[test]
fn of_many_that_start_at_once_one_is_left() {
    let repo = indexed();
    let start = || repo.command(program()).args(["daemon", "start"]).stdout(Stdio::null()).spawn().unwrap();
    let starting: Vec<Child> = (0..6).map(|_| start()).collect();
    for mut child in starting {
        assert!(child.wait().unwrap().success());
    }

    let pid = status(&repo)["pid"].clone();
    repo.codeweaver(["search", "header"]).success();
    assert_eq!(n_served(&repo), 1);
    repo.codeweaver(["daemon", "start"]).success().says(&["runs already", &pid.to_string()]);
    repo.codeweaver(["daemon", "run"]).fails(2);
    repo.codeweaver(["daemon", "stop"]).success();
    assert!(!runs_soon(&repo), "another one has taken its place");
}

#[test]
fn one_starts_as_soon_as_another_was_stopped() {
    let repo = indexed();
    for _ in 0..8 {
        repo.codeweaver(["daemon", "start"]).success();
        repo.codeweaver(["search", "header"]).success();
        repo.codeweaver(["daemon", "stop"]).success();
    }
}

#[test]
fn a_stopped_daemon_is_not_waited_for() {
    let repo = indexed();
    let daemon = Daemon::start(&repo);
    daemon.signal("STOP");
    let run = repo.codeweaver(["search", "header"]);
    daemon.signal("CONT");
    assert_eq!(comparable(&run), comparable(&alone(&repo, &["search", "header"])));
}

#[test]
fn it_ends_with_its_store_and_with_its_program() {
    let repo = indexed();
    let mut daemon = Daemon::start(&repo);
    repo.codeweaver(["deinit"]).success();
    assert_eq!(daemon.wait(), 0);

    let repo = indexed();
    let mut daemon = Daemon::start(&repo);
    std::fs::remove_dir_all(repo.root()).unwrap();
    assert_eq!(daemon.wait(), 0);
}

#[test]
fn another_build_is_not_served_and_ends_the_daemon() {
    let repo = indexed();
    let own = repo.beside("bin").join("git-codeweaver");
    std::fs::create_dir_all(own.parent().unwrap()).unwrap();
    copy_program(&own);
    let mut command = repo.command(&own);
    command.args(["daemon", "run"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut daemon = Daemon(command.spawn().unwrap());
    wait_until("the daemon answers", || status(&repo)["running"] == true);

    // The same bytes in another file are another build.
    repo.codeweaver(["search", "header"]).success();
    assert_eq!((n_served(&repo), status(&repo)["declined"].as_u64()), (0, Some(1)));
    let told = repo.codeweaver(["daemon", "status"]).success().stdout().to_owned();
    assert!(told.contains("1 declined (the last: the daemon runs another program file)"), "{told}");

    copy_program(&own.with_file_name("new"));
    std::fs::rename(own.with_file_name("new"), &own).unwrap();
    assert_eq!(daemon.wait(), 0);
}

#[test]
fn other_settings_in_the_environment_are_not_served() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    for (name, value) in
        [("CODEWEAVER_SEARCH_LIMIT", "1"), ("GIT_DIR", ".git"), ("HOME", "/"), ("CODEWEAVER_LOG", "info")]
    {
        Run::new(repo.command(program()).args(["search", "header"]).env(name, value)).success();
        assert_eq!(n_served(&repo), 0, "{name}");
    }
    repo.codeweaver(["search", "header", "--debug"]).success();
    Run::with_input(repo.command(program()).args(["search", "-"]), b"header").success();
    assert_eq!(n_served(&repo), 0);

    repo.codeweaver(["search", "header"]).success();
    assert_eq!(n_served(&repo), 1);
    Run::new(repo.command(program()).args(["daemon", "run"]).env("GIT_DIR", ".git")).fails(2);
}

#[test]
fn settings_that_change_are_read_again() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    repo.codeweaver(["search", "header"]).success();
    repo.write("codeweaver.toml", "[search]\nlimit = 1\n");
    assert_same_answers(&repo, "another limit");
    repo.write("codeweaver.toml", "[search]\nlimit = 100000000\n");
    assert_same_answers(&repo, "invalid settings");
}

#[test]
fn it_ends_when_nothing_is_asked() {
    let repo = indexed().env("CODEWEAVER_DAEMON_IDLE_MINUTES", "1");
    let _daemon = Daemon::start(&repo);
    assert_eq!(status(&repo)["ends_after_s"], 60);
}

#[test]
fn many_clients_at_once_get_their_own_answers() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    let expected: Vec<_> = COMMANDS.iter().map(|args| comparable(&alone(&repo, args))).collect();

    std::thread::scope(|scope| {
        for offset in 0..8 {
            let (repo, expected) = (&repo, &expected);
            scope.spawn(move || {
                for i in 0..COMMANDS.len() {
                    let at = (i + 3 * offset) % COMMANDS.len();
                    assert_eq!(
                        comparable(&repo.codeweaver(COMMANDS[at])),
                        expected[at],
                        "{:?}",
                        COMMANDS[at]
                    );
                }
            });
        }
    });
    assert!(n_served(&repo) > 0, "{:#}", status(&repo));
}

#[test]
fn edits_are_found_at_once() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    for i in 0..30 {
        let name = format!("unheard_of_{i}");
        repo.write("src/parse.rs", format!("pub fn {name}() {{}}\n"));
        let run = repo.codeweaver(["search", "--mode", "exact", &name, "--files-with-matches"]);
        assert_eq!(run.success().stdout(), "src/parse.rs\n", "edit {i}");
        let run = repo.codeweaver(["tool", "find_symbol", &name]);
        assert!(run.stdout().contains("src/parse.rs"), "{}", run.explain());
    }
    assert_eq!(n_served(&repo), 60);
}

#[test]
fn a_search_starts_one_only_if_the_user_wants_that() {
    let repo = indexed();
    repo.write("codeweaver.toml", "[daemon]\nauto = true\n").commit("settings");
    repo.codeweaver(["search", "header"]).success();
    assert!(!runs_soon(&repo), "a repository has started it");

    let repo = repo.env("CODEWEAVER_DAEMON_AUTO", "true");
    repo.codeweaver(["search", "header"]).success();
    wait_until("the daemon answers", || status(&repo)["running"] == true);
    repo.codeweaver(["search", "header"]).success();
    assert_eq!(n_served(&repo), 1);
    assert_eq!(repo.status()["daemon"]["pid"], status(&repo)["pid"]);
    repo.codeweaver(["doctor"]).says(&["daemon"]);
    repo.codeweaver(["daemon", "stop"]).success();
}

#[test]
fn a_terminal_shows_the_same() {
    let Some(script) = Tool::SCRIPT.find() else { return };
    let repo = indexed();
    repo.write("src/long.rs", "/// A header.\npub fn header() {}\n".repeat(60));
    let _daemon = Daemon::start(&repo);

    let lines = |switch: &str, pager: &str, columns: u32, args: &str| {
        let line = format!("stty rows 20 cols {columns}; {} {args}", program().display());
        let mut command = repo.command(&script);
        command.args(["-qec", &line, "/dev/null"]).env("CODEWEAVER_DAEMON", switch);
        command.env("TERM", "xterm").env("GIT_PAGER", pager).env_remove("COLUMNS").env_remove("LESS");
        comparable(&Run::new(&mut command))
    };
    for (pager, columns) in [("cat", 60), ("cat", 120), ("sed s/^/paged:/", 80), ("no-such-pager", 80)] {
        for args in ["search header", "read src/long.rs", "outline src/long.rs", "search zygohistomorphic"] {
            let with = lines("on", pager, columns, args);
            assert_eq!(with, lines("off", pager, columns, args), "{pager}, {columns}: {args}");
        }
    }
    assert_eq!(n_served(&repo), 16);
    assert!(lines("on", "sed s/^/paged:/", 80, "read src/long.rs").0.starts_with("paged:"));
}

#[test]
fn a_client_that_goes_away_leaves_the_daemon_as_it_was() {
    let repo = indexed();
    let _daemon = Daemon::start(&repo);
    for _ in 0..10 {
        let mut client = repo.command(program());
        let mut client = client.args(["search", "header"]).stdout(Stdio::null()).spawn().unwrap();
        client.kill().unwrap();
        client.wait().unwrap();
    }
    wait_until("the daemon is idle", || status(&repo)["active"] == 0);
    assert_same_answer(&repo, COMMANDS[0], "after clients that were killed");
}
