//! `similar` and `find_similar`: the definition at a line is compared, not the chunk around it.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

/// One chunk with two functions that have nothing in common.
const MIXED: &str = r#"import smtplib


def split_table_row(row, separator=","):
    """Splits a row of a table into its cells."""
    cells = []
    for cell in row.split(separator):
        cells.append(cell.strip().strip('"'))
    return cells


# Sends a message to one recipient.
def send_message(server, sender, recipient, body):
    connection = smtplib.SMTP(server)
    connection.sendmail(sender, [recipient], body)
    connection.quit()
"#;
const MAIL: &str = r#"import smtplib


def retry_delay(attempt):
    """Seconds to wait before the next attempt."""
    return min(60, 2 ** attempt)


def deliver_newsletter(server, sender, recipients, body):
    """Sends a message to all recipients."""
    connection = smtplib.SMTP(server)
    for recipient in recipients:
        connection.sendmail(sender, [recipient], body)
    connection.quit()
"#;
const TABLES: &str = r#"import json


def load_settings(path):
    """Reads the settings."""
    with open(path) as file:
        return json.load(file)


def split_header_row(row, separator=";"):
    """Splits the header of a table into its cells."""
    cells = []
    for cell in row.split(separator):
        cells.append(cell.strip().lower())
    return cells


def split_footer_row(row, separator=";"):
    """Splits the footer of a table into its cells."""
    cells = []
    for cell in row.split(separator):
        cells.append(cell.strip().upper())
    return cells
"#;

fn indexed() -> TestRepo {
    let repo =
        TestRepo::with_files(&[("src/mixed.py", MIXED), ("src/mail.py", MAIL), ("src/tables.py", TABLES)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn similar(repo: &TestRepo, place: &str) -> Vec<(String, String)> {
    let response = repo.codeweaver(["similar", "-o", "json", "--min-score", "0.1", place]).success().json();
    places(&response)
}

/// Path and symbol of each match.
fn places(response: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let matches = response["matches"].as_array().unwrap().iter();
    matches.map(|found| (text(&found["file"]["path"]), text(&found["focus"]["symbol"]))).collect()
}

fn place(path: &str, symbol: &str) -> (String, String) {
    (path.to_owned(), symbol.to_owned())
}

#[test]
fn the_function_at_the_line_is_compared_and_not_the_chunk() {
    let repo = indexed();
    let row = similar(&repo, "src/mixed.py:6");
    assert!(row[0].0 == "src/tables.py" && row[0].1.starts_with("split_"), "{row:?}");
    for line in [11, 12, 15] {
        let message = similar(&repo, &format!("src/mixed.py:{line}"));
        assert_eq!(message[0], place("src/mail.py", "deliver_newsletter"), "line {line}: {message:?}");
    }
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_similar", json!({ "file": "src/mixed.py", "line": 14 }));
    assert_eq!(places(&answer)[0], place("src/mail.py", "deliver_newsletter"), "{answer:#}");
    let focus = &answer["matches"][0]["focus"];
    assert_eq!((&focus["start_line"], &focus["end_line"]), (&json!(9), &json!(14)), "{answer:#}");
}

#[test]
fn a_function_is_not_similar_to_itself_but_to_its_sibling() {
    let repo = indexed();
    let found = similar(&repo, "src/tables.py:14");
    let mut best = found[..2].to_vec();
    best.sort();
    let expected = [place("src/mixed.py", "split_table_row"), place("src/tables.py", "split_footer_row")];
    assert_eq!(best, expected, "{found:?}");
    assert!(!found.contains(&place("src/tables.py", "split_header_row")), "{found:?}");
}

#[test]
fn lines_outside_of_definitions_and_uncommitted_lines_are_compared() {
    let repo = indexed();
    let found = similar(&repo, "src/mixed.py:1");
    assert!(found.iter().all(|(path, _)| path != "src/mixed.py") && !found.is_empty(), "{found:?}");
    repo.write("src/new.py", format!("# new\n\n{MAIL}"));
    let found = similar(&repo, "src/new.py:12");
    assert_eq!(found[0], place("src/mail.py", "deliver_newsletter"), "{found:?}");
}
