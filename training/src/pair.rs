//! Training pairs: a text and the code that it describes.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Origin of a pair. Stored as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum PairKind {
    /// First sentences of a documentation comment → the definition without the comment.
    Doc = 0,
    /// Words of a definition's name → its body without the name.
    Name = 1,
    /// Subject of a commit → new text of a changed hunk.
    Commit = 2,
    /// A comment inside a body → the statements after it.
    Inline = 3,
    /// Title of a test → its body.
    Test = 4,
    /// Comment at the head of a file → the beginning of the file after it.
    FileHeader = 5,
    /// Words of a path → the beginning of the file.
    Path = 6,
    /// Paragraph or heading of Markdown → the fenced code after it.
    Markdown = 7,
    /// First sentence of documentation → the chunk as it is indexed, with names and inner comments, without
    /// the sentence.
    Chunk = 8,
    /// Subject of a commit → a chunk of the new file that the commit changed, as it is indexed.
    CommitChunk = 9,
}

impl PairKind {
    pub const ALL: [PairKind; 10] = [
        PairKind::Doc,
        PairKind::Name,
        PairKind::Commit,
        PairKind::Inline,
        PairKind::Test,
        PairKind::FileHeader,
        PairKind::Path,
        PairKind::Markdown,
        PairKind::Chunk,
        PairKind::CommitChunk,
    ];

    pub fn name(self) -> &'static str {
        match self {
            PairKind::Doc => "doc",
            PairKind::Name => "name",
            PairKind::Commit => "commit",
            PairKind::Inline => "inline",
            PairKind::Test => "test",
            PairKind::FileHeader => "file_header",
            PairKind::Path => "path",
            PairKind::Markdown => "markdown",
            PairKind::Chunk => "chunk",
            PairKind::CommitChunk => "commit_chunk",
        }
    }
}

/// A text and its code. The repository is given by the file that contains the pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub kind: PairKind,
    /// Language of the code, as the product names it (`rust`, `cpp`).
    pub language: String,
    pub text: String,
    pub code: String,
    /// Path of the file in the repository; empty if the text is derived from it.
    pub path: String,
}

/// Writes the pairs of one repository: zstd over records of `kind u8` and four strings, each with its length
/// as little-endian u32.
pub struct PairWriter(zstd::Encoder<'static, BufWriter<File>>);

impl PairWriter {
    pub fn create(path: &Path) -> io::Result<PairWriter> {
        Ok(PairWriter(zstd::Encoder::new(BufWriter::new(File::create(path)?), 3)?))
    }

    pub fn write(&mut self, pair: &Pair) -> io::Result<()> {
        self.0.write_all(&[pair.kind as u8])?;
        for text in [&pair.language, &pair.text, &pair.code, &pair.path] {
            self.0.write_all(&(text.len() as u32).to_le_bytes())?;
            self.0.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Finishes and syncs the file. A file that was not finished cannot be read.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()?.into_inner()?.sync_all()
    }
}

/// Reads a file written by [`PairWriter`].
pub struct PairReader(zstd::Decoder<'static, BufReader<File>>);

impl PairReader {
    pub fn open(path: &Path) -> io::Result<PairReader> {
        Ok(PairReader(zstd::Decoder::new(File::open(path)?)?))
    }

    fn next(&mut self) -> io::Result<Option<Pair>> {
        let mut kind = [0];
        if self.0.read(&mut kind)? == 0 {
            return Ok(None);
        }

        let kind = *PairKind::ALL.get(usize::from(kind[0])).ok_or_else(|| invalid("unknown pair kind"))?;
        let (language, text) = (self.string()?, self.string()?);
        let (code, path) = (self.string()?, self.string()?);
        Ok(Some(Pair { kind, language, text, code, path }))
    }

    fn string(&mut self) -> io::Result<String> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| invalid("text is not UTF-8"))
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.to_owned())
}

impl Iterator for PairReader {
    type Item = io::Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        PairReader::next(self).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs");
        let pairs: Vec<Pair> = PairKind::ALL
            .into_iter()
            .map(|kind| Pair {
                kind,
                language: "rust".into(),
                text: format!("Überschrift {}", kind.name()),
                code: "fn main() {}\n".repeat(kind as usize),
                path: String::new(),
            })
            .collect();
        let mut writer = PairWriter::create(&path).unwrap();
        pairs.iter().for_each(|pair| writer.write(pair).unwrap());
        writer.finish().unwrap();
        let read: io::Result<Vec<Pair>> = PairReader::open(&path).unwrap().collect();
        assert_eq!(read.unwrap(), pairs);
        assert!(PairKind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs");
        let mut writer = PairWriter::create(&path).unwrap();
        let pair = Pair {
            kind: PairKind::Doc,
            language: "c".into(),
            text: "t".into(),
            code: "c".repeat(1 << 20),
            path: "p".into(),
        };
        writer.write(&pair).unwrap();
        writer.finish().unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        assert!(PairReader::open(&path).unwrap().any(|pair| pair.is_err()));
    }
}
