//! What an index holds does not depend on how it was built.

use std::sync::Arc;
use std::time::Duration;

use codeweaver_embed::{self as embed, Embedder};
use codeweaver_store::StoreReader;
use codeweaver_store::segment::{Segment, SegmentBuilder};
use codeweaver_store::shard::{self, Offsets, ShardData};
use codeweaver_store::snapshot::Snapshot;
use codeweaver_store::state::SegmentRef;
use codeweaver_testkit::TestRepo;

use super::estimate::estimate_with;
use super::{BuildContext, Built, Estimate, Tuning, build};
use crate::journal::PARSER_STACK;
use crate::plan::{self, Job};
use crate::policy::Policy;
use crate::progress::Silent;
use crate::{Codebase, IndexError, Target};

/// A repository whose files have many names, with the jobs of its first index.
struct ManyNames {
    codebase: Codebase,
    policy: Policy,
    embedder: Arc<dyn Embedder>,
    jobs: Vec<Job>,
    _repo: TestRepo,
}

/// The content of an index after a build.
#[derive(PartialEq)]
struct Contents {
    segments: Vec<SegmentRef>,
    /// The segments merged into one: its shard, and the bytes of its segment file.
    data: ShardData,
    merged: Vec<u8>,
}

/// Segments end by number of names alone, however long the build takes.
const ENDLESS: Tuning = Tuning {
    seal_names: usize::MAX,
    part_names: usize::MAX,
    first_checkpoint: Duration::from_secs(24 * 60 * 60),
};

impl ManyNames {
    fn new() -> ManyNames {
        let repo = TestRepo::init();
        for file in 0..100 {
            // One file takes much longer than the others, which then wait for it.
            let n_functions = if file == 0 { 400 } else { 10 };
            let text: String = (0..n_functions)
                .map(|n| format!("pub fn name_{file}_{n}(of_{n}: u32) -> u32 {{\n    of_{n}\n}}\n\n"))
                .collect();
            repo.write(&format!("src/file_{file:03}.rs"), text);
        }
        repo.commit("many names");
        let codebase = Codebase::open(repo.root(), &[]).unwrap();
        let tree = Target::head(&codebase).unwrap().tree;
        let policy = Policy::for_tree(&codebase.repo, tree.as_ref(), &codebase.settings.policy).unwrap();
        let reader = StoreReader::empty(&codebase.store());
        let plan = plan::plan(&codebase, &policy, &reader, &Snapshot::default(), tree.as_ref()).unwrap();
        let embedder = embed::open(&codebase.settings.model).unwrap();
        assert_eq!(plan.jobs.len(), 100);
        ManyNames { codebase, policy, embedder, jobs: plan.jobs, _repo: repo }
    }

    /// Runs all jobs in an empty store.
    fn build(&self, n_threads: usize, tuning: Tuning) -> Contents {
        let mut codebase = self.codebase.clone();
        codebase.settings.index.threads = Some(n_threads);
        let store = codebase.store();
        let reader = StoreReader::empty(&store);
        let (policy, embedder) = (&self.policy, &*self.embedder);
        let context =
            BuildContext { codebase: &codebase, policy, reader: &reader, embedder, progress: &Silent };
        let mut segments = Vec::new();
        let mut built = build(&context, &self.jobs, tuning, |built| {
            segments.append(&mut built.segments);
            Ok(())
        })
        .unwrap();
        segments.append(&mut built.segments);
        self.check_places(&built, &segments);
        let mut merged = SegmentBuilder::new(0);
        for SegmentRef { name, .. } in &segments {
            let (path, shard) = (store.segment(name), store.shard(name));
            let segment = Segment::open(&path, &shard).unwrap();
            merged.append_segment(&segment, shard::read(&shard).unwrap(), |_| true);
        }
        std::fs::remove_dir_all(store.root()).unwrap();
        Contents { segments, data: merged.data.clone(), merged: merged.finish(Offsets::default()) }
    }

    /// Estimates the build of all jobs in an empty store.
    fn estimate(&self, stack_size: usize) -> Result<Estimate, IndexError> {
        let codebase = &self.codebase;
        let reader = StoreReader::empty(&codebase.store());
        let (policy, embedder) = (&self.policy, &*self.embedder);
        let context = BuildContext { codebase, policy, reader: &reader, embedder, progress: &Silent };
        estimate_with(&context, &self.jobs, stack_size)
    }

    /// Asserts that the docs of the segments are those of the jobs, in job order.
    fn check_places(&self, built: &Built, segments: &[SegmentRef]) {
        assert_eq!(built.n_sealed, segments.len());
        let mut n_docs = 0;
        let mut places = Vec::new();
        for (s, segment) in segments.iter().enumerate() {
            places.extend((0..segment.n_docs).map(|ordinal| Some((s, ordinal))));
            n_docs += segment.n_docs as usize;
        }
        assert_eq!(n_docs, self.jobs.len());
        assert_eq!(built.docs, places);
    }
}

#[test]
fn an_index_depends_neither_on_threads_nor_on_where_segments_end() {
    let files = ManyNames::new();
    let whole = files.build(1, ENDLESS);
    let keys = files.jobs.iter().map(|job| job.key);
    assert!(whole.data.docs.iter().map(|doc| doc.key).eq(keys), "docs are not in job order");
    for (seal_names, part_names, n_segments) in [
        (usize::MAX, usize::MAX, 1..=1),
        // After each unit, or all but the last one.
        (500, usize::MAX, 2..=3),
        // After some parts.
        (500, 100, 4..=60),
        // After each file.
        (1, 1, 100..=100),
    ] {
        let tuning = Tuning { seal_names, part_names, ..ENDLESS };
        let one = files.build(1, tuning);
        assert!(n_segments.contains(&one.segments.len()), "{} segments", one.segments.len());
        assert!(one.data == whole.data, "another shard for {tuning:?}");
        assert!(one.merged == whole.merged, "another segment for {tuning:?}");
        assert!(files.build(4, tuning) == one, "four threads write something else for {tuning:?}");
    }
}

#[test]
fn an_index_does_not_depend_on_checkpoints() {
    let files = ManyNames::new();
    let whole = files.build(2, ENDLESS);
    let tuning = Tuning { first_checkpoint: Duration::ZERO, part_names: 1, ..ENDLESS };
    let cut = files.build(2, tuning);
    assert!(cut.segments.len() > 1, "no checkpoint came");
    assert!(cut.data == whole.data && cut.merged == whole.merged);
}

#[test]
fn an_estimate_without_threads_is_an_error_and_not_zero() {
    let files = ManyNames::new();
    let estimate = files.estimate(PARSER_STACK).unwrap();
    assert_eq!(estimate.files, 100);
    assert!(estimate.chunks >= 100 && estimate.embedded > 0, "{estimate:?}");

    // No system has room for such a stack.
    let error = files.estimate(1 << 62).unwrap_err();
    assert!(error.to_string().contains("start a thread"), "{error}");
}
