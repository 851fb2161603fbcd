//! Long queries: issue reports and stack traces, from the command line, standard input and the MCP server.

use serde_json::{Value, json};

use codeweaver_testkit::{Run, TestRepo};

use crate::support::mcp_client::McpClient;

const FILES: &[(&str, &str)] = &[
    (
        "web/client.py",
        "class Client:\n    def get(self, url):\n        \"\"\"Requests a page, with the cookies of earlier ones.\"\"\"\n        return self.send(url, self.jar.filter(url))\n",
    ),
    (
        "web/jar.py",
        "class Jar:\n    def filter(self, url):\n        for item in self.items:\n            if item.domain is None:\n                raise ValueError('the domain of %s is not allowed' % item)\n        return self.items\n",
    ),
    (
        "web/upload.py",
        "def upload(path, chunk):\n    \"\"\"Sends a file in chunks.\"\"\"\n    return [part for part in read(path, chunk)]\n",
    ),
    (
        "web/errors.py",
        "def describe(code):\n    if code == 'E108':\n        return 'no free slot left in the pool'\n    return ''\n",
    ),
    (
        "tests/test_client.py",
        "from web.client import Client\n\n\ndef test_get_sends_the_cookies_of_a_page_after_a_redirect():\n    assert Client().get('/cookies') == 'cookies'\n",
    ),
    (
        ".github/ISSUE_TEMPLATE/bug.md",
        "## Describe the bug\n\nWhat happened to the cookies after the redirect?\n\n## Steps to reproduce\n\n## Expected behaviour\n\nCookies are sent\n",
    ),
    ("CHANGELOG.md", "# Changes\n\n* Cookies are sent after a redirect to another page.\n"),
];

const ISSUE: &str = "[Bug]: wrong answer after a redirect (#12)

### Describe the bug
<!-- A clear and concise description. -->
The page is not what I expect, see the trace.

```
Traceback (most recent call last):
  File \"/srv/app/main.py\", line 3, in <module>
    client.get('/cookies')
  File \"/usr/lib/python3.11/site-packages/web/__pycache__/client.cpython-311.pyc\", line 4, in get
    return self.send(url, self.jar.filter(url))
  File \"/usr/lib/python3.11/site-packages/web/jar.pyc\", line 5, in filter
ValueError: something
```

### Expected behaviour
An answer.

### Environment
Python 3.11.2
";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn search(repo: &TestRepo, args: &[&str], text: &str) -> Run {
    let mut command = repo.command(codeweaver_testkit::program());
    Run::with_input(command.args(["search", "-"]).args(args), text.as_bytes())
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["matches"].as_array().unwrap().iter().map(|it| it["file"]["path"].as_str().unwrap()).collect()
}

#[test]
fn the_innermost_own_frame_comes_first_and_its_function_is_the_focus() {
    let repo = indexed();
    let answer = search(&repo, &["-o", "json", "--explain"], ISSUE).success().json();
    assert_eq!(paths(&answer)[..2], ["web/jar.py", "web/client.py"], "{answer:#}");
    let first = &answer["matches"][0];
    assert_eq!(first["focus"]["symbol"], "Jar.filter", "{first:#}");
    assert!(first["explanation"]["parts"]["frames"].as_f64().unwrap() > 0.0);
    assert!(first["explanation"]["report"]["text_coverage"].as_f64().unwrap() > 0.0);
    assert!(first["evidence"].is_null(), "that of a short query: {first:#}");
    let reasons = first["reasons"].to_string();
    assert!(reasons.contains("web/jar.py:5 in filter"), "{reasons}");
    // An argument is the same as standard input.
    let typed = repo.codeweaver(["search", "-o", "json", "--explain", ISSUE]).success().json();
    assert_eq!(typed["matches"], answer["matches"]);
}

