//! A random history of a repository, whose answers are compared after each step.

use super::*;

const STEPS: usize = 14;

pub struct History {
    seed: u64,
    rng: fastrand::Rng,
    sandbox: Sandbox,
    /// A long-lived searcher, as in a server, with its caches.
    resident: Searcher,
    log: Vec<String>,
    n_branches: usize,
    n_files: usize,
}

/// Operations with their relative frequencies.
type Step = (u32, fn(&mut History) -> String);

const STEPS_TABLE: &[Step] = &[
    (6, History::edit),
    (5, History::add_file),
    (3, History::delete),
    (3, History::rename),
    (2, History::rename_and_edit),
    (2, History::copy_file),
    (1, History::change_mode),
    (2, History::add_odd_file),
    (2, History::swap_file_and_folder),
    (2, History::stage),
    (8, History::commit_all),
    (3, History::commit_one),
    (2, History::amend),
    (3, History::new_branch),
    (5, History::switch),
    (2, History::detach),
    (3, History::merge),
    (2, History::rebase),
    (1, History::cherry_pick),
    (2, History::stash),
    (2, History::unstash),
    (2, History::reset),
    (2, History::change_attributes),
    (2, History::change_ignore),
    (1, History::prune_objects),
    (1, History::collect_garbage),
    (2, History::finish_operation),
];

/// Parts of files; few, so that many files share them and scores tie.
const PIECES: &[(&str, &str)] = &[
    (
        "py",
        "def parse_config(path):\n    \"\"\"Parse the configuration file.\"\"\"\n    with open(path) as handle:\n        return dict(line.split('=', 1) for line in handle)\n\n",
    ),
    (
        "py",
        "class TokenStore:\n    def refresh_token(self, token):\n        \"\"\"Exchange an expired token.\"\"\"\n        return self.client.post('/refresh', token)\n\n    def revoke(self, token):\n        self.tokens.discard(token)\n\n",
    ),
    ("py", "def read_lines(handle):\n    for line in handle:\n        yield line.rstrip('\\n')\n\n"),
    ("py", "def test_retry_request():\n    assert retry_request(lambda: 1) == 1\n\n"),
    (
        "rs",
        "/// Retries a request with exponential backoff.\npub fn retry_request(mut attempts: u32) -> Result<(), Error> {\n    while attempts > 0 {\n        attempts -= 1;\n    }\n    Err(Error::Exhausted)\n}\n\n",
    ),
    (
        "rs",
        "pub struct Parser<'a> {\n    input: &'a str,\n}\n\nimpl<'a> Parser<'a> {\n    pub fn next(&mut self) -> Option<char> {\n        self.input.chars().next()\n    }\n}\n\n",
    ),
    (
        "rs",
        "fn open_database(url: &str) -> Connection {\n    Connection::open(url).expect(\"the database opens\")\n}\n\n",
    ),
    (
        "js",
        "export function validateInput(user) {\n  if (!user.name) {\n    throw new Error('name is missing');\n  }\n  return true;\n}\n\n",
    ),
    ("js", "class Socket {\n  close() {\n    this.handle.end();\n  }\n}\n\n"),
    (
        "md",
        "# Configuration\n\nThe configuration file is parsed once at the start.\n\n## Tokens\n\nTokens are refreshed when they expire.\n\n",
    ),
    ("toml", "[database]\nurl = \"postgres://localhost\"\nretries = 3\n\n"),
    ("txt", "notes about closing the socket and reading lines\n\n"),
    ("unknown", "retry the request until the socket closes\n\n"),
];

const FOLDERS: &[&str] =
    &["", "src/", "src/net/", "tests/", "docs/", ".hidden/", "vendor/lib/", "lib with space/", "é/"];

