//! Titles of chunks.

use super::{Symbol, SymbolKind, doc};

/// Maximum number of symbols named in a title.
const MAX_NAMES: usize = 3;
const MAX_TITLE_CHARS: usize = 100;

impl SymbolKind {
    /// The word for this kind in titles and filters.
    pub fn name(self) -> &'static str {
        use SymbolKind as K;

        match self {
            K::Function => "function",
            K::Method => "method",
            K::Constructor => "constructor",
            K::Class => "class",
            K::Struct => "struct",
            K::Enum => "enum",
            K::EnumMember => "enum_member",
            K::Interface => "interface",
            K::Trait => "trait",
            K::Impl => "impl",
            K::TypeAlias => "type_alias",
            K::Module => "module",
            K::Namespace => "namespace",
            K::Constant => "constant",
            K::Variable => "variable",
            K::Field => "field",
            K::Property => "property",
            K::Macro => "macro",
            K::Test => "test",
            K::Object => "object",
            K::Heading => "heading",
            K::Key => "key",
            K::Selector => "selector",
            K::Table => "table",
            K::Resource => "resource",
            K::Other => "other",
        }
    }
}

/// Returns the title of a definition: `function Type::parse`.
pub(crate) fn of_symbol(symbol: &Symbol) -> String {
    title(std::slice::from_ref(symbol), &[], "")
}

/// Returns the title of a chunk: `function Type::parse, render (+3)`. Without symbols it is made of the
/// enclosing names, else of the first line with a letter or digit.
pub(crate) fn title(symbols: &[Symbol], enclosing: &[String], text: &str) -> String {
    // Among nested definitions only the outermost is named; modules and namespaces are named only if there
    // is nothing else.
    let mut named: Vec<&Symbol> = Vec::new();
    for symbol in symbols.iter().filter(|symbol| !is_namespace(symbol.kind)) {
        if named.last().is_none_or(|last| symbol.byte_range.start >= last.byte_range.end) {
            named.push(symbol);
        }
    }

    if named.is_empty() {
        named = symbols.iter().collect();
    }

    let mut title = String::new();
    if let Some(first) = named.first() {
        title.push_str(first.kind.name());
        title.push(' ');
        title.push_str(&first.qualified_name);
        for symbol in named.iter().skip(1).take(MAX_NAMES - 1) {
            title.push_str(", ");
            title.push_str(&symbol.name);
        }
        if named.len() > MAX_NAMES {
            title.push_str(&format!(" (+{})", named.len() - MAX_NAMES));
        }
    } else if !enclosing.is_empty() {
        title.push_str(&enclosing.join(" > "));
        title.push_str(" (continued)");
    } else {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.clone().next().unwrap_or("…");
        let line = lines.find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or(first);
        let end = line.char_indices().nth(MAX_TITLE_CHARS * 2).map_or(line.len(), |(at, _)| at);
        // Collapsing blanks shortens the line, so twice the limit is enough input.
        doc::collapse(&mut title, &line[..end]);
    }

    if let Some((at, _)) = title.char_indices().nth(MAX_TITLE_CHARS) {
        title.truncate(at);
    }

    title
}

fn is_namespace(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Module | SymbolKind::Namespace)
}
