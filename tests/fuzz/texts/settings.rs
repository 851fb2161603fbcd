//! Settings files.

use super::*;

/// Settings from every source, and the edits of settings files.
pub struct Config {
    pool: Pool,
    repository_file: PathBuf,
    yaml_file: PathBuf,
    user_file: PathBuf,
    edited: PathBuf,
}

const CONFIG_TOKENS: &[&[u8]] = &[
    b"[",
    b"]",
    b"[[",
    b"]]",
    b"=",
    b".",
    b"\"",
    b"'",
    b"\"\"\"",
    b"'''",
    b"{",
    b"}",
    b",",
    b"\n",
    b"#",
    b"true",
    b"false",
    b"-1",
    b"0",
    b"1e400",
    b"nan",
    b"inf",
    b"9223372036854775807",
    b"1979-05-27",
    b"\\u0000",
    b"\\x1b",
    b"chunker",
    b"policy",
    b"model",
    b"index",
    b"search",
    b"overlay",
    b"hooks",
    b"mcp",
    b"limit",
    b"include",
    b"exclude",
    b"token_limit",
    b"target_tokens",
    b"model.path = \"/etc\"\n",
    b"model.ort_library = \"/tmp/x.so\"\n",
    b"hooks.mode = \"foreground\"\n",
    b"custom_delimiters",
    b"file_extensions",
    b"starts",
    b"ends",
    b"priority",
    b"markdown",
    b"CODEWEAVER_",
    b"~/",
    b": ",
    b"- ",
    b"\n  ",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!str ",
    b"|\n",
    b"---\n",
];

const CONFIG_SEED: &str = "# settings\n[chunker]\ntarget_tokens = 300\nsimple_overlap = 10\nforce_delimiter_for_languages = [\"rust\", 'c']\n\n\
[chunker.markdown]\nchunk_size = 900\n\n[[chunker.custom_delimiters.python]]\nstarts = [\"(\"]\nends = [\")\"]\nkind = \"own\"\npriority = 9\n\
inclusive = true\ntake_whole_lines = false\nnestable = true\n\n[policy]\ninclude = [\"src/**\"]\nexclude = []\nmax_blob_bytes = 4096\n\n\
[policy.file_extensions]\ninc = \"php\"\n\n[search]\nmin_score = 0.25\nlimit = 7\ninclude_tests = false\n\n[index]\nhnsw = \"auto\"\n";

const YAML_SEED: &str = "# settings\nchunker: &c\n  target_tokens: 300\n  markdown: { chunk_size: 900 }\n  custom_delimiters:\n    \
python:\n      - starts: ['(']\n        ends: [\")\"]\n        priority: 9\npolicy:\n  include:\n    - src/**\n  file_extensions:\n    \
inc: php\nsearch:\n  min_score: 0.25\n  include_tests: false\nindex: {<<: {hnsw: auto}}\n";

impl Config {
    pub fn new(dir: &Path) -> Config {
        let mut seeds = vec![
            Case::new("repository", CONFIG_SEED),
            Case::new("yaml", YAML_SEED),
            Case::new("yaml", "search: { limit: 3 }\nmodel: { name: builtin, path: x }\n"),
            Case::new("repository", "search.limit = 3\nmodel = { name = \"builtin\", path = \"x\" }\n"),
            Case::new(
                "user",
                format!(
                    "{CONFIG_SEED}\n[model]\nname = \"builtin\"\npath = \"~/m\"\ndimension = 256\n[hooks]\nmode = \"background\"\n"
                ),
            ),
            Case::new(
                "environment",
                "CODEWEAVER_SEARCH_LIMIT=3\nHOME=/home/x\nCODEWEAVER_MODEL_PATH=~/m\nCODEWEAVER_POLICY_INCLUDE=a,b\n",
            ),
            Case::new(
                "override",
                "search.limit=3\npolicy.include=[\"a\"]\npolicy.file_extensions.inc=php\nchunker.granularity=packed\n",
            ),
        ];
        for (key, value) in [
            ("search.limit", "9"),
            ("policy.include", "a,b"),
            ("policy.file_extensions.inc", "c"),
            ("model.path", "x"),
        ] {
            seeds.push(Case::new(format!("set {key} {value}"), CONFIG_SEED));
            seeds.push(Case::new(format!("unset {key}"), CONFIG_SEED));
        }
        Config {
            pool: Pool::new(seeds),
            repository_file: dir.join(REPOSITORY_FILE_NAME),
            yaml_file: dir.join("alone.yaml"),
            user_file: dir.join("user.toml"),
            edited: dir.join("edited.toml"),
        }
    }

