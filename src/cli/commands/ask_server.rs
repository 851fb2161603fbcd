//! `ask --server`: a client of `serve --ask`.

use std::io::Write;
use std::process::ExitCode;

use codeweaver::ask::answer::NOTHING_FOUND;
use codeweaver::ask::client::{Client, ClientError, Heard};
use codeweaver::ask::serve::protocol::Readiness;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::render::{safe, safe_lines};

/// A connection to a server. Its state is shown to the user.
pub struct Connection<'a> {
    client: Client,
    index: Option<&'a str>,
    context: &'a Context,
}

impl<'a> Connection<'a> {
    /// Connects to the server at `url`.
    pub fn open(url: &str, index: Option<&'a str>, context: &'a Context) -> Result<Connection<'a>, CliError> {
        let client = Client::connect(url)?;
        let status = match client.status() {
            Some(Readiness::Ready) => "ready",
            Some(Readiness::NotReady) => "loading its index",
            Some(Readiness::NoContent) => "without documents",
            None => "its state is not known",
        };

        context.note(&format!("Connected to {} ({status})", safe(url)));
        Ok(Connection { client, index, context })
    }

    /// Asks one question and prints the answer as it comes, then its sources.
    pub fn ask(&mut self, question: &str, json: bool) -> Result<ExitCode, CliError> {
        let mut out = self.context.out();
        let mut text = String::new();
        let context = self.context;

        let answered = self.client.ask(question, self.index, &mut |heard| match heard {
            Heard::Chunk(chunk) => {
                text.push_str(chunk);
                if json {
                    return Ok(());
                }
                write!(out, "{}", safe_lines(chunk))?;
                out.flush()
            }
            Heard::Waiting => {
                context.note("The server is not ready; asking again");
                Ok(())
            }
        })?;

        let has_answer = !answered.has_no_content && text.trim() != NOTHING_FOUND;

        if json {
            let value = serde_json::json!({
                "question": question,
                "status": if has_answer { "answered" } else { "nothing_found" },
                "text": text,
                "sources": answered.sources,
            });
            writeln!(out, "{value}")?;
        } else if answered.has_no_content {
            writeln!(out, "{NOTHING_FOUND}: the server has no documents")?;
        } else {
            writeln!(out)?;
            if !answered.sources.is_empty() {
                writeln!(out, "\n{}", context.paint.bold("Sources"))?;
            }
            for source in &answered.sources {
                writeln!(out, "{}", safe(source))?;
            }
        }

        out.flush()?;
        Ok(ExitCode::from(if has_answer { 0 } else { exit::NEGATIVE }))
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let fix = match &error {
            ClientError::Address { .. } => "git codeweaver ask --server ws://localhost:8765 \"…\"",
            ClientError::Unreachable { .. } | ClientError::Lost { .. } => {
                "start it with `git codeweaver serve --ask`"
            }
            ClientError::NotReady => "wait until `git codeweaver serve --ask` says that it is ready",
            ClientError::Refused { .. } => "change the question or --index, or ask again",
        };

        let text = error.to_string();
        let (what, why) = text.split_once(": ").unwrap_or((&text, "see above"));
        CliError::new(what, why, fix)
    }
}
