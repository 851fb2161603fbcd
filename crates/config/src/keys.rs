//! The table of all keys, and look-ups in it.

use std::fmt::Write as _;

use KeyKind::{Bool, Choice, Delimiters, Integer, List, Number, Path, Table, Text};

use super::settings::{GateMode, Granularity, HnswMode, HooksMode, Settings};
use super::value::{Field, KeyKind, Value};

/// A key: its name, kind, scope, and field in [`Settings`].
pub struct KeySpec {
    /// The name `section.key`.
    pub path: &'static str,
    pub kind: KeyKind,
    /// One or two sentences in Markdown.
    pub doc: &'static str,
    /// True if the key is ignored in the file of a repository, because it decides what runs on the user's
    /// machine.
    pub user_only: bool,
    pub(super) read: fn(&Settings) -> Value,
    pub(super) assign: fn(&mut Settings, Value) -> bool,
}

impl KeySpec {
    /// Returns the name of the environment variable of this key.
    pub fn environment_name(&self) -> String {
        format!("CODEWEAVER_{}", self.path.replace('.', "_").to_ascii_uppercase())
    }

    /// Returns the default in TOML form; `unset` if there is none.
    pub fn default_text(&self) -> String {
        toml_text(&(self.read)(&Settings::default()))
    }
}

impl std::fmt::Debug for KeySpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeySpec").field("path", &self.path).field("kind", &self.kind).finish_non_exhaustive()
    }
}

macro_rules! key {
    ($path:literal, $($field:ident).+, $kind:expr, $user_only:ident, $doc:literal) => {
        KeySpec {
            path: $path,
            kind: $kind,
            doc: $doc,
            user_only: $user_only,
            read: |settings| settings.$($field).+.read(),
            assign: |settings, value| settings.$($field).+.assign(value),
        }
    };
}

/// Value of `user_only` for keys that a repository file may set.
const SHARED: bool = false;
/// Value of `user_only` for keys that only the user may set.
const USER: bool = true;

const MAX_THREADS: i64 = 1024;

