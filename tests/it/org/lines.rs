//! Exact texts and regular expressions.

use super::cluster::Cluster;
use super::site::{Site, paths};

/// Searches for lines, each as the catalogue answers it.
const PATTERNS: &[&[&str]] = &[
    // Words, parts of words, and several of them.
    &["--mode", "exact", "PostEntry"],
    &["--mode", "exact", "ostEntr"],
    &["--mode", "exact", "func PostEntry(amount"],
    &["--mode", "exact", "zyxwvut"],
    &["--mode", "exact", "()"],
    // Upper and lower case; `s` and `k` have other cases beyond ASCII.
    &["--mode", "exact", "--ignore-case", "postENTRY"],
    &["--mode", "exact", "--ignore-case", "THE SESSION COOKIE"],
    &["--mode", "exact", "--ignore-case", "MASSSTAB"],
    // Expressions, with and without words that every match has.
    &["--mode", "regex", r"fn \w+_with_backoff\("],
    &["--mode", "regex", r"(parse|render)_\w*1"],
    &["--mode", "regex", r"^\s*return .form 1\d"],
    &["--mode", "regex", r"[0-9]{2}:\]"],
    &["/class Form1\\d:/"],
    &["\"an invoice into its lines\""],
    &["--mode", "exact", "--word", "lines"],
    &["--mode", "exact", "--repos", "payments/*", "lines"],
    &["--mode", "exact", "--no-tests", "PostEntry"],
    &["--mode", "exact", "--lang", "go", "the"],
];

pub fn lines(site: &Site) {
    let alpha = site.repo("alpha");
    alpha.write("src/scale.rs", "/// Der Ma\u{17f}\u{17f}\u{17f}tab.\npub const SCALE: u32 = 1;\n");
    alpha.write("Cargo.lock", "[[package]]\nname = \"ostEntr\"\n");
    alpha.commit("with scales");
    site.push();

    for pattern in PATTERNS {
        let (here, _) = site.lines(false, pattern);
        let (there, warnings) = site.lines(true, pattern);
        // Of the files that the index leaves out, the engine has none, and says so.
        let here: Vec<_> = here.into_iter().filter(|(path, ..)| !path.ends_with("Cargo.lock")).collect();
        assert_eq!(there, here, "{pattern:?}");
        assert!(warnings.iter().any(|it| it.contains("the index leaves out")), "{pattern:?}: {warnings:?}");
    }
    assert!(site.lines(false, PATTERNS[1]).0.iter().any(|(path, ..)| path.ends_with("Cargo.lock")));
    assert_eq!(site.lines(true, PATTERNS[1]).0.len(), 4);
    assert!(!site.lines(true, PATTERNS[7]).0.is_empty());

    // A text in a question narrows it, and so does an expression.
    site.check_answers(&[]);
    for question in ["\"an invoice\" parse", "\"PostEntry\" booking", "\"nowhere at all\" retry"] {
        let (here, there) = (site.here(&[question]), site.there(&[question]));
        assert_eq!(paths(&there), paths(&here), "{question}: {there:#}\n{here:#}");
    }

    // An excluded word, of the text of chunks, in a file with another chunk, and beside an exact part.
    for question in [
        "waits longer each time -call_again",
        "where is the session cookie signed -colours",
        "parse an invoice into lines -SPLITS",
        "\"PostEntry\" booking -testing",
        "form -nowhere",
    ] {
        let (here, there) = (site.here(&[question]), site.there(&[question]));
        assert_eq!(paths(&there), paths(&here), "{question}: {there:#}\n{here:#}");
    }
    let without = paths(&site.there(&["waits longer each time -call_again"]));
    assert!(!without.contains(&"alpha/src/again.rs".to_owned()), "{without:?}");

    // What cannot be searched is refused.
    site.ask(&["--mode", "exact", "--rev", "HEAD~1", "x"])
        .is_an_error("revision cannot be searched", "clone");
    site.ask(&["--mode", "regex", "a("]).is_an_error("", "");
}

/// A server finds lines for each token in its repositories alone, and an engine with texts needs no clone.
pub fn lines_without_a_clone(site: &Site) {
    let outside = site.base.at("outside");
    let found = outside
        .codeweaver(["search", "--json", "--org", &site.url, "--mode", "exact", "retry_with_backoff"])
        .json();
    assert_eq!(found["files"][0]["path"], "alpha/src/retry.rs", "{found:#}");
}

/// Without texts, an excluded word cannot be looked for: the answer says so.
pub fn unread_words(site: &Site) {
    let nowhere = site.base.at("nowhere");
    let args = ["search", "--json", "--org", &site.url, "waits longer each time -call_again"];
    let found = nowhere.codeweaver(args).json();
    let warnings = found["warnings"].as_array().unwrap();
    let said = "1 file that may have an excluded word cannot be read";
    assert!(warnings.iter().any(|it| it.as_str().unwrap().contains(said)), "{found:#}");
    assert_eq!(found["status"], "degraded", "{found:#}");
}

/// Without texts, files that may match are counted, and the answer says that they were not read.
pub fn unread(site: &Site) {
    std::fs::create_dir(site.base.path("nowhere")).unwrap();
    let nowhere = site.base.at("nowhere");
    let found =
        nowhere.codeweaver(["search", "--json", "--org", &site.url, "--mode", "exact", "PostEntry"]).json();
    assert_eq!((&found["total_lines"], &found["index"]["unread_files"]), (&0.into(), &2.into()), "{found:#}");
}

/// More files than one request reads.
pub fn too_many(site: &Site) {
    let many = site.repo("payments/invoice");
    for n in 0..1_010 {
        many.write(&format!("many/file_{n}.py"), format!("def common_name_of_many():\n    return {n}\n"));
    }
    many.commit("many");
    site.push();

    let (lines, warnings) = site.lines(true, &["--mode", "exact", "common_name_of_many"]);
    assert_eq!(lines.len(), 1_000);
    let said = "only 1000 of 1,010 files that may match were searched";
    assert!(warnings.iter().any(|it| it.contains(said)), "{warnings:?}");
    let (lines, warnings) = site
        .lines(true, &["--mode", "exact", "--path", "payments/invoice/many/file_1*", "common_name_of_many"]);
    assert_eq!(lines.len(), 121, "{warnings:?}");

    many.git(["rm", "-r", "-q", "many"]);
    many.commit("few");
    site.push();
}

/// An index that was made before there were words.
pub fn without_words(cluster: &Cluster) {
    let remove = r#"{ "script": { "source": "ctx._source.remove('words')" }, "query": { "match_all": {} } }"#;
    cluster.request("POST", "acme-files/_update_by_query?refresh=true&conflicts=proceed", remove);
}
