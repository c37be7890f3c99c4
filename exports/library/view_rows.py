"""The rows of views, as a file of this folder says: a view, its columns, their order and a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
from pydantic import BaseModel, ConfigDict, Field

from warehouse.identifiers import among, quoted, relation
from warehouse.published.reading import records


class Data(BaseModel):
    """A mapping in a file. A name that it does not have is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ViewData(Data):
    """The rows of a view that are meant, and their order."""

    #: The view, without its schema.
    view: str
    #: SQL for the rows that are meant.
    condition: str = "true"
    #: Columns of the view, or of the rows, that sort the rows; - before a name: descending. Missing values
    #: come last.
    order: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """SQL for the view."""
        return relation(f"views.{self.view}")


class ViewRows(ViewData):
    """Rows of a view in a file."""

    #: SQL for each column, by its name in the rows. Empty: the columns of the view.
    columns: dict[str, str] = Field(default_factory=dict)


def read_rows(
    con: duckdb.DuckDBPyConnection, data: ViewRows, school_ids: Sequence[int], condition: str = "true"
) -> list[dict[str, Any]]:
    """The rows of some schools, by column. `condition`: SQL for the rows that are meant, beside that of the
    file."""
    columns = ", ".join(f"{value} AS {quoted(name)}" for name, value in data.columns.items())
    query = f"""
        SELECT {columns or "*"} FROM {data.source}
        WHERE {among("school_id", school_ids)} AND ({data.condition}) AND ({condition}){sorted_by(data.order)}
    """
    return records(con, query)


def sorted_by(order: Sequence[str], first: str = "") -> str:
    """SQL that sorts rows by columns; - before a name: descending. Missing values come last.

    `first`: SQL by which rows are sorted before all else; empty: none."""
    terms = [first] if first else []
    terms += [
        f"{quoted(name.removeprefix('-'))}{' DESC' * name.startswith('-')} NULLS LAST" for name in order
    ]
    return f" ORDER BY {', '.join(terms)}" if terms else ""
