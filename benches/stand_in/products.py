"""The agent products: how each is installed, pointed at the stand-in, kept off the network, and run.

None of them has a terminal.
"""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from stand_in.model import NAME

PROMPT = "Do what you are told by the tools."
# Seconds for a product to end by itself.
LIMIT = 300


@dataclass
class Product:
    """How a product is installed, configured for the stand-in, and run without a terminal."""

    id: str  # as in `git codeweaver mcp --install`
    package: str
    program: str
    finish: tuple  # what its installation script does: arguments of node, below the package
    variables: dict
    files: dict  # written below the home directory before the registration
    arguments: list
    # How a user makes the time limit of a call two seconds: variables, or an edit of a file below the home
    # directory.
    impatient: object = None
    # Arguments with which a user says that the project is trusted.
    trusting: tuple = ()
    # Arguments with which a user lets it use its own tools without being asked.
    permitting: tuple = ()


def claude_code(address):
    return Product(
        id="claude-code",
        package="@anthropic-ai/claude-code",
        program="claude",
        finish=("install.cjs",),
        variables={
            "ANTHROPIC_BASE_URL": address,
            "ANTHROPIC_API_KEY": NAME,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        },
        files={".claude.json": '{\n  "hasCompletedOnboarding": true\n}\n'},
        arguments=[
            "-p",
            PROMPT,
            "--output-format",
            "stream-json",
            "--verbose",
            "--allowedTools",
            "mcp__git-codeweaver",
        ],
        impatient={"MCP_TOOL_TIMEOUT": "2000"},
        permitting=("Grep", "Glob", "Read", "Bash", "Skill"),
    )


def claude_code_searching(address):
    """As it is with Anthropic's own address, where the tools of servers are loaded when the model searches
    for them."""
    product = claude_code(address)
    product.variables["ENABLE_TOOL_SEARCH"] = "true"
    return product


def codex(address):
    config = f"""model = "gpt-5"
model_provider = "stand-in"
check_for_update_on_startup = false

[model_providers.stand-in]
name = "stand-in"
base_url = "{address}/v1"
env_key = "STAND_IN_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""
    return Product(
        id="codex",
        package="@openai/codex",
        program="codex",
        finish=(),
        variables={"STAND_IN_KEY": NAME},
        files={".codex/config.toml": config},
        arguments=["exec", "--json", PROMPT],
        trusting=("--trust",),
        impatient=lambda home: (home / ".codex/config.toml").write_text(
            (home / ".codex/config.toml").read_text().replace('["mcp"]', '["mcp"]\ntool_timeout_sec = 2')
        ),
    )


def gemini(address):
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    return Product(
        id="gemini",
        package="@google/gemini-cli",
        program="gemini",
        finish=(),
        variables={"GOOGLE_GEMINI_BASE_URL": address, "GEMINI_API_KEY": NAME},
        files={".gemini/settings.json": json.dumps(settings, indent=2) + "\n"},
        arguments=["-p", PROMPT, "-m", "gemini-2.5-pro", "--yolo", "-o", "json"],
        impatient=lambda home: edit_json(
            home / ".gemini/settings.json", lambda s: s["mcpServers"]["git-codeweaver"].update(timeout=2000)
        ),
    )


def opencode(address):
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Stand-in",
        "options": {"baseURL": f"{address}/v1", "apiKey": NAME},
        "models": {NAME: {"name": "Stand-in", "tool_call": True, "limit": {"context": 200000, "output": 8000}}},
    }
    config = {
        "$schema": "https://opencode.ai/config.json",
        "provider": {"stand-in": provider},
        "model": f"stand-in/{NAME}",
        "autoupdate": False,
        "share": "disabled",
        "lsp": False,
    }
    return Product(
        id="opencode",
        package="opencode-ai",
        program="opencode",
        finish=("postinstall.mjs",),
        variables={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_NAMES_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        files={".config/opencode/opencode.json": json.dumps(config, indent=2) + "\n"},
        arguments=["run", "--format", "json", "--auto", PROMPT],
        impatient=lambda home: edit_json(
            home / ".config/opencode/opencode.json", lambda s: s["mcp"]["git-codeweaver"].update(timeout=2000)
        ),
    )


PRODUCTS = {
    "claude-code": claude_code,
    "claude-code-tool-search": claude_code_searching,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}


class ProductRunner:
    """Where the products, the program and the records are, of the options of a benchmark."""

    def __init__(self, options):
        self.options = options
        self.products = Path(options.products).resolve()
        self.out = Path(options.out).resolve()
        self.binary = str(Path(shutil.which(options.binary) or options.binary).resolve())

    def version(self, product):
        return json.loads((self.products / "node_modules" / product.package / "package.json").read_text())["version"]


def run_product(product, more, repo, env, place, await_interrupt=None):
    """Runs a product in `repo`, with `more` arguments, until it ends; returns its exit status.

    What it prints is left in `said` and `errors` below `place`. `await_interrupt`, called with the process,
    returns when Ctrl-C is to be pressed.
    """
    with open(place / "said", "w") as said, open(place / "errors", "w") as errors:
        process = subprocess.Popen(
            [product.program, *product.arguments, *more],
            cwd=repo,
            env=env,
            executable=shutil.which(product.program, path=env["PATH"]),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=errors,
            start_new_session=True,
        )
        if await_interrupt:
            await_interrupt(process)
            # As a terminal does.
            os.killpg(process.pid, signal.SIGINT)

        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "did not end"


def edit_json(file, edit):
    settings = json.loads(file.read_text())
    edit(settings)
    file.write_text(json.dumps(settings, indent=2))
