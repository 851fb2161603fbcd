//! The page of `serve` in a real browser, checked by `tests/page/check.mjs`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use codeweaver_testkit::{TestRepo, Tool, program};

const RETRY: &str = "\
//! Retries of requests.

/// Calls `request` again until it succeeds, and waits longer each time.
pub fn retry_with_backoff(request: impl Fn() -> bool) -> bool {
    let mut backoff = 1;
    for _ in 0..5 {
        if request() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(backoff));
        backoff *= 2;
    }
    false
}
";
const FETCH: &str = "\
use super::retry::retry_with_backoff;

/// Fetches a page; a request that fails is sent again with backoff.
pub fn fetch_page(url: &str) -> bool {
    retry_with_backoff(|| url.len() > 3)
}
";
const SESSION: &str = "\
/// Signs the token of a session with the key of the server.
pub fn sign_session_token(token: &str, key: u64) -> u64 {
    token.bytes().fold(key, |sum, byte| sum.rotate_left(5) ^ u64::from(byte))
}
";
const QUEUE: &str = "\
def retry_request(request, backoff):
    \"\"\"Put a request that failed back into the queue, with a backoff.\"\"\"
    return [request, backoff * 2]
";
/// Tabs in lines whose numbers have one digit and two.
const TABS: &str = "package tabs\n\nfunc Indented(n int) int {\n\tfor n > 9 {\n\t\tn--\n\t}\n\n\tn++\n\tn += 2\n\tn += 3\n\treturn n\n}\n";
const TEST: &str = "\
from queue import retry_request


def test_retry_request_with_backoff():
    assert retry_request('a request', 2) == ['a request', 4]
";
const GUIDE: &str = "# Guide\n\n## Retries\n\nA request that fails is sent again, with exponential backoff.\n\n## Sessions\n\nTokens are signed.\n";
/// Its name and its text try to be markup and to reorder characters.
const HOSTILE_NAME: &str = "src/<img src=x onerror=alert(1)>.py";
const HOSTILE: &str = "\
# A hostile <b>bold</b> constant.
HOSTILE_CONSTANT = \"<script>alert(2)</script> \u{202e}gnissim\"
";

const TOKEN: &str = "0123456789abcdef-of-a-test";

fn repo() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/net/retry.rs", RETRY),
        ("src/net/fetch.rs", FETCH),
        ("src/session.rs", SESSION),
        ("src/queue.py", QUEUE),
        ("src/tabs.go", TABS),
        ("tests/test_queue.py", TEST),
        ("docs/guide.md", GUIDE),
        (HOSTILE_NAME, HOSTILE),
        (".env", "PASSWORD=hunter2hunter2\n"),
        ("logo.png", "\u{0}PNG"),
    ]);
    repo.write(
        "src/net/retry.rs",
        RETRY.replace("    false", "    // No jitter: there is one client.\n    false"),
    );
    repo.commit("say why there is no jitter");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write(
        "src/scheduler.py",
        "def schedule_draft():\n    \"\"\"A draft of a scheduler.\"\"\"\n    return 1\n",
    );
    repo
}

/// A running server, which is ended when dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts a server on a free port and waits until it listens.
    fn start(repo: &TestRepo, args: &[&str]) -> Server {
        let mut command = repo.command(program());
        command.args(["serve", "--port", "0"]).args(args).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut seen, mut url) = (String::new(), None);
        while url.is_none() && stderr.read_line(&mut seen).unwrap() > 0 {
            url = seen.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        }
        let url = url.unwrap_or_else(|| panic!("the server has not started: {seen}"));
        // A pipe that is full would stop the server.
        std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Server { child, url: url.trim_end_matches([',', '.']).to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_works_in_a_browser() {
    let Some(modules) = Tool::PAGE_MODULES.find() else { return };
    let Some(chromium) = Tool::CHROMIUM.find() else { return };
    let repo = repo();
    let token = repo.beside("token");
    std::fs::write(&token, TOKEN).unwrap();
    let open = Server::start(&repo, &[]);
    let closed = Server::start(&repo, &["--token-file", token.to_str().unwrap()]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/check.mjs");
    let mut node = Command::new("node");
    node.arg(script).args([&open.url, &closed.url, TOKEN]);
    node.env("CODEWEAVER_TEST_PAGE", modules).env("CODEWEAVER_TEST_CHROMIUM", chromium);
    let output = node.stdin(Stdio::null()).output().unwrap();
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{stdout}{stderr}");
}
