#!/usr/bin/env python3
"""Runs a shell command, prints its output, and logs seconds, programs and characters printed to $AT_LOG."""

import fcntl
import json
import os
import re
import subprocess
import sys
import time

# Words that stand before the program of a simple command.
KEYWORDS = {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "time",
            "command", "exec", "nice", "timeout", "env", "sudo", "nohup", "xargs"}
# Simple commands with no output of their own.
SILENT = {"cd", "export", "set", "true", "false", "pushd", "popd", "local", "for", "case", "esac", "in"}


def split_commands(text):
    """The simple commands of a shell line, each a list of words; quotes keep operators from splitting."""
    commands, words, word, quote, i, started = [], [], "", None, 0, False

    def end_word():
        nonlocal word, started
        if started:
            words.append(word)
        word, started = "", False

    def end_command():
        nonlocal words
        end_word()
        if words:
            commands.append(words)
        words = []

    while i < len(text):
        c = text[i]
        if quote == "'":
            if c == "'":
                quote = None
            else:
                word += c
        elif quote == '"':
            if c == '"':
                quote = None
            elif c == "\\" and i + 1 < len(text):
                i += 1
                word += text[i]
            else:
                word += c
        elif c in "'\"":
            quote, started = c, True
        elif c == "\\" and i + 1 < len(text):
            i += 1
            if text[i] != "\n":
                word += text[i]
                started = True
        elif c == "&" and (word.endswith(">") or text[i + 1:i + 2] == ">"):
            word += c
            started = True
        elif c in ";|&\n()`":
            end_command()
        elif c in " \t":
            end_word()
        else:
            word += c
            started = True
        i += 1
    end_command()
    return commands


def program_of(words):
    """`git grep`, `git codeweaver tool find_code`, `sed`, …: the program a simple command runs."""
    i = 0
    while i < len(words):
        w = words[i]
        if w in KEYWORDS or re.match(r"^[A-Za-z_]\w*=", w) or re.match(r"^\d*[<>]", w):
            # Options and counts of the word before the program: `timeout 5`, `xargs -n 1`, `nice -n 5`.
            i += 1
            if w in {"nice", "timeout", "xargs", "env"}:
                while i < len(words) and re.match(r"^(-.*|\d+[smh]?)$", words[i]):
                    i += 1
            continue
        break
    if i >= len(words):
        return None

    program = os.path.basename(words[i])
    rest = words[i + 1:]
    if program == "git-codeweaver":
        program, rest = "git", ["codeweaver"] + rest
    if program == "git":
        # `git -C DIR …` and `git --no-pager …` come before the subcommand.
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in {"-C", "-c", "--git-dir", "--work-tree"} else rest[1:]
        if rest:
            program += " " + rest[0]
            rest = rest[1:]
        if program == "git codeweaver":
            # The tool's name is the call's kind; global options before it are passed over.
            plain = [w for w in rest if not w.startswith("-")]
            if plain[:1] == ["tool"]:
                program += " tool" + (" " + plain[1] if len(plain) > 1 else "")
            elif plain:
                program += " " + plain[0]
    return program


def programs(text):
    try:
        names = [program_of(words) for words in split_commands(text)]
    except (IndexError, ValueError):
        names = [(text.split() or ["?"])[0]]
    return [n for n in names if n and n not in SILENT]


def main():
    # Without an argument the command is read from stdin, which spares quoting: run <<'EOF' … EOF.
    command = " ".join(sys.argv[1:]) if len(sys.argv) > 1 else sys.stdin.read()
    if not command.strip():
        sys.exit("usage: run 'COMMAND'")
    sys.stdout.flush()

    began = time.monotonic()
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - began

    # The log is written first, so that a reader that closes the pipe early loses no call.
    log = os.environ.get("AT_LOG")
    if log:
        line = {"seconds": round(seconds, 3), "programs": programs(command),
                "chars": len(done.stdout.decode("utf-8", "replace")), "rc": done.returncode,
                "cwd": os.getcwd(), "command": command, "at": round(time.time(), 1)}
        with open(log, "a") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.write(json.dumps(line, ensure_ascii=False) + "\n")

    try:
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


if __name__ == "__main__":
    main()
