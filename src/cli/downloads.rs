//! Downloads of models with a progress bar, and of models that the settings name and this machine does not
//! have.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use codeweaver_config::{ModelSettings, Settings, Sources};
use codeweaver_embed::hub::cache::Cache;
use codeweaver_embed::hub::download::Downloads;
use codeweaver_embed::hub::{DownloadError, Hub, runtime};
use codeweaver_embed::{self as embed, EmbedError};

use super::context::Context;
use super::error::CliError;
use super::render;

/// The progress display of a download: a bar for each file on a terminal, else a line.
struct Bars<'a> {
    context: &'a Context,
    bar: ProgressBar,
}

impl Downloads for Bars<'_> {
    fn begin(&self, name: &str, have: u64, size: u64) {
        let name = render::safe(name);
        self.bar.set_length(size);
        self.bar.set_position(have);
        self.bar.set_message(name.clone().into_owned());

        if !self.context.err_is_terminal {
            let from = if have > 0 { format!(", from {}", render::bytes(have)) } else { String::new() };
            self.context.note(&format!("Downloading {name} ({}{from})", render::bytes(size)));
        }
    }

    fn add(&self, n_bytes: u64) {
        self.bar.inc(n_bytes);
    }
}

/// Downloads `name`, a model or `onnxruntime`, unless it is in the cache, and returns its folder.
pub fn get(context: &Context, name: &str) -> Result<PathBuf, CliError> {
    let failed = |error: DownloadError| EmbedError::Download { name: name.to_owned(), error };
    let cache = Cache::from_environment().map_err(failed)?;

    let bar = if context.err_is_terminal {
        let style = "{msg:24} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            .with_style(style.progress_chars("=> "))
    } else {
        ProgressBar::hidden()
    };

    let bars = Bars { context, bar };

    let folder = if name == runtime::NAME {
        runtime::get(&cache, &bars)
    } else if cache.has(&embed::hub::folder_name(name)) {
        Ok(cache.folder(&embed::hub::folder_name(name)))
    } else {
        Hub::from_environment().map_err(failed).and_then(|hub| hub.get(name, &cache, &bars))
    };

    bars.bar.finish_and_clear();
    Ok(folder?)
}

/// Downloads the model that the user's settings name if it is not on this machine.
///
/// `model.name` is never taken from a repository, so no repository can start a download.
pub fn get_configured(context: &Context) -> Result<(), CliError> {
    let work_dir = context.repo().ok().and_then(|repo| repo.work_dir().map(PathBuf::from));
    // Invalid settings are reported when the codebase is opened.
    let Ok(loaded) = Settings::load(&Sources::discover(work_dir.as_deref())) else { return Ok(()) };
    match to_get(&loaded.settings.model) {
        Some(name) => get(context, name).map(drop),
        None => Ok(()),
    }
}

/// The name of the model of `settings` if its folder has to be downloaded.
fn to_get(settings: &ModelSettings) -> Option<&str> {
    let is_absent = settings.path.is_none()
        && !settings.is_builtin()
        && matches!(embed::fingerprint_of(settings), Err(EmbedError::MissingFiles { .. }));
    let cache = Cache::from_environment().ok()?;
    (is_absent && !cache.has(&embed::hub::folder_name(&settings.name))).then_some(settings.name.as_str())
}
