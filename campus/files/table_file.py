"""A table that people keep in a file: CSV, xlsx or Parquet, as rows of text with the line that each is on.

Anybody may have made the file: its size is limited before it is read, and so is what it unpacks to. A process
of its own (table_process.py) with limits of time and memory makes rows of it. No message quotes it.
"""

import csv
import datetime as dt
import io
import os
import subprocess
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from untrusted.files import FileRefused, read_below, read_named

#: What the roster of a school with 100,000 users needs, and a good deal more.
MOST_BYTES = 20_000_000
MOST_UNPACKED = 200_000_000
MOST_ROWS = 200_000
MOST_COLUMNS = 200
#: Of the header's width, in all rows: each is a byte in the file, and hundreds in memory.
MOST_CELLS = 5_000_000
#: As a spreadsheet has them.
LONGEST_CELL = 32_767
MOST_LINES = 1_048_576
#: Seconds of computing that a file may take to be read, and how many times as long on a busy machine.
SECONDS = 120
PATIENCE = 5
#: What the process that reads gets of the environment, to find its libraries. It gets no settings or secrets.
ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")

#: What a Chinese spreadsheet program writes where it does not write UTF-8.
ENCODINGS = ("utf-8-sig", "gb18030")
#: The separators of such files; the first line tells which.
SEPARATORS = ",;\t"
#: What a spreadsheet shows in place of a value that it could not find or calculate.
ERRORS = frozenset(
    {"#N/A", "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA"}
)
#: What the libraries raise for a file that is not what its ending says, or was damaged on the way. The parser
#: of XML raises a SyntaxError.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    SyntaxError,
    RuntimeError,
    pa.ArrowException,
    csv.Error,
)


class TableError(Exception):
    """A file that cannot be read as a table; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row: the line of the file that it is on (the header is on line 1), and its cells by column name, as
    text without space around it. An empty cell is "". `problem`: why it makes no sense as it is; empty: none
    is known."""

    line: int
    cells: Mapping[str, str]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The columns of a file, in their order, and its rows that are not empty."""

    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it was read, once. `path`: for messages."""

    path: Path
    content: bytes


UNPACKED = f"{MOST_UNPACKED // 1_000_000} MB when it is unpacked"


class TooLarge(Exception):
    """A file has more than a limit allows; the message says of what."""


def named_file(path: Path) -> FileContent:
    """The content of a file that the user of a command names. Links are followed. Raises TableError."""
    try:
        return FileContent(path, read_named(path, max_bytes=MOST_BYTES).content)
    except OSError as error:
        raise unreadable(path, error) from None


def file_below(base: Path, *names: str) -> FileContent:
    """The content of the file `base/names`, where others may write. No link below `base` is followed.

    Raises TableError."""
    path = Path(base, *names)
    try:
        return FileContent(path, read_below(base, *names, max_bytes=MOST_BYTES).content)
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> TableError:
    """The error for a file that cannot be read."""
    if isinstance(error, FileRefused):
        return TableError(str(error))
    return TableError(f"{path} cannot be read: {error.strerror or type(error).__name__}")


def table_in(file: FileContent, header: Sequence[str] = ()) -> TableFile:
    """The table of a file, by its ending: .csv (or .txt, .tsv), .xlsx or .parquet. header: names of which the
    header has one, in any sheet and line of an .xlsx file; none: the header is the first line of the first
    sheet.

    Raises TableError."""
    path, ending = file.path, file.path.suffix.lower()
    if ending not in READERS:
        raise TableError(f"{path}: expected a file that ends with .csv, .xlsx or .parquet")
    try:
        lines = list(_lines_by_process(file, header))
        if header and not lines:
            raise TableError(f"{path} has no column {' or '.join(header)}")
        return table_of(lines, str(path))
    except TooLarge as limit:
        raise TableError(f"{path} has more than {limit}: is it the right file?") from None
    except UnicodeError:
        raise TableError(f"{path} is neither UTF-8 nor GB18030: save it as CSV UTF-8") from None
    except DAMAGED:
        raise TableError(f"{path} is damaged, or no {ending} file: save it again") from None


