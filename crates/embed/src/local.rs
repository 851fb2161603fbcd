//! The files of a model in a folder, its requirements, and its fingerprint.
//!
//! A folder holds a transformer if it has an ONNX file, and a static model in the format of model2vec if it
//! has `model.safetensors` and `tokenizer.json` and either no ONNX file or a `config.json` with that model
//! type.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::SystemTime;

use codeweaver_base::{home, sync};
use codeweaver_config::ModelSettings;

use super::EmbedError;
use super::known::{FAMILIES, KNOWN, KNOWN_STATIC, KnownModel, Pooling, UNKNOWN, is_matryoshka};
use super::model_input::MODEL_INPUT_VERSION;
use super::names::{file_safe, is_plain_name, repository, unknown};
use super::quantise::QUANTISATION;

/// Paths of the ONNX file in the folder of a model, in order of preference.
const ONNX_FILES: &[&str] = &[
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
];
/// Names of files with weights that are stored next to the ONNX file.
const EXTERNAL_DATA_FILES: &[&str] = &["model.onnx_data", "model.onnx.data"];
const TOKENIZER_FILES: [&str; 4] =
    ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];
/// Files of a static model.
const STATIC_FILES: [&str; 2] = ["model.safetensors", "tokenizer.json"];
pub(super) const STATIC_TYPE: &str = "model2vec";
const POOLING_FILE: &str = "1_Pooling/config.json";

/// Folders that depend on the user.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelDirs {
    /// `…/codeweaver/models`.
    pub model_cache: Option<PathBuf>,
}

impl ModelDirs {
    /// Reads `XDG_CACHE_HOME` and the home directory.
    pub(super) fn from_environment() -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| Some(home().filter(|home| home.is_absolute())?.join(".cache")));
        Self { model_cache: cache.map(|cache| cache.join("codeweaver").join("models")) }
    }
}

/// A complete model on this machine.
#[derive(Debug)]
pub(super) enum LocalModel {
    Transformer(TransformerFiles),
    Static(StaticFiles),
}

impl LocalModel {
    /// Finds the files of the model that the settings name, in `model.path` or in the cache.
    pub(super) fn find(settings: &ModelSettings, dirs: &ModelDirs) -> Result<Self, EmbedError> {
        let name = model_name(settings);
        let known = KNOWN.iter().find(|known| known.name == name);
        let known_static = KNOWN_STATIC.iter().find(|(known, _)| *known == name);

        let folder = match (&settings.path, &dirs.model_cache) {
            (Some(path), _) => path.clone(),
            (None, Some(cache)) if is_plain_name(&name) => cache.join(&name),
            (None, _) => PathBuf::new(),
        };

        let is_known = known.is_some() || known_static.is_some();
        let is_there = settings.path.is_some() || is_plain_name(&name) && folder.is_dir();
        if !is_known && !is_there && repository(&settings.name).is_err() {
            return Err(unknown(name));
        }

        let from_settings = settings.path.is_some();
        let cut = settings.dimension.filter(|_| is_matryoshka(&name));
        if known_static.is_some() || is_static(&folder) {
            return StaticFiles::in_folder(name, &folder, known_static.map(|known| known.1), from_settings)
                .map(|files| Self::Static(StaticFiles { cut, ..files }));
        }
        TransformerFiles::in_folder(name, &folder, known, from_settings)
            .map(|files| Self::Transformer(TransformerFiles { cut, ..files }))
    }

    /// Identity of the vector space: the model's name and a hash of everything that decides a vector.
    pub(super) fn fingerprint(&self) -> Result<String, EmbedError> {
        match self {
            Self::Transformer(files) => files.fingerprint(),
            Self::Static(files) => files.fingerprint(),
        }
    }
}

/// Returns whether a folder holds a static model. Some of them also have an ONNX file, for other programs.
fn is_static(folder: &Path) -> bool {
    STATIC_FILES.iter().all(|file| folder.join(file).is_file())
        && (ONNX_FILES.iter().all(|file| !folder.join(file).is_file())
            || has_static_type(folder) == Some(true))
}

/// Returns whether `config.json` states the type of a static model; `None` if it cannot be read.
fn has_static_type(folder: &Path) -> Option<bool> {
    let config = std::fs::read(folder.join("config.json")).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&config).ok()?;
    Some(json["model_type"].as_str() == Some(STATIC_TYPE))
}

/// The files of a static model.
#[derive(Debug)]
pub(super) struct StaticFiles {
    pub name: String,
    pub weights: PathBuf,
    pub tokenizer: PathBuf,
    /// Number of components that are kept; `None` for all.
    pub cut: Option<usize>,
}

