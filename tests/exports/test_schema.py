"""schema.sql: a database of its own, with the constraints that the published file lacks."""

from pathlib import Path

import duckdb

from exports.export import Options, Written, export
from tests.kits.exports.published_file import publish
from warehouse.publish.relations import record_relations

TABLES = (
    "CREATE TABLE core.dim_term (school_id BIGINT, term_id BIGINT, parent_term_id BIGINT)",
    "CREATE TABLE marts.attendance_unrecorded (school_id BIGINT, semester_id BIGINT, week INTEGER,"
    " teacher_id BIGINT, unrecorded BIGINT)",
    "CREATE TABLE quality.check_results (name VARCHAR, checked_at TIMESTAMP)",
)


def project() -> dict[str, object]:
    """Two tables with a key each: of terms, which refer to terms, and of a mart whose week may be null."""

    def check(name: str, table: str, test: str, **arguments: object) -> dict[str, object]:
        metadata = {"name": test, "kwargs": arguments}
        return {
            "name": name,
            "schema": "quality",
            "attached_node": table,
            "test_metadata": metadata,
            "config": {},
        }

    return {
        "nodes": {
            "dim_term": {"schema": "core", "name": "dim_term"},
            "attendance_unrecorded": {"schema": "marts", "name": "attendance_unrecorded"},
            "a": check("dim_term_key", "dim_term", "unique_key", columns=["school_id", "term_id"]),
            "b": check(
                *("parents", "dim_term", "related"),
                column_name="parent_term_id",
                to="ref('dim_term')",
                field="term_id",
            ),
            "c": check(
                *("attendance_unrecorded_key", "attendance_unrecorded", "unique_key"),
                columns=["school_id", "semester_id", "coalesce(week, 0)"],
            ),
        }
    }


def test_the_file_makes_tables_with_their_constraints(tmp_path: Path) -> None:
    published = publish(tmp_path / "campus.duckdb", TABLES)
    with duckdb.connect(str(published)) as con:
        record_relations(con, project())
    [written] = export(published, ["schema"], None, Options(tmp_path / "out"))
    assert isinstance(written, Written) and written.path.name == "schema.sql"
    with duckdb.connect() as con:
        con.execute(written.path.read_text(encoding="utf-8"))
        constraints = con.execute(
            "SELECT table_name, constraint_type, constraint_column_names FROM duckdb_constraints()"
            " WHERE constraint_type <> 'NOT NULL' ORDER BY ALL"
        ).fetchall()
        comments = con.execute(
            "SELECT column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL"
        ).fetchall()
    assert constraints == [
        ("attendance_unrecorded", "UNIQUE", ["school_id", "semester_id", "week"]),
        ("dim_term", "PRIMARY KEY", ["school_id", "term_id"]),
    ]
    assert comments == [
        ("parent_term_id", "(school_id, parent_term_id) refers to core.dim_term (school_id, term_id)")
    ]
