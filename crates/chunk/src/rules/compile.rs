//! Compiles the data files of the grammars to [`Rules`].

use tree_sitter::Language;

use super::{Condition, KindInfo, NameFrom, PLAIN, Path, Rules, Step, SymbolRule};
use crate::{SemanticClass, SymbolKind};

const SYMBOLS: &str = include_str!("../data/symbols.txt");
const CLASSES: &str = include_str!("../data/classes.txt");

/// Compiles the sections of the grammar `name`. Kinds and fields that the grammar lacks are ignored.
pub(super) fn compile(name: &str, language: &Language) -> Rules {
    Compiler { language, problems: Vec::new() }.compile(name)
}

/// Compiles the sections of a grammar. `problems` lists names that the grammar does not have.
struct Compiler<'a> {
    language: &'a Language,
    problems: Vec<String>,
}

impl Compiler<'_> {
    fn compile(&mut self, name: &str) -> Rules {
        let count = self.language.node_kind_count();
        let mut kinds = vec![PLAIN; count];
        for (id, info) in kinds.iter_mut().enumerate() {
            info.named = self.language.node_kind_is_named(id as u16);
        }

        self.classes(name, &mut kinds);

        let mut rules = Rules {
            kinds,
            rules: Vec::new(),
            openers: Vec::new(),
            separator: ".",
            constructors: Vec::new(),
            test_names: Vec::new(),
            test_evidence: Vec::new(),
            test_owners: Vec::new(),
            test_member: String::new(),
            test_markers: Vec::new(),
            inner_doc: None,
            constructor_is_class_name: false,
        };

        let mut definitions: Vec<(Vec<u16>, SymbolRule)> = Vec::new();
        for line in section(SYMBOLS, name) {
            match line.strip_prefix('@') {
                Some(directive) => self.directive(directive, &mut rules),
                None => definitions.extend(self.definition(line)),
            }
        }

        // Makes the rules of one kind adjacent, in the order of the file.
        definitions.sort_by_key(|(kinds, _)| kinds.first().copied());
        for (ids, rule) in definitions {
            for id in ids {
                let Some(info) = rules.kinds.get_mut(usize::from(id)) else { continue };
                if info.rules == 0 {
                    info.first_rule = rules.rules.len() as u16;
                }
                info.rules += 1;
            }
            rules.rules.push(rule);
        }

        rules
    }

    /// Applies a line that begins with `@`.
    fn directive(&mut self, directive: &'static str, rules: &mut Rules) {
        let mut words = directive.split_whitespace();
        let name = words.next().unwrap_or_default();
        let words: Vec<&'static str> = words.collect();

        match name {
            "separator" => {
                let separator = words.first().copied().unwrap_or(".");
                rules.separator = if separator == "\\s" { " " } else { separator };
            }
            "comment" => self.flag(&words, rules, |info| info.comment = true),
            "follow" => self.flag(&words, rules, |info| info.follow = true),
            "attach" => self.flag(&words, rules, |info| info.attach = true),
            "skip" => self.flag(&words, rules, |info| info.skip = true),
            "open" => self.opener(&words, rules),
            "constructor" => rules.constructors = words,
            "constructor-is-class-name" => rules.constructor_is_class_name = true,
            "test-name" => rules.test_names = words,
            "test-evidence" => rules.test_evidence = words,
            "test-owner" => rules.test_owners = words,
            "test-member" => rules.test_member = words.join(" "),
            "test-marker" => rules.test_markers = words,
            "inner-doc" => rules.inner_doc = words.first().map(|path| self.path(path)),
            _ => self.problems.push(format!("unknown directive @{name}")),
        }
    }

    /// Calls `set` for the properties of every kind that `words` names.
    fn flag(&mut self, words: &[&str], rules: &mut Rules, set: fn(&mut KindInfo)) {
        for id in words.iter().flat_map(|word| self.ids(word)).collect::<Vec<_>>() {
            if let Some(info) = rules.kinds.get_mut(usize::from(id)) {
                set(info);
            }
        }
    }

    /// Adds a kind of nodes that may be opened, with its conditions.
    fn opener(&mut self, words: &[&'static str], rules: &mut Rules) {
        let Some((kind, options)) = words.split_first() else { return };
        self.flag(&[kind], rules, |info| info.may_open = true);

        let mut conditions = Vec::new();
        for option in options {
            match self.condition(option) {
                Some(condition) => conditions.push(condition),
                None => self.problems.push(format!("unknown condition `{option}`")),
            }
        }
        rules.openers.push((self.ids(kind), conditions));
    }

    /// Compiles a line `kind SymbolKind name-path [option=value]…` to node kinds and their rule.
    fn definition(&mut self, line: &'static str) -> Option<(Vec<u16>, SymbolRule)> {
        let mut words = line.split_whitespace();
        let (node_kind, kind, name) = (words.next()?, words.next()?, words.next()?);
        let Some(kind) = symbol_kind(kind) else {
            self.problems.push(format!("unknown symbol kind in `{line}`"));
            return None;
        };

        let name = match name.strip_prefix('=') {
            Some(fixed) => NameFrom::Fixed(fixed),
            None if name == "declarator" => NameFrom::Declarator,
            None if name == "head" => NameFrom::Head,
            None => NameFrom::Path(self.path(name)),
        };

        let mut rule = SymbolRule {
            kind,
            name,
            scope: None,
            body: self.default_body(),
            conditions: Vec::new(),
            merge: false,
            verbatim: matches!(
                kind,
                SymbolKind::Key | SymbolKind::Selector | SymbolKind::Resource | SymbolKind::Test
            ),
            max_nesting: u8::MAX,
            class: None,
        };
        for option in words {
            self.option(option, &mut rule, line);
        }

        Some((self.ids(node_kind), rule))
    }

    /// Applies one option of a definition to its rule.
    fn option(&mut self, option: &'static str, rule: &mut SymbolRule, line: &str) {
        if let Some(condition) = self.condition(option) {
            rule.conditions.push(condition);
            return;
        }

        let (option, value) = option.split_once('=').unwrap_or((option, ""));
        match option {
            "scope" => rule.scope = Some(self.path(value)),
            "body" => rule.body = self.path(value),
            "merge" => rule.merge = true,
            "verbatim" => rule.verbatim = true,
            "nesting" => rule.max_nesting = value.parse().unwrap_or(u8::MAX),
            "class" => rule.class = SemanticClass::by_name(value),
            _ => self.problems.push(format!("unknown option in `{line}`")),
        }
    }

    /// Compiles an option that is a condition.
    fn condition(&mut self, option: &'static str) -> Option<Condition> {
        let (option, value) = option.split_once('=')?;
        // Conditions on a node have a list after its path.
        let (path, list) = value.split_once('~').unwrap_or((value, ""));

        Some(match option {
            "has" => Condition::Has(self.path(value)),
            "lacks" => Condition::Lacks(self.path(value)),
            "is" => Condition::Is(self.path(path), self.kinds(list)),
            "text" => Condition::Text(self.path(path), list.split(',').collect()),
            "not" => Condition::NotText(self.path(path), list.split(',').collect()),
            "in" => Condition::In(self.kinds(value)),
            _ => return None,
        })
    }

    /// Returns the path to the field `body`, empty if the grammar has no such field.
    fn default_body(&self) -> Path {
        let field = self.language.field_id_for_name("body");
        Path(field.into_iter().map(|id| vec![Step::Field(id.get())]).collect())
    }

    /// Compiles a path: `f:field`, `k:kind,kind`, `e:kind,kind`, `d:kind,kind` or `n:position`, chained by
    /// `/`, alternatives separated by `|`; `.` is the node itself.
    fn path(&mut self, text: &str) -> Path {
        let mut alternatives = Vec::new();
        for alternative in text.split('|') {
            let steps: Option<Vec<Step>> =
                alternative.split('/').filter(|step| *step != ".").map(|step| self.step(step)).collect();
            match steps {
                Some(steps) => alternatives.push(steps),
                None => self.problems.push(format!("path `{alternative}`")),
            }
        }
        Path(alternatives)
    }

    fn step(&mut self, text: &str) -> Option<Step> {
        let (step, value) = text.split_once(':')?;
        match step {
            "f" => self.language.field_id_for_name(value).map(|id| Step::Field(id.get())),
            "k" => Some(Step::Child(self.kinds(value))),
            "e" => Some(Step::Each(self.kinds(value))),
            "d" => Some(Step::Descendant(self.kinds(value))),
            "n" => value.parse().ok().map(Step::Nth),
            _ => None,
        }
    }

    fn kinds(&mut self, list: &str) -> Vec<u16> {
        list.split(',').flat_map(|kind| self.ids(kind)).collect()
    }

    /// Returns all ids of a kind; aliases give some kinds several. Named kinds win over anonymous ones of the
    /// same name.
    fn ids(&mut self, kind: &str) -> Vec<u16> {
        let mut ids = self.ids_of(kind, true);
        if ids.is_empty() {
            ids = self.ids_of(kind, false);
        }
        if ids.is_empty() {
            self.problems.push(format!("kind `{kind}`"));
        }
        ids
    }

    fn ids_of(&self, kind: &str, named: bool) -> Vec<u16> {
        (0..self.language.node_kind_count() as u16)
            .filter(|&id| self.language.node_kind_is_named(id) == named)
            .filter(|&id| self.language.node_kind_for_id(id) == Some(kind))
            .collect()
    }

    /// Sets the classes of kinds from the general section, then from the section of the language, which takes
    /// precedence.
    fn classes(&mut self, name: &str, kinds: &mut [KindInfo]) {
        let names: Vec<&str> = (0..kinds.len())
            .map(|id| self.language.node_kind_for_id(id as u16).unwrap_or_default())
            .collect();

        for (section_name, exact) in [("*", false), (name, true)] {
            for line in section(CLASSES, section_name) {
                let mut words = line.split_whitespace();
                let class = words.next().and_then(SemanticClass::by_name);
                let Some(class) = class else {
                    self.problems.push(format!("class line `{line}`"));
                    continue;
                };

                for word in words {
                    let mut found = false;
                    for (info, kind) in kinds.iter_mut().zip(&names) {
                        if info.named && glob(kind, word) {
                            info.class = class;
                            found = true;
                        }
                    }
                    // The general section names kinds of all grammars, so a kind may be missing there.
                    if exact && !found {
                        self.problems.push(format!("class of kind `{word}`"));
                    }
                }
            }
        }
    }
}