impl StaticFiles {
    /// Finds the files in a folder.
    fn in_folder(
        name: String,
        folder: &Path,
        repository: Option<&str>,
        from_settings: bool,
    ) -> Result<Self, EmbedError> {
        let missing: Vec<&'static str> =
            STATIC_FILES.into_iter().filter(|file| !folder.join(file).is_file()).collect();
        if !missing.is_empty() {
            return Err(missing_files(name, folder, missing, repository, from_settings));
        }

        let [weights, tokenizer] = STATIC_FILES.map(|file| folder.join(file));
        Ok(Self { name, weights, tokenizer, cut: None })
    }

    pub(super) fn fingerprint(&self) -> Result<String, EmbedError> {
        let rest = format!("{STATIC_TYPE}|{QUANTISATION}|{MODEL_INPUT_VERSION}{}", cut_text(self.cut));
        fingerprint(&self.name, [&self.weights, &self.tokenizer], &rest)
    }
}

/// The part of a fingerprint that a limit on components adds.
fn cut_text(cut: Option<usize>) -> String {
    cut.map_or_else(String::new, |dim| format!("|first {dim}"))
}

/// The error for files that a folder lacks.
fn missing_files(
    name: String,
    folder: &Path,
    missing: Vec<&'static str>,
    repository: Option<&str>,
    from_settings: bool,
) -> EmbedError {
    let source_hint = repository
        .map(|repository| format!(" (published at huggingface.co/{repository})"))
        .unwrap_or_default();
    EmbedError::MissingFiles { name, folder: folder.to_owned(), missing, source_hint, from_settings }
}

/// Returns the fingerprint of a model: its name with a hash of the contents of `files` and of `rest`.
pub(super) fn fingerprint<'a>(
    name: &str,
    files: impl IntoIterator<Item = &'a PathBuf>,
    rest: &str,
) -> Result<String, EmbedError> {
    let mut hasher = blake3::Hasher::new();

    for path in files {
        hasher.update(hash_file(path)?.as_bytes());
    }

    hasher.update(rest.as_bytes());
    Ok(format!("{}-{}", file_safe(name), &hasher.finalize().to_hex()[..16]))
}

/// The files and requirements of a transformer.
#[derive(Debug)]
pub(super) struct TransformerFiles {
    pub name: String,
    pub onnx_file: PathBuf,
    /// Files with external weights, each with its name in the ONNX file.
    pub external_data: Vec<(String, PathBuf)>,
    /// `tokenizer.json`, `config.json`, `special_tokens_map.json`, `tokenizer_config.json`.
    pub tokenizer: [PathBuf; 4],
    pub pooling: Pooling,
    pub max_tokens: usize,
    pub query_prefix: &'static str,
    pub passage_prefix: &'static str,
    /// Number of components that are kept; `None` for all.
    pub cut: Option<usize>,
}

impl TransformerFiles {
    /// Finds the files in a folder. Requirements that they do not state are those of `known`, or of the
    /// family that the name suggests.
    pub(super) fn in_folder(
        name: String,
        folder: &Path,
        known: Option<&'static KnownModel>,
        from_settings: bool,
    ) -> Result<Self, EmbedError> {
        let onnx_file = ONNX_FILES.iter().map(|file| folder.join(file)).find(|path| path.is_file());
        let tokenizer = TOKENIZER_FILES.map(|file| folder.join(file));
        let mut missing = Vec::new();

        if onnx_file.is_none() {
            missing.push(ONNX_FILES[0]);
        }
        missing.extend(
            TOKENIZER_FILES.iter().zip(&tokenizer).filter(|(_, path)| !path.is_file()).map(|(file, _)| *file),
        );

        let (Some(onnx_file), true) = (onnx_file, missing.is_empty()) else {
            let repository = known.map(|known| known.repository);
            return Err(missing_files(name, folder, missing, repository, from_settings));
        };

        let parent = onnx_file.parent().unwrap_or(folder);
        let external_data = EXTERNAL_DATA_FILES
            .iter()
            .map(|file| ((*file).to_owned(), parent.join(file)))
            .filter(|(_, path)| path.is_file())
            .collect();

        let defaults = known.unwrap_or(&UNKNOWN);
        let family = FAMILIES.iter().find(|(piece, ..)| known.is_none() && name.contains(piece));
        let (query_prefix, passage_prefix) = family
            .map_or((defaults.query_prefix, defaults.passage_prefix), |(_, query, passage)| (query, passage));

        Ok(Self {
            pooling: declared_pooling(folder)?.unwrap_or(defaults.pooling),
            max_tokens: defaults.max_tokens,
            name,
            onnx_file,
            external_data,
            tokenizer,
            query_prefix,
            passage_prefix,
            cut: None,
        })
    }

