//! Published models by their usual names.

/// Requirements of a published model that its files do not state.
#[derive(Debug, PartialEq)]
pub(super) struct KnownModel {
    pub name: &'static str,
    /// Repository on huggingface.co.
    pub repository: &'static str,
    pub pooling: Pooling,
    /// Maximum length of an input; the rest is cut off. At most the length that the model was trained for,
    /// and less where a longer input costs more time than it gains.
    pub max_tokens: usize,
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
}

/// The computation of the vector of a text from those of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The vector of the first token.
    Cls,
    /// The mean over all tokens.
    Mean,
}

impl Pooling {
    /// Name in the fingerprint of a model.
    pub(super) fn name(self) -> &'static str {
        match self {
            Pooling::Cls => "Cls",
            Pooling::Mean => "Mean",
        }
    }
}

pub(super) const BGE_QUERY: &str = "Represent this sentence for searching relevant passages: ";

macro_rules! known {
    ($name:literal, $repository:literal, $pooling:ident, $max_tokens:literal, $query:expr, $passage:expr) => {
        KnownModel {
            name: $name,
            repository: $repository,
            pooling: Pooling::$pooling,
            max_tokens: $max_tokens,
            query_prefix: $query,
            passage_prefix: $passage,
        }
    };
}

#[rustfmt::skip]
pub(super) static KNOWN: &[KnownModel] = &[
    known!("all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2", Mean, 256, "", ""),
    known!("all-minilm-l12-v2", "sentence-transformers/all-MiniLM-L12-v2", Mean, 128, "", ""),
    known!("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2", Mean, 384, "", ""),
    known!("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", Cls, 512, BGE_QUERY, ""),
    known!("bge-base-en-v1.5", "BAAI/bge-base-en-v1.5", Cls, 512, BGE_QUERY, ""),
    known!("bge-large-en-v1.5", "BAAI/bge-large-en-v1.5", Cls, 512, BGE_QUERY, ""),
    known!("gte-base-en-v1.5", "Alibaba-NLP/gte-base-en-v1.5", Cls, 1024, "", ""),
    known!("gte-large-en-v1.5", "Alibaba-NLP/gte-large-en-v1.5", Cls, 1024, "", ""),
    known!("jina-embeddings-v2-base-code", "jinaai/jina-embeddings-v2-base-code", Mean, 1024, "", ""),
    known!("jina-embeddings-v2-base-en", "jinaai/jina-embeddings-v2-base-en", Mean, 1024, "", ""),
    known!("jina-embeddings-v2-small-en", "jinaai/jina-embeddings-v2-small-en", Mean, 1024, "", ""),
    known!("multilingual-e5-small", "intfloat/multilingual-e5-small", Mean, 512, "query: ", "passage: "),
    known!("multilingual-e5-base", "intfloat/multilingual-e5-base", Mean, 512, "query: ", "passage: "),
    known!("multilingual-e5-large", "intfloat/multilingual-e5-large", Mean, 512, "query: ", "passage: "),
    known!("mxbai-embed-large-v1", "mixedbread-ai/mxbai-embed-large-v1", Cls, 512, BGE_QUERY, ""),
    known!("nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1.5", Mean, 1024, "search_query: ", "search_document: "),
    known!("snowflake-arctic-embed-xs", "Snowflake/snowflake-arctic-embed-xs", Cls, 512, BGE_QUERY, ""),
    known!("snowflake-arctic-embed-s", "Snowflake/snowflake-arctic-embed-s", Cls, 512, BGE_QUERY, ""),
    known!("snowflake-arctic-embed-m", "Snowflake/snowflake-arctic-embed-m", Cls, 512, BGE_QUERY, ""),
];

/// Defaults of a model that is not in [`KNOWN`].
pub(super) static UNKNOWN: KnownModel = known!("", "", Mean, 512, "", "");

/// Published static models with their repositories on huggingface.co. Their files state all requirements.
pub(super) static KNOWN_STATIC: &[(&str, &str)] = &[
    ("potion-base-2m", "minishlab/potion-base-2M"),
    ("potion-base-4m", "minishlab/potion-base-4M"),
    ("potion-base-8m", "minishlab/potion-base-8M"),
    ("potion-base-32m", "minishlab/potion-base-32M"),
    ("potion-code-16m", "minishlab/potion-code-16M"),
    ("potion-multilingual-128m", "minishlab/potion-multilingual-128M"),
    ("potion-retrieval-32m", "minishlab/potion-retrieval-32M"),
];