    fn load(&self, case: &Case) -> u64 {
        let text = String::from_utf8_lossy(&case.bytes);
        let pairs = || {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .collect()
        };
        let mut sources =
            Sources { environment: vec![("HOME".to_owned(), "/home/x".to_owned())], ..Sources::default() };
        let file = match case.head.as_str() {
            "repository" => sources.repository_file.insert(self.repository_file.clone()),
            "yaml" => sources.repository_file.insert(self.yaml_file.clone()),
            "user" => sources.user_file.insert(self.user_file.clone()),
            "environment" => {
                sources.environment = pairs();
                return self.loaded(&sources, false);
            }
            _ => {
                sources.overrides = pairs();
                return self.loaded(&sources, false);
            }
        };
        write(file, &case.bytes);
        self.loaded(&sources, case.head != "user")
    }

    fn loaded(&self, sources: &Sources, is_hostile: bool) -> u64 {
        match Settings::load(sources) {
            Ok(loaded) => {
                let n_shown: usize = loaded.rows().iter().map(|shown| shown.value.len()).sum();
                for warning in &loaded.warnings {
                    assert!(!warning.contains(|c: char| c.is_control()), "{warning:?}");
                }
                if is_hostile {
                    // A repository must not set what loads code or makes git wait.
                    let defaults = Settings::default();
                    assert_eq!(loaded.settings.hooks, defaults.hooks);
                    for spec in keys().iter().filter(|spec| spec.user_only) {
                        assert!(
                            matches!(loaded.origins.get(spec.path), None | Some(Origin::Default)),
                            "{}",
                            spec.path
                        );
                    }
                }
                for language in loaded.settings.chunker.custom_delimiters.keys() {
                    let id = codeweaver_chunk::LanguageId::by_name(language);
                    let id = id.unwrap_or(codeweaver_chunk::language::TEXT);
                    let text = b"begin (a\n(b)) x\n\nend\n";
                    let blob = codeweaver_chunk::chunk_blob(text, id, &loaded.settings.chunker);
                    assert!(!blob.chunks.is_empty(), "lost a text by delimiters");
                }
                behaviour((
                    size_class(n_shown),
                    loaded.warnings.len(),
                    loaded.settings == Settings::default(),
                ))
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
                message(&text)
            }
        }
    }

    fn edit(&self, case: &Case) -> u64 {
        write(&self.edited, &case.bytes);
        let words: Vec<&str> = case.head.splitn(3, ' ').collect();
        let result = match words[..] {
            ["set", key, value] => config::set(&self.edited, key, value),
            ["unset", key] => config::unset(&self.edited, key),
            _ => return 0,
        };
        match result {
            Ok(()) => {
                let sources = Sources { user_file: Some(self.edited.clone()), ..Sources::default() };
                let after = std::fs::read(&self.edited).unwrap_or_default();
                if after != case.bytes {
                    assert!(Settings::load(&sources).is_ok(), "an edit left a file that is not valid");
                }
                behaviour((size_class(after.len()), after == case.bytes))
            }
            Err(error) => {
                assert_eq!(
                    std::fs::read(&self.edited).unwrap_or_default(),
                    case.bytes,
                    "a refused edit changed the file"
                );
                message(&error.to_string())
            }
        }
    }
}

impl Target for Config {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        changed(&self.pool, CONFIG_TOKENS, 8_000, rng)
    }

    fn run(&mut self, case: &Case) -> u64 {
        if case.head.contains(' ') { self.edit(case) } else { self.load(case) }
    }

    fn keep(&mut self, case: &Case) {
        self.pool.keep(case);
    }
}
