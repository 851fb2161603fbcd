//! Tokens for some repositories of a catalogue: what they are answered is what a catalogue would answer that
//! never had the others.
//!
//! `CODEWEAVER_TOKEN_WORDS` is the number of words that are asked; the long form of the campaign asks 10,000.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use codeweaver_git::{Repo, TreeLookup, entry_at, is_in_tree};
use codeweaver_testkit::{TestRepo, program};

use crate::support::server::Server;

const TOKEN: &str = "limited-0123456789abcdef";
/// Default number of words.
const WORDS: usize = 40;
const SEED: u64 = 43;

/// Requests for a word `{}`; each word is asked with one of the first, and some with all of them.
const BY_WORD: [&str; 20] = [
    "api/search?q={}",
    "api/search?q={}&mode=keyword&explain=1",
    "api/search?q={}&mode=symbol",
    "api/search?q={}&mode=semantic",
    "api/search?q={}&mode=exact",
    "api/search?q={}.*&mode=regex",
    "api/search?q=fetch_remote+{}",
    "api/search?q=how+is+the+{}+fetched&explain=1",
    "api/search?q=%22{}%22",
    "api/search?q=/{}/&stream=1",
    "api/search?q=fetch+-{}",
    "api/search?q=fetch+path:{}",
    "api/search?q=where+is+secret/vault/{}.rs",
    "api/ask?q=what+is+a+{}",
    "api/files?path=*{}*",
    "api/graph?symbol={}",
    "results?q={}",
    "search?q=fetch+{}",
    "api/file?path=secret/vault/{}.rs",
    "api/outline?path=pub/docs/{}.rs",
];

/// Requests that name a hidden repository or the catalogue.
const FIXED: [&str; 37] = [
    "api/files",
    "api/files?path=secret",
    "api/files?path=secret/vault",
    "api/files?path=pub/docs/../../secret/vault",
    "api/files?rev=HEAD",
    "api/files?rev=HEAD:secret/vault",
    "api/files?rev=HEAD:secret/none",
    "api/files?rev=HEAD~1",
    "api/file?path=secret/vault/src/keys.rs",
    "api/file?path=./secret/vault/src/keys.rs",
    "api/file?path=secret//vault/src/keys.rs",
    "api/file?path=pub/docs/../../secret/vault/src/keys.rs",
    "api/file?path=secret/vault/src/keys.rs&rev=HEAD",
    "api/file?path=pub/docs/src/fetch.rs&rev=HEAD",
    "api/file?path=pub/docs/src/fetch.rs",
    "api/file?path=.codeweaver-catalogue",
    "api/outline?path=secret/vault/src/keys.rs",
    "api/outline?path=pub/docs/src/fetch.rs",
    "api/similar?path=pub/docs/src/fetch.rs&line=2",
    "api/similar?path=secret/vault/src/keys.rs&line=2",
    "api/history",
    "api/history?path=pub/docs/src/fetch.rs",
    "api/history?rev=HEAD:secret/vault&path=src/keys.rs",
    "api/search?q=fetch+repo:secret/vault",
    "api/search?q=fetch+repo:secret/*",
    "api/search?q=fetch+rev:HEAD",
    "api/search?q=fetch+rev:HEAD:secret/vault",
    "api/search?q=fetch&rev=HEAD~1",
    "api/search?q=is+anything+written+in+cobol",
    "api/status",
    "files?path=secret",
    "symbol?symbol=unlock_vault",
    "metrics",
    "history?path=secret/vault/src/keys.rs",
    "changes?rev=HEAD",
    "changes?path=secret/vault/src/keys.rs",
    "api/repositories",
];

/// Words that no other text has.
fn made_up_words(n: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut words = BTreeSet::new();
    while words.len() < n {
        let syllables = 3 + random.usize(..2);
        let mut word = String::new();
        for _ in 0..syllables {
            word.extend(random.choice("bdfglmprstvz".bytes()).map(char::from));
            word.extend(random.choice("aeiou".bytes()).map(char::from));
        }
        words.insert(word);
    }
    let mut words: Vec<String> = words.into_iter().collect();
    random.shuffle(&mut words);
    words
}

