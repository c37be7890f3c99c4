"""The catalogue of measures (`dbt/metrics.yml`): words, expressions, and the places that show them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from warehouse.identifiers import quoted
from warehouse.privacy import CLASSES

FILE = Path(__file__).parent / "dbt" / "metrics.yml"
#: A table in the SQL of a base.
TABLE = re.compile(r"\b(core|marts|staging)\.(\w+)")
#: A threshold in a definition, such as {pass_percent}.
THRESHOLD = re.compile(r"\{(\w+)\}")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Dimension(_Part):
    """What a measure can be split by."""

    label: str
    label_zh: str
    #: The columns of a base that a split adds.
    columns: list[str]
    #: Whether its values are single people.
    is_personal: bool = False


class Base(_Part):
    """The rows that measures are computed from."""

    #: One row, in words.
    grain: str
    #: SQL after FROM. `"by"` in it is the list of the dimensions of a split.
    rows: str
    #: By column, its SQL over `rows`.
    columns: dict[str, str]
    #: The column with the day of a row; None: rows have no day.
    time_column: str | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads (`schema.table`), the table with its rows first."""
        return tuple(dict.fromkeys(match[0] for match in TABLE.finditer(self.rows)))

    @property
    def query(self) -> str:
        """SQL for its rows."""
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns.items())
        return f"SELECT {columns} FROM {self.rows}"

    @property
    def counts_people(self) -> bool:
        """Whether its rows are about students."""
        return "student_id" in self.columns


class Metric(_Part):
    """A measure."""

    base: str
    label: str
    label_zh: str
    #: May name thresholds, such as {pass_percent}.
    definition: str
    definition_zh: str
    #: Dimensions that each split must have: the measure counts once in each of their groups.
    needs: list[str] = []
    #: SQL for the rows whose students are behind the value, so that a small group of them is recognized.
    counted: str = "true"
    #: SQL aggregates over the columns of the base: the value is `factor` times the quotient.
    numerator: str | None = None
    denominator: str | None = None
    factor: int = 1
    #: An SQL aggregate for a measure that is no quotient. Null: not known.
    aggregate: str | None = None
    unit: Literal["percent", "students", "days"] | None = None
    #: Decimals that are shown.
    decimals: int
    #: The privacy class of its values for groups (warehouse/privacy.py).
    privacy: str
    #: The attendance profile that decides (seeds.attendance_profiles); None: none does.
    profile: Literal["default"] | None = None
    #: The seed with the thresholds of the definition.
    thresholds: str | None = None

    @model_validator(mode="after")
    def _check_value(self) -> Metric:
        if (self.aggregate is None) != (self.numerator is not None and self.denominator is not None):
            raise ValueError("a measure has either a numerator and a denominator, or an aggregate")
        return self

    @property
    def expression(self) -> str:
        """SQL for the value."""
        if self.aggregate is not None:
            return self.aggregate
        factor = f"{self.factor} * " if self.factor != 1 else ""
        return f"{factor}{self.numerator} / nullif({self.denominator}, 0)"

    def shown(self, type: str | None = None) -> str:
        """SQL for the value with the decimals that are shown, or as a type. Rounds half up, as the marts do:
        twelve decimals first, since a double cannot hold most halves."""
        exact = f"TRY_CAST({self.expression} AS DECIMAL(28, 12))"
        return f"TRY_CAST({exact} AS {type or f'DECIMAL(18, {self.decimals})'})"

    def definitions(self, values: Mapping[str, str] | None = None) -> tuple[str, str]:
        """The definition in English and Chinese. `values`: thresholds of a school; without them, a threshold
        shows its name and seed."""

        def value(match: re.Match[str]) -> str:
            return (values or {}).get(match[1], match[1])

        texts = THRESHOLD.sub(value, self.definition), THRESHOLD.sub(value, self.definition_zh)
        if values is not None or self.thresholds is None:
            return texts
        return f"{texts[0]} (seeds.{self.thresholds})", f"{texts[1]}（seeds.{self.thresholds}）"


class Place(_Part):
    """Columns of a table that show measures of the same base at the same grain."""

    #: `schema.table`.
    table: str
    #: By column of the base, the place's SQL for it.
    by: dict[str, str]
    #: By column of the table, the measure.
    columns: dict[str, str]
    #: SQL for the rows that are meant.
    condition: str = "true"


class Synonyms(_Part):
    """Words that people use for what the catalogue and the dictionary call otherwise."""

    words: list[str]
    #: The words of names and meanings.
    mean: list[str]


class Catalogue(_Part):
    """All measures, with what they can be split by."""

    dimensions: dict[str, Dimension]
    bases: dict[str, Base]
    metrics: dict[str, Metric]
    places: list[Place]
    thesaurus: list[Synonyms]

    @model_validator(mode="after")
    def _check_names(self) -> Catalogue:
        for name, metric in self.metrics.items():
            if metric.base not in self.bases or metric.privacy not in CLASSES:
                raise ValueError(
                    f"{name}: there is no base {metric.base}, or no privacy class {metric.privacy}"
                )
        for place in self.places:
            bases = {self.metrics[name].base for name in place.columns.values() if name in self.metrics}
            if len(bases) != 1 or not set(place.columns.values()) <= self.metrics.keys():
                raise ValueError(f"{place.table}: its columns are not measures of a single base")
            if unknown := place.by.keys() - self.bases[bases.pop()].columns.keys():
                raise ValueError(f"{place.table}: the base lacks {', '.join(sorted(unknown))}")
        return self

    def dimensions_of(self, name: str) -> dict[str, Dimension]:
        """The dimensions that a measure can be split by: those whose columns its base has."""
        columns = self.bases[self.metrics[name].base].columns.keys()
        return {key: value for key, value in self.dimensions.items() if columns >= set(value.columns)}

    def wider_than(self, dimension: str) -> list[str]:
        """The dimensions whose groups contain the groups of this one, such as the school of a class."""

        def names(dimension: str) -> set[str]:
            return {column for column in self.dimensions[dimension].columns if not column.endswith("_id")}

        return [wider for wider in self.dimensions if names(wider) < names(dimension)]

    def split_of(self, columns: Collection[str]) -> list[str]:
        """The dimensions of columns: those with a column among them that no wider dimension has."""
        dimensions = self.dimensions
        return [
            name
            for name, dimension in dimensions.items()
            if (set(dimension.columns) & set(columns)).difference(
                *(dimensions[wider].columns for wider in self.wider_than(name))
            )
        ]

    def meant_by(self, text: str) -> list[str]:
        """The words of names and meanings for those of a text that people use instead."""
        lowered = text.lower()
        return [
            meaning
            for synonyms in self.thesaurus
            if any(re.search(rf"(?<![a-z]){re.escape(word)}", lowered) for word in synonyms.words)
            for meaning in synonyms.mean
        ]

    @cached_property
    def shown_in(self) -> dict[tuple[str, str, str], str]:
        """The measure of each column that shows one, by schema, table and column."""
        return {
            (*place.table.split("."), column): name  # type: ignore[misc]
            for place in self.places
            for column, name in place.columns.items()
        }


@cache
def catalogue() -> Catalogue:
    """Read the catalogue. Raises pydantic.ValidationError if it is wrong."""
    return Catalogue.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
