"""The file of a school with the mail addresses of its teachers."""

from pathlib import Path

import duckdb

from campus.files.table_file import file_below, table_in
from campus.inputs.readers import Addresses, read_addresses
from loading.inputs import FOLDER, READERS_FILE


def addresses_file(home: Path, school_id: int) -> Path:
    """The path of the file, which may not exist."""
    return home / FOLDER / str(school_id) / READERS_FILE


def addresses_of(home: Path, con: duckdb.DuckDBPyConnection, school_id: int) -> Addresses:
    """The addresses of the school's teachers, by the published file. Raises TableError."""
    rows = con.execute(
        "SELECT staff_number FROM core.dim_teacher "
        "WHERE school_id = ? AND staff_number IS NOT NULL AND NOT is_deleted",
        [school_id],
    ).fetchall()
    file = file_below(home / FOLDER, str(school_id), READERS_FILE)
    return read_addresses(table_in(file), [number for (number,) in rows], str(file.path))
