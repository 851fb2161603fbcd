//! Reranking: a cross-encoder reads the query together with a text, and scores the text as an answer to it.
//!
//! A score does not depend on the other texts: each is run by itself, with one thread, for the reasons of
//! [`super::onnx`], and several sessions use the cores. So a score can be reused for a later query with the
//! same words.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use fastembed::{
    OnnxSource, RerankInitOptionsUserDefined, TextRerank, TokenizerFiles, UserDefinedRerankingModel,
};
use rustc_hash::FxHashMap;

use codeweaver_base::sync;
use codeweaver_config::ModelSettings;

use super::known::KNOWN_RERANKERS;
use super::local::{ModelDirs, TransformerFiles};
use super::pool::Pool;
use super::{EmbedError, names, ort_library};

/// Maximum length of query and text together; the rest of the text is cut off.
const MAX_TOKENS: usize = 512;
/// Maximum number of scores in memory.
const MAX_KEPT: usize = 50_000;

/// A cross-encoder with the scores that it has given.
pub struct Reranker {
    name: String,
    sessions: Pool<TextRerank>,
    known: Mutex<FxHashMap<[u8; 16], f32>>,
}

/// Key of the score of a text.
fn key(query: &str, text: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(query.len() as u64).to_le_bytes()).update(query.as_bytes()).update(text.as_bytes());

    let mut short = [0; 16];
    hasher.finalize_xof().fill(&mut short);
    short
}

impl Reranker {
    /// Opens the cross-encoder `name` in the cache of models.
    ///
    /// # Errors
    /// As [`super::open`]; nothing is downloaded.
    pub fn open(name: &str, settings: &ModelSettings) -> Result<Reranker, EmbedError> {
        let short = names::folder_name(name);
        let cache = ModelDirs::from_environment().model_cache.unwrap_or_default();

        let folder = cache.join(&short);
        let is_known = KNOWN_RERANKERS.iter().any(|known| known.name == short);
        if !names::is_plain_name(&short) || !is_known && !name.contains('/') && !folder.is_dir() {
            return Err(names::unknown_among(short, KNOWN_RERANKERS.iter().map(|known| known.name)));
        }

        let files = TransformerFiles::in_folder(short.clone(), &folder, None, false)?;
        ort_library::load(settings.ort_library.as_deref())?;

        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let sessions = Pool::new(settings.threads.unwrap_or(cores), move || session(&files))?;
        Ok(Reranker { name: short, sessions, known: Mutex::default() })
    }

    /// Name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scores of `texts`, more is better; `None` if they are not all known by `deadline`. Scores
    /// that were computed until then are reused by a later call.
    pub fn scores(
        &self,
        query: &str,
        texts: &[String],
        deadline: Instant,
    ) -> Result<Option<Vec<f32>>, EmbedError> {
        let keys: Vec<[u8; 16]> = texts.iter().map(|text| key(query, text)).collect();
        let missing: Vec<usize> = {
            let known = sync::lock(&self.known);
            (0..texts.len()).filter(|i| !known.contains_key(&keys[*i])).collect()
        };

        let next = AtomicUsize::new(0);
        let n_workers = self.sessions.max().min(missing.len()).max(1);
        let done: Vec<Result<(), EmbedError>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..n_workers)
                .map(|_| scope.spawn(|| self.score_missing(query, texts, &keys, &missing, &next, deadline)))
                .collect();
            let joined = workers.into_iter().map(|worker| {
                worker.join().unwrap_or_else(|_| Err(self.failed("a worker panicked".to_owned())))
            });
            joined.collect()
        });
        done.into_iter().collect::<Result<(), _>>()?;

        let known = sync::lock(&self.known);
        Ok(keys.iter().map(|key| known.get(key).copied()).collect())
    }

    /// Scores the missing texts from `next` on, in one session, until the deadline.
    fn score_missing(
        &self,
        query: &str,
        texts: &[String],
        keys: &[[u8; 16]],
        missing: &[usize],
        next: &AtomicUsize,
        deadline: Instant,
    ) -> Result<(), EmbedError> {
        // A session may be in use by another query.
        if missing.is_empty() {
            return Ok(());
        }

        let mut session = self.sessions.take()?;
        while let Some(&i) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
            if Instant::now() >= deadline {
                return Ok(());
            }
            let score = self.score(session.get(), query, &texts[i])?;
            let mut known = sync::lock(&self.known);
            if known.len() >= MAX_KEPT {
                known.clear();
            }
            known.insert(keys[i], score);
        }
        Ok(())
    }

    /// Runs the model on one text.
    fn score(&self, session: &mut TextRerank, query: &str, text: &str) -> Result<f32, EmbedError> {
        let ranked = session.rerank(query, [text], false, Some(1));
        let score = ranked.map_err(|error| self.failed(error.to_string()))?.first().map(|found| found.score);
        score.filter(|score| score.is_finite()).ok_or_else(|| self.failed("no score came back".to_owned()))
    }

    fn failed(&self, message: String) -> EmbedError {
        EmbedError::Inference { name: self.name.clone(), message }
    }
}

/// Creates a session of a cross-encoder.
fn session(files: &TransformerFiles) -> Result<TextRerank, EmbedError> {
    let [tokenizer, config, special_tokens, tokenizer_config] = &files.tokenizer;
    let tokenizer_files = TokenizerFiles {
        tokenizer_file: read(tokenizer)?,
        config_file: read(config)?,
        special_tokens_map_file: read(special_tokens)?,
        tokenizer_config_file: read(tokenizer_config)?,
    };

    // The model is passed by its path, so that weights in a file of their own are found.
    let model = UserDefinedRerankingModel::new(OnnxSource::File(files.onnx_file.clone()), tokenizer_files);

    let mut options = RerankInitOptionsUserDefined::default();
    (options.max_length, options.intra_threads) = (MAX_TOKENS, Some(1));

    TextRerank::try_new_from_user_defined(model, options)
        .map_err(|error| EmbedError::BadFile { path: files.onnx_file.clone(), message: error.to_string() })
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, EmbedError> {
    std::fs::read(path)
        .map_err(|error| EmbedError::BadFile { path: path.to_owned(), message: error.to_string() })
}