#[rustfmt::skip]
static KEYS: &[KeySpec] = &[
    key!("chunker.semantic_importance_threshold", chunker.semantic_importance_threshold, Number { min: 0.0, max: 1.0 }, SHARED,
        "Importance from which a syntax node can become a chunk of its own."),
    key!("chunker.prefer_semantic", chunker.prefer_semantic, Bool, SHARED,
        "Split files along syntax nodes if there is a grammar."),
    key!("chunker.force_delimiter_for_languages", chunker.force_delimiter_for_languages, List, SHARED,
        "Languages that are split by delimiters despite a grammar."),
    key!("chunker.enable_hybrid_chunking", chunker.enable_hybrid_chunking, Bool, SHARED,
        "Split oversized syntax nodes and ranges with syntax errors by delimiters."),
    key!("chunker.custom_delimiters", chunker.custom_delimiters, Delimiters, SHARED,
        "Additional delimiters of a language, which may be a new one with extensions in `policy.file_extensions`: `[[chunker.custom_delimiters.LANGUAGE]]` with `starts`, `ends`, `kind`, `priority`, `inclusive`, `take_whole_lines`, `nestable`."),
    key!("chunker.granularity", chunker.granularity, Choice(Granularity::NAMES), SHARED,
        "`packed`: small neighbours share a chunk up to the target size; `definition`: one chunk per definition."),
    key!("chunker.target_tokens", chunker.target_tokens, Integer { min: 32, max: 100_000 }, SHARED,
        "Target size of packed chunks, in tokens."),
    key!("chunker.token_limit", chunker.token_limit, Integer { min: 64, max: 100_000 }, SHARED,
        "Maximum size of a chunk, in tokens."),
    key!("chunker.max_error_share", chunker.max_error_share, Number { min: 0.0, max: 1.0 }, SHARED,
        "Maximum share of bytes under syntax errors; above it, a file is split by delimiters."),
    key!("chunker.simple_overlap", chunker.simple_overlap, Integer { min: 0, max: 10_000 }, SHARED,
        "Overlap of neighbouring chunks, in tokens, in files that are split by delimiters or as plain text."),
    key!("chunker.markdown.chunk_size", chunker.markdown.chunk_size, Integer { min: 100, max: 100_000 }, SHARED,
        "Maximum size of a Markdown chunk, in characters."),
    key!("chunker.markdown.overlap", chunker.markdown.overlap, Integer { min: 0, max: 50_000 }, SHARED,
        "Overlap of neighbouring chunks of a Markdown section, in characters."),
    key!("policy.include", policy.include, List, SHARED,
        "If not empty, only paths that match one of these globs are indexed."),
    key!("policy.exclude", policy.exclude, List, SHARED,
        "Paths that match one of these globs are not indexed."),
    key!("policy.file_extensions", policy.file_extensions, Table, SHARED,
        "Languages of unknown file extensions: `[policy.file_extensions]` with lines like `inc = \"php\"`."),
    key!("policy.max_blob_bytes", policy.max_blob_bytes, Integer { min: 1024, max: 32 << 20 }, SHARED,
        "Maximum size of a file, in bytes; larger files are not indexed."),
    key!("policy.include_secrets", policy.include_secrets, List, SHARED,
        "Paths that are indexed although they look like credentials."),
    key!("policy.include_generated_docs", policy.include_generated_docs, Bool, SHARED,
        "Index the output of documentation generators such as Javadoc, Dokka, Doxygen and Sphinx."),
    key!("model.name", model.name, Text, USER,
        "Embedding model: `builtin`, or the name of a transformer such as `bge-small-en-v1.5` or of a static model such as `potion-base-8m`. Beside an API, the variable is also accepted as `MARKDOWN_QA_EMBEDDING_MODEL`."),
    key!("model.path", model.path, Path, USER,
        "Directory with the files of the model. Transformer: `model.onnx`, `tokenizer.json`, `config.json`, `special_tokens_map.json`, `tokenizer_config.json`. Static model (model2vec): `model.safetensors`, `tokenizer.json`."),
    key!("model.ort_library", model.ort_library, Path, USER,
        "Path of the ONNX Runtime library (version 1.24 or later), if it is not in a standard location."),
    key!("model.threads", model.threads, Integer { min: 1, max: MAX_THREADS }, SHARED,
        "Number of threads of a transformer; unset: the number of cores."),
    key!("model.dimension", model.dimension, Integer { min: 1, max: 8192 }, USER,
        "Dimension of vectors: cut to it if the model was trained for that (Matryoshka), else a check. An API with an unknown model needs it."),
    key!("model.api_base_url", model.api_base_url, Text, USER,
        "Base URL of an OpenAI-compatible API that embeds, such as `https://api.openai.com/v1`; unset: a model on this machine. The text of chunks and queries is sent there."),
    key!("model.api_key_command", model.api_key_command, Text, USER,
        "Command that prints the key of that API, run by the shell; unset: the key is in `CODEWEAVER_EMBEDDING_KEY`."),
    key!("model.api_consent", model.api_consent, Text, USER,
        "The value of `model.api_base_url` to which you agree to send text; `index` asks for it. Not needed for this machine."),
    key!("model.api_batch_tokens", model.api_batch_tokens, Integer { min: 100, max: 1_000_000 }, USER,
        "Maximum number of tokens in one request to that API."),
    key!("model.api_price", model.api_price, Number { min: 0.0, max: 1000.0 }, USER,
        "Price of a million tokens at that API, by which `index` estimates costs."),
    key!("index.excerpts", index.excerpts, Bool, SHARED,
        "Store signatures and first sentences of documentation with the vectors."),
    key!("index.hnsw", index.hnsw, Choice(HnswMode::NAMES), SHARED,
        "When to build an HNSW graph, which searches then use; `auto`: from 524,288 chunks on."),
    key!("index.threads", index.threads, Integer { min: 1, max: MAX_THREADS }, SHARED,
        "Number of threads of the indexer; unset: the number of cores."),
    key!("search.min_score", search.min_score, Number { min: 0.0, max: 1.0 }, SHARED,
        "Minimum relevance of a match."),
    key!("search.timeout_ms", search.timeout_ms, Integer { min: 1, max: 3_600_000 }, SHARED,
        "Time limit of a search, in milliseconds, after which the response is partial; also of an update that it waits for, after which the older index answers."),
    key!("search.token_limit", search.token_limit, Integer { min: 1, max: 1_000_000 }, SHARED,
        "Maximum number of tokens in a response."),
    key!("search.limit", search.limit, Integer { min: 1, max: 1000 }, SHARED,
        "Maximum number of matches of `search`."),
    key!("search.include_tests", search.include_tests, Bool, SHARED,
        "Include matches in tests."),
    key!("search.weights", search.weights, Path, SHARED,
        "File with the weights of the ranking, as `git codeweaver eval tune` writes them; unset: `weights.json` of the index, or else the built-in ones."),
    key!("search.rerank", search.rerank, Text, USER,
        "Cross-encoder that orders the best matches again, such as `ms-marco-minilm-l6-v2`; unset: none."),
    key!("search.rerank_top", search.rerank_top, Integer { min: 2, max: 100 }, USER,
        "Number of best files that `search.rerank` orders."),
    key!("search.rerank_ms", search.rerank_ms, Integer { min: 1, max: 600_000 }, USER,
        "Time limit of `search.rerank`, in milliseconds; after it, the first ranking stands."),
    key!("overlay.budget_ms", overlay.budget_ms, Integer { min: 0, max: 600_000 }, SHARED,
        "Time limit for finding changed files in the working tree, in milliseconds per search."),
    key!("overlay.enabled", overlay.enabled, Bool, SHARED,
        "Include uncommitted files of the working tree in searches."),
    key!("overlay.max_bytes", overlay.max_bytes, Integer { min: 0, max: 1 << 30 }, SHARED,
        "Bytes of changed files that a search indexes itself, where a file counts as 4096 at least. More are indexed in the background; until then the answer says so."),
    key!("hooks.mode", hooks.mode, Choice(HooksMode::NAMES), USER,
        "`background`: hooks return at once and a separate process updates the index; `foreground`: hooks wait for the update."),
    key!("daemon.auto", daemon.auto, Bool, USER,
        "Whether a search that finds no [daemon](daemon.md) starts one."),
    key!("daemon.idle_minutes", daemon.idle_minutes, Integer { min: 1, max: 10_080 }, USER,
        "Idle time after which the daemon ends, in minutes."),
    key!("mcp.gate", mcp.gate, Choice(GateMode::NAMES), SHARED,
        "How agents are answered while the first index or a reindex is built; `strict`: with the status only; `partial`: from what is indexed so far, marked as degraded."),
    key!("mcp.index_small", mcp.index_small, Bool, SHARED,
        "Whether the first call of an agent indexes a repository that takes less than about a second, instead of answering `not_indexed`."),
    key!("mcp.allow", mcp.allow, List, USER,
        "Directories whose repositories agents may use by `path`, with all below, besides the workspace: absolute or below `~`; `*` as in globs."),
    key!("mcp.token_limit", mcp.token_limit, Integer { min: 1, max: 1_000_000 }, SHARED,
        "Maximum number of tokens in an answer to an agent that gives no `token_limit`."),
    key!("ask.min_relevance", ask.min_relevance, Number { min: 0.0, max: 1.0 }, SHARED,
        "Minimum relevance of an answer of `ask`; below it, no relevant information is found."),
    key!("ask.api_base_url", ask.api_base_url, Text, USER,
        "Base URL of an OpenAI-compatible API that words the answers of `ask`, such as `https://api.openai.com/v1`; unset: answers are quoted from the documents. The variable is also accepted as `MARKDOWN_QA_API_BASE_URL`."),
    key!("ask.api_key_command", ask.api_key_command, Text, USER,
        "Command that prints the key of the API, run by the shell; unset: the key is in `CODEWEAVER_ASK_API_KEY`, also accepted as `MARKDOWN_QA_API_KEY`."),
    key!("ask.llm_model", ask.llm_model, Text, USER,
        "Name of the language model of the API. The variable is also accepted as `MARKDOWN_QA_LLM_MODEL`."),
    key!("ask.timeout_ms", ask.timeout_ms, Integer { min: 100, max: 600_000 }, USER,
        "Time limit of a part of the API's response, in milliseconds."),
    key!("ask.directories", ask.directories, List, USER,
        "Directories that `serve --ask` answers about instead of the repository: absolute or below `~`."),
    key!("ask.port", ask.port, Integer { min: 0, max: 65_535 }, USER,
        "Port of `serve --ask`."),
    key!("ask.index_name", ask.index_name, Text, USER,
        "Name of the index of `serve --ask` that queries without a name ask."),
    key!("ask.reload_interval", ask.reload_interval, Integer { min: 1, max: 86_400 }, USER,
        "Time between two looks of `serve --ask` for changed documents, in seconds."),
    key!("org.url", org.url, Text, USER,
        "The index of `org` commands without a URL, as `https://search.example:9200/code`. Nothing is pushed to an engine that neither this setting nor a command names."),
];

