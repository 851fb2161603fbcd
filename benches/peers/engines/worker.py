"""The loop of an engine: a JSON object a line, such as {"do": "ask", "text": …}, and one as its answer.

The answer has the seconds of the engine's own work, without starting Python, importing and reading the
chunks.
"""

import json
import sys
import time


class Clock:
    """Time and CPU time since it was made."""

    def __init__(self):
        self.started = time.perf_counter(), time.process_time()

    def taken(self):
        seconds, cpu = self.started
        return {"seconds": time.perf_counter() - seconds, "cpu": time.process_time() - cpu}


def serve(actions):
    """`actions` has a function for each `do`; it takes the rest of the object and returns a dictionary."""
    for line in sys.stdin:
        request = json.loads(line)
        action = actions[request.pop("do")]
        clock = Clock()
        answer = action(**request)
        # Actions that read chunks first have a clock of their own.
        print(json.dumps({**clock.taken(), **answer}), flush=True)
