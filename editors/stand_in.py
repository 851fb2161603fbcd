#!/usr/bin/env python3
"""A program for the tests of the clients, whose answers the real one seldom gives.

It answers each call of a tool with the structured content in CODEWEAVER_TEST_ANSWER.
"""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        about = {"name": "stand-in", "version": "0"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    elif message.get("method") == "tools/call":
        result = {"content": [], "structuredContent": json.loads(os.environ["CODEWEAVER_TEST_ANSWER"])}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
