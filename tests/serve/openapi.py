"""Validates the description of the API and uses a client that is generated from it: python openapi.py URL DIRECTORY.

Prints "ok" after the last check.
"""

import importlib
import json
import pathlib
import subprocess
import sys
import urllib.request

from openapi_spec_validator import validate

URL, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])


def main():
    with urllib.request.urlopen(URL + "api/openapi.json") as response:
        document = json.load(response)
    validate(document)
    DIRECTORY.mkdir()
    (DIRECTORY / "openapi.json").write_text(json.dumps(document))
    generator = pathlib.Path(sys.executable).with_name("openapi-python-client")
    command = [generator, "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "codeweaver_api"]
    subprocess.run(command, cwd=DIRECTORY, check=True, capture_output=True)
    sys.path.insert(0, str(DIRECTORY))
    client = importlib.import_module("codeweaver_api").Client(base_url=URL.rstrip("/"))
    outline = importlib.import_module("codeweaver_api.api.default.outline").sync(client=client, path="src/parse.rs")
    assert outline.symbols[0].name == "parse_header", outline
    health = importlib.import_module("codeweaver_api.api.default.health").sync(client=client)
    assert health.status.value == "healthy", health
    file = importlib.import_module("codeweaver_api.api.default.read_file")
    assert "parse_header" in file.sync(client=client, path="src/parse.rs").text
    missing = file.sync(client=client, path="src/none.rs")
    assert "none.rs" in missing.why, missing
    print("ok")


main()