    pub(super) fn fingerprint(&self) -> Result<String, EmbedError> {
        let files = std::iter::once(&self.onnx_file).chain(self.external_data.iter().map(|(_, path)| path));
        let rest = format!(
            "{}|{}|{}|{}|{QUANTISATION}|{MODEL_INPUT_VERSION}{}",
            self.pooling.name(),
            self.max_tokens,
            self.query_prefix,
            self.passage_prefix,
            cut_text(self.cut)
        );
        fingerprint(&self.name, files.chain(&self.tokenizer), &rest)
    }
}

/// Returns the name in the settings, in lower case and without the publisher. With a folder alone, the name
/// of the folder.
pub(super) fn model_name(settings: &ModelSettings) -> String {
    let name = if settings.name == ModelSettings::BUILTIN {
        settings.path.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned())
    } else {
        settings.name.rsplit('/').next().map(str::to_owned)
    };
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "local".to_owned()).to_ascii_lowercase()
}

/// Selects the paths that running a model needs from those in its repository.
///
/// # Errors
/// The missing file.
pub(super) fn choose<'p>(paths: &[&'p str], is_static: bool) -> Result<Vec<&'p str>, String> {
    let find = |wanted: &str| paths.iter().copied().find(|path| *path == wanted);
    let Some(onnx) = ONNX_FILES.iter().find_map(|name| find(name)).filter(|_| !is_static) else {
        let config = find("config.json");
        let files = find_all(paths, &STATIC_FILES).map_err(|missing| match missing {
            "model.safetensors" => "ONNX file".to_owned(),
            missing => missing.to_owned(),
        })?;
        return Ok(files.into_iter().chain(config).collect());
    };

    let folder = onnx.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let external = EXTERNAL_DATA_FILES.iter().filter_map(|name| find(&format!("{folder}{name}")));

    let mut chosen = vec![onnx];
    chosen.extend(external);
    chosen.extend(find_all(paths, &TOKENIZER_FILES).map_err(str::to_owned)?);
    chosen.extend(find(POOLING_FILE));
    Ok(chosen)
}

/// Finds all files in `paths`; the first missing one is the error.
fn find_all<'p>(paths: &[&'p str], wanted: &[&'static str]) -> Result<Vec<&'p str>, &'static str> {
    wanted.iter().map(|name| paths.iter().copied().find(|path| path == name).ok_or(*name)).collect()
}

/// Reads the pooling in the configuration of sentence-transformers; `None` without one.
fn declared_pooling(folder: &Path) -> Result<Option<Pooling>, EmbedError> {
    let path = folder.join(POOLING_FILE);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(EmbedError::BadFile { path, message: error.to_string() }),
    };

    let bad = |message: String| EmbedError::BadFile { path: path.clone(), message };
    let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;

    let [is_cls, is_mean] =
        ["pooling_mode_cls_token", "pooling_mode_mean_tokens"].map(|key| json[key].as_bool() == Some(true));
    match (is_cls, is_mean) {
        (true, false) => Ok(Some(Pooling::Cls)),
        (false, true) => Ok(Some(Pooling::Mean)),
        _ => Err(bad("it asks for a pooling other than of the first token or the mean".to_owned())),
    }
}

