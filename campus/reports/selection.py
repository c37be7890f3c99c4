"""Which reports are read and with which parameters: an operator's wishes, as settings have them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from urllib.parse import quote

import msgspec

from campus.wishes import Scalar

ParameterValue = Scalar | tuple[Scalar, ...]
# What a text of a combination holds as it is: letters of any script, digits, and what separates nothing.
_UNSPOKEN = re.compile(r"[^\w.:-]")


@dataclass(frozen=True)
class ReportSelection:
    """What is asked of one report. `report`: its name or id. `queries`: ids or labels; none: all of them.
    `matrix`: values of parameters, each combination of which is asked for on its own."""

    report: str
    queries: tuple[str | int, ...] = ()
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    matrix: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)

    def combinations(self) -> list[dict[str, Scalar]]:
        """Each combination of the matrix; without one there is one that is empty."""
        return [dict(zip(self.matrix, values, strict=True)) for values in product(*self.matrix.values())]


def combination_text(matrix: Mapping[str, Scalar]) -> str:
    """A combination of a matrix as one text, such as `grade=7&semester=20`, whatever order it is written in;
    empty without a matrix.

    What is no letter, digit, `_`, `.`, `:` or `-` of its names and values is percent-encoded."""
    return "&".join(f"{_escaped(name)}={_escaped(spelt(value))}" for name, value in sorted(matrix.items()))


def spelt(value: Scalar) -> str:
    """A value as text, in which 7 and "7" are the same: what is no text is its JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _escaped(text: str) -> str:
    return _UNSPOKEN.sub(lambda found: quote(found[0], safe=""), text)
