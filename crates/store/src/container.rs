//! The file format of all derived files: named sections behind a checked table.
//!
//! ```text
//! offset  bytes  field (all integers little-endian)
//! 0       8      magic
//! 8       4      format version
//! 12      4      number of sections n
//! 16      24·n   per section: id u32, zero u32, offset u64, length u64
//! …              sections, each at a multiple of 8
//! end−32  32     BLAKE3 of everything before it
//! ```
//!
//! Opening checks magic, version and bounds; only [`Container::verify`] reads the whole file. The format is
//! our own because sections are searched in place through a memory map, which serialisation crates do not
//! offer.

use std::path::{Path, PathBuf};

use codeweaver_base::regular_file;
use codeweaver_base::sys::Mapped;

use super::error::StoreError;

const HEADER_LEN: usize = 16;
const ENTRY_LEN: usize = 24;
const CHECKSUM_LEN: usize = 32;
/// Number above all section ids.
const MAX_SECTIONS: usize = 64;

/// Collects sections and encodes them as a file.
pub struct ContainerWriter {
    magic: [u8; 8],
    version: u32,
    sections: Vec<(u32, Vec<u8>)>,
}

impl ContainerWriter {
    pub fn new(magic: [u8; 8], version: u32) -> ContainerWriter {
        ContainerWriter { magic, version, sections: Vec::new() }
    }

    /// Adds a section. Ids are unique within a file and below 64.
    pub fn section(&mut self, id: u32, bytes: Vec<u8>) {
        self.sections.push((id, bytes));
    }

    /// Encodes the whole file, checksum included.
    pub fn finish(self) -> Vec<u8> {
        let table_len = HEADER_LEN + ENTRY_LEN * self.sections.len();
        let body_len: usize = self.sections.iter().map(|(_, b)| b.len().next_multiple_of(8)).sum();
        let mut out = Vec::with_capacity(table_len + body_len + CHECKSUM_LEN);

        out.extend_from_slice(&self.magic);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&(self.sections.len() as u32).to_le_bytes());

        let mut offset = table_len;
        for (id, bytes) in &self.sections {
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&0u32.to_le_bytes());
            out.extend_from_slice(&(offset as u64).to_le_bytes());
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            offset += bytes.len().next_multiple_of(8);
        }

        for (_, bytes) in self.sections {
            out.extend_from_slice(&bytes);
            // Aligned, so that the next section can be read in place as records.
            out.resize(out.len().next_multiple_of(8), 0);
        }

        let checksum = blake3::hash(&out);
        out.extend_from_slice(checksum.as_bytes());
        out
    }
}

/// An opened container.
pub struct Container {
    map: Mapped,
    path: PathBuf,
    /// Byte range of each section, by id.
    sections: Vec<Option<std::ops::Range<usize>>>,
}

impl Container {
    /// Maps `path` and checks its table.
    pub fn open(path: &Path, magic: [u8; 8], version: u32) -> Result<Container, StoreError> {
        let map = regular_file::open(path)
            .and_then(|file| Mapped::from_file(&file))
            .map_err(StoreError::io("open", path))?;
        Container::new(map, magic, version, path)
    }

    /// As [`Self::open`], for a file that is only in memory.
    pub fn in_memory(bytes: &[u8], magic: [u8; 8], version: u32) -> Result<Container, StoreError> {
        Container::new(Mapped::owned(bytes), magic, version, Path::new("(in memory)"))
    }

    fn new(map: Mapped, magic: [u8; 8], version: u32, path: &Path) -> Result<Container, StoreError> {
        let sections = parse_table(&map, magic, version, path)?;
        Ok(Container { map, path: path.to_path_buf(), sections })
    }

    /// The bytes of section `id`. A missing section is damage, since every version writes all of its
    /// sections.
    pub fn section(&self, id: u32) -> Result<&[u8], StoreError> {
        Ok(&self.map[self.range(id)?])
    }

    /// The range of section `id` in [`Self::bytes`].
    pub fn range(&self, id: u32) -> Result<std::ops::Range<usize>, StoreError> {
        let found = self.sections.get(id as usize).and_then(Option::clone);
        found.ok_or_else(|| StoreError::damaged(&self.path, format!("section {id} is missing")))
    }