/// Returns the BLAKE3 hash of a file, cached for the process by size and modification time.
fn hash_file(path: &Path) -> Result<blake3::Hash, EmbedError> {
    type Known = HashMap<PathBuf, (u64, Option<SystemTime>, blake3::Hash)>;
    static HASHES: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

    let bad =
        |error: std::io::Error| EmbedError::BadFile { path: path.to_owned(), message: error.to_string() };

    let metadata = std::fs::metadata(path).map_err(bad)?;
    let stamp = (metadata.len(), metadata.modified().ok());

    let mut hashes = sync::lock(&HASHES);
    if let Some((size, time, hash)) = hashes.get(path)
        && (*size, *time) == stamp
    {
        return Ok(*hash);
    }

    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path).map_err(bad)?).map_err(bad)?;
    let hash = hasher.finalize();
    hashes.insert(path.to_owned(), (stamp.0, stamp.1, hash));
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::super::known::BGE_QUERY;
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        folder
    }

    const ALL: &[&str] =
        &["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

    fn settings(name: &str, path: Option<&Path>) -> ModelSettings {
        ModelSettings { name: name.to_owned(), path: path.map(Path::to_owned), ..ModelSettings::default() }
    }

    fn find(settings: &ModelSettings, dirs: &ModelDirs) -> Result<TransformerFiles, EmbedError> {
        match LocalModel::find(settings, dirs)? {
            LocalModel::Transformer(files) => Ok(files),
            LocalModel::Static(files) => panic!("{files:?}"),
        }
    }

    #[test]
    fn a_model_is_found_in_the_cache_by_its_name() {
        let cache = folder(
            &ALL.iter()
                .map(|file| format!("bge-small-en-v1.5/{file}"))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        );
        let dirs = ModelDirs { model_cache: Some(cache.path().to_owned()) };
        let found = find(&settings("BAAI/bge-small-en-v1.5", None), &dirs).unwrap();
        assert_eq!((found.pooling, found.query_prefix), (Pooling::Cls, BGE_QUERY));
        let error = find(&settings("bge-base-en-v1.5", None), &dirs).unwrap_err();
        assert!(error.fix().contains("model get bge-base-en-v1.5"), "{}", error.fix());
        assert!(error.fix().contains("or set `model.path`"));
        let error = find(&settings("bge-smal-en-v1.5", None), &dirs).unwrap_err();
        assert_eq!(error.fix(), "did you mean `bge-small-en-v1.5`?");
        let error = find(&settings("../..", None), &dirs).unwrap_err();
        assert!(matches!(error, EmbedError::UnknownModel { .. }));
    }

    #[test]
    fn declared_pooling_takes_precedence() {
        let model = folder(ALL);
        let find = || find(&settings("builtin", Some(model.path())), &ModelDirs::default());
        assert_eq!(find().unwrap().pooling, Pooling::Mean);
        std::fs::create_dir(model.path().join("1_Pooling")).unwrap();
        let write = |text: &str| std::fs::write(model.path().join(POOLING_FILE), text).unwrap();
        write("{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": false}");
        assert_eq!(find().unwrap().pooling, Pooling::Cls);
        write("{\"pooling_mode_max_tokens\": true}");
        assert!(matches!(find(), Err(EmbedError::BadFile { .. })));
        write("not json");
        assert!(matches!(find(), Err(EmbedError::BadFile { .. })));
    }

    #[test]
    fn unknown_models_have_the_prefixes_of_their_family() {
        let root = folder(
            &ALL.iter()
                .map(|file| format!("my-e5-tuned/onnx/../{file}"))
                .map(|f| f.replace("onnx/../", ""))
                .collect::<Vec<_>>()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        );
        let found = find(&settings("builtin", Some(&root.path().join("my-e5-tuned"))), &ModelDirs::default());
        let found = found.unwrap();
        assert_eq!(
            (found.name.as_str(), found.query_prefix, found.passage_prefix),
            ("my-e5-tuned", "query: ", "passage: ")
        );
    }

    #[test]
    fn the_fingerprint_follows_the_files_and_the_pooling() {
        let model = folder(ALL);
        let fingerprint = || {
            find(&settings("x", Some(model.path())), &ModelDirs::default()).unwrap().fingerprint().unwrap()
        };
        let first = fingerprint();
        assert!(first.starts_with("x-") && first.len() == 18, "{first}");
        assert_eq!(first, fingerprint());
        std::fs::write(model.path().join("tokenizer.json"), "another tokenizer").unwrap();
        let second = fingerprint();
        assert_ne!(first, second);
        std::fs::create_dir(model.path().join("1_Pooling")).unwrap();
        std::fs::write(model.path().join(POOLING_FILE), "{\"pooling_mode_cls_token\": true}").unwrap();
        assert_ne!(second, fingerprint());
    }

    #[test]
    fn a_folder_with_safetensors_and_without_an_onnx_file_is_a_static_model() {
        let model = folder(&["model.safetensors", "tokenizer.json"]);
        let find = |name: &str| LocalModel::find(&settings(name, Some(model.path())), &ModelDirs::default());
        let first = find("x").unwrap();
        assert!(matches!(first, LocalModel::Static(_)), "{first:?}");
        let fingerprint = first.fingerprint().unwrap();
        assert!(fingerprint.starts_with("x-") && fingerprint.len() == 18, "{fingerprint}");
        std::fs::write(model.path().join("tokenizer.json"), "another").unwrap();
        assert_ne!(find("x").unwrap().fingerprint().unwrap(), fingerprint);

        // An ONNX file makes it a transformer, unless its configuration names the static type.
        for file in ALL.iter().filter(|file| !model.path().join(file).exists()) {
            std::fs::write(model.path().join(file), "{}").unwrap();
        }
        assert!(matches!(find("x").unwrap(), LocalModel::Transformer(_)));
        std::fs::write(model.path().join("config.json"), "{\"model_type\": \"model2vec\"}").unwrap();
        assert!(matches!(find("x").unwrap(), LocalModel::Static(_)));
    }

    #[test]
    fn a_known_static_model_names_its_missing_files() {
        let model = folder(&["tokenizer.json"]);
        let found = LocalModel::find(
            &settings("minishlab/potion-base-8M", Some(model.path())),
            &ModelDirs::default(),
        );
        let error = found.unwrap_err();
        assert!(error.why().ends_with("no model.safetensors"), "{}", error.why());
        assert!(error.fix().contains("huggingface.co/minishlab/potion-base-8M"), "{}", error.fix());
    }
}
