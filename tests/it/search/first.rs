//! The first match of a query, and the definition that it shows: names as they are written, and deeds as they
//! are asked for.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

const TOKENS: &str = r#""""Tokens with a signature."""
import hmac


def make_token(payload, key):
    """Appends the digest."""
    return payload + b"." + hmac.digest(key, payload, "sha256")


def verify_token(token, key):
    """Checks a signed token, and that the token was signed by this key."""
    payload, _, digest = token.rpartition(b".")
    return hmac.compare_digest(digest, hmac.digest(key, payload, "sha256"))
"#;
const BUILDER: &str = "class HasMany:\n    \"\"\"Builds has_many.\"\"\"\n\n    def has_many_of(self):\n        return has_many\n";
const ASSOCIATIONS: &str = r#"from builder import HasMany


def belongs_to(name):
    return name


def has_many(name):
    return HasMany(name)
"#;
const RUNTIME: &str = r"pub struct Runtime;

impl Runtime {
    pub fn new() -> Runtime {
        Runtime
    }

    pub fn block_on(&self) {
        super::block_on::block_on();
    }
}
";
const BLOCK_ON: &str = "/// Runs a future with block_on.\npub fn block_on() {}\n";
const BOUNDED: &str = "pub struct Sender;\n\nimpl Sender {\n    pub fn same_as_sender(&self) {}\n}\n";
const ONESHOT: &str = "pub struct Sender;\n\nimpl Sender {\n    pub fn send(self) {}\n}\n";
const STORE: &str = "package store;\n\npublic class Store {\n    int n;\n\n    public Store(int n) {\n        this.n = n;\n    }\n}\n";
const LOADER: &str = "def loadYamlFileContents(path):\n    return open(path).read()\n\n\nH = dict\n";
const READER: &str = "def document(text):\n    \"\"\"DocBook to a document.\"\"\"\n    return text\n";
const WRITER: &str = "def document(tree):\n    \"\"\"A document to DocBook: docbook, as DocBook reads it.\"\"\"\n    return tree\n";
const LEDGER: &str = r#"def post(entry):
    return entry


def settle(account):
    if account is None:
        raise ValueError("no account to settle, post an entry to the account and settle the account")
    return account


def balance(account):
    total = sum(account)
    return total / len(account)
"#;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/tokens.py", TOKENS),
        ("src/builder/has_many.py", BUILDER),
        ("src/associations.py", ASSOCIATIONS),
        ("src/runtime/runtime.rs", RUNTIME),
        ("src/future/block_on.rs", BLOCK_ON),
        ("src/sync/mpsc/bounded.rs", BOUNDED),
        ("src/sync/oneshot.rs", ONESHOT),
        ("src/Store.java", STORE),
        ("src/loader.py", LOADER),
        ("src/readers/docbook.py", READER),
        ("src/writers/docbook.py", WRITER),
        ("src/ledger.py", LEDGER),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The path and the focus of the best match; empty if there is none.
fn first(repo: &TestRepo, query: &str) -> (String, String) {
    let response: Value = repo.codeweaver(["search", "-o", "json", "-l", "1", "--", query]).json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = &response["matches"][0];
    (text(&found["file"]["path"]), text(&found["focus"]["symbol"]))
}

fn at(path: &str, symbol: &str) -> (String, String) {
    (path.to_owned(), symbol.to_owned())
}

#[test]
fn a_name_as_it_is_written_is_declared_before_it_is_used() {
    let repo = indexed();
    for (query, path, symbol) in [
        ("has_many", "src/associations.py", "has_many"),
        ("HasMany", "src/builder/has_many.py", "HasMany"),
        ("Runtime::block_on", "src/runtime/runtime.rs", "Runtime::block_on"),
        ("mpsc::Sender", "src/sync/mpsc/bounded.rs", "Sender"),
        ("oneshot::Sender", "src/sync/oneshot.rs", "Sender"),
        ("Store", "src/Store.java", "Store"),
        ("yamlFile", "src/loader.py", "loadYamlFileContents"),
        ("H", "src/loader.py", "H"),
    ] {
        assert_eq!(first(&repo, query), at(path, symbol), "{query}");
    }
}

#[test]
fn what_does_the_opposite_of_what_is_asked_for_is_not_first() {
    let repo = indexed();
    for (query, path, symbol) in [
        ("create a signed token", "src/tokens.py", "make_token"),
        ("check a signed token", "src/tokens.py", "verify_token"),
        ("reads DocBook", "src/readers/docbook.py", "document"),
        ("writes DocBook", "src/writers/docbook.py", "document"),
    ] {
        assert_eq!(first(&repo, query), at(path, symbol), "{query}");
    }
}

#[test]
fn a_trace_shows_the_function_that_it_names() {
    let repo = indexed();
    let trace = "No account to settle\n\nPosting an entry to the account fails, and so does settle:\n\n\
        Traceback (most recent call last):\n\
        \x20 File \"app.py\", line 3, in <module>\n\
        \x20   balance([])\n\
        \x20 File \"/srv/app/src/ledger.py\", line 13, in balance\n\
        \x20   return total / len(account)\n\
        ZeroDivisionError: division by zero\n";
    assert_eq!(first(&repo, trace), at("src/ledger.py", "balance"));
}
