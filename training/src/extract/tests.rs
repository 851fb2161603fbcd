use codeweaver_testkit::TestRepo;

use super::*;
use crate::pair::PairReader;

const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software. The above copyright notice and this permission notice shall be included.\n";
const CODE: &str = "/// Removes all documents that are older than the limit.\nfn remove_stale_documents(store: &mut Store, limit: Instant) {\n    store.documents.retain(|document| document.changed >= limit);\n    store.write_index();\n}\n";

fn mirror(folder: &Path, repository: &str, files: &[(&str, &str)]) {
    let work = TestRepo::with_files(files);
    let path = folder.join(repository.replace('/', "+")).join("repo");
    work.git(["clone", "-q", "--bare", ".", path.to_str().unwrap()]);
}

fn report(out: &Path, repository: &str) -> serde_json::Value {
    let path = out.join(format!("{}.json", repository.replace('/', "+")));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn repositories_are_used_refused_or_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let mirrors = folder.path().join("mirrors");
    let good = [("LICENSE", MIT), ("src/store.rs", CODE)];
    mirror(&mirrors, "a/good", &good);
    mirror(&mirrors, "a/abc", &good);
    mirror(
        &mirrors,
        "a/copyleft",
        &[
            (
                "COPYING",
                "GNU General Public License. Everyone is permitted to copy and distribute verbatim copies",
            ),
            ("src/store.rs", CODE),
        ],
    );
    mirror(
        &mirrors,
        "a/mixed",
        &[
            ("LICENSE", MIT),
            ("src/store.rs", CODE),
            (
                "plugins/COPYING",
                "GNU General Public License. Everyone is permitted to copy and distribute verbatim copies",
            ),
            ("plugins/other.rs", &CODE.replace("documents", "plugins")),
        ],
    );
    std::fs::create_dir_all(mirrors.join("a+broken/repo")).unwrap();
    std::fs::write(mirrors.join("a+broken/repo/HEAD"), "no git\n").unwrap();
    let (list, excluded) = (folder.path().join("list"), folder.path().join("excluded"));
    std::fs::write(&list, "# comment\na/broken\na/good\na/abc\na/copyleft\na/mixed\na/missing\n").unwrap();
    std::fs::write(&excluded, "ba7816bf8f01cfea # abc\n").unwrap();
    let out = folder.path().join("out");
    let options = Options {
        mirrors,
        repositories: list,
        excluded,
        out: out.clone(),
        jobs: 2,
        seconds: 60,
        chunked: 10,
    };
    run(&options).unwrap();

    let used = report(&out, "a/good");
    assert_eq!((used["outcome"].as_str(), used["licence"]["id"].as_str()), (Some("used"), Some("MIT")));
    assert_eq!(used["main_language"], "rust");
    let pairs: Vec<Pair> =
        PairReader::open(&out.join("a+good.pairs")).unwrap().map(|pair| pair.unwrap()).collect();
    assert_eq!(used["pairs"], pairs.len());
    assert!(pairs.iter().any(|pair| pair.text == "Removes all documents that are older than the limit."));
    assert!(report(&out, "a/abc")["reason"].as_str().unwrap().contains("excluded"));
    assert!(report(&out, "a/copyleft")["reason"].as_str().unwrap().contains("GPL"));
    assert_eq!(report(&out, "a/broken")["outcome"], "failed");
    assert_eq!(report(&out, "a/mixed")["files_skipped"]["licence_of_folder"], 2);
    for name in ["a+abc.pairs", "a+copyleft.pairs", "a+broken.pairs", "a+missing.json"] {
        assert!(!out.join(name).exists(), "{name}");
    }

    // Finished repositories are skipped; failed ones are tried again.
    let before = std::fs::metadata(out.join("a+good.pairs")).unwrap().modified().unwrap();
    std::fs::remove_file(out.join("a+broken.json")).unwrap();
    run(&options).unwrap();
    assert_eq!(std::fs::metadata(out.join("a+good.pairs")).unwrap().modified().unwrap(), before);
    assert!(out.join("a+broken.json").exists());
}
