//! LiteLLM, a proxy that many use, as the API of embeddings and of answers.

use serde_json::json;

use codeweaver_testkit::Tool;
use codeweaver_testkit::http::{LiteLlm, free_port};

use crate::{ask, model};

/// One test for both, since the proxy computes for half a minute when it starts.
#[test]
fn litellm_passes_embeddings_and_answers_on() {
    let Some(litellm) = Tool::LITELLM.find() else { return };
    let server = model::api::good();
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let config = format!(
        "model_list:\n  - model_name: team-model\n    litellm_params:\n      model: openai/inner\n      \
         api_base: {}/v1\n      api_key: x\n  - model_name: qwen-flash\n    litellm_params:\n      \
         model: openai/fake\n      api_key: x\n      mock_response: \"Run `program hooks disable` [1].\"\n",
        server.url
    );

    let embedded = model::api::repo(&server).env("CODEWEAVER_MODEL_API_BASE_URL", &url);
    let asked = ask::api::repo(&url);
    let proxy = LiteLlm::start(&litellm, embedded.root(), port, &config);
    let indexing = embedded.codeweaver(["init", "--no-hooks"]);
    let search = embedded.codeweaver(["search", "--mode", "semantic", "-o", "json", "reconnect"]);
    let answer = ask::api::ask(&asked);
    drop(proxy);

    indexing.success();
    let found = search.success().json();
    let expected = (&json!("src/retry.py"), &json!([]));
    assert_eq!((&found["matches"][0]["file"]["path"], &found["warnings"]), expected);
    assert!(server.requests().iter().any(|request| request.json()["model"] == "inner"));
    answer.success().says(&["Run `program hooks disable` [1].", "[1] docs/guide.md"]);
}
