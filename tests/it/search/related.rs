//! Related symbols of matches: callers, callees, what is overridden, tests and siblings.

use serde_json::Value;

use codeweaver_testkit::TestRepo;

const BASE: &str = "class Store:
    \"\"\"Keeps records.\"\"\"

    def save_record(self, record):
        raise NotImplementedError

    def drop_record(self, record):
        raise NotImplementedError
";
const DISK: &str = "from base import Store
from paths import shard_path


class DiskStore(Store):
    def save_record(self, record):
        \"\"\"Writes a record into the shard on the disk.\"\"\"
        path = shard_path(record.key)
        with open(path, 'ab') as shard:
            shard.write(record.body)

    def drop_record(self, record):
        shard_path(record.key).unlink()


def import_all(store, records):
    for record in records:
        store.save_record(record)
";
const MEMORY: &str = "from base import Store


class MemoryStore(Store):
    def save_record(self, record):
        self.all[record.key] = record
";
const PATHS: &str = "def shard_path(key):
    return root / key[:2]
";
const TEST: &str = "from disk import DiskStore


def test_a_record_is_on_the_disk(tmp_path):
    DiskStore(tmp_path).save_record(record())
";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/base.py", BASE),
        ("src/disk.py", DISK),
        ("src/memory.py", MEMORY),
        ("src/paths.py", PATHS),
        ("tests/test_disk.py", TEST),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The match for `query` in `path`.
fn found(repo: &TestRepo, path: &str, query: &str) -> Value {
    let answer = repo.codeweaver(["search", "-o", "json", "--min-score", "0", query]).success().json();
    let matches = answer["matches"].as_array().unwrap();
    matches.iter().find(|found| found["file"]["path"] == path).unwrap_or(&answer).clone()
}

/// The related symbols of a match as `relation symbol path`.
fn relations(found: &Value) -> Vec<String> {
    let related = found["relations"].as_array().unwrap_or_else(|| panic!("no match: {found:#}"));
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    related
        .iter()
        .map(|it| format!("{} {} {}", text(it, "relation"), text(it, "symbol"), text(it, "path")))
        .collect()
}

#[test]
fn a_method_is_related_to_callers_callees_overridden_methods_tests_and_siblings() {
    let repo = indexed();
    let found = found(&repo, "src/disk.py", "DiskStore.save_record");
    assert_eq!(found["focus"]["symbol"], "DiskStore.save_record", "{found:#}");
    assert_eq!(
        relations(&found),
        [
            "caller import_all src/disk.py",
            "callee shard_path src/paths.py",
            "overrides Store.save_record src/base.py",
            "same_base MemoryStore.save_record src/memory.py",
            "test test_a_record_is_on_the_disk tests/test_disk.py",
            "sibling DiskStore.drop_record src/disk.py",
        ]
    );
    let names = found["related_symbols"].as_array().unwrap();
    assert_eq!(names.len(), 6);
    assert!(!names.contains(&"DiskStore.save_record".into()), "the focus itself is not related to it");
    let caller = &found["relations"][0];
    assert_eq!(caller["line"], 16);
}

#[test]
fn a_type_is_related_to_the_types_around_it() {
    let repo = indexed();
    let base = relations(&found(&repo, "src/base.py", "class Store"));
    assert!(base.contains(&"subtype DiskStore src/disk.py".to_owned()), "{base:?}");
    assert!(base.contains(&"subtype MemoryStore src/memory.py".to_owned()), "{base:?}");
    let derived = relations(&found(&repo, "src/memory.py", "class MemoryStore"));
    assert!(derived.contains(&"supertype Store src/base.py".to_owned()), "{derived:?}");
}

#[test]
fn uncommitted_callers_are_related() {
    let repo = indexed();
    repo.write("src/paths.py", "def shard_path(key):\n    return root / key[:2]\n\n\ndef listing(keys):\n    return [shard_path(key) for key in keys]\n");
    let found = relations(&found(&repo, "src/paths.py", "shard_path"));
    assert!(found.contains(&"caller listing src/paths.py".to_owned()), "{found:?}");
}

#[test]
fn only_json_has_related_symbols() {
    let repo = indexed();
    let table = repo.codeweaver(["search", "DiskStore.save_record"]).success().stdout();
    assert!(!table.contains("same_base"), "{table}");
}
