//! Comparison of two definitions, token by token.
//!
//! Two definitions are as similar as one function for both would be simple: every token that only one of them
//! has counts, and every name or literal that differs counts once, because it would become one parameter.
//! Names that a definition declares itself count half.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Class;
use super::align::{self, Pair};
use super::tokens::{Kind, Token};

/// Number of tokens that a difference of a name or literal counts as, in a callable.
const LOCAL_COST: f32 = 0.5;
const OUTER_COST: f32 = 1.0;
const LITERAL_COST: f32 = 1.0;
/// The same for names in a type, whose members are what it consists of.
const MEMBER_COST: f32 = 2.0;

/// Share of these that counts if names are renamed consistently and no token was added or removed. Chance
/// does not make a definition of some length of another's shape.
const RENAMED_SHARE: f32 = 0.5;
/// Number of tokens that only one definition has with their names, for each that it may have by its shape.
/// With more, their names do not tell which correspond.
const NAME_GAPS: usize = 3;

/// The tokens of a definition, and whether it is a callable.
#[derive(Debug, Clone, Copy)]
pub struct Side<'t> {
    pub tokens: &'t [Token],
    pub is_callable: bool,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub class: Class,
    /// 0–1; 1 for identical definitions only.
    pub similarity: f32,
    /// The tokens that correspond to each other.
    pub pairs: Vec<Pair>,
}

/// Maximum number of tokens that only one of two definitions has, with `n_all` tokens together, if they are
/// as similar as `min_similarity`.
pub fn max_gaps(n_all: usize, min_similarity: f32) -> usize {
    ((1.0 - min_similarity) * n_all as f32) as usize
}

/// Compares two definitions. `None` if they are less similar than `min_similarity`.
pub fn compare(one: Side<'_>, two: Side<'_>, min_similarity: f32) -> Option<Comparison> {
    if one.tokens == two.tokens {
        let pairs = (0..one.tokens.len() as u32).map(|at| (at, at)).collect();
        return Some(Comparison { class: Class::Identical, similarity: 1.0, pairs });
    }

    let max_gaps = max_gaps(one.tokens.len() + two.tokens.len(), min_similarity);
    if one.tokens.len().abs_diff(two.tokens.len()) > max_gaps {
        return None;
    }

    let blind = |tokens: &[Token]| tokens.iter().map(|token| token.blind()).collect::<Vec<_>>();
    let (blind_one, blind_two) = (blind(one.tokens), blind(two.tokens));
    let shape = align::common(&blind_one, &blind_two, max_gaps)?;
    let mut best = judge(one, two, shape);

    // Names tell which of several equal shapes correspond, for example in a list with one more member.
    if best.class == Class::Near
        && let Some(pairs) =
            align::by_names((one.tokens, two.tokens), (&blind_one, &blind_two), NAME_GAPS * max_gaps)
    {
        let other = judge(one, two, pairs);
        if other.similarity > best.similarity {
            best = other;
        }
    }

    (best.similarity >= min_similarity).then_some(best)
}

/// The similarity of two definitions whose tokens correspond as `pairs` say.
fn judge(one: Side<'_>, two: Side<'_>, pairs: Vec<Pair>) -> Comparison {
    let n_all = one.tokens.len() + two.tokens.len();
    let n_gaps = n_all - 2 * pairs.len();

    let is_renamed = n_gaps == 0 && is_renaming(one.tokens, two.tokens, &pairs);
    let class = if is_renamed { Class::Renamed } else { Class::Near };

    let changes = changes(one.tokens, two.tokens, &pairs);
    let cost: f32 =
        changes.iter().map(|&(a, b)| cost(a, b, one.is_callable && two.is_callable, is_renamed)).sum();
    let similarity = (1.0 - (n_gaps as f32 + 2.0 * cost) / n_all as f32).clamp(0.0, 0.999);

    Comparison { class, similarity, pairs }
}

