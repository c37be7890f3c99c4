"""Every file below a folder, unpacked and searched for texts and numbers. It shares no code with the search
that it proves."""

import gzip
import html
import json
import re
import sqlite3
import zipfile
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq


def leaks(
    root: Path, texts: Collection[str], numbers: Collection[int], skip: Collection[Path] = ()
) -> list[str]:
    """Where any of the texts, or any of the numbers, stands below a folder: file, place, and what."""
    messages: list[str] = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not any(entry == path or entry in path.parents for entry in skip):
            wanted = _spellings(texts) | {str(number) for number in numbers}
            for place, content in _contents(path):
                for entry in _hits(content, wanted, numbers):
                    messages.append(f"{path.relative_to(root)} {place}: {entry}")
    return sorted(set(messages))


def _spellings(texts: Collection[str]) -> set[str]:
    return {
        spelling
        for text in texts
        for spelling in (
            text,
            json.dumps(text)[1:-1],
            json.dumps(text, ensure_ascii=False)[1:-1],
            html.escape(text),
        )
    }


def _hits(content: Any, texts: Collection[str], numbers: Collection[int]) -> Iterator[str]:
    values = list(_values(content))
    for place, whole in (
        ("bytes", b"\0".join(value for value in values if isinstance(value, bytes))),
        ("text", "\0".join(value for value in values if isinstance(value, str)).encode(errors="replace")),
    ):
        yield from (f"{text!r} in {place}" for text in texts if _stands(text, whole))
    integers = {value for value in values if isinstance(value, int) and not isinstance(value, bool)}
    yield from (f"{number} as a number" for number in integers.intersection(numbers))


def _values(content: Any) -> Iterator[Any]:
    """The values in a nested content, and the keys of its objects."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from _values(value)
    elif isinstance(content, list | tuple):
        for value in content:
            if isinstance(value, dict | list | tuple):
                yield from _values(value)
            else:
                yield value
    else:
        yield content


def _stands(text: str, content: bytes) -> bool:
    """Whether a text is there. Digits alone are parts of many other numbers."""
    if text.encode() not in content:
        return False
    if not text.isdigit():
        return True
    return re.search(rb"(?<![0-9A-Za-z.])" + text.encode() + rb"(?![0-9A-Za-z])", content) is not None


def _contents(path: Path) -> Iterator[tuple[str, Any]]:
    raw = path.read_bytes()
    yield "", raw
    if raw.startswith(b"PAR1"):
        with pq.ParquetFile(path) as file:
            yield from _table(file.read().to_pydict())
            yield "metadata", str(file.schema_arrow.metadata)
    elif raw[8:12] == b"DUCK":
        with closing(duckdb.connect(str(path), read_only=True)) as con:
            for schema, table in con.execute(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
            ).fetchall():
                rows = con.sql(f'FROM "{schema}"."{table.replace(chr(34), chr(34) * 2)}"').to_arrow_table()
                for place, content in _table(rows.to_pydict()):
                    yield f"{schema}.{table} {place}", content
    elif raw.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(path)) as con:
            for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in con.execute(f'SELECT * FROM "{table}"'):
                    yield table, [value for value in row if not isinstance(value, int)]
    elif raw.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, html.unescape(archive.read(name).decode("utf-8", "replace"))
    elif raw.startswith(b"\x1f\x8b"):
        yield "unpacked", gzip.decompress(raw)


def _table(columns: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
    yield from columns.items()
