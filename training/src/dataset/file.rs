//! File format of a [`Dataset`]: magic, length and JSON of the names, then the arrays, little-endian.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bytemuck::Pod;

use super::{Dataset, Repository};

const MAGIC: &[u8; 8] = b"cw-set01";

#[derive(serde::Serialize, serde::Deserialize)]
struct Header {
    vocabulary: Vec<String>,
    languages: Vec<String>,
    repositories: Vec<Repository>,
    n_pairs: usize,
    n_entries: usize,
}

impl Dataset {
    pub fn write(&self, path: &Path) -> Result<()> {
        let header = Header {
            vocabulary: self.vocabulary.clone(),
            languages: self.languages.clone(),
            repositories: self.repositories.clone(),
            n_pairs: self.len(),
            n_entries: self.ids.len(),
        };
        let header = serde_json::to_vec(&header)?;
        let mut out =
            BufWriter::new(File::create(path).with_context(|| format!("creating {}", path.display()))?);
        out.write_all(MAGIC)?;
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        out.write_all(&self.kinds)?;
        out.write_all(&self.language)?;
        out.write_all(bytemuck::cast_slice(&self.starts))?;
        out.write_all(bytemuck::cast_slice(&self.text_lengths))?;
        out.write_all(bytemuck::cast_slice(&self.code_lengths))?;
        out.write_all(bytemuck::cast_slice(&self.ids))?;
        out.write_all(&self.counts)?;
        out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        Ok(())
    }

    pub fn read(path: &Path) -> Result<Dataset> {
        let mut file =
            BufReader::new(File::open(path).with_context(|| format!("opening {}", path.display()))?);
        Dataset::from_reader(&mut file).with_context(|| format!("reading {}", path.display()))
    }

    fn from_reader(file: &mut impl Read) -> Result<Dataset> {
        let mut start = [0; 16];
        file.read_exact(&mut start)?;
        ensure!(start[..8] == *MAGIC, "not a dataset: its first bytes are others");
        let length = start[8..].iter().rev().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
        let header: Header = serde_json::from_slice(&array::<u8>(file, length as usize)?)?;
        let (n, entries) = (header.n_pairs, header.n_entries);
        let data = Dataset {
            vocabulary: header.vocabulary,
            languages: header.languages,
            repositories: header.repositories,
            kinds: array(file, n)?,
            language: array(file, n)?,
            starts: array(file, n + 1)?,
            text_lengths: array(file, n)?,
            code_lengths: array(file, n)?,
            ids: array(file, entries)?,
            counts: array(file, entries)?,
        };
        let valid = data.starts.is_sorted()
            && data.starts.last().is_some_and(|&end| end as usize == entries)
            && data.kinds.iter().all(|&kind| usize::from(kind) < crate::pair::PairKind::ALL.len())
            && data.language.iter().all(|&language| usize::from(language) < data.languages.len())
            && data.ids.iter().all(|&id| usize::from(id) < data.vocabulary.len())
            && data.repositories.iter().all(|repository| repository.pairs.end <= n);
        ensure!(valid, "damaged: its numbers do not fit each other");
        Ok(data)
    }
}

/// Reads `n` values in native byte order: only little-endian machines are supported.
fn array<T: Pod>(file: &mut impl Read, n: usize) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); n];
    file.read_exact(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}
