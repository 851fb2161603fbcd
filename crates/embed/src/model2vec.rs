//! Static models from a folder in the format of model2vec: `model.safetensors` with a row for each token, and
//! the `tokenizer.json` that splits text into tokens. The vector of a text is the mean of the rows of its
//! tokens, normalised to length 1.
//!
//! Tensors: `embeddings` (rows × dimension), and for compressed vocabularies `mapping` (token → row) and
//! `weights` (one per token). Unknown tokens are left out. No text is cut, because the model input is
//! bounded. Sums run in the order of the tokens, so equal input gives equal bytes.

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use tokenizers::Tokenizer;

use super::local::StaticFiles;
use super::quantise::{quantise, scale_for};
use super::{EmbedCost, EmbedError, Embedder};

const MAX_DIM: usize = 1024;
/// Names of the table in files of model2vec and of sentence-transformers.
const TABLE_NAMES: [&str; 2] = ["embeddings", "embedding.weight"];

/// A static model, loaded into memory.
pub(super) struct StaticModel {
    name: String,
    fingerprint: String,
    table: Table,
    /// Components of a vector, at most those of the table.
    dim: usize,
    tokenizer: Tokenizer,
    /// The token for unknown text.
    unknown: Option<u32>,
}

/// Content of `model.safetensors`.
struct Table {
    dim: usize,
    /// `rows × dim`, all finite.
    rows: Vec<f32>,
    /// Row of each token, less than the number of rows. Without it, row `i` belongs to token `i`.
    mapping: Option<Vec<usize>>,
    /// Weight of each token.
    weights: Option<Vec<f32>>,
}

impl StaticModel {
    /// Reads both files.
    pub(super) fn open(files: &StaticFiles) -> Result<Self, EmbedError> {
        let fingerprint = files.fingerprint()?;
        let weights = read_file(&files.weights)?;
        let table = Table::read(&weights).map_err(|message| bad_file(&files.weights, message))?;
        let tokenizer = read_file(&files.tokenizer)?;
        let (tokenizer, unknown) =
            read_tokenizer(&tokenizer).map_err(|message| bad_file(&files.tokenizer, message))?;

        let (known, tokens) = (table.tokens(), tokenizer.get_vocab_size(true));
        if tokens > known {
            let message = format!("it has vectors for {known} tokens, and tokenizer.json has {tokens}");
            return Err(bad_file(&files.weights, message));
        }

        let dim = files.cut.map_or(table.dim, |cut| cut.min(table.dim));
        Ok(Self { name: files.name.clone(), fingerprint, table, dim, tokenizer, unknown })
    }

    /// Appends the row of a text.
    fn row(&self, text: &str, out: &mut Vec<i8>) -> Result<(), EmbedError> {
        let tokens = self.tokenizer.encode_fast(text, false).map_err(|error| EmbedError::Inference {
            name: self.name.clone(),
            message: format!("its tokeniser: {error}"),
        })?;

        let mut sums = [0f32; MAX_DIM];
        let sums = &mut sums[..self.table.dim];
        for &token in tokens.get_ids().iter().filter(|&&token| Some(token) != self.unknown) {
            self.table.add(token as usize, sums);
        }

        let sums = &mut sums[..self.dim];
        let norm = sums.iter().map(|&sum| f64::from(sum) * f64::from(sum)).sum::<f64>().sqrt();
        if norm > 0.0 {
            sums.iter_mut().for_each(|sum| *sum = (f64::from(*sum) / norm) as f32);
        }

        quantise(sums, scale_for(self.dim), out);
        Ok(())
    }
}

impl Table {
    /// Reads a safetensors file and checks that its tensors fit together.
    fn read(bytes: &[u8]) -> Result<Table, String> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|error| format!("not a safetensors file: {error}"))?;

        let table = TABLE_NAMES.iter().find_map(|name| file.tensor(name).ok()).ok_or_else(|| {
            let wanted = TABLE_NAMES[0];
            format!("it has no tensor `{wanted}`, so it is no static model; a transformer needs model.onnx")
        })?;
        let &[n_rows, dim] = table.shape() else {
            return Err(format!("its table has the shape {:?}, not rows × dimension", table.shape()));
        };
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(format!("its vectors have {dim} components; 1 to {MAX_DIM} are possible"));
        }

        let rows = numbers(&table, finite)?;
        let weights = file.tensor("weights").ok();
        let weights = weights.map(|weights| numbers(&weights, finite)).transpose()?;
        let mapping = file.tensor("mapping").ok();
        let mapping = mapping.map(|mapping| numbers(&mapping, |row| row_below(n_rows, row))).transpose()?;

        let table = Table { dim, rows, mapping, weights };
        match &table.weights {
            Some(weights) if weights.len() != table.tokens() => {
                Err(format!("it has {} weights for {} tokens", weights.len(), table.tokens()))
            }
            _ => Ok(table),
        }
    }

    /// Number of tokens with a vector.
    fn tokens(&self) -> usize {
        self.mapping.as_ref().map_or(self.rows.len() / self.dim, Vec::len)
    }

    /// Adds the weighted row of a token, if it has one.
    fn add(&self, token: usize, sums: &mut [f32]) {
        let row = match &self.mapping {
            Some(mapping) => mapping.get(token).copied(),
            None => Some(token),
        };
        let Some(row) = row.and_then(|row| self.rows.chunks_exact(self.dim).nth(row)) else { return };

        let weight = self.weights.as_ref().and_then(|weights| weights.get(token)).copied().unwrap_or(1.0);
        for (sum, component) in sums.iter_mut().zip(row) {
            *sum += weight * component;
        }
    }
}

