//! What looks like a key, a hash or an encoded blob: such text never becomes a term.
//!
//! Two reasons: the term dictionary would list secrets in clear, and random terms fill it without ever being asked for.

/// Prefixes by which services mark their keys; compared with the start of a run of word characters.
const KEY_PREFIXES: &[&[u8]] = &[
    b"AKIA",
    b"ASIA",
    b"AIza",
    b"eyJ",
    b"ghp_",
    b"gho_",
    b"ghu_",
    b"ghs_",
    b"ghr_",
    b"github_pat_",
    b"hf_",
    b"npm_",
    b"sk_live_",
    b"sk_test_",
    b"rk_live_",
    b"pk_live_",
    b"whsec_",
];

/// A key is at least this long after its mark: shorter words that happen to begin alike stay.
const MIN_MARKED_KEY_BYTES: usize = 16;
/// Shorter runs are words, however odd.
const MIN_RANDOM_BYTES: usize = 20;
/// Hexadecimal of this length is a digest or an id.
const MIN_HEX_BYTES: usize = 32;

/// True for a run of ASCII word characters (letters, digits, `_`) that is probably not language.
///
/// Judged by the pieces between underscores, so a long descriptive name is kept: a piece is random if it is long and
/// changes between lower case, upper case and digits far more often than camel case does.
pub(super) fn looks_random(run: &[u8]) -> bool {
    if run.len() < MIN_RANDOM_BYTES {
        return false;
    }
    let marked = KEY_PREFIXES.iter().find_map(|prefix| run.strip_prefix(*prefix)).is_some_and(|key| {
        key.len() >= MIN_MARKED_KEY_BYTES && !key.contains(&b'_') && key.iter().any(u8::is_ascii_digit)
    });
    if marked {
        return true;
    }
    run.split(|&byte| byte == b'_').any(is_random_piece)
}

fn is_random_piece(piece: &[u8]) -> bool {
    let n = piece.len();
    if n < MIN_RANDOM_BYTES {
        return false;
    }
    let digits = piece.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return false;
    }
    if n >= MIN_HEX_BYTES && piece.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let changes = piece.windows(2).filter(|pair| case_of(pair[0]) != case_of(pair[1])).count();
    let mixed_case = piece.iter().any(u8::is_ascii_uppercase) && piece.iter().any(u8::is_ascii_lowercase);
    // Expected share of changes in random text: 0.62 with both cases, 0.40 with one. Names reach 0.5 with both cases where
    // they are full of acronyms and digits, longer ones less; with one case and a few digits they stay below 0.2.
    if mixed_case {
        let least = if n < 32 { 55 } else { 47 };
        changes * 100 >= n * least
    } else {
        changes * 100 >= n * 28 && digits * 100 >= n * 15
    }
}

fn case_of(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::looks_random;

    #[test]
    fn keys_and_digests_are_random() {
        for run in [
            "4eC39HqLyjWDarjtT1zdp7dc",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "AKIAIOSFODNN7EXAMPLE",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "8f14e45fceea167a5a36dedd4bea2543",
            "k3j9x0q7z2m5n8b1v4c6l0p9",
        ] {
            assert!(looks_random(run.as_bytes()), "{run}");
        }
    }

    #[test]
    fn names_are_not() {
        for run in [
            "getHTTP2ResponseHeaderForRequestV2",
            "test_that_the_user_cannot_log_in_with_an_expired_token",
            "X509CertificateRevocationListBuilder",
            "vkCmdPipelineBarrier2KHRWithMemoryBarriers",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "mm512_mask_cvtepi32_epi8",
            "createTexture2DArrayFromImage4x4",
            "PyModule_FromDefAndSpec2TraceRefs",
            "SN_pbe_WithSHA1And128BitRC2_CBC",
            "IID_ID2D1SvgStrokeDashArray",
            "SGN_VerifyPKCS1DigestInfo",
            "npm_config_node_gyp_version_2",
        ] {
            assert!(!looks_random(run.as_bytes()), "{run}");
        }
    }
}
