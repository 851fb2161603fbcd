//! Mentions: files that a query names, compared with the paths of a view.

use codeweaver_text::Mention;

/// Returns the fit of `path` to the path of a mention, 0–1.
///
/// * 1 if they are equal, or one is a suffix of the other by whole components;
/// * 0.8 if the mention is a file name without folders;
/// * 0.7 if several components at the end agree: an installed copy is in other folders;
/// * 0.4 if only the file names agree.
pub fn fit(mention: &Mention, path: &[u8]) -> f32 {
    let named = mention.path.as_bytes();
    let n_parts = |path: &[u8]| path.iter().filter(|&&b| b == b'/').count() + 1;

    let pairs = named.rsplit(|&b| b == b'/').zip(path.rsplit(|&b| b == b'/'));
    let n_common = pairs.take_while(|(a, b)| a == b).count();

    match n_common {
        0 => 0.0,
        n if n == n_parts(path) || (n > 1 && n == n_parts(named)) => 1.0,
        1 if n_parts(named) == 1 => 0.8,
        1 => 0.4,
        _ => 0.7,
    }
}

/// Returns the best [`fit`] of `path` to one of `mentions`; 0 if there are none.
pub fn best_fit(mentions: &[Mention], path: &[u8]) -> f32 {
    mentions.iter().map(|mention| fit(mention, path)).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_components_agree_the_better_the_fit() {
        let fit =
            |named: &str, path: &str| fit(&Mention { path: named.to_owned(), line: None }, path.as_bytes());
        assert_eq!(fit("src/a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("/home/me/src/a/b.rs", "src/a/b.rs"), 1.0);
        assert_eq!(fit("/usr/lib/a/b.rs", "src/a/b.rs"), 0.7);
        assert_eq!(fit("b.rs", "src/a/b.rs"), 0.8);
        assert_eq!(fit("x/b.rs", "src/a/b.rs"), 0.4);
        assert_eq!(fit("xb.rs", "src/a/b.rs"), 0.0);
    }
}
