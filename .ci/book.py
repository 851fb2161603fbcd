#!/usr/bin/env python3
"""Checks the documentation as a book; fails if a link leads nowhere.

    .ci/book.py                 prints what is wrong, and the number of pages and links
    .ci/book.py --check         quiet if nothing is
    .ci/book.py --source DIR    writes the source of the book for mdBook (book.toml)
    .ci/book.py --build MDBOOK  builds the book with this mdBook into target/book, and checks the links of its HTML

Every page of docs/ is in docs/SUMMARY.md once, and every link in a Markdown file of the repository leads to a
file that git has, and to a heading of it. Links to other hosts are not followed. Pages outside of docs/ are
in the book, too, so its source is a copy of the pages at their places."""

import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "docs/SUMMARY.md"
# The places that book.toml names.
SOURCE, BUILT = "target/book-source", "target/book"
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
    settings = (ROOT / "book.toml").read_text(encoding="utf-8")
    repository = re.search(r'git-repository-url = "(.*)"', settings)[1]
    folders = {parent.as_posix() for path in files for parent in Path(path).parents}

    def replaced(match):
        link = for_link(match[1])
        start, end = (position - match.start() for position in match.span(1))
        return match[0][:start] + link + match[0][end:]

    def for_link(link):
        target = resolve(page, link)
        if target is None:
            return link
        path, anchor = target
        if (main := posixpath.normpath(f"{path}/README.md")) in pages:
            path = main
        if path in pages:
            return link_of_page(page, path, anchor)
        if Path(path).suffix in PICTURES and path in files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)
            return link
        if path in files:
            return f"{repository}/blob/main/{path}"
        return f"{repository}/tree/main/{path}" if path in folders else link

    text = (ROOT / page).read_text(encoding="utf-8")
    for pattern in (LINK, HTML_LINK):
        text = pattern.sub(replaced, text)
    return text


def link_of_page(page, path, anchor):
    """A link from one page to another. mdBook names the HTML of a README.md `index.html`, but only the ending
    of a link."""
    if path == page:
        return f"#{anchor}"
    file = posixpath.relpath(path, posixpath.dirname(page) or ".")
    file = posixpath.join(posixpath.dirname(file), "index.md") if Path(file).name == "README.md" else file
    return f"{file}#{anchor}" if anchor else file


class Html(HTMLParser):
    """The anchors and links of an HTML file."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src", "srcset") and tag != "base" and value:
                self.links.append(value)


def dead_links(folder):
    """The links of the HTML files in a folder that lead to no file of it, or to no anchor of that."""
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")}
    read = {page: Html((folder / page).read_text(encoding="utf-8")) for page in pages}

    dead = []
    for page in sorted(pages):
        for link in read[page].links:
            # The page of an error is for any address, so its links begin at the root of the host.
            target = resolve(page, link.removeprefix("/") if page == "404.html" else link)
            if target is None:
                continue
            path, anchor = target[0], unquote(target[1])
            if not (folder / unquote(path)).is_file():
                dead.append(f"{page}: there is no {path} ({link})")
            elif path in read and anchor and anchor not in read[path].anchors:
                dead.append(f"{page}: {path} has no anchor #{anchor}")
    return dead


def build(mdbook, files):
    """Builds the book. Returns the warnings of mdBook and the dead links."""
    write_source(ROOT / SOURCE, files)
    built = subprocess.run([mdbook, "build"], cwd=ROOT, capture_output=True, text=True)
    output = (built.stdout + built.stderr).splitlines()
    if built.returncode != 0:
        return [f"mdbook: exit code {built.returncode}", *output]
    return [line for line in output if "WARN" in line or "ERROR" in line] + dead_links(ROOT / BUILT)


def main():
    files = files_of_git()
    if sys.argv[1:2] == ["--source"]:
        write_source(Path(sys.argv[2]), files)
        return
    if sys.argv[1:2] == ["--build"]:
        problems = build(sys.argv[2], files)
        print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
        sys.exit(1 if problems else 0)
    problems, n_pages, n_links = check(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    if "--check" not in sys.argv:
        print(f"{n_pages} pages, {n_links} links")


if __name__ == "__main__":
    main()
