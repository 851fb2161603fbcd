//! Loading settings from all sources: precedence, origins, and a list of all problems.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Problem, did_you_mean, excerpt};
use super::files::{self, REPOSITORY_FILE_NAME, Untrusted};
use super::keys::{KeySpec, find, keys, toml_text};
use super::settings::Settings;
use super::tree::{Entry, Node, Position};
use super::value::{KeyKind, Value, ValueError, table_key};
use super::{toml, yaml};
use crate::text::LineIndex;

const MAX_PROBLEMS: usize = 20;
const ENVIRONMENT_PREFIX: &str = "CODEWEAVER_";
/// Further names of variables, which the variable with the prefix overrides.
const ALIASES: [(&str, &str); 2] =
    [("MARKDOWN_QA_API_BASE_URL", "qa.api_base_url"), ("MARKDOWN_QA_LLM_MODEL", "qa.llm_model")];

/// Sources of settings. Missing files are treated as empty.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The TOML file of the repository, or where YAML is beside it.
    pub repository_file: Option<PathBuf>,
    /// The TOML file of the user, or where YAML is beside it.
    pub user_file: Option<PathBuf>,
    /// Names with their values: `CODEWEAVER_SECTION_KEY`, [`ALIASES`], and `HOME` for paths that begin with `~/`.
    pub environment: Vec<(String, String)>,
    /// `section.key` with its value, from the command line. The last value of a key wins.
    pub overrides: Vec<(String, String)>,
}

impl Sources {
    /// The standard sources. This is the only function of the module that reads the environment.
    pub fn discover(worktree_root: Option<&Path>) -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let config_home = absolute("XDG_CONFIG_HOME")
            .or_else(|| Some(absolute("HOME")?.join(".config")))
            .or_else(|| absolute("APPDATA"));
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| {
                let is_alias = ALIASES.iter().any(|(alias, _)| alias == name);
                name == "HOME" || name.starts_with(ENVIRONMENT_PREFIX) || is_alias
            })
            .collect();
        Self {
            repository_file: worktree_root.map(|root| root.join(REPOSITORY_FILE_NAME)),
            user_file: config_home.map(|home| home.join("codeweaver").join("config.toml")),
            environment,
            overrides: Vec::new(),
        }
    }

    /// Every path at which a settings file is read if it is there.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = [&self.repository_file, &self.user_file];
        files.into_iter().flatten().flat_map(|file| files::candidates(file)).collect()
    }
}

/// Source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The name of the variable.
    Environment(String),
    /// 1-based line and column, the latter in characters.
    File {
        path: PathBuf,
        line: usize,
        column: usize,
    },
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}

impl Origin {
    fn in_file(path: &Path, at: Position) -> Origin {
        Origin::File { path: path.to_owned(), line: at.line, column: at.column }
    }

    /// As it is displayed, with the column.
    fn exact(&self) -> String {
        match self {
            Self::File { column, .. } => format!("{self}:{column}"),
            other => other.to_string(),
        }
    }
}

/// Settings with the origin of every key.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub settings: Settings,
    /// Origin of each key, and of each entry of a table (`policy.file_extensions.inc`).
    pub origins: BTreeMap<String, Origin>,
    /// Ignored files and keys with the reason, one line each.
    pub warnings: Vec<String>,
}

/// One line of `config --show`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    pub key: String,
    /// As in TOML, or `unset`.
    pub value: String,
    pub origin: Origin,
}

impl Loaded {
    /// Every key with its value and origin, in the order of the key table. A non-empty table has one row per
    /// entry.
    pub fn rows(&self) -> Vec<SettingRow> {
        let origin = |key: &str| self.origins.get(key).cloned().unwrap_or(Origin::Default);
        let mut rows = Vec::new();
        for spec in keys() {
            let value = (spec.read)(&self.settings);
            let entries: Vec<(String, Value)> = match &value {
                Value::Table(table) => {
                    table.iter().map(|(entry, text)| (entry.clone(), Value::Text(text.clone()))).collect()
                }
                _ => Vec::new(),
            };
            if entries.is_empty() {
                rows.push(SettingRow {
                    key: spec.path.to_owned(),
                    value: toml_text(&value),
                    origin: origin(spec.path),
                });
            }
            for (entry, value) in entries {
                let key = format!("{}.{entry}", spec.path);
                rows.push(SettingRow { value: toml_text(&value), origin: origin(&key), key });
            }
        }
        rows
    }
}

