"""Functions in Python that the SQL of models calls: each takes a list of rows, and returns a list of rows.

SQL still says what a model reads, its columns, when it is made anew, and where its columns come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.func import PythonUDFType

from warehouse.identifiers import quoted
from warehouse.publish.models.score_fit import OUTCOMES, SINGLES, fit_score, unseen_chances
from warehouse.publish.models.score_judgement import FIGURES, judge_score

TYPES: Mapping[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "VARCHAR": pa.string(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
}
#: Of `cases` in macros/early_warning_score.sql.
CASE = {
    "school_id": "BIGINT",
    "semester_id": "BIGINT",
    "first_day": "DATE",
    "week": "INTEGER",
    "student_id": "BIGINT",
    **dict.fromkeys(SINGLES, "DOUBLE"),
    **dict.fromkeys(OUTCOMES, "BOOLEAN"),
}
UNSEEN = {
    "school_id": "BIGINT",
    "semester_id": "BIGINT",
    "week": "INTEGER",
    "student_id": "BIGINT",
    "outcome": "VARCHAR",
    "fold": "BIGINT",
    "has_happened": "BOOLEAN",
    "chance": "DOUBLE",
    "best_single": "VARCHAR",
    "single_chance": "DOUBLE",
}


@dataclass(frozen=True)
class SqlFunction:
    """A function of SQL. The columns of rows are by name, with their types in DuckDB."""

    name: str
    call: Callable[[pl.DataFrame], pl.DataFrame]
    takes: Mapping[str, str]
    returns: Mapping[str, str]

    # DuckDB reads these types at runtime, when those of pyarrow have no parameters.
    def on_lists(self, lists: Iterable[Any]) -> Any:
        """Call the function for each list of rows: of an array of pyarrow, with an array as the result."""
        schema = pa.schema([(name, TYPES[type]) for name, type in self.returns.items()])
        returned = [pa.nulls(0, pa.list_(pa.struct(schema)))]
        for rows in lists:
            frame = self.call(pl.DataFrame(pa.RecordBatch.from_struct_array(rows.values)))
            table = (
                frame.select(list(self.returns)).to_arrow().cast(schema)
                if frame.width
                else schema.empty_table()
            )
            structs = pa.concat_arrays([pa.nulls(0, pa.struct(schema)), *table.to_struct_array().chunks])
            returned.append(pa.ListArray.from_arrays([0, len(structs)], structs))
        return pa.concat_arrays(returned)


FUNCTIONS = (
    SqlFunction(
        "fit_early_warning_score",
        fit_score,
        CASE,
        {
            "school_id": "BIGINT",
            "outcome": "VARCHAR",
            "week": "INTEGER",
            "input": "VARCHAR",
            **dict.fromkeys(("mean", "spread", "coefficient", "penalty"), "DOUBLE"),
            "fitted_on": "VARCHAR",
            **dict.fromkeys(("semesters", "students", "with_outcome"), "BIGINT"),
        },
    ),
    SqlFunction("unseen_early_warning_chances", unseen_chances, CASE, UNSEEN),
    SqlFunction(
        "judge_early_warning_score",
        judge_score,
        UNSEEN | {"level": "INTEGER"},
        {
            "school_id": "BIGINT",
            "outcome": "VARCHAR",
            "week": "INTEGER",
            **dict.fromkeys(("semesters", "students", "with_outcome"), "BIGINT"),
            "best_single": "VARCHAR",
            **dict.fromkeys(FIGURES, "DOUBLE"),
            "is_shown": "BOOLEAN",
        },
    ),
)


def register_functions(con: duckdb.DuckDBPyConnection) -> None:
    """Let the SQL of models call FUNCTIONS on a connection."""
    registered = {name for (name,) in con.execute("SELECT function_name FROM duckdb_functions()").fetchall()}
    for function in FUNCTIONS:
        if function.name not in registered:
            con.create_function(
                function.name,
                function.on_lists,
                [_rows_type(function.takes)],
                _rows_type(function.returns),
                type=PythonUDFType.ARROW,
            )


def _rows_type(columns: Mapping[str, str]) -> str:
    return f"STRUCT({', '.join(f'{quoted(name)} {type}' for name, type in columns.items())})[]"
