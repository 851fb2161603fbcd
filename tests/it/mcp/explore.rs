//! The functions to read for a task: whole, few, in the order of reading, within the limit.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

/// A task as an issue has it.
const TASK: &str = "Totals of carts with a large discount are negative\n\n\
    `apply_discount` subtracts the discount from the sum without a bound. A cart with a discount of 120 percent \
    has a negative total. The discount must not exceed the sum.";

const CART: &str = "\
from shop.money import round_to_cents


class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self, discount):
        \"\"\"The sum of the prices without the discount.\"\"\"
        return self.apply_discount(sum(self.prices), discount)

    def apply_discount(self, amount, percent):
        \"\"\"Subtracts a discount in percent.\"\"\"
        reduced = amount - amount * percent / 100
        return round_to_cents(reduced)

    def is_empty(self):
        return not self.prices
";

const MONEY: &str = "\
def round_to_cents(value):
    return int(value * 100 + 0.5) / 100


def in_words(value):
    return str(value)
";

const TEST: &str = "\
from shop.cart import Cart


def test_half_price():
    assert Cart([10]).apply_discount(10, 50) == 5
";

fn shop() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("shop/cart.py", CART),
        ("shop/money.py", MONEY),
        ("tests/test_cart.py", TEST),
        ("README.md", "# Shop\n\nA shop with carts.\n"),
    ]);
    for i in 0..20 {
        let text = format!(
            "def send_mail_{i}(address):\n    connection = connect(address)\n    connection.send({i})\n"
        );
        repo.write(&format!("shop/mail_{i}.py"), text);
    }
    repo.commit("first").git(["tag", "v1"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// The numbers of the lines of code that an answer shows of `path`, in its order.
fn shown(answer: &str, path: &str) -> Vec<u32> {
    let mut of = "";
    let mut numbers = Vec::new();
    for line in answer.lines() {
        match line.split_once('\t').and_then(|(number, _)| number.parse().ok()) {
            Some(number) if of == path => numbers.push(number),
            Some(_) => {}
            None => of = line.split(':').next().unwrap_or_default(),
        }
    }
    numbers
}

#[test]
fn the_answer_to_a_task_is_the_whole_functions_that_it_is_about() {
    let repo = shop();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": TASK }));
    assert!(text.contains(" to read\n"), "{text}");

    // The decisive function is whole, with the numbers of its lines.
    let of_cart = shown(&text, "shop/cart.py");
    assert!((12..=15).all(|number| of_cart.contains(&number)), "{text}");
    assert!(text.contains("14\t        reduced = amount - amount * percent / 100\n"), "{text}");
    assert!(of_cart.is_sorted(), "{text}");

    // What has nothing to do with the task is not shown, and a test is named.
    assert!(!text.contains("connection"), "{text}");
    assert_eq!(shown(&text, "tests/test_cart.py"), [0; 0], "{text}");
    let (_, tests) = text.split_once("tests:\n").expect("a test calls the function");
    assert!(tests.starts_with("tests/test_cart.py:4-5 test test_half_price\n"), "{text}");
}

#[test]
fn a_text_of_several_lines_is_a_task_unless_the_call_asks_for_matches() {
    let repo = shop();
    let mut client = McpClient::start(&repo);
    let mut is_explored = |arguments: Value| client.text("find_code", arguments).contains(" to read\n");
    let short = "discount of a cart";

    assert!(is_explored(json!({ "query": TASK })));
    assert!(is_explored(json!({ "query": short, "explore": true })));
    for matches in [
        json!({ "query": short }),
        json!({ "query": TASK, "explore": false }),
        json!({ "query": TASK, "max_results": 3 }),
        json!({ "query": TASK, "locations_only": true }),
        json!({ "queries": [TASK] }),
    ] {
        assert!(!is_explored(matches.clone()), "{matches}");
    }

    let refused = client.refused("find_code", json!({ "queries": [short], "explore": true }));
    assert!(refused.contains("`explore` needs one `query`"), "{refused}");
}

#[test]
fn structured_content_has_the_functions_of_the_text() {
    let repo = shop();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": TASK }));
    let answer = client.ask("find_code", json!({ "query": TASK, "explore": true }));

    let functions = answer["functions"].as_array().unwrap();
    assert_eq!(text.lines().next().unwrap().split(' ').next().unwrap(), functions.len().to_string());
    let best = functions.iter().find(|it| it["name"] == "Cart.apply_discount").unwrap();
    assert_eq!((&best["path"], &best["lines"]), (&json!("shop/cart.py"), &json!([12, 15])));
    assert!(best["code"].as_str().unwrap().starts_with("    def apply_discount("), "{best}");
    assert_eq!(answer["tests"][0]["path"], "tests/test_cart.py");
}

#[test]
fn a_called_function_of_another_file_is_shown_or_named() {
    let repo = shop();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": TASK, "paths": ["shop/cart.py"] }));
    assert!(text.contains("shop/money.py:1-2 function round_to_cents\n"), "{text}");
    assert!(!text.contains("in_words"), "{text}");
}

#[test]
fn the_limit_is_hard_and_the_best_function_is_shown_in_part() {
    let repo = TestRepo::init();
    let mut long = "def apply_discount(amount, percent):\n".to_owned();
    (0..200).for_each(|i| long.push_str(&format!("    value_{i} = amount * {i}\n")));
    long.push_str("    negative = amount - discount_of_the_cart(percent)\n    return negative\n");
    repo.write("shop/cart.py", long).commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();

    let mut client = McpClient::start(&repo);
    for limit in (200..2500).step_by(115) {
        let text = client.text("find_code", json!({ "query": TASK, "token_limit": limit }));
        assert!(tokens::count(&text) <= limit, "{limit}: {text}");

        let answer = client.ask("find_code", json!({ "query": TASK, "token_limit": limit, "explore": true }));
        if answer.get("functions").is_some() {
            assert!(tokens::count(&answer.to_string()) <= limit, "{limit}: {answer}");
        } else {
            // The frame of matches in JSON does not fit a small limit, nor does a function then.
            assert!(limit < 1000 && answer["matches"] == json!([]), "{limit}: {answer}");
        }
    }

    let text = client.text("find_code", json!({ "query": TASK, "token_limit": 600 }));
    assert!(text.contains("1\tdef apply_discount("), "{text}");
    assert!(text.contains("202\t    negative = amount - discount_of_the_cart(percent)\n"), "{text}");
    assert!(!text.contains("value_100"), "{text}");
}

#[test]
fn a_revision_is_explored_as_it_was() {
    let repo = shop();
    repo.write("shop/cart.py", format!("# A comment.\n\n{CART}")).commit("move everything down");
    repo.codeweaver(["index"]).success();
    let mut client = McpClient::start(&repo);

    let now = client.text("find_code", json!({ "query": TASK }));
    assert!(now.contains("16\t        reduced = amount"), "{now}");
    let then = client.text("find_code", json!({ "query": TASK, "rev": "v1" }));
    assert!(then.contains("14\t        reduced = amount"), "{then}");

    // The working tree counts, too.
    repo.write("shop/cart.py", format!("# One.\n# Two.\n# Three.\n\n{CART}"));
    let edited = client.text("find_code", json!({ "query": TASK }));
    assert!(edited.contains("18\t        reduced = amount"), "{edited}");
}

#[test]
fn a_task_about_a_document_is_answered_by_matches() {
    let repo = TestRepo::with_files(&[(
        "docs/discounts.md",
        "# Discounts\n\nA discount of a cart is in percent of the sum of its prices. Totals are never negative.\n",
    )]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": TASK }));
    assert!(!text.contains(" to read\n") && text.contains("docs/discounts.md:"), "{text}");
}
