//! Files of the store: valid files, mutated, with a corrected checksum so that the change passes it.

use std::path::{Path, PathBuf};

use codeweaver_base::sys::DotKernel;
use codeweaver_chunk::chunk_blob;
use codeweaver_chunk::language;
use codeweaver_config::{ChunkerSettings, Granularity};
use codeweaver_git::BStr;
use codeweaver_store::StoreError;
use codeweaver_store::entries::{self, Entries, NewEntry};
use codeweaver_store::hnsw::search::HnswSearch;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::hnsw::{EntryPoints, HnswData, HnswHeader, HnswIndex, Layers as _, QueryKind};
use codeweaver_store::live::LiveRows;
use codeweaver_store::postings::{FIELDS, Field, PostingList, Postings, PostingsBuilder};
use codeweaver_store::rows::RowMeta;
use codeweaver_store::segment::{Segment, SegmentBuilder};
use codeweaver_store::shard::{self, ShardData};
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::{EntriesRef, Head, Marker, Phase, RunRecord, SegmentRef, SnapshotRef, State};

use super::chunker::LANGUAGES;
use super::doc::push_doc;
use super::mutate::{Material, mutate};
use super::{Case, Pool, Target, behaviour, size_class, third_party};

const DIM: usize = 16;
/// The crate of the term dictionary.
const FST: &str = "/fst-";
/// Bytes of the checksum at the end of containers and snapshots.
const CHECKSUM: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Shard,
    Segment,
    /// A dictionary and its lists, without the file around them.
    Postings,
    Entries,
    Graph,
    Snapshot,
    State,
}

/// A file of one kind in an otherwise valid store.
pub struct StoreFile {
    kind: Kind,
    pool: Pool,
    tokens: Vec<Vec<u8>>,
    /// What is read.
    path: PathBuf,
    /// Shards that belong to the segments, by the head of the case.
    shards: Vec<PathBuf>,
}

impl StoreFile {
    pub fn new(kind: Kind, dir: &Path) -> StoreFile {
        let stores = [sample(3, 8_000), sample(41, 1_500)];
        let mut shards = Vec::new();
        let mut seeds = Vec::new();
        for (number, builder) in stores.into_iter().enumerate() {
            let path = dir.join(format!("shard-{number}"));
            let encoded = shard::encode(&builder.data, &path).expect("a sample is encoded");
            std::fs::write(&path, &encoded.bytes).expect("the folder can be written");
            shards.push(path);
            let bytes = match kind {
                Kind::Shard => encoded.bytes,
                Kind::Segment => builder.finish(encoded.offsets),
                Kind::Postings => lists(number),
                Kind::Entries => entries::encode(&paths(number)),
                Kind::Graph => graph(&builder.data),
                Kind::Snapshot => snapshot(number),
                Kind::State => state(number).encode(),
            };
            // Small ones are run more often than large ones.
            let times = if number == 0 { 6 } else { 1 };
            seeds.extend(std::iter::repeat_n(Case::new(number.to_string(), bytes), times));
        }
        let words = [
            "null",
            "true",
            "-1",
            "1e99",
            "18446744073709551616",
            "\"",
            "{",
            "}",
            "[",
            "]",
            "\\u0000",
            ",",
            ":",
            "../",
            "/etc/passwd",
        ];
        let mut tokens: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        tokens.extend([0u32, 1, 127, 128, u32::MAX, 1 << 31].map(|number| number.to_le_bytes().to_vec()));
        StoreFile { kind, pool: Pool::new(seeds), tokens, path: dir.join("file"), shards }
    }
}

impl Target for StoreFile {
    fn next(&mut self, rng: &mut fastrand::Rng) -> Case {
        let Case { head, mut bytes } = self.pool.any(rng).clone();
        let other = self.pool.any(rng).bytes.clone();
        let tokens: Vec<&[u8]> = self.tokens.iter().map(Vec::as_slice).collect();
        let material = Material { tokens: &tokens, other: &other, max_len: 1 << 20 };
        let part = part_to_change(self.kind, &bytes, rng);
        let mut changed = bytes[part.clone()].to_vec();
        if rng.u8(..4) > 0 {
            // Changes in place, which keep all offsets.
            changed = in_place(changed, &material, rng);
        } else {
            mutate(&mut changed, &material, rng);
        }
        bytes.splice(part, changed);
        if rng.u8(..10) > 0 {
            seal(self.kind, &mut bytes);
        }
        Case { head, bytes }
    }

