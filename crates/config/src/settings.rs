//! The settings as typed values with their defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// All settings, by section.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Settings {
    pub chunker: ChunkerSettings,
    pub policy: PolicySettings,
    pub model: ModelSettings,
    pub index: IndexSettings,
    pub search: SearchSettings,
    pub overlay: OverlaySettings,
    pub hooks: HooksSettings,
    pub daemon: DaemonSettings,
    pub mcp: McpSettings,
    pub ask: AskSettings,
    pub org: OrgSettings,
}

/// Settings for splitting blobs into chunks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChunkerSettings {
    pub semantic_importance_threshold: f32,
    pub prefer_semantic: bool,
    pub force_delimiter_for_languages: Vec<String>,
    pub enable_hybrid_chunking: bool,
    /// Delimiters by language name.
    pub custom_delimiters: BTreeMap<String, Vec<CustomDelimiter>>,
    pub granularity: Granularity,
    pub target_tokens: u32,
    pub token_limit: u32,
    pub max_error_share: f32,
    /// Overlap in tokens.
    pub simple_overlap: u32,
    pub markdown: MarkdownSettings,
}

impl Default for ChunkerSettings {
    fn default() -> Self {
        Self {
            semantic_importance_threshold: 0.3,
            prefer_semantic: true,
            force_delimiter_for_languages: Vec::new(),
            enable_hybrid_chunking: true,
            custom_delimiters: BTreeMap::new(),

            granularity: Granularity::Packed,
            target_tokens: 500,
            token_limit: 4000,
            max_error_share: 0.3,
            simple_overlap: 0,

            markdown: MarkdownSettings::default(),
        }
    }
}

/// The rule by which small siblings share a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Small siblings are packed up to the target.
    #[default]
    Packed,
    /// Each definition is a chunk of its own.
    Definition,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkdownSettings {
    /// Size in characters.
    pub chunk_size: u32,
    /// Overlap in characters, smaller than `chunk_size`.
    pub overlap: u32,
}

impl Default for MarkdownSettings {
    fn default() -> Self {
        Self { chunk_size: 1000, overlap: 200 }
    }
}

/// User-defined delimiters of a language. Every start is combined with every end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CustomDelimiter {
    pub starts: Vec<String>,
    pub ends: Vec<String>,
    pub kind: String,
    pub priority: u8,
    pub inclusive: bool,
    pub take_whole_lines: bool,
    pub nestable: bool,
}

/// Settings for selecting the files to index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicySettings {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// Maps an extension without its dot to a language name.
    pub file_extensions: BTreeMap<String, String>,
    pub max_blob_bytes: u64,
    /// Paths that are indexed although they look like credentials.
    pub include_secrets: Vec<String>,
    /// Whether the output of documentation generators is indexed.
    pub include_generated_docs: bool,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            file_extensions: BTreeMap::new(),
            max_blob_bytes: 1 << 20,
            include_secrets: Vec::new(),
            include_generated_docs: false,
        }
    }
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelSettings {
    /// `builtin`, or the name of a transformer or static model.
    pub name: String,
    /// Directory with the files of the model.
    pub path: Option<PathBuf>,
    /// Path of the ONNX Runtime library.
    pub ort_library: Option<PathBuf>,
    pub threads: Option<usize>,
    /// Dimension of vectors. Vectors of a larger model are cut if the model allows it; any other difference
    /// is an error.
    pub dimension: Option<usize>,
    /// Base URL of an OpenAI-compatible API that embeds; none for a model on this machine.
    pub api_base_url: Option<String>,
    /// Command whose output is the key of the API; none if the key is in the environment.
    pub api_key_command: Option<String>,
    /// The base URL that the user has agreed to send the text of chunks and queries to.
    pub api_consent: Option<String>,
    /// Maximum number of tokens of one request.
    pub api_batch_tokens: u32,
    /// Price of a million tokens, for estimates.
    pub api_price: Option<f32>,
}

impl ModelSettings {
    /// Name of the model that is part of the program.
    pub const BUILTIN: &'static str = "builtin";

    /// Returns true if the model that is part of the program is selected.
    pub fn is_builtin(&self) -> bool {
        self.name == Self::BUILTIN && self.path.is_none() && !self.is_api()
    }

    /// Returns true if an API embeds.
    pub fn is_api(&self) -> bool {
        self.api_base_url.as_ref().is_some_and(|url| !url.trim().is_empty())
    }
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            name: Self::BUILTIN.to_owned(),
            path: None,
            ort_library: None,
            threads: None,
            dimension: None,

