//! The page of a definition: the lines of code at its uses.

use codeweaver_testkit::TestRepo;

use crate::support::server::Server;

const PRICES: &str =
    "/// The price of some pieces.\npub fn piece_price(count: u32) -> u32 {\n    count * 7\n}\n";
const ORDERS: &str = "\
use super::prices::piece_price;

pub fn total(counts: &[u32]) -> u32 {
    let mut sum = 0;
    for count in counts {
        sum += piece_price(*count); // in <b>cents</b>
    }
    sum
}
";
const DRAFT: &str = "\
use super::prices::piece_price;

pub fn draft() -> u32 {
    piece_price(3)
}
";
const TEST: &str = "\
use super::prices::piece_price;

#[test]
fn pieces_have_a_price() {
    let price = piece_price(1);
    assert_eq!(price, 7);
}
";

/// A line of the page that begins with `before` and calls the function.
fn call(before: &str, after: &str) -> String {
    let name = "<mark><span class=\"f\">piece_price</span></mark>";
    format!("<div class=\"line\"><code>{before}{name}{after}</code></div>")
}

fn number(number: u32) -> String {
    format!("(<span class=\"i\">{number}</span>)")
}

#[test]
fn uses_show_their_lines_of_code() {
    let repo = TestRepo::with_files(&[
        ("src/prices.rs", PRICES),
        ("src/orders.rs", ORDERS),
        ("src/prices_test.rs", TEST),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    // Above a use, so that its number differs from that in the commit.
    repo.write("src/orders.rs", format!("// Orders.\n\n{ORDERS}"));
    repo.write("src/draft.rs", DRAFT);

    let in_order = call("sum += ", "(*count); <span class=\"c\">// in &lt;b&gt;cents&lt;/b&gt;</span>");
    let in_draft = call("", &number(3));
    let in_test = call("<span class=\"k\">let</span> price = ", &format!("{};", number(1)));

    let server = Server::start(&repo, &[]);
    let [now, committed] =
        ["symbol?symbol=piece_price", "symbol?symbol=piece_price&rev=HEAD"].map(|page| server.get(page).body);
    for line in [&in_order, &in_draft, &in_test] {
        assert!(now.contains(line), "{line}\n\n{now}");
    }
    assert!(now.contains("src/orders.rs&amp;lines=8#L8\""), "{now}");

    for line in [&in_order, &in_test] {
        assert!(committed.contains(line), "{line}\n\n{committed}");
    }
    assert!(committed.contains("&amp;lines=6#L6\"") && !committed.contains(&in_draft), "{committed}");
}
