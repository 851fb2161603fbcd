//! Repositories, a catalogue of them, and their index on an engine.

use serde_json::Value;

use codeweaver_testkit::{Run, TestRepo};

/// The questions that answers are compared by: of words, of names, of a path, misspelt, and of none.
pub const QUESTIONS: &[&str] = &[
    "retry with growing pauses",
    "parse an invoice into lines",
    "PostEntry",
    "ledger.go",
    "how are amounts booked",
    "where is the sesion cookie signed",
    "Invoice::total",
    "colours of the terminal",
    "nothing has these zyxwvut words",
];

/// A directory with repositories and the catalogue `all.git`.
pub struct Site {
    pub base: TestRepo,
    /// The URL of the index.
    pub url: String,
}

impl Site {
    /// Three repositories, indexed and not pushed. Two of them have a file in common.
    pub fn new(url: &str) -> Site {
        let site = Site {
            base: TestRepo::empty_dir().env("CODEWEAVER_SEARCH_TIMEOUT_MS", "30000"),
            url: url.to_owned(),
        };
        std::fs::create_dir(site.base.path("src")).unwrap();
        let license = ("LICENSE.md", "# License\n\nDo what you like with this software.\n");

        site.member("alpha", &[license, ("src/retry.rs", RETRY), ("src/session.rs", SESSION)]);
        site.member("payments/ledger", &[license, ("ledger.go", LEDGER), ("ledger_test.go", LEDGER_TEST)]);
        let mut many: Vec<(String, String)> = vec![("invoice.py".to_owned(), INVOICE.to_owned())];
        many.extend((0..40).map(|n| (format!("forms/form_{n}.py"), form(n))));
        let many: Vec<(&str, &str)> =
            many.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        site.member("payments/invoice", &many);

        site.base.codeweaver(["catalogue", "init", "all.git"]).success();
        site.catalogue(&["add", "--recursive", "src"]).success();
        site
    }

    fn member(&self, name: &str, files: &[(&str, &str)]) {
        let path = format!("src/{name}");
        self.base.git(["init", "-q", "-b", "main", &path]);
        let member = self.base.at(&path);
        for (path, text) in files {
            member.write(path, text);
        }
        member.commit("first");
    }

    /// The repository called `name`.
    pub fn repo(&self, name: &str) -> TestRepo {
        self.base.at(&format!("src/{name}"))
    }

    pub fn catalogue(&self, args: &[&str]) -> Run {
        self.base.codeweaver([&["catalogue"], args, &["--catalogue", "all.git"]].concat())
    }

    /// `org ARGS` for the catalogue.
    pub fn org(&self, args: &[&str]) -> Run {
        self.base.codeweaver([&["org"], args, &["--org", &self.url, "--catalogue", "all.git"]].concat())
    }

    /// Pushes all members. Returns the report on each that has changed something.
    pub fn push(&self) -> Vec<Value> {
        self.catalogue(&["sync", "--quiet"]).success();
        let pushed = self.org(&["push", "--json"]);
        pushed.success().stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn status(&self) -> Value {
        self.org(&["status", "--json"]).success().json()
    }

    /// The answer of the catalogue.
    pub fn here(&self, args: &[&str]) -> Value {
        self.base.codeweaver([&["search", "--json", "--catalogue", "all.git"], args].concat()).json()
    }

    /// The answer of the engine.
    pub fn there(&self, args: &[&str]) -> Value {
        self.ask(args).json()
    }

    pub fn ask(&self, args: &[&str]) -> Run {
        self.base
            .codeweaver([&["search", "--json", "--catalogue", "all.git", "--org", &self.url], args].concat())
    }

    /// The lines that a search finds, in the catalogue or on the engine, with its warnings.
    #[track_caller]
    pub fn lines(&self, is_there: bool, args: &[&str]) -> (Vec<(String, u64, String)>, Vec<String>) {
        let found = if is_there { self.there(args) } else { self.here(args) };
        let files = found["files"].as_array().unwrap_or_else(|| panic!("{found:#}"));
        let lines = files.iter().flat_map(|file| {
            let path = file["path"].as_str().unwrap().to_owned();
            let lines = file["lines"].as_array().unwrap().iter();
            lines.map(move |line| {
                (
                    path.clone(),
                    line["line"].as_u64().unwrap(),
                    line["symbol"].as_str().unwrap_or("").to_owned(),
                )
            })
        });
        let warnings = found["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
        (lines.collect(), warnings.collect())
    }

    /// Checks that the engine answers all questions as the catalogue does: the first match is the same, and
    /// so are the others but for two. The engine finds nearly all of the nearest vectors, and the scores of
    /// vectors, which depend on the last of these, differ by up to 0.003: matches that are about equal may
    /// change places.
    #[track_caller]
    pub fn check_answers(&self, args: &[&str]) {
        for question in QUESTIONS {
            let args = [args, &[question]].concat();
            let (here, there) = (self.here(&args), self.there(&args));
            let (found, expected) = (shown(&there), shown(&here));
            assert_eq!(found.first(), expected.first(), "{question}\n{there:#}\n{here:#}");

            let n_common = found.iter().filter(|it| expected.contains(it)).count();
            assert_eq!(found.len(), expected.len(), "{question}\n{there:#}\n{here:#}");
            assert!(n_common + 2 >= expected.len(), "{question}\n{there:#}\n{here:#}");
            assert_eq!(there["status"], here["status"], "{question}: {there:#}");
        }
    }
}

/// What is compared of an answer: the place, the text and the relevance of each match.
pub fn shown(response: &Value) -> Vec<(String, Value, Value, Value)> {
    let matches = response["matches"].as_array().unwrap_or_else(|| panic!("{response:#}"));
    let shown = |it: &Value| {
        let path = it["file"]["path"].as_str().unwrap().to_owned();
        (path, it["span"].clone(), it["content"]["text"].clone(), it["file"]["commit"].clone())
    };
    matches.iter().map(shown).collect()
}

pub fn paths(response: &Value) -> Vec<String> {
    shown(response).into_iter().map(|(path, ..)| path).collect()
}

fn form(n: usize) -> String {
    format!(
        "class Form{n}:\n    \"\"\"The form number {n}.\"\"\"\n\n    def validate_{n}(self, fields):\n        \
         return all(fields[{n}:])\n\n    def render_{n}(self):\n        return 'form {n}'\n"
    )
}

const RETRY: &str =
    "/// Calls again after growing pauses.\npub fn retry_with_backoff(n: u32) -> u32 {\n    n * 2\n}\n";
const SESSION: &str = "/// Signs the session cookie.\npub fn sign(cookie: &str) -> String {\n    cookie.to_owned()\n}\n\n/// \
                       The colours of the terminal.\npub struct Colours;\n";
const INVOICE: &str = "class Invoice:\n    \"\"\"An invoice with its lines.\"\"\"\n\n    def total(self):\n        return \
                       sum(self.lines)\n\n\ndef parse_invoice(text):\n    \"\"\"Splits an invoice into its lines.\"\"\"\n    \
                       return text.split()\n";
const LEDGER: &str =
    "package ledger\n\n// PostEntry books an amount.\nfunc PostEntry(amount int) int { return amount }\n";
const LEDGER_TEST: &str = "package ledger\n\nimport \"testing\"\n\nfunc TestPostEntry(t *testing.T) {\n\tif PostEntry(3) != 3 \
                           {\n\t\tt.Fatal(\"books another amount\")\n\t}\n}\n";