def lines_of(ending: str, content: bytes, header: Collection[str] = ()) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file that have a cell with text, and the first one, with their numbers. header: as of
    `table_in`.

    Raises TooLarge, and DAMAGED."""
    count = letters = width = 0
    for number, cells in _xlsx(content, header) if header else READERS[ending](content):
        # A text of many lines makes one row of them.
        if number > MOST_LINES and ending in PACKED:
            raise TooLarge(f"{MOST_LINES:,} lines")
        if any(isinstance(cell, str) and len(cell) > LONGEST_CELL for cell in cells):
            raise TooLarge(f"{LONGEST_CELL:,} letters in a cell")
        if len(cells) > MOST_COLUMNS and any(cell_text(cell) for cell in cells[MOST_COLUMNS:]):
            raise TooLarge(f"{MOST_COLUMNS} columns")
        texts = [cell_text(cell) for cell in cells[:MOST_COLUMNS]]
        if any(texts) or number == 1:
            count, width = count + 1, width or len(texts)
            letters += sum(map(len, texts))
            if count > MOST_ROWS:
                raise TooLarge(f"{MOST_ROWS:,} rows")
            if count * width > MOST_CELLS:
                raise TooLarge(f"{MOST_CELLS:,} cells")
            # Many cells may share one text, which is in the file once.
            if letters > MOST_UNPACKED:
                raise TooLarge(UNPACKED)
            yield number, texts


def _lines_by_process(file: FileContent, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Read the lines in a process of its own, with limits of time and memory.

    Raises TooLarge and TableError, UnicodeError where a text has another encoding, and ValueError where the
    file is damaged."""
    ending = file.path.suffix.lower()
    # -P: a module of the folder where this runs is not taken for one of ours.
    command = [sys.executable, "-P", "-m", "campus.files.table_process", ending, *header]
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    try:
        done = subprocess.run(
            command,
            input=file.content,
            stdout=subprocess.PIPE,
            # A traceback may quote the file.
            stderr=subprocess.DEVNULL,
            timeout=SECONDS * PATIENCE,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode < 0:
        raise TableError(f"{file.path} takes more than {SECONDS} s to read: save it as CSV")
    if done.returncode == TOO_LARGE:
        raise TooLarge(done.stdout.decode())
    if done.returncode == OTHER_ENCODING:
        raise UnicodeError("it is in another encoding")
    if done.returncode != 0:
        raise ValueError("the process could not read it")
    yield from msgspec.msgpack.decode(done.stdout, type=list[tuple[int, list[str]]])


#: The exit status of the process where a limit ends it, which is on its output, and where a text has another
#: encoding.
TOO_LARGE, OTHER_ENCODING = 3, 4


def table_of(lines: Iterable[tuple[int, Sequence[Any]]], name: str) -> TableFile:
    """A table of its lines, of which the first has the names. name: of the table, for messages.

    Raises TableError."""
    lines = iter(lines)
    first_line, header = next(lines, (1, ()))
    columns = [cell_text(cell) for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    if not columns:
        raise TableError(f"{name} is empty: its first line has to name the columns")
    for number, column in enumerate(columns, 1):
        if not column:
            raise TableError(f"{name}, line {first_line}: column {number} has no heading")
        if (first := columns.index(column) + 1) < number:
            raise TableError(f"{name}, line {first_line}: columns {first} and {number} have the same heading")
    rows = []
    for line, cells in lines:
        texts = [cell_text(cell) for cell in cells]
        if any(texts[len(columns) :]):
            raise TableError(f"{name}, line {line}: more cells than the first line has names")
        if any(texts):
            named = dict(zip(columns, texts + [""] * len(columns), strict=False))
            rows.append(TableRow(line, named, _problem(named)))
    return TableFile(tuple(columns), tuple(rows))


def _problem(cells: Mapping[str, str]) -> str:
    wrong = [f"column {number} is {cells[column]}" for number, column in errors_in(cells)]
    return f"{', '.join(wrong)}: the spreadsheet has an error there" if wrong else ""


def errors_in(cells: Mapping[str, str]) -> list[tuple[int, str]]:
    """The numbers and names of the columns in which a row has an error of a spreadsheet."""
    return [(number, column) for number, (column, cell) in enumerate(cells.items(), 1) if cell in ERRORS]


def cell_text(value: Any) -> str:
    """A cell as text: a whole number without a decimal point, a date as YYYY-MM-DD, a moment with seconds.
    What is no number (NaN) is how tables of numbers have an empty cell."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.datetime):
        is_day = value.time() == dt.time()
        return value.strftime("%Y-%m-%d") if is_day else value.strftime("%Y-%m-%d %H:%M:%S")
    return unicodedata.normalize("NFC", str(value)).strip()


def _csv(content: bytes) -> Iterator[tuple[int, Sequence[Any]]]:
    text = _decoded(content)
    first = text.partition("\n")[0]
    # The length of a cell is checked once all of it is there, with the words for it.
    csv.field_size_limit(MOST_BYTES)
    reader = csv.reader(io.StringIO(text), delimiter=max(SEPARATORS, key=first.count), strict=True)
    begins = 1
    for row in reader:
        yield begins, row
        # A quoted cell may go over several lines.
        begins = reader.line_num + 1


def _decoded(content: bytes) -> str:
    first, second = ENCODINGS
    if b"\0" in content:
        raise ValueError("a text has no such byte")
    try:
        return content.decode(first)
    except UnicodeDecodeError:
        return content.decode(second)


def _xlsx(content: bytes, header: Collection[str] = ()) -> Iterator[tuple[int, Sequence[Any]]]:
    # Nothing else needs it, and the settings name columns of files whatever is run.
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        if sum(part.file_size for part in packed.infolist()) > MOST_UNPACKED:
            raise TooLarge(UNPACKED)
    try:
        # Formulas as the values that the file has of them.
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except InvalidFileException as error:
        raise ValueError(str(error)) from error
    try:
        for sheet in book.worksheets if header else book.worksheets[:1]:
            # A sheet may declare more cells than it has: 1.7 kB took twelve CPU minutes.
            sheet.reset_dimensions()
            lines = enumerate(sheet.iter_rows(values_only=True), 1)
            for number, cells in lines:
                if not header or not set(header).isdisjoint(map(cell_text, cells)):
                    yield number, cells
                    yield from lines
                    return
    finally:
        book.close()


def _parquet(content: bytes) -> Iterator[tuple[int, Sequence[Any]]]:
    file = pq.ParquetFile(pa.BufferReader(content))
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > MOST_UNPACKED:
        raise TooLarge(UNPACKED)
    if file.metadata.num_columns > MOST_COLUMNS:
        raise TooLarge(f"{MOST_COLUMNS} columns")
    if file.metadata.num_rows > MOST_ROWS:
        raise TooLarge(f"{MOST_ROWS:,} rows")
    yield 1, file.schema_arrow.names
    line = 2
    for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield line, row
            line += 1


#: By the ending of a file.
READERS: Mapping[str, Callable[[bytes], Iterator[tuple[int, Sequence[Any]]]]] = {
    **dict.fromkeys((".csv", ".txt", ".tsv"), _csv),
    ".xlsx": _xlsx,
    ".parquet": _parquet,
}
#: Rows of a Parquet file that are in memory at once.
BATCH = 1000
#: Of these a small file may unpack to anything.
PACKED = frozenset({".xlsx", ".parquet"})