impl Settings {
    /// Loads all sources, from lowest to highest precedence: defaults, environment, user file, repository
    /// file, overrides.
    ///
    /// # Errors
    /// All problems found (at most 20), each with its file and line. A repository file that is not a regular
    /// file or is too large is ignored with a warning, and so are keys in it that only the user may set.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        let mut loader = Loader::new(sources);
        loader.environment(sources);
        if let Some(file) = &sources.user_file
            && let Some(path) = files::present(file)?
            && let Some(text) = files::read_user_file(&path)?
        {
            loader.file(&path, &text, Trust::User);
        }
        if let Some(file) = &sources.repository_file
            && let Some(path) = files::present(file)?
        {
            match files::read_repository_file(&path)? {
                Untrusted::Bytes(text) => loader.file(&path, &text, Trust::Repository),
                Untrusted::Refused { reason } => {
                    loader.warnings.push(format!("{} is ignored: {reason}", path.display()));
                }
                Untrusted::Absent => {}
            }
        }
        loader.overrides(sources);
        loader.finish()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trust {
    User,
    Repository,
}

struct Loader {
    settings: Settings,
    origins: BTreeMap<String, Origin>,
    warnings: Vec<String>,
    problems: Vec<Problem>,
    home: Option<PathBuf>,
}

impl Loader {
    fn new(sources: &Sources) -> Self {
        Self {
            settings: Settings::default(),
            origins: keys().iter().map(|spec| (spec.path.to_owned(), Origin::Default)).collect(),
            warnings: Vec::new(),
            problems: Vec::new(),
            home: sources
                .environment
                .iter()
                .find(|(name, _)| name == "HOME")
                .map(|(_, home)| PathBuf::from(home)),
        }
    }

    fn environment(&mut self, sources: &Sources) {
        for (name, text) in &sources.environment {
            let Some((_, path)) = ALIASES.iter().find(|(alias, _)| alias == name) else { continue };
            let Some((spec, _)) = find(path) else { continue };
            let origin = Origin::Environment(name.clone());
            match spec.kind.check_plain(text) {
                Ok(value) => self.put(spec, value, &origin),
                Err(error) => self.value_error(spec.path, error, &origin),
            }
        }
        for (name, text) in &sources.environment {
            let Some(rest) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            let origin = Origin::Environment(excerpt(name));
            match keys().iter().find(|spec| spec.environment_name() == *name) {
                Some(spec) => match spec.kind.check_plain(text) {
                    Ok(value) => self.put(spec, value, &origin),
                    Err(error) => self.value_error(spec.path, error, &origin),
                },
                // Other variables of the program share the prefix. Only names that start with a section are
                // rejected.
                None if sections().any(|section| {
                    rest.strip_prefix(&section.to_ascii_uppercase()).is_some_and(|rest| rest.starts_with('_'))
                }) =>
                {
                    let names: Vec<String> =
                        keys().iter().map(|spec| spec.environment_name().to_ascii_lowercase()).collect();
                    let suggestion = did_you_mean(name, names.iter().map(String::as_str))
                        .map(|suggestion| {
                            suggestion.replacen("codeweaver_", "CODEWEAVER_", 1).to_ascii_uppercase()
                        })
                        .map(|upper| upper.replacen("DID YOU MEAN", "did you mean", 1));
                    self.problem(&origin, "there is no such setting".to_owned(), suggestion);
                }
                None => {}
            }
        }
    }

    fn overrides(&mut self, sources: &Sources) {
        for (path, text) in &sources.overrides {
            match check_assignment(path, text) {
                Ok((spec, value)) => self.put(spec, value, &Origin::CommandLine),
                Err(error) => self.problem(&Origin::CommandLine, error.message, error.suggestion),
            }
        }
    }

