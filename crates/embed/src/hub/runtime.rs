//! ONNX Runtime from the Python wheel of its publisher: one version for each platform, with its hash.
//!
//! The wheel is found by its name in a package index (`PIP_INDEX_URL`, else PyPI). A mirror serves as well,
//! because the hash in this file decides which wheel is accepted. Only the library and its licences are kept
//! from the wheel.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use codeweaver_http::{Limits, agent, check_base};

use super::cache::{Cache, Manifest, zip_error};
use super::download::{Digest, Downloads, Fetcher, RemoteFile, io};
use super::{DownloadError, MAX_LIST_BYTES, MAX_REDIRECTS, TIMEOUT, is_offline};
use crate::EmbedError;

/// Name of the folder in the cache, and of the package.
pub const NAME: &str = "onnxruntime";
const VERSION: &str = "1.31.1";
const INDEX: &str = "https://pypi.org/simple";
/// Maximum size of a file of the wheel.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Operating system and architecture, rest of the name of the wheel, its size and its SHA-256.
#[rustfmt::skip]
static WHEELS: &[(&str, &str, &str, u64, &str)] = &[
    ("linux", "x86_64", "manylinux_2_28_x86_64", 23_760_988, "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536"),
    ("linux", "aarch64", "manylinux_2_28_aarch64", 21_420_803, "0b9a492176886992e0e875f06bc0367e333f5fff11711a2d642e18b02f3009cc"),
    ("macos", "aarch64", "macosx_14_0_arm64", 20_882_125, "96dd2564b10ea7153ad9c207e7cd8e5917cb3ba521e0e0a62ac03486fdc8d56c"),
    ("windows", "x86_64", "win_amd64", 14_888_466, "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130"),
    ("windows", "aarch64", "win_arm64", 14_740_724, "fe8b9ac1ae8e894e12c47ee82e4f6dfc1835768133687257866469fda80d0bf1"),
];

/// Downloads the library into `cache`, and returns its folder. A library that exists is left as it is.
///
/// # Errors
/// [`EmbedError::Download`]. The bytes that have arrived stay for the next call.
pub fn get(cache: &Cache, progress: &dyn Downloads) -> Result<PathBuf, EmbedError> {
    let failed = |error| EmbedError::Download { name: NAME.to_owned(), error };

    if cache.has(NAME) {
        return Ok(cache.folder(NAME));
    }
    if is_offline() {
        return Err(failed(DownloadError::Offline));
    }

    let staging = cache.stage(NAME).map_err(failed)?;
    download(&staging.folder, progress).map_err(failed)?;
    staging.publish().map_err(failed)
}

/// Downloads the wheel and unpacks it into `folder`.
fn download(folder: &Path, progress: &dyn Downloads) -> Result<(), DownloadError> {
    // The wheels for Linux are for glibc.
    let os = if cfg!(target_env = "musl") { "musl" } else { std::env::consts::OS };
    let arch = std::env::consts::ARCH;
    let wheel = WHEELS.iter().find(|wheel| (wheel.0, wheel.1) == (os, arch));
    let (.., tag, size, sha256) =
        wheel.ok_or_else(|| DownloadError::Platform { platform: format!("{os} on {arch}") })?;
    let name = format!("onnxruntime-{VERSION}-cp312-cp312-{tag}.whl");

    let index = std::env::var("PIP_INDEX_URL").ok().filter(|url| !url.trim().is_empty());
    let index = index.as_deref().unwrap_or(INDEX);
    let (base, is_local) = check_base(index)
        .map_err(|why| DownloadError::Setting { variable: "PIP_INDEX_URL", why: why.to_owned() })?;
    let agent = agent(Limits { timeout: TIMEOUT, max_redirects: MAX_REDIRECTS, is_local });

    let url = wheel_url(&agent, &format!("{base}/onnxruntime/"), &name)?;
    let file = RemoteFile { url, digest: Digest::Sha256((*sha256).to_owned()), size: *size };
    let target = folder.join(&name);
    Fetcher { agent: &agent, token: None, progress }.fetch(&file, &target)?;

    let names = unpack(&target, folder)?;
    std::fs::remove_file(&target).map_err(io(&target))?;
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    Manifest::new(NAME, &format!("{base}/onnxruntime/"), VERSION, folder, &paths)?.write(folder)
}

