//! Decision: the definition that answers whatever the text says, because it is known, the query names its
//! line or consists of its name, or the file was found for its sake.

use std::cmp::Reverse;

use codeweaver_store::records::RowRecord;
use codeweaver_store::symbols::SymbolRecord;

use super::{FoundChunk, InFile};
use crate::query::answer::evidence::Evidence;
use crate::query::parse::mentions;
use crate::query::retrieve::name_forms::is_declaration;

impl InFile<'_> {
    /// The chunk and the definition that are decided without the text: the definition is known, it has the
    /// line that the query names, it alone has the name that the query consists of, or it is the entry point.
    pub(super) fn decision(&self) -> Option<(usize, Option<usize>)> {
        let evidence = self.by.evidence;
        if let Some(bytes) = evidence.known_in(self.chunks[0].id) {
            let known = self.overlapping[0].iter().copied().find(|&position| {
                let record = &self.definitions[position].record;
                (record.start_byte..record.end_byte) == *bytes
            });
            return Some((0, known));
        }

        for (chunk, FoundChunk { id, .. }) in self.chunks.iter().enumerate() {
            let (_, row) = self.view.row(*id);
            if let Some(line) = self.mentioned_line(row, evidence) {
                // Those around others come first, so the last one is the innermost.
                let innermost = self.overlapping[chunk].iter().copied().rfind(|&position| {
                    let record = &self.definitions[position].record;
                    (record.start_line..=record.end_line).contains(&line)
                });
                return Some((chunk, innermost));
            }
        }

        let decided = self.declaration().or_else(|| self.entry_point())?;
        Some((self.definitions[decided].chunk, Some(decided)))
    }

    /// The definition that declares the name that the query consists of, if it is one: of a type and its
    /// constructors the type. Of several others, the texts decide.
    fn declaration(&self) -> Option<usize> {
        let declaring: Vec<usize> = (0..self.definitions.len()).filter(|&i| self.declares(i)).collect();
        let (first, is_around) = self.outermost(&declaring)?;
        is_around.then_some(first)
    }

    /// The definition at which the ranking has a reader begin.
    fn entry_point(&self) -> Option<usize> {
        let wanted = self.entry_point?;
        self.definitions.iter().position(|definition| {
            let SymbolRecord { start_byte, end_byte, qualified_name, .. } = definition.record;
            (start_byte, end_byte) == (wanted.start_byte, wanted.end_byte)
                && qualified_name == wanted.qualified_name
        })
    }

    /// The first of the definitions at `positions`, and whether it is around all others.
    pub(super) fn outermost(&self, positions: &[usize]) -> Option<(usize, bool)> {
        let first = positions.iter().copied().min_by_key(|&i| {
            let SymbolRecord { start_byte, end_byte, .. } = self.definitions[i].record;
            (start_byte, Reverse(end_byte))
        })?;
        let end = self.definitions[first].record.end_byte;
        Some((first, positions.iter().all(|&i| self.definitions[i].record.end_byte <= end)))
    }

    /// Returns whether definition `i` has the single name of the query in its case and with its qualifier.
    pub(super) fn declares(&self, i: usize) -> bool {
        let evidence = self.by.evidence;
        if !evidence.is_single_name() || !evidence.kinds.is_empty() {
            return false;
        }
        let Some((name, _)) = self.by.names.first() else { return false };

        let definition = &self.definitions[i];
        let qualified = definition.qualified_name;
        let has_qualifier = name.has_qualifier(qualified) || name.has_place(qualified, self.path);
        let SymbolRecord { kind, nesting, .. } = definition.record;
        definition.begins_here
            && has_qualifier
            && name.is_name(definition.name)
            && is_declaration(kind, nesting)
    }

    /// The first line of the chunk that the query names.
    fn mentioned_line(&self, row: &RowRecord, evidence: &Evidence) -> Option<u32> {
        let lines = row.start_line..=row.end_line;
        let of_path = evidence.mentions.iter().filter(|mention| mentions::fit(mention, self.path) > 0.0);
        of_path.filter_map(|mention| mention.line).find(|line| lines.contains(line))
    }
}