    fn file(&mut self, path: &Path, bytes: &[u8], trust: Trust) {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = &bytes[..error.valid_up_to()];
                let at = Position::of(&String::from_utf8_lossy(valid), &LineIndex::new(valid), valid.len());
                let origin = Origin::in_file(path, at);
                return self.problem(&origin, "the file is not UTF-8".to_owned(), None);
            }
        };
        let is_yaml = files::is_yaml(path);
        match if is_yaml { yaml::parse(text) } else { toml::parse(text) } {
            Ok(table) => FileWalk { loader: self, path, trust, is_yaml }.table(&table, ""),
            Err(error) => self.problem(&Origin::in_file(path, error.at), error.message, None),
        }
    }

    /// Sets a validated value and its origin.
    fn put(&mut self, spec: &KeySpec, value: Value, origin: &Origin) {
        let entries: Vec<String> = match &value {
            Value::Table(table) => table.keys().cloned().collect(),
            Value::Delimiters(languages) => languages.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let value = match (spec.kind, value) {
            (KeyKind::Path, Value::Text(text)) => Value::Text(self.resolve_path(&text, origin)),
            (_, value) => value,
        };
        if !(spec.assign)(&mut self.settings, value) {
            return self.problem(
                origin,
                format!("`{}` cannot hold this value on this machine", spec.path),
                None,
            );
        }
        self.origins.insert(spec.path.to_owned(), origin.clone());
        for entry in entries {
            self.origins.insert(format!("{}.{entry}", spec.path), origin.clone());
        }
    }

    fn resolve_path(&self, text: &str, origin: &Origin) -> String {
        let path = match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        let path = match origin {
            Origin::File { path: file, .. } => file.parent().map_or(path.clone(), |dir| dir.join(&path)),
            _ => path,
        };
        path.to_string_lossy().into_owned()
    }

    fn value_error(&mut self, key: &str, error: ValueError, origin: &Origin) {
        self.problem(origin, format!("`{key}`: {}", error.message), error.suggestion);
    }

    fn problem(&mut self, origin: &Origin, message: String, suggestion: Option<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { origin: origin.exact(), message, suggestion });
        }
    }

    /// Validates constraints between keys.
    fn check_constraints(&mut self) {
        let chunker = &self.settings.chunker;
        let pairs = [
            ("chunker.target_tokens", chunker.target_tokens, "chunker.token_limit", chunker.token_limit + 1),
            (
                "chunker.simple_overlap",
                chunker.simple_overlap,
                "chunker.token_limit",
                chunker.token_limit / 2,
            ),
            (
                "chunker.markdown.overlap",
                chunker.markdown.overlap,
                "chunker.markdown.chunk_size",
                chunker.markdown.chunk_size,
            ),
        ];
        for (small, value, large, bound) in pairs {
            if value >= bound {
                let origin = match (&self.origins[small], &self.origins[large]) {
                    (Origin::Default, other) => other.clone(),
                    (origin, _) => origin.clone(),
                };
                let message =
                    format!("`{small}` is {value}, but `{large}` only leaves room for less than {bound}");
                self.problem(&origin, message, Some(format!("lower `{small}` or raise `{large}`")));
            }
        }
    }

    fn finish(mut self) -> Result<Loaded, ConfigError> {
        if self.problems.is_empty() {
            self.check_constraints();
        }
        if !self.problems.is_empty() {
            return Err(ConfigError::Invalid(self.problems));
        }
        Ok(Loaded { settings: self.settings, origins: self.origins, warnings: self.warnings })
    }
}

/// Traversal of the keys of a settings file.
struct FileWalk<'a> {
    loader: &'a mut Loader,
    path: &'a Path,
    trust: Trust,
    is_yaml: bool,
}

impl FileWalk<'_> {
    /// Visits a table. Recurses only as deep as known keys do.
    fn table(&mut self, table: &[Entry], prefix: &str) {
        for entry in table {
            let name = &entry.key;
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let origin = Origin::in_file(self.path, entry.at);
            self.entry(&path, prefix, &entry.value, &origin);
        }
    }

    /// Loads the entry at `path`, in the table at `prefix`.
    fn entry(&mut self, path: &str, prefix: &str, node: &Node, origin: &Origin) {
        if let Some(spec) = keys().iter().find(|spec| spec.path == path) {
            if spec.user_only && self.trust == Trust::Repository {
                self.loader.warnings.push(format!(
                    "{origin}: `{path}` is ignored: only your own settings file, the environment and the command line \
                     may set it"
                ));
                return;
            }
            match spec.kind.check_node(node) {
                Ok(value) => {
                    self.loader.put(spec, value, origin);
                    self.entry_origins(spec, node);
                }
                Err(error) => self.loader.value_error(path, error, origin),
            }
        } else if keys()
            .iter()
            .any(|spec| spec.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
        {
            match node {
                Node::Table(table) => self.table(table, path),
                // A section whose keys are all commented out.
                Node::Nothing if self.is_yaml => {}
                _ => {
                    let form = if self.is_yaml { format!("`{path}:`") } else { format!("`[{path}]`") };
                    self.loader.problem(origin, format!("`{path}` is a section, written {form}"), None);
                }
            }
        } else {
            let message = format!("unknown key `{}`", excerpt(path));
            let name = if prefix.is_empty() { path } else { &path[prefix.len() + 1..] };
            self.loader.problem(origin, message, suggest(name, prefix));
        }
    }

    /// Records the line of each entry of a table.
    fn entry_origins(&mut self, spec: &KeySpec, node: &Node) {
        let (KeyKind::Table | KeyKind::Delimiters, Some(table)) = (spec.kind, node.as_table()) else {
            return;
        };
        for entry in table {
            let Ok(name) = table_key(&entry.key) else { continue };
            let origin = Origin::in_file(self.path, entry.at);
            self.loader.origins.insert(format!("{}.{name}", spec.path), origin);
        }
    }
}

