//! `verify --recompute`: stored chunks and vectors must equal those computed from the blobs.

use codeweaver_index::{Codebase, build, publish};
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::state::SegmentRef;
use codeweaver_store::{StoreReader, shard};
use codeweaver_testkit::{FILES, TestRepo};

#[test]
fn a_shard_with_a_wrong_vector_is_found_and_rebuilt() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.codeweaver(["verify", "--recompute", "100%"]).success().says(&["Recomputed:", "good:"]);
    swap_in_a_forged_shard(&repo);
    // Every hash is right, so only recomputation finds it.
    repo.codeweaver(["verify"]).success();
    let report = repo.codeweaver(["verify", "--recompute", "100", "--json"]).fails(1).json();
    assert!(report["findings"][0]["what"].as_str().unwrap().starts_with("its vectors"), "{report}");
    repo.codeweaver(["verify", "--recompute", "100", "--repair"]).success();
    repo.codeweaver(["verify", "--recompute", "100"]).success().says(&["good:"]);
    repo.codeweaver(["verify", "--recompute", "half"]).fails(2);
}

/// Replaces the first segment by one with changed vectors under a valid name, as in a forged shared index.
fn swap_in_a_forged_shard(repo: &TestRepo) {
    let codebase = Codebase::open(repo.root(), &[]).unwrap();
    let store = codebase.store();
    let reader = StoreReader::open(&store).unwrap().unwrap();
    let old = reader.state.segments[0].clone();
    let mut data = shard::read(&store.shard(&old.name)).unwrap();
    // Two changes that cancel out, so that the totals of the snapshot do not reveal them.
    let (one, other) = (0, data.dim);
    assert!(data.vectors[one] < 100 && data.vectors[other] > -100);
    data.vectors[one] += 20;
    data.vectors[other] -= 20;
    let mut builder = SegmentBuilder::default();
    builder.append_segment(&reader.segments[0], data, |_| true);
    let forged = build::write_segment(&store, builder).unwrap();
    publish::change_state(&codebase, |state| {
        state.segments[0] = SegmentRef { doc_base: old.doc_base, ..forged };
    })
    .unwrap();
}
