//! External programs that some tests need, and tests that cannot run on this machine.
//!
//! With `CI=true` a missing tool fails the test and names itself. Elsewhere the test is skipped: one line on
//! stderr, and one line in the file `skipped-tests.txt` of the target directory, or in the file that
//! `CODEWEAVER_TEST_SKIPS` names. A CI script removes that file first and counts its lines at the end.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An external program or file that some tests need.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    name: &'static str,
    location: Location,
    /// Arguments with which the tool succeeds if it can be used; empty if its existence is enough.
    probe: &'static [&'static str],
    install: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Location {
    /// At the path in this environment variable.
    Variable(&'static str),
    /// On the path.
    Path,
    /// At this path.
    File(&'static str),
    /// In this subdirectory of `CODEWEAVER_TEST_HOOK_TOOLS`, or on the path.
    HookTools(&'static str),
}

impl Tool {
    pub const PYTHON_PARQUET: Tool = Tool {
        name: "Python with the packages duckdb and polars",
        location: Location::Variable("CODEWEAVER_TEST_PYTHON"),
        probe: &["-c", "import duckdb, polars"],
        install: "pip install duckdb polars",
    };
    pub const PYTHON_MCP: Tool = Tool {
        name: "Python with the package mcp",
        location: Location::Variable("CODEWEAVER_TEST_PYTHON"),
        probe: &["-c", "import mcp"],
        install: "pip install 'mcp>=2'",
    };
    pub const PYTHON_OPENAI: Tool = Tool {
        name: "Python with the package openai",
        location: Location::Variable("CODEWEAVER_TEST_PYTHON"),
        probe: &["-c", "import openai"],
        install: "pip install openai",
    };
    pub const PYTHON_WEBSOCKETS: Tool = Tool {
        name: "Python with the package websockets",
        location: Location::Variable("CODEWEAVER_TEST_PYTHON"),
        probe: &["-c", "import websockets.sync.client"],
        install: "pip install websockets",
    };
    pub const LITELLM: Tool = Tool {
        name: "litellm",
        location: Location::Variable("CODEWEAVER_TEST_LITELLM"),
        probe: &[],
        install: "pip install 'litellm[proxy]'",
    };
    pub const MCP_INSPECTOR: Tool = Tool {
        name: "mcp-inspector",
        location: Location::Variable("CODEWEAVER_TEST_INSPECTOR"),
        probe: &[],
        install: "npm install @modelcontextprotocol/inspector",
    };
    pub const WSCAT: Tool = Tool {
        name: "wscat",
        location: Location::Variable("CODEWEAVER_TEST_WSCAT"),
        probe: &["--version"],
        install: "npm install wscat",
    };
    /// A directory with `node_modules`, for `tests/page`.
    pub const PAGE_MODULES: Tool = Tool {
        name: "the npm packages playwright-core and axe-core",
        location: Location::Variable("CODEWEAVER_TEST_PAGE"),
        probe: &[],
        install: "npm install --prefix DIR playwright-core axe-core",
    };
    pub const CHROMIUM: Tool = Tool {
        name: "chromium",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install chromium",
    };
    pub const STRACE: Tool = Tool {
        name: "strace",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install strace",
    };
    pub const ONNX_RUNTIME: Tool = Tool {
        name: "the ONNX Runtime library",
        location: Location::Variable("CODEWEAVER_TEST_ORT"),
        probe: &[],
        install: "bash tests/onnx/fetch.sh DIR, then DIR/ort/libonnxruntime.so",
    };
    pub const ONNX_MODEL: Tool = Tool {
        name: "a transformer model",
        location: Location::Variable("CODEWEAVER_TEST_MODEL"),
        probe: &[],
        install: "bash tests/onnx/fetch.sh DIR, then DIR/model",
    };
    /// A directory that `tests/org/engine.py fetch` has made.
    pub const ENGINE: Tool = Tool {
        name: "OpenSearch",
        location: Location::Variable("CODEWEAVER_TEST_ENGINE"),
        probe: &[],
        install: "python3 tests/org/engine.py fetch DIR",
    };
    pub const HUSKY: Tool = Tool {
        name: "husky",
        location: Location::HookTools("node_modules/.bin"),
        probe: &[],
        install: "npm install husky",
    };
    pub const LEFTHOOK: Tool = Tool {
        name: "lefthook",
        location: Location::HookTools("node_modules/.bin"),
        probe: &["version"],
        install: "npm install lefthook",
    };
    pub const PRE_COMMIT: Tool = Tool {
        name: "pre-commit",
        location: Location::HookTools("py/bin"),
        probe: &["--version"],
        install: "pip install pre-commit",
    };
    pub const FAKETIME: Tool = Tool {
        name: "faketime",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install faketime",
    };

    pub const BASH_COMPLETION: Tool = Tool {
        name: "bash-completion",
        location: Location::File("/usr/share/bash-completion/bash_completion"),
        probe: &[],
        install: "apt-get install bash-completion",
    };
    pub const ZSH: Tool =
        Tool { name: "zsh", location: Location::Path, probe: &["--version"], install: "apt-get install zsh" };
    pub const FISH: Tool = Tool {
        name: "fish",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install fish",
    };
    /// Checks metrics in the format of Prometheus.
    pub const PROMTOOL: Tool = Tool {
        name: "promtool",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install prometheus",
    };
    pub const MAN: Tool = Tool {
        name: "man",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install man-db",
    };
    /// A terminal for a program whose input is not one.
    pub const SCRIPT: Tool = Tool {
        name: "script",
        location: Location::Path,
        probe: &["--version"],
        install: "apt-get install bsdutils",
    };

    /// Returns the path of the tool. If it is missing, the test fails with `CI=true`; otherwise the result is
    /// `None`, and the test counts as skipped.
    #[track_caller]
    pub fn find(self) -> Option<PathBuf> {
        let found = self.candidates().into_iter().find(|path| self.works(path));
        if found.is_none() {
            let hint = match self.location {
                Location::Variable(name) => format!("{}; set {name} to its path", self.install),
                Location::HookTools(dir) => {
                    format!("{} (on the path, or in {dir} below CODEWEAVER_TEST_HOOK_TOOLS)", self.install)
                }
                Location::Path | Location::File(_) => self.install.to_owned(),
            };
            let name = test_name();
            assert!(
                std::env::var_os("CI").is_none_or(|ci| ci != "true"),
                "{name} needs {}: {hint}",
                self.name
            );
            record(&name, &format!("{} ({hint})", self.name));
        }
        found
    }

    /// Returns the paths at which the tool may be.
    fn candidates(self) -> Vec<PathBuf> {
        match self.location {
            Location::Variable(name) => std::env::var_os(name).map(PathBuf::from).into_iter().collect(),
            Location::Path => self.on_path(),
            Location::File(path) => vec![path.into()],
            Location::HookTools(dir) => {
                let base = std::env::var_os("CODEWEAVER_TEST_HOOK_TOOLS").map(PathBuf::from);
                base.map(|base| base.join(dir).join(self.name)).into_iter().chain(self.on_path()).collect()
            }
        }
    }

    /// Returns a path for each directory of `PATH`.
    fn on_path(self) -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|dir| dir.join(self.name)).collect()
    }

    fn works(self, path: &Path) -> bool {
        if self.probe.is_empty() {
            return path.exists();
        }
        let mut command = Command::new(path);
        command.args(self.probe).stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success())
    }
}

/// Counts the running test as skipped, also with `CI=true`. For needs that no installation meets, such as
/// rights of the user, a file system or a version of git. `need` completes "this test needs …".
pub fn skip(need: &str) {
    record(&test_name(), need);
}

/// Returns the name of the test, after which its thread is named.
fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

fn record(test: &str, need: &str) {
    // Not `eprintln!`, whose output libtest hides if the test passes.
    let line = format!("skipped: {test} needs {need}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    let file = std::fs::File::options().create(true).append(true).open(record_file());
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Returns the file of skipped tests. Test executables are in `TARGET/PROFILE/deps`.
fn record_file() -> OsString {
    std::env::var_os("CODEWEAVER_TEST_SKIPS").unwrap_or_else(|| {
        let test = std::env::current_exe().unwrap_or_default();
        test.ancestors().nth(3).unwrap_or(Path::new(".")).join("skipped-tests.txt").into_os_string()
    })
}
