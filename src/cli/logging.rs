//! Logs for whoever asks for them: `--debug`, or `CODEWEAVER_LOG` (requirement U8).
//!
//! `CODEWEAVER_LOG=debug` (or `codeweaver::index=trace,info`) chooses what, `CODEWEAVER_LOG_FORMAT=json` how. Nothing is
//! logged otherwise. Every record carries the request id of this invocation and the root of the codebase.

use super::context::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;

/// Starts logging to stderr if it is wanted.
pub fn start(context: &Context) {
    let wanted = std::env::var("CODEWEAVER_LOG").ok().filter(|text| !text.trim().is_empty());
    let directives = match (wanted, context.debug) {
        (Some(text), _) => text,
        (None, true) => "codeweaver=debug".to_owned(),
        (None, false) => return,
    };
    start_with(&directives, std::io::stderr, context);
}

/// Starts logging of `directives` to `writer`; a second call has no effect.
pub fn start_with<W>(directives: &str, writer: W, context: &Context)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("codeweaver=debug"));
    let as_json =
        std::env::var("CODEWEAVER_LOG_FORMAT").is_ok_and(|format| format.eq_ignore_ascii_case("json"));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(context.err_paint.is_on());
    let started = if as_json {
        registry.with(layer.json().flatten_event(true).with_span_list(false)).try_init()
    } else {
        registry.with(layer).try_init()
    };
    if started.is_ok() {
        let root = std::fs::canonicalize(&context.dir).unwrap_or_else(|_| context.dir.clone());
        let span =
            tracing::info_span!("request", request_id = %request_id(), codebase_root = %root.display());
        // The whole process is one request: the span ends with it.
        std::mem::forget(span.entered());
    }
}

/// A random UUID (version 4) from the randomness the standard library draws for its hash maps.
fn request_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let (a, b) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0x3fff | 0x8000,
        b & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn request_ids_have_the_form_of_a_uuid() {
        let id = super::request_id();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(id.split('-').nth(2).unwrap().starts_with('4'));
        assert!("89ab".contains(&id.split('-').nth(3).unwrap()[..1]), "{id}");
        assert_ne!(id, super::request_id());
    }
}