/// A word one edit away.
fn neighbour(word: &str, random: &mut fastrand::Rng) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.usize(..letters.len() - 1);
    match random.usize(..4) {
        0 => drop(letters.remove(at)),
        1 => letters.insert(at, letters[at]),
        2 => letters.swap(at - 1, at),
        _ => letters[at] = 'x',
    }
    letters.into_iter().collect()
}

/// The repositories, two of which both catalogues have.
fn repositories(dir: &TestRepo, words: &[String]) {
    let docs = [
        (
            "src/fetch.rs",
            "/// Fetches from a remote.\npub fn fetch_remote(url: &str) -> Vec<u8> {\n    open(url)\n}\n"
                .to_owned(),
        ),
        (
            "guide.md",
            "# Guide\n\n## Fetching\n\nA remote is fetched over a connection that is kept open.\n".to_owned(),
        ),
    ];
    let shared = (
        "src/shared.rs",
        "/// Retries a fetch that has failed.\npub fn retry_fetch() { fetch_remote(\"\") }\n".to_owned(),
    );
    let keys = words
        .iter()
        .map(|word| format!("/// The {word} of a vault.\npub fn {word}_of_vault() {{ {word}() }}\n"));
    let notes = words.iter().map(|word| format!("A {word} is fetched from the vault.\n\n"));
    let hidden = [
        ("src/keys.rs", format!("pub fn unlock_vault() {{}}\n{}", keys.collect::<String>())),
        ("notes.md", format!("# Vault\n\n{}", notes.collect::<String>())),
        ("pay.cob", "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. PAY.\n".to_owned()),
        ("id.pem", "-----BEGIN PRIVATE KEY-----\n".to_owned()),
        shared.clone(),
    ];
    let fork = [("copied.rs", shared.1.clone()), docs[0].clone()];

    let members: [(&str, &[(&str, String)]); 4] =
        [("pub/docs", &docs), ("pub/tool", &[shared]), ("secret/vault", &hidden), ("fork", &fork)];
    for (name, files) in members {
        std::fs::create_dir_all(dir.path(&format!("srv/{name}"))).unwrap();
        let repo = dir.at(&format!("srv/{name}"));
        repo.git(["init", "--quiet", "--initial-branch=main", "."]);
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("Begin");
    }
}

/// A catalogue with these members.
fn catalogue(dir: &TestRepo, name: &str, members: &[&str]) -> String {
    let catalogue = dir.path(name).to_str().unwrap().to_owned();
    dir.codeweaver(["catalogue", "init", &catalogue]).success();
    for member in members {
        let path = dir.path(&format!("srv/{member}"));
        let args = ["catalogue", "add", "--catalogue", &catalogue, "--name", member, path.to_str().unwrap()];
        dir.codeweaver(args).success();
    }
    catalogue
}

/// A server of a catalogue with these members, for a token that may see `pub`.
fn serve(dir: &TestRepo, name: &str, members: &[&str]) -> Server {
    let catalogue = catalogue(dir, name, members);

    let tokens = dir.path("tokens");
    std::fs::write(&tokens, format!("{TOKEN} pub\n")).unwrap();
    let mut command = dir.command(program());
    command.args(["serve", "--port", "0", "--every", "3600", "--catalogue", &catalogue, "--token-file"]);
    command.arg(&tokens);
    Server::new(command)
}

/// The answer to a request, without times and the name of the catalogue.
fn answer(server: &Server, name: &str, path: &str) -> String {
    let answer = server.request("GET", path, &[("authorization", &format!("Bearer {TOKEN}"))], "");
    let body = answer.body.replace(name, "CATALOGUE");
    let body = without_number(&body, "\"execution_time_ms\":", "");
    let body = without_number(&body, "\"updated\":", "");
    format!("{} {}", answer.status, without_number(&body, "", " ms"))
}

