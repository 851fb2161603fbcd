"""Tokens: a token for some repositories of a catalogue is answered as if there were no others.

Two servers have the repositories that the token may see, and one of them has hidden ones too, which consist of random
words. Each word and a neighbour of it is asked in one form of request after the other, and some in all forms; the
answers of both servers must be the same bytes, but for times and the places of the catalogues, and no error of the
server. What the server of all
answers to a token without limits shows that the words are there.
"""

import re
from urllib.parse import quote

from server import Server
from world import Failure, World

SHORT, SECONDS, LONG = 300, 12, 10_000
LIMITED, WHOLE = "limited-0123456789abcdef", "whole-0123456789abcdef"
# Number of words between two that are asked in all forms.
EVERY = 50
# The prefix of a request that is no GET.
POST = "POST "
# Requests for a word.
FORMS = [
    "api/search?q={}",
    "api/search?q={}&explain=1",
    "api/search?q={}&mode=keyword&explain=1",
    "api/search?q={}&mode=symbol",
    "api/search?q={}&mode=semantic",
    "api/search?q={}&mode=exact",
    "api/search?q={}&mode=exact&stream=1",
    "api/search?q={}.*&mode=regex",
    "api/search?q=fetch_remote+{}",
    "api/search?q=how+is+the+{}+fetched&explain=1",
    "api/search?q=%22{}%22",
    "api/search?q=/{}/&stream=1",
    "api/search?q=fetch+-{}",
    "api/search?q=fetch+path:{}",
    "api/search?q=fetch+lang:{}",
    "api/search?q=fetch+kind:{}",
    "api/search?q=fetch+repo:{}",
    "api/search?q=fetch&rev={}",
    "api/search?q=where+is+secret/vault/{}.rs",
    "api/ask?q=what+is+a+{}",
    "api/files?path=*{}*",
    "api/files?path=secret/{}",
    "api/graph?symbol={}",
    "api/graph?symbol={}_of_vault",
    "api/file?path=secret/vault/{}.rs",
    "api/file?path=pub/docs/{}.rs",
    "api/outline?path=pub/docs/{}.rs",
    "api/outline?path=secret/vault/{}.rs",
    "api/similar?path=secret/vault/{}.rs&line=1",
    "api/history?path=secret/vault/{}.rs",
    "api/history?symbol={}",
    "results?q={}",
    "search?q=fetch+{}",
    "file?path=secret/{}.rs",
    "files?path=secret/{}",
    "symbol?symbol={}",
    "POST api/update?repo={}",
    "{}",
]
# Requests that name a hidden repository or the catalogue.
FIXED = [
    "",
    "health/",
    "metrics",
    "status",
    "skipped",
    "api/openapi.json",
    "api/repositories",
    "api/status",
    "api/files",
    "api/files?rev=HEAD",
    "api/files?rev=HEAD:secret/vault",
    "api/files?rev=HEAD:secret/none",
    "api/files?path=pub/docs/../../secret/vault",
    "api/file?path=./secret/vault/src/keys.rs",
    "api/file?path=secret//vault/src/keys.rs",
    "api/file?path=pub/docs/src/fetch.rs&rev=HEAD",
    "api/file?path=.codeweaver-catalogue",
    "api/history",
    "api/history?rev=HEAD:secret/vault&path=src/keys.rs",
    "api/search?q=fetch+repo:secret/vault",
    "api/search?q=fetch+repo:secret/*",
    "api/search?q=fetch+rev:HEAD:secret/vault",
    "api/search?q=is+anything+written+in+cobol",
    "api/similar?path=pub/docs/src/fetch.rs&line=2",
    "history?path=secret/vault/src/keys.rs",
    "mcp",
    "POST mcp",
    "POST api/update?repo=secret/vault",
    "POST api/update?repo=secret/*",
]


def campaign(run):
    world = Catalogues(run.rng, min(run.wanted, 1500) if run.is_short() else run.wanted)
    servers = [world.serve(name) for name in ("whole", "never")]
    try:
        ask_all(run, world, servers)
    finally:
        for server in servers:
            server.end()
    if not run.failures:
        world.remove()


def ask_all(run, world, servers):
    show_the_words(world, servers[0])
    compare(run, world, servers, FIXED)
    number = 0
    while run.goes_on():
        word = world.words[run.tries % len(world.words)]
        for asked in (word, neighbour(run.rng, word)):
            forms = FORMS if number % EVERY == 0 else [FORMS[number % len(FORMS)]]
            compare(run, world, servers, [form.replace("{}", quote(asked)) for form in forms])
        number += 1
        run.tried()
    run.figures["requests"] = world.requests


def show_the_words(world, server):
    """Fails unless the hidden words are found by who may see them."""
    path = f"/api/search?q={world.words[0]}&mode=exact"
    status, body = server.get(path, {"authorization": f"Bearer {WHOLE}"})
    if status != 200 or b"secret/vault" not in body:
        raise Failure(f"the hidden words are not there: {status} {body[:500]}")


