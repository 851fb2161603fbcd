//! Mutation of bytes, tokens and file structure.

/// Boundary values for arithmetic.
const EDGES: [u64; 18] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    u64::MAX,
];

/// Material for mutations.
pub struct Material<'a> {
    /// Words of the language of the input.
    pub tokens: &'a [&'a [u8]],
    /// Another input of the same target.
    pub other: &'a [u8],
    /// Maximum length of the result.
    pub max_len: usize,
}

/// Changes `bytes` in a few places.
pub fn mutate(bytes: &mut Vec<u8>, material: &Material<'_>, rng: &mut fastrand::Rng) {
    // Mostly one or two changes: heavily changed inputs are refused by the first check.
    for _ in 0..1 + rng.usize(..3) * rng.usize(..3) {
        change(bytes, material, rng);
    }
    bytes.truncate(material.max_len);
}

fn change(bytes: &mut Vec<u8>, material: &Material<'_>, rng: &mut fastrand::Rng) {
    let at = rng.usize(..=bytes.len());
    let span = |rng: &mut fastrand::Rng, len: usize| at..(at + 1 + rng.usize(..len)).min(bytes.len()).max(at);
    match rng.u8(..16) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
        1 if at < bytes.len() => bytes[at] = rng.u8(..),
        2 | 3 => {
            let token = token(material, rng);
            bytes.splice(at..at, token);
        }
        4 => {
            let (token, range) = (token(material, rng), span(rng, 8));
            bytes.splice(range, token);
        }
        5 => drop(bytes.drain(span(rng, 16))),
        6 => drop(bytes.drain(span(rng, 512))),
        7 => bytes.truncate(at),
        8 => repeat(bytes, span(rng, 32), 1 + rng.usize(..8)),
        9 => {
            // Sometimes very often: deep nesting, long runs.
            let token = token(material, rng);
            let times = if rng.u8(..16) == 0 { rng.usize(..2_000) } else { rng.usize(..40) };
            let room = material.max_len.saturating_sub(bytes.len()) / token.len().max(1);
            bytes.splice(at..at, token.repeat(times.min(room)));
        }
        10 => {
            let from = rng.usize(..=material.other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&material.other[from..]);
        }
        11 => {
            let from = rng.usize(..=material.other.len());
            let to = (from + 1 + rng.usize(..64)).min(material.other.len());
            bytes.splice(at..at, material.other[from.min(to)..to].iter().copied());
        }
        12 => number(bytes, at, rng),
        13 => word(bytes, rng),
        14 => {
            let moved: Vec<u8> = bytes.drain(span(rng, 64)).collect();
            let to = rng.usize(..=bytes.len());
            bytes.splice(to..to, moved);
        }
        _ => {
            let strange: [&[u8]; 9] = [
                b"\0",
                b"\xff\xfe",
                b"\xef\xbb\xbf",
                b"\r\n",
                b"\n",
                b"\x1b[31m",
                b"\xc3",
                b"\t",
                "\u{2028}\u{202e}\u{1f600}".as_bytes(),
            ];
            let insertion = strange[rng.usize(..strange.len())];
            bytes.splice(at..at, insertion.iter().copied());
        }
    }
}

fn token(material: &Material<'_>, rng: &mut fastrand::Rng) -> Vec<u8> {
    match material.tokens {
        [] => vec![rng.u8(..)],
        tokens => tokens[rng.usize(..tokens.len())].to_vec(),
    }
}

fn repeat(bytes: &mut Vec<u8>, range: std::ops::Range<usize>, times: usize) {
    let again = bytes[range.clone()].repeat(times);
    bytes.splice(range.end..range.end, again);
}

/// Overwrites a number of 1, 2, 4 or 8 bytes with a boundary value or a neighbour of its value.
fn number(bytes: &mut [u8], at: usize, rng: &mut fastrand::Rng) {
    let width = 1 << rng.u32(..4);
    let at = at / width * width;
    let Some(place) = bytes.get_mut(at..at + width) else { return };
    let mut whole = [0; 8];
    whole[..width].copy_from_slice(place);
    let before = u64::from_le_bytes(whole);
    let after = match rng.u8(..4) {
        0 => before.wrapping_add(1),
        1 => before.wrapping_sub(1),
        _ => EDGES[rng.usize(..EDGES.len())],
    };
    place.copy_from_slice(&after.to_le_bytes()[..width]);
}

/// Copies one aligned 4-byte word over another: a number that is valid elsewhere.
fn word(bytes: &mut [u8], rng: &mut fastrand::Rng) {
    let n = bytes.len() / 4;
    if n > 1 {
        let (from, to) = (rng.usize(..n) * 4, rng.usize(..n) * 4);
        bytes.copy_within(from..from + 4, to);
    }
}
