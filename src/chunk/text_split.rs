//! Stand-in until the text splitter lands.

use super::pieces::Piece;
use super::tokens;
use crate::config::ChunkerSettings;

/// Whole lines up to the limit; longer lines by bytes.
pub fn split_text(text: &str, base: u32, limit_tokens: u32, _: &ChunkerSettings) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut start, mut at, mut sum) = (0usize, 0usize, 0u32);
    let mut push = |from: usize, to: usize| {
        if from < to {
            pieces.push(Piece { byte_range: base + from as u32..base + to as u32, delimiter: None });
        }
    };
    for line in text.split_inclusive('\n') {
        let mut from = 0;
        while from < line.len() {
            let mut to = if line.len() - from > limit_tokens as usize {
                from + limit_tokens as usize
            } else {
                line.len()
            };
            while !line.is_char_boundary(to) {
                to += 1;
            }
            let tokens = tokens::count(&line[from..to]);
            if sum + tokens > limit_tokens && sum > 0 {
                push(start, at);
                start = at;
                sum = 0;
            }
            sum += tokens;
            at += to - from;
            from = to;
        }
    }
    push(start, at);
    pieces
}
