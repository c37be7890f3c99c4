"""The selection of reports and their parameters, as campus.yaml has it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import msgspec

from campus.selections import Scalar

# `["2025-09-01", "2026-01-31"]`, `"2025-09-01,2026-01-31"`, `{"start": "2025-09-01", "end": "2026-01-31"}`:
# the specification does not say which.
DateRanges = Literal["array", "text", "object"]
ParameterValue = Scalar | tuple[Scalar, ...]
# Characters that are encoded: all but letters of any script, digits and `_.:-`; and the first of three dots,
# which the name of a partition must not have.
_ENCODED = re.compile(r"[^\w.:-]|\.(?=\.\.)")


@dataclass(frozen=True)
class ReportSelection:
    """The selection of one report."""

    # Its name or id.
    report: str
    # Ids or labels; empty: all of them.
    queries: tuple[str | int, ...] = ()
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    # Values of parameters. Each combination of them is a request of its own.
    matrix: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    # The platform's form of a date range.
    date_ranges: DateRanges = "array"

    def combinations(self) -> list[dict[str, Scalar]]:
        """The combinations of the matrix; without a matrix the empty combination."""
        return [dict(zip(self.matrix, values, strict=True)) for values in product(*self.matrix.values())]


def combination_text(matrix: Mapping[str, Scalar]) -> str:
    """Write a combination of a matrix as one text, such as `grade=7&semester=20`, in the order of the names;
    empty without a matrix. See `escaped` for names and values."""
    return "&".join(f"{escaped(name)}={escaped(as_text(value))}" for name, value in sorted(matrix.items()))


def as_text(value: Scalar) -> str:
    """A text as it is, any other value as its JSON: 7 and "7" are the same."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def escaped(text: str) -> str:
    """Percent-encode all but letters, digits, `_`, `.`, `:` and `-`; `urllib.parse.unquote` undoes it."""
    return _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
