"""The file of a school with the mail addresses of its teachers."""

import re
from pathlib import Path

import duckdb

from campus.files.table_file import TableError, read_table
from campus.inputs.readers import Addresses, read_addresses
from loading.inputs import FOLDER, READERS_FILE

#: The part of an address that no message shows. A file without a first line of names has addresses there.
PERSON = re.compile(r"[^\s'\"@]+@")


def addresses_file(home: Path, school_id: int) -> Path:
    """The path of the file, which may not exist."""
    return home / FOLDER / str(school_id) / READERS_FILE


def addresses_of(home: Path, con: duckdb.DuckDBPyConnection, school_id: int) -> Addresses:
    """The addresses of the school's teachers, by the published file. Raises TableError, which shows no
    address in full."""
    path = addresses_file(home, school_id)
    rows = con.execute(
        "SELECT staff_number FROM core.dim_teacher "
        "WHERE school_id = ? AND staff_number IS NOT NULL AND NOT is_deleted",
        [school_id],
    ).fetchall()
    try:
        return read_addresses(read_table(path), [number for (number,) in rows], str(path))
    except TableError as error:
        raise TableError(PERSON.sub("…@", str(error))) from None