#[test]
fn messages_paths_and_modules_name_their_files() {
    let repo = indexed();
    let filler = "It happens now and then, on all of our machines, since some weeks.\n".repeat(2);
    for (text, path) in [
        (
            format!("It stops\n{filler}The log says \"no free slot left in the pool\" and nothing else."),
            "web/errors.py",
        ),
        (format!("It stops\n{filler}Only E108 is shown."), "web/errors.py"),
        (format!("It stops\n{filler}I think that it is in web/upload.py somewhere."), "web/upload.py"),
        (format!("It stops\n{filler}The culprit is web.upload of course."), "web/upload.py"),
        (format!("It stops\n{filler}ValueError: the domain of <Item 7> is not allowed\n"), "web/jar.py"),
    ] {
        let answer = search(&repo, &["-o", "json", "--explain"], &text).success().json();
        assert_eq!(paths(&answer)[0], path, "{text}\n{answer:#}");
    }
}

const FOREIGN: &str = "Brake pressure drops after the calibration of the hydraulic actuator

The telemetry of `BrakeController::calibrate_pressure` shows a drop of 12 bar on the rear axle,
although the `HydraulicActuator` reports that its valves are shut. It began with the firmware of
last winter and happens below five degrees only, on wet roads, on both kinds of vehicles.
";

#[test]
fn a_report_about_other_code_has_no_answer() {
    let repo = indexed();
    for mode in ["hybrid", "keyword"] {
        let refused = search(&repo, &["--mode", mode], FOREIGN);
        assert_eq!(refused.code(), 1, "{}", refused.stdout());
        let answered = search(&repo, &["--mode", mode, "--explain"], ISSUE).success().stdout();
        assert!(answered.contains("relevance from: ") && answered.contains("text_coverage"), "{answered}");
    }
}

#[test]
fn tests_templates_and_changelogs_come_after_code() {
    let repo = indexed();
    let text = "Cookies are not sent after a redirect\n\n## Describe the bug\nA test with a page that redirects gets no cookies. See the changelog and the tests.\n";
    let answer = search(&repo, &["-o", "json", "--min-score", "0"], text).success().json();
    let paths = paths(&answer);
    let place = |path: &str| paths.iter().position(|it| *it == path).unwrap_or(usize::MAX);
    for late in ["tests/test_client.py", ".github/ISSUE_TEMPLATE/bug.md", "CHANGELOG.md"] {
        assert!(place("web/client.py") < place(late), "{paths:?}");
    }
}

#[test]
fn a_text_longer_than_an_argument_is_read_from_standard_input_and_not_echoed() {
    let repo = indexed();
    let noise: String =
        (0..4000).map(|i| format!("2024-01-02 10:00:00,{i} worker {i} has nothing to do\n")).collect();
    let text = format!("{ISSUE}\n### Relevant log output\n{noise}");
    assert!(text.len() > 128 * 1024);
    let markdown = search(&repo, &["-o", "markdown"], &text).success().stdout();
    assert!(markdown.starts_with("# Search: wrong answer after a redirect\n"), "{}", &markdown[..200]);
    assert!(!markdown.contains("Traceback") && !markdown.contains("nothing to do"));
    let run = search(&repo, &["-o", "json"], &text);
    let answer = run.success().json();
    assert_eq!(paths(&answer)[0], "web/jar.py");
    assert!(!run.stdout().contains("nothing to do"));
    search(&repo, &[], " \n").is_an_error("there is nothing to search for", "git codeweaver search");
}

#[test]
fn explain_gives_a_reason_for_each_part() {
    let repo = indexed();
    search(&repo, &["--explain"], ISSUE).success().says(&[
        "parts: ",
        "because of the frame ",
        "web/jar.py:5 in filter",
    ]);
    // A query of a few words has no parts.
    let short = repo.codeweaver(["search", "--explain", "cookies of a page"]).success().stdout();
    assert!(!short.contains("parts: ") && !short.contains("because of"), "{short}");
}

#[test]
fn find_code_takes_an_issue() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": ISSUE }));
    assert_eq!(paths(&answer)[0], "web/jar.py", "{answer:#}");
    let text = client.text("find_code", json!({ "queries": [ISSUE, "upload a file in chunks"] }));
    assert!(text.starts_with("# wrong answer after a redirect\n"), "{text}");
    assert!(!text.contains("see the trace"), "the query is not echoed: {text}");
}
