//! Damage to one file: cut, flipped bits, noise, zeros, emptied, gone.

use std::path::Path;

use super::site::Site;

/// Damages a random file of a random kind; returns the kind of file, or `None` if there is none.
pub fn random(site: &Site, rng: &mut fastrand::Rng) -> Option<String> {
    let files = site.files();
    let mut kinds: Vec<&String> = files.iter().map(|(kind, _)| kind).collect();
    kinds.dedup();
    let kind = (*kinds.get(rng.usize(..kinds.len().max(1)))?).clone();
    let of_kind: Vec<&Path> =
        files.iter().filter(|(k, _)| *k == kind).map(|(_, path)| path.as_path()).collect();
    let path = of_kind[rng.usize(..of_kind.len())];
    let how = inflict(path, rng)?;
    Some(format!("{how} of {kind}"))
}

fn inflict(path: &Path, rng: &mut fastrand::Rng) -> Option<&'static str> {
    let mut bytes = std::fs::read(path).ok()?;
    let at = rng.usize(..bytes.len().max(1));
    let how = match rng.u8(..6) {
        0 => {
            std::fs::remove_file(path).ok()?;
            return Some("loss");
        }
        1 => {
            bytes.clear();
            "emptying"
        }
        2 => {
            bytes.truncate(at);
            "truncation"
        }
        3 if !bytes.is_empty() => {
            bytes[at] ^= 1 << rng.u8(..8);
            "bit flip"
        }
        4 => {
            let end = (at + 512).min(bytes.len());
            bytes[at.min(end)..end].fill(0);
            "zeros"
        }
        _ => {
            let end = (at + 64).min(bytes.len());
            bytes[at.min(end)..end].iter_mut().for_each(|byte| *byte = rng.u8(..));
            "noise"
        }
    };
    // As a new file under the old name, as after a disk error: existing mappings keep the good one.
    std::fs::remove_file(path).ok()?;
    std::fs::write(path, bytes).ok()?;
    Some(how)
}
