//! Transformers, run by ONNX Runtime through fastembed.
//!
//! Vectors are content-addressed, so a text must give the same bytes in any batch:
//!
//! * Every text is a batch of its own. Otherwise padding and, in dynamically quantised models, the range of
//!   the batch would change its vector. Batches of short texts are not faster on a CPU.
//! * Every session uses one thread, so that the order of sums does not depend on the number of cores. Several
//!   sessions, created on demand, use the cores.
//!
//! Different kinds of processors may still round differently.

use std::path::Path;

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};

use codeweaver_config::ModelSettings;

use super::known::Pooling;
use super::local::TransformerFiles;
use super::pool::Pool;
use super::quantise::{quantise, scale_for, shorten};
use super::{EmbedCost, EmbedError, Embedder, known, ort_library};

/// Maximum memory of the sessions of one model together. One session is always created.
const MAX_SESSIONS_BYTES: usize = 1 << 30;

/// A transformer with the sessions that run it.
pub(super) struct OnnxModel {
    name: String,
    fingerprint: String,
    dim: usize,
    /// Number of components that the model returns, of which the first `dim` are kept.
    native: usize,
    query_prefix: &'static str,
    passage_prefix: &'static str,
    sessions: Pool<TextEmbedding>,
}

impl OnnxModel {
    /// Loads ONNX Runtime and one session, which reveals the dimension of its vectors.
    pub(super) fn open(files: &TransformerFiles, settings: &ModelSettings) -> Result<Self, EmbedError> {
        let fingerprint = files.fingerprint()?;
        ort_library::load(settings.ort_library.as_deref())?;
        let source = SessionSource::read(files)?;

        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let by_memory = MAX_SESSIONS_BYTES / source.bytes().max(1);
        let max = settings.threads.unwrap_or(cores).min(by_memory).max(1);
        let sessions = Pool::new(max, move || source.session())?;

        let native = embed(sessions.take()?.get(), &files.name, "x")?.len();
        let dim = files.cut.map_or(native, |cut| cut.min(native));
        Ok(Self {
            name: files.name.clone(),
            fingerprint,
            dim,
            native,
            query_prefix: files.query_prefix,
            passage_prefix: files.passage_prefix,
            sessions,
        })
    }

    /// Appends the row of a text.
    fn row(&self, session: &mut TextEmbedding, text: &str, out: &mut Vec<i8>) -> Result<(), EmbedError> {
        let vector = embed(session, &self.name, text)?;
        if vector.len() != self.native {
            let message = format!("a vector of {} components instead of {}", vector.len(), self.native);
            return Err(inference_error(&self.name, message));
        }

        let is_cut = self.dim < self.native;
        let vector =
            if is_cut { shorten(vector, self.dim, known::has_layer_norm(&self.name)) } else { vector };

        quantise(&vector, scale_for(self.dim), out);
        Ok(())
    }

    /// Computes the rows of `inputs` in one session.
    fn rows(&self, inputs: &[&str]) -> Result<Vec<i8>, EmbedError> {
        let mut session = self.sessions.take()?;
        let mut out = Vec::with_capacity(inputs.len() * self.dim);
        let mut prefixed = String::new();

        for input in inputs {
            prefixed.clear();
            prefixed.push_str(self.passage_prefix);
            prefixed.push_str(input);
            self.row(session.get(), &prefixed, &mut out)?;
        }
        Ok(out)
    }

    fn panicked(&self) -> EmbedError {
        inference_error(&self.name, "a worker panicked".to_owned())
    }
}

impl Embedder for OnnxModel {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Model
    }

    /// Uses as many sessions as are free, up to `model.threads`.
    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        let workers = self.sessions.max().min(inputs.len()).max(1);
        if workers == 1 {
            out.extend(self.rows(inputs)?);
            return Ok(());
        }

        let parts: Vec<Result<Vec<i8>, EmbedError>> = std::thread::scope(|scope| {
            let running: Vec<_> = inputs
                .chunks(inputs.len().div_ceil(workers))
                .map(|part| scope.spawn(move || self.rows(part)))
                .collect();
            running.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(self.panicked()))).collect()
        });

        let rows = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        rows.iter().for_each(|row| out.extend(row));
        Ok(())
    }

    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError> {
        let mut session = self.sessions.take()?;
        let mut row = Vec::with_capacity(self.dim);
        self.row(session.get(), &format!("{}{query}", self.query_prefix), &mut row)?;
        Ok(row)
    }

    fn embed_path(&self, _: &str) -> Option<Vec<i8>> {
        None
    }
}

/// Computes the vector of a text.
fn embed(session: &mut TextEmbedding, name: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
    let vectors = session.embed([text], Some(1));
    let mut vectors = vectors.map_err(|error| inference_error(name, error.to_string()))?;
    let vector = vectors.pop().filter(|vector| !vector.is_empty());
    vector.ok_or_else(|| inference_error(name, "no vector came back".to_owned()))
}

fn inference_error(name: &str, message: String) -> EmbedError {
    EmbedError::Inference { name: name.to_owned(), message }
}

/// Files and options of a session, from which further sessions are created.
struct SessionSource {
    onnx_path: std::path::PathBuf,
    onnx: Vec<u8>,
    external_data: Vec<(String, Vec<u8>)>,
    tokenizer: [Vec<u8>; 4],
    pooling: fastembed::Pooling,
    max_tokens: usize,
}

