//! `duplicates`: made copies are found with their class, other code is not, and nothing depends on chance.

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

const TOTAL: &str = r#"/// The sum of the prices of an order, with its discount.
pub fn order_total(items: &[Item], rate: u32, limit: u32) -> Result<u32, PriceError> {
    let mut total = 0;
    for item in items {
        let price = item.price.checked_mul(item.count).ok_or(PriceError::Overflow)?;
        if price > limit {
            continue;
        }
        total += price;
    }
    Ok(total - total * rate / 100)
}
"#;
const WALK: &str = r#"/// The files below a folder, without those that are hidden.
pub fn visible_files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_name().to_string_lossy().starts_with('.') {
            true => {}
            false if path.is_dir() && depth > 0 => found.extend(visible_files(&path, depth - 1)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
"#;

/// `text` with each of its own names replaced by another, as a program would do it.
fn renamed(text: &str) -> String {
    let names = ["order_total", "items", "item", "rate", "limit", "total", "price"];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';

    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let n = rest.find(|c: char| !is_word(c)).filter(|n| *n > 0).unwrap_or(first.len_utf8());
        let word = &rest[..n];
        match names.iter().position(|name| *name == word) {
            Some(at) => out.push_str(&format!("renamed_{at}")),
            None => out.push_str(word),
        }
        rest = &rest[n..];
    }
    out
}

fn repository() -> TestRepo {
    let identical =
        TOTAL.replace("order_total", "cart_total").replace("/// The", "/// Another\n/// comment: the");
    let near = TOTAL
        .replace("order_total", "invoice_total")
        .replace("total += price;", "total += price;\n        log::debug!(\"added {price}\");");
    let two = format!("{WALK}\n{near}");
    let other_names = renamed(TOTAL);
    let walk = WALK.replace("visible_files", "walk").replace("Vec", "List").replace("dir", "folder");
    let repo = TestRepo::with_files(&[
        ("src/orders.rs", TOTAL),
        ("src/cart.rs", identical.as_str()),
        ("src/renamed.rs", other_names.as_str()),
        ("src/invoices.rs", two.as_str()),
        ("src/folders.rs", walk.as_str()),
        ("tests/orders.rs", TOTAL),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn found(repo: &TestRepo, args: &[&str]) -> Value {
    repo.codeweaver([&["duplicates", "--json"][..], args].concat()).success().json()
}

/// Path, class and whether it changed, of each member of a group.
fn members(group: &Value) -> Vec<(&str, &str)> {
    let members = group["members"].as_array().unwrap().iter();
    members.map(|it| (it["path"].as_str().unwrap(), it["class"].as_str().unwrap())).collect()
}

/// The paths of the members of each group.
fn paths(answer: &Value) -> Vec<Vec<&str>> {
    let groups = answer["groups"].as_array().unwrap().iter();
    groups.map(|group| members(group).into_iter().map(|(path, _)| path).collect()).collect()
}

#[test]
fn made_copies_are_found_with_their_class_and_differences() {
    let repo = repository();
    let answer = found(&repo, &["--min-similarity", "0.75"]);
    let groups = answer["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2, "{answer:#}");

    let prices = &groups[0];
    assert_eq!(
        members(prices),
        [
            ("src/cart.rs", "identical"),
            ("src/invoices.rs", "near"),
            ("src/orders.rs", "identical"),
            ("src/renamed.rs", "renamed"),
        ]
    );
    assert_eq!((&prices["class"], &prices["reference"]), (&json!("near"), &json!(0)), "{prices:#}");
    let added = &prices["members"][1]["differences"];
    assert_eq!(*added, json!([{ "reference": null, "copy": "log::debug!(\"added {price}\");" }]));
    assert!(prices["members"][3]["total_differences"].as_u64().unwrap() >= 5, "{prices:#}");
    assert!((30..=36).contains(&prices["saved_lines"].as_u64().unwrap()), "{prices:#}");
    // The lines are those of the function, not of the file.
    assert_eq!(prices["members"][2]["span"], json!([2, 12]));

    // Only with tests, and not what is too small or not similar enough.
    assert_eq!(paths(&found(&repo, &["--include-tests"]))[0].len(), paths(&found(&repo, &[]))[0].len() + 1);
    assert_eq!(found(&repo, &["--min-tokens", "500"])["total_groups"], 0);
    assert_eq!(paths(&found(&repo, &["--min-similarity", "1"])), [["src/cart.rs", "src/orders.rs"]]);
    assert_eq!(paths(&found(&repo, &["src/orders.rs", "src/inv*"])), [["src/invoices.rs", "src/orders.rs"]]);
    repo.codeweaver(["duplicates", "--min-similarity", "0.2"]).fails(2);
    let all = ["--min-similarity", "0.75"];
    assert_eq!(found(&repo, &all), found(&repo, &all));
}

#[test]
fn copies_since_a_revision_are_those_with_a_changed_member() {
    let repo = repository();
    repo.git(["tag", "before"]);
    assert_eq!(found(&repo, &["--since", "before"])["total_groups"], 0);
    repo.codeweaver(["duplicates", "--since", "before", "--fail"]).success().says(&["No copies"]);

    // A comment elsewhere in the file changes no definition, and a moved file is not a new one.
    repo.write("src/cart.rs", format!("{}\n// end\n", repo.read("src/cart.rs")));
    repo.git(["mv", "src/renamed.rs", "src/moved.rs"]).commit("comment, move");
    assert_eq!(found(&repo, &["--since", "before"])["total_groups"], 0);

    // A copy that is not committed yet.
    repo.write("src/new.rs", WALK.replace("visible_files", "listed"));
    let answer = found(&repo, &["--since", "before"]);
    let [group] = answer["groups"].as_array().unwrap().as_slice() else { panic!("{answer:#}") };
    let changed: Vec<(&str, bool)> = group["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["path"].as_str().unwrap(), it["changed"].as_bool().unwrap()))
        .collect();
    assert!(
        changed.contains(&("src/new.rs", true)) && changed.contains(&("src/invoices.rs", false)),
        "{changed:?}"
    );
    repo.codeweaver(["duplicates", "--since", "before", "--fail"]).fails(1);

    // A line of one copy changes.
    repo.remove("src/new.rs").write("src/orders.rs", TOTAL.replace("continue", "break"));
    let answer = found(&repo, &["--since", "before"]);
    let members = answer["groups"][0]["members"].as_array().unwrap();
    let changed: Vec<&Value> =
        members.iter().filter(|it| it["changed"] == true).map(|it| &it["path"]).collect();
    assert_eq!((changed, &answer["total_groups"]), (vec![&json!("src/orders.rs")], &json!(1)), "{answer:#}");
}

#[test]
fn the_log_for_code_scanners_is_sarif() {
    let repo = repository();
    let log = repo.codeweaver(["duplicates", "--format", "sarif", "--fail"]).fails(1).json();
    assert_eq!(log["version"], "2.1.0");
    let [run] = log["runs"].as_array().unwrap().as_slice() else { panic!("{log:#}") };
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{log:#}");

    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert_eq!(result["partialFingerprints"]["duplicates/v1"].as_str().unwrap().len(), 16);

        let related = result["relatedLocations"].as_array().unwrap();
        let message = result["message"]["text"].as_str().unwrap();
        for place in related.iter().chain(result["locations"].as_array().unwrap()) {
            let physical = &place["physicalLocation"];
            let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
            let region = &physical["region"];
            let n_lines = repo.read(uri).lines().count() as u64;
            let (first, last) = (region["startLine"].as_u64().unwrap(), region["endLine"].as_u64().unwrap());
            assert!(1 <= first && first <= last && last <= n_lines, "{place:#}");
        }
        // Links in a message name related locations.
        for place in related {
            assert!(message.contains(&format!("]({})", place["id"])), "{message}");
        }
    }
}

#[test]
fn people_and_agents_are_shown_the_same_copies() {
    let repo = repository();
    repo.codeweaver(["duplicates"]).success().says(&[
        "2 groups of copies",
        "src/cart.rs:3-13",
        "log::debug!",
    ]);
    repo.codeweaver(["duplicates", "--format", "markdown"])
        .success()
        .says(&["# Duplicates", "`src/cart.rs:3-13`"]);
    repo.codeweaver(["duplicates", "--limit", "1"]).success().says(&["1 more"]);

    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_similar", json!({}));
    assert_eq!(paths(&answer), paths(&found(&repo, &[])), "{answer:#}");
    let text = client.text("find_similar", json!({ "max_results": 1 }));
    assert!(text.contains("src/cart.rs:3-13 function cart_total") && text.contains("more: cursor"), "{text}");
    let cursor = text.split('"').rev().nth(1).unwrap();
    let next = client.text("find_similar", json!({ "max_results": 1, "cursor": cursor }));
    assert!(next.contains("src/folders.rs") && !next.contains("src/cart.rs"), "{next}");
    let failed = client.call_plainly("find_similar", json!({ "file": "src/cart.rs" }));
    assert_eq!(failed["isError"], true);
}

const WRITE: &str = r#"import csv


def write_orders(orders, path, separator):
    """Writes orders to a CSV file: one line for each order, with its number, its customer and its price.

    The file is replaced. The separator is that of the country of the customer, and lines end as the
    standard of CSV files demands. Orders without a customer or without a price are written, too.
    """
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(["number", "customer", "price"])
        for order in orders:
            writer.writerow([order.number, order.customer, order.price])
"#;
const WRITE_ALL: &str = r#"import csv


def write_all_orders(orders, path, separator):
    """Writes orders to a CSV file: one line for each order, with its number, its customer and its price.

    The file is replaced. The separator is that of the country of the customer, and lines end as the
    standard of CSV files demands. Orders without a customer or without a price are written, too.
    """
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(["number", "customer", "price"])
        for customer in sorted(orders):
            write_orders(orders[customer], customer, separator)
"#;
const ARCHIVE: &str = r#"import csv


def archive_orders(orders, path, separator):
    """Writes orders to a CSV file: one line for each order, with its number, its customer and its price.

    The file is replaced. The separator is that of the country of the customer, and lines end as the
    standard of CSV files demands. Orders without a customer or without a price are written, too.
    """
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        rows = [["number", "customer", "price"]]
        for order in orders:
            rows.append([order.number, order.customer, order.price])
        writer.writerows(rows)
"#;

#[test]
fn copies_by_meaning_have_tokens_in_common_and_do_not_call_each_other() {
    let groups = |other: &str| {
        let repo = TestRepo::with_files(&[("write.py", WRITE), ("other.py", other)]);
        repo.codeweaver(["init", "--no-hooks"]).success();

        let by_tokens = repo.codeweaver(["duplicates", "--json"]).success().json();
        assert_eq!(by_tokens["total_groups"], 0, "{by_tokens:#}");
        repo.codeweaver(["duplicates", "--semantic", "--json"]).success().json()["groups"].clone()
    };

    let archived = groups(ARCHIVE);
    assert_eq!((archived.as_array().unwrap().len(), &archived[0]["class"]), (1, &json!("semantic")));

    // With the rows before the file, the vector is as near, but fewer tokens are in the same order.
    let (with, rows) = ARCHIVE.split_at(ARCHIVE.find("        rows = ").unwrap());
    let (head, with) = with.split_at(with.find("    with ").unwrap());
    let (rows, last) = rows.split_at(rows.find("        writer.").unwrap());
    assert_eq!(groups(&format!("{head}{}{with}{last}", rows.replace("        ", "    "))), json!([]));

    // By its vector and its tokens, this function is even nearer.
    assert_eq!(groups(WRITE_ALL), json!([]));
    let alone = groups(&WRITE_ALL.replace("write_orders(", "send_orders("));
    assert_eq!(alone.as_array().unwrap().len(), 1, "{alone:#}");
}

#[test]
fn examples_in_documents_are_no_copies_unless_their_language_is_asked_for() {
    let example = format!("# Orders\n\nThe sum of an order:\n\n```rust\n{TOTAL}```\n");
    let other = example.replace("# Orders", "# Carts");
    let repo = TestRepo::with_files(&[("docs/orders.md", &example), ("docs/carts.md", &other)]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    let total = |args: &[&str]| {
        let run = repo.codeweaver([&["duplicates", "--json"], args].concat());
        run.success().json()["total_groups"].clone()
    };
    assert_eq!(total(&[]), 0);
    assert_eq!(total(&["--lang", "rust"]), 0);
    assert_eq!(total(&["--lang", "markdown"]), 1);
}
