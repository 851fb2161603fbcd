//! Finding ONNX Runtime on this machine and loading it once.
//!
//! By themselves the bindings look for the library at first use and panic if it is missing or too old.
//! Loading it earlier turns that into an error. No program is run to find it: Python packages are found by
//! their folders.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use codeweaver_base::{home, sync};

use super::local::ModelDirs;
use super::{EmbedError, hub};

/// True for a program that cannot load any library, as the archive for musl.
const IS_STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// Loads the library. A process loads it once; later calls do nothing, even with another path.
pub(super) fn load(configured: Option<&Path>) -> Result<(), EmbedError> {
    static LOADED: Mutex<bool> = Mutex::new(false);
    let mut loaded = sync::lock(&LOADED);
    if *loaded {
        return Ok(());
    }

    let explicit = configured
        .map(Path::to_owned)
        .or_else(|| std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()).map(PathBuf::from));

    let required = explicit.is_some();
    let candidates = match explicit {
        Some(path) => vec![path],
        None => fetched().into_iter().chain(candidates(&site_packages())).collect(),
    };

    let mut tried = Vec::new();
    for candidate in candidates {
        // The loader resolves relative paths against the folder of the executable.
        let path = if required { std::path::absolute(&candidate).unwrap_or(candidate) } else { candidate };
        if required && !path.is_file() {
            tried.push((path, "no such file".to_owned()));
            continue;
        }

        match ort::init_from(&path) {
            Ok(_) => {
                *loaded = true;
                return Ok(());
            }
            Err(error) => tried.push((path, brief(&error))),
        }
    }

    Err(EmbedError::RuntimeMissing { tried, required })
}

/// Shortens an error to one line without the path, which is shown next to it.
fn brief(error: &ort::LoadDynamicError) -> String {
    match error {
        ort::LoadDynamicError::BadVersion { version_str, .. } => format!("version {version_str} is too old"),
        ort::LoadDynamicError::MissingApi { .. } => "not ONNX Runtime".to_owned(),
        ort::LoadDynamicError::Dlopen { .. } if IS_STATIC => {
            "this program is linked statically and loads no libraries; the one for glibc does".to_owned()
        }
        ort::LoadDynamicError::Dlopen { .. } => "not found or cannot be loaded".to_owned(),
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

/// Lists the libraries that `model get onnxruntime` put into the cache.
fn fetched() -> Vec<PathBuf> {
    let cache = ModelDirs::from_environment().model_cache;
    cache.map_or_else(Vec::new, |cache| libraries(&cache.join(hub::runtime::NAME)))
}

/// Lists the libraries in a folder, newest version first.
fn libraries(folder: &Path) -> Vec<PathBuf> {
    let mut found = entries(folder);
    found.retain(|path| path.file_name().is_some_and(|name| is_library_name(&name.to_string_lossy())));
    found.sort_by_key(|path| std::cmp::Reverse(version_in(&path.to_string_lossy())));
    found
}

/// Lists the names for the system loader, then the libraries in Python packages, newest version first.
fn candidates(site_packages: &[PathBuf]) -> Vec<PathBuf> {
    let plain = format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let mut found = vec![PathBuf::from(&plain)];
    if cfg!(target_os = "linux") {
        found.push(PathBuf::from(format!("{plain}.1")));
    }

    for folder in site_packages {
        found.extend(libraries(&folder.join("onnxruntime").join("capi")));
    }
    found
}

/// Returns whether a file is the library: `libonnxruntime.so.1.24.0`, `libonnxruntime.1.24.0.dylib` or
/// `onnxruntime.dll`, and not one of the provider plug-ins next to them.
fn is_library_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libonnxruntime").or_else(|| name.strip_prefix("onnxruntime")) else {
        return false;
    };
    rest.starts_with('.') && [".so", ".dylib", ".dll"].iter().any(|kind| rest.contains(kind))
}

/// The numbers in a file name, as a version.
fn version_in(path: &str) -> Vec<u32> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.split('.').filter_map(|piece| piece.parse().ok()).collect()
}

/// The absolute folder that an environment variable names.
fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Lists folders of Python packages: those of the active environment first, then the user's, then the
/// system's.
fn site_packages() -> Vec<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(folder_variable);
    let mut prefixes: Vec<PathBuf> = active.collect();

    if let Some(home) = home().filter(|home| home.is_absolute()) {
        prefixes.push(home.join(".local"));
        let mut versions = entries(&home.join(".pyenv").join("versions"));
        versions.sort();
        prefixes.extend(versions.into_iter().rev());
    }

    prefixes.extend(["/usr/local", "/opt/homebrew", "/usr"].map(PathBuf::from));
    prefixes.iter().flat_map(|prefix| packages_of(prefix)).collect()
}

/// Lists `lib/python3.*/{site,dist}-packages`, newest Python first, and the layouts of Debian and Windows.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    let mut pythons: Vec<PathBuf> =
        ["lib", "lib64"].iter().flat_map(|lib| entries(&prefix.join(lib))).collect();
    pythons.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.sort_by_key(|path| std::cmp::Reverse(version_in(&path.to_string_lossy().replace("python", ""))));

    let mut found: Vec<PathBuf> = pythons
        .iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|kind| python.join(kind)))
        .collect();

    found.push(prefix.join("Lib").join("site-packages"));
    found.retain(|path| path.is_dir());
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_python_package_is_found_newest_first() {
        let root = tempfile::tempdir().unwrap();
        for (python, file) in [
            ("lib/python3.9/site-packages", "libonnxruntime.so.1.9.0"),
            ("lib/python3.12/site-packages", "libonnxruntime.so.1.31.1"),
            ("lib/python3.12/site-packages", "libonnxruntime_providers_shared.so"),
            ("lib/python3.12/site-packages", "libonnxruntime.so.1.4.0"),
        ] {
            let capi = root.path().join(python).join("onnxruntime/capi");
            std::fs::create_dir_all(&capi).unwrap();
            std::fs::write(capi.join(file), b"").unwrap();
        }
        let found: Vec<String> = candidates(&packages_of(root.path()))
            .iter()
            .filter(|path| path.is_absolute())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(found, ["libonnxruntime.so.1.31.1", "libonnxruntime.so.1.4.0", "libonnxruntime.so.1.9.0"]);
    }

    #[test]
    fn provider_plugins_are_not_the_library() {
        for name in [
            "libonnxruntime.so",
            "libonnxruntime.so.1.24.0",
            "libonnxruntime.1.24.0.dylib",
            "onnxruntime.dll",
        ] {
            assert!(is_library_name(name), "{name}");
        }
        for name in
            ["libonnxruntime_providers_cuda.so", "onnxruntime_pybind11_state.so", "libonnxruntime.py", "x"]
        {
            assert!(!is_library_name(name), "{name}");
        }
    }
}
