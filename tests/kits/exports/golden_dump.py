"""Exported files as text, for golden files: cells, visible text, CSV and YAML, without times of day."""

import hashlib
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl

#: Text as it is; other kinds of files are scripts and styles.
PLAIN = (".csv", ".json", ".sql", ".yaml")
#: The rows of a table that a shortened text has.
ROWS = 8
_ROW = " | "
_BLOCKS = (
    r"</?(?:div|dl|dt|dd|h[1-6]|header|footer|li|main|nav|ol|p|section|table|tbody|thead|title|tr|ul)\b[^>]*>"
)
#: Attributes that a reader comes upon: where links lead, what sorts a cell, and what a screen reader says.
_MARKED = re.compile(r'\s(href|data-sort|download|aria-label)="([^"]*)"')


def texts_of(folder: Path, day: date) -> dict[str, str]:
    """The text of each file of a folder of exports, by path. `day`: that of the loads and the publication."""
    texts = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for name, text in _texts(path):
            relative = path.relative_to(folder).as_posix()
            texts["/".join(filter(None, (relative, name)))] = _without_times(text, day)
    return texts


def digests_of(texts: Mapping[str, str]) -> str:
    """The digest of the text of each file, a line each. The pages of a folder have one line."""
    groups = defaultdict[str, list[str]](list)
    for path in texts:
        parent, _, _ = path.rpartition("/")
        is_one_of_many = path.endswith(".html") and f"{parent}/index.html" not in texts and parent
        groups[f"{parent}/*.html" if is_one_of_many else path].append(path)
    return "".join(
        f"{_digest(f'{path}: {texts[path]}' for path in paths)} {len(paths):3} {name}\n"
        for name, paths in sorted(groups.items())
    )


def shortened(text: str) -> str:
    """A text with the first rows of each table, and without the data of charts."""
    lines, run = list[str](), 0
    for line in text.splitlines():
        run = run + 1 if _ROW in line else 0
        if run <= ROWS and not line.startswith("{"):
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def _digest(texts: Iterator[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """The texts in a file: that of each member of an archive, by its name, else one without a name."""
    if path.suffix == ".xlsx":
        yield "", "\n".join(_sheets(path))
    elif path.suffix == ".html":
        yield "", _visible(path.read_text(encoding="utf-8"))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                yield name, archive.read(name).decode("utf-8-sig")
    elif path.suffix in PLAIN:
        yield "", path.read_text(encoding="utf-8-sig")


def _sheets(path: Path) -> Iterator[str]:
    for sheet in openpyxl.load_workbook(path).worksheets:
        yield f"\n== {sheet.title} =="
        for row in sheet.iter_rows(values_only=True):
            if any(value is not None for value in row):
                yield _line(row)


def _line(values: Sequence[Any]) -> str:
    return _ROW.join("" if value is None else str(value) for value in values).rstrip()


def _visible(html: str) -> str:
    """The text of a page in both languages with marks of attributes, a line a block; then the page's data."""
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.S)
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", "", html, flags=re.S)
    text = re.sub(r"<[^>]*>", lambda tag: tag[0] + _marks(tag[0]), re.sub(r"\s+", " ", text))
    text = re.sub(_BLOCKS, "\n", re.sub(r"</t[dh]>\s*(?=<t[dh])", _ROW, text))
    lines = (unescape(re.sub(r"<[^>]*>", "", line)).strip() for line in text.split("\n"))
    return "\n".join(
        [*filter(None, lines), *(json.dumps(json.loads(block), sort_keys=True) for block in data)]
    )


def _marks(tag: str) -> str:
    return "".join(f"[{name}={value}]" for name, value in _MARKED.findall(tag))


def _without_times(text: str, day: date) -> str:
    """A text without the times of day, the generation and the fingerprint of the models."""
    text = re.sub(rf"{day:%Y%m%d}T\d{{6}}(\.\d+)?", "<generation>", text)
    text = re.sub(rf"{day}([T ])\d\d:\d\d(:\d\d)?(\.\d+)?", rf"{day}\1<time>", text)
    return re.sub(r"\b[0-9a-f]{16}\b", "<fingerprint>", text)
