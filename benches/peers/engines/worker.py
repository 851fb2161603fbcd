"""The loop of an engine: a JSON object a line, such as {"do": "ask", "text": …}, and one as its answer.

The answer has the seconds of the engine's own work, without starting Python, importing and reading the
chunks.
"""

import json
import sys
import time


def serve(actions):
    """`actions` has a function for each `do`; it takes the rest of the object and returns a dictionary."""
    for line in sys.stdin:
        request = json.loads(line)
        action = actions[request.pop("do")]
        started = time.perf_counter()
        answer = action(**request)
        answer.setdefault("seconds", time.perf_counter() - started)
        print(json.dumps(answer), flush=True)