impl SessionSource {
    /// Reads the files of a model into memory.
    fn read(files: &TransformerFiles) -> Result<Self, EmbedError> {
        let [tokenizer, config, special_tokens, tokenizer_config] = &files.tokenizer;

        Ok(Self {
            onnx_path: files.onnx_file.clone(),
            onnx: read(&files.onnx_file)?,
            external_data: files
                .external_data
                .iter()
                .map(|(name, path)| Ok((name.clone(), read(path)?)))
                .collect::<Result<_, EmbedError>>()?,
            tokenizer: [read(tokenizer)?, read(config)?, read(special_tokens)?, read(tokenizer_config)?],
            pooling: match files.pooling {
                Pooling::Cls => fastembed::Pooling::Cls,
                Pooling::Mean => fastembed::Pooling::Mean,
            },
            max_tokens: files.max_tokens,
        })
    }

    /// Memory of the weights, of which each session has a copy.
    fn bytes(&self) -> usize {
        self.onnx.len() + self.external_data.iter().map(|(_, data)| data.len()).sum::<usize>()
    }

    /// Creates a session.
    fn session(&self) -> Result<TextEmbedding, EmbedError> {
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] =
            self.tokenizer.clone();
        let tokenizer =
            TokenizerFiles { tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file };

        let mut model =
            UserDefinedEmbeddingModel::new(self.onnx.clone(), tokenizer).with_pooling(self.pooling.clone());
        for (name, data) in &self.external_data {
            model = model.with_external_initializer(name.clone(), data.clone());
        }

        let options = InitOptionsUserDefined::new().with_max_length(self.max_tokens).with_intra_threads(1);
        TextEmbedding::try_new_from_user_defined(model, options)
            .map_err(|error| EmbedError::BadFile { path: self.onnx_path.clone(), message: error.to_string() })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    std::fs::read(path)
        .map_err(|error| EmbedError::BadFile { path: path.to_owned(), message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_testkit::{Tool, skip};

    /// The settings of the model that `tests/onnx/fetch.sh` builds, or `None` if it is missing and the test
    /// is skipped.
    fn real_model() -> Option<ModelSettings> {
        let library = Tool::ONNX_RUNTIME.find()?;
        let path = Tool::ONNX_MODEL.find()?;
        let name = "all-minilm-l6-v2".to_owned();
        Some(ModelSettings { name, path: Some(path), ort_library: Some(library), ..ModelSettings::default() })
    }

    fn dot(a: &[i8], b: &[i8], scale: f32) -> f32 {
        a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>() as f32 / (scale * scale)
    }

    #[test]
    fn a_real_model_embeds_a_text_equally_in_any_batch() {
        let Some(settings) = real_model() else { return };
        let model = super::super::open(&ModelSettings { threads: Some(2), ..settings.clone() }).unwrap();
        assert_eq!((model.dim(), model.cost()), (384, EmbedCost::Model));
        assert_eq!(model.fingerprint(), super::super::fingerprint_of(&settings).unwrap());
        assert_eq!(model.embed_path("a/b"), None);

        let query = model.embed_query("open a file and read bytes").unwrap();
        let texts = ["read file contents into a buffer", "banana bread recipe", ""];
        let mut rows = Vec::new();
        model.embed_documents(&texts, &mut rows).unwrap();
        let rows: Vec<&[i8]> = rows.chunks(384).collect();
        let (related, unrelated) = (dot(&query, rows[0], model.scale()), dot(&query, rows[1], model.scale()));
        let length = dot(rows[0], rows[0], model.scale()).sqrt();
        println!(
            "related {related:.3}, unrelated {unrelated:.3}, length {length:.4}, {}",
            model.fingerprint()
        );
        assert!(related > unrelated + 0.3);
        assert!((length - 1.0).abs() < 0.02);

        let long = "a much longer text than the others ".repeat(40);
        let mut mixed = Vec::new();
        model.embed_documents(&[&long, texts[0], &long, texts[1], &long], &mut mixed).unwrap();
        assert_eq!(&mixed[384..768], rows[0]);
        assert_eq!(&mixed[3 * 384..4 * 384], rows[1]);

        let alone = super::super::open(&ModelSettings { threads: Some(1), ..settings }).unwrap();
        let mut again = Vec::new();
        alone.embed_documents(&texts[..1], &mut again).unwrap();
        assert_eq!(again, rows[0]);

        let code =
            "fn parse(input: &str) -> Result<Header, Error> { let mut tokens = input.split_whitespace(); }\n"
                .repeat(8);
        let texts = vec![code.as_str(); 24];
        for model in [&alone, &model] {
            let started = std::time::Instant::now();
            model.embed_documents(&texts, &mut Vec::new()).unwrap();
            println!("{:.1} texts/s", texts.len() as f64 / started.elapsed().as_secs_f64());
        }
    }

    /// A process loads the library once, so this test is meaningful only before any other has loaded it.
    #[test]
    fn a_missing_or_wrong_library_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = folder.path().join("libonnxruntime.so");
        std::fs::write(&wrong, b"not a library").unwrap();
        for path in [folder.path().join("absent.so"), wrong] {
            match ort_library::load(Some(&path)) {
                Err(error) => assert!(error.fix().contains("1.24"), "{}", error.fix()),
                Ok(()) => skip("a process in which no other test has loaded ONNX Runtime"),
            }
        }
    }
}
