"""schema.sql in DuckDB and in PostgreSQL: each statement runs, and published rows keep the constraints."""

import re
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg2
import pytest
from psycopg2.extras import execute_values

from exports.export import Options, Written, export
from exports.schema import RELATIONS, Dialect
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish
from tests.kits.servers.postgres import USER, postgres

REPEATED_SCHOOL = 'INSERT INTO "core"."dim_school" (school_id) SELECT school_id FROM "core"."dim_school"'


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(healthy, tmp_path_factory.mktemp("schema"))


def exported(published: Path, folder: Path, dialect: Dialect) -> tuple[str, list[str]]:
    """The statements of schema.sql, and its tables in their order."""
    [end] = export(published, ["schema"], None, Options(folder, dialect=dialect))
    assert isinstance(end, Written), end
    statements = end.path.read_text(encoding="utf-8")
    tables = re.findall(r"CREATE TABLE (\S+)", statements)
    assert len(tables) == end.rows["tables"] > 80
    return statements, tables


def counts(con: duckdb.DuckDBPyConnection, tables: list[str]) -> dict[str, int]:
    """The number of rows by table."""
    return {table: con.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in tables}


def test_duckdb_takes_the_tables_and_their_rows(published: Path, tmp_path: Path) -> None:
    """References to another schema or within a table are comments."""
    statements, tables = exported(published, tmp_path, "duckdb")
    with (
        closing(duckdb.connect(str(published), read_only=True)) as con,
        closing(duckdb.connect(str(tmp_path / "keys.duckdb"))) as keys,
    ):
        keys.execute(statements)
        for table in tables:
            keys.register("published", con.sql(f"FROM {table}").to_arrow_table())
            keys.execute(f"INSERT INTO {table} FROM published")
        assert counts(keys, tables) == counts(con, tables)
        [(constraints,)] = keys.execute(
            "SELECT count(*) FROM duckdb_constraints()"
            " WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"
        ).fetchall()
        comments = keys.execute("SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL").fetchall()
        with pytest.raises(duckdb.ConstraintException):
            keys.execute(REPEATED_SCHOOL)
        rules = con.execute(RELATIONS).fetchall()
    is_comment = [
        kind == "foreign key" and (schema != to_schema or table == to_table)
        for schema, table, kind, _, to_schema, to_table, _ in rules
    ]
    commented = [reference for (comment,) in comments for reference in comment.split("; ")]
    assert (constraints, len(commented)) == (is_comment.count(False), is_comment.count(True))
    assert "(school_id, student_id) refers to core.dim_student (school_id, student_id)" in commented


def test_postgres_takes_the_tables_and_their_rows(published: Path, tmp_path: Path) -> None:
    statements, tables = exported(published, tmp_path, "postgres")
    with (
        closing(duckdb.connect(str(published), read_only=True)) as con,
        postgres() as server,
        closing(psycopg2.connect(host="127.0.0.1", port=server.port, user=USER, dbname=USER)) as database,
        database.cursor() as cursor,
    ):
        cursor.execute(statements)
        stored = {}
        for table in tables:
            if rows := con.execute(f"FROM {table}").fetchall():
                execute_values(cursor, f"INSERT INTO {table} VALUES %s", rows)
            cursor.execute(f"SELECT count(*) FROM {table}")
            [(stored[table],)] = cursor.fetchall()
        assert stored == counts(con, tables)
        cursor.execute(
            "SELECT contype, count(*) FROM pg_constraint WHERE contype IN ('p', 'u', 'f')"
            " AND connamespace IN ('core'::regnamespace, 'marts'::regnamespace) GROUP BY 1"
        )
        kinds = dict(cursor.fetchall())
        with pytest.raises(psycopg2.errors.UniqueViolation):
            cursor.execute(REPEATED_SCHOOL)
        rules = [kind for _, _, kind, *_ in con.execute(RELATIONS).fetchall()]
    assert kinds == {kind[0]: rules.count(kind) for kind in set(rules)}
