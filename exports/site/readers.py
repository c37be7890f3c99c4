"""Who reads which pages: the head of school all, teachers those about their own classes."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from exports.site.sections import PageKind, Pages, Role
from warehouse.published.reading import records

PAGES = "FROM views.reader WHERE school_id = $school_id AND role = $role ORDER BY ALL"


@dataclass(frozen=True)
class Reader:
    """A teacher with the pages that the teacher may see."""

    teacher_id: int
    staff_number: str | None
    name: str | None
    pages: dict[PageKind, list[str]]


def readers_of(con: duckdb.DuckDBPyConnection, school_id: int, role: Role, pages: Pages) -> list[Reader]:
    """The teachers of a role, by id. `pages`: all pages of the school."""
    existing = {kind: set(keys) for kind, keys in pages.items()}
    readers: dict[int, Reader] = {}
    for row in records(con, PAGES, {"school_id": school_id, "role": role}):
        reader = readers.setdefault(
            row["teacher_id"],
            Reader(row["teacher_id"], row["staff_number"], row["teacher_name"], {"index": [*pages["index"]]}),
        )
        if row["page_key"] in existing[row["page_kind"]]:
            reader.pages.setdefault(row["page_kind"], []).append(row["page_key"])
    return list(readers.values())
