//! One request to a daemon.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::address::Address;
use super::protocol::{Call, Frame, Message, write_message};

/// Time that a daemon may take to begin. One that is stopped or overloaded is not waited for.
const FIRST_FRAME: Duration = Duration::from_millis(250);
/// Time that a daemon may take to answer about itself.
const CONTROL: Duration = Duration::from_secs(5);

/// The places that the output of a command goes to.
pub trait Sink {
    /// Writes to stdout.
    ///
    /// # Errors
    /// As for stdout.
    fn out(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Writes to stderr. Errors are ignored, since there is no other place to report them.
    fn err(&mut self, bytes: &[u8]);
    /// Displays what the handler has left to a pager.
    ///
    /// # Errors
    /// As for stdout.
    fn page(&mut self, payload: &[u8]) -> io::Result<()>;
}

/// The end of a request.
#[derive(Debug)]
pub enum Outcome {
    /// The command ran and ended with this code.
    Exited(u8),
    /// There was no output: the caller does the work itself. With the reason.
    NotServed(String),
    /// The connection broke after some output.
    Lost(io::Error),
    /// The output could not be written.
    Unwritable(io::Error),
}

/// Has the daemon at `address` run `call`.
pub fn run(address: &Address, call: Call, sink: &mut dyn Sink) -> Outcome {
    match address.connect().and_then(|stream| begin(stream, &Message::Run(call), FIRST_FRAME)) {
        Ok(frames) => receive(frames, sink),
        Err(error) => Outcome::NotServed(error.to_string()),
    }
}

/// The answer of the daemon at `address` to [`Message::Status`] or [`Message::Stop`], as JSON; `None` if
/// there is no daemon.
///
/// # Errors
/// It does not answer.
pub fn control(address: &Address, message: &Message) -> io::Result<Option<serde_json::Value>> {
    let Ok(stream) = address.connect() else { return Ok(None) };
    let mut frames = begin(stream, message, CONTROL)?;
    match Frame::read(&mut frames)? {
        Frame::Text(text) => Ok(Some(serde_json::from_slice(&text)?)),
        other => Err(io::Error::other(format!("unexpected answer {other:?}"))),
    }
}

/// Sends `message` and returns the stream of frames, whose reads wait for at most `patience`.
fn begin(stream: UnixStream, message: &Message, patience: Duration) -> io::Result<BufReader<UnixStream>> {
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    write_message(&mut &stream, message)?;
    Ok(BufReader::with_capacity(64 << 10, stream))
}

/// Passes frames on until the end.
fn receive(mut frames: BufReader<UnixStream>, sink: &mut dyn Sink) -> Outcome {
    match Frame::read(&mut frames) {
        Ok(Frame::Accepted) => {}
        Ok(Frame::Declined(reason)) => return Outcome::NotServed(reason),
        Ok(other) => return Outcome::NotServed(format!("unexpected answer {other:?}")),
        Err(error) => return Outcome::NotServed(error.to_string()),
    }

    // What was begun may take long.
    let mut has_output = false;
    if let Err(error) = frames.get_ref().set_read_timeout(None) {
        return Outcome::NotServed(error.to_string());
    }

    loop {
        let written = match Frame::read(&mut frames) {
            Ok(Frame::Stdout(bytes)) => sink.out(&bytes),
            Ok(Frame::Paged(payload)) => sink.page(&payload),
            Ok(Frame::Stderr(bytes)) => {
                sink.err(&bytes);
                Ok(())
            }
            Ok(Frame::Exit(code)) => return Outcome::Exited(code),

            Ok(Frame::Declined(reason)) if !has_output => return Outcome::NotServed(reason),
            Err(error) if !has_output => return Outcome::NotServed(error.to_string()),
            Ok(other) => return Outcome::Lost(io::Error::other(format!("unexpected answer {other:?}"))),
            Err(error) => return Outcome::Lost(error),
        };

        has_output = true;
        if let Err(error) = written {
            return Outcome::Unwritable(error);
        }
    }
}