/// Finds the URL of the file `name` in the page `page` of an index, in JSON (PEP 691) or HTML (PEP 503).
fn wheel_url(agent: &ureq::Agent, page: &str, name: &str) -> Result<String, DownloadError> {
    let accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.2";

    let response = agent
        .get(page)
        .header("Accept", accept)
        .call()
        .map_err(|error| unreachable(page, error.to_string()))?;
    let status = response.status().as_u16();
    if status != 200 {
        return Err(DownloadError::Status { url: page.to_owned(), status });
    }

    let mut text = String::new();
    let read = response.into_body().into_reader().take(MAX_LIST_BYTES).read_to_string(&mut text);
    read.map_err(|error| unreachable(page, error.to_string()))?;

    let found = match serde_json::from_str::<Value>(&text) {
        Ok(list) => list["files"]
            .as_array()
            .and_then(|files| files.iter().find(|file| file["filename"].as_str() == Some(name)))
            .and_then(|file| file["url"].as_str().map(str::to_owned)),
        Err(_) => text
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| rest.split(['"', '#']).next())
            .find(|link| link.ends_with(name))
            .map(str::to_owned),
    };

    match found {
        Some(link) => Ok(absolute(page, &link)),
        None => Err(DownloadError::Incomplete { repository: page.to_owned(), missing: name.to_owned() }),
    }
}

/// Returns `link` of the page at `page` as an absolute URL. Links of indexes are absolute, begin at the host,
/// or lead up.
fn absolute(page: &str, link: &str) -> String {
    if link.contains("://") {
        return link.to_owned();
    }

    let host_end = page.find("://").map_or(0, |at| at + 3);
    let host_end = page[host_end..].find('/').map_or(page.len(), |at| host_end + at);

    if link.starts_with('/') {
        return format!("{}{link}", &page[..host_end]);
    }

    let (mut base, mut rest) = (page.trim_end_matches('/'), link);
    while let Some(up) = rest.strip_prefix("../") {
        base = base.rfind('/').filter(|at| *at >= host_end).map_or(base, |at| &base[..at]);
        rest = up;
    }

    format!("{base}/{rest}")
}

fn unreachable(url: &str, why: String) -> DownloadError {
    DownloadError::Unreachable { url: url.to_owned(), why }
}

/// Writes the library and its licences to `folder`, and returns their names.
fn unpack(wheel: &Path, folder: &Path) -> Result<Vec<String>, DownloadError> {
    let input = File::open(wheel).map_err(io(wheel))?;
    let mut zip = zip::ZipArchive::new(input).map_err(zip_error(wheel))?;
    let mut names = Vec::new();

    for i in 0..zip.len() {
        let file = zip.by_index(i).map_err(zip_error(wheel))?;
        let Ok(path) = file.name().map(|name| name.into_owned()) else { continue };
        let Some((parent, name)) = path.rsplit_once('/') else { continue };

        let is_library = parent == "onnxruntime/capi"
            && (name.starts_with("libonnxruntime")
                || name.starts_with("onnxruntime") && name.ends_with(".dll"));
        let is_licence = parent == "onnxruntime" && (name == "LICENSE" || name == "ThirdPartyNotices.txt");
        if !is_library && !is_licence {
            continue;
        }

        let target = folder.join(name);
        let mut out = File::create(&target).map_err(io(&target))?;
        std::io::copy(&mut file.take(MAX_FILE_BYTES), &mut out).map_err(io(&target))?;
        names.push(name.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_an_index_become_absolute() {
        let page = "https://mirror.example/pypi/simple/onnxruntime/";
        assert_eq!(absolute(page, "https://files.example/a.whl"), "https://files.example/a.whl");
        assert_eq!(absolute(page, "/files/a.whl"), "https://mirror.example/files/a.whl");
        assert_eq!(absolute(page, "../../files/a.whl"), "https://mirror.example/pypi/files/a.whl");
        assert_eq!(absolute(page, "a.whl"), "https://mirror.example/pypi/simple/onnxruntime/a.whl");
    }
}