/// The different tokens that correspond to each other, each pair once, in order.
pub fn changes(one: &[Token], two: &[Token], pairs: &[Pair]) -> Vec<(Token, Token)> {
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();

    for &(a, b) in pairs {
        let change = (one[a as usize], two[b as usize]);
        if change.0 != change.1 && seen.insert((change.0.as_name(), change.1.as_name())) {
            found.push(change);
        }
    }
    found
}

fn cost(one: Token, two: Token, is_callable: bool, is_renamed: bool) -> f32 {
    let of_name = match (one.kind(), two.kind()) {
        (Kind::Number | Kind::Text, _) => return LITERAL_COST,
        _ if !is_callable => MEMBER_COST,
        (Kind::Local, Kind::Local) => LOCAL_COST,
        _ => OUTER_COST,
    };
    if is_renamed { of_name * RENAMED_SHARE } else { of_name }
}

/// Returns whether each name becomes one name everywhere, and no two become the same.
fn is_renaming(one: &[Token], two: &[Token], pairs: &[Pair]) -> bool {
    let (mut from, mut to) = (FxHashMap::default(), FxHashMap::default());

    let names = pairs.iter().map(|&(a, b)| (one[a as usize], two[b as usize]));
    let mut names = names.filter(|(one, _)| one.is_name()).map(|(one, two)| (one.as_name(), two.as_name()));
    names.all(|(one, two)| *from.entry(one).or_insert(two) == two && *to.entry(two).or_insert(one) == one)
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::LanguageId;

    use super::super::tokens::Tokens;
    use super::*;

    const SUM: &str = "fn sum(values: &[u32], limit: u32) -> u32 {
        let mut total = 0;
        for value in values {
            if *value > limit { log(value); continue; }
            total += value;
        }
        total
    }";

    fn compared(two: &str, name: &str) -> Option<Comparison> {
        compared_texts(SUM, "sum", two, name)
    }

    fn compared_texts(one: &str, first: &str, two: &str, second: &str) -> Option<Comparison> {
        let language = LanguageId::by_name("rust").unwrap();
        let (one, two) = (Tokens::read(one, language, first), Tokens::read(two, language, second));
        let side = |tokens| Side { tokens, is_callable: true };
        compare(side(&one.list), side(&two.list), 0.7)
    }

    #[test]
    fn copies_are_told_apart_by_class() {
        let class = |text: &str| compared(text, "add").map(|comparison| comparison.class);
        let copy = SUM.replace("fn sum", "fn add");
        assert_eq!(class(&copy), Some(Class::Identical));
        assert_eq!(class(&copy.replace("total", "result")), Some(Class::Renamed));
        assert_eq!(class(&copy.replace("= 0", "= 1")), Some(Class::Renamed));

        // The function that is called has the name of the definition by chance.
        let delegating =
            |name: &str| copy.replace("fn add", &format!("fn {name}")).replace("log(", &format!("{name}("));
        let compared = compared_texts(&delegating("min"), "min", &delegating("max"), "max").unwrap();
        assert_eq!(compared.class, Class::Renamed);

        // One place was forgotten, so it is not only a renaming.
        assert_eq!(class(&copy.replacen("total", "result", 1)), Some(Class::Near));
        assert_eq!(class(&copy.replace("log(value);", "")), Some(Class::Near));
        assert_eq!(class("fn add(a: u32) -> u32 { match a { 1 => f(), 2 => g(), _ => h() } }"), None);
    }

    #[test]
    fn more_differences_are_less_similar() {
        let similarity = |text: &str| compared(text, "add").unwrap().similarity;
        let copy = SUM.replace("fn sum", "fn add");
        let one = similarity(&copy.replace("total", "result"));
        let two = similarity(&copy.replace("total", "result").replace("limit", "most"));
        let called = similarity(&copy.replace("log", "warn"));
        let longer = similarity(&copy.replace("total += value;", "total += value; check(total);"));
        assert!(1.0 > one && one > two, "{one} {two}");
        assert!(one > called && called > longer, "{one} {called} {longer}");
    }
}