/// Returns every key, grouped by section.
pub fn keys() -> &'static [KeySpec] {
    KEYS
}

/// Looks up a key. For an entry of a table (`policy.file_extensions.inc`), returns the key of the table and
/// the entry.
pub(super) fn find(path: &str) -> Option<(&'static KeySpec, Option<&str>)> {
    KEYS.iter().find_map(|spec| match path.strip_prefix(spec.path)? {
        "" => Some((spec, None)),
        // Only the entries of a table of texts are keys of their own.
        rest if spec.kind == Table => {
            rest.strip_prefix('.').filter(|entry| !entry.is_empty()).map(|e| (spec, Some(e)))
        }
        _ => None,
    })
}

/// Returns the value of a key as printed by `config get`: text unquoted, lists and tables as in TOML, empty
/// if unset. `None` if there is no such key.
pub fn get(settings: &Settings, path: &str) -> Option<String> {
    let (spec, entry) = find(path)?;
    let value = (spec.read)(settings);

    match (entry, value) {
        (None, value) => Some(value.to_plain()),
        // File extensions are stored without their dot.
        (Some(entry), Value::Table(table)) => table.get(entry.trim_start_matches('.')).cloned(),
        _ => None,
    }
}

/// Generates the reference of all keys in `docs/settings.md`.
pub fn documentation() -> String {
    let mut out = String::new();
    let mut section = "";

    for spec in KEYS {
        let section_of_key = spec.path.split('.').next().unwrap_or_default();
        if section_of_key != section {
            section = section_of_key;
            let _ = writeln!(out, "\n## `[{section}]`\n");
        }

        let key = spec.path.trim_start_matches(section).trim_start_matches('.');
        let mark = if spec.user_only { " (user only)" } else { "" };
        let takes = spec.kind.to_string().replace('"', "`");
        let default = spec.default_text();
        let _ = writeln!(out, "* **`{key}`**{mark}: {takes}, default `{default}`. {}", spec.doc);
    }

    out
}

