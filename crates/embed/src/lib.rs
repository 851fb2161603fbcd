//! Chunks and queries → int8 vectors.
//!
//! A vector space is identified by its fingerprint: model, dimension, quantisation, form of the model input.
//! Vectors are compared only if their fingerprints are equal.
//!
//! * [`builtin`]: the model in the binary.
//! * [`mod@vocabulary`], [`mod@bag`]: text → its vocabulary entries with their counts; also used in training.
//! * [`table`]: a table of vectors for the entries of a vocabulary.
//! * [`hub`]: models by name: their download, the cache, bundles.
//! * [`api`]: a model behind an OpenAI-compatible API.
//! * [`known`]: published models. [`names`]: their names, repositories and folders.
//! * [`local`]: the files and requirements of a model in a folder.
//! * [`model2vec`]: a static model from a folder (feature `onnx`, for its tokeniser).
//! * [`onnx`]: running a transformer (feature `onnx`).
//! * [`rerank`]: scoring texts with their query by a cross-encoder (feature `onnx`). [`pool`]: sessions of
//!   either.
//! * [`ort_library`]: finding ONNX Runtime (feature `onnx`).
//! * [`model_input`]: chunk → model input. [`mod@quantise`]: f32 → int8.
//! * [`absent`]: the stand-in for a model that cannot be used.

use std::path::PathBuf;
use std::sync::Arc;

use codeweaver_config::ModelSettings;
use codeweaver_http::api::ApiError;

mod absent;
pub mod api;
mod bag;
mod builtin;
pub mod hub;
mod known;
mod local;
#[cfg(feature = "onnx")]
mod model2vec;
mod model_input;
mod names;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "onnx")]
mod ort_library;
#[cfg(feature = "onnx")]
mod pool;
mod quantise;
#[cfg(feature = "onnx")]
mod rerank;
mod table;
mod vocabulary;

pub use absent::Absent;
pub use api::ApiFigures;
pub use bag::{TermEntries, bag_of, bag_of_path, bag_terms, bag_terms_of_path};
pub use model_input::{MODEL_INPUT_VERSION, document_input, input_hash};
pub use quantise::{QUANTISATION, quantise, scale_for};
#[cfg(feature = "onnx")]
pub use rerank::Reranker;
pub use table::{TableError, TableModel, encode_table, verify_table};
pub use vocabulary::{Vocabulary, VocabularyError};

/// Cost of a vector, which decides batch sizes, checkpoints and caching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedCost {
    /// Microseconds: a table look-up. Computing a vector again is cheaper than finding a stored one.
    Table,
    /// Milliseconds and more: a transformer. Vectors are reused by the hash of their model input.
    Model,
    /// A request to a server, and money. As [`EmbedCost::Model`], but queries embed only themselves, and text
    /// that looks like a secret is not embedded.
    Api,
}

/// Embeds text as unit vectors, quantised to int8 with one scale for the whole space.
///
/// Used from several threads at once. Deterministic: equal input gives equal bytes in any batch. Usable after
/// an error.
pub trait Embedder: Send + Sync {
    /// Identity of the vector space. Part of the name of the store directory.
    fn fingerprint(&self) -> &str;
    /// Name in output, for example `codeweaver-v1`.
    fn name(&self) -> &str;
    /// Components of a vector.
    fn dim(&self) -> usize;
    /// Scale of the components: the real value of one is `int8 / scale`.
    fn scale(&self) -> f32 {
        scale_for(self.dim())
    }
    /// Cost of a vector.
    fn cost(&self) -> EmbedCost;
    /// Appends one row of [`Self::dim`] components per input to `out`, in order. After an error `out` has the
    /// rows of the first inputs, as far as they were computed.
    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError>;
    /// Returns one row for a query.
    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError>;
    /// Returns one row for a path; `None` for models that cannot embed paths (transformers).
    fn embed_path(&self, path: &str) -> Option<Vec<i8>>;
    /// The table of the model, if its vectors are sums over the terms of a text; `None` for other models.
    fn table(&self) -> Option<&TableModel<'_>> {
        None
    }
    /// Figures on the requests to the API of the model; `None` if it has none.
    fn api_figures(&self) -> Option<ApiFigures> {
        None
    }
}