impl History {
    pub fn new(seed: u64) -> History {
        let mut rng = fastrand::Rng::with_seed(seed);
        let sandbox = Sandbox::new();
        if rng.u8(..4) == 0 {
            sandbox.git(["config", "core.autocrlf", if rng.bool() { "true" } else { "input" }]);
        }
        sandbox.git(["config", "merge.conflictStyle", "diff3"]);
        let resident = searcher(open(sandbox.root()));
        let mut history =
            History { seed, rng, sandbox, resident, log: Vec::new(), n_branches: 0, n_files: 0 };
        for _ in 0..history.rng.usize(3..9) {
            history.add_file();
        }
        history.commit_all();
        history
    }

    pub fn run(mut self) {
        self.check();
        for _ in 0..STEPS {
            let total: u32 = STEPS_TABLE.iter().map(|(often, _)| often).sum();
            let mut at = self.rng.u32(..total);
            let step = STEPS_TABLE.iter().find(|(often, _)| {
                let found = at < *often;
                at = at.saturating_sub(*often);
                found
            });
            let said = (step.unwrap().1)(&mut self);
            self.log.push(said);
            self.check();
        }
    }

    /// Updates (usually), searches, and compares with a fresh index.
    fn check(&mut self) {
        let is_first = self.log.is_empty();
        if is_first || self.rng.u8(..3) > 0 {
            self.log.push("update".to_owned());
            if let Err(e) = try_index(self.sandbox.root()) {
                self.fail(&format!("the update fails: {e}"));
            }
            self.check_store();
        }
        let fresh = self.sandbox.copy();
        index(fresh.root());
        // One for all queries: that many processes agree is checked with the other index.
        let of_fresh = searcher(open(fresh.root()));
        let mut queries = queries();
        self.rng.shuffle(&mut queries);
        queries.truncate(5);
        for query in &queries {
            let wanted = search(&of_fresh, query);
            let wanted = wanted.unwrap_or_else(|e| self.fail(&format!("{query:?} of a fresh index: {e}")));
            let (mut ours, wanted) = (self.sandbox.ask(query), comparable(&wanted));
            if ours != wanted && self.line_ends_changed() {
                // Git trusts the stat data of a file although changed attributes would convert it to other
                // bytes now; a copy has no stat data. Without trusted stat data both must compare bytes.
                self.touch_all();
                ours = self.sandbox.ask(query);
            }
            if ours == wanted {
                // A long-lived searcher must not answer from earlier states.
                ours = match search(&self.resident, query) {
                    Ok(response) => comparable(&response),
                    Err(e) => self.fail(&format!("{query:?} of a resident process: {e}")),
                };
            }
            if ours != wanted {
                let lines = |value| serde_json::to_string_pretty(value).unwrap_or_default();
                let (ours, wanted) = (lines(&ours), lines(&wanted));
                let difference: Vec<String> = ours
                    .lines()
                    .zip(wanted.lines())
                    .filter(|(a, b)| a != b)
                    .take(12)
                    .map(|(a, b)| format!("  ours {a}\n fresh {b}"))
                    .collect();
                let fresh = fresh.keep();
                self.fail(&format!("{query:?} differs from {}:\n{}", fresh.display(), difference.join("\n")));
            }
        }
    }

    fn line_ends_changed(&self) -> bool {
        self.log.iter().any(|said| said.contains("crlf") || said.contains("text"))
            || self.sandbox.try_git(["config", "core.autocrlf"])
    }

