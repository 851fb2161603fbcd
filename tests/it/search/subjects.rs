//! Document 000, example 1: who wants to understand a subject gets the type that does it, then the function
//! that is named as the query, then what the type uses, and tests last. On a copy of the example's own text,
//! and on repositories of that shape that are made from templates: other names, domains and languages.

use std::collections::BTreeMap;

use codeweaver_testkit::TestRepo;
use serde_json::Value;

const EXAMPLE: &[(&str, &str)] = &[
    ("src/auth/middleware.py", include_str!("../../../fixtures/subjects/example/middleware.py")),
    ("src/auth/utils.py", include_str!("../../../fixtures/subjects/example/utils.py")),
    ("src/auth/tokens.py", include_str!("../../../fixtures/subjects/example/tokens.py")),
    ("tests/test_auth.py", include_str!("../../../fixtures/subjects/example/test_auth.py")),
];
const QUERY: &str = "how to authenticate users";

const SUBJECTS: &str = include_str!("../../../fixtures/subjects/subjects.psv");

/// Parts of a repository: the type, the function, what the type uses, and the tests, in the order in which
/// they are to be found; then files that have nothing to do with the subject.
const PARTS: [&str; 8] = ["main", "utils", "helper", "test", "app", "models", "storage", "reports"];

macro_rules! templates {
    ($language:literal, $extension:literal) => {
        [
            include_str!(concat!("../../../fixtures/subjects/", $language, "/main.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/utils.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/helper.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/test.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/app.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/models.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/storage.", $extension)),
            include_str!(concat!("../../../fixtures/subjects/", $language, "/reports.", $extension)),
        ]
    };
}

/// Templates of the parts in one language, with their paths.
struct Templates {
    language: &'static str,
    texts: [&'static str; 8],
    /// Settings and errors of the subject, which may stand before the type in its file.
    before: &'static str,
    paths: [&'static str; 8],
}

const LANGUAGES: [Templates; 3] = [
    Templates {
        language: "python",
        texts: templates!("python", "py"),
        before: include_str!("../../../fixtures/subjects/python/before.py"),
        paths: [
            "src/{{folder}}/{{main_file}}.py",
            "src/{{folder}}/utils.py",
            "src/{{folder}}/{{helper_file}}.py",
            "tests/test_{{folder}}.py",
            "src/app.py",
            "src/models.py",
            "src/storage.py",
            "src/reports.py",
        ],
    },
    Templates {
        language: "typescript",
        texts: templates!("typescript", "ts"),
        before: include_str!("../../../fixtures/subjects/typescript/before.ts"),
        paths: [
            "src/{{folder}}/{{main_file}}.ts",
            "src/{{folder}}/utils.ts",
            "src/{{folder}}/{{helper_file}}.ts",
            "tests/{{folder}}.test.ts",
            "src/app.ts",
            "src/models.ts",
            "src/storage.ts",
            "src/reports.ts",
        ],
    },
    Templates {
        language: "go",
        texts: templates!("go", "go"),
        before: include_str!("../../../fixtures/subjects/go/before.go"),
        paths: [
            "{{folder}}/{{main_file}}.go",
            "{{folder}}/utils.go",
            "{{folder}}/{{helper_file}}.go",
            "{{folder}}/{{folder}}_test.go",
            "main.go",
            "models/models.go",
            "storage/storage.go",
            "reports/reports.go",
        ],
    },
];

/// Values of the placeholders.
struct Subject(BTreeMap<&'static str, String>);

impl Subject {
    /// Reads a line of `subjects.psv`.
    fn parse(line: &str) -> Subject {
        const NAMES: [&str; 14] = [
            "verb",
            "object",
            "objects",
            "deed",
            "other",
            "of",
            "material",
            "folder",
            "Class",
            "helper_file",
            "helper",
            "helper_doc",
            "Payload",
            "wiring",
        ];

        let cells: Vec<&str> = line.split('|').collect();
        assert_eq!(cells.len(), NAMES.len(), "{line}");
        let mut subject = Subject(NAMES.into_iter().zip(cells.into_iter().map(str::to_owned)).collect());
        subject.derive();
        subject
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("no value of {name}"))
    }

    /// Adds other forms of the names, and the calls by which the type does its work: of the function itself,
    /// or of something that is given to it.
    fn derive(&mut self) {
        let of = |name: &str| self.get(name).to_owned();
        let (verb, object, folder, class) = (of("verb"), of("object"), of("folder"), of("Class"));
        let (helper, helper_file) = (of("helper"), of("helper_file"));
        let words = words_of(&class);
        let (config, main_file) = (format!("{}Config", words[0]), words.last().unwrap().to_lowercase());
        let (upper_verb, upper_object, deed) = (capital(&verb), capital(&object), capital(&of("deed")));
        let parts: Vec<String> = helper.split('_').map(capital).collect();
        let (pascal, camel) = (parts.concat(), format!("{}{}", parts[0].to_lowercase(), parts[1..].concat()));

        let calls = of("wiring") == "calls";
        let either = |yes: String, no: String| if calls { yes } else { no };
        let values = [
            ("python_import", {
                let used = either(
                    format!("from {folder}.utils import {verb}_{object}"),
                    format!("from settings import {config}"),
                );
                format!("from {folder}.{helper_file} import {helper}\n{used}")
            }),
            (
                "python_call",
                either(format!("{verb}_{object}(name, value)"), "self.backend.run(name, value)".to_owned()),
            ),
            (
                "ts_import",
                either(
                    format!("import {{ {verb}{upper_object} }} from \"./utils\";"),
                    "import { Backend } from \"../storage\";".to_owned(),
                ),
            ),
            (
                "ts_call",
                either(
                    format!("{verb}{upper_object}(name, value)"),
                    "this.backend!.run(name, value)".to_owned(),
                ),
            ),
            (
                "go_call",
                either(
                    format!("{upper_verb}{upper_object}(name, value)"),
                    "m.backend.Run(name, value)".to_owned(),
                ),
            ),
            ("Config", config),
            ("Options", format!("{}Options", words[0])),
            ("Error", format!("{}Error", words[0])),
            ("main_file", main_file),
            ("Verb", upper_verb),
            ("Object", upper_object),
            ("Deed", deed),
            ("HelperPascal", pascal),
            ("helperCamel", camel),
        ];
        self.0.extend(values);
    }

    /// Fills the placeholders of `text`.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").unwrap();
            filled.push_str(before);
            filled.push_str(self.get(name));
            rest = after;
        }
        filled + rest
    }

