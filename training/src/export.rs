//! `export`: writes rows as the model file that is compiled into the product.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use codeweaver_embed::encode_table;

use crate::dataset::Dataset;
use crate::train::rows::{self, Rows};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rows or a checkpoint of `train`.
    #[arg(long)]
    checkpoint: PathBuf,
    /// One entry a line, as `vocabulary` writes it.
    #[arg(long, required_unless_present = "dataset")]
    vocabulary: Option<PathBuf>,
    /// The training dataset, instead of its vocabulary.
    #[arg(long)]
    dataset: Option<PathBuf>,
    /// Number of components to keep, the first ones.
    #[arg(long, default_value_t = 256)]
    dims: usize,
    #[arg(long)]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<()> {
    let entries = match (&args.vocabulary, &args.dataset) {
        (Some(path), _) => crate::vocabulary::read(path)?,
        (None, Some(path)) => Dataset::read(path)?.vocabulary,
        (None, None) => anyhow::bail!("give --vocabulary or --dataset"),
    };
    let bytes = table(&entries, &rows::read(&args.checkpoint)?, args.dims)?;
    std::fs::write(&args.out, &bytes).with_context(|| format!("writing {}", args.out.display()))?;
    println!("{} bytes, {} rows of {} in {}", bytes.len(), entries.len(), args.dims, args.out.display());
    Ok(())
}

/// Encodes the first `dim` components of the rows in the product's file format.
pub fn table(entries: &[String], rows: &Rows, dim: usize) -> Result<Vec<u8>> {
    ensure!(
        rows.n() == entries.len() && dim <= rows.dim,
        "{} rows of {} do not fit {} entries and {dim} dimensions",
        rows.n(),
        rows.dim,
        entries.len()
    );
    let cut: Vec<f32> = rows.data.chunks_exact(rows.dim).flat_map(|row| row[..dim].iter().copied()).collect();
    Ok(encode_table(entries, &cut, dim)?)
}

#[cfg(test)]
mod tests {
    use codeweaver_embed::{Embedder, TableModel, verify_table};

    use super::*;

    #[test]
    fn an_exported_model_ranks_as_its_rows_do() {
        let entries: Vec<String> = ["pars", "header", "file"].map(str::to_owned).to_vec();
        let mut rows = Rows::zero(3, 32);
        (rows.data[0], rows.data[33], rows.data[66]) = (1.0, 2.0, 0.5);
        let bytes = table(&entries, &rows, 16).unwrap();
        verify_table(&bytes).unwrap();
        let model = TableModel::new("test", &bytes).unwrap();
        let vector = model.embed_query("parse the header").unwrap();
        assert_eq!(vector.len(), 16);
        assert!(vector[1] >= vector[0] && vector[0] > 0 && vector[2] == 0, "{vector:?}");
        assert!(table(&entries[..2], &rows, 16).is_err());
    }
}
