//! Golden files of rankings: what `search` finds in the small fixtures, in which order and with which score.
//!
//! Unlike the reference suite, which requires shares of right answers, these files show every change of a
//! score, so that the effect of a change of the ranking is reviewed as a diff of `tests/golden/ranking/`.

use std::fmt::Write as _;

use codeweaver_testkit::TestRepo;

use crate::support::fixtures::{fixture, here};

/// Environment variable that rewrites the files instead of comparing them.
const UPDATE: &str = "CODEWEAVER_UPDATE_GOLDEN";
/// Number of paths that are shown for each query.
const N_SHOWN: usize = 5;

/// Queries, each with the path that answers it.
type Queries = &'static [(&'static str, &'static str)];

const SHOP: Queries = &[
    ("PaymentGateway", "billing/billing/gateway/base.py"),
    ("ReservationService", "warehouse/src/main/java/shop/warehouse/ReservationService.java"),
    ("is_valid_iban", "billing/billing/gateway/sepa.py"),
    ("how much VAT does a customer in another country pay", "billing/billing/tax.py"),
    ("a customer must not be charged twice", "billing/billing/gateway/card.py"),
    ("which states of an order may follow each other", "service/internal/order/state.go"),
    ("limit the number of requests of a client", "service/internal/web/middleware.go"),
    ("evict the least recently used entry", "client/src/cache.ts"),
    (
        "shortest way to collect the goods of an order",
        "warehouse/src/main/java/shop/warehouse/PickingRoute.java",
    ),
    ("events are written in the same transaction as the order", "service/internal/outbox/outbox.go"),
    ("restore the database from a dump", "scripts/restore.sh"),
    ("tests of refunds", "billing/tests/test_refunds.py"),
    ("order 17: cannot go from shipped to cancelled", "service/internal/order/state.go"),
];

const AUTHENTICATION: Queries = &[
    ("AuthMiddleware", "src/auth/middleware.py"),
    ("how to authenticate users", "src/auth/middleware.py"),
    ("check the password of a user", "src/auth/utils.py"),
    ("expired token", "src/auth/tokens.py"),
    ("where are accounts kept", "src/auth/store.py"),
    ("sum of the items of an invoice", "src/billing.py"),
    ("tests of authentication", "tests/test_auth.py"),
];

const GRAPH: Queries = &[
    ("area of a shape in Go", "go/shapes/shapes.go"),
    ("class Shape in Python", "python/shop/shapes.py"),
    ("Label.polish", "java/src/shop/Label.java"),
    ("shop::shapes::helper", "rust/src/shapes.rs"),
    ("struct shape", "c/shapes.h"),
    ("inherited", "java/src/shop/shapes/Base.java"),
    ("render returns the word label", "rust/src/label.rs"),
    ("Kotlin function that calls a callback", "kotlin/Main.kt"),
];

/// The rankings of `queries` in the indexed `repo`: of each query the rank of its target and the first paths.
fn rankings(repo: &TestRepo, queries: Queries) -> String {
    let mut out = String::new();
    for (query, target) in queries {
        let found = paths(repo, query);
        let rank = found.iter().position(|(path, _)| path == target);
        let rank = rank.map_or("none".to_owned(), |at| (at + 1).to_string());
        let _ = writeln!(out, "\nquery:  {query}\ntarget: {target}\nrank:   {rank}");

        for (i, (path, score)) in found.iter().take(N_SHOWN).enumerate() {
            let mark = if path == target { " *" } else { "" };
            let _ = writeln!(out, "  {}. {score:.2} {path}{mark}", i + 1);
        }
    }
    out
}

/// The paths that `query` finds, best first, each with the score of its best match.
fn paths(repo: &TestRepo, query: &str) -> Vec<(String, f64)> {
    let run = repo.codeweaver(["search", "-o", "json", "-l", "40", query]);
    assert!(matches!(run.code(), 0 | 1), "{}", run.explain());
    let mut found: Vec<(String, f64)> = Vec::new();
    for found_match in run.json()["matches"].as_array().unwrap() {
        let path = found_match["file"]["path"].as_str().unwrap();
        if found.iter().all(|(earlier, _)| earlier != path) {
            found.push((path.to_owned(), found_match["relevance_score"].as_f64().unwrap()));
        }
    }
    found
}

#[test]
fn rankings_of_the_fixtures_equal_the_golden_files() {
    let mut changed = String::new();
    for (name, queries) in [("shop", SHOP), ("authentication", AUTHENTICATION), ("graph", GRAPH)] {
        let repo = fixture(name);
        repo.codeweaver(["init", "--no-hooks"]).success();
        let head = format!("`git codeweaver search` in fixtures/{name}: `*` is the target of the query.\n");
        let now = head + &rankings(&repo, queries);

        let path = here("tests/golden/ranking").join(format!("{name}.txt"));
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden == now {
            continue;
        }
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, &now).unwrap();
        } else {
            changed.push_str(&differences(name, &golden, &now));
        }
    }
    assert!(
        changed.is_empty(),
        "rankings have changed. If that is meant, write the files anew and review their diff:\n  \
         {UPDATE}=1 cargo test --test it golden\n{changed}"
    );
}

/// The queries whose rankings are no longer those of the golden file, with both.
fn differences(name: &str, golden: &str, now: &str) -> String {
    let (then, now): (Vec<_>, Vec<_>) = (golden.split("\n\n").collect(), now.split("\n\n").collect());
    let gone = then.iter().filter(|part| !now.contains(part)).map(|part| format!("\n--- {name}\n{part}\n"));
    let new = now.iter().filter(|part| !then.contains(part)).map(|part| format!("\n+++ {name}\n{part}\n"));
    gone.chain(new).collect()
}
