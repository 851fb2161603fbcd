//! Models by name, from a local server with the layout of a hub, which fails in every way.

use std::path::PathBuf;

use serde_json::json;
use sha2::Digest as _;

use codeweaver_testkit::http::{Request, Response, Server};
use codeweaver_testkit::{FILES, TestRepo, Tool};

use crate::model::model2vec;

const COMMIT: &str = "0123456789012345678901234567890123456789";
const NAME: &str = "potion-base-8m";
const REPOSITORY: &str = "minishlab/potion-base-8M";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

/// The oid of a blob, by git itself.
fn oid(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let output = std::process::Command::new("git").arg("hash-object").arg(file.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The answers of a hub with one repository: weights in LFS, which are served after a redirect, all else in
/// git.
fn hub(files: &[(&str, Vec<u8>)], request: &Request) -> Response {
    let path = request.path.split('?').next().unwrap();
    if path == format!("/api/models/{REPOSITORY}/revision/main") {
        return Response::json(&json!({ "sha": COMMIT, "id": REPOSITORY }));
    }
    if path == format!("/api/models/{REPOSITORY}/tree/{COMMIT}") {
        let entry = |(name, content): &(&str, Vec<u8>)| match *name == "model.safetensors" {
            true => json!({ "type": "file", "path": name, "size": content.len(), "oid": oid(b"pointer"),
                "lfs": { "oid": sha256(content), "size": content.len(), "pointerSize": 130 } }),
            false => json!({ "type": "file", "path": name, "size": content.len(), "oid": oid(content) }),
        };
        let mut entries: Vec<_> = files.iter().map(entry).collect();
        entries.push(json!({ "type": "directory", "path": "onnx", "size": 0, "oid": oid(b"") }));
        return Response::json(&entries.into());
    }
    let resolve = format!("/{REPOSITORY}/resolve/{COMMIT}/");
    let (is_cdn, name) = match (path.strip_prefix(&resolve), path.strip_prefix("/cdn/")) {
        (Some(name), _) => (false, name),
        (_, Some(name)) => (true, name),
        _ => return Response::new(404, "no"),
    };
    let Some((_, content)) = files.iter().find(|(known, _)| *known == name) else {
        return Response::new(404, "no");
    };
    if name == "model.safetensors" && !is_cdn {
        return Response::new(302, "").with("Location", &format!("/cdn/{name}"));
    }
    match request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok())
    {
        Some(from) if from < content.len() => Response::new(206, &content[from..])
            .with("Content-Range", &format!("bytes {from}-{}/{}", content.len() - 1, content.len())),
        Some(_) => Response::new(416, ""),
        None => Response::new(200, content.clone()),
    }
}

fn repo(server: &Server) -> TestRepo {
    TestRepo::with_files(FILES).env("HF_ENDPOINT", &server.url).env("NO_PROXY", "127.0.0.1")
}

fn cache(repo: &TestRepo) -> PathBuf {
    repo.beside("home/.cache/codeweaver/models")
}

fn good() -> Server {
    let files = model2vec::files();
    Server::start(move |_, request| hub(&files, request))
}

#[test]
fn a_model_is_downloaded_by_its_name_on_first_use() {
    let server = good();
    let repo = repo(&server).env("CODEWEAVER_MODEL_NAME", NAME);
    let run = repo.codeweaver(["init", "--no-hooks"]);
    run.success();
    assert!(run.stderr().contains("Downloading model.safetensors"), "{}", run.explain());
    assert_eq!(repo.status()["model"]["name"], NAME);
    let n = server.requests().len();
    repo.codeweaver(["index"]).success();
    assert_eq!(server.requests().len(), n, "what is here is not asked for again");
    // The files are those of the hub, all of one commit.
    for (name, content) in model2vec::files() {
        assert!(std::fs::read(cache(&repo).join(NAME).join(name)).unwrap() == content, "{name}");
    }
    let files = server.requests().iter().filter(|request| request.path.contains("/resolve/")).count();
    assert_eq!(files, 3, "and nothing else: {:#?}", server.requests());
    let list = repo.codeweaver(["model", "list", "--json"]).success().json();
    let row = list.as_array().unwrap().iter().find(|row| row["name"] == NAME).unwrap();
    assert_eq!((&row["in_use"], &row["revision"]), (&true.into(), &COMMIT.into()), "{row:#}");
}

#[test]
fn use_writes_the_user_settings_and_remove_deletes() {
    let server = good();
    let repo = repo(&server);
    repo.codeweaver(["model", "use", REPOSITORY]).success().says(&["32 dimensions", "model.name"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(repo.status()["model"]["name"], NAME);
    repo.codeweaver(["model", "remove", NAME]).success();
    assert!(!cache(&repo).join(NAME).exists());
    repo.codeweaver(["model", "remove", NAME]).fails(2).says(&["there is no model"]);
    repo.codeweaver(["search", "parse header"]).success().says(&["using sparse search only", "model get"]);
    repo.codeweaver(["model", "use", "builtin"]).success();
    repo.codeweaver(["model", "get", "potion-base-9m"]).fails(2).says(&["did you mean `potion-base-8m`?"]);
}

#[test]
fn a_download_continues_where_it_broke_off() {
    let files = model2vec::files();
    let server = Server::start(move |_, request| {
        let response = hub(&files, request);
        // Each connection to the weights breaks off after 500 bytes.
        if request.path.starts_with("/cdn/") { response.cut(500) } else { response }
    });
    let repo = repo(&server);
    repo.codeweaver(["model", "get", NAME]).success();
    let ranges: Vec<String> = server
        .requests()
        .iter()
        .filter(|request| request.path.starts_with("/cdn/"))
        .map(|request| request.header("range").unwrap_or("all").to_owned())
        .collect();
    assert_eq!(ranges[..2], ["all", "bytes=500-"], "{ranges:?}");
    assert!(cache(&repo).join(NAME).join("model.safetensors").exists());
}

#[test]
fn an_interrupted_download_is_continued_by_the_next_command() {
    let files = model2vec::files();
    let server =
        Server::start(move |_, request| match (request.path.starts_with("/cdn/"), request.header("range")) {
            (true, None) => hub(&files, request).cut(700),
            (true, Some("bytes=700-")) if request.header("x-second").is_none() => Response::new(404, "gone"),
            _ => hub(&files, request),
        });
    let repo = repo(&server);
    repo.codeweaver(["model", "get", NAME]).fails(2).says(&["status 404", "fix:"]);
    let part = cache(&repo).join(format!(".{NAME}.download/model.safetensors.part"));
    assert_eq!(std::fs::metadata(&part).unwrap().len(), 700);
    assert!(!cache(&repo).join(NAME).exists(), "half a model is none");
    let server = good();
    repo.at(".").env("HF_ENDPOINT", &server.url).codeweaver(["model", "get", NAME]).success();
    let ranges: Vec<_> =
        server.requests().iter().filter_map(|r| r.header("range").map(str::to_owned)).collect();
    assert_eq!(ranges, ["bytes=700-", "bytes=700-"], "to the hub and after its redirect");
}

#[test]
fn busy_servers_are_asked_again_and_servers_without_ranges_sent_whole_files() {
    let files = model2vec::files();
    let server = Server::start(move |n, request| match n {
        0 => Response::new(429, "").with("Retry-After", "0"),
        2 => Response::new(503, ""),
        _ if request.path.starts_with("/cdn/") => match request.header("range") {
            None => hub(&files, request).cut(300),
            // The range is ignored.
            Some(_) => Response::new(200, files[0].1.clone()),
        },
        _ => hub(&files, request),
    });
    repo(&server).codeweaver(["model", "get", NAME]).success();
}

#[test]
fn a_file_with_a_wrong_hash_is_refused() {
    for wrong in ["model.safetensors", "tokenizer.json"] {
        let files = model2vec::files();
        let server = Server::start(move |_, request| {
            let mut response = hub(&files, request);
            if request.path.ends_with(wrong) && response.status == 200 {
                response.body[10] ^= 1;
            }
            response
        });
        let repo = repo(&server);
        repo.codeweaver(["model", "get", NAME]).fails(2).says(&["has the hash", wrong, "fix:"]);
        assert!(!cache(&repo).join(NAME).exists());
        assert!(!cache(&repo).join(format!(".{NAME}.download/{wrong}.part")).exists());
    }
}

#[test]
fn every_failure_is_one_clear_error() {
    let repository = |response: Response| Server::start(move |_, _| response.clone());
    for (server, said) in [
        (repository(Response::new(401, "")), "HF_TOKEN"),
        (repository(Response::new(404, "")), "status 404"),
        (repository(Response::new(200, "<html>")), "no JSON"),
        (repository(Response::json(&json!({ "sha": "../.." }))), "no commit"),
        (repository(Response::new(302, "").with("Location", "/again")), "redirect"),
        (repository(Response::new(429, "").with("Retry-After", "3600")), "status 429"),
    ] {
        repo(&server).codeweaver(["model", "get", NAME]).fails(2).says(&["error:", "why:", said, "fix:"]);
    }
    let files = vec![("README.md", b"text".to_vec())];
    let server = Server::start(move |_, request| hub(&files, request));
    repo(&server).codeweaver(["model", "get", NAME]).fails(2).says(&["has no ONNX file"]);
    let repo = TestRepo::with_files(FILES);
    for (name, value, said) in [
        ("HF_ENDPOINT", "http://127.0.0.1:9", "cannot be reached"),
        ("HF_ENDPOINT", "http://hub.example.com", "must be https://"),
        ("HF_HUB_OFFLINE", "1", "HF_HUB_OFFLINE forbids it"),
    ] {
        repo.at(".").env(name, value).codeweaver(["model", "get", NAME]).fails(2).says(&[said, "fix:"]);
    }
}

/// A repository cannot make its users download what it wants.
#[test]
fn a_repository_cannot_name_a_model() {
    let server = good();
    let repo = TestRepo::with_files(&[
        ("a.rs", "fn a() {}\n"),
        ("codeweaver.toml", "[model]\nname = \"potion-base-8m\"\n"),
    ])
    .env("HF_ENDPOINT", &server.url);
    let run = repo.codeweaver(["init", "--no-hooks"]);
    run.success();
    assert!(run.stderr().contains("`model.name` is ignored"), "{}", run.explain());
    assert!(server.requests().is_empty());
}

#[test]
fn the_token_goes_to_the_hub_and_not_to_the_host_with_the_files() {
    let other = Server::start(|_, request| {
        assert_eq!(request.header("authorization"), None);
        Response::new(200, model2vec::files()[0].1.clone())
    });
    let (files, url) = (model2vec::files(), other.url.clone());
    let server = Server::start(move |_, request| match hub(&files, request) {
        response if response.status == 302 => Response::new(302, "").with("Location", &format!("{url}/x")),
        response => response,
    });
    let repo = repo(&server).env("HF_TOKEN", "hf_secret");
    let run = repo.codeweaver(["model", "get", NAME]);
    run.success();
    assert!(server.requests().iter().all(|r| r.header("authorization") == Some("Bearer hf_secret")));
    let seen = other.requests();
    assert!(seen.len() == 1 && seen[0].header("authorization").is_none(), "{seen:#?}");
    assert!(!(run.stdout() + &run.stderr()).contains("hf_secret"));
}

#[test]
fn a_bundle_carries_a_model_to_a_machine_without_a_network() {
    let server = good();
    let here = repo(&server);
    here.codeweaver(["model", "get", NAME]).success();
    let bundle = here.beside("bundle.zip");
    here.codeweaver(["model", "pack", NAME, bundle.to_str().unwrap()]).success();
    let there = TestRepo::with_files(FILES).env("HF_HUB_OFFLINE", "1").env("CODEWEAVER_MODEL_NAME", NAME);
    there.codeweaver(["model", "unpack", bundle.to_str().unwrap()]).success().says(&[NAME]);
    there.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(there.status()["model"]["name"], NAME);
    // A changed byte is noticed, and what is here stays.
    let mut bytes = std::fs::read(&bundle).unwrap();
    let at = bytes.windows(4).position(|four| four == b"[UNK").unwrap();
    bytes[at] = b'(';
    std::fs::write(&bundle, bytes).unwrap();
    there.codeweaver(["model", "unpack", bundle.to_str().unwrap()]).fails(2).says(&["fix:"]);
    there.codeweaver(["search", "parse header"]).success();
}

/// ONNX Runtime comes as the wheel of its publisher, found in an index, with the hash that the program knows.
#[test]
fn the_runtime_of_an_index_must_have_the_known_hash() {
    let wheel = |url: &str| json!({ "files": [{ "filename": name_of_the_wheel(), "url": url }] });
    let page = wheel("../files/wheel");
    let server = Server::start(move |_, request| match request.path.as_str() {
        "/simple/onnxruntime/" => Response::json(&page),
        "/simple/files/wheel" => Response::new(200, vec![0; 23_760_988]),
        _ => Response::new(404, ""),
    });
    let repo = TestRepo::with_files(FILES).env("PIP_INDEX_URL", &format!("{}/simple", server.url));
    if name_of_the_wheel().is_empty() {
        return codeweaver_testkit::skip("a platform with a wheel in this test");
    }
    repo.codeweaver(["model", "get", "onnxruntime"]).fails(2).says(&["has the hash"]);
}

fn name_of_the_wheel() -> &'static str {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "onnxruntime-1.31.1-cp312-cp312-manylinux_2_28_x86_64.whl",
        _ => "",
    }
}

/// A real transformer out of a package, through the hub's layout, to an answer.
#[test]
fn a_transformer_comes_by_its_name_and_answers() {
    let (Some(library), Some(model)) = (Tool::ONNX_RUNTIME.find(), Tool::ONNX_MODEL.find()) else { return };
    let paths = [
        "model.onnx",
        "tokenizer.json",
        "config.json",
        "special_tokens_map.json",
        "tokenizer_config.json",
        "1_Pooling/config.json",
    ];
    let repository = "sentence-transformers/all-MiniLM-L6-v2";
    let contents: Vec<(String, Vec<u8>)> =
        paths.iter().map(|path| ((*path).to_owned(), std::fs::read(model.join(path)).unwrap())).collect();
    let entries: Vec<_> = contents
        .iter()
        .map(|(path, content)| {
            let hash = sha256(content);
            json!({ "type": "file", "path": path, "size": content.len(), "oid": COMMIT,
                "lfs": { "oid": hash, "size": content.len(), "pointerSize": 130 } })
        })
        .collect();
    let server = Server::start(move |_, request| {
        let path = request.path.split('?').next().unwrap();
        if path.ends_with("/revision/main") {
            return Response::json(&json!({ "sha": COMMIT }));
        }
        if path.contains("/tree/") {
            return Response::json(&entries.clone().into());
        }
        let name = path.strip_prefix(&format!("/{repository}/resolve/{COMMIT}/"));
        match contents.iter().find(|(known, _)| Some(known.as_str()) == name) {
            Some((_, content)) => Response::new(200, content.clone()),
            None => Response::new(404, ""),
        }
    });
    let repo = repo(&server).env("ORT_DYLIB_PATH", library.to_str().unwrap());
    repo.codeweaver(["model", "use", "all-minilm-l6-v2"]).success().says(&["384 dimensions"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = repo.codeweaver(["search", "-o", "json", "try again after a failure"]).success().json();
    assert_eq!(answer["warnings"], json!([]), "{answer:#}");
    assert!(answer["search_strategy"].to_string().contains("dense"), "{answer:#}");
}
