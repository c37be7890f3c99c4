"""Runs one writer in this process: `python -m benchmarks.exports.writers WRITER PUBLISHED TARGET`.

A writer reads the table of the published file and writes one workbook. Prints seconds and CPU seconds,
without the interpreter's start and the imports. Runs in .venv-bench, except `campus`.
"""

import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import duckdb

from benchmarks.exports.table import SCHOOL, TABLE


def campus(published: Path, target: Path) -> Callable[[], None]:
    """This project: writes as `campus export marts.lessons` does."""
    from exports.export import Options, Written, export

    def write() -> None:
        [written] = export(published, [TABLE], [SCHOOL], Options(target.parent))
        assert isinstance(written, Written), written
        written.path.rename(target)

    return write


def pandas_xlsxwriter(published: Path, target: Path) -> Callable[[], None]:
    """pandas.to_excel with xlsxwriter, its default engine if installed."""
    return _pandas(published, target, "xlsxwriter")


def pandas_openpyxl(published: Path, target: Path) -> Callable[[], None]:
    """pandas.to_excel with the other engine."""
    return _pandas(published, target, "openpyxl")


def _pandas(published: Path, target: Path, engine: str) -> Callable[[], None]:
    import pandas  # noqa: F401  (DuckDB makes its frames)

    def write() -> None:
        with duckdb.connect(str(published), read_only=True) as con:
            frame = con.execute(f"FROM {TABLE}").df()
        frame.to_excel(target, engine=engine, index=False)

    return write


def openpyxl_write_only(published: Path, target: Path) -> Callable[[], None]:
    """openpyxl's mode for much data, row by row."""
    import openpyxl

    def write() -> None:
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("lessons")
        with duckdb.connect(str(published), read_only=True) as con:
            result = con.execute(f"FROM {TABLE}")
            sheet.append([column[0] for column in result.description or ()])
            while rows := result.fetchmany(2048):
                for row in rows:
                    sheet.append(row)
        book.save(target)

    return write


def xlsxwriter_loop(published: Path, target: Path) -> Callable[[], None]:
    """xlsxwriter in constant memory, each cell by its `write`: the library without this project."""
    import xlsxwriter

    def write() -> None:
        options = {"constant_memory": True, "default_date_format": "yyyy-mm-dd"}
        with (
            xlsxwriter.Workbook(str(target), options) as book,
            duckdb.connect(str(published), read_only=True) as con,
        ):
            sheet = book.add_worksheet("lessons")
            result = con.execute(f"FROM {TABLE}")
            sheet.write_row(0, 0, [column[0] for column in result.description or ()])
            numbers = count(1)
            while rows := result.fetchmany(2048):
                for row in rows:
                    sheet.write_row(next(numbers), 0, row)

    return write


WRITERS = {
    "campus": campus,
    "xlsxwriter, row by row": xlsxwriter_loop,
    "openpyxl, write-only": openpyxl_write_only,
    "pandas, xlsxwriter": pandas_xlsxwriter,
    "pandas, openpyxl": pandas_openpyxl,
}


def main() -> None:
    """Write with one writer and print the seconds."""
    name, published, target = sys.argv[1:]
    write = WRITERS[name](Path(published), Path(target))
    started, cpu = time.monotonic(), time.process_time()
    write()
    print(time.monotonic() - started, time.process_time() - cpu)


if __name__ == "__main__":
    main()
