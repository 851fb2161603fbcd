//! The texts for agents.

/// Text that is the same in every file.
const GUIDE: &str = include_str!("guide.md");

/// When the skill or rule is to be used; agents choose by it.
const DESCRIPTION: &str = "Finds and reads code of this repository by meaning, name or text, with callers and \
    tests. Use it to find where something is, to read several places at once, and before changing or removing a \
    function.";

/// The skill of Claude Code.
pub fn skill() -> String {
    format!(
        "---\nname: git-codeweaver\ndescription: {DESCRIPTION}\n---\n\n# Code search with git-codeweaver\n\n{GUIDE}"
    )
}

/// The rule of Cursor.
pub fn rule() -> String {
    format!("---\ndescription: {DESCRIPTION}\nalwaysApply: true\n---\n\n{GUIDE}")
}

/// The section of a file of instructions.
pub fn section() -> String {
    format!("## Code search\n\n{GUIDE}")
}
