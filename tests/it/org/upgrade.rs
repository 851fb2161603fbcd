//! An index with the fields of an earlier version.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::lines::without_words;
use super::site::{Site, paths};

/// An index of the version before is searched and takes no pushes. It is brought up to date while it is
/// searched.
pub fn upgraded(site: &Site, cluster: &Cluster) {
    let mapping = |kind: &str| -> Value {
        let mapping = cluster.request("GET", &format!("acme-{kind}/_mapping"), "");
        let mapping: Value = serde_json::from_str(&mapping).unwrap();
        mapping.as_object().unwrap().values().next().unwrap()["mappings"]["_meta"].clone()
    };
    let mut meta = mapping("rows");
    assert_eq!(meta["version"], 2);
    meta["version"] = 1.into();
    for kind in ["rows", "files", "repos"] {
        cluster.put(&format!("acme-{kind}/_mapping"), &json!({ "_meta": meta }).to_string());
    }
    without_words(cluster);

    let question = ["--mode", "exact", "PostEntry"];
    let before = site.lines(true, &question).0;
    assert_eq!(before, site.lines(false, &question).0);
    site.org(&["push"]).is_an_error("takes no pushes", "org reindex");

    let expected = paths(&site.here(&["retry"]));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut n = 0;
            while !is_over.load(Relaxed) {
                let found = site.there(&["retry"]);
                assert_eq!((&found["status"], paths(&found)), (&"ok".into(), expected.clone()), "{found:#}");
                n += 1;
            }
            n
        });

        let done = site.org(&["reindex", "--shards", "2", "--replicas", "0"]);
        // A search that began before the end is counted, too.
        is_over.store(true, Relaxed);
        assert!(asking.join().unwrap() > 0);
        done.success();
    });

    assert_eq!(mapping("rows")["version"], 2);
    assert_eq!(site.lines(true, &question).0, before);
    site.org(&["push", "--all"]).success();
    site.check_answers(&[]);
}
