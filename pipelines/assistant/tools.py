"""The tools of an assistant: their arguments, their answers and their work."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from pipelines.assistant.answers import describe_table, explain, find, list_metrics, list_tables
from pipelines.assistant.log import masked
from pipelines.assistant.session import Session
from pipelines.measures import Filter
from warehouse.metrics import catalogue

#: Characters of a statement, and of any other argument.
LONGEST_STATEMENT, LONGEST_ARGUMENT = 100_000, 1_000


def _parsed(value: Any) -> Any:
    """A list or an object that a client sent as JSON in a text."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _choice(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


Name = Annotated[str, StringConstraints(max_length=LONGEST_ARGUMENT)]
Value = Name | bool | int | float
TableName = Annotated[Name, Field(description="A table of list_tables, such as marts.early_warning")]
DIMENSIONS = catalogue().dimensions
COLUMNS = sorted({column for dimension in DIMENSIONS.values() for column in dimension.columns})
Dimension = Annotated[Name, Field(json_schema_extra=_choice(*DIMENSIONS))]


class Arguments(BaseModel):
    """The arguments of a tool. Others are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def question(self, vocabulary: Collection[str]) -> dict[str, Any]:
        """What the log of questions says. `vocabulary`: the words that name no person."""
        return {}


class TableArguments(Arguments):
    table: TableName

    def question(self, vocabulary: Collection[str]) -> dict[str, Any]:
        return {"table": masked(self.table, vocabulary)}


class ColumnArguments(TableArguments):
    column: Name = Field(description="A column of the table, as describe_table names it")

    def question(self, vocabulary: Collection[str]) -> dict[str, Any]:
        return {**super().question(vocabulary), "column": masked(self.column, vocabulary)}


class FindArguments(Arguments):
    words: Name = Field(description="What is looked for, in English or Chinese, such as: homework, 旷课")


class QueryArguments(Arguments):
    sql: Annotated[str, StringConstraints(max_length=LONGEST_STATEMENT)] = Field(
        description="One SELECT in DuckDB's SQL, on tables of list_tables with their schemas"
    )

    def question(self, vocabulary: Collection[str]) -> dict[str, Any]:
        return {"sql": masked(self.sql, vocabulary)}


class FilterArguments(Arguments):
    """Which rows count: exactly one of equals, between and in."""

    column: Name = Field(
        description="A column of the metric's dimensions. cohort_name: the class's cohort in a split "
        "by class without cohort, else the students' cohort",
        json_schema_extra=_choice(*COLUMNS),
    )
    equals: Value | None = Field(None, description="The value")
    between: tuple[Value, Value] | None = Field(
        None, description="The least and the greatest value, both included"
    )
    among: Annotated[list[Value], Field(min_length=1, max_length=LONGEST_ARGUMENT)] | None = Field(
        None, alias="in", description="The values that count"
    )

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if sum(value is not None for value in (self.equals, self.between, self.among)) != 1:
            raise ValueError("give exactly one of equals, between and in")
        return self

    def filter(self) -> Filter:
        """The rows as the measure takes them."""
        values = self.between or self.among or (self.equals,)
        return Filter(self.column, tuple(map(str, values)), is_range=self.between is not None)


class MetricArguments(Arguments):
    name: Name = Field(
        description="A metric of list_metrics", json_schema_extra=_choice(*catalogue().metrics)
    )
    by: Annotated[list[Dimension], BeforeValidator(_parsed)] = Field(
        [], description="A row for each group of these dimensions of the metric; none: one row"
    )
    schools: Annotated[list[int], BeforeValidator(_parsed)] = Field(
        [], description="Ids of schools (school_id); none: all schools together"
    )
    filters: Annotated[list[FilterArguments], BeforeValidator(_parsed)] = Field(
        [], description="Only rows that fit all of them"
    )
    since: date | None = Field(None, description="The first day; only for metrics with a time_column")
    until: date | None = Field(None, description="The last day; only for metrics with a time_column")
    order: Annotated[list[Name], BeforeValidator(_parsed)] = Field(
        [], description="Columns of the answer to sort by; -column: the greatest first. Null comes last"
    )
    limit: int | None = Field(None, ge=1, description="The first rows after sorting")

    @property
    def days(self) -> dict[str, date]:
        """The limits that are set."""
        return {key: day for key, day in (("since", self.since), ("until", self.until)) if day is not None}

    def question(self, vocabulary: Collection[str]) -> dict[str, Any]:
        # Names of measures and dimensions are in the catalogue, if not in the file.
        names = {*vocabulary, *catalogue().metrics, *DIMENSIONS}
        return {
            "metric": masked(self.name, names),
            "by": [masked(dimension, names) for dimension in self.by],
            "schools": self.schools,
            "filters": [masked(condition.column, names) for condition in self.filters],
            **{key: str(day) for key, day in self.days.items()},
        }


class Answer(BaseModel):
    """What each tool answers."""

    is_cut: bool
    #: What the answer lacks, in words.
    cut: list[str]


class Rows(Answer):
    columns: list[str]
    rows: list[list[Any]]


class Tables(Answer):
    tables: list[dict[str, Any]]


class Metrics(Answer):
    metrics: list[dict[str, Any]]


class Matches(Tables, Metrics):
    pass


class Description(Answer):
    name: str
    meaning: str | None
    label_zh: str | None
    source: str | None
    rows: int
    as_of: str | None
    keys: list[dict[str, Any]]
    columns: list[dict[str, Any]]


class Explanation(Answer):
    name: str
    table: str
    data_type: str | None
    description: str | None
    label_zh: str | None
    unit: str | None
    privacy: str | None
    source: str | None
    as_of: str | None
    comes_from: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    checks: list[dict[str, Any]]


@dataclass(frozen=True)
class Tool:
    """A question that an assistant can ask."""

    description: str
    arguments: type[Arguments]
    answer: type[Answer]
    #: The answer; the key `cut` has what it lacks. Raises Refused.
    work: Callable[[Session, Any], Mapping[str, Any]]


TOOLS: Mapping[str, Tool] = {
    "list_tables": Tool(
        "All tables with their meanings in English and their names in Chinese.",
        Arguments,
        Tables,
        lambda session, _: {"tables": list_tables(session)},
    ),
    "describe_table": Tool(
        "Meaning, number of rows, age of the data (as_of), keys and columns of a table. Columns with few "
        "values list them.",
        TableArguments,
        Description,
        lambda session, asks: describe_table(session, asks.table),
    ),
    "find": Tool(
        "Metrics, and tables with columns, by words of their names and meanings, best first. Words that "
        "people use for them lead there, too: truancy, 逃课, 排名.",
        FindArguments,
        Matches,
        lambda session, asks: find(session, asks.words),
    ),
    "explain": Tool(
        "What a number means: the definition of a column, its unit, where its values come from, and what the "
        "checks of its table found.",
        ColumnArguments,
        Explanation,
        lambda session, asks: explain(session, asks.table, asks.column),
    ),
    "list_metrics": Tool(
        "The metrics, such as attendance_rate, with definitions and the dimensions that split them.",
        Arguments,
        Metrics,
        lambda session, _: {"metrics": list_metrics(session)},
    ),
    "metric": Tool(
        "A metric with its numerator and denominator (null for a metric that is no quotient), a row for "
        "each group. Use it rather than your own SQL. Groups of few students have no numbers, and the note "
        "says so. For the present semester: by semester, with is_current equals true in filters.",
        MetricArguments,
        Rows,
        lambda session, asks: session.measure(
            asks.name,
            asks.by,
            asks.days,
            asks.schools,
            [condition.filter() for condition in asks.filters],
            asks.order,
            asks.limit,
        ),
    ),
    "query": Tool(
        "The rows of one SELECT. Null means not known.",
        QueryArguments,
        Rows,
        lambda session, asks: session.ask(asks.sql),
    ),
}
