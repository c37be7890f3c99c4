"""Definitions of datasets for tests, written as the platform sends them."""

from typing import Any

from campus.decoding.definition import Definition, parse_definition


def field(name: str, kind: str | None, **attributes: Any) -> dict[str, Any]:
    """A field of the metadata; `kind` is its type."""
    return {"name": name, "type": kind, **attributes}


def dataset(*fields: dict[str, Any], relations: Any = (), **attributes: Any) -> Definition:
    """A definition with these fields, numbered and placed in their order."""
    placed = [
        {"id": number, "position": number, "primary": False, **column}
        for number, column in enumerate(fields, 1)
    ]
    return parse_definition({"name": "scores", "fields": placed, "relations": list(relations), **attributes})


STUDENTS = dataset(
    field("id", "integer", primary=True),
    field("name", "string"),
    field("idcard", "string"),
    field("born", "date"),
    field("fee", "decimal", precision=6, scale=2),
    field("seen at", "timestamp"),
    name="students",
)
EVERYTHING = dataset(
    field("id", "integer", primary=True),
    field("count", "integer"),
    field("points", "decimal", precision=5, scale=2),
    field("wide", "decimal"),
    field("名称", "string", label="名称"),
    field("remark text", "text"),
    field("level", "enum", enum=["A", "B"]),
    field("term", "enum", enum=[1, 2]),
    field("day", "date"),
    field("updated_at", "timestamp"),
    field("passed", "boolean"),
    field("place", "geometry"),
    field("ratio", "float"),
    field("idcard", "string"),
    relations=[{"id": 1, "name": "student", "ref_name": "students", "related_by": "count"}],
)
EXPANDED = {"student": STUDENTS}