def compare(run, world, servers, paths):
    for path in paths:
        answers = [world.answer(server, path) for server in servers]
        world.requests += 1
        # The same error in both is no answer either.
        if answers[0] != answers[1] or answers[0][0] >= 500:
            run.failed(f"{path}\n  with:    {answers[0][:1500]}\n  without: {answers[1][:1500]}")


class Catalogues(World):
    """The repositories, and the catalogues `whole`, `never` and `mixed`."""

    def __init__(self, rng, n_words):
        super().__init__("tokens")
        self.requests = 0
        self.words = made_up_words(rng, n_words)
        self.write_members()
        (self.root / "tokens").write_text(f"{LIMITED} pub\n{WHOLE}\n")
        # The members are added in another order, so that ids and segments differ too.
        self.catalogue("whole", ["fork", "secret/vault", "pub/tool", "pub/docs"])
        self.catalogue("never", ["pub/docs", "pub/tool"])
        # Added at once, so that members share segments.
        self.add("mixed", "--recursive", str(self.root / "members"))

    def write_members(self):
        docs = {
            "src/fetch.rs": "/// Fetches from a remote.\npub fn fetch_remote(url: &str) -> Vec<u8> {\n    open(url)\n}\n",
            "guide.md": "# Guide\n\n## Fetching\n\nA remote is fetched over a connection that is kept open.\n",
        }
        shared = {"src/shared.rs": '/// Retries a fetch that has failed.\npub fn retry_fetch() { fetch_remote("") }\n'}
        hidden = {
            "notes.md": "# Vault\n\n" + "".join(f"A {word} is fetched from the vault.\n\n" for word in self.words),
            "pay.cob": "       IDENTIFICATION DIVISION.\n       PROGRAM-ID. PAY.\n",
            "id.pem": "-----BEGIN PRIVATE KEY-----\n",
        }
        for at in range(0, len(self.words), 500):
            keys = (
                f"/// The {word} of a vault.\npub fn {word}_of_vault() {{ {word}() }}\n"
                for word in self.words[at : at + 500]
            )
            hidden[f"src/keys{at // 500 or ''}.rs"] = "pub fn unlock_vault() {}\n" + "".join(keys)
        fork = {"copied.rs": shared["src/shared.rs"], "src/fetch.rs": docs["src/fetch.rs"]}
        members = {"pub/docs": docs, "pub/tool": shared, "secret/vault": hidden | shared, "fork": fork}
        for name, files in members.items():
            for path, text in files.items():
                file = self.root / "members" / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            repo = self.root / "members" / name
            self.git("init", "-q", "-b", "main", cwd=repo)
            self.commit("Begin", cwd=repo)

    def catalogue(self, name, members):
        for member in members:
            self.add(name, "--name", member, str(self.root / "members" / member))

    def add(self, name, *what):
        """Adds repositories to the catalogue `name`, which is made if it is not there."""
        place = str(self.place(name))
        if not self.place(name).exists():
            self.program("catalogue", "init", place, cwd=self.root)
        self.program("catalogue", "add", "--catalogue", place, *what, cwd=self.root)

    def place(self, name):
        return self.root / name / "team.git"

    def serve(self, name):
        tokens = str(self.root / "tokens")
        args = ["--every", "3600", "--catalogue", str(self.place(name)), "--token-file", tokens]
        return Server(self, args, cwd=self.root)

    def answer(self, server, path):
        """Status of the answer to the limited token, and its body without times and the place of the catalogue."""
        content = "" if path.startswith(POST) else None
        path = path.removeprefix(POST)
        status, body = server.get(f"/{path}", {"authorization": f"Bearer {LIMITED}"}, content)
        body = re.sub(rb'"(execution_time_ms|updated|uptime_seconds|latency_ms)":[\d.]+', b"", body)
        body = re.sub(rb'"(timestamp|last_check)":"[^"]*"', b"", body)
        body = re.sub(rb"\d+ ms|just now|\d+ (second|minute)s? ago", b"", body)
        place = re.escape(str(self.root).encode()) + rb"/(whole|never)"
        body = re.sub(place, b"CATALOGUE", body)
        host, port = server.address
        return status, body.replace(f"{host}:{port}".encode(), b"ADDRESS")


def made_up_words(rng, n):
    """Words that no other text has."""
    words = set()
    while len(words) < n:
        syllables = rng.randint(3, 4)
        words.add("".join(rng.choice("bdfglmprstvz") + rng.choice("aeiou") for _ in range(syllables)))
    return rng.sample(sorted(words), n)


def neighbour(rng, word):
    """A word one edit away."""
    at = rng.randrange(1, len(word) - 1)
    return rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
            word[:at] + "x" + word[at + 1 :],
        ]
    )