    fn touch_all(&self) {
        for path in self.sandbox.git_text(["ls-files", "-z"]).split('\0') {
            let path = self.sandbox.root().join(path);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
                let file = std::fs::File::options().append(true).open(path).unwrap();
                file.set_modified(later).unwrap();
            }
        }
    }

    fn check_store(&self) {
        assert_sound(self.sandbox.root());
        let reader = reader(self.sandbox.root());
        let head = &reader.state.heads["main"];
        let snapshot = reader.snapshot(&head.snapshot).unwrap().unwrap();
        assert_eq!(publish::recount(&reader, &snapshot).n_rows, snapshot.totals.n_rows);
        assert_eq!(head.marker.as_ref().unwrap().total_chunks, snapshot.totals.n_rows);
    }

    fn fail(&mut self, what: &str) -> ! {
        let status = String::from_utf8_lossy(self.sandbox.run_git(["status", "--short", "--branch"]).bytes())
            .into_owned();
        let root: PathBuf = std::mem::replace(&mut self.sandbox, Sandbox::new()).keep();
        panic!("seed {}: {what}\n{}\nin {}\n{status}", self.seed, self.log.join("\n"), root.display());
    }

    fn piece(&mut self, extension: &str) -> &'static str {
        let fitting: Vec<&str> =
            PIECES.iter().filter(|(of, _)| *of == extension).map(|(_, text)| *text).collect();
        fitting[self.rng.usize(..fitting.len())]
    }

    fn content(&mut self, extension: &str) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.usize(1..5) {
            text.push_str(self.piece(extension));
        }
        let comment = match extension {
            "py" | "toml" => "#",
            "rs" | "js" => "//",
            _ => "",
        };
        if self.rng.bool() {
            // Another blob with the same chunks otherwise.
            text.push_str(&format!("{comment} revision {}\n", self.rng.u8(..20)));
        }
        text
    }

    fn new_path(&mut self) -> (String, &'static str) {
        let extension = PIECES[self.rng.usize(..PIECES.len())].0;
        self.n_files += 1;
        let folder = FOLDERS[self.rng.usize(..FOLDERS.len())];
        (
            format!(
                "{folder}{}{}.{extension}",
                ["config", "token", "net", "parser"][self.rng.usize(..4)],
                self.n_files
            ),
            extension,
        )
    }

    /// A file of the working tree that git tracks.
    fn some_file(&mut self) -> Option<String> {
        let listed = self.sandbox.git_text(["ls-files", "-z"]);
        let files: Vec<&str> = listed
            .split('\0')
            .filter(|path| !path.is_empty() && !path.starts_with(".git") && !path.starts_with(".codeweaver"))
            .filter(|path| self.sandbox.root().join(path).is_file())
            .collect();
        (!files.is_empty()).then(|| files[self.rng.usize(..files.len())].to_owned())
    }

    fn some_commit(&mut self) -> String {
        let listed = self.sandbox.git_text(["rev-list", "--all", "--max-count=12"]);
        let commits: Vec<&str> = listed.lines().collect();
        commits[self.rng.usize(..commits.len())].to_owned()
    }

    fn some_branch(&mut self) -> String {
        let listed = self.sandbox.git_text(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let branches: Vec<&str> = listed.lines().collect();
        branches[self.rng.usize(..branches.len())].to_owned()
    }

    fn edit(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to edit".to_owned() };
        let extension = path.rsplit('.').next().unwrap_or("txt").to_owned();
        let known = PIECES.iter().any(|(of, _)| *of == extension);
        let extra = self.content(if known { &extension } else { "txt" });
        let old = std::fs::read(self.sandbox.root().join(&path)).unwrap();
        let cut = if self.rng.bool() {
            old.len()
        } else {
            old.iter().position(|&b| b == b'\n').map_or(0, |i| i + 1)
        };
        self.sandbox.write(&path, [&old[..cut], extra.as_bytes()].concat());
        format!("edit {path}")
    }

    fn add_file(&mut self) -> String {
        let (path, extension) = self.new_path();
        let text = self.content(extension);
        self.sandbox.write(&path, text);
        format!("add {path}")
    }

    fn delete(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to delete".to_owned() };
        std::fs::remove_file(self.sandbox.root().join(&path)).unwrap();
        format!("delete {path}")
    }

    fn rename(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to rename".to_owned() };
        let extension = path.rsplit('.').next().unwrap_or("txt").to_owned();
        let (stem, _) = self.new_path();
        let to = format!("{}.{extension}", stem.rsplit_once('.').map_or(stem.as_str(), |(stem, _)| stem));
        std::fs::create_dir_all(self.sandbox.root().join(&to).parent().unwrap()).unwrap();
        let done = self.sandbox.try_git(["mv", &path, &to]);
        format!("rename {path} to {to}: {done}")
    }

    fn rename_and_edit(&mut self) -> String {
        let renamed = self.rename();
        format!("{renamed}, {}", self.edit())
    }

    fn copy_file(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to copy".to_owned() };
        self.n_files += 1;
        let to = match path.rsplit_once('/') {
            Some((folder, name)) => format!("{folder}/copy{}_{name}", self.n_files),
            None => format!("copy{}_{path}", self.n_files),
        };
        std::fs::copy(self.sandbox.root().join(&path), self.sandbox.root().join(&to)).unwrap();
        format!("copy {path} to {to}")
    }

    fn change_mode(&mut self) -> String {
        use std::os::unix::fs::PermissionsExt;
        let Some(path) = self.some_file() else { return "no mode to change".to_owned() };
        let mode = if self.rng.bool() { 0o755 } else { 0o644 };
        std::fs::set_permissions(self.sandbox.root().join(&path), std::fs::Permissions::from_mode(mode))
            .unwrap();
        format!("mode {mode:o} of {path}")
    }

    fn add_odd_file(&mut self) -> String {
        let (path, extension) = self.new_path();
        let bytes = match self.rng.u8(..8) {
            0 => Vec::new(),
            1 => (0..400).map(|_| self.rng.u8(..)).collect(),
            2 => self.content(extension).replace('\n', "\r\n").into_bytes(),
            3 => [b"\xef\xbb\xbf", self.content(extension).as_bytes()].concat(),
            4 => self.content(extension).trim_end().as_bytes().to_vec(),
            5 => [self.content(extension).as_bytes(), b"\xff\xfe broken \xc3\n"].concat(),
            6 => format!("{}\n", "retry token ".repeat(900)).into_bytes(),
            _ => b"version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1\n".to_vec(),
        };
        if self.rng.u8(..6) == 0 {
            let _ = std::fs::create_dir_all(self.sandbox.root().join(&path).parent().unwrap());
            let _ = std::os::unix::fs::symlink("README", self.sandbox.root().join(&path));
            return format!("link {path}");
        }
        self.sandbox.write(&path, &bytes);
        format!("add odd {path} ({} bytes)", bytes.len())
    }

    fn swap_file_and_folder(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to swap".to_owned() };
        let bytes = std::fs::read(self.sandbox.root().join(&path)).unwrap();
        std::fs::remove_file(self.sandbox.root().join(&path)).unwrap();
        self.sandbox.write(&format!("{path}/inner.py"), bytes);
        format!("{path} becomes a folder")
    }

    fn stage(&mut self) -> String {
        let Some(path) = self.some_file() else { return "nothing to stage".to_owned() };
        let all = self.rng.bool();
        let done = self.sandbox.try_git(["add", if all { "-A" } else { &path }]);
        format!("stage {}: {done}", if all { "all" } else { &path })
    }

    fn commit_all(&mut self) -> String {
        self.sandbox.try_git(["add", "-A"]);
        let done = self.sandbox.try_git(["commit", "-q", "-m", "all"]);
        format!("commit all: {done}")
    }

    fn commit_one(&mut self) -> String {
        let first = self.edit();
        let staged = self.stage();
        let second = self.edit();
        let done = self.sandbox.try_git(["commit", "-q", "-m", "one"]);
        format!("{first}, {staged}, {second}, commit the staged: {done}")
    }

    fn amend(&mut self) -> String {
        let edited = self.edit();
        let done = self.sandbox.try_git(["commit", "-q", "-a", "--amend", "-m", "amended"]);
        format!("{edited}, amend: {done}")
    }

    fn new_branch(&mut self) -> String {
        self.n_branches += 1;
        let name = format!("b{}", self.n_branches);
        let from = self.some_commit();
        let done = self.sandbox.try_git(["switch", "-q", "-c", &name, &from]);
        format!("new branch {name} at {from}: {done}")
    }

    fn switch(&mut self) -> String {
        let branch = self.some_branch();
        let force = self.rng.bool();
        let args: &[&str] = if force { &["switch", "-q", "-f", &branch] } else { &["switch", "-q", &branch] };
        format!("switch {branch} (force {force}): {}", self.sandbox.try_git(args))
    }

    fn detach(&mut self) -> String {
        let commit = self.some_commit();
        format!("detach at {commit}: {}", self.sandbox.try_git(["checkout", "-q", "--detach", &commit]))
    }

    fn merge(&mut self) -> String {
        let branch = self.some_branch();
        format!("merge {branch}: {}", self.sandbox.try_git(["merge", "-q", "--no-edit", &branch]))
    }

    fn rebase(&mut self) -> String {
        let branch = self.some_branch();
        let done = self.sandbox.try_git(["rebase", "-q", &branch]);
        if !done && self.rng.bool() {
            return format!("rebase on {branch}, aborted: {}", self.sandbox.try_git(["rebase", "--abort"]));
        }
        format!("rebase on {branch}: {done}")
    }

    fn cherry_pick(&mut self) -> String {
        let commit = self.some_commit();
        format!("cherry-pick {commit}: {}", self.sandbox.try_git(["cherry-pick", &commit]))
    }

    fn stash(&mut self) -> String {
        let edited = self.edit();
        format!("{edited}, stash: {}", self.sandbox.try_git(["stash", "push", "-q", "-u"]))
    }

    fn unstash(&mut self) -> String {
        format!("stash pop: {}", self.sandbox.try_git(["stash", "pop", "-q"]))
    }

    fn reset(&mut self) -> String {
        let to = ["HEAD", "HEAD~1", "HEAD~2"][self.rng.usize(..3)];
        format!("reset to {to}: {}", self.sandbox.try_git(["reset", "-q", "--hard", to]))
    }

    fn change_attributes(&mut self) -> String {
        let lines = [
            "*.py linguist-generated\n",
            "src/** linguist-vendored\n",
            "*.txt text eol=crlf\n",
            "*.unknown linguist-language=Python\n",
            "*.js -text\n* text=auto\n",
            "*.md binary\n",
            "",
        ];
        let folder = ["", "", "src/"][self.rng.usize(..3)];
        let text = lines[self.rng.usize(..lines.len())];
        self.sandbox.write(&format!("{folder}.gitattributes"), text);
        format!("{folder}.gitattributes says {text:?}")
    }

    fn change_ignore(&mut self) -> String {
        let lines = ["*.toml\n", "tests/\n", "/src/net/\n!parser*\n", "*\n!*.py\n", ""];
        let folder = ["", "", "src/"][self.rng.usize(..3)];
        let text = lines[self.rng.usize(..lines.len())];
        self.sandbox.write(&format!("{folder}.codeweaverignore"), text);
        format!("{folder}.codeweaverignore says {text:?}")
    }

    fn prune_objects(&mut self) -> String {
        self.sandbox.try_git(["reflog", "expire", "--expire=now", "--all"]);
        format!("git gc: {}", self.sandbox.try_git(["gc", "-q", "--prune=now"]))
    }

    fn collect_garbage(&mut self) -> String {
        let report = collect(self.sandbox.root());
        format!(
            "collect: {} files removed, rows {} to {}",
            report.files_removed, report.rows_before, report.rows_after
        )
    }

    fn finish_operation(&mut self) -> String {
        let git_dir = self.sandbox.root().join(".git");
        let operation = ["merge", "rebase", "cherry-pick"].into_iter().zip([
            "MERGE_HEAD",
            "rebase-merge",
            "CHERRY_PICK_HEAD",
        ]);
        for (name, file) in operation {
            if git_dir.join(file).exists() {
                let done = self.sandbox.try_git([name, "--abort"]);
                return format!("{name} aborted: {done}");
            }
        }
        "nothing to finish".to_owned()
    }
}
