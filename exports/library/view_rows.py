"""The rows of views, as a file of this folder says: a view, its columns, their order and a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
from pydantic import Field

from exports.library.sheet_library import Data
from warehouse.identifiers import among, quoted, relation
from warehouse.published.reading import records


class ViewRows(Data):
    """Rows of a view in a file."""

    #: The view, without its schema.
    view: str
    #: SQL for each column, by its name in the rows. Empty: the columns of the view.
    columns: dict[str, str] = Field(default_factory=dict)
    #: SQL for the rows that are meant.
    condition: str = "true"
    #: Columns of the view, or of the rows, that sort the rows; - before a name: descending.
    order: tuple[str, ...] = ()


def read_rows(
    con: duckdb.DuckDBPyConnection, data: ViewRows, school_ids: Sequence[int]
) -> list[dict[str, Any]]:
    """The rows of some schools, by column."""
    columns = ", ".join(f"{value} AS {quoted(name)}" for name, value in data.columns.items())
    order = ", ".join(
        f"{quoted(name.removeprefix('-'))}{' DESC' * name.startswith('-')} NULLS LAST" for name in data.order
    )
    query = f"""
        SELECT {columns or "*"} FROM {relation(f"views.{data.view}")}
        WHERE {among("school_id", school_ids)} AND ({data.condition})
        {f"ORDER BY {order}" if order else ""}
    """
    return records(con, query)