/// Opens the model that the settings name.
///
/// The built-in model always opens. Any other is read from `model.path` or the cache folder of models: a
/// static model, for the cost of reading its files (a tenth of a second), or a transformer, run by an ONNX
/// Runtime that is found at run time (0.5 s and more).
pub fn open(settings: &ModelSettings) -> Result<Arc<dyn Embedder>, EmbedError> {
    let model = open_any(settings)?;
    match settings.dimension.filter(|_| !settings.is_api()) {
        Some(expected) if expected != model.dim() => {
            Err(EmbedError::Dimension { name: model.name().to_owned(), expected, found: model.dim() })
        }
        _ => Ok(model),
    }
}

/// Opens the model without a check of its dimension.
fn open_any(settings: &ModelSettings) -> Result<Arc<dyn Embedder>, EmbedError> {
    if settings.is_builtin() {
        return Ok(Arc::new(builtin::open()));
    }
    if settings.is_api() {
        return Ok(Arc::new(api::ApiModel::open(settings, std::env::var(api::KEY_VARIABLE).ok())?));
    }

    match local::LocalModel::find(settings, &local::ModelDirs::from_environment())? {
        #[cfg(feature = "onnx")]
        local::LocalModel::Transformer(files) => Ok(Arc::new(onnx::OnnxModel::open(&files, settings)?)),
        #[cfg(feature = "onnx")]
        local::LocalModel::Static(files) => Ok(Arc::new(model2vec::StaticModel::open(&files)?)),
        #[cfg(not(feature = "onnx"))]
        local::LocalModel::Transformer(local::TransformerFiles { name, .. })
        | local::LocalModel::Static(local::StaticFiles { name, .. }) => Err(EmbedError::NotBuiltIn { name }),
    }
}

/// Returns the name of the model that [`open`] would open, without loading it.
pub fn name_of(settings: &ModelSettings) -> String {
    match () {
        () if settings.is_builtin() => builtin::open().name().to_owned(),
        () if settings.is_api() => api::model_name(settings).to_owned(),
        () => local::model_name(settings),
    }
}

/// Returns the fingerprint of the model that [`open`] would open, without loading it. The files of a model in
/// a folder are hashed once per process, and again when they change.
pub fn fingerprint_of(settings: &ModelSettings) -> Result<String, EmbedError> {
    if settings.is_builtin() {
        return Ok(builtin::open().fingerprint().to_owned());
    }
    if settings.is_api() {
        return api::fingerprint(settings);
    }
    local::LocalModel::find(settings, &local::ModelDirs::from_environment())?.fingerprint()
}

/// Returns the number of components of a vector of the model that [`open`] would open. Loads a model on this
/// machine; sends an API no request.
pub fn dim_of(settings: &ModelSettings) -> Result<usize, EmbedError> {
    if settings.is_api() { api::dimension(settings) } else { Ok(open(settings)?.dim()) }
}

/// Returns the cost of a vector of the model that [`open`] would open, without loading it.
pub fn cost_of(settings: &ModelSettings) -> Result<EmbedCost, EmbedError> {
    if settings.is_api() {
        return Ok(EmbedCost::Api);
    }
    if settings.is_builtin() {
        return Ok(EmbedCost::Table);
    }
    match local::LocalModel::find(settings, &local::ModelDirs::from_environment())? {
        local::LocalModel::Transformer(_) => Ok(EmbedCost::Model),
        local::LocalModel::Static(_) => Ok(EmbedCost::Table),
    }
}

/// Returns the prefix that the fingerprints of all versions of the model of the settings have. Needs no file
/// of the model.
pub fn fingerprint_prefix(settings: &ModelSettings) -> String {
    format!("{}-", names::file_safe(&name_of(settings).to_ascii_lowercase()))
}