/// Models of APIs with the dimension of their vectors.
static API_DIMENSIONS: &[(&str, usize)] = &[
    ("text-embedding-3-small", 1536),
    ("text-embedding-3-large", 3072),
    ("text-embedding-ada-002", 1536),
    ("voyage-code-3", 1024),
    ("voyage-3.5", 1024),
    ("mistral-embed", 1024),
    ("codestral-embed", 1536),
];

/// Returns the dimension of a model of an API, if it is known.
pub(super) fn api_dimension(name: &str) -> Option<usize> {
    let short = name.rsplit('/').next().unwrap_or_default();
    API_DIMENSIONS.iter().find(|(known, _)| *known == short).map(|(_, dim)| *dim)
}

/// Parts of the names of models whose first components are a vector of less precision (Matryoshka training;
/// the principal components of model2vec).
static MATRYOSHKA: &[&str] = &[
    "text-embedding-3-",
    "voyage-code-3",
    "voyage-3.5",
    "codestral-embed",
    "gemini-embedding",
    "nomic-embed-text-v1.5",
    "mxbai-embed-large-v1",
    "arctic-embed-m-v1.5",
    "arctic-embed-l-v2",
    "jina-embeddings-v3",
    "jina-code-embeddings",
    "qwen3-embedding",
    "embeddinggemma",
    "potion-",
];

/// Returns whether vectors of the model may be cut.
pub(super) fn is_matryoshka(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    MATRYOSHKA.iter().any(|part| name.contains(part))
}

/// Returns whether vectors of the model are standardised before they are cut.
pub(super) fn has_layer_norm(name: &str) -> bool {
    name.to_ascii_lowercase().contains("nomic-embed-text-v1.5")
}

/// A published cross-encoder.
#[derive(Debug)]
pub(super) struct KnownReranker {
    pub name: &'static str,
    /// Repository on huggingface.co.
    pub repository: &'static str,
}

#[rustfmt::skip]
pub(super) static KNOWN_RERANKERS: &[KnownReranker] = &[
    KnownReranker { name: "ms-marco-minilm-l6-v2", repository: "cross-encoder/ms-marco-MiniLM-L6-v2" },
    KnownReranker { name: "ms-marco-minilm-l12-v2", repository: "cross-encoder/ms-marco-MiniLM-L12-v2" },
    KnownReranker { name: "bge-reranker-base", repository: "BAAI/bge-reranker-base" },
    KnownReranker { name: "bge-reranker-v2-m3", repository: "rozgo/bge-reranker-v2-m3" },
    KnownReranker { name: "jina-reranker-v1-turbo-en", repository: "jinaai/jina-reranker-v1-turbo-en" },
    KnownReranker { name: "jina-reranker-v2-base-multilingual", repository: "jinaai/jina-reranker-v2-base-multilingual" },
];

/// Query and passage prefixes by a part of the name, for models that are not in [`KNOWN`].
pub(super) static FAMILIES: &[(&str, &str, &str)] = &[
    ("e5-", "query: ", "passage: "),
    ("bge-", BGE_QUERY, ""),
    ("arctic-embed", BGE_QUERY, ""),
    ("nomic-embed-text", "search_query: ", "search_document: "),
];

/// Kind of a model: its use and the engine that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Transformer,
    Static,
    Reranker,
    Runtime,
}

impl Kind {
    /// Returns the name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Transformer => "transformer",
            Kind::Static => "static",
            Kind::Reranker => "reranker",
            Kind::Runtime => "library",
        }
    }
}

/// Names of the known models with their kinds and their repositories, in the order of the tables.
pub fn known() -> impl Iterator<Item = (&'static str, Kind, &'static str)> {
    let transformers = KNOWN.iter().map(|known| (known.name, Kind::Transformer, known.repository));
    let statics = KNOWN_STATIC.iter().map(|(name, repository)| (*name, Kind::Static, *repository));
    let rerankers = KNOWN_RERANKERS.iter().map(|known| (known.name, Kind::Reranker, known.repository));
    transformers.chain(statics).chain(rerankers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_folder_names() {
        let names = KNOWN.iter().map(|known| known.name).chain(KNOWN_STATIC.iter().map(|known| known.0));
        let names = names.chain(KNOWN_RERANKERS.iter().map(|known| known.name));
        for name in names {
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
            assert!(name.bytes().all(plain) && !name.starts_with('.'), "{name}");
        }
    }
}
