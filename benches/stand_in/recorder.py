"""Stands between a client and the server, and records their messages: recorder.py PROGRAM RECORD CALLS ARGUMENT…

Runs PROGRAM with the arguments. For the server (`mcp` alone), appends a JSON object a line to the file RECORD: the time,
where a line came from, and the line. Asks the client for its roots after the handshake; the answer is only recorded.
If CALLS is not 0, the first server of a record is killed at the call after so many.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

ROOTS = "recorder-roots"


def main():
    program, path, n_calls, *arguments = sys.argv[1:]
    if arguments != ["mcp"]:
        os.execv(program, [program, *arguments])
    n_left = 0 if os.path.exists(path) else int(n_calls)
    record = open(path, "a", buffering=1)
    output = threading.Lock()
    server = subprocess.Popen([program, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def note(side, line):
        record.write(json.dumps({"at": time.time(), "from": side, "line": line}) + "\n")

    def tell(line):
        with output:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def forward(number, _):
        note("signal", signal.Signals(number).name)
        server.send_signal(number)

    def requests():
        n_seen = 0
        for line in sys.stdin.buffer:
            note("client", line.decode(errors="replace"))
            n_seen += b'"tools/call"' in line
            if n_left and n_seen > n_left:
                server.kill()
                return
            if ROOTS.encode() in line:
                continue
            server.stdin.write(line)
            server.stdin.flush()
            if b'"notifications/initialized"' in line:
                ask = {"jsonrpc": "2.0", "id": ROOTS, "method": "roots/list"}
                tell(json.dumps(ask).encode() + b"\n")
        note("end of input", "")
        server.stdin.close()

    note("start", json.dumps({"cwd": os.getcwd(), "variables": sorted(os.environ)}))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, forward)
    threading.Thread(target=requests, daemon=True).start()
    for line in server.stdout:
        note("server", line.decode(errors="replace"))
        try:
            tell(line)
        except BrokenPipeError:
            pass
    note("exit", str(server.wait()))
    # A closed output is no failure.
    os._exit(0)


if __name__ == "__main__":
    main()