    fn run(&mut self, case: &Case) -> u64 {
        let number = usize::from(case.head == "1");
        if self.kind == Kind::Postings {
            return third_party(FST, || run_postings(&case.bytes)).unwrap_or(1);
        }
        std::fs::write(&self.path, &case.bytes).expect("the folder can be written");
        match self.kind {
            Kind::Shard => described(shard::read(&self.path).map(|data| use_shard(&data))),
            Kind::Segment => described(
                Segment::open(&self.path, &self.shards[number])
                    .map(|segment| third_party(FST, || use_segment(&segment)).unwrap_or(1)),
            ),
            Kind::Entries => described(
                Entries::open(&self.path)
                    .map(|entries| third_party(FST, || use_entries(&entries)).unwrap_or(1)),
            ),
            Kind::Graph => {
                let n_rows = graph_rows(&case.bytes);
                described(HnswIndex::open(&self.path, n_rows).map(|graph| use_graph(&graph)))
            }
            Kind::Snapshot => described(Snapshot::read(&self.path).map(|snapshot| use_snapshot(&snapshot))),
            Kind::State => {
                described(State::read(&self.path).map(|state| use_state(&state.unwrap_or_default())))
            }
            Kind::Postings => 0,
        }
    }

    fn keep(&mut self, case: &Case) {
        if case.bytes.len() < 16_000 {
            self.pool.keep(case);
        }
    }
}

/// Behaviour of a result; an error names the file and the fault.
fn described(result: Result<u64, StoreError>) -> u64 {
    match result {
        Ok(what) => what,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 2_000, "an error of {} bytes", text.len());
            // Numbers in a message are insignificant.
            behaviour(text.chars().filter(|c| c.is_ascii_alphabetic()).take(200).collect::<String>())
        }
    }
}

/// A section of a container, the footer of a shard, or all of it.
fn part_to_change(kind: Kind, bytes: &[u8], rng: &mut fastrand::Rng) -> std::ops::Range<usize> {
    let all = 0..bytes.len();
    if rng.u8(..8) == 0 {
        return all;
    }
    match kind {
        Kind::Segment | Kind::Entries | Kind::Graph => {
            let word = |at: usize| {
                bytes
                    .get(at..at + 8)
                    .map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            };
            let n = bytes
                .get(12..16)
                .map_or(0, |word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
                .min(16);
            let at = 16 + 24 * rng.usize(..=n as usize);
            let (start, len) = (word(at + 8) as usize, word(at + 16) as usize);
            start
                .checked_add(len)
                .filter(|&end| end <= bytes.len() && start < end)
                .map_or(16..(16 + 24 * n as usize).min(bytes.len()).max(16), |end| start..end)
        }
        Kind::Shard if bytes.len() > 12 => {
            let footer = u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[bytes.len() - 8 + i])) as usize;
            let end = bytes.len() - 8;
            if rng.u8(..3) > 0 { end.saturating_sub(footer)..end } else { 4..end }
        }
        Kind::Snapshot if bytes.len() > CHECKSUM => 12..bytes.len() - CHECKSUM,
        Kind::State => bytes.iter().position(|&byte| byte == b'\n').map_or(all, |line| line + 1..bytes.len()),
        _ => all,
    }
}

/// Changes that keep the length.
fn in_place(mut bytes: Vec<u8>, material: &Material<'_>, rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = bytes.len();
    mutate(&mut bytes, material, rng);
    bytes.resize(len, 0);
    bytes
}

/// Corrects the checksum.
fn seal(kind: Kind, bytes: &mut Vec<u8>) {
    match kind {
        Kind::Segment | Kind::Entries | Kind::Graph | Kind::Snapshot if bytes.len() >= CHECKSUM => {
            let body = bytes.len() - CHECKSUM;
            let checksum = blake3::hash(&bytes[..body]);
            bytes[body..].copy_from_slice(checksum.as_bytes());
        }
        Kind::State => {
            let Some(line) = bytes.iter().position(|&byte| byte == b'\n') else { return };
            let json = bytes[line + 1..].to_vec();
            let trimmed = json.iter().rposition(|&byte| byte != b'\n').map_or(0, |at| at + 1);
            let head = format!("codeweaver-state 1 {}\n", blake3::hash(&json[..trimmed]).to_hex());
            *bytes = [head.as_bytes(), &json].concat();
        }
        _ => {}
    }
}

