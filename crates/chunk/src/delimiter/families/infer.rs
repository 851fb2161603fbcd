//! Infers the delimiter family of a text in an unknown language.

/// Number of bytes at the beginning of a text that are read.
const MAX_BYTES: usize = 64 << 10;

/// Infers the family of a text from the beginnings and ends of its lines; `plain_style` if no family stands
/// out.
///
/// Reads at most [`MAX_BYTES`]. Of families with equal scores, the earlier row of [`HINTS`] wins.
pub(super) fn infer_family(text: &str) -> &'static str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }

    let mut scores = [0u32; HINTS.len()];
    let mut n_lines = 0u32;

    for line in text[..end].lines().map(str::trim).filter(|line| !line.is_empty()) {
        n_lines += 1;
        for (score, (_, starts, ends, _)) in scores.iter_mut().zip(&HINTS) {
            let starts = starts.iter().any(|start| line.starts_with(start));
            let ends = ends.iter().any(|end| line.ends_with(end));
            *score += u32::from(starts) + u32::from(ends);
        }
    }

    let best = scores
        .iter()
        .zip(&HINTS)
        .filter(|(score, (_, _, _, per_cent))| **score >= 3 && **score * 100 >= n_lines * per_cent)
        // `max_by_key` returns the last of equals.
        .rev()
        .max_by_key(|(score, _)| **score);

    best.map_or("plain_style", |(_, (family, ..))| family)
}

/// Family, beginnings and ends of lines, and the least number of these per 100 lines.
type Hint = (&'static str, &'static [&'static str], &'static [&'static str], u32);

const HINTS: [Hint; 13] = [
    ("c_style", &["//", "/*", "#include", "#define", "} else"], &[";", "{", "}", "};"], 40),
    ("python_style", &["def ", "class ", "import ", "from ", "elif ", "@"], &["):", "else:", "try:"], 15),
    ("lisp_style", &["(", ";;"], &["))"], 50),
    ("markup_style", &["<", "</", "<!--"], &["/>"], 50),
    ("latex_style", &["\\begin{", "\\end{", "\\section", "\\usepackage", "\\item"], &["\\\\"], 15),
    ("ruby_style", &["def ", "end", "require ", "module ", "attr_"], &[" do", "|"], 25),
    (
        "shell",
        &["if [", "fi", "done", "echo ", "export ", "set -", "esac", "$"],
        &["; then", "; do", ";;", "\\"],
        25,
    ),
    ("sql_style", &["SELECT ", "INSERT ", "CREATE ", "ALTER ", "DROP ", "FROM ", "WHERE "], &[], 20),
    ("config_style", &["["], &["]"], 8),
    ("basic_style", &["Sub ", "End Sub", "Dim ", "End If", "Function ", "Next"], &[" Then"], 25),
    (
        "assembly_style",
        &["mov", "push", "pop", "call", "jmp", "ret", ".globl", ".section", "add", "ld"],
        &[],
        30,
    ),
    ("data_style", &["{", "}", "[", "]", "\""], &["},", "],", "\",", "{", "["], 80),
    ("diff_style", &["+", "-", "@@ "], &[], 40),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_of_a_text_is_inferred_from_its_lines() {
        for (text, family) in [
            ("int main() {\n  int a = 1;\n  return a;\n}\n", "c_style"),
            ("import os\n\ndef f(x):\n    return x\n\nclass A(object):\n    pass\n", "python_style"),
            ("(define (f x)\n  (+ x 1))\n(define y 2)\n(display y)\n", "lisp_style"),
            ("<a>\n  <b>x</b>\n  <c/>\n</a>\n", "markup_style"),
            ("\\section{A}\nwords\n\\begin{itemize}\n\\item one\n\\end{itemize}\n", "latex_style"),
            ("SELECT a\nFROM b\nWHERE c = 1;\n", "sql_style"),
            ("if [ -f x ]; then\n  echo yes\nfi\n", "shell"),
            ("The quick brown fox.\nIt jumps over the dog.\n\nThe end.\n", "plain_style"),
            ("", "plain_style"),
        ] {
            assert_eq!(infer_family(text), family, "{text}");
        }
    }
}