/// Returns a value in TOML form; `unset` if there is none.
pub(super) fn toml_text(value: &Value) -> String {
    value.to_toml().map_or_else(|| "unset".to_owned(), |value| value.to_string().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that names one field and reads another would silently misconfigure.
    #[test]
    fn every_key_accesses_its_own_field() {
        let mut paths = std::collections::BTreeSet::new();
        for spec in KEYS {
            assert!(paths.insert(spec.path), "{} twice", spec.path);
            let value = match spec.kind {
                Bool => Value::Bool(!matches!((spec.read)(&Settings::default()), Value::Bool(true))),
                Integer { max, .. } => Value::Integer(max),
                Number { max, .. } => Value::Number(max),
                Text | Path => Value::Text("x".into()),
                Choice(names) => Value::Text((*names.last().unwrap()).into()),
                List => Value::List(vec!["x".into()]),
                Table => Value::Table([("x".to_owned(), "y".to_owned())].into()),
                Delimiters => Value::Delimiters([("x".to_owned(), Vec::new())].into()),
            };
            let mut settings = Settings::default();
            assert!((spec.assign)(&mut settings, value), "{} refuses its own kind", spec.path);
            let pointer = format!("/{}", spec.path.replace('.', "/"));
            let before = serde_json::to_value(Settings::default()).unwrap();
            let mut after = serde_json::to_value(&settings).unwrap();
            assert_ne!(before.pointer(&pointer), after.pointer(&pointer), "{}", spec.path);
            *after.pointer_mut(&pointer).unwrap() = before.pointer(&pointer).unwrap().clone();
            assert_eq!(before, after, "{} changes more than its field", spec.path);
        }
    }

    #[test]
    fn every_field_has_a_key() {
        fn leaves(value: &serde_json::Value, path: &str, out: &mut Vec<String>) {
            match value.as_object() {
                Some(object) if find(path).is_none() => {
                    for (key, value) in object {
                        leaves(
                            value,
                            &if path.is_empty() { key.clone() } else { format!("{path}.{key}") },
                            out,
                        );
                    }
                }
                _ => out.push(path.to_owned()),
            }
        }
        let mut fields = Vec::new();
        leaves(&serde_json::to_value(Settings::default()).unwrap(), "", &mut fields);
        for field in &fields {
            assert!(find(field).is_some(), "{field} has no key");
        }
        assert_eq!(fields.len(), KEYS.len());
    }

    #[test]
    fn defaults_are_within_their_ranges() {
        for spec in KEYS {
            let default = (spec.read)(&Settings::default());
            if let Some(value) = default.to_toml() {
                let node = super::super::toml::parse_value(value.to_string().trim()).unwrap();
                assert_eq!(spec.kind.check_node(&node), Ok(default), "{}", spec.path);
            }
        }
    }

    #[test]
    fn keys_that_load_code_are_user_only() {
        for path in [
            "model.name",
            "model.path",
            "model.ort_library",
            "hooks.mode",
            "daemon.auto",
            "mcp.allow",
            "ask.api_base_url",
            "ask.api_key_command",
            "ask.llm_model",
            "org.url",
        ] {
            assert!(find(path).is_some_and(|(spec, _)| spec.user_only), "{path}");
        }
    }

    #[test]
    fn get_prints_plain_values() {
        let mut settings = Settings::default();
        settings.policy.file_extensions.insert("inc".into(), "php".into());
        let value = |key| get(&settings, key);
        assert_eq!(value("chunker.token_limit").as_deref(), Some("4000"));
        assert_eq!(value("chunker.max_error_share").as_deref(), Some("0.3"));
        assert_eq!(value("model.name").as_deref(), Some("builtin"));
        assert_eq!(value("model.path").as_deref(), Some(""));
        assert_eq!(value("policy.file_extensions.inc").as_deref(), Some("php"));
        assert_eq!(value("policy.include").as_deref(), Some("[]"));
        assert_eq!(value("nothing.here"), None);
    }

    /// Set `CODEWEAVER_UPDATE_DOCS` to rewrite the reference part of the page.
    #[test]
    fn every_key_is_documented() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let (start, end) = ("<!-- keys -->\n", "<!-- end of keys -->");
        let from = page.find(start).unwrap() + start.len();
        let to = page.find(end).unwrap();
        let expected = format!("{}\n", documentation());
        if std::env::var_os("CODEWEAVER_UPDATE_DOCS").is_some() {
            std::fs::write(&path, format!("{}{expected}{}", &page[..from], &page[to..])).unwrap();
        } else {
            assert_eq!(&page[from..to], expected, "run the tests with CODEWEAVER_UPDATE_DOCS=1");
        }
    }
}
