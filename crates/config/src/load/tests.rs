use std::path::Path;

use super::super::REPOSITORY_FILE_NAME;
#[cfg(unix)]
use super::super::files::MAX_FILE_BYTES;
use super::super::origin::Origin;
use super::*;

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn sources(&self, repository: &[u8], user: &[u8]) -> Sources {
        let path = |name: &str, bytes: &[u8]| {
            let path = self.folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Some(path)
        };
        Sources {
            repository_file: path(REPOSITORY_FILE_NAME, repository),
            user_file: path("config.toml", user),
            ..Sources::default()
        }
    }
}

fn problems(repository: &[u8]) -> Vec<String> {
    let files = Files::new();
    match Settings::load(&files.sources(repository, b"")) {
        Ok(_) => Vec::new(),
        Err(ConfigError::Invalid(problems)) => problems
            .iter()
            .map(|problem| {
                let name = problem.origin.rsplit('/').next().unwrap_or_default();
                Problem { origin: name.to_owned(), ..problem.clone() }.to_string()
            })
            .collect(),
        Err(other) => vec![other.to_string()],
    }
}

#[test]
fn later_sources_win_and_origins_are_recorded() {
    let files = Files::new();
    let mut sources = files.sources(
        b"[search]\nlimit = 30\n\n[policy.file_extensions]\n\".inc\" = \"php\"\n",
        b"# mine\nsearch.limit = 20\nsearch.timeout_ms = 900\npolicy.file_extensions = { foo = \"c\" }\n",
    );
    sources.environment = vec![
        ("CODEWEAVER_SEARCH_LIMIT".into(), "15".into()),
        ("CODEWEAVER_SEARCH_MIN_SCORE".into(), "0.25".into()),
        ("CODEWEAVER_LOG".into(), "debug".into()),
    ];
    let loaded = Settings::load(&sources).unwrap();
    assert_eq!(loaded.settings.search.limit, 30);
    assert_eq!(loaded.settings.search.timeout_ms, 900);
    assert_eq!(loaded.settings.search.min_score, 0.25);
    assert_eq!(loaded.settings.policy.file_extensions.len(), 2, "tables are merged");
    let origin = |key: &str| loaded.origins[key].to_string();
    assert!(origin("search.limit").ends_with("codeweaver.toml:2"), "{}", origin("search.limit"));
    assert!(origin("search.timeout_ms").ends_with("config.toml:3"));
    assert!(origin("policy.file_extensions.inc").ends_with("codeweaver.toml:5"));
    assert!(origin("policy.file_extensions.foo").ends_with("config.toml:4"));
    assert_eq!(origin("search.min_score"), "environment variable CODEWEAVER_SEARCH_MIN_SCORE");
    assert_eq!(origin("model.name"), "default");

    sources.overrides = vec![("search.limit".into(), "3".into())];
    let loaded = Settings::load(&sources).unwrap();
    assert_eq!((loaded.settings.search.limit, &loaded.origins["search.limit"]), (3, &Origin::CommandLine));
    assert!(loaded.rows().iter().any(|line| line.key == "search.limit" && line.value == "3"));
    assert!(loaded.rows().iter().any(|line| line.key == "policy.file_extensions.inc"));
}

#[test]
fn empty_sources_give_the_defaults() {
    let loaded = Settings::load(&Sources::default()).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    let absent = Sources { user_file: Some("/nonexistent/config.toml".into()), ..Sources::default() };
    assert_eq!(Settings::load(&absent).unwrap().settings, Settings::default());
}

