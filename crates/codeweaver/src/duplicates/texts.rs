//! Texts: the definitions of a view with the same tokens, taken together.

use rustc_hash::FxHashMap;

use super::definitions::Definitions;
use super::fingerprint::Fingerprint;

/// Definitions with the same tokens.
#[derive(Debug)]
pub struct Text {
    /// Positions of the definitions, ascending.
    pub definitions: Vec<usize>,
    pub is_callable: bool,
    /// The largest number of lines of one.
    pub n_lines: u32,
    pub fingerprint: Fingerprint,
}

impl Text {
    /// The first of the definitions, which stands for all.
    pub fn first(&self) -> usize {
        self.definitions[0]
    }
}

/// Takes the definitions together whose fingerprints, ascending by position, are those of the same tokens.
pub fn texts(definitions: &Definitions<'_>, fingerprints: Vec<(usize, Fingerprint)>) -> Vec<Text> {
    let mut places: FxHashMap<(u64, u32, bool), usize> = FxHashMap::default();
    let mut texts: Vec<Text> = Vec::new();

    for (at, fingerprint) in fingerprints {
        let definition = &definitions.list[at];
        let is_callable = definition.kind().is_callable();
        let key = (fingerprint.exact, fingerprint.n_tokens, is_callable);

        let place = *places.entry(key).or_insert(texts.len());
        if place == texts.len() {
            texts.push(Text { definitions: Vec::new(), is_callable, n_lines: 0, fingerprint });
        }
        let text = &mut texts[place];
        text.definitions.push(at);
        text.n_lines = text.n_lines.max(definition.n_lines());
    }

    texts
}
