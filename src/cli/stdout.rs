//! Stdout of a command, through its pager if there is one.

use std::io::{self, Write};

use super::pager::Pager;
use super::render::{self, Paint};
use super::streams::Streams;

/// Number of bytes that are buffered if there is no pager.
const BUFFER: usize = 64 * 1024;

/// Stdout. With a pager, the text written between two calls of `flush` is paged if it is too long.
pub struct Output {
    streams: Streams,
    pager: Option<Pager>,
    /// Colours of a warning that there is no such pager.
    err_paint: Paint,
    text: Vec<u8>,
}

impl Output {
    pub fn new(streams: Streams, pager: Option<Pager>, err_paint: Paint) -> Output {
        Output { streams, pager, err_paint, text: Vec::new() }
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pager needs the whole text; without one, memory stays bounded.
        if self.pager.is_none() && self.text.len() + bytes.len() > BUFFER {
            let text = self.take();
            self.streams.out(&text)?;
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = self.take();
        if let Some(pager) = &self.pager
            && let Ok(text) = std::str::from_utf8(&text)
            && pager.is_needed(text)
        {
            return show(&self.streams, pager, text, self.err_paint);
        }
        self.streams.out(&text)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Displays `text` with `pager`, or prints it with a warning if the pager cannot be run.
///
/// # Errors
/// As for stdout.
pub fn show(streams: &Streams, pager: &Pager, text: &str, err_paint: Paint) -> io::Result<()> {
    if let Streams::Client(client) = streams {
        return client.page(pager, text, err_paint);
    }

    match pager.show(text) {
        Ok(()) => Ok(()),
        Err(warning) => {
            streams.err(format!("{}\n", render::warning(err_paint, &warning)).as_bytes());
            streams.out(text.as_bytes())
        }
    }
}