/// The failure to open or to use a model. In three parts: [`EmbedError::what`], [`EmbedError::why`],
/// [`EmbedError::fix`]; `Display` is the first two.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {}", self.what(), self.why())]
pub enum EmbedError {
    /// Neither the name of a known model nor a folder with a model.
    UnknownModel {
        name: String,
        known: Vec<&'static str>,
        suggestion: Option<&'static str>,
    },
    /// `folder` is `model.path`, or the folder in the cache if that is not set.
    MissingFiles {
        name: String,
        folder: PathBuf,
        missing: Vec<&'static str>,
        source_hint: String,
        from_settings: bool,
    },
    /// The binary was built without the feature `onnx`.
    NotBuiltIn {
        name: String,
    },
    /// `tried` lists the paths where the library was looked for, with the result of each.
    RuntimeMissing {
        tried: Vec<(PathBuf, String)>,
        required: bool,
    },
    /// A model, or ONNX Runtime, could not be downloaded.
    Download {
        name: String,
        error: hub::DownloadError,
    },
    /// A file exists but cannot be used.
    BadFile {
        path: PathBuf,
        message: String,
    },
    Dimension {
        name: String,
        expected: usize,
        found: usize,
    },
    /// An API that embeds cannot be used or gives no answer.
    Api {
        name: String,
        error: ApiError,
    },
    /// The user has not agreed to send text to this URL.
    Consent {
        url: String,
    },
    /// The API has failed so often that it gets no requests for `pause`. `failure` is the last failure.
    CircuitOpen {
        url: String,
        pause: std::time::Duration,
        failure: Option<ApiError>,
    },
    /// The dimension of the vectors of an API must be known before the first one.
    DimensionUnknown {
        name: String,
    },
    /// The loaded model failed on an input.
    Inference {
        name: String,
        message: String,
    },
}

impl EmbedError {
    /// Returns one line: the part that does not work.
    pub fn what(&self) -> String {
        match self {
            Self::UnknownModel { name, .. } => format!("the embedding model `{name}` is not known"),
            Self::MissingFiles { name, .. } => {
                format!("the embedding model `{name}` is not complete on this machine")
            }
            Self::NotBuiltIn { name } => format!("the embedding model `{name}` cannot be run"),
            Self::RuntimeMissing { .. } => "ONNX Runtime 1.24 or later was not found".to_owned(),
            Self::Download { name, .. } => format!("`{name}` could not be downloaded"),
            Self::BadFile { path, .. } => format!("{} cannot be used", path.display()),
            Self::Dimension { name, .. } => {
                format!("the embedding model `{name}` does not fit `model.dimension`")
            }
            Self::Inference { name, .. } => format!("the embedding model `{name}` failed"),

            Self::Api { name, .. } => format!("the embedding model `{name}` gives no vectors"),
            Self::Consent { url } => format!("nothing is sent to {url}"),
            Self::CircuitOpen { url, .. } => format!("{url} is not asked for vectors"),
            Self::DimensionUnknown { name } => {
                format!("the dimension of the embedding model `{name}` is not known")
            }
        }
    }

    /// Returns one line: the reason.
    pub fn why(&self) -> String {
        match self {
            Self::UnknownModel { known, .. } => {
                format!(
                    "no folder of this name is in the model cache, and it is none of {}",
                    known.join(", ")
                )
            }
            Self::MissingFiles { folder, missing, .. } => {
                format!("{} has no {}", folder.display(), missing.join(", "))
            }
            Self::NotBuiltIn { .. } => "this binary was built without the feature `onnx`".to_owned(),
            Self::RuntimeMissing { tried, .. } => tried
                .iter()
                .map(|(path, message)| format!("{} ({message})", path.display()))
                .collect::<Vec<_>>()
                .join("; "),

            Self::Download { error, .. } => error.to_string(),
            Self::Api { error, .. } => error.to_string(),
            Self::Consent { .. } => {
                "embedding by an API sends the text of files and queries there, and you have not agreed to that"
                    .to_owned()
            }
            Self::CircuitOpen { pause, failure, .. } => {
                let failure = failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
                format!(
                    "it has failed {} times in sequence, and is asked again after {} s{failure}",
                    api::breaker::MAX_FAILURES,
                    pause.as_secs()
                )
            }
            Self::DimensionUnknown { .. } => "the API is asked for nothing before the index has its form".to_owned(),
            Self::BadFile { message, .. } | Self::Inference { message, .. } => message.clone(),
            Self::Dimension { expected, found, .. } => {
                format!("its vectors have {found} components, the setting says {expected}")
            }
        }
    }