/// Suggests a known key for the unknown key `name` in the section `prefix`.
fn suggest(name: &str, prefix: &str) -> Option<String> {
    let siblings = keys().iter().filter_map(|spec| {
        let rest =
            if prefix.is_empty() { spec.path } else { spec.path.strip_prefix(prefix)?.strip_prefix('.')? };
        rest.split('.').next()
    });
    did_you_mean(name, siblings).or_else(|| {
        let elsewhere = keys().iter().find(|spec| spec.path.rsplit('.').next() == Some(name))?;
        Some(format!("did you mean `{}`?", elsewhere.path))
    })
}

/// Validates a key and a value given as text on the command line.
pub(super) fn check_assignment(path: &str, text: &str) -> Result<(&'static KeySpec, Value), ValueError> {
    let Some((spec, entry)) = find(path) else {
        let (prefix, name) = path.rsplit_once('.').unwrap_or(("", path));
        let suggestion =
            did_you_mean(path, keys().iter().map(|spec| spec.path)).or_else(|| suggest(name, prefix));
        return Err(ValueError { message: format!("unknown key `{}`", excerpt(path)), suggestion });
    };
    let named = |error: ValueError| ValueError {
        message: format!("`{}`: {}", excerpt(path), error.message),
        ..error
    };
    let value = match entry {
        None => spec.kind.check_plain(text).map_err(named)?,
        Some(entry) => match KeyKind::Text.check_plain(text).map_err(named)? {
            Value::Text(text) => Value::Table([(table_key(entry).map_err(named)?, text)].into()),
            other => other,
        },
    };
    Ok((spec, value))
}

fn sections() -> impl Iterator<Item = &'static str> {
    keys().iter().filter_map(|spec| spec.path.split('.').next())
}

#[cfg(test)]
mod tests {
    use super::super::files::MAX_FILE_BYTES;
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
        assert_eq!(
            (loaded.settings.search.limit, &loaded.origins["search.limit"]),
            (3, &Origin::CommandLine)
        );
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
            (
                "min_score = 0.5",
                "codeweaver.toml:1:1: unknown key `min_score`; did you mean `search.min_score`?",
            ),
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
            ],
            &[("policy.file_extensions.foo", "c"), ("policy.include", "[\"x,y\"]")],
        )
        .unwrap();
        assert_eq!(loaded.settings.policy.exclude, ["a/**", "b"]);
        assert_eq!(loaded.settings.policy.include, ["x,y"]);
        assert!(!loaded.settings.overlay.enabled);
        assert_eq!(loaded.settings.model.path.as_deref(), Some(Path::new("/home/u/m")));
        assert_eq!(loaded.settings.policy.file_extensions.len(), 2);

        let error = load(&[("CODEWEAVER_SEARCH_LIMTI", "1")], &[]).unwrap_err().to_string();
        assert!(error.contains("did you mean `CODEWEAVER_SEARCH_LIMIT`?"), "{error}");
        let error = load(&[], &[("serch.limit", "1")]).unwrap_err().to_string();
        assert!(error.contains("did you mean `search.limit`?"), "{error}");
        assert!(load(&[], &[("search.limit", "-1")]).is_err());
        assert!(load(&[], &[("policy.include", "[\"x\"\nevil = 1")]).is_err());
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
            "[", "]", "search", ".", "limit", " = ", "1", "\n", "\"", "{", "}", "'''", "#", "\u{feff}", "é",
            "\0",
        ];
        let files = Files::new();
        for _ in 0..500 {
            let text: String =
                (0..random.usize(..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            let _ = Settings::load(&files.sources(text.as_bytes(), b""));
        }
    }
}