#[test]
fn problems_state_file_line_value_and_suggestion() {
    for (text, expected) in [
        (
            "[chunker]\ntokn_limit = 5",
            "codeweaver.toml:2:1: unknown key `chunker.tokn_limit`; did you mean `token_limit`?",
        ),
        ("[serch]\nlimit = 5", "codeweaver.toml:1:2: unknown key `serch`; did you mean `search`?"),
        ("min_score = 0.5", "codeweaver.toml:1:1: unknown key `min_score`; did you mean `search.min_score`?"),
        ("\nsearch = 5", "codeweaver.toml:2:1: `search` is a section, written `[search]`"),
        (
            "search.limit = 0",
            "codeweaver.toml:1:8: `search.limit`: expected an integer from 1 to 1000, found 0",
        ),
        (
            "search.limit = \"many\"",
            "codeweaver.toml:1:8: `search.limit`: expected an integer from 1 to 1000, found the text \"many\"",
        ),
        (
            "search.min_score = nan",
            "codeweaver.toml:1:8: `search.min_score`: expected a number from 0 to 1, found NaN",
        ),
        (
            "search.include_tests = 1",
            "codeweaver.toml:1:8: `search.include_tests`: expected true or false, found the integer 1",
        ),
        (
            "[index]\n\nhnsw = \"allways\"",
            "codeweaver.toml:3:1: `index.hnsw`: expected one of \"auto\", \"always\", \"never\", found \"allways\"; did you mean `always`?",
        ),
        (
            "policy.include = [1]",
            "codeweaver.toml:1:8: `policy.include`: expected a list of texts, found the integer 1 in it",
        ),
        (
            "policy.file_extensions = { inc = 3 }",
            "codeweaver.toml:1:8: `policy.file_extensions`: expected text for `inc`, found the integer 3",
        ),
        (
            "chunker.custom_delimiters.x = [{ start = \"a\" }]",
            "codeweaver.toml:1:9: `chunker.custom_delimiters`: unknown key `start` in a delimiter; did you mean `starts`?",
        ),
        (
            "chunker.target_tokens = 5000",
            "codeweaver.toml:1:9: `chunker.target_tokens` is 5000, but `chunker.token_limit` only leaves room for less than 4001; lower `chunker.target_tokens` or raise `chunker.token_limit`",
        ),
        ("\"\\u001b[2J\" = 1", "codeweaver.toml:1:1: unknown key `\\u{1b}[2J`"),
    ] {
        assert_eq!(problems(text.as_bytes()), [expected], "{text}");
    }
    let duplicate = problems(b"[search]\nlimit = 1\nlimit = 2\n");
    assert!(duplicate[0].starts_with("codeweaver.toml:3:1: duplicate key"), "{duplicate:?}");
    let broken = problems(b"[search\nlimit = 1");
    assert!(broken[0].starts_with("codeweaver.toml:1:8: "), "{broken:?}");
    assert_eq!(problems(b"a = 1\nb = 2\n").len(), 2, "all problems are reported at once");
    let many: String = (0..100).map(|n| format!("a{n} = 1\n")).collect();
    assert_eq!(problems(many.as_bytes()).len(), MAX_PROBLEMS);
}

#[test]
fn a_repository_cannot_set_user_only_keys() {
    let files = Files::new();
    let hostile = b"[model]\nname = \"x\"\npath = \"/evil\"\nort_library = 7\n[hooks]\nmode = \"foreground\"\n[search]\nlimit = 3\n";
    let loaded = Settings::load(&files.sources(hostile, b"")).unwrap();
    assert_eq!(loaded.settings.model, Default::default());
    assert_eq!(loaded.settings.hooks, Default::default());
    assert_eq!(loaded.settings.search.limit, 3);
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
    for key in ["model.name", "model.path", "model.ort_library", "hooks.mode"] {
        assert!(loaded.warnings.iter().any(|warning| warning.contains(key)), "{key}");
    }
    let user = Settings::load(&files.sources(b"", b"[hooks]\nmode = \"foreground\"\n")).unwrap();
    assert_eq!(user.settings.hooks.mode.name(), "foreground");
}

#[test]
#[cfg(unix)]
fn a_symlinked_or_oversized_repository_file_is_ignored() {
    let files = Files::new();
    let mut sources = files.sources(b"", b"search.limit = 5\n");
    let link = files.folder.path().join("linked.toml");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    sources.repository_file = Some(link);
    let loaded = Settings::load(&sources).unwrap();
    assert_eq!((loaded.settings.search.limit, loaded.warnings.len()), (5, 1));

    sources.repository_file = Some(files.folder.path().to_owned());
    assert_eq!(Settings::load(&sources).unwrap().warnings.len(), 1);

    let large = files.sources(&vec![b'#'; MAX_FILE_BYTES as usize + 1], b"");
    assert_eq!(Settings::load(&large).unwrap().warnings.len(), 1);
    let large = files.sources(b"", &vec![b'#'; MAX_FILE_BYTES as usize + 1]);
    assert!(matches!(Settings::load(&large), Err(ConfigError::TooLarge { .. })));
}

