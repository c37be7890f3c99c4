"""A small published file, and what a spreadsheet program sees in what is made of it."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

from exports.export import Failed, Options, Written, export
from exports.source import Origin, School
from exports.spreadsheet.sheets import Column, Sheet, Words, Workbook
from exports.spreadsheet.writer import write_workbook
from warehouse.publish.build import models_digest
from warehouse.publish.labels import in_words

SCHOOL = School(101, "启明实验学校")
ORIGIN = Origin(SCHOOL, "20260301T020000", datetime(2026, 3, 1, 2))
ANY = Words("Any", "任意")


def publish(path: Path, statements: Sequence[str] = (), units: Mapping[str, str] | None = None) -> Path:
    """Write a file of two schools, 101 and 102, with these tables besides. `units` by column."""
    path.unlink(missing_ok=True)
    with closing(duckdb.connect(str(path))) as con:
        for schema in ("core", "marts", "datasets", "reports", "quality", "views"):
            con.execute(f"CREATE SCHEMA {schema}")
        con.execute(
            "CREATE TABLE core.dim_school AS SELECT * FROM "
            "(VALUES (101, '启明实验学校', false), (102, '江畔中学', false), (103, '旧校', true)) "
            "schools (school_id, school_name, is_deleted)"
        )
        con.execute(
            "CREATE TABLE quality.publication AS "
            "SELECT '20260301T020000' AS generation, TIMESTAMP '2026-03-01 02:00:00' AS published_at, "
            f"'{models_digest()}' AS models_version"
        )
        con.execute(
            "CREATE TABLE quality.load_log AS SELECT *, finished_at AS started_at, 'ok' AS status, "
            "true AS complete, true AS whole, 1 AS requests FROM (VALUES "
            "(101, 'students', '101', TIMESTAMP '2026-03-01 01:30:00'), "
            "(102, 'students', '102', TIMESTAMP '2026-02-28 01:00:00')) "
            "loads (_school_id, resource, slice, finished_at)"
        )
        con.execute(
            "CREATE TABLE core.dim_semester (school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, "
            "is_current BOOLEAN, first_day DATE)"
        )
        con.execute("CREATE TABLE marts.early_warning (school_id BIGINT, semester_id BIGINT)")
        con.execute(
            "CREATE TABLE quality.semester_calendars (_school_id BIGINT, semester_id BIGINT, "
            "v1_semester_id BIGINT)"
        )
        con.execute(
            "CREATE VIEW views.semester AS WITH semesters AS (SELECT *, EXISTS (FROM marts.early_warning "
            "AS judged WHERE judged.school_id = dim_semester.school_id AND judged.semester_id = "
            "dim_semester.semester_id) AS is_judged FROM core.dim_semester) "
            "SELECT school_id, semester_id, semester_name, is_current, v1_semester_id, is_judged AND "
            "(is_current OR NOT bool_or(is_judged AND is_current) OVER (PARTITION BY school_id)) AS is_shown "
            "FROM semesters LEFT JOIN (FROM quality.semester_calendars SELECT *, _school_id AS school_id) "
            "USING (school_id, semester_id)"
        )
        con.execute("CREATE TABLE core.never_loaded (school_id BIGINT, semester_id BIGINT, resource VARCHAR)")
        for statement in statements:
            con.execute(statement)
        con.execute(
            "CREATE TABLE quality.dictionary AS SELECT schema_name, table_name, column_name, "
            "comment AS description, '「' || column_name || '」' AS label_zh, NULL::VARCHAR AS label_en, "
            "NULL::VARCHAR AS unit, NULL::VARCHAR[] AS stands_on FROM duckdb_columns() UNION ALL "
            "SELECT schema_name, table_name, NULL, comment, '表', NULL, NULL, NULL FROM ("
            "SELECT schema_name, table_name, comment FROM duckdb_tables() UNION ALL "
            "SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal)"
        )
        names = con.execute("SELECT DISTINCT coalesce(column_name, table_name) FROM quality.dictionary")
        for (name,) in names.fetchall():
            con.execute(
                "UPDATE quality.dictionary SET label_en = $1 WHERE coalesce(column_name, table_name) = $2",
                [in_words(name), name],
            )
        for column, unit in (units or {}).items():
            con.execute("UPDATE quality.dictionary SET unit = ? WHERE column_name = ?", [unit, column])
    return path


def write(folder: Path, query: str, *, for_paper: bool = False, **said: Any) -> Worksheet:
    """The worksheet that a query becomes, in English. `said`: of the sheet."""
    target = folder / "written.xlsx"
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA quality")
        con.execute(
            "CREATE TABLE quality.dictionary (schema_name VARCHAR, table_name VARCHAR, column_name VARCHAR, "
            "description VARCHAR, label_en VARCHAR, label_zh VARCHAR, unit VARCHAR)"
        )
        columns: dict[str, Column] = dict(said.pop("columns", {}))
        for name, *_ in con.execute(f"SELECT * FROM ({query}) LIMIT 0").description:
            column = columns.get(name, Column())
            columns[name] = replace(column, label=column.label or Words(in_words(name), name))
        sheet = Sheet(name=ANY, about=ANY, query=query, columns=columns, **said)
        write_workbook(con, Workbook("any", ANY, ANY, (sheet,), for_paper=for_paper), ORIGIN, target, "en")
    return openpyxl.load_workbook(target)["Any"]


def cells(sheet: Worksheet) -> list[tuple[Any, ...]]:
    """The values below the header."""
    return list(sheet.iter_rows(min_row=2, values_only=True))


def exported(file: Path, *names: str, schools: Sequence[int] | None = None, **options: Any) -> list[Written]:
    """Export and expect no failure."""
    ends = list(export(file, names, schools, Options(**options)))
    assert not [end for end in ends if isinstance(end, Failed)]
    return [end for end in ends if isinstance(end, Written)]
