"""SQL that turns columns into cells of a spreadsheet: numbers, flags or text.

A spreadsheet's number has 15 significant digits, and its calendar begins in 1900. Other values become text,
so that no value changes. Text is always written as text, whatever it looks like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from exports.spreadsheet.sheets import Kind
from warehouse.identifiers import quoted

#: Significant digits of a number in Excel.
DIGITS = 15
LARGEST = 10**DIGITS - 1
#: The smallest and the largest positive number of Excel.
LEAST_DOUBLE, GREATEST_DOUBLE = 2.2250738585072e-308, 9.99999999999999e307
#: Excel's calendar has a 29 February 1900. Programs agree on dates from March 1900 on.
FIRST_DAY, LAST_DAY = "1900-03-01", "9999-12-31"
#: UTF-16 units of one cell's text.
TEXT_LIMIT = 32_767

INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"}
BIG_INTEGERS = {"BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"}
TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
NESTED = re.compile(r"(\[\d*\]$)|^(STRUCT|MAP|UNION)\(")
DECIMAL = re.compile(r"^DECIMAL\((\d+),(\d+)\)$")


@dataclass(frozen=True)
class Type:
    """A column's type, as far as cells depend on it. Decimals have a precision and a scale."""

    name: str
    precision: int = 0
    scale: int = 0

    @property
    def is_number(self) -> bool:
        return self.name in INTEGERS | BIG_INTEGERS | {"DECIMAL", "FLOAT", "DOUBLE"}

    @property
    def is_whole(self) -> bool:
        return self.name in INTEGERS | BIG_INTEGERS or (self.name == "DECIMAL" and not self.scale)


def type_of(name: str) -> Type:
    """The type with DuckDB's name."""
    decimal = DECIMAL.match(name)
    return Type("DECIMAL", int(decimal[1]), int(decimal[2])) if decimal else Type(name)


def kind_of(type: Type, unit: str | None) -> Kind:
    """The default kind of a column."""
    if type.is_number:
        return "percent" if unit == "percent" else "integer" if type.is_whole else "decimal"
    if type.name in TIMESTAMPS:
        return "datetime"
    simple: dict[str, Kind] = {"DATE": "date", "TIME": "time", "BOOLEAN": "boolean"}
    return simple.get(type.name, "text")


def cell(name: str, type: Type, kind: Kind) -> str:
    """SQL for the cell of a column: a DOUBLE or, where it does not fit, text; BOOLEAN; or VARCHAR."""
    column = quoted(name)
    if kind in ("integer", "decimal", "percent"):
        return _either(*_number(column, type, kind), column)
    if kind == "date":
        day = f"CAST({column} AS DATE)"
        return _either(
            f"{day} BETWEEN DATE '{FIRST_DAY}' AND DATE '{LAST_DAY}'", f"{day} - DATE '1899-12-30'", column
        )
    if kind == "datetime":
        moment = f"CAST({column} AS TIMESTAMP)"
        within = f"{moment} >= TIMESTAMP '{FIRST_DAY}' AND CAST({moment} AS DATE) <= DATE '{LAST_DAY}'"
        return _either(within, f"epoch_us({moment}) / 86400e6 + 25569", column)
    if kind == "time":
        return _either(f"{column} < TIME '24:00:00'", f"epoch_us({column}) / 86400e6", column)
    return column if kind == "boolean" else text(name, type)


def text(name: str, type: Type) -> str:
    """SQL for a column's value as text. Nested values become JSON."""
    column = quoted(name)
    return f"CAST({f'to_json({column})' if NESTED.search(type.name) else column} AS VARCHAR)"


def _number(column: str, type: Type, kind: Kind) -> tuple[str, str]:
    """SQL for whether a number fits into a cell, and for the nearest DOUBLE."""
    if type.name == "DOUBLE":
        fits = f"{column} = 0 OR abs({column}) BETWEEN {LEAST_DOUBLE!r} AND {GREATEST_DOUBLE!r}"
        return fits, f"{column} / 100" if kind == "percent" else column
    digits = f"CAST({column} AS VARCHAR)"
    if type.name == "FLOAT":
        # The cast by way of text keeps 1.1, which would become 1.10000002384.
        number = f"CAST({digits} AS DOUBLE)"
        return f"isfinite({column})", f"{number} / 100" if kind == "percent" else number
    # The cast by way of text gives the nearest DOUBLE, without intermediate rounding.
    number = f"CAST({digits} || 'e-2' AS DOUBLE)" if kind == "percent" else f"CAST({digits} AS DOUBLE)"
    if type.precision > DIGITS:
        return f"length(trim(translate({digits}, '-.', ''), '0')) <= {DIGITS}", number
    fits = f"{column} BETWEEN -{LARGEST} AND {LARGEST}" if type.name in BIG_INTEGERS else "true"
    return fits, number if kind == "percent" else column


def _either(fits: str, number: str, column: str) -> str:
    """SQL for the number where it fits, else for the value as text."""
    cell = "UNION(number DOUBLE, text VARCHAR)"
    return (
        f"CASE WHEN {fits} THEN CAST(CAST({number} AS DOUBLE) AS {cell}) "
        f"WHEN {column} IS NOT NULL THEN CAST(CAST({column} AS VARCHAR) AS {cell}) END"
    )


def is_too_long(text: str) -> bool:
    """Whether the text is too long for a cell. A character takes at most two units."""
    return len(text) > TEXT_LIMIT // 2 and _units(text) > TEXT_LIMIT


def shortened(text: str, mark: str) -> str:
    """The beginning of a text, as much as a cell holds, with `mark` at its end."""
    beginning = text[: TEXT_LIMIT - len(mark)]
    while _units(beginning) + len(mark) > TEXT_LIMIT:
        beginning = beginning[: -max(1, (_units(beginning) + len(mark) - TEXT_LIMIT) // 2)]
    return beginning + mark


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def as_text(text: str) -> str:
    """Text for xlsxwriter, which reads text between <r> and </r> as its own markup. XML allows neither U+FFFE
    nor U+FFFF."""
    if "\ufffe" in text or "\uffff" in text:
        text = text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    if text.startswith("<r>") and text.endswith("</r>"):
        return f'<r><t xml:space="preserve">{escape(text, quote=False)}</t></r>'
    return text
