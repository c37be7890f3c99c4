"""The content of files as lines of text, so that files with equal content have equal lines.

A workbook becomes its cells with their formats, a zip file its files, a Parquet file its rows, and a file of
another kind a digest."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import openpyxl
import pyarrow.parquet

#: What differs from run to run in any text, and the text to compare instead. The reason stands beside each.
VARIABLE_TEXTS = (
    # The simulators listen on free ports.
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "127.0.0.1:PORT"),
    # Commands say how long they took, and how long they waited.
    (re.compile(r"\b(in|for) \d+(\.\d+)? s\b"), r"\1 N s"),
    # Plans and syncs are named by their time.
    (re.compile(r"\b\d{8}-\d{6}\b"), "TIME"),
    # Generations of the published file are named by their time, to the microsecond.
    (re.compile(r"\b\d{8}T\d{6}\.\d{6}\b"), "GENERATION"),
    # The size of a file depends on the order of its rows.
    (re.compile(r"\b\d+(\.\d)? MB\b"), "N MB"),
    # DuckDB shows its progress if a query takes two seconds.
    (re.compile(r"\n?\d+% ▕.*▏ .*\n"), "\n"),
    # The simulator's clock is the true one.
    (re.compile(r"clock is -?\d+ s (ahead|behind)"), "clock is N s ahead or behind"),
    # What is written says who ran the command, where and in which process.
    (re.compile(r"\bof \S+( \d+)? on \S+, process \d+"), "of USER on HOST, process N"),
    # Swipes that wait name their file by its time, and the beginning of its digest.
    (re.compile(r"\bof \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, (?=[0-9a-f]{8}\b)"), "of TIME, "),
    # The version of the models is a digest of their files.
    (re.compile(r"\b(models|this is) [0-9a-f]{16}\b"), r"\1 DIGEST"),
    # Dagster chooses ids of runs at random.
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "RUN-ID"),
)
#: The data of a page, within its element.
PAGE_DATA = re.compile(r'(<script type="application/json"[^>]*>)(.*?)(</script>)', re.DOTALL)
TEXT_FILES = {
    ".html",
    ".css",
    ".js",
    ".svg",
    ".csv",
    ".json",
    ".yaml",
    ".sql",
    ".md",
    ".txt",
    ".xml",
    ".rels",
}


def file_lines(path: Path) -> list[str]:
    """The content of a file."""
    return content_lines(path.name, path.read_bytes())


def content_lines(name: str, content: bytes) -> list[str]:
    """The content of a file with this name."""
    kind = Path(name).suffix.lower()
    if kind in TEXT_FILES:
        return stable(content.decode("utf-8", "replace")).splitlines()
    reader = READERS.get(kind)
    return list(reader(content)) if reader else [_digest(content)]


def stable(text: str) -> str:
    """A text without what differs from run to run."""
    for pattern, replacement in VARIABLE_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def _page_lines(content: bytes) -> Iterator[str]:
    """The lines of a page. The data in the page is sorted by key, since it is no text that people read."""

    def in_order(match: re.Match[str]) -> str:
        data = json.dumps(json.loads(match[2]), ensure_ascii=False, sort_keys=True, indent=1)
        return f"{match[1]}{data}{match[3]}"

    text = content.decode("utf-8", "replace")
    yield from stable(PAGE_DATA.sub(in_order, text)).splitlines()


def _workbook_lines(content: bytes) -> Iterator[str]:
    """A line for each cell: sheet, address, value, format, link. Then a digest of each further piece."""
    workbook = openpyxl.load_workbook(io.BytesIO(content))
    for sheet in workbook.worksheets:
        yield f"{sheet.title}: {sheet.dimensions}, {sheet.sheet_state}, frozen at {sheet.freeze_panes}"
        for cell in chain.from_iterable(sheet.iter_rows()):
            if cell.value is not None:
                link = f" -> {cell.hyperlink.target}" if cell.hyperlink else ""
                value = stable(repr(cell.value))
                yield f"{sheet.title}!{cell.coordinate}: {value} [{cell.number_format}]{link}"
        yield from (f"{sheet.title}: merged {cells}" for cells in sorted(map(str, sheet.merged_cells.ranges)))
    # Charts, styles, tables and settings of print. The cells, and the time of the file, are left out.
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            if not name.startswith(("docProps/", "xl/worksheets/sheet", "xl/sharedStrings")):
                yield f"{name}: {_digest(archive.read(name))}"


def _zip_lines(content: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in sorted(archive.namelist()):
            yield from (f"{name}: {line}" for line in content_lines(name, archive.read(name)))


def _parquet_lines(content: bytes) -> Iterator[str]:
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    yield ", ".join(f"{field.name} {field.type}" for field in table.schema)
    yield from sorted(map(repr, table.to_pylist()))


def _digest(content: bytes) -> str:
    return f"sha256 {hashlib.sha256(content).hexdigest()}"


READERS: dict[str, Callable[[bytes], Iterator[str]]] = {
    ".html": _page_lines,
    ".xlsx": _workbook_lines,
    ".zip": _zip_lines,
    ".parquet": _parquet_lines,
}
