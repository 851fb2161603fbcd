"""Damage: one file of the store is lost, cut, changed or replaced by something else, at random."""

import os

from work import Tries, index, search

SHORT, SECONDS, LONG = 40, 12, 2000
# Damage is done to files below these names; locks hold nothing.
PARTS = ["state", "state.prev", "hashed", "shards", "segments", "entries", "snapshots", "cache"]
WAYS = ["loss", "emptying", "cut", "flip", "zeros", "pipe", "directory"]


def campaign(run):
    tries = Tries(run)

    def damage_one(site, done):
        store = site.repo / ".codeweaver"
        parts = [path for name in PARTS for path in store.rglob(name)]
        files = [path for part in parts for path in ([part] if part.is_file() else part.rglob("*")) if path.is_file()]
        path, how = run.rng.choice(sorted(files)), run.rng.choice(WAYS)
        done.append(f"{how} of {path.relative_to(store)}")
        damage(path, how, run.rng)
        search(site)
        index(site)
        return True

    while run.goes_on():
        tries.attempt(damage_one)
    tries.end()


def damage(path, how, rng):
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data)) if data else 0
    path.unlink()
    if how == "loss":
        return
    if how == "pipe":
        os.mkfifo(path)
        return
    if how == "directory":
        path.mkdir()
        return
    if how == "emptying":
        data.clear()
    elif how == "cut":
        del data[at:]
    elif how == "flip" and data:
        data[at] ^= 1 << rng.randrange(8)
    elif how == "zeros":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    path.write_bytes(data)