            api_base_url: None,
            api_key_command: None,
            api_consent: None,
            api_batch_tokens: 16_000,
            api_price: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexSettings {
    /// Whether signatures and first sentences of documentation are stored.
    pub excerpts: bool,
    pub hnsw: HnswMode,
    pub threads: Option<usize>,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self { excerpts: true, hnsw: HnswMode::Auto, threads: None }
    }
}

/// The stores for which HNSW graphs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HnswMode {
    /// Stores of so many rows that a graph takes less time than a scan.
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchSettings {
    /// Minimum relevance of a match, from 0 to 1.
    pub min_score: f32,
    /// Time after which a search returns a partial response.
    pub timeout_ms: u64,
    /// Maximum number of tokens in a response.
    pub token_limit: u32,
    pub limit: u32,
    pub include_tests: bool,
    /// File with the weights of the ranking; none for `weights.json` of the index, or else the built-in ones.
    pub weights: Option<PathBuf>,
    /// Name of the cross-encoder that orders the best matches; none for the first ranking.
    pub rerank: Option<String>,
    /// Number of best files that are reranked.
    pub rerank_top: u32,
    /// Time after which the first ranking is kept.
    pub rerank_ms: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            min_score: 0.3,
            timeout_ms: 3000,
            token_limit: 10_000,
            limit: 10,
            include_tests: true,
            weights: None,

            rerank: None,
            rerank_top: 30,
            rerank_ms: 2000,
        }
    }
}

/// The overlay of uncommitted files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OverlaySettings {
    pub budget_ms: u64,
    pub enabled: bool,
    pub max_bytes: u64,
}

impl Default for OverlaySettings {
    fn default() -> Self {
        Self { budget_ms: 150, enabled: true, max_bytes: 2 << 20 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct HooksSettings {
    pub mode: HooksMode,
}

/// The resident process that answers commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DaemonSettings {
    /// True if a command that finds none starts it.
    pub auto: bool,
    /// Time without a request after which it ends.
    pub idle_minutes: u32,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self { auto: false, idle_minutes: 30 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct McpSettings {
    pub allow: Vec<String>,
    pub gate: GateMode,
    /// Whether the first call indexes a repository that takes less than about a second.
    pub index_small: bool,
    pub token_limit: u32,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { allow: Vec::new(), gate: GateMode::default(), index_small: true, token_limit: 2000 }
    }
}

/// Answers to questions about documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskSettings {
    /// Minimum relevance of an answer, from 0 to 1.
    pub min_relevance: f32,
    /// Base URL of an OpenAI-compatible API; none for extractive answers.
    pub api_base_url: Option<String>,
    /// Command whose output is the key of the API; none if the key is in the environment.
    pub api_key_command: Option<String>,
    /// Key of the API in the file of the compatible program. It is no setting, so that it is not printed.
    #[serde(skip)]
    pub api_key: Option<ApiKey>,
    /// Name of the language model.
    pub llm_model: String,
    /// Time that the API may take to respond and between two parts of its answer.
    pub timeout_ms: u64,
    /// Directories that a server answers about, instead of the repository.
    pub directories: Vec<String>,
    /// Port of the server.
    pub port: u16,
    /// Name of the index for queries that name none.
    pub index_name: String,
    /// Seconds between two checks for changed documents.
    pub reload_interval: u64,
}

impl Default for AskSettings {
    fn default() -> Self {
        Self {
            min_relevance: 0.6,
            api_base_url: None,
            api_key_command: None,
            api_key: None,
            llm_model: "qwen-flash".to_owned(),
            timeout_ms: 30_000,

            directories: Vec::new(),
            port: 8765,
            index_name: "default".to_owned(),
            reload_interval: 300,
        }
    }
}

/// The key of an API, which no message shows.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(key: String) -> ApiKey {
        ApiKey(key)
    }

    /// The key itself, for the request.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// The answer to calls of agents while the first index or a reindex is being built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateMode {
    /// The status envelope only.
    #[default]
    Strict,
    /// Results from the part that is indexed so far, marked as degraded.
    Partial,
}

/// Whether a hook waits for the update of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HooksMode {
    #[default]
    Background,
    Foreground,
}

/// The index of an organisation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct OrgSettings {
    /// Its engine and name; none if commands name it.
    pub url: Option<String>,
}