    /// Section `id` as fixed-size records.
    pub fn records<T: bytemuck::Pod>(&self, id: u32) -> Result<&[T], StoreError> {
        bytemuck::try_cast_slice(self.section(id)?)
            .map_err(|_| StoreError::damaged(&self.path, format!("section {id} does not hold whole records")))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The map of the file.
    pub fn map(&self) -> &Mapped {
        &self.map
    }

    /// Hashes the whole file and compares the checksum.
    pub fn verify(&self) -> Result<(), StoreError> {
        let (body, checksum) = self.map.split_at(self.map.len() - CHECKSUM_LEN);
        if blake3::hash(body).as_bytes() != checksum {
            return Err(StoreError::damaged(&self.path, "its checksum does not match its content"));
        }
        Ok(())
    }
}

/// Reads the section table, and checks that all sections are inside the file.
fn parse_table(
    map: &[u8],
    magic: [u8; 8],
    version: u32,
    path: &Path,
) -> Result<Vec<Option<std::ops::Range<usize>>>, StoreError> {
    let damaged = |what: &str| StoreError::damaged(path, what);

    if map.len() < HEADER_LEN + CHECKSUM_LEN || map[..8] != magic {
        return Err(damaged("it does not begin as such a file must"));
    }

    let found = read_u32(map, 8);
    if found != version {
        return Err(StoreError::Version { path: path.to_path_buf(), found, expected: version });
    }

    let body_end = map.len() - CHECKSUM_LEN;
    let n_sections = read_u32(map, 12) as usize;
    if n_sections > MAX_SECTIONS || HEADER_LEN + n_sections * ENTRY_LEN > body_end {
        return Err(damaged("its section table is too long"));
    }

    let mut sections = vec![None; MAX_SECTIONS];
    for i in 0..n_sections {
        let at = HEADER_LEN + i * ENTRY_LEN;
        let offset =
            usize::try_from(read_u64(map, at + 8)).map_err(|_| damaged("a section is outside the file"))?;
        let len =
            usize::try_from(read_u64(map, at + 16)).map_err(|_| damaged("a section is outside the file"))?;
        let end = offset.checked_add(len).filter(|&end| end <= body_end && offset % 8 == 0);
        let end = end.ok_or_else(|| damaged("a section is outside the file, which is truncated"))?;
        let slot = sections.get_mut(read_u32(map, at) as usize);
        *slot.ok_or_else(|| damaged("a section has an unknown number"))? = Some(offset..end);
    }

    Ok(sections)
}

/// Little-endian integer at `at`; the caller has checked the bounds.
pub fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Little-endian integer at `at`; the caller has checked the bounds.
pub fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Sections = BTreeMap<u32, Vec<u8>>;

    fn sections() -> impl Strategy<Value = Sections> {
        btree_map(0..MAX_SECTIONS as u32, vec(any::<u8>(), 0..300), 0..12)
    }

    fn write(sections: &Sections) -> Vec<u8> {
        let mut writer = ContainerWriter::new(*b"CWTEST\0\0", 3);
        for (&id, bytes) in sections {
            writer.section(id, bytes.clone());
        }
        writer.finish()
    }

    fn sample() -> Vec<u8> {
        let mut writer = ContainerWriter::new(*b"CWTEST\0\0", 3);
        writer.section(1, vec![1, 2, 3]);
        writer.section(7, 42u32.to_le_bytes().to_vec());
        writer.finish()
    }

    fn open(bytes: &[u8]) -> Result<Container, StoreError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Container::open(file.path(), *b"CWTEST\0\0", 3)
    }

    #[test]
    fn sections_survive_a_round_trip_and_damage_is_named() {
        let container = open(&sample()).unwrap();
        assert_eq!(container.section(1).unwrap(), [1, 2, 3]);
        assert_eq!(container.records::<u32>(7).unwrap(), [42]);
        assert!(matches!(container.section(2), Err(StoreError::Damaged { .. })));
        container.verify().unwrap();
    }

    #[test]
    fn truncation_and_flipped_bits_never_pass() {
        let good = sample();
        for len in 0..good.len() {
            let opened = open(&good[..len]);
            assert!(opened.and_then(|c| c.verify()).is_err(), "cut to {len} bytes");
        }
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&bad).and_then(|c| c.verify()).is_err(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn sections_survive_writing_and_reading(sections in sections(), other in 0u32..80) {
            let bytes = write(&sections);
            for container in [open(&bytes), Container::in_memory(&bytes, *b"CWTEST\0\0", 3)] {
                let container = container.unwrap();
                container.verify().unwrap();
                for (&id, bytes) in &sections {
                    prop_assert_eq!(container.section(id).unwrap(), &bytes[..]);
                }
                prop_assert_eq!(container.section(other).is_ok(), sections.contains_key(&other));
            }
        }

        #[test]
        fn a_changed_byte_never_passes(
            sections in sections(),
            at in any::<prop::sample::Index>(),
            change in 1u8..,
        ) {
            let mut bytes = write(&sections);
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert!(open(&bytes).and_then(|container| container.verify()).is_err());
        }

        #[test]
        fn any_bytes_are_an_error_and_no_panic(
            mut bytes in vec(any::<u8>(), 0..600),
            has_header in any::<bool>(),
        ) {
            let header = write(&Sections::from([(1, vec![1, 2, 3])]));
            if has_header {
                let n = bytes.len().min(16);
                bytes[..n].copy_from_slice(&header[..n]);
            }
            if let Ok(container) = open(&bytes) {
                let _ = (container.section(1), container.records::<u64>(2), container.verify());
            }
        }
    }
}
