//! The page of what a commit changes: lines, renames, binary files, and what is not shown.

use codeweaver_testkit::TestRepo;

use crate::support::server::Server;

const PRICES: &str = "\
/// The <b>price</b> of some pieces.
pub fn price(count: u32) -> u32 {
    let base = 7;
    base * count
}

/// The tax of a price, in cents, rounded down.
pub fn tax(price: u32) -> u32 {
    let rate = 19;
    let cents = price * rate;

    // In cents.
    cents / 100
}
";
const SECRET: &str = "ABCDEFGHIJKLMNOPQRST";

fn repo() -> TestRepo {
    let names: String = (0..20).map(|n| format!("pub const NAME_{n}: u32 = {n};\n")).collect();
    let settings: String = (0..20).map(|n| format!("OPTION_{n}=hunter2hunter2-{n}\n")).collect();
    let repo = TestRepo::with_files(&[
        ("src/prices.rs", PRICES),
        ("src/names.rs", names.as_str()),
        ("src/gone.rs", "pub fn gone() {}\n"),
        ("data.dat", "\0one"),
        (".env", settings.as_str()),
    ]);

    repo.write(
        "src/prices.rs",
        PRICES.replace("base = 7", "base = 9").replace("In cents", "In <i>cents</i>"),
    );
    repo.git(["mv", "src/names.rs", "src/labels.rs"]);
    repo.write("src/labels.rs", names.replace("NAME_7:", "LABEL_7:"));
    repo.git(["mv", ".env", "options.txt"]);
    repo.write("options.txt", settings.replace("OPTION_7", "CHOICE_7"));
    repo.git(["rm", "--quiet", "src/gone.rs"]);
    repo.write("data.dat", "\0two");
    // What is left out for another reason as well has credentials all the same.
    repo.write(".codeweaverignore", ".env\n");
    repo.write("deploy.ini", format!("aws_secret_access_key = {SECRET}\n"));
    repo.commit("change <u>all</u> of it");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn a_commit_shows_its_lines_and_what_is_not_shown() {
    let repo = repo();
    let [head, parent] = ["HEAD", "HEAD^"].map(|rev| repo.git_text(["rev-parse", rev]).trim().to_owned());
    let server = Server::start(&repo, &[]);
    let page = server.get(&format!("changes?rev={head}"));
    assert_eq!(page.status, 200, "{page:#?}");
    let body = &page.body;

    for (rev, class, sign, number) in [(&parent, "removed", "−", "7"), (&head, "added", "+", "9")] {
        let line = format!(
            "<span class=\"line {class}\"><a class=\"n\" href=\"/file?path=src/prices.rs&amp;rev={rev}&amp;lines=3#L3\" \
             tabindex=\"-1\">3</a><span class=\"sign\">{sign}</span><code>    <span class=\"k\">let</span> base = \
             <span class=\"i\">{number}</span>;"
        );
        assert!(body.contains(&line), "{line}\n\n{body}");
    }
    for part in [
        "change &lt;u&gt;all&lt;/u&gt; of it",
        "The &lt;b&gt;price&lt;/b&gt; of some pieces",
        "In &lt;i&gt;cents&lt;/i&gt;",
        "LABEL_7",
        "NAME_7",
        "was ",
        "not shown: binary",
        "not shown: deleted",
    ] {
        assert!(body.contains(part), "{part}\n\n{body}");
    }

    // One has credentials by its contents, and one had them by its name.
    assert_eq!(body.matches("not shown: secret").count(), 2, "{body}");
    for hidden in [SECRET, "hunter2", "CHOICE_7", "<u>", "<i>"] {
        assert!(!body.contains(hidden), "{hidden}\n\n{body}");
    }
}

#[test]
fn changes_of_a_file_a_definition_and_the_working_tree() {
    let repo = repo();
    let server = Server::start(&repo, &[]);
    let body = |path: &str| server.get(path).body;

    let of_file = body("changes?rev=HEAD&path=src/prices.rs");
    assert!(of_file.contains("In &lt;i&gt;cents") && !of_file.contains("LABEL_7"), "{of_file}");
    let of_symbol = body("changes?rev=HEAD&path=src/prices.rs&symbol=tax");
    assert!(of_symbol.contains("In &lt;i&gt;cents") && !of_symbol.contains("let</span> base"), "{of_symbol}");
    let of_renamed = body("changes?rev=HEAD&path=src/labels.rs");
    assert!(of_renamed.contains("LABEL_7") && of_renamed.contains("names.rs"), "{of_renamed}");
    let first = body("changes?rev=HEAD~1&path=src/prices.rs");
    assert!(first.contains("line added") && !first.contains("line removed"), "{first}");
    assert!(body("changes?rev=HEAD~1&path=src/labels.rs").contains("Nothing differs"));
    assert_eq!(server.get("changes?rev=nowhere").status, 404);

    repo.write("src/prices.rs", PRICES.replace("base * count", "base * count * 2"));
    let file = body("file?path=src/prices.rs");
    assert!(file.contains("href=\"/changes?path=src/prices.rs\""), "{file}");
    let uncommitted = body("changes?path=src/prices.rs");
    assert!(uncommitted.contains("base * count * <span class=\"i\">2</span>"), "{uncommitted}");
}

#[test]
fn a_bare_repository_shows_its_last_commit() {
    let repo = repo();
    let bare = TestRepo::empty_dir();
    bare.git(["clone", "--quiet", "--bare", repo.root().to_str().unwrap(), "."]);
    bare.codeweaver(["init", "--no-hooks"]).success();

    let body = Server::start(&bare, &[]).get("changes?path=src/prices.rs").body;
    assert!(body.contains("In &lt;i&gt;cents") && !body.contains("Uncommitted"), "{body}");
    assert!(
        body.contains("git show --first-parent HEAD -- ") && body.contains(":(top,literal)src/prices.rs"),
        "{body}"
    );
}

#[test]
fn a_history_leads_to_the_changes_of_each_commit() {
    let repo = repo();
    let head = repo.git_text(["rev-parse", "HEAD"]);
    let server = Server::start(&repo, &[]);
    let of_file = server.get("history?path=src/labels.rs").body;
    let link = format!("href=\"/changes?rev={}&amp;path=src/labels.rs\"", head.trim());
    assert!(of_file.contains(&link), "{link}\n\n{of_file}");
    let of_symbol = server.get("history?path=src/prices.rs&symbol=tax").body;
    let link = format!("href=\"/changes?rev={}&amp;path=src/prices.rs&amp;symbol=tax\"", head.trim());
    assert!(of_symbol.contains(&link), "{link}\n\n{of_symbol}");
}

#[test]
fn a_large_commit_is_cut_and_says_so() {
    let repo = TestRepo::with_files(&[("a.rs", "pub fn a() {}\n")]);
    let lines =
        |name: &str| (0..2_000).map(|n| format!("pub const {name}_{n}: u32 = {n};\n")).collect::<String>();
    repo.write("b.rs", lines("B"))
        .write("c.rs", lines("C"))
        .write("d.rs", lines("D"))
        .commit("add many lines");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let server = Server::start(&repo, &[]);
    let body = server.get("changes?rev=HEAD").body;
    assert_eq!(body.matches("class=\"line added\"").count(), 3_000);
    assert!(body.contains("1,000 more lines not shown"), "{}", &body[body.len() - 3_000..]);
    assert!(body.contains("href=\"/changes?rev=HEAD&amp;path=d.rs\">Show the lines"));
}
