//! Exclusive use of stdin and stdout for the protocol.
//!
//! The descriptors are duplicated and replaced at start. Afterwards, libraries and child processes that print
//! to stdout write to stderr instead, and only the server reads the input of the client.

use std::io::{self, BufRead, BufReader, Write};

/// Takes over stdin and stdout. Afterwards, stdin is empty and stdout is stderr.
#[cfg(unix)]
pub fn take() -> io::Result<(impl BufRead + Send + 'static, impl Write + Send + 'static)> {
    use std::fs::File;

    use rustix::stdio;

    // Numbers above the standard descriptors, closed in every child process.
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
