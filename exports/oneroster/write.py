"""Writes the zip of OneRoster's files from the views of schema `oneroster`."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from exports.names import Version
from exports.oneroster.check import refuse_broken, refuse_incomplete, table_of
from exports.oneroster.standard import BINDINGS, OneRosterFile
from warehouse.csv_cells import RUNNABLE, safe_text
from warehouse.identifiers import listed, literal, quoted

DEMOGRAPHICS = "demographics"
#: The views that the files are made of.
SOURCES = tuple(f"oneroster.{file.view}" for file in BINDINGS["1.2"].files.values())
#: Files with marks.
MARKS = {"lineItems", "results", "scoreScales"}
MANIFEST_VERSION, SYSTEM = "1.0", "Campus Warehouse"
LINE_END = "\r\n"
#: Line breaks and other control characters, which the standard does not allow in a field.
CONTROL = r"[\x00-\x1F\x7F\x{85}\x{2028}\x{2029}]+"
#: The same rows make the same bytes, so members have no time of their own.
TIME = (1980, 1, 1, 0, 0, 0)

#: The platform's own addresses, or those of staff by school and staff number.
Addresses = Literal["platform"] | Mapping[int, Mapping[str, str]]
#: Begins like no formula.
ADDRESS = r"[A-Za-z0-9_][A-Za-z0-9._%+'-]*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"
OF_PLATFORM = """
    SELECT
        people.school_id || CASE kind WHEN 'staff' THEN '-teacher-' ELSE '-student-' END || person_id AS id,
        trim(users.email) AS address
    FROM core.bridge_v1_person AS people
    JOIN raw.v1_users AS users ON users._school_id = people.school_id AND users.id = people.v1_person_id
    WHERE people.kind IN ('student', 'staff') AND users._deleted_at IS NULL
"""
OF_STAFF = """
    SELECT school_id || '-teacher-' || teacher_id AS id, address
    FROM core.dim_teacher
    JOIN (SELECT unnest($addresses, recursive := true)) USING (school_id, staff_number)
    WHERE NOT is_deleted
"""
#: An address of two people would make a receiver take them for one person: neither gets it.
ADD = """
    UPDATE {users} AS users SET email = addresses.address
    FROM (
        SELECT id, address FROM ({addresses})
        WHERE regexp_full_match(address, {pattern}) AND id IN (SELECT "sourcedId" FROM {users})
        QUALIFY count(*) OVER (PARTITION BY lower(address)) = 1 AND count(*) OVER (PARTITION BY id) = 1
    ) AS addresses
    WHERE addresses.id = users."sourcedId"
"""


@dataclass(frozen=True)
class Content:
    """What the zip has."""

    version: Version = "1.2"
    #: The gender of students.
    demographics: bool = False
    #: The source of email addresses. None: no addresses.
    email: Addresses | None = None


def write_zip(
    con: duckdb.DuckDBPyConnection, schools: Sequence[int], target: Path, content: Content
) -> dict[str, int]:
    """Write the bulk files of these schools as one zip. Returns the number of rows by file.

    Uses files beside `target` for the members.

    Raises OneRosterRefused."""
    binding = BINDINGS[content.version]
    rows = {
        name: _load(con, name, file, schools)
        for name, file in binding.files.items()
        if content.demographics or name != DEMOGRAPHICS
    }
    # A file without rows is not permitted.
    rows = {name: count for name, count in rows.items() if count}
    refuse_incomplete(con, schools, marks=not MARKS.isdisjoint(rows))
    files = {name: binding.files[name] for name in rows}
    refuse_broken(con, files)
    if content.email:
        _add_addresses(con, table_of("users"), content.email)
    member = target.with_name("member.csv")
    with zipfile.ZipFile(target, "w") as archive:
        member.write_text(_manifest(rows, content.version), encoding="utf-8", newline="")
        _add(archive, "manifest", member)
        for name, file in files.items():
            _write_csv(con, name, file, member)
            _add(archive, name, member)
    member.unlink()
    return rows


def _load(con: duckdb.DuckDBPyConnection, name: str, file: OneRosterFile, schools: Sequence[int]) -> int:
    """Put the rows of a file into its temporary table, as they will be written. Returns their number."""
    fields = ", ".join(f"{_text(field)} AS {quoted(field)}" for field in file.fields)
    rows = file.rows or f"FROM oneroster.{quoted(file.view)}"
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE {table_of(name)} AS SELECT {fields} "
        f"FROM ({rows}) WHERE list_contains($schools, school_id)",
        {"schools": schools},
    )
    [(count,)] = con.execute(f"SELECT count(*) FROM {table_of(name)}").fetchall()
    return int(count)


def _text(column: str) -> str:
    """SQL for a column as text without control characters and formulas. An empty text is null."""
    value = f"regexp_replace(CAST({quoted(column)} AS VARCHAR), {literal(CONTROL)}, ' ', 'g')"
    text = f"nullif(trim({value}), '')"
    # A number may begin with -.
    return f"CASE WHEN typeof({quoted(column)}) = 'VARCHAR' THEN {safe_text(text, RUNNABLE)} ELSE {text} END"


def _add_addresses(con: duckdb.DuckDBPyConnection, users: str, addresses: Addresses) -> None:
    """Put the addresses into the table of users. A malformed address is left out."""
    query, parameters = OF_PLATFORM, {}
    if addresses != "platform":
        query = OF_STAFF
        parameters["addresses"] = [
            {"school_id": school_id, "staff_number": number, "address": address}
            for school_id, of_school in addresses.items()
            for number, address in of_school.items()
        ]
    con.execute(ADD.format(users=users, addresses=query, pattern=literal(ADDRESS)), parameters)


def _manifest(rows: Mapping[str, int], version: Version) -> str:
    properties = {
        "propertyName": "value",
        "manifest.version": MANIFEST_VERSION,
        "oneroster.version": version,
        **{f"file.{file}": "bulk" if file in rows else "absent" for file in BINDINGS[version].all_files},
        "source.systemName": SYSTEM,
    }
    return "".join(f"{name},{value}{LINE_END}" for name, value in properties.items())


def _write_csv(con: duckdb.DuckDBPyConnection, name: str, file: OneRosterFile, target: Path) -> None:
    header = ",".join(file.fields) + LINE_END
    # Between PREFIX and SUFFIX, DuckDB ends all lines but the last.
    options = (
        f"FORMAT csv, HEADER false, NEW_LINE '{LINE_END}', PREFIX {literal(header)}, SUFFIX '{LINE_END}'"
    )
    query = f'SELECT {listed(tuple(file.fields))} FROM {table_of(name)} ORDER BY "sourcedId"'
    con.execute(f"COPY ({query}) TO {literal(str(target))} ({options})")


def _add(archive: zipfile.ZipFile, file: str, source: Path) -> None:
    info = zipfile.ZipInfo(f"{file}.csv", TIME)
    info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, source.stat().st_size
    info.create_system, info.external_attr = 3, 0o640 << 16
    with source.open("rb") as rows, archive.open(info, "w") as packed:
        shutil.copyfileobj(rows, packed)
