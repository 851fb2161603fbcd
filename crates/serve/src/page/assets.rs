//! Assets: style, script and icon, which are part of the program.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::super::failure::Failure;

struct Asset {
    name: &'static str,
    media_type: &'static str,
    text: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "style.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("../assets/style.css"),
    },
    Asset {
        name: "page.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("../assets/page.js"),
    },
    Asset { name: "icon.svg", media_type: "image/svg+xml", text: include_str!("../assets/icon.svg") },
];

/// Browsers need not ask again: another version has another URL.
const CACHE: &str = "public, max-age=31536000, immutable";
/// Hexadecimal digits of the version of an asset.
const VERSION_LEN: usize = 16;

/// Versions of the assets, in their order: the beginnings of the hashes of their contents.
static VERSIONS: LazyLock<[String; 3]> = LazyLock::new(|| {
    ASSETS.map(|asset| {
        let hash = blake3::hash(asset.text.as_bytes()).to_hex();
        hash[..VERSION_LEN].to_owned()
    })
});

/// The URL of an asset, with its version.
pub fn url(name: &str) -> String {
    let version = ASSETS.iter().position(|asset| asset.name == name).map(|at| VERSIONS[at].as_str());
    format!("/assets/{name}?v={}", version.unwrap_or_default())
}

/// `GET /assets/{name}`.
pub async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let headers = [(header::CONTENT_TYPE, asset.media_type), (header::CACHE_CONTROL, CACHE)];
            (headers, asset.text).into_response()
        }
        None => Failure::not_found("there is no such asset").into_response(),
    }
}
