"""The measures of the published file: the table `quality.metrics`, and a table macro for each measure.

The SQL of a macro names no database, since a copy of the file has another name. It uses neither lambdas nor
CASE to choose the columns of a split, since the oldest DuckDB that reads the file must bind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.identifiers import literal
from warehouse.lake.logs.tables import Log
from warehouse.lake.sql import create_table, transaction
from warehouse.lake.tables import Column, comments
from warehouse.metrics import catalogue

_LIST = pa.list_(pa.string())
#: The list of the dimensions of a split in the SQL of a base (warehouse/metrics.py), and a macro's parameter.
BY = '"by"'
METRICS = Log(
    name="metrics",
    comment="The measures of marts, workbooks and the board: words, expression, and what splits them",
    label_zh="指标目录",
    columns=(
        Column("metric", pa.string(), "Name of the measure", label_zh="指标"),
        Column("label_en", pa.string(), "Name in English", label_zh="英文名称"),
        Column("label_zh", pa.string(), "Name in Chinese", label_zh="中文名称"),
        Column("definition", pa.string(), "Definition in English", label_zh="英文定义"),
        Column("definition_zh", pa.string(), "Definition in Chinese", label_zh="中文定义"),
        Column(
            "expression", pa.string(), "SQL over the rows of the grain; null: not known", label_zh="计算式"
        ),
        Column("schema_name", pa.string(), "Schema of the table with these rows", label_zh="模式"),
        Column("table_name", pa.string(), "Table with these rows", label_zh="表"),
        Column("grain", pa.string(), "One of these rows, in words", label_zh="粒度"),
        Column("time_column", pa.string(), "Column with the day of a row; null: none", label_zh="日期列"),
        Column("dimensions", _LIST, "What the measure can be split by", label_zh="拆分维度"),
        Column("unit", pa.string(), "Unit of measurement", label_zh="计量单位"),
        Column(
            "profile",
            pa.string(),
            "Profile of seeds.attendance_profiles that decides; null: none",
            label_zh="考勤口径",
        ),
        Column("privacy", pa.string(), "Privacy class of the values for groups", label_zh="隐私类别"),
        Column(
            "shown_in", _LIST, "Columns that show the measure, as schema.table.column", label_zh="展示位置"
        ),
        Column("macro", pa.string(), "Statement that creates marts.metric_<name>", label_zh="宏语句"),
    ),
)


def record_metrics(con: duckdb.DuckDBPyConnection) -> None:
    """Write `quality.metrics` and the macros into a file that is not yet published."""
    rows = _rows()
    con.register("measures", pa.Table.from_pylist(rows, schema=METRICS.row_schema))
    with transaction(con):
        con.execute("DROP TABLE IF EXISTS quality.metrics")
        create_table(con, "quality.metrics", "FROM measures", METRICS.comment, comments(METRICS.columns))
        for row in rows:
            con.execute(row["macro"])
            words = f"{row['label_en']} ({row['label_zh']}): {row['definition']}"
            con.execute(f"COMMENT ON MACRO TABLE marts.metric_{row['metric']} IS {literal(words)}")


def _rows() -> list[dict[str, Any]]:
    shown_in = catalogue().shown_in
    rows: list[dict[str, Any]] = []
    for name, metric in catalogue().metrics.items():
        base = catalogue().bases[metric.base]
        definition, definition_zh = metric.definitions()
        schema, _, table = base.tables[0].partition(".")
        rows.append(
            {
                "metric": name,
                "label_en": metric.label,
                "label_zh": metric.label_zh,
                "definition": definition,
                "definition_zh": definition_zh,
                "expression": metric.expression,
                "schema_name": schema,
                "table_name": table,
                "grain": base.grain,
                "time_column": base.time_column,
                "dimensions": list(catalogue().dimensions_of(name)),
                "unit": metric.unit,
                "profile": metric.profile,
                "privacy": metric.privacy,
                "shown_in": [".".join(place) for place, measure in shown_in.items() if measure == name],
                "macro": macro_of(name),
            }
        )
    return rows


def macro_of(name: str) -> str:
    """The statement that creates the table macro of a measure."""
    names = ["schools"]
    if catalogue().bases[catalogue().metrics[name].base].time_column is not None:
        names += ["since", "until"]
    parameters = [f"{BY} := []", *(f"{parameter} := NULL" for parameter in names)]
    conditions = limits(name, {parameter: parameter for parameter in names})
    return f"""
        CREATE OR REPLACE MACRO marts.metric_{name}({", ".join(parameters)}) AS TABLE
        {query_of(name, BY, conditions)}
    """


def limits(name: str, parameters: Mapping[str, str]) -> list[str]:
    """The conditions of a measure for `schools`, `since` and `until`, by the SQL of each. Null: no limit."""
    base = catalogue().bases[catalogue().metrics[name].base]
    conditions = {
        "schools": "({0} IS NULL OR list_contains({0}, school_id))",
        "since": f"({{0}} IS NULL OR {base.time_column} >= CAST({{0}} AS DATE))",
        "until": f"({{0}} IS NULL OR {base.time_column} <= CAST({{0}} AS DATE))",
    }
    return [conditions[parameter].format(sql) for parameter, sql in parameters.items()]


def query_of(name: str, by: str, conditions: Sequence[str]) -> str:
    """The SELECT of a measure: a row for each group, with the columns of each dimension in `by`, the value,
    the number of students, and the numerator and the denominator of a quotient.

    Args:
        by: SQL of a list of dimensions.
        conditions: SQL over the columns of the base. Only rows for which all are true count."""
    metric, dimensions = catalogue().metrics[name], catalogue().dimensions_of(name)
    base = catalogue().bases[metric.base]
    users = {
        column: [key for key, dimension in dimensions.items() if column in dimension.columns]
        for column in base.columns
    }
    columns = [column for column, keys in users.items() if keys]
    masks = (f"list_has_any({by}, {_texts(users[column])})" for column in columns)
    refusal = f"{name} can be split by {', '.join(dimensions)}"
    if metric.needs:
        refusal += f", and always by {', '.join(metric.needs)}"
    # Ids are unique within a school.
    people = f"count(DISTINCT (school_id, student_id)) FILTER ({metric.counted})"
    students = people if base.counts_people else "CAST(NULL AS BIGINT)"
    return f"""
        SELECT
            COLUMNS(list_where({_texts(["metric", *columns])}, [true, {", ".join(masks)}])),
            {metric.shown()} AS value,
            {students} AS students,
            CAST({metric.numerator or "NULL"} AS DOUBLE) AS numerator,
            CAST({metric.denominator or "NULL"} AS DOUBLE) AS denominator
        FROM (
            SELECT
                CASE
                    WHEN list_has_all({_texts(list(dimensions))}, {by})
                        AND list_has_all({by}, CAST({_texts(metric.needs)} AS VARCHAR[]))
                    THEN {literal(name)}
                    ELSE error({literal(refusal)})
                END AS metric,
                *
            FROM ({base.query.replace(BY, by)})
        )
        WHERE {" AND ".join(conditions) or "true"}
        GROUP BY ALL
        ORDER BY ALL
    """


def _texts(values: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, values))}]"