fn use_shard(data: &ShardData) -> u64 {
    assert_eq!(data.docs.len(), data.n_rows.len());
    assert_eq!(data.vectors.len(), data.rows.len() * data.dim);
    let mut builder = SegmentBuilder::new(data.dim).with_sign_bits_from(8);
    let (mut rows, mut at) = (data.rows.iter(), 0);
    for (doc, &n) in data.docs.iter().zip(&data.n_rows) {
        let rows: Vec<RowMeta> = rows.by_ref().take(n as usize).cloned().collect();
        let end = at + rows.len() * data.dim;
        builder.push_doc(doc.clone(), rows, &data.vectors[at..end], b"fn main() {}");
        at = end;
    }
    behaviour((
        size_class(data.rows.len()),
        size_class(data.dim),
        builder.finish(shard::Offsets::default()).is_empty(),
    ))
}

fn use_segment(segment: &Segment) -> u64 {
    let n_rows = segment.n_rows();
    assert_eq!(segment.vectors().len(), n_rows as usize * segment.dim());
    let mut n_names = 0;
    for (ordinal, doc) in segment.docs().iter().enumerate() {
        let rows = segment.doc_rows(ordinal as u32);
        assert!(rows.start <= rows.end && rows.end <= n_rows, "doc {ordinal} has rows {rows:?} of {n_rows}");
        if let Some(found) = segment.find(&segment.key(doc)) {
            assert!(found < segment.n_docs(), "doc {found}");
        }
        n_names += segment.language(doc.language).len();
    }
    for row in 0..n_rows {
        let record = &segment.rows()[row as usize];
        assert!(segment.doc_of(row).is_none_or(|(ordinal, _)| ordinal < segment.n_docs()));
        n_names += segment.text(record.title).len() + segment.language(record.language).len();
        for symbol in segment.symbols_of(record) {
            n_names += [symbol.name, symbol.qualified_name]
                .map(|place| segment.name(place).len())
                .iter()
                .sum::<usize>();
            n_names += segment.signature(&symbol).len() + segment.text(symbol.doc).len();
        }
        assert_eq!(segment.vector(row).len(), segment.dim());
    }
    let mut live = LiveRows::empty(n_rows);
    live.insert(n_rows / 4, n_rows);
    live.seal();
    let mut n_found = 0;
    let Some(postings) = segment.postings() else { return behaviour(("no postings", size_class(n_names))) };
    for term in ["fn", "name", "self", "return", "int", "absent"] {
        for field in FIELDS {
            n_found += postings.get(field, term).map_or(0, |list| use_list(&list, &live));
        }
    }
    n_found += postings.terms_where(Field::Body, "re", 50, |_, _| true).len();
    let mut builder = PostingsBuilder::default();
    builder.extend(&postings, |row| (row < n_rows).then_some(row));
    let (fst, _) = builder.finish();
    behaviour((size_class(n_names), size_class(n_found), size_class(fst.len())))
}

/// Number of rows found; it must not exceed the length of the list.
fn use_list(list: &PostingList<'_>, live: &LiveRows) -> usize {
    let mut n = 0;
    list.for_each(|_, _| n += 1);
    assert!(n <= list.df() as usize, "{n} postings in a list of {}", list.df());
    assert!(list.df_live(live) <= list.df());
    n
}

fn run_postings(bytes: &[u8]) -> u64 {
    let at = bytes.first_chunk::<4>().map_or(0, |len| u32::from_le_bytes(*len)) as usize;
    let body = bytes.get(4..).unwrap_or_default();
    let (fst, lists) = body.split_at(at.min(body.len()));
    let Some(postings) = Postings::new(fst, lists) else { return 0 };
    let mut live = LiveRows::empty(3_000);
    live.insert(100, 2_000);
    live.seal();
    let mut n = 0;
    for term in ["a", "alpha", "beta", "zz"] {
        n += postings.get(Field::Body, term).map_or(0, |list| use_list(&list, &live));
    }
    n += postings.terms_where(Field::Body, "a", 20, |_, _| true).len();
    let (mut n_lists, mut stream) = (0, postings.stream());
    while let Some((key, list)) = stream.next_list() {
        n_lists += 1;
        n += use_list(&list, &live) + key.len();
    }
    assert!(n_lists <= bytes.len(), "{n_lists} lists in {} bytes", bytes.len());
    behaviour((size_class(n), size_class(n_lists)))
}

