//! Messages of one connection: a request, then frames.
//!
//! A message is its length (u32, little endian), then JSON. A frame is a kind (u8), the length of its payload
//! (u32, little endian), then the payload. Both sides are the same program, so the format has
//! no versions.

use std::ffi::OsString;
use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::{Directory, Identity};

/// Maximum number of bytes of a message. A command with longer arguments does its work itself.
const MAX_MESSAGE: usize = 1 << 20;
/// Maximum number of bytes of a frame.
const MAX_FRAME: usize = 64 << 20;

/// A request of a client.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Run a command.
    Run(Call),
    /// Describe the daemon.
    Status,
    /// End after the requests that are being answered.
    Stop,
}

/// A command to run in place of the client.
#[derive(Debug, Serialize, Deserialize)]
pub struct Call {
    pub identity: Identity,
    /// The current directory of the client.
    pub directory: Directory,
    /// Name of the program and arguments.
    pub arguments: Vec<OsString>,
    /// What else the command sees of the client's process; known to the handler.
    pub surroundings: serde_json::Value,
}

/// A part of the answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The request is being answered. Always the first frame, unless it is declined.
    Accepted,
    /// The client is to do the work itself; with the reason. Only before any output.
    Declined(String),
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// Output for a pager, in the form of the handler.
    Paged(Vec<u8>),
    /// The end: the exit code.
    Exit(u8),
    /// The answer to the other messages, as JSON.
    Text(Vec<u8>),
}

impl Frame {
    /// Writes the frame.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (kind, payload): (u8, &[u8]) = match self {
            Frame::Accepted => (0, &[]),
            Frame::Declined(reason) => (1, reason.as_bytes()),
            Frame::Stdout(bytes) => (2, bytes),
            Frame::Stderr(bytes) => (3, bytes),
            Frame::Paged(bytes) => (4, bytes),
            Frame::Exit(code) => (5, std::slice::from_ref(code)),
            Frame::Text(bytes) => (6, bytes),
        };
        if payload.len() > MAX_FRAME {
            return Err(invalid("the frame is too long"));
        }

        let mut bytes = Vec::with_capacity(5 + payload.len());
        bytes.push(kind);
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(payload);
        out.write_all(&bytes)
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// The other side is gone, or what it sent is no frame.
    pub fn read(input: &mut impl Read) -> io::Result<Frame> {
        let mut head = [0; 5];
        input.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let payload = read_bytes(input, u32::from_le_bytes(length) as usize, MAX_FRAME)?;

        Ok(match (kind, payload.as_slice()) {
            (0, []) => Frame::Accepted,
            (1, _) => Frame::Declined(String::from_utf8_lossy(&payload).into_owned()),
            (2, _) => Frame::Stdout(payload),
            (3, _) => Frame::Stderr(payload),
            (4, _) => Frame::Paged(payload),
            (5, [code]) => Frame::Exit(*code),
            (6, _) => Frame::Text(payload),
            _ => return Err(invalid("unknown frame")),
        })
    }
}

/// Writes a message.
///
/// # Errors
/// It is too long, or the other side is gone.
pub fn write_message(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > MAX_MESSAGE {
        return Err(invalid("the message is too long"));
    }

    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(&text);
    out.write_all(&bytes)
}

/// Reads a message.
///
/// # Errors
/// The other side is gone, or what it sent is no such message.
pub fn read_message<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let text = read_bytes(input, u32::from_le_bytes(length) as usize, MAX_MESSAGE)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Reads `n` bytes. Memory is taken as they arrive.
fn read_bytes(input: &mut impl Read, n: usize, max: usize) -> io::Result<Vec<u8>> {
    if n > max {
        return Err(invalid("the length is not possible"));
    }
    let mut bytes = Vec::new();
    input.take(n as u64).read_to_end(&mut bytes)?;
    match bytes.len() == n {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_written() {
        let frames = [
            Frame::Accepted,
            Frame::Declined("busy".into()),
            Frame::Stdout(b"a\0\n".to_vec()),
            Frame::Stderr(vec![0xff]),
            Frame::Exit(130),
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut bytes).unwrap());

        let mut rest = bytes.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut rest).unwrap(), frame);
        }
        assert!(Frame::read(&mut rest).is_err(), "the end");
    }

    #[test]
    fn other_bytes_are_errors() {
        for bytes in [&[9, 0, 0, 0, 0][..], &[2, 255, 255, 255, 255], &[2, 4, 0, 0, 0, 1], &[5, 0, 0, 0, 0]] {
            assert!(Frame::read(&mut &*bytes).is_err(), "{bytes:?}");
        }
        assert!(read_message::<Message>(&mut &[255, 255, 255, 255, 1][..]).is_err());
        assert!(read_message::<Message>(&mut &[2, 0, 0, 0, b'{', b'}'][..]).is_err());
    }
}
