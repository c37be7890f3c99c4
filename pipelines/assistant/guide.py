"""How an assistant should ask: what the server tells it first, and the skill file that `campus mcp --guide`
prints."""

from __future__ import annotations

from pipelines.assistant.answers import list_metrics, list_tables
from pipelines.assistant.session import Session

GUIDE = """\
Data of schools: attendance, scores, grades and early warnings, published as one read-only DuckDB database.

1. For a rate or a count, list_metrics and metric. Else find or list_tables, then describe_table of each
   table that you use. Never guess a column.
2. marts has ready answers, core has facts and dimensions to join, quality says how complete and how old
   the data is. Prefer marts.
3. Join by school_id together with the other key: ids are unique within a school only.
4. is_current selects the present semester; without it you count several semesters.
5. Add counts and divide the sums for a rate of several groups. Never average rates.
6. Null means not known, never zero. Say so, and say as_of, when you answer.
7. Rows with is_suppressed are about few people: their numbers are null on purpose. Do not work them out.
8. An answer with is_cut lacks what `cut` says: ask for less, and say so if you must answer without it.
"""
HEAD = """\
---
name: campus
description: Questions about schools' attendance, grades and warnings, answered from the campus warehouse
---

# Asking the campus warehouse

"""


def skill(session: Session) -> str:
    """A SKILL.md with the rules, the measures and the tables of a published file."""
    measures = [
        f"- `{metric['metric']}` ({metric['label_zh']}): {metric['definition']}"
        for metric in list_metrics(session)
    ]
    tables = [f"- `{table['name']}`: {_text(table)}" for table in list_tables(session)]
    return "\n".join([HEAD + GUIDE, "## Measures", "", *measures, "", "## Tables", "", *tables, ""])


def _text(table: dict[str, str | None]) -> str:
    meaning = " ".join((table["description"] or "").split())
    return f"{meaning} ({table['label_zh']})" if table["label_zh"] else meaning
