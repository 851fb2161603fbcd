"""The stand-in for a model: an HTTP server that speaks the interfaces of model providers and plays a script.

Each interface reads a request into a Turn, and writes the next call of the script, or the end, as its answer.
"""

import contextlib
import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The name of the model, and of what else needs one.
NAME = "stand-in"


@dataclass
class Step:
    """A call that the stand-in asks for, of the first of the tools that there is; left out if there is none.

    The tools are those of the server; with `is_own`, those of the product, and `arguments` are by tool.
    """

    label: str
    tools: tuple
    arguments: dict
    is_own: bool = False

    def call(self, names):
        """The call, if one of the tools `names` is wanted."""
        for tool in self.tools:
            for name in names:
                if self.is_own and name.rpartition("/")[2] == tool and not own_name(name):
                    return Call(name, self.arguments[tool])
                if not self.is_own and own_name(name) == tool:
                    return Call(name, self.arguments)
        return None


@dataclass
class Turn:
    """What one request to the model contains."""

    tools: list  # of (name, what the model is told about it)
    results: list  # of (tool, text, whether it is marked as an error)


@dataclass
class Call:
    tool: str
    arguments: dict


@dataclass
class Script:
    """The plan of a model, and the record of what it was sent."""

    steps: list
    requests: list = field(default_factory=list)
    asked: list = field(default_factory=list)  # (label, name of the tool), in order
    failures: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, turn):
        """The next call, or None at the end and for side requests that have none of our tools."""
        names = [name for name, _ in turn.tools]
        loaders = [name for name in names if name in LOADERS]
        ours = [name for name in names if own_name(name)]
        with self.lock:
            while len(self.asked) < len(self.steps):
                step = self.steps[len(self.asked)]
                call = step.call(names)
                if call:
                    self.asked.append((step.label, call.tool))
                    return call
                if step.is_own:
                    # Side requests have few tools, or none.
                    if len(names) < MIN_TOOLS:
                        return None
                elif loaders and not any(tool in LOADERS for tool, *_ in turn.results):
                    wanted = sorted({tool for step in self.steps for tool in step.tools})
                    return Call(loaders[0], LOADERS[loaders[0]](wanted))
                elif not ours:
                    return None
                self.failures.append(f"{step.label}: no tool {step.tools[0]}")
                self.asked.append((step.label, None))
            return None


# Number of tools that a request for an agent has at least.
MIN_TOOLS = 3
# Tools with which a product lets the model load the definitions of others.
LOADERS = {
    "ToolSearch": lambda tools: {
        "query": "select:" + ",".join(f"mcp__git-codeweaver__{tool}" for tool in tools),
        "max_results": 30,
    },
    "tool_search": lambda tools: {"query": "git-codeweaver " + " ".join(tools), "limit": 30},
}


def own_name(name):
    """The server's name of a tool, of the name that a product has given it; None for a tool of the
    product."""
    found = re.search(r"codeweaver[_/]+(\w+)$", name)
    return found and found[1]


