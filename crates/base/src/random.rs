//! Random bits from the operating system, for nonces, epochs and run ids.

/// Returns 64 random bits.
///
/// # Panics
/// If the operating system has no source of randomness. The hash maps of the standard library panic in the
/// same case, so no process gets this far without one.
pub fn bits64() -> u64 {
    getrandom::u64().expect("the operating system has a source of randomness")
}

/// Returns 128 random bits as 32 hexadecimal digits.
pub fn hex128() -> String {
    format!("{:016x}{:016x}", bits64(), bits64())
}