    /// The files of the repository, in the order of [`PARTS`]. If `alone` is false, other types of the same
    /// words stand before the type.
    fn files(&self, templates: &Templates, alone: bool) -> Vec<(String, String)> {
        let before = if alone { "" } else { templates.before };
        let files = templates.paths.iter().zip(templates.texts);
        files.map(|(path, text)| (self.fill(path), self.fill(&text.replace("{{before}}", before)))).collect()
    }
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// The words of a name in camel case.
fn words_of(name: &str) -> Vec<String> {
    let starts = name.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(at, _)| at);
    let starts: Vec<usize> = starts.chain([name.len()]).collect();
    starts.windows(2).map(|pair| name[pair[0]..pair[1]].to_owned()).collect()
}

fn indexed(files: &[(String, String)]) -> TestRepo {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repo = TestRepo::with_files(&files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The matches as JSON, with the composition of their scores.
fn matches(repo: &TestRepo, query: &str, intent: Option<&str>) -> Vec<Value> {
    let mut args = vec!["search", "-o", "json", "--explain", "-l", "5"];
    args.extend(intent.map(|_| "--intent"));
    args.extend(intent);
    args.push(query);
    let answer = repo.codeweaver(args).success().json();
    answer["matches"].as_array().unwrap().clone()
}

fn paths(matches: &[Value]) -> Vec<&str> {
    matches.iter().map(|found| found["file"]["path"].as_str().unwrap()).collect()
}

/// The reasons of a match.
fn reasons(found: &Value) -> String {
    found["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_example_of_the_document_is_ranked_as_printed() {
    let files: Vec<(String, String)> =
        EXAMPLE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let repo = indexed(&files);
    let expected: Vec<&str> = EXAMPLE.iter().map(|(path, _)| *path).collect();

    let found = matches(&repo, QUERY, Some("understand"));
    assert_eq!(paths(&found), expected);
    // The lines of the document are in the matches.
    for (found, (first, last)) in found.iter().zip([(15, 85), (10, 35), (5, 25), (1, 50)]) {
        let line = |at: usize| found["span"][at].as_u64().unwrap();
        assert!(line(0) <= first && line(1) >= last, "{found:#}");
    }

    // The reasons of the example: the type is raised by the intent, and tests are lowered by it.
    let intent = |found: &Value| found["explanation"]["intent"].as_f64().unwrap();
    assert!(intent(&found[0]) > 1.0, "{:#}", found[0]);
    assert_eq!(reasons(&found[0]), "its type AuthMiddleware, which does what is asked");
    assert!(reasons(&found[2]).contains("its use by AuthMiddleware"), "{:#}", found[2]);
    // The answer is the type as a whole.
    let focus = &found[0]["focus"];
    assert_eq!((&focus["symbol"], &focus["start_line"]), (&"AuthMiddleware".into(), &15.into()), "{focus:#}");
    assert_eq!(found[0]["content"]["class"], "DEFINITION_TYPE");
    assert!(intent(&found[3]) < 1.0, "{:#}", found[3]);

    let without = matches(&repo, QUERY, None);
    assert_eq!(paths(&without)[0], "src/auth/utils.py", "the function is named as the query");
}

#[test]
fn to_understand_a_subject_begins_with_the_type_that_does_it() {
    let subjects = SUBJECTS.lines().filter(|line| !line.starts_with('#')).map(Subject::parse);
    let subjects: Vec<Subject> = subjects.collect();
    assert!(subjects.len() * LANGUAGES.len() >= 30);

    let mut wrong = Vec::new();
    let (mut n_all, mut n_differ) = (0, 0);
    for subject in &subjects {
        let variants = LANGUAGES.iter().map(|templates| (templates, false)).chain([(&LANGUAGES[0], true)]);
        for (templates, alone) in variants {
            let files = subject.files(templates, alone);
            let repo = indexed(&files);
            let query = format!("how to {} {}", subject.get("verb"), subject.get("objects"));
            let part = |path: &str| PARTS[files.iter().position(|(known, _)| known == path).unwrap()];

            let found = matches(&repo, &query, Some("understand"));
            let order: Vec<&str> = paths(&found).into_iter().map(part).collect();
            // The type that the function works on may stand between; the example has none.
            let of_subject: Vec<&str> =
                order.iter().copied().filter(|part| PARTS[..4].contains(part)).collect();
            if order[..2] != PARTS[..2] || !PARTS[..4].starts_with(&of_subject) || of_subject.len() < 3 {
                wrong.push(format!("{} {query}: {order:?}", templates.language));
            }
            if found[0]["focus"]["symbol"] != subject.get("Class") {
                wrong.push(format!("{} {query}: {}", templates.language, found[0]["focus"]));
            }

            let without = matches(&repo, &query, None);
            n_all += 1;
            n_differ += usize::from(paths(&without) != paths(&found));
        }
    }
    assert!(wrong.is_empty(), "{} of {n_all}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(n_differ, n_all, "the intent changes the order");
}