/// Leaves out the numbers between `before` and `after`.
fn without_number(text: &str, before: &str, after: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| at + n);
        out.push_str(&rest[..at]);
        if !(rest[..at].ends_with(before) && rest[end..].starts_with(after)) {
            out.push_str(&rest[at..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[test]
fn a_limited_token_is_answered_as_if_there_were_nothing_else() {
    let n_words = std::env::var("CODEWEAVER_TOKEN_WORDS").ok().and_then(|n| n.parse().ok()).unwrap_or(WORDS);
    let words = made_up_words(n_words);
    let dir = TestRepo::empty_dir();
    repositories(&dir, &words);
    // The members are added in another order, so that ids and segments differ too.
    let whole = serve(&dir, "w-catalogue.git", &["fork", "secret/vault", "pub/tool", "pub/docs"]);
    let never = serve(&dir, "n-catalogue.git", &["pub/docs", "pub/tool"]);
    assert!(answer(&never, "n-catalogue", FIXED[14]).starts_with("200"));

    let mut random = fastrand::Rng::with_seed(SEED);
    let mut requests: Vec<String> = FIXED.map(str::to_owned).into();
    for (n, word) in words.iter().enumerate() {
        for word in [word.clone(), neighbour(word, &mut random)] {
            let forms = if n < 1 { &BY_WORD[..] } else { &BY_WORD[n % BY_WORD.len()..][..1] };
            requests.extend(forms.iter().map(|form| form.replace("{}", &word)));
        }
    }

    for request in requests {
        let (with, without) =
            (answer(&whole, "w-catalogue", &request), answer(&never, "n-catalogue", &request));
        assert_eq!(with, without, "seed {SEED}, {request}");
    }
}

#[test]
fn paths_of_a_limited_catalogue_are_looked_up_among_the_visible_ones() {
    let dir = TestRepo::empty_dir();
    repositories(&dir, &made_up_words(2));
    let all = catalogue(&dir, "all.git", &["secret/vault", "pub/docs"]);
    let all = Repo::discover_named(Path::new(&all)).unwrap();
    let tree = all.head().unwrap().tree.unwrap();
    let limited = all.limited_to(Box::new(|name| name.starts_with("pub/")));

    let (mut shown, mut known) =
        (TreeLookup::open(&limited, tree).unwrap(), TreeLookup::open(&all, tree).unwrap());
    let is_found = |lookup: &mut TreeLookup, path: &str| lookup.find(path.into()).unwrap().is_some();
    assert!(is_found(&mut shown, "pub/docs/src/fetch.rs") && is_found(&mut known, "pub/docs/src/fetch.rs"));
    for path in ["secret/vault/src/keys.rs", "secret/vault/notes.md", "secret/vault/id.pem"] {
        assert!(is_found(&mut known, path), "{path}");
        assert!(!is_found(&mut shown, path), "{path}");
        assert_eq!(entry_at(&limited, &tree, path.into()).unwrap(), None, "{path}");
        assert!(!is_in_tree(&limited, &tree, path.into()).unwrap(), "{path}");
    }
    for path in [".codeweaver-catalogue", "secret", "pub/docs/../../secret/vault/notes.md", "secret/none"] {
        assert!(!is_found(&mut shown, path), "{path}");
    }
    // After a look-up that was refused, the directories on the way to it are as hidden as before.
    assert!(is_found(&mut shown, "pub/docs/guide.md") && !is_found(&mut shown, "secret/vault/notes.md"));
}

#[test]
fn a_limited_token_gets_no_totals_from_a_catalogue_that_cannot_be_opened() {
    let dir = TestRepo::empty_dir();
    repositories(&dir, &made_up_words(2));
    let server = serve(&dir, "all.git", &["secret/vault", "pub/docs"]);
    std::fs::rename(dir.path("all.git"), dir.path("away.git")).unwrap();

    let answer = server.request("GET", "health/", &[("authorization", &format!("Bearer {TOKEN}"))], "");
    let health = answer.json();
    assert_eq!((answer.status, &health["status"]), (503, &json!("unhealthy")), "{health:#}");
    for total in ["indexing", "statistics", "metrics", "problems"] {
        assert!(health.get(total).is_none(), "{total}: {health:#}");
    }
}
