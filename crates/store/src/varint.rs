//! Variable-length integers: seven bits per byte, lowest first, the eighth bit marks continuation (LEB128).
//! The code is fifteen lines, and the file formats depend on it for good, so it is no dependency.

/// Maximum number of bytes of an encoded number.
pub const MAX_LEN: usize = 5;

/// Appends the integer in at most [`MAX_LEN`] bytes.
pub fn put(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Decodes the integer at `at` and advances `at`; `None` at the end of `bytes` and for more than five bytes.
#[inline]
pub fn get(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Appends the difference of `value` to `base`, modulo 2³². Close numbers take few bytes.
pub fn put_near(out: &mut Vec<u8>, value: u32, base: u32) {
    let difference = value.wrapping_sub(base) as i32;
    put(out, ((difference << 1) ^ (difference >> 31)) as u32);
}

/// Decodes a value of [`put_near`] with the same `base`.
#[inline]
pub fn get_near(bytes: &[u8], at: &mut usize, base: u32) -> Option<u32> {
    let folded = get(bytes, at)?;
    Some(base.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_got() {
        let values = [0, 1, 127, 128, 300, 16_384, u32::MAX / 2, u32::MAX / 2 + 1, u32::MAX];
        for value in values {
            for base in values {
                let mut bytes = Vec::new();
                put(&mut bytes, value);
                put_near(&mut bytes, value, base);
                let mut at = 0;
                assert_eq!(get(&bytes, &mut at), Some(value));
                assert_eq!(get_near(&bytes, &mut at, base), Some(value));
                assert_eq!(at, bytes.len());
                assert_eq!(get(&bytes, &mut at), None);
            }
        }
        let mut near = Vec::new();
        put_near(&mut near, 1000, 1040);
        assert_eq!(near.len(), 1);
    }
}
