//! The entropy test, which keeps keys, hashes and encoded blobs out of the terms.
//!
//! Such terms would list secrets in clear in the term dictionary, and would fill it with terms that queries
//! never contain. The test is deterministic and needs no dictionary. A change to it is a new
//! [`super::TERMS_VERSION`].

/// Prefixes with which services mark their keys, compared with the start of a run of word characters.
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

/// Minimum length of a key after its prefix. Shorter runs are words that happen to begin alike.
const MIN_KEY_BYTES: usize = 16;
/// Minimum length of a run that is tested. Shorter runs are always words.
const MIN_RUN_BYTES: usize = 20;
/// Minimum length of a hexadecimal run that is a digest or an id.
const MIN_HEX_BYTES: usize = 32;

/// Returns whether a run of ASCII word characters (letters, digits, `_`) is probably a key, a hash or encoded
/// data.
///
/// The parts between underscores are tested one by one, so long descriptive names pass. A part has high
/// entropy if it is long and changes between lower case, upper case and digits far more often than camel case
/// does.
pub(super) fn is_high_entropy(run: &[u8]) -> bool {
    if run.len() < MIN_RUN_BYTES {
        return false;
    }

    let is_marked_key = KEY_PREFIXES.iter().find_map(|prefix| run.strip_prefix(*prefix)).is_some_and(|key| {
        key.len() >= MIN_KEY_BYTES && !key.contains(&b'_') && key.iter().any(u8::is_ascii_digit)
    });
    if is_marked_key {
        return true;
    }

    run.split(|&byte| byte == b'_').any(is_high_entropy_part)
}

/// Returns whether a part between underscores has high entropy. Parts without digits are words.
fn is_high_entropy_part(part: &[u8]) -> bool {
    let n = part.len();
    if n < MIN_RUN_BYTES {
        return false;
    }

    let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
    // Long names without digits are words.
    if digits == 0 {
        return false;
    }

    if n >= MIN_HEX_BYTES && part.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }

    let changes = part.windows(2).filter(|pair| case_of(pair[0]) != case_of(pair[1])).count();
    let mixed_case = part.iter().any(u8::is_ascii_uppercase) && part.iter().any(u8::is_ascii_lowercase);
    // The expected share of changes in random text is 0.62 with both cases and 0.40 with one. Names with both
    // cases reach 0.5 if they are full of acronyms and digits, longer ones less; names with one case and a
    // few digits stay below 0.2.
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
    use super::is_high_entropy;

    #[test]
    fn keys_and_digests_have_high_entropy() {
        for run in [
            "4eC39HqLyjWDarjtT1zdp7dc",
            "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
            "AKIAIOSFODNN7EXAMPLE",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "8f14e45fceea167a5a36dedd4bea2543",
            "k3j9x0q7z2m5n8b1v4c6l0p9",
        ] {
            assert!(is_high_entropy(run.as_bytes()), "{run}");
        }
    }

    #[test]
    fn names_have_low_entropy() {
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
            assert!(!is_high_entropy(run.as_bytes()), "{run}");
        }
    }
}