/// Returns whether `text` matches `pattern`, with `*` at its start, its end or both.
fn glob(text: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) if pattern.len() >= 2 => text.contains(&pattern[1..pattern.len() - 1]),
        (Some(suffix), None) => text.ends_with(suffix),
        (None, Some(prefix)) => text.starts_with(prefix),
        _ => text == pattern,
    }
}

/// Returns the lines of all sections whose header lists `name`, without comments (`# `) and blank lines.
fn section(file: &'static str, name: &str) -> Vec<&'static str> {
    let mut lines = Vec::new();
    let mut inside = false;

    for line in file.lines() {
        let line = line.split_once(" # ").map_or(line, |(before, _)| before).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }

        match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(header) => inside = header.split_whitespace().any(|word| word == name),
            None if inside => lines.push(line),
            None => {}
        }
    }

    lines
}

fn symbol_kind(name: &str) -> Option<SymbolKind> {
    use SymbolKind as K;

    Some(match name {
        "Function" => K::Function,
        "Method" => K::Method,
        "Constructor" => K::Constructor,
        "Class" => K::Class,
        "Struct" => K::Struct,
        "Enum" => K::Enum,
        "EnumMember" => K::EnumMember,
        "Interface" => K::Interface,
        "Trait" => K::Trait,
        "Impl" => K::Impl,
        "TypeAlias" => K::TypeAlias,
        "Module" => K::Module,
        "Namespace" => K::Namespace,
        "Constant" => K::Constant,
        "Variable" => K::Variable,
        "Field" => K::Field,
        "Property" => K::Property,
        "Macro" => K::Macro,
        "Test" => K::Test,
        "Object" => K::Object,
        "Key" => K::Key,
        "Selector" => K::Selector,
        "Table" => K::Table,
        "Resource" => K::Resource,
        "Other" => K::Other,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar;
    use crate::rules::matches_word;

    #[test]
    fn the_data_files_name_only_what_the_grammars_have() {
        let mut problems = Vec::new();
        for index in 0..grammar::GRAMMARS.len() {
            let name = grammar::GRAMMARS[index].name;
            let language = &grammar::loaded(index).language;
            let mut compiler = Compiler { language, problems: Vec::new() };
            let rules = compiler.compile(name);
            problems.extend(compiler.problems.into_iter().map(|problem| format!("{name}: {problem}")));
            if rules.rules.is_empty() {
                problems.push(format!("{name}: no symbol rules"));
            }
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn globs_and_words() {
        assert!(
            glob("if_statement", "if_*") && glob("if_statement", "*_statement") && glob("x_call_y", "*call*")
        );
        assert!(!glob("if_statement", "statement"));
        assert!(
            matches_word(b"test_x", "test_*")
                && matches_word(b"x_test", "*_test")
                && !matches_word(b"a", "b")
        );
    }
}
