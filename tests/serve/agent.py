"""Drives `/mcp` of `git-codeweaver serve` with the official Python SDK: python agent.py URL OTHER_DIRECTORY.

Prints "ok" after the last check.
"""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL, OTHER = sys.argv[1:3]


async def one_session(n):
    async with streamable_http_client(URL) as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools[:2] == ["find_code", "find_text"], tools
        arguments = {"format": "json", "query": "call again after a failure", "max_results": 3}
        answer = await session.call_tool("find_code", arguments)
        assert not answer.is_error, answer
        assert answer.structured_content["matches"][0]["file"]["path"] == "src/retry.py", answer
        # There is no other repository, whatever a call names.
        refused = await session.call_tool("find_code", {"query": "retry", "path": OTHER if n else "/"})
        assert refused.is_error, refused


async def main():
    await asyncio.gather(*(one_session(n) for n in range(5)))
    print("ok")


asyncio.run(main())