fn read_file(path: &std::path::Path) -> Result<Vec<u8>, EmbedError> {
    std::fs::read(path).map_err(|error| bad_file(path, error.to_string()))
}

fn bad_file(path: &std::path::Path, message: String) -> EmbedError {
    EmbedError::BadFile { path: path.to_owned(), message }
}

/// Accepts a finite number.
fn finite(number: f64) -> Result<f32, String> {
    let number = number as f32;
    if number.is_finite() { Ok(number) } else { Err("it has a number that is not finite".to_owned()) }
}

/// Accepts the number of a row.
fn row_below(n_rows: usize, row: f64) -> Result<usize, String> {
    if row >= 0.0 && row < n_rows as f64 {
        Ok(row as usize)
    } else {
        Err(format!("its mapping names row {row} of {n_rows}"))
    }
}

/// Reads the numbers of a tensor of any type that such models use, each converted by `make`.
fn numbers<T>(tensor: &TensorView, make: impl Fn(f64) -> Result<T, String>) -> Result<Vec<T>, String> {
    fn each<T, const N: usize>(
        data: &[u8],
        number: impl Fn([u8; N]) -> f64,
        make: impl Fn(f64) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        data.as_chunks().0.iter().map(|bytes| make(number(*bytes))).collect()
    }

    let data = tensor.data();
    match tensor.dtype() {
        Dtype::F64 => each(data, f64::from_le_bytes, make),
        Dtype::F32 => each(data, |bytes| f64::from(f32::from_le_bytes(bytes)), make),
        Dtype::F16 => each(data, |bytes| from_half(u16::from_le_bytes(bytes)), make),
        Dtype::BF16 => each(data, |[low, high]| f64::from(f32::from_le_bytes([0, 0, low, high])), make),
        Dtype::I8 => each(data, |bytes| f64::from(i8::from_le_bytes(bytes)), make),
        Dtype::I32 => each(data, |bytes| f64::from(i32::from_le_bytes(bytes)), make),
        Dtype::U32 => each(data, |bytes| f64::from(u32::from_le_bytes(bytes)), make),
        Dtype::I64 => each(data, |bytes| i64::from_le_bytes(bytes) as f64, make),
        other => Err(format!("it has numbers of the type {other}, which such models do not use")),
    }
}

/// Decodes IEEE 754 half precision: 1 bit of sign, 5 of exponent, 10 of fraction.
fn from_half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));

    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };

    sign * size
}

/// Reads the tokeniser, without truncation and padding, and its token for unknown text.
fn read_tokenizer(bytes: &[u8]) -> Result<(Tokenizer, Option<u32>), String> {
    let json: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| format!("not a tokeniser: {error}"))?;
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| format!("not a tokeniser: {error}"))?;
    tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);

    let model = &json["model"];
    let by_name = model["unk_token"].as_str().and_then(|token| tokenizer.token_to_id(token));
    let by_id = model["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok());
    Ok((tokenizer, by_name.or(by_id)))
}