    /// Returns one line: the remedy.
    pub fn fix(&self) -> String {
        match self {
            Self::UnknownModel { suggestion: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::UnknownModel { .. } => {
                "set `model.path` to a folder with the model, or `model.name` to `builtin`".to_owned()
            }
            Self::MissingFiles { folder, missing, from_settings: true, source_hint, .. } => {
                format!("put {} into {}{source_hint}", missing.join(", "), folder.display())
            }
            Self::MissingFiles { name, folder, .. } if folder.is_dir() => {
                format!("complete {}, or model remove {name} and model get {name}", folder.display())
            }
            Self::MissingFiles { name, .. } => {
                format!("git codeweaver model get {name}, or set `model.path` to a folder that has them")
            }

            Self::Download { error, .. } => error.fix().to_owned(),
            Self::Api { error, .. } => error.fix(&api::NAMES),
            Self::Consent { url } => format!("git codeweaver config set --user model.api_consent {url}"),
            Self::CircuitOpen { failure: Some(error), .. } => error.fix(&api::NAMES),
            Self::CircuitOpen { failure: None, .. } => "check model.api_base_url and the network".to_owned(),
            Self::DimensionUnknown { .. } => {
                "git codeweaver config set --user model.dimension N, as the documentation of the model says".to_owned()
            }

            Self::NotBuiltIn { .. } => {
                "set `model.name` to `builtin`, or build with `--features onnx`".to_owned()
            }
            Self::RuntimeMissing { required: true, .. } => {
                "point `model.ort_library` or ORT_DYLIB_PATH to libonnxruntime of version 1.24 or later"
                    .to_owned()
            }
            Self::RuntimeMissing { .. } => {
                "git codeweaver model get onnxruntime, or set `model.ort_library` to the path of libonnxruntime"
                    .to_owned()
            }
            Self::BadFile { path, .. } => {
                format!("replace {} by the file of the model's publisher", path.display())
            }
            Self::Dimension { .. } => "correct or remove `model.dimension`".to_owned(),
            Self::Inference { .. } => "git codeweaver doctor; or set `model.name` to `builtin`".to_owned(),
        }
    }
}

/// Stand-in for cross-encoders in a build that cannot run them.
#[cfg(not(feature = "onnx"))]
pub enum Reranker {}

#[cfg(not(feature = "onnx"))]
impl Reranker {
    /// Always an error.
    pub fn open(name: &str, _: &ModelSettings) -> Result<Reranker, EmbedError> {
        Err(EmbedError::NotBuiltIn { name: name.to_owned() })
    }

    /// Cannot be called.
    pub fn scores(
        &self,
        _: &str,
        _: &[String],
        _: std::time::Instant,
    ) -> Result<Option<Vec<f32>>, EmbedError> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_model_opens_and_agrees_with_its_fingerprint() {
        let settings = ModelSettings::default();
        let model = open(&settings).unwrap();
        assert_eq!(model.fingerprint(), fingerprint_of(&settings).unwrap());
        assert_eq!(model.cost(), EmbedCost::Table);
        assert_eq!(model.embed_query("x y").unwrap().len(), model.dim());
    }

    #[test]
    fn a_wrong_dimension_is_refused() {
        let settings = ModelSettings { dimension: Some(384), ..ModelSettings::default() };
        let error = open(&settings).err().unwrap();
        assert!(error.to_string().contains("256"), "{error}");
        assert!(error.fix().contains("model.dimension"));
    }

    #[test]
    fn a_missing_model_is_an_error_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let settings = ModelSettings { path: Some(folder.path().into()), ..ModelSettings::default() };
        let error = open(&settings).err().unwrap();
        assert!(error.why().contains("model.onnx, tokenizer.json"), "{error}");
        assert!(error.fix().contains(&*folder.path().to_string_lossy()), "{}", error.fix());
    }
}
