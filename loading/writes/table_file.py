"""A table that people keep in a file: CSV, xlsx or Parquet, as rows of text with the line that each is on."""

import csv
import datetime as dt
import io
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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


def read_table(path: Path) -> TableFile:
    """Read a file by its ending: .csv (or .txt, .tsv), .xlsx (its first sheet) or .parquet.

    Raises TableError."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise TableError(f"{path}: expected a file that ends with .csv, .xlsx or .parquet")
    try:
        return table_of(reader(path), str(path))
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror or error}") from None
    except DAMAGED:
        raise TableError(f"{path} is damaged, or no {path.suffix} file: save it again") from None


def table_of(lines: Iterator[tuple[int, Sequence[Any]]], name: str) -> TableFile:
    """A table of its lines, of which the first has the names. name: of the table, for messages.

    Raises TableError."""
    _, header = next(lines, (1, ()))
    columns = [cell_text(cell) for cell in header]
    while columns and not columns[-1]:
        columns.pop()
    if not columns:
        raise TableError(f"{name} is empty: its first line has to name the columns")
    for number, column in enumerate(columns, 1):
        if not column:
            raise TableError(f"{name}: column {number} has no name in the first line")
        if columns.count(column) > 1:
            raise TableError(f"{name}: the column {column!r} is there twice")
    rows = []
    for line, cells in lines:
        texts = [cell_text(cell) for cell in cells]
        if any(texts[len(columns) :]):
            raise TableError(f"{name}, line {line}: more cells than the first line has names")
        if any(texts):
            found = dict(zip(columns, texts + [""] * len(columns), strict=False))
            rows.append(TableRow(line, found, _problem(found)))
    return TableFile(tuple(columns), tuple(rows))


def _problem(cells: Mapping[str, str]) -> str:
    wrong = [f"{column} is {cell}" for column, cell in cells.items() if cell in ERRORS]
    return f"{', '.join(wrong)}: the spreadsheet has an error there" if wrong else ""


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


def _csv(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    text = _decoded(path)
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(SEPARATORS, key=first.count), strict=True)
    begins = 1
    for row in reader:
        yield begins, row
        # A quoted cell may go over several lines.
        begins = reader.line_num + 1


def _decoded(path: Path) -> str:
    content = path.read_bytes()
    for encoding in ENCODINGS:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise TableError(f"{path} is neither UTF-8 nor GB18030: save it as CSV UTF-8")


def _xlsx(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    # Nothing else needs it, and the settings name columns of files whatever is run.
    import openpyxl  # type: ignore[import-untyped]
    from openpyxl.utils.exceptions import InvalidFileException  # type: ignore[import-untyped]

    try:
        # Formulas as the values that the file has of them.
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except InvalidFileException as error:
        raise ValueError(str(error)) from error
    try:
        yield from enumerate(book.worksheets[0].iter_rows(values_only=True), 1)
    finally:
        book.close()


def _parquet(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    file = pq.ParquetFile(path)
    yield 1, file.schema_arrow.names
    line = 2
    for batch in file.iter_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield line, row
            line += 1


#: By the ending of a file.
READERS = {".csv": _csv, ".txt": _csv, ".tsv": _csv, ".xlsx": _xlsx, ".parquet": _parquet}
