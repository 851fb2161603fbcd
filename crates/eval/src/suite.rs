//! Suites: repositories with labelled queries.
//!
//! A suite has one of two forms, each in JSON or YAML:
//! * a folder with `repos*` files (lists of name, language, url, revision, benchmark_root) and, for each
//!   name, `annotations/NAME` (a list of queries);
//! * one file with a list of queries, or `.jsonl` with one per line, about a repository that the caller
//!   names.
//!
//! An entry has `query`, its labels (`relevant` and `secondary`, or `expected_top_3` and `expected_top_5`),
//! and optionally `category`, `language`, `intent`, `rev` (the revision that is searched) and
//! `expected_excluded`. Unknown keys are errors: a misspelt key would silently change what is measured.

use std::path::{Path, PathBuf};

use super::error::EvalError;
use super::labelled::LabelledQuery;
use super::suite_file::{self, SuiteFormat};

/// Repositories with their labelled queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    pub repositories: Vec<SuiteRepository>,
}

/// A repository at one revision, with the queries to run on it.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRepository {
    pub name: String,
    pub language: String,
    /// HEAD if `None`.
    pub revision: Option<String>,
    /// The folder that is indexed; the whole repository if `None`.
    pub root: Option<String>,
    pub queries: Vec<LabelledQuery>,
}

impl SuiteRepository {
    /// Whether the repository is held out: weights are not tuned on it. True for a third of all repositories,
    /// chosen by a hash of the name.
    pub fn is_held_out(&self) -> bool {
        // The name alone decides, so that a repository is held out in every suite or in none.
        blake3::hash(self.name.as_bytes()).as_bytes()[0].is_multiple_of(3)
    }
}

impl Suite {
    /// Reads the suite at `path`. `repository` names the repository of a single-file suite.
    pub fn load(path: &Path, repository: &str) -> Result<Suite, EvalError> {
        if path.is_dir() {
            return load_folder(path);
        }

        let repository = SuiteRepository {
            name: repository.to_owned(),
            language: String::new(),
            revision: None,
            root: None,
            queries: queries(path)?,
        };

        Ok(Suite { repositories: vec![repository] })
    }

    /// Removes the root folder of every repository, so that the whole repository is searched, including
    /// tests, examples and documentation, as users do.
    pub fn widen(&mut self) {
        for repository in &mut self.repositories {
            repository.root = None;
        }
    }

    pub fn n_queries(&self) -> usize {
        self.repositories.iter().map(|repository| repository.queries.len()).sum()
    }
}

/// Reads the queries in the file at `path`, of which there must be at least one.
fn queries(path: &Path) -> Result<Vec<LabelledQuery>, EvalError> {
    let queries: Vec<LabelledQuery> = suite_file::read_list(path)?;
    if queries.is_empty() {
        return Err(EvalError::format(path, "it contains no query"));
    }

    Ok(queries)
}

/// Reads the folder form of a suite: all lists of repositories in it, in the order of their names.
fn load_folder(folder: &Path) -> Result<Suite, EvalError> {
    let mut lists: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(EvalError::read(folder))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with("repos") && SuiteFormat::from_path(path).is_some()
        })
        .collect();
    // Folders are read in no fixed order.
    lists.sort();

    if lists.is_empty() {
        return Err(EvalError::format(
            folder,
            "the folder has no repos*.json or repos*.yml, the list of repositories",
        ));
    }

    let mut repositories = Vec::new();
    for list in lists {
        for repository in suite_file::read_list::<suite_file::Repository>(&list)? {
            repositories.push(SuiteRepository {
                queries: queries(&annotations(folder, &repository.name)?)?,
                name: repository.name,
                language: repository.language,
                revision: repository.revision,
                root: repository.benchmark_root,
            });
        }
    }

    Ok(Suite { repositories })
}