#[test]
fn unusual_encodings_and_deep_nesting_are_handled() {
    let files = Files::new();
    let load = |text: &[u8]| Settings::load(&files.sources(text, b""));
    let crlf = load(b"\xef\xbb\xbf[search]\r\nlimit = 7\r\n").unwrap();
    assert_eq!(crlf.settings.search.limit, 7);
    assert!(crlf.origins["search.limit"].to_string().ends_with(":2"));
    let latin = problems(b"# ok\n# caf\xe9\n");
    assert_eq!(latin, ["codeweaver.toml:2:6: the file is not UTF-8"]);
    for text in [
        format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("a{} = 1", ".a".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
        format!("a = {}", "{ b = ".repeat(50_000)),
    ] {
        assert!(load(text.as_bytes()).is_err());
    }
    let entries: String = (0..9_000).map(|n| format!("e{n} = \"c\"\n")).collect();
    let many = load(format!("[policy.file_extensions]\n{entries}").as_bytes()).unwrap();
    assert_eq!(many.settings.policy.file_extensions.len(), 9_000);
    assert!(
        load(
            format!(
                "[policy.file_extensions]\n{}",
                (0..60_000).map(|n| format!("e{n} = \"c\"\n")).collect::<String>()
            )
            .as_bytes()
        )
        .is_err()
    );
}

/// The settings of a repository file in YAML.
fn load_yaml(name: &str, text: &str, user: &[u8]) -> Result<Loaded, ConfigError> {
    let files = Files::new();
    let sources = files.sources(b"", user);
    std::fs::remove_file(files.folder.path().join(REPOSITORY_FILE_NAME)).unwrap();
    std::fs::write(files.folder.path().join(name), text).unwrap();
    Settings::load(&sources)
}

#[test]
fn yaml_and_toml_give_the_same_settings() {
    let toml = r#"
        [search]
        limit = 30
        min_score = 1
        [policy]
        exclude = ["a/**", "b"]
        [policy.file_extensions]
        ".inc" = "php"
        [chunker.markdown]
        overlap = 10
        [[chunker.custom_delimiters.Foo]]
        starts = ["begin"]
        ends = ["end"]
        priority = 40
        [index]
        hnsw = "never"
    "#;
    let yaml = "search: { limit: 30, min_score: 1 }\npolicy:\n  exclude:\n    - a/**\n    - b\n  \
        file_extensions:\n    .inc: php\nchunker:\n  markdown:\n    overlap: 10\n  custom_delimiters:\n    \
        Foo:\n      - starts: [begin]\n        ends: [end]\n        priority: 40\nindex:\n  hnsw: never\noverlay:\n";
    let files = Files::new();
    let expected = Settings::load(&files.sources(toml.as_bytes(), b"")).unwrap();
    for name in ["codeweaver.yaml", "codeweaver.yml"] {
        let loaded = load_yaml(name, yaml, b"search.limit = 20\nsearch.timeout_ms = 900\n").unwrap();
        assert_eq!(loaded.settings.search.timeout_ms, 900);
        let mut settings = loaded.settings.clone();
        settings.search.timeout_ms = expected.settings.search.timeout_ms;
        assert_eq!(settings, expected.settings, "{name}");
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        assert!(loaded.origins["search.limit"].to_string().ends_with(&format!("{name}:1")));
        assert!(loaded.origins["policy.file_extensions.inc"].to_string().ends_with(":7"));
    }
}

#[test]
fn problems_in_yaml_state_line_and_column() {
    for (text, expected) in [
        (
            "chunker:\n  tokn_limit: 5\n",
            "yaml:2:3: unknown key `chunker.tokn_limit`; did you mean `token_limit`?",
        ),
        ("serch:\n  limit: 5\n", "yaml:1:1: unknown key `serch`; did you mean `search`?"),
        ("search: 5\n", "yaml:1:1: `search` is a section, written `search:`"),
        (
            "search:\n  limit: no\n",
            "yaml:2:3: `search.limit`: expected an integer from 1 to 1000, found the text \"no\"",
        ),
        (
            "search:\n  include_tests: yes\n",
            "yaml:2:3: `search.include_tests`: expected true or false, found the text \"yes\"",
        ),
        (
            "search: { min_score: .nan }\n",
            "yaml:1:11: `search.min_score`: expected a number from 0 to 1, found NaN",
        ),
        (
            "search:\n  limit:\n",
            "yaml:2:3: `search.limit`: expected an integer from 1 to 1000, found nothing",
        ),
    ] {
        match load_yaml("codeweaver.yaml", text, b"") {
            Err(ConfigError::Invalid(problems)) => {
                assert!(problems[0].to_string().ends_with(expected), "{}", problems[0]);
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_repository_cannot_set_user_only_keys_in_yaml() {
    let hostile = "model: { name: x, path: /evil, ort_library: 7 }\nhooks: { mode: foreground }\n";
    let loaded = load_yaml("codeweaver.yml", hostile, b"").unwrap();
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
}

#[test]
fn several_files_are_an_error_that_names_them() {
    for (one, two) in [
        ("codeweaver.toml", "codeweaver.yaml"),
        ("codeweaver.yaml", "codeweaver.yml"),
        ("config.toml", "config.yml"),
    ] {
        let files = Files::new();
        let sources = Sources {
            repository_file: Some(files.folder.path().join(REPOSITORY_FILE_NAME)),
            user_file: Some(files.folder.path().join("config.toml")),
            ..Sources::default()
        };
        for name in [one, two] {
            std::fs::write(files.folder.path().join(name), "").unwrap();
        }
        let error = Settings::load(&sources).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(one) && text.contains(two), "{text}");
        assert!(error.fix().ends_with("and remove it"), "{}", error.fix());
    }
}

#[test]
#[cfg(unix)]
fn a_symlinked_repository_file_in_yaml_is_ignored() {
    let files = Files::new();
    let sources = Sources {
        repository_file: Some(files.folder.path().join(REPOSITORY_FILE_NAME)),
        ..Sources::default()
    };
    std::os::unix::fs::symlink("/dev/zero", files.folder.path().join("codeweaver.yaml")).unwrap();
    assert_eq!(Settings::load(&sources).unwrap().warnings.len(), 1);
}

#[test]
fn custom_delimiters_are_read_with_their_defaults() {
    let files = Files::new();
    let text = "[[chunker.custom_delimiters.Foo]]\nstarts = [\"begin\", \"start\"]\nends = [\"end\"]\nkind = \"block\"\npriority = 40\nnestable = true\n";
    let loaded = Settings::load(&files.sources(text.as_bytes(), b"")).unwrap();
    let delimiter = &loaded.settings.chunker.custom_delimiters["foo"][0];
    assert_eq!((delimiter.starts.len(), delimiter.priority), (2, 40));
    assert!(delimiter.nestable && !delimiter.inclusive);
}

#[test]
fn environment_and_overrides_are_checked() {
    let load = |environment: &[(&str, &str)], overrides: &[(&str, &str)]| {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        Settings::load(&Sources {
            environment: owned(environment),
            overrides: owned(overrides),
            ..Sources::default()
        })
    };
    let loaded = load(
        &[
            ("CODEWEAVER_POLICY_EXCLUDE", "a/**, b"),
            ("CODEWEAVER_OVERLAY_ENABLED", "off"),
            ("CODEWEAVER_MODEL_PATH", "~/m"),
            ("HOME", "/home/u"),
            ("CODEWEAVER_POLICY_FILE_EXTENSIONS", "{ inc = \"php\" }"),
            ("CODEWEAVER_ASK_LLM_MODEL", "own"),
            ("MARKDOWN_QA_LLM_MODEL", "compatible"),
            ("MARKDOWN_QA_API_BASE_URL", "https://api.example.com/v1"),
            ("CODEWEAVER_ASK_API_KEY", "no setting"),
            ("MARKDOWN_QA_API_KEY", "no setting"),
        ],
        &[("policy.file_extensions.foo", "c"), ("policy.include", "[\"x,y\"]")],
    )
    .unwrap();
    assert_eq!(loaded.settings.policy.exclude, ["a/**", "b"]);
    assert_eq!(loaded.settings.policy.include, ["x,y"]);
    assert!(!loaded.settings.overlay.enabled);
    assert_eq!(loaded.settings.model.path.as_deref(), Some(Path::new("/home/u/m")));
    assert_eq!(loaded.settings.policy.file_extensions.len(), 2);
    assert_eq!(loaded.settings.ask.llm_model, "own");
    assert_eq!(loaded.settings.ask.api_base_url.as_deref(), Some("https://api.example.com/v1"));

    let error = load(&[("CODEWEAVER_SEARCH_LIMTI", "1")], &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `CODEWEAVER_SEARCH_LIMIT`?"), "{error}");
    let error = load(&[], &[("serch.limit", "1")]).unwrap_err().to_string();
    assert!(error.contains("did you mean `search.limit`?"), "{error}");
    assert!(load(&[], &[("search.limit", "-1")]).is_err());
    assert!(load(&[], &[("policy.include", "[\"x\"\nevil = 1")]).is_err());
}

#[test]
fn a_named_file_replaces_those_of_the_user_whatever_stands_beside_it() {
    let files = Files::new();
    let path = |name: &str| files.folder.path().join(name);
    let mut sources =
        files.sources(b"search.limit = 7\nsearch.timeout_ms = 7\n", b"search.min_score = 0.7\n");
    std::fs::write(path("qa.toml"), "search.limit = 8\n").unwrap();
    std::fs::write(path("qa.yaml"), "search:\n  limit: 9\n").unwrap();
    sources.named_file = Some(path("qa.toml"));
    let search = Settings::load(&sources).unwrap().settings.search;
    assert_eq!((search.limit, search.timeout_ms, search.min_score), (8, 7, 0.3));
    assert!(sources.paths().contains(&path("qa.toml")) && !sources.paths().contains(&path("qa.yaml")));

    sources.named_file = Some(path("missing.toml"));
    let error = Settings::load(&sources).unwrap_err();
    assert!(matches!(&error, ConfigError::Read { path, .. } if path.ends_with("missing.toml")), "{error}");
}

#[test]
fn the_file_of_the_compatible_program_is_read_below_that_of_the_user() {
    let files = Files::new();
    let mut sources = files.sources(b"", b"ask.port = 2\n");
    let file = files.folder.path().join("md-qa.yaml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    sources.compatible_file = Some(file.with_extension("toml"));
    sources.environment = vec![("MARKDOWN_QA_LLM_MODEL".into(), "of-environment".into())];

    write(
        "api:\n  base_url: https://api.example.com/v1\n  api_key: secret-key\n  llm_model: of-file\n\
         server:\n  port: 1\n  directories: [/notes]\n  reload_interval: 60\n  index_name: team\n\
         gui:\n  theme: dark\n",
    );
    let loaded = Settings::load(&sources).unwrap();
    let ask = &loaded.settings.ask;
    assert_eq!((ask.port, ask.reload_interval, ask.index_name.as_str()), (2, 60, "team"));
    assert_eq!((ask.directories.as_slice(), ask.llm_model.as_str()), (&["/notes".to_owned()][..], "of-file"));
    assert_eq!(ask.api_key.as_ref().map(|key| key.expose()), Some("secret-key"));
    let printed = format!("{loaded:?} {}", serde_json::to_string(&loaded.settings).unwrap());
    assert!(!printed.contains("secret-key"), "{printed}");

    // Another address does not get the key.
    sources.overrides = vec![("ask.api_base_url".into(), "https://other.example/v1".into())];
    assert_eq!(Settings::load(&sources).unwrap().settings.ask.api_key, None);

    write("server:\n  port: many\n");
    let error = Settings::load(&sources).unwrap_err().to_string();
    assert!(error.contains("md-qa.yaml:2") && error.contains("`server.port`"), "{error}");
}

#[test]
fn the_compatible_name_of_an_embedding_model_counts_beside_an_api() {
    let with = |url: &str, name: &str| {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment = vec![
            variable("MARKDOWN_QA_EMBEDDING_MODEL", "text-embedding-3-large"),
            variable("CODEWEAVER_MODEL_API_BASE_URL", url),
            variable("CODEWEAVER_MODEL_NAME", name),
        ];
        let given = environment.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let loaded = Settings::load(&Sources { environment: given, ..Sources::default() }).unwrap();
        (loaded.settings.model.name, loaded.warnings.concat())
    };
    let without_warning = |name: &str| (name.to_owned(), String::new());
    assert_eq!(with("https://api.example.com/v1", ""), without_warning("text-embedding-3-large"));
    assert_eq!(with("https://api.example.com/v1", "own"), without_warning("own"));
    assert_eq!(with("", "own"), without_warning("own"));
    let (name, warnings) = with("", "");
    assert_eq!(name, "builtin");
    assert!(warnings.starts_with("MARKDOWN_QA_EMBEDDING_MODEL is ignored: "), "{warnings}");
}

#[test]
fn paths_in_a_file_are_relative_to_its_directory() {
    let files = Files::new();
    let loaded = Settings::load(&files.sources(b"", b"model.path = \"models/x\"\n")).unwrap();
    assert_eq!(loaded.settings.model.path, Some(files.folder.path().join("models/x")));
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = fastrand::Rng::with_seed(11);
    let pieces = [
        "[", "]", "search", ".", "limit", " = ", "1", "\n", "\"", "{", "}", "'''", "#", "\u{feff}", "é", "\0",
    ];
    let files = Files::new();
    for _ in 0..500 {
        let text: String = (0..random.usize(..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        let _ = Settings::load(&files.sources(text.as_bytes(), b""));
    }
}