fn use_entries(entries: &Entries) -> u64 {
    let mut n = 0;
    for record in entries.records() {
        let path = entries.path(record);
        n += path.len() + entries.find(path).len();
    }
    n += entries.find(b"src/chunk/mod.rs").len() + entries.by_path().len();
    let mut live = LiveRows::empty(entries.records().len() as u32);
    live.insert(1, 7);
    live.seal();
    for term in ["src", "chunk", "rs", "test"] {
        n += entries.list(term).map_or(0, |list| use_list(&list, &live));
    }
    let again = entries::encode(&entries.to_new());
    behaviour((size_class(n), size_class(again.len())))
}

/// What the header says, which a segment of as many rows would agree with.
fn graph_rows(bytes: &[u8]) -> u32 {
    let start =
        bytes.get(24..28).map_or(0, |at| u32::from_le_bytes(at.try_into().unwrap_or_default())) as usize;
    let n = start.checked_add(4).and_then(|end| bytes.get(start..end));
    // A forged number of rows is met by a segment that has them, within reason.
    n.map_or(0, |n| u32::from_le_bytes(n.try_into().unwrap_or_default())).min(1_000)
}

fn use_graph(graph: &HnswIndex) -> u64 {
    let n_rows = graph.header().n_rows;
    let vectors: Vec<i8> = (0..n_rows as usize * DIM).map(|i| (i * 37 % 251) as u8 as i8).collect();
    let mut live = LiveRows::empty(n_rows);
    live.insert(n_rows / 3, n_rows);
    live.seal();
    let query: Vec<i8> = (0..DIM).map(|i| i as i8 * 5 - 40).collect();
    let rows = RowVectors::new([vectors.as_slice()].into_iter(), DIM);
    let search = HnswSearch { layers: graph, rows: &rows, kernel: &DotKernel::new(&query) };
    let found = search.nearest_to(QueryKind::Question, 40, &|row| live.contains(row));
    assert!(found.iter().all(|(_, row)| *row < n_rows && live.contains(*row)));
    behaviour((found.len(), size_class(n_rows as usize)))
}

fn use_snapshot(snapshot: &Snapshot) -> u64 {
    let n = snapshot.entries.len() as usize;
    let first: u64 = snapshot.entries.iter().take(1_000).map(u64::from).sum();
    let again = snapshot.encode();
    behaviour((size_class(n), size_class(first as usize), size_class(again.len()), snapshot.totals.complete))
}

fn use_state(state: &State) -> u64 {
    let (docs, entries) = (state.next_doc(), state.next_entry());
    let is_name =
        |name: &str| !name.is_empty() && !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
    assert!(state.segments.iter().all(|segment| is_name(&segment.name)), "a segment outside the store");
    assert!(state.entries.iter().all(|entries| is_name(&entries.name)), "entries outside the store");
    assert!(state.snapshots.values().all(|snapshot| is_name(&snapshot.file)), "a snapshot outside the store");
    assert!(!state.encode().is_empty());
    behaviour((
        size_class(docs as usize),
        size_class(entries as usize),
        state.heads.len(),
        state.snapshots.len(),
    ))
}

/// A segment of the samples of some languages.
fn sample(n_languages: usize, max_bytes: usize) -> SegmentBuilder {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/languages");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let settings = ChunkerSettings {
        granularity: Granularity::Definition,
        target_tokens: 40,
        ..ChunkerSettings::default()
    };
    let mut builder = SegmentBuilder::new(DIM).with_sign_bits_from(8);
    let language_of = |path: &Path| {
        language::by_path(BStr::new(path.to_string_lossy().as_bytes()))
            .filter(|language| LANGUAGES.contains(&language.name()))
    };
    let known = files.iter().filter_map(|path| Some((path, language_of(path)?)));
    for (path, language) in known.take(n_languages) {
        let mut bytes = std::fs::read(path).unwrap_or_default();
        bytes.truncate(max_bytes);
        push_doc(&mut builder, &bytes, language, &chunk_blob(&bytes, language, &settings));
    }
    builder
}

