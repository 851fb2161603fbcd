#!/usr/bin/env python3
"""Checks the documentation as a book; fails if a link leads nowhere.

    .ci/book.py                 prints what is wrong, and the number of pages and links
    .ci/book.py --check         quiet if nothing is
    .ci/book.py --source DIR    writes the source of the book for mdBook (book.toml)

Every page of docs/ is in docs/SUMMARY.md once, and every link in a Markdown file of the repository leads to a
file that git has, and to a heading of it. Links to other hosts are not followed. Pages outside of docs/ are
in the book, too, so its source is a copy of the pages at their places."""

import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "docs/SUMMARY.md"
# Made-up repositories and inputs, whose links are part of a test.
NOT_OURS = ("fixtures/", "tests/")
LINK = re.compile(r"!?\[(?:[^][]|\[[^][]*\])*\]\(<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\)", re.DOTALL)
HTML_LINK = re.compile(r"<(?:a|img|source)\b[^>]*\b(?:href|src|srcset)=\"([^\"]+)\"")
PICTURES = {".svg", ".png"}
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")


def files_of_git():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return {path for path in listed.stdout.split("\0") if path and (ROOT / path).exists()}


def prose(text):
    """The text without blocks and spans of code, in which links are examples."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence = mark[1]
        elif fence is not None:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
        else:
            lines.append(line)
    return "\n".join(lines)


def without_spans(text):
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)


def anchors(text):
    """The anchors of the headings of a page, as forges and mdBook name them."""
    found = set()
    for line in prose(text).split("\n"):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while (name if number == 0 else f"{name}-{number}") in found:
            number += 1
        found.add(name if number == 0 else f"{name}-{number}")
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def links(text):
    text = without_spans(prose(text))
    return [match[1] for pattern in (LINK, HTML_LINK) for match in pattern.finditer(text)]


def resolve(page, link):
    """The path in the repository and the anchor that a link leads to; None if it leads to another host."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return None
    path, _, anchor = link.partition("#")
    if not path:
        return page, anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def check(files):
    """Returns problems, and the numbers of pages and links."""
    pages = sorted(path for path in files if path.endswith(".md") and not path.startswith(NOT_OURS))
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages}
    known = {page: anchors(text) for page, text in texts.items()}
    folders = {parent.as_posix() for path in files for parent in Path(path).parents}

    problems, total = [], 0
    for page in pages:
        for link in links(texts[page]):
            target = resolve(page, link)
            if target is None:
                continue
            total += 1
            path, anchor = target
            if path not in files and path not in folders:
                problems.append(f"{page}: there is no {path} ({link})")
            elif anchor and path in known and anchor not in known[path]:
                problems.append(f"{page}: {path} has no heading #{anchor}")
    return problems + check_summary(pages, texts[SUMMARY]), len(pages), total


def book_pages(summary):
    """The pages of the book in their order, as paths in the repository."""
    return [resolve(SUMMARY, link)[0] for link in links(summary)]


def check_summary(pages, summary):
    listed = book_pages(summary)
    wanted = {page for page in pages if page.startswith("docs/") and page != SUMMARY}
    problems = [f"{SUMMARY}: {page} is not in the book" for page in sorted(wanted - set(listed))]
    return problems + [
        f"{SUMMARY}: {page} is there twice" for page in sorted(set(listed)) if listed.count(page) > 1
    ]


def write_source(folder, files):
    """The pages at their places with their pictures, and their list at the root. Links to other files lead to
    the repository."""
    summary = (ROOT / SUMMARY).read_text(encoding="utf-8")
    pages = book_pages(summary)
    shutil.rmtree(folder, ignore_errors=True)

    for page in pages:
        place = folder / page
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(for_book(page, pages, files, folder), encoding="utf-8")
    moved = re.sub(r"\]\((?!\.\./)", "](docs/", summary).replace("](../", "](")
    (folder / "SUMMARY.md").write_text(moved, encoding="utf-8")


def for_book(page, pages, files, folder):
    """The text of a page, with links that lead somewhere in the book. Copies the pictures that it shows."""
    repository = re.search(r'git-repository-url = "(.*)"', (ROOT / "book.toml").read_text(encoding="utf-8"))[
        1
    ]

    def replaced(match):
        target = resolve(page, match[1])
        if target is None or target[0] in pages:
            return match[0]
        if Path(target[0]).suffix in PICTURES and target[0] in files:
            (folder / target[0]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / target[0], folder / target[0])
            return match[0]
        return (
            match[0].replace(match[1], f"{repository}/blob/main/{target[0]}")
            if target[0] in files
            else match[0]
        )

    text = (ROOT / page).read_text(encoding="utf-8")
    for pattern in (LINK, HTML_LINK):
        text = pattern.sub(replaced, text)
    return text


def main():
    files = files_of_git()
    if sys.argv[1:2] == ["--source"]:
        write_source(Path(sys.argv[2]), files)
        return
    problems, n_pages, n_links = check(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    if "--check" not in sys.argv:
        print(f"{n_pages} pages, {n_links} links")


if __name__ == "__main__":
    main()
