"""Drives `git-codeweaver mcp` with the official Python SDK: python client.py PROGRAM REPOSITORY OTHER_REPOSITORY.

REPOSITORY is indexed, OTHER_REPOSITORY is a git repository without an index, which no call makes. Prints "ok" after the last check.
"""

import asyncio
import json
import sys

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, REPOSITORY, OTHER = sys.argv[1:4]
SERVER = StdioServerParameters(command=PROGRAM, args=["mcp"], cwd=REPOSITORY)
TOOLS = ["find_code", "find_text", "find_symbol", "call_graph", "read_code", "manage_index"]


def text(result):
    return result.content[0].text


async def session_checks(session):
    """What holds for a session of any revision."""
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert list(tools)[: len(TOOLS)] == TOOLS, list(tools)
    assert all(tool.input_schema and not tool.output_schema and tool.description for tool in tools.values())

    answer = await session.call_tool("find_code", {"format": "json", "query": "call again after a failure", "max_results": 3})
    assert not answer.is_error and answer.structured_content["status"] == "ok", answer
    assert answer.structured_content["matches"][0]["file"]["path"] == "src/retry.py", answer.structured_content
    assert "src/retry.py" in text(answer)

    alias = await session.call_tool("search_codebase", {"format": "json", "query": "parse_header", "locations_only": True})
    assert alias.structured_content["matches"][0]["file"]["path"] == "src/parse.rs"

    outline = await session.call_tool("file_outline", {"format": "json", "file": "src/parse.rs"})
    assert outline.structured_content["symbols"][0]["name"] == "parse_header", outline
    graph = await session.call_tool("call_graph", {"format": "json", "symbol": "parse_header", "direction": "callers"})
    assert graph.structured_content["roots"] == ["src/parse.rs:2#parse_header"], graph
    read = await session.call_tool("read_file", {"format": "json", "file": "src/parse.rs", "start_line": 2, "end_line": 2})
    assert read.structured_content["text"].startswith("pub fn parse_header"), read
    twin = await session.call_tool("find_similar", {"format": "json", "file": "src/retry.py", "line": 4, "include_tests": True})
    assert twin.structured_content["codebaseRoot"] == REPOSITORY, twin
    status = await session.call_tool("manage_index", {"format": "json", "action": "status"})
    assert status.structured_content["index"]["state"] == "indexed", status

    # A gate is an answer; a missing file is a failed call, and so is nonsense; an unknown tool is an error of
    # the protocol.
    gated = await session.call_tool("find_code", {"format": "json", "query": "anything", "path": OTHER})
    assert not gated.is_error and json.loads(text(gated))["reason"] == "not_indexed", gated
    missing = await session.call_tool("file_outline", {"format": "json", "file": "src/nothing.rs"})
    assert missing.is_error and missing.structured_content["status"] == "not_found", missing
    for arguments in ({"file": "../../etc/passwd"}, {"file": "src/parse.rs", "colour": "red"}, {}):
        refused = await session.call_tool("read_code", arguments)
        assert refused.is_error and text(refused).startswith("invalid_arguments: "), refused
    try:
        await session.call_tool("no_such_tool", {})
    except Exception as error:
        assert getattr(error, "error", error).code == -32602, error
    else:
        raise AssertionError("an unknown tool was accepted")

    resources = (await session.list_resources()).resources
    own = next(resource.uri for resource in resources if str(resource.uri).endswith(REPOSITORY))
    report = json.loads((await session.read_resource(own)).contents[0].text)
    assert report["state"] == "indexed", report


async def handshake():
    """A session of the revisions that shake hands, with progress and cancellation."""
    async with stdio_client(SERVER) as (reader, writer), ClientSession(reader, writer) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "git-codeweaver" and "find_code" in hello.instructions, hello
        await session.send_ping()
        await session_checks(session)
        await session.set_logging_level("debug")

        seen = []

        async def on_progress(progress, total, message):
            seen.append((progress, total, message))

        built = await session.call_tool(
            "manage_index", {"format": "json", "action": "create", "path": OTHER}, progress_callback=on_progress
        )
        assert built.structured_content["index"]["state"] == "indexed", built
        assert seen and seen[-1][0] == 100 and [step[0] for step in seen] == sorted(step[0] for step in seen), seen

        # Cancelled by the client: the session goes on.
        try:
            await asyncio.wait_for(
                session.call_tool("manage_index", {"format": "json", "action": "reindex", "path": OTHER, "wait_seconds": 30}), 0.001
            )
        except asyncio.TimeoutError:
            pass
        await session_checks_after_cancellation(session)


async def session_checks_after_cancellation(session):
    for _ in range(600):
        status = await session.call_tool("manage_index", {"format": "json", "action": "status", "path": OTHER})
        if status.structured_content["index"]["state"] != "indexing":
            break
        await asyncio.sleep(0.1)
    assert (await session.call_tool("find_code", {"format": "json", "query": "parse_header"})).structured_content["matches"]


async def modern():
    """A session of the revision without a handshake, if the SDK and the server agree on it."""
    async with Client(SERVER) as client:
        answer = await client.call_tool("find_code", {"format": "json", "query": "parse_header", "max_results": 1})
        assert answer.structured_content["matches"][0]["file"]["path"] == "src/parse.rs", answer


async def two_at_once():
    """Two clients of one repository, each with several calls under way."""

    async def many():
        async with stdio_client(SERVER) as (reader, writer), ClientSession(reader, writer) as session:
            await session.initialize()
            calls = [session.call_tool("find_code", {"format": "json", "query": f"parse header {n}"}) for n in range(10)]
            return [answer.structured_content["matches"][0]["file"]["path"] for answer in await asyncio.gather(*calls)]

    one, other = await asyncio.gather(many(), many())
    assert one == other and set(one) == {"src/parse.rs"}, (one, other)


async def main():
    await modern()
    await two_at_once()
    await handshake()
    print("ok")


asyncio.run(main())
