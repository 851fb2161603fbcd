//! Standard streams that belong to the protocol alone.
//!
//! The descriptors are moved away first thing: whatever prints afterwards, be it a library or a child that was started
//! carelessly, prints to stderr, and nothing but the server reads what the client sends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// The client's messages, and where answers go. Standard output is standard error from here on.
#[cfg(unix)]
pub fn take() -> io::Result<(impl BufRead + Send + 'static, impl Write + Send + 'static)> {
    use rustix::stdio;
    // Above the standard descriptors, and closed in every child.
    let input = File::from(rustix::io::fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    let output = File::from(rustix::io::fcntl_dupfd_cloexec(stdio::stdout(), 3)?);
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((BufReader::new(input), output))
}

#[cfg(not(unix))]
pub fn take() -> io::Result<(impl BufRead + Send + 'static, impl Write + Send + 'static)> {
    Ok((BufReader::new(io::stdin()), io::stdout()))
}