def texts(content):
    """The text of a message's content, whatever its form; what is not text is shown as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(texts(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return content["text"]
    return json.dumps(content, ensure_ascii=False)


class Messages:
    """Anthropic: POST /v1/messages."""

    @staticmethod
    def read(body):
        results, names = [], {}
        for message in body.get("messages", []):
            content = message["content"]
            for part in content if isinstance(content, list) else []:
                if part.get("type") == "tool_use":
                    names[part["id"]] = part["name"]
                if part.get("type") == "tool_result":
                    tool = names.get(part["tool_use_id"], "?")
                    results.append((tool, texts(part.get("content", "")), bool(part.get("is_error"))))
        return Turn([(tool["name"], tool) for tool in body.get("tools", [])], results)

    @staticmethod
    def write(call, n, body):
        usage = {"input_tokens": 100, "output_tokens": 10}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{n:04}", "name": call.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": "Done."}
        stop = "tool_use" if call else "end_turn"
        message = {
            "id": f"msg_{n:04}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", NAME),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            whole = {**block, "input": call.arguments} if call else {**block, "text": "Done."}
            return None, {**message, "content": [whole], "stop_reason": stop}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": 10},
            },
            {"type": "message_stop"},
        ]
        return [(event["type"], event) for event in events], None


class Responses:
    """OpenAI: POST /v1/responses."""

    @staticmethod
    def read(body):
        results, names, tools = [], {}, []
        items = body.get("input", [])
        for item in items if isinstance(items, list) else []:
            if item.get("type") in ("function_call", "tool_search_call"):
                whole = "/".join(filter(None, (item.get("namespace"), item.get("name", "tool_search"))))
                names[item.get("call_id")] = whole
            if item.get("type") in ("function_call_output", "tool_search_output"):
                shown = item.get("output", item.get("tools"))
                results.append((names.get(item.get("call_id"), "?"), texts(shown), False))
            if item.get("type") == "tool_search_output":
                tools += Responses.tools(item.get("tools", []))
        return Turn(Responses.tools(body.get("tools", [])) + tools, results)

    @staticmethod
    def tools(listed):
        tools = []
        for tool in listed:
            if tool.get("type") == "namespace":
                # The model calls a tool of a namespace by both names.
                tools += [(f"{tool['name']}/{inner['name']}", inner) for inner in tool["tools"]]
            else:
                tools.append((tool.get("name", tool.get("type")), tool))
        return tools

    @staticmethod
    def write(call, n, body):
        if call:
            namespace, _, name = call.tool.rpartition("/")
            item = {
                "type": "function_call",
                "id": f"fc_{n:04}",
                "call_id": f"call_{n:04}",
                "name": name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
            }
            if namespace:
                item["namespace"] = namespace
            if name == "tool_search":
                item |= {"type": "tool_search_call", "execution": "client", "arguments": call.arguments}
        else:
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            item = {"type": "message", "id": f"msg_{n:04}", "role": "assistant", "content": content}
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": f"resp_{n:04}", "object": "response", "model": body.get("model", NAME), "output": []}
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return None, done
        events = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        return [(event["type"], {**event, "sequence_number": i}) for i, event in enumerate(events)], None


class Completions:
    """OpenAI and many others: POST /v1/chat/completions."""

    @staticmethod
    def read(body):
        results, names = [], {}
        for message in body.get("messages", []):
            for call in message.get("tool_calls") or []:
                names[call["id"]] = call["function"]["name"]
            if message["role"] == "tool":
                results.append((names.get(message["tool_call_id"], "?"), texts(message["content"]), False))
        return Turn([(tool["function"]["name"], tool["function"]) for tool in body.get("tools", [])], results)

    @staticmethod
    def write(call, n, body):
        if call:
            function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
            calls = [{"index": 0, "id": f"call_{n:04}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        else:
            message = {"role": "assistant", "content": "Done."}
        stop = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        base = {"id": f"chat_{n:04}", "created": int(time.time()), "model": body.get("model", NAME)}
        if not body.get("stream"):
            choices = [{"index": 0, "message": message, "finish_reason": stop}]
            return None, {**base, "object": "chat.completion", "choices": choices, "usage": usage}
        base["object"] = "chat.completion.chunk"
        first = {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        last = {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}
        return [(None, first), (None, last), (None, "[DONE]")], None


class Generate:
    """Gemini: POST /v1beta/models/NAME:generateContent and :streamGenerateContent."""

    @staticmethod
    def read(body):
        results = []
        for message in body.get("contents", []):
            for part in message.get("parts", []):
                if answer := part.get("functionResponse"):
                    response = answer.get("response", {})
                    shown = response.get("output", response.get("error", response))
                    results.append((answer["name"], texts(shown), "error" in response))
        declared = [tool for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
        return Turn([(tool["name"], tool) for tool in declared], results)

    @staticmethod
    def write(call, n, body):
        part = {"functionCall": {"name": call.tool, "args": call.arguments}} if call else {"text": Generate.said(body)}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": NAME}
        return [(None, answer)], answer

    @staticmethod
    def said(body):
        """Side requests, as for the choice of a model, have a schema that the product insists on."""
        return "{}" if body.get("generationConfig", {}).get("responseMimeType") == "application/json" else "Done."


INTERFACES = [
    ("/messages", Messages),
    ("/responses", Responses),
    ("/chat/completions", Completions),
    ("generateContent", Generate),
    ("streamGenerateContent", Generate),
]


def interface_of(path):
    return next((known for end, known in INTERFACES if path.endswith(end)), None)


def handler(script):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.reply(b"")

        def do_GET(self):
            self.reply(json.dumps({"object": "list", "data": [], "models": [], "has_more": False}).encode())

        def do_POST(self):
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            interface = interface_of(path)
            try:
                body = json.loads(data)
            except ValueError:
                body = None
            with script.lock:
                script.requests.append((path, body))
            if path.endswith(("count_tokens", ":countTokens")):
                return self.reply(b'{"input_tokens": 100, "totalTokens": 100}')
            if interface is None or not isinstance(body, dict):
                return self.reply(b"{}", status=404)
            call = script.next(interface.read(body))
            events, whole = interface.write(call, len(script.requests), body)
            if "generateContent" in path or events is None:
                return self.reply(json.dumps(whole).encode())
            lines = []
            for name, event in events:
                said = event if isinstance(event, str) else json.dumps(event)
                lines.append((f"event: {name}\n" if name else "") + f"data: {said}\n\n")
            self.reply("".join(lines).encode(), content_type="text/event-stream")

        def reply(self, body, status=200, content_type="application/json"):
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler


@contextlib.contextmanager
def serve(script):
    """Runs the model of a script; yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(script)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def turns(script):
    """The requests that a script was sent, as (body, Turn)."""
    for path, body in script.requests:
        interface = interface_of(path)
        if interface and isinstance(body, dict):
            yield body, interface.read(body)
