"""The tables of the pages of a site, in English."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path

Table = list[Mapping[str, str]]


def pages(site: Path, kind: str) -> Iterator[tuple[int, Mapping[str, Table]]]:
    """The tables of each page of a kind, by the key of the page."""
    paths = sorted(site.glob(f"{kind}/*.html"))
    assert paths
    return ((int(path.stem), _tables(path)) for path in paths)


def _tables(page: Path) -> dict[str, Table]:
    """The tables of a page by title: each row's cells by the labels of the columns. A column below a heading
    has both in its label, with a slash."""
    sections = re.findall(r"<section[^>]*>(.*?)</section>", page.read_text(encoding="utf-8"), re.S)
    return {
        _text(re.findall(r"<h2.*?>(.*?)</h2>", section)[0]): _table(section)
        for section in sections
        if '<table class="calendar">' not in section
    }


def _table(section: str) -> Table:
    head, _, body = section.partition("<tbody>")
    labels = [_text(label) for label in re.findall(r'<th scope="col".*?>(.*?)</th>', head)]
    headings = re.findall(r'<th scope="colgroup" colspan="(\d+)">(.*?)</th>', head)
    above = [_text(heading) for width, heading in headings for _ in range(int(width))]
    names = [
        f"{heading} / {label}" if heading else label
        for heading, label in zip(above or [""] * len(labels), labels, strict=True)
    ]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body.partition("</tbody>")[0], re.S)
    return [
        dict(zip(names, map(_text, re.findall(r"<td.*?>(.*?)</td>", row, re.S)), strict=True)) for row in rows
    ]


def _text(html: str) -> str:
    english = re.sub(r'<span class="zh".*?</span>', "", html)
    return unescape(re.sub(r"<[^>]+>", "", english)).strip()
