//! Ranking by intent: the same repository answers `understand` and `implement` in different orders.

use codeweaver_testkit::TestRepo;

const FIXTURE: &[(&str, &str)] = &[
    ("src/auth/middleware.py", include_str!("../../../fixtures/authentication/src/auth/middleware.py")),
    ("src/auth/utils.py", include_str!("../../../fixtures/authentication/src/auth/utils.py")),
    ("src/auth/tokens.py", include_str!("../../../fixtures/authentication/src/auth/tokens.py")),
    ("src/auth/store.py", include_str!("../../../fixtures/authentication/src/auth/store.py")),
    ("src/billing.py", include_str!("../../../fixtures/authentication/src/billing.py")),
    ("tests/test_auth.py", include_str!("../../../fixtures/authentication/tests/test_auth.py")),
];

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FIXTURE);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn understanding_ranks_the_class_first_and_tests_last() {
    let repo = indexed();
    let found = repo.found(&["--intent", "understand", "-l", "5", "how to authenticate users"]);
    assert_eq!(
        found[..3],
        ["src/auth/middleware.py", "src/auth/utils.py", "src/auth/tokens.py"],
        "{found:?}"
    );
    let test = found.iter().position(|path| path == "tests/test_auth.py");
    assert!(test.is_some_and(|place| place >= 3), "tests are ranked lower, not left out: {found:?}");
}

#[test]
fn to_implement_the_class_is_among_the_first_three() {
    let repo = indexed();
    let answer =
        repo.codeweaver(["search", "-o", "json", "-i", "implement", "authentication"]).success().json();
    let first: Vec<_> = answer["matches"].as_array().unwrap().iter().take(3).collect();
    let class = first.iter().find(|found| found["file"]["path"] == "src/auth/middleware.py");
    assert_eq!(class.unwrap()["content"]["class"], "DEFINITION_TYPE", "{answer}");
    assert_eq!(answer["query_intent"]["type"], "implement");
}
