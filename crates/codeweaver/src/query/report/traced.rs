//! Traced functions: the definitions that the frames of a trace name, in the files that were found.

use std::ops::Range;

use rustc_hash::FxHashMap;

use codeweaver_store::symbols::SymbolRecord;

use super::frames;
use crate::query::definitions::kind_of;
use crate::query::locate;
use crate::query::parse::mentions;
use crate::query::parse::names::last_segment;
use crate::query::parse::report::trace::Frame;
use crate::query::rank::RankedFile;
use crate::query::rank::intent_fit::look_into;
use crate::query::view::{RowId, View};

/// Number of best files in which traced functions are looked for.
const MAX_FILES: usize = 10;
/// Minimum fit of a file to the path of a frame: a folder agrees, or the frame has none.
const MIN_FIT: f32 = 0.7;

/// Moves the chunk that has the function of the innermost of `frames` to the front of each of the best
/// `files`, and returns the bytes of these functions by chunk. A function counts only if the line of its
/// frame is in it: versions differ, and a name alone may be that of another overload.
pub fn show(view: &View, files: &mut [RankedFile], frames: &[&Frame]) -> FxHashMap<RowId, Range<u32>> {
    let mut known = FxHashMap::default();
    if frames.is_empty() {
        return known;
    }

    for file in files.iter_mut().take(MAX_FILES) {
        let (path, _) = view.entry(file.entry);
        let mut of_file =
            frames.iter().filter(|frame| mentions::fit(&frames::mention(frame), path) >= MIN_FIT);
        let found = of_file.find_map(|frame| definition(view, file.doc, frame));

        if let Some((id, symbol)) = found {
            look_into(file, id, 0);
            known.insert(id, symbol.start_byte..symbol.end_byte);
        }
    }
    known
}

/// The innermost definition of a doc that has the name and the line of `frame`, with the row in which it
/// begins.
fn definition(view: &View, doc: u32, frame: &Frame) -> Option<(RowId, SymbolRecord)> {
    let (line, function) = (frame.line?, last_segment(frame.function.as_deref()?));

    let mut innermost: Option<(RowId, SymbolRecord)> = None;
    for id in locate::rows(view, doc) {
        let (segment, row) = view.row(id);
        for symbol in segment.symbols_of(row) {
            let has_line = (symbol.start_line..=symbol.end_line).contains(&line);
            let is_inner = innermost.is_none_or(|(_, known)| known.start_byte <= symbol.start_byte);
            if has_line && is_inner && kind_of(&symbol).is_callable() && segment.name(symbol.name) == function
            {
                innermost = Some((id, symbol));
            }
        }
    }
    innermost
}
