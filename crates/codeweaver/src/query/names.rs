//! Names in filters. A name that no language or kind has is an error: as a filter it would match nothing, and
//! the answer would look as if there were no match.

use codeweaver_chunk::{LanguageId, SemanticClass, SymbolKind, language};

use super::error::QueryError;
use super::filters::Filters;

/// Checks that every language and kind of `filters` exists.
pub fn check(filters: &Filters) -> Result<(), QueryError> {
    if let Some(name) = filters.languages.iter().find(|name| LanguageId::by_name(name).is_none()) {
        let known =
            language::all().flat_map(|id| std::iter::once(id.name()).chain(id.aliases().iter().copied()));
        let hint = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use the name of a language, such as `rust`, `python` or `typescript`".to_owned(),
        };
        return Err(unknown("language", name, hint));
    }

    let mut wanted_kinds = filters.kinds.iter();
    if let Some(name) = wanted_kinds.find(|name| !kinds().any(|kind| kind.eq_ignore_ascii_case(name))) {
        let hint = match abbreviated(name).or_else(|| nearest(name, kinds())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "the kinds are {}; classes such as DEFINITION_TYPE are allowed too",
                symbol_kinds().collect::<Vec<_>>().join(", ")
            ),
        };
        return Err(unknown("kind", name, hint));
    }

    Ok(())
}

/// The names of all kinds of symbols.
fn symbol_kinds() -> impl Iterator<Item = &'static str> {
    (0..=u8::MAX).map_while(SymbolKind::from_u8).map(SymbolKind::name)
}

/// The names of all kinds of symbols, then of all semantic classes.
fn kinds() -> impl Iterator<Item = &'static str> {
    symbol_kinds().chain((0..=u8::MAX).map_while(SemanticClass::from_u8).map(SemanticClass::name))
}

fn unknown(filter: &'static str, name: &str, hint: String) -> QueryError {
    let found = name.chars().take(60).flat_map(char::escape_debug).collect();
    QueryError::UnknownName { filter, found, hint }
}

/// Keywords and abbreviations that languages and tools have for kinds.
const ABBREVIATIONS: [(&str, &str); 12] = [
    ("def", "function"),
    ("fn", "function"),
    ("proc", "function"),
    ("subroutine", "function"),
    ("member", "method"),
    ("ctor", "constructor"),
    ("cls", "class"),
    ("iface", "interface"),
    ("protocol", "interface"),
    ("typedef", "type_alias"),
    ("attribute", "property"),
    ("package", "module"),
];

/// Returns the kind that `name` is short for: by its beginning (`func`, `var`), its plural, or by custom.
fn abbreviated(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let singulars = [name.strip_suffix('s'), name.strip_suffix("es")];

    let by_custom = ABBREVIATIONS.iter().find(|(short, _)| *short == name).map(|(_, kind)| *kind);
    by_custom
        .or_else(|| symbol_kinds().find(|kind| singulars.contains(&Some(kind))))
        .or_else(|| symbol_kinds().find(|kind| name.len() >= 2 && kind.starts_with(&name)))
}

/// Returns the known name of which `name` may be a misspelling: with at most one edit for three characters.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 80 {
        return None;
    }

    let name = name.to_ascii_lowercase();
    let allowed = (name.len() / 3).clamp(1, 3);

    known
        .map(|known| (strsim::osa_distance(&name, &known.to_ascii_lowercase()), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(languages: &[&str], kinds: &[&str]) -> Option<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let filters = Filters { languages: owned(languages), kinds: owned(kinds), ..Filters::default() };
        check(&filters).err().map(|error| error.to_string())
    }

    #[test]
    fn every_name_and_alias_is_accepted() {
        for id in language::all() {
            for name in id.aliases().iter().copied().chain([id.name()]) {
                assert_eq!(message(&[name], &[]), None);
            }
        }
        for name in kinds() {
            assert_eq!(message(&[], &[name, &name.to_ascii_uppercase()]), None);
        }
        assert_eq!(kinds().count(), 26 + 22);
        assert_eq!(message(&["C++", "Rust"], &["function", "DEFINITION_TYPE"]), None);
    }

    #[test]
    fn an_unknown_name_is_an_error_with_what_there_is() {
        for (languages, kinds, expected) in [
            (&["pyhton"][..], &[][..], "there is no language 'pyhton'; did you mean `python`?"),
            (&["rust", "quenya"], &[], "there is no language 'quenya'; use the name of a language"),
            (&[], &["functoin"], "there is no kind 'functoin'; did you mean `function`?"),
            (&[], &["func"], "there is no kind 'func'; did you mean `function`?"),
            (&[], &["Def"], "there is no kind 'Def'; did you mean `function`?"),
            (&[], &["classes"], "there is no kind 'classes'; did you mean `class`?"),
            (&[], &["var"], "there is no kind 'var'; did you mean `variable`?"),
            (&[], &["DEFINITION_TYP"], "there is no kind 'DEFINITION_TYP'; did you mean `DEFINITION_TYPE`?"),
            (&[], &["xyzzy"], "there is no kind 'xyzzy'; the kinds are function, method,"),
            (&["\u{1b}[2J"], &[], "there is no language '\\u{1b}[2J'"),
        ] {
            let found = message(languages, kinds).unwrap();
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