/// Long lists and short ones.
fn lists(number: usize) -> Vec<u8> {
    let mut builder = PostingsBuilder::default();
    let n = if number == 0 { 300 } else { 3_000 };
    for (term, step) in [("a", 1), ("alpha", 3), ("alphabet", 7), ("beta", 100), ("gamma", 250)] {
        let id = builder.id(Field::Body, term);
        (0..n).step_by(step).for_each(|row| builder.add(id, row, 1 + row % 5));
    }
    for at in 0..40 {
        let id = builder.id(Field::Symbol, &format!("symbol{at}"));
        builder.add(id, at, 1);
    }
    let (fst, lists) = builder.finish();
    [&(fst.len() as u32).to_le_bytes()[..], &fst, &lists].concat()
}

fn paths(number: usize) -> Vec<NewEntry> {
    let n = if number == 0 { 12 } else { 400 };
    let path = |at: u32| {
        format!("src/{}/file_{at}_test.rs", ["chunk", "store", "index"][at as usize % 3]).into_bytes()
    };
    (0..n)
        .map(|at| NewEntry {
            path: path(at),
            doc: if at % 5 == 0 { entries::NO_DOC } else { at },
            skipped: u8::from(at % 5 == 0),
            flags: at as u16,
        })
        .collect()
}

/// Each row knows its neighbours in order; every eighth is on an upper level.
fn graph(data: &ShardData) -> Vec<u8> {
    let n = data.rows.len() as u32;
    let width = 6;
    let near = |row: u32, step: u32| {
        (1..=width / 2)
            .flat_map(|k| [(row + k * step) % n.max(1), (row + n - (k * step) % n.max(1)) % n.max(1)])
            .collect::<Vec<u32>>()
    };
    let level0 = (0..n).flat_map(|row| near(row, 1)).collect();
    let upper =
        [8, 32].map(|step| (0..n).step_by(step as usize).map(|row| (row, near(row, step))).collect()).into();
    let header = HnswHeader { n_rows: n, width, entry: 0, ..HnswHeader::default() };
    let entry_points = EntryPoints {
        questions: data.vectors[..DIM * n.min(4) as usize].to_vec(),
        rows: vec![0; 2 * n.min(4) as usize],
    };
    HnswData { header: HnswHeader { n_near: 2, ..header }, level0, upper, entry_points }.encode()
}

fn snapshot(number: usize) -> Vec<u8> {
    let mut snapshot = Snapshot::default();
    snapshot.totals.tree_oid = "0123456789".repeat(4);
    snapshot.totals.settings = "settings".to_owned();
    snapshot.totals.vector_sum = vec![-5, 1 << 40, 0];
    snapshot.totals.skipped.insert(3, 7);
    snapshot.totals.complete = true;
    snapshot.entries.extend([1, 2, 3, 70_000, 1_000_000]);
    if number == 1 {
        snapshot.entries.insert_range(200_000..280_000);
        snapshot.entries.extend((0..60_000).step_by(3));
    }
    snapshot.encode()
}

fn state(number: usize) -> State {
    let name = |at: u32| blake3::hash(&at.to_le_bytes()).to_hex().to_string();
    let n = if number == 0 { 2 } else { 12 };
    let head = Head {
        phase: Phase::Indexed,
        snapshot: "key".to_owned(),
        commit: Some("0123456789".repeat(4)),
        reference: Some("refs/heads/main".to_owned()),
        marker: Some(Marker {
            kind: codeweaver_store::state::MARKER_KIND.to_owned(),
            codebase_path: "/src".to_owned(),
            worktree_id: None,
            fingerprint: "f".to_owned(),
            indexed_files: 3,
            total_chunks: 9,
            completed_at: 1_700_000_000,
            run_id: "r".to_owned(),
        }),
        progress: Some((3, 4)),
        last_run: Some(RunRecord::default()),
        failure: None,
    };
    State {
        generation: 4,
        epoch: 1,
        segments: (0..n)
            .map(|at| SegmentRef {
                name: name(at),
                doc_base: at * 3,
                n_docs: 3,
                n_rows: 9,
                shard_bytes: 10,
                segment_bytes: 20,
            })
            .collect(),
        entries: (0..n)
            .map(|at| EntriesRef { name: name(at + 100), entry_base: at * 5, n_entries: 5, bytes: 30 })
            .collect(),
        snapshots: [("key".to_owned(), SnapshotRef { file: name(7), bytes: 5, used_at: 6 })].into(),
        heads: [("main".to_owned(), head)].into(),
        rebuilding: Default::default(),
        lost: ["linked".to_owned()].into(),
    }
}
