//! The cost of an index: announced before it is built, and confirmed by the user if text leaves the machine.

use std::path::PathBuf;

use codeweaver_config::{self as config, ModelSettings, Settings, Sources};
use codeweaver_embed::{self as embed, Absent, EmbedCost, api};
use codeweaver_index::build::Estimate;
use codeweaver_index::progress::Silent;
use codeweaver_index::update::{self, UpdateContext};
use codeweaver_index::{Codebase, Target, UpdateOptions};
use codeweaver_store::reader::OpenFiles;

use super::context::Context;
use super::error::CliError;
use super::render;

/// Bytes of the index for each chunk besides its vector: metadata, postings, symbols, words and sign bits.
/// The measured values are 520 to 1,080 (curl, flask, serde, vitest and 15 other repositories, Linux).
const OTHER_BYTES: u64 = 800;

/// Estimates the work of [`codeweaver::update`] with the same arguments.
pub fn estimate(codebase: &Codebase, target: &Target, options: UpdateOptions) -> Result<Estimate, CliError> {
    let dim = embed::dim_of(&codebase.settings.model)?;
    let cost = embed::cost_of(&codebase.settings.model)?;
    let embedder = Absent { fingerprint: &codebase.vector_space, dim, cost };

    let files = OpenFiles::default();
    let context = UpdateContext { codebase, embedder: &embedder, files: &files, progress: &Silent };
    Ok(update::estimate(&context, target, options)?)
}

/// The estimate in one line.
pub fn text(estimate: &Estimate, model: &ModelSettings) -> String {
    let chunks = match estimate.chunks {
        n if n == estimate.embedded => format!("{} to embed", render::plural(n, "chunk")),
        n => format!("{} of {} to embed", render::count(estimate.embedded), render::plural(n, "chunk")),
    };

    let size = render::bytes(estimate.vector_bytes + OTHER_BYTES * estimate.chunks);
    let files = render::plural(estimate.files, "changed file");
    format!(
        "{files}: {chunks}, about {} tokens{}; about {size} of index",
        render::count(estimate.tokens),
        price(estimate.tokens, model)
    )
}

/// The price of so many tokens as `, about $0.12`; empty if it is not known.
pub fn price(n_tokens: u64, model: &ModelSettings) -> String {
    model
        .api_price
        .filter(|_| model.is_api())
        .map_or_else(String::new, |price| format!(", about ${:.2}", n_tokens as f64 / 1e6 * f64::from(price)))
}

/// Announces the cost of a run whose model takes more than microseconds for a chunk, including the text that
/// leaves the machine.
pub fn announce(
    codebase: &Codebase,
    target: &Target,
    options: UpdateOptions,
    context: &Context,
) -> Result<(), CliError> {
    let model = &codebase.settings.model;

    // An unusable model, one that costs nothing and a known tree need no estimate.
    if codebase.model_problem.is_some()
        || embed::cost_of(model)? == EmbedCost::Table
        || codebase.has_snapshot(target)
    {
        return Ok(());
    }

    let estimate = estimate(codebase, target, options)?;
    if estimate.chunks > 0 {
        context.note(&text(&estimate, model));
    }
    Ok(())
}

/// Asks the user for consent to send text to an API, and writes the consent to the user's settings. Without a
/// terminal it does not ask, and the run fails with the name of the setting that gives consent.
pub fn ask_consent(context: &Context) -> Result<(), CliError> {
    let work_dir = context.repo().ok().and_then(|repo| repo.work_dir().map(PathBuf::from));
    let sources = Sources::discover(work_dir.as_deref());
    // Invalid settings are reported when the codebase is opened.
    let Ok(loaded) = Settings::load(&sources) else { return Ok(()) };

    let (Some(url), Some(file)) = (api::wants_consent(&loaded.settings.model), &sources.user_file) else {
        return Ok(());
    };

    if !context.is_interactive {
        return Ok(());
    }

    context.note(&format!(
        "`model.api_base_url` names an embedding API. The text of all indexed files and of your queries would be sent to\n\
         {}, from every repository that you index; files that look like credentials are not.",
        render::safe(url)
    ));
    eprint!("Send it? [y/N] ");

    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;

    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        config::set(file, "model.api_consent", url)?;
    }
    Ok(())
}
