//! Labelled questions.
//!
//! Three forms are read:
//! * a folder with `repos*.json` (a list of name, language, url, revision, benchmark_root) and, for each name,
//!   `annotations/NAME.json` (a list of query, category, relevant, secondary);
//! * a `.jsonl` file with one such question a line, about the repository that is given with it;
//! * a `.json` list in the reference form: query, intent, `expected_top_3` or `expected_top_5` (file, and optionally
//!   symbol and min_score) and `expected_excluded`.

use super::error::EvalError;
use super::metric::Target;
use crate::query::Intent;
use serde::Deserialize;
use std::path::Path;

/// Repositories with their questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    pub repositories: Vec<SuiteRepository>,
}

/// A repository at one revision, and what is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRepository {
    pub name: String,
    pub language: String,
    /// HEAD if `None`.
    pub revision: Option<String>,
    /// The folder that is indexed; all of it if `None`.
    pub root: Option<String>,
    pub questions: Vec<Labelled>,
}

/// A question with the places that answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    pub query: String,
    pub category: String,
    pub intent: Option<Intent>,
    pub targets: Vec<Target>,
    /// Any of these among the results is a failure (R10).
    pub excluded: Vec<String>,
}

impl SuiteRepository {
    /// Whether weights may not be tuned on it: a third of all repositories, by a hash of their name.
    pub fn is_kept_aside(&self) -> bool {
        blake3::hash(self.name.as_bytes()).as_bytes()[0].is_multiple_of(3)
    }
}

impl Suite {
    /// Reads the suite at `path`. `repository` names what a single-file suite is about.
    pub fn load(path: &Path, repository: &str) -> Result<Suite, EvalError> {
        if path.is_dir() {
            return load_folder(path);
        }
        let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;
        let questions: Result<Vec<Question>, _> =
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect()
            } else {
                serde_json::from_str(&text)
            };
        let questions = questions.map_err(|e| EvalError::format(path, e))?;
        let repository = SuiteRepository {
            name: repository.to_owned(),
            language: String::new(),
            revision: None,
            root: None,
            questions: questions.into_iter().map(Question::labelled).collect(),
        };
        Ok(Suite { repositories: vec![repository] })
    }

    pub fn n_questions(&self) -> usize {
        self.repositories.iter().map(|repository| repository.questions.len()).sum()
    }
}

fn load_folder(folder: &Path) -> Result<Suite, EvalError> {
    let mut lists: Vec<_> = std::fs::read_dir(folder)
        .map_err(EvalError::read(folder))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
            name.starts_with("repos") && name.ends_with(".json")
        })
        .collect();
    lists.sort();
    if lists.is_empty() {
        return Err(EvalError::format(folder, "it has no repos*.json"));
    }
    let mut repositories = Vec::new();
    for list in lists {
        for repository in read_json::<Vec<Repository>>(&list)? {
            let path = folder.join("annotations").join(format!("{}.json", repository.name));
            let questions = read_json::<Vec<Question>>(&path)?;
            repositories.push(SuiteRepository {
                name: repository.name,
                language: repository.language,
                revision: repository.revision,
                root: repository.benchmark_root,
                questions: questions.into_iter().map(Question::labelled).collect(),
            });
        }
    }
    Ok(Suite { repositories })
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, EvalError> {
    let text = std::fs::read_to_string(path).map_err(EvalError::read(path))?;
    serde_json::from_str(&text).map_err(|e| EvalError::format(path, e))
}

#[derive(Deserialize)]
struct Repository {
    name: String,
    #[serde(default)]
    language: String,
    revision: Option<String>,
    benchmark_root: Option<String>,
}

/// A question in any of the three forms.
#[derive(Deserialize)]
struct Question {
    query: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    intent: Option<String>,
    #[serde(default)]
    relevant: Vec<Label>,
    #[serde(default)]
    secondary: Vec<Label>,
    #[serde(default)]
    expected_top_3: Vec<Label>,
    #[serde(default)]
    expected_top_5: Vec<Label>,
    #[serde(default)]
    expected_excluded: Vec<Label>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Path(String),
    Place {
        #[serde(alias = "file")]
        path: String,
        start_line: Option<u32>,
        end_line: Option<u32>,
    },
}

impl Label {
    fn target(self) -> Target {
        match self {
            Label::Path(path) => Target { path, lines: None },
            Label::Place { path, start_line: Some(first), end_line } => {
                Target { path, lines: Some((first, end_line.unwrap_or(first))) }
            }
            Label::Place { path, start_line: None, .. } => Target { path, lines: None },
        }
    }
}

impl Question {
    fn labelled(self) -> Labelled {
        let labels = [self.relevant, self.secondary, self.expected_top_3, self.expected_top_5];
        let mut targets: Vec<Target> = Vec::new();
        for target in labels.into_iter().flatten().map(Label::target) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        let category =
            if self.category.is_empty() { self.intent.clone().unwrap_or_default() } else { self.category };
        Labelled {
            query: self.query,
            category,
            intent: self.intent.as_deref().and_then(Intent::by_name),
            targets,
            excluded: self.expected_excluded.into_iter().map(|label| label.target().path).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        write(
            "repos-x.json",
            r#"[{"name":"n","language":"c","url":"u","revision":"abc","benchmark_root":null}]"#,
        );
        write(
            "annotations/n.json",
            r#"[{"query":"q","category":"symbol","relevant":["a.c",{"path":"b.c","start_line":3,"end_line":9}],"secondary":["a.c"],"seed":1}]"#,
        );
        let suite = Suite::load(dir.path(), "").unwrap();
        let question = &suite.repositories[0].questions[0];
        assert_eq!(question.targets.len(), 2);
        assert_eq!(question.targets[1].lines, Some((3, 9)));
        assert_eq!(question.category, "symbol");

        let lines =
            write("s.jsonl", "{\"query\":\"q\",\"relevant\":[\"a\"]}\n\n{\"query\":\"r\",\"relevant\":[]}\n");
        assert_eq!(Suite::load(&lines, "here").unwrap().n_questions(), 2);

        let reference = write(
            "r.json",
            r#"[{"query":"q","intent":"debug","expected_top_3":[{"file":"a","symbol":"s","min_score":0.1}],"expected_excluded":["t"]}]"#,
        );
        let question = Suite::load(&reference, "").unwrap().repositories.remove(0).questions.remove(0);
        assert_eq!((question.intent, question.category.as_str()), (Some(Intent::Debug), "debug"));
        assert_eq!(question.excluded, ["t"]);
        assert!(matches!(Suite::load(&write("bad.json", "{"), ""), Err(EvalError::Format { .. })));
    }
}