/// Returns the path of the file with the queries for the repository called `name`.
fn annotations(folder: &Path, name: &str) -> Result<PathBuf, EvalError> {
    let annotations = folder.join("annotations");
    for extension in ["json", "jsonl", "yml", "yaml"] {
        let path = annotations.join(format!("{name}.{extension}"));
        if path.is_file() {
            return Ok(path);
        }
    }

    let expected = annotations.join(format!("{name}.json"));
    Err(EvalError::format(
        folder,
        format!("there are no queries for {name}: {} is missing", expected.display()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::Expectation;
    use crate::metric::DEPTH;
    use codeweaver::query::Intent;

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Files {
            Files(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        }

        fn only(&self, name: &str, text: &str) -> LabelledQuery {
            let suite = Suite::load(&self.write(name, text), "").unwrap();
            suite.repositories.into_iter().flat_map(|repository| repository.queries).next().unwrap()
        }

        fn error(&self, name: &str, text: &str) -> String {
            let error = Suite::load(&self.write(name, text), "").unwrap_err().to_string();
            error.strip_prefix(self.0.path().to_str().unwrap()).unwrap_or(&error).to_owned()
        }
    }

    #[test]
    fn a_folder_of_repositories_is_read_in_json_and_yaml() {
        let json = Files::new();
        json.write(
            "repos-x.json",
            r#"[{"name":"n","language":"c","url":"u","revision":"abc","benchmark_root":null}]"#,
        );
        json.write(
            "annotations/n.json",
            r#"[{"query":"q","category":"symbol","relevant":["a.c",{"path":"b.c","start_line":3,"end_line":9}],"secondary":["a.c"],"seed":1}]"#,
        );
        let yaml = Files::new();
        yaml.write("repos.yml", "- name: n\n  language: c\n  url: u\n  revision: abc\n  benchmark_root:\n");
        yaml.write(
            "annotations/n.yaml",
            "- query: q\n  category: symbol\n  relevant:\n    - a.c\n    - {path: b.c, start_line: 3, end_line: 9}\n  secondary: [a.c]\n",
        );
        let suites = [&json, &yaml].map(|files| Suite::load(files.0.path(), "").unwrap());
        assert_eq!(suites[0], suites[1]);
        let query = &suites[0].repositories[0].queries[0];
        assert_eq!(query.labels.len(), 2);
        assert_eq!(query.labels[1].lines, Some((3, 9)));
        assert_eq!((query.category.as_str(), query.excluded_depth()), ("symbol", DEPTH));
    }

    #[test]
    fn the_reference_form_is_read() {
        let query = Files::new().only(
            "reference.yml",
            "- query: \"file filtering logic\"\n  intent: understand\n  expected_top_3:\n    - file: \"src/filtering.py\"\n      symbol: \"FileFilter\"\n      min_score: 0.80\n    - src/discovery.py\n  expected_excluded:\n    - \"tests/*\"\n",
        );
        assert_eq!((query.intent, query.category.as_str()), (Some(Intent::Understand), "understand"));
        assert_eq!(query.labels[0].symbol.as_deref(), Some("FileFilter"));
        assert_eq!(query.labels[0].min_score, Some(0.8));
        assert_eq!(query.expected, [Expectation { depth: 3, labels: query.labels.clone() }]);
        assert_eq!((query.excluded.as_slice(), query.excluded_depth()), (&["tests/*".to_owned()][..], 3));
        let same = Files::new().only(
            "reference.json",
            r#"[{"query":"file filtering logic","intent":"understand","expected_top_3":[{"file":"src/filtering.py","symbol":"FileFilter","min_score":0.8},"src/discovery.py"],"expected_excluded":["tests/*"]}]"#,
        );
        assert_eq!(query, same);
    }

    #[test]
    fn json_lines_may_name_a_revision() {
        let files = Files::new();
        let path = files.write(
            "s.jsonl",
            "{\"query\":\"q\",\"relevant\":[\"a\"],\"rev\":\"abc\",\"commit\":\"def\"}\n\n{\"query\":\"r\",\"relevant\":[\"b\"]}\n",
        );
        let suite = Suite::load(&path, "here").unwrap();
        assert_eq!((suite.n_queries(), suite.repositories[0].name.as_str()), (2, "here"));
        assert_eq!(suite.repositories[0].queries[0].rev.as_deref(), Some("abc"));
    }

    #[test]
    fn errors_name_the_line_and_the_problem() {
        let files = Files::new();
        let cases = [
            ("a.yml", "- query: q\n  relevent: [a]\n", ["/a.yml:2: ", "relevent"]),
            (
                "b.yml",
                "- query: q\n  relevant: [a]\n- query: [1]\n  relevant: [a]\n",
                ["/b.yml:3: ", "string"],
            ),
            ("c.yml", "- query: q\n  relevant:\n    - file: a\n      simbol: s\n", ["/c.yml:4: ", "simbol"]),
            (
                "d.yml",
                "- query: q\n  intent: ponder\n  relevant: [a]\n",
                ["/d.yml:2: ", "not an intent; known are understand"],
            ),
            ("e.yml", "- query: q\n  relevant: [a\n", ["/e.yml:", ""]),
            (
                "f.jsonl",
                "{\"query\":\"q\",\"relevant\":[\"a\"]}\n{\"query\":\"q\"}\n",
                ["/f.jsonl:2: ", "no label"],
            ),
            ("g.json", "[\n{\"query\":\"q\",\n\"relevant\":[\"a\"],\"x\":1}]", ["/g.json:3: ", "`x`"]),
            ("h.json", "[{\"query\":\" \",\"relevant\":[\"a\"]}]", ["/h.json:1: ", "empty"]),
            (
                "i.yml",
                "- query: q\n  relevant:\n    - {file: a, min_score: 3}\n",
                ["/i.yml:3: ", "between 0 and 1"],
            ),
            ("l.yml", "- query: q\n  relevant: {a: 1}\n", ["/l.yml:2: ", "a list of paths"]),
            ("m.json", "[{\"query\":\"q\",\"relevant\":\"a\"}]", ["/m.json:1: ", "a list of paths"]),
            ("j.yml", "[]", ["/j.yml: ", "no query"]),
            ("k.txt", "", ["/k.txt: ", ".jsonl"]),
        ];
        for (name, text, parts) in cases {
            let error = files.error(name, text);
            assert!(error.starts_with(parts[0]) && error.contains(parts[1]), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