impl Embedder for StaticModel {
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
        EmbedCost::Table
    }

    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        inputs.iter().try_for_each(|input| self.row(input, out))
    }

    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError> {
        let mut row = Vec::with_capacity(self.dim);

        self.row(query, &mut row)?;
        Ok(row)
    }

    /// Embeds the path as text, with spaces for separators.
    fn embed_path(&self, path: &str) -> Option<Vec<i8>> {
        self.embed_query(&path.replace(['/', '\\', '_', '-', '.'], " ")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeweaver_config::ModelSettings;
    use std::path::Path;

    /// name, type, shape, content
    type Tensor<'a> = (&'a str, &'a str, &'a [usize], Vec<u8>);

    fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
        for (name, kind, shape, content) in tensors {
            let offsets = [data.len(), data.len() + content.len()];
            data.extend(content);
            let entry = serde_json::json!({"dtype": kind, "shape": shape, "data_offsets": offsets});
            header.insert((*name).to_owned(), entry);
        }
        let header = serde_json::Value::Object(header).to_string();
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    const TOKENS: [&str; 6] = ["[UNK]", "read", "file", "##s", "config", "src"];

    /// As `tokenizers` writes it for a small BERT.
    fn tokenizer() -> String {
        let vocab: serde_json::Map<_, _> =
            TOKENS.iter().enumerate().map(|(id, token)| ((*token).to_owned(), id.into())).collect();
        serde_json::json!({
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
            "padding": null, "added_tokens": [], "post_processor": null, "decoder": null,
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": vocab}
        })
        .to_string()
    }

    fn folder(weights: &[u8], tokenizer: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model.safetensors"), weights).unwrap();
        std::fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
        folder
    }

    fn open(folder: &Path) -> Result<std::sync::Arc<dyn Embedder>, EmbedError> {
        super::super::open(&ModelSettings { path: Some(folder.to_owned()), ..ModelSettings::default() })
    }

    /// The row of token `t` is 8 in component `t`, so each token, including the unknown one, is visible in a
    /// vector.
    fn axes() -> Vec<f32> {
        let mut rows = vec![0f32; 6 * 8];
        (0..6).for_each(|token| rows[token * 8 + token] = 8.0);
        rows
    }

    fn plain() -> Vec<u8> {
        safetensors(&[("embeddings", "F32", &[6, 8], floats(&axes()))])
    }

    #[test]
    fn a_vector_is_the_mean_of_rows_without_unknown_tokens() {
        let folder = folder(&plain(), &tokenizer());
        let model = open(folder.path()).unwrap();
        assert_eq!((model.dim(), model.cost()), (8, EmbedCost::Table));
        let unit = |parts: &[(usize, f32)]| {
            let mut unit = vec![0f32; 8];
            let norm = parts.iter().map(|(_, size)| size * size).sum::<f32>().sqrt();
            parts.iter().for_each(|(at, size)| unit[*at] = size / norm);
            let mut row = Vec::new();
            quantise(&unit, scale_for(8), &mut row);
            row
        };
        // More than the four tokens that the tokeniser would keep.
        let query = model.embed_query("Read files, read FILES and unknownword").unwrap();
        assert_eq!(query, unit(&[(1, 2.0), (2, 2.0), (3, 2.0)]));
        assert_eq!(model.embed_path("src/read-config.rs"), Some(unit(&[(5, 1.0), (1, 1.0), (4, 1.0)])));
        assert_eq!(model.embed_query("").unwrap(), [0; 8]);
        assert_eq!(model.embed_query("nothing known").unwrap(), [0; 8]);

        let mut rows = vec![5i8];
        model.embed_documents(&["config", "", "read file"], &mut rows).unwrap();
        let expected = [vec![5], unit(&[(4, 1.0)]), vec![0; 8], unit(&[(1, 1.0), (2, 1.0)])].concat();
        assert_eq!(rows, expected);
    }

    #[test]
    fn vectors_are_cut_where_the_model_allows_it() {
        let folder = folder(&plain(), &tokenizer());
        let open = |name: &str, dimension| {
            let path = Some(folder.path().to_owned());
            super::super::open(&ModelSettings {
                name: name.to_owned(),
                path,
                dimension,
                ..ModelSettings::default()
            })
        };
        let (whole, cut) = (open("potion-tiny", None).unwrap(), open("potion-tiny", Some(3)).unwrap());
        assert_eq!((whole.dim(), cut.dim()), (8, 3));
        assert_ne!(whole.fingerprint(), cut.fingerprint());
        // The token `config` has its only component behind the cut.
        let mut row = Vec::new();
        quantise(&[0.0, 1.0, 0.0], scale_for(3), &mut row);
        assert_eq!(cut.embed_query("read config").unwrap(), row);
        assert!(open("potion-tiny", Some(9)).is_err() && open("other", Some(3)).is_err());
    }

    #[test]
    fn compressed_vocabularies_and_other_types_of_numbers_are_read() {
        let half = |number: f32| -> u16 { if number == 0.0 { 0 } else { 0x4800 } }; // 8 in half precision
        let halves: Vec<u8> = axes().iter().flat_map(|number| half(*number).to_le_bytes()).collect();
        let brain: Vec<u8> = axes().iter().flat_map(|number| number.to_le_bytes()[2..].to_owned()).collect();
        let bytes: Vec<u8> = axes().iter().map(|number| *number as u8).collect();
        let doubles: Vec<u8> = axes().iter().flat_map(|number| f64::from(*number).to_le_bytes()).collect();
        let of = |tokeniser_text: &str, weights: &[u8]| {
            let folder = folder(weights, &tokenizer());
            open(folder.path()).unwrap().embed_query(tokeniser_text).unwrap()
        };
        let expected = of("config read", &plain());
        for (kind, content) in [("F16", halves), ("BF16", brain), ("I8", bytes), ("F64", doubles)] {
            let weights = safetensors(&[("embeddings", kind, &[6, 8], content)]);
            assert_eq!(of("config read", &weights), expected, "{kind}");
        }
        // Three rows for six tokens: `config` has the row of `file`, and `read` three times its weight.
        let mapping: Vec<u8> = [0i64, 1, 2, 0, 2, 1].iter().flat_map(|row| row.to_le_bytes()).collect();
        let compressed = safetensors(&[
            ("embeddings", "F32", &[3, 8], floats(&axes()[..24])),
            ("mapping", "I64", &[6], mapping),
            ("weights", "F32", &[6], floats(&[1.0, 3.0, 1.0, 1.0, 1.0, 1.0])),
        ]);
        assert_eq!(of("config", &compressed), of("file", &plain()));
        assert_eq!(of("read file", &compressed), of("read read read file", &plain()));
    }

    #[test]
    fn half_precision_numbers_follow_ieee_754() {
        for (bits, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_953_125),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(from_half(bits), number, "{bits:04x}");
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn files_that_do_not_fit_are_named_with_the_reason() {
        let table =
            |shape: &[usize], numbers: &[f32]| safetensors(&[("embeddings", "F32", shape, floats(numbers))]);
        let with = |name: &str, kind: &str, shape: &[usize], content: Vec<u8>| {
            safetensors(&[("embeddings", "F32", &[6, 8], floats(&axes())), (name, kind, shape, content)])
        };
        let mapping = |rows: [i32; 6]| rows.iter().flat_map(|row| row.to_le_bytes()).collect::<Vec<u8>>();
        let mut nan = axes();
        nan[3] = f32::NAN;
        for (weights, why) in [
            (b"not a safetensors file".to_vec(), "not a safetensors file"),
            (u64::MAX.to_le_bytes().to_vec(), "not a safetensors file"),
            (plain()[..100].to_vec(), "not a safetensors file"),
            (safetensors(&[("layer.0", "F32", &[1], floats(&[1.0]))]), "a transformer needs model.onnx"),
            (table(&[48], &axes()), "rows × dimension"),
            (table(&[0, 8], &[]), "vectors for 0 tokens, and tokenizer.json has 6"),
            (table(&[6, 2000], &[0.0; 12_000]), "2000 components"),
            (table(&[6, 8], &nan), "not finite"),
            (table(&[3, 8], &axes()[..24]), "vectors for 3 tokens, and tokenizer.json has 6"),
            (with("mapping", "I32", &[6], mapping([0, 1, 2, 3, 4, 6])), "names row 6 of 6"),
            (with("mapping", "I32", &[6], mapping([0, 1, -2, 3, 4, 5])), "names row -2 of 6"),
            (with("weights", "F32", &[5], floats(&[1.0; 5])), "5 weights for 6 tokens"),
            (with("weights", "BOOL", &[6], vec![1; 6]), "BOOL"),
        ] {
            let folder = folder(&weights, &tokenizer());
            let error = open(folder.path()).err().unwrap();
            assert!(error.what().contains("model.safetensors"), "{}", error.what());
            assert!(error.why().contains(why), "{why}: {}", error.why());
            assert!(error.fix().contains("model.safetensors"), "{}", error.fix());
        }
        let folder = folder(&plain(), "{\"model\": {}}");
        let error = open(folder.path()).err().unwrap();
        assert!(
            error.what().contains("tokenizer.json") && error.why().contains("not a tokeniser"),
            "{error}"
        );
    }

    #[test]
    fn the_vector_space_follows_the_content_of_the_files() {
        let first = folder(&plain(), &tokenizer());
        let settings = ModelSettings { path: Some(first.path().to_owned()), ..ModelSettings::default() };
        let model = open(first.path()).unwrap();
        assert_eq!(model.fingerprint(), super::super::fingerprint_of(&settings).unwrap());
        let mut rows = axes();
        rows[0] = 1.0;
        let second = folder(&safetensors(&[("embeddings", "F32", &[6, 8], floats(&rows))]), &tokenizer());
        let hash = |fingerprint: &str| fingerprint.rsplit('-').next().unwrap().to_owned();
        assert_ne!(hash(open(second.path()).unwrap().fingerprint()), hash(model.fingerprint()));
    }
}
