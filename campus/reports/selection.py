"""Which reports are read and with which parameters: an operator's wishes, as settings have them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import msgspec

from campus.selections import Scalar

# `["2025-09-01", "2026-01-31"]`, `"2025-09-01,2026-01-31"`, `{"start": "2025-09-01", "end": "2026-01-31"}`:
# which of them it is, is not shown.
DateRanges = Literal["array", "text", "object"]
ParameterValue = Scalar | tuple[Scalar, ...]
# What is encoded: all but letters of any script, digits and what separates nothing, and of three dots the
# first, since names of partitions may not have them.
_UNSPOKEN = re.compile(r"[^\w.:-]|\.(?=\.\.)")


@dataclass(frozen=True)
class ReportSelection:
    """What is asked of one report. `report`: its name or id. `queries`: ids or labels; none: all of them.
    `matrix`: values of parameters, each combination of which is asked for on its own. `date_ranges`: how the
    platform wants them written."""

    report: str
    queries: tuple[str | int, ...] = ()
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    matrix: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    date_ranges: DateRanges = "array"

    def combinations(self) -> list[dict[str, Scalar]]:
        """Each combination of the matrix; without one there is one that is empty."""
        return [dict(zip(self.matrix, values, strict=True)) for values in product(*self.matrix.values())]


def combination_text(matrix: Mapping[str, Scalar]) -> str:
    """A combination of a matrix as one text, such as `grade=7&semester=20`, whatever order it is written in;
    empty without a matrix.

    What is no letter, digit, `_`, `.`, `:` or `-` of its names and values is percent-encoded."""
    return "&".join(f"{escaped(name)}={escaped(spelt(value))}" for name, value in sorted(matrix.items()))


def spelt(value: Scalar) -> str:
    """A value as text, in which 7 and "7" are the same: what is no text is its JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def escaped(text: str) -> str:
    """A text as a part of a name that `&`, `=` or `,` end; `urllib.parse.unquote` gives it back."""
    return _UNSPOKEN.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)
