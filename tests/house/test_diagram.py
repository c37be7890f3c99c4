"""The diagrams in the docs are those of the models and of the imports as they are."""

from collections import defaultdict
from typing import Any

from pipelines.cli.developer.diagram import PAGE, SUBJECTS, diagrams, types_of, with_diagrams
from tools import import_diagrams
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.relations import relations


def test_the_diagrams_are_those_of_the_models_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_diagrams(page, diagrams(relations(compiled()), types_of(compiled()))), "make diagram"


def test_a_diagram_shows_each_dimension_fact_and_bridge_that_refers_to_another() -> None:
    referring = {
        row["table_name"]
        for row in relations(compiled())
        if row["kind"] == "foreign key"
        and row["table_name"].startswith(("dim_", "fct_", "bridge_"))
        and row["columns"] != ["school_id"]
        and row["table_name"] != "fct_timetable_clash"
    }
    shown = [table for tables in SUBJECTS.values() for table in tables]
    assert len(shown) == len(set(shown))
    assert referring - set(shown) == set(), (
        "name the table under SUBJECTS of pipelines/cli/developer/diagram.py"
    )


def test_keys_and_references_are_drawn() -> None:
    def row(table: str, kind: str, column: str, to: str | None = None) -> dict[str, Any]:
        return {
            "schema_name": "core",
            "table_name": table,
            "kind": kind,
            "columns": ["school_id", column],
            "referenced_schema": "core",
            "referenced_table": to,
            "cardinality": "many to one",
        }

    keys = [row(table, "primary key", "id") for tables in SUBJECTS.values() for table in tables]
    types = defaultdict(lambda: "bigint", {("fct_score", "id"): "date"})
    drawn = diagrams([*keys, row("fct_score", "foreign key", "student_id", "dim_student")], types)
    assert "fct_score {\n        date id PK\n        bigint student_id FK\n    }" in drawn
    assert "dim_student ||--o{ fct_score : student_id" in drawn


def test_the_design_draws_the_imports_as_they_are() -> None:
    page = import_diagrams.PAGE.read_text(encoding="utf-8")
    assert page == with_diagrams(page, import_diagrams.import_diagrams()), "make diagram"


def test_a_box_imports_through_modules_in_no_box() -> None:
    imports = {
        "room.a": {"room.a.helper"},
        "room.a.helper": {"room.loose", "elsewhere"},
        "room.loose": {"room.b.module"},
        "room.b.module": {"room.c"},
        "room.c": set[str](),
    }
    arrows = import_diagrams.boxed(imports, ["room.a", "room.b", "room.c"])
    assert arrows == {"room.a": {"room.b"}, "room.b": {"room.c"}, "room.c": set()}


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    arrows = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set[str]()}
    assert import_diagrams.reduced(arrows) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}
