//! The matrix being trained, and its file format, which is shared by initial rows, checkpoints and results.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::dataset::Bag;

const MAGIC: &[u8; 8] = b"cw-row01";

/// A matrix with one row of `dim` numbers for every id.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub dim: usize,
    pub data: Vec<f32>,
}

impl Rows {
    pub fn zero(n: usize, dim: usize) -> Rows {
        Rows { dim, data: vec![0.0; n * dim] }
    }

    pub fn n(&self) -> usize {
        self.data.len() / self.dim
    }

    pub fn row(&self, id: usize) -> &[f32] {
        &self.data[id * self.dim..][..self.dim]
    }

    /// Adds `weight · row` to `out`.
    #[inline]
    pub fn add(&self, id: u16, weight: f32, out: &mut [f32]) {
        for (out, row) in out.iter_mut().zip(self.row(usize::from(id))) {
            *out += weight * row;
        }
    }

    /// Writes Σ sqrt(count) · row of a bag, normalised to length 1; zero for an empty bag.
    pub fn unit(&self, bag: Bag, out: &mut [f32]) {
        out.fill(0.0);
        for (&id, &count) in bag.ids.iter().zip(bag.counts) {
            self.add(id, f32::from(count).sqrt(), out);
        }
        let norm = length(out);
        if norm > 0.0 {
            out.iter_mut().for_each(|x| *x /= norm);
        }
    }
}

pub fn length(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

/// Dot product, summed in eight lanes in a fixed order.
#[inline]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + rest
}

/// State of a run besides its rows, from which it resumes bit for bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Number of completed steps.
    pub step: u64,
    /// Adam's means of gradients and of their squares.
    pub moments: [Vec<f32>; 2],
    /// State of the random number generator.
    pub seed: u64,
    /// Remaining pairs of this epoch, for every repository that is trained on.
    pub queues: Vec<Vec<u32>>,
    /// Whether the queues are ordered by similarity.
    pub clustered: bool,
}

/// Writes rows and, for a checkpoint, progress: to a temporary file beside `path`, which is then renamed.
pub fn write(path: &Path, rows: &Rows, progress: Option<&Progress>) -> Result<()> {
    let temporary = path.with_extension("part");
    let file = File::create(&temporary).with_context(|| format!("creating {}", temporary.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    out.write_all(MAGIC)?;
    let number = |out: &mut BufWriter<File>, n: u64| out.write_all(&n.to_le_bytes());
    number(&mut out, rows.n() as u64)?;
    number(&mut out, rows.dim as u64)?;
    out.write_all(bytemuck::cast_slice(&rows.data))?;
    if let Some(progress) = progress {
        number(&mut out, progress.step)?;
        number(&mut out, progress.seed)?;
        number(&mut out, u64::from(progress.clustered))?;
        for moments in &progress.moments {
            out.write_all(bytemuck::cast_slice(moments))?;
        }
        number(&mut out, progress.queues.len() as u64)?;
        for queue in &progress.queues {
            number(&mut out, queue.len() as u64)?;
            out.write_all(bytemuck::cast_slice(queue))?;
        }
    }
    out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    std::fs::rename(&temporary, path).with_context(|| format!("writing {}", path.display()))?;
    Ok(())
}

/// Reads the rows of a file written by [`write`].
pub fn read(path: &Path) -> Result<Rows> {
    open(path)
        .and_then(|mut file| read_rows(&mut file))
        .with_context(|| format!("reading {}", path.display()))
}

/// Reads rows and progress of a checkpoint.
pub fn read_checkpoint(path: &Path) -> Result<(Rows, Progress)> {
    open(path)
        .and_then(|mut file| read_rows_and_progress(&mut file))
        .with_context(|| format!("reading {}", path.display()))
}

/// Reads the fields of a checkpoint in the order in which [`write`] writes them.
fn read_rows_and_progress(file: &mut impl Read) -> Result<(Rows, Progress)> {
    let rows = read_rows(file)?;
    let step = number(file)?;
    let seed = number(file)?;
    let clustered = number(file)? != 0;
    let moments = [floats(file, rows.data.len())?, floats(file, rows.data.len())?];

    let mut queues = Vec::new();
    for _ in 0..number(file)? {
        let mut queue = vec![0u32; number(file)? as usize];
        file.read_exact(bytemuck::cast_slice_mut(&mut queue))?;
        queues.push(queue);
    }

    Ok((rows, Progress { step, moments, seed, queues, clustered }))
}

fn open(path: &Path) -> Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 20, File::open(path)?))
}

fn read_rows(file: &mut impl Read) -> Result<Rows> {
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    ensure!(magic == *MAGIC, "not a matrix file: wrong magic number");
    let (n, dim) = (number(file)? as usize, number(file)? as usize);
    ensure!(n <= 1 << 16 && (1..=4096).contains(&dim), "invalid matrix size {n} × {dim}");
    Ok(Rows { dim, data: floats(file, n * dim)? })
}

fn number(file: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn floats(file: &mut impl Read, n: usize) -> Result<Vec<f32>> {
    let mut values = vec![0.0f32; n];
    file.read_exact(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}
