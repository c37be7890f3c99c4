"""Which semester of the v1 interface is which of the v3 interface: their ids need not be the same. Pure."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

MatchedBy = Literal["setting", "outer_id", "dates", "overlap", "name", "id"]

# Two ways to call the halves of a school year.
_HALVES = (("第一学期", "上学期"), ("第1学期", "上学期"), ("第二学期", "下学期"), ("第2学期", "下学期"))


@dataclass(frozen=True)
class Semester:
    """A semester as one interface shows it. `first` and `last`: None where it does not say. `is_gone`: the
    platform has it no more."""

    id: int
    name: str | None = None
    first: date | None = None
    last: date | None = None
    outer_id: str | None = None
    is_gone: bool = False

    def __str__(self) -> str:
        days = f" ({self.first or '?'} to {self.last or '?'})" if self.first or self.last else ""
        return f"{self.id}{f' {self.name!r}' if self.name else ''}{days}"


@dataclass(frozen=True)
class Pair:
    """A semester of v1, the one of v3 that it is, and what told so."""

    v1: int
    v3: int
    matched_by: MatchedBy


def paired(
    v1: Sequence[Semester], v3: Sequence[Semester], told: Mapping[int, int | None] | None = None
) -> dict[int, Pair]:
    """The pairs by id of v1, one to one. `told`: what the settings say, None being "v3 has none".

    The first of these that singles out one semester on either side: the outer_id; the same first and last
    day; days of which more than half are common; the name, and at last the id, where the days do not speak
    against it. Where several have the same days, the name decides, then the id. What is gone is paired with
    what the others leave."""
    told = told or {}
    known = {one.id for one in v3}
    pairs = {
        one.id: Pair(one.id, other, "setting")
        for one in v1
        if (other := told.get(one.id)) is not None and other in known
    }
    free = [one for one in v1 if one.id not in told]
    for alive_only in (True, False):
        _pair(
            [one for one in free if not (alive_only and one.is_gone)],
            [one for one in v3 if not (alive_only and one.is_gone)],
            pairs,
        )
    return pairs


def unclear(
    v1: Sequence[Semester], v3: Sequence[Semester], pairs: Mapping[int, Pair], told: Iterable[int] = ()
) -> dict[Semester, list[Semester]]:
    """The semesters of v1 without a pair that may all the same be one of v3's that is left, and those."""
    taken = {pair.v3 for pair in pairs.values()}
    left = [one for one in v3 if one.id not in taken and not one.is_gone]
    mine = [one for one in v1 if one.id not in {*pairs, *told} and not one.is_gone]
    found = {one: [other for other in left if _may_be(one, other)] for one in mine}
    return {one: others for one, others in found.items() if others}


def normalised(name: str | None) -> str:
    """A name without what people write differently: width, case, spaces, punctuation, how halves of a year
    are called."""
    text = unicodedata.normalize("NFKC", name or "").casefold()
    text = re.sub(r"[\W_]+", "", text)
    for other, one in _HALVES:
        text = text.replace(other, one)
    return text


def _pair(v1: Sequence[Semester], v3: Sequence[Semester], pairs: dict[int, Pair]) -> None:
    """Add to `pairs` whatever any of the steps finds, the surest first."""
    found = True
    while found:
        # What one step has paired is out of the way of the others.
        found = any(_step(matched_by, is_like, v1, v3, pairs) for matched_by, is_like in _STEPS)
    if all(pair.v1 == pair.v3 for pair in pairs.values()):
        _step("id", _has_same_id, v1, v3, pairs)


def _step(
    matched_by: MatchedBy,
    is_like: Callable[[Semester, Semester], bool],
    v1: Sequence[Semester],
    v3: Sequence[Semester],
    pairs: dict[int, Pair],
) -> bool:
    """Pair what is alike; whether anything was."""
    taken = {pair.v3 for pair in pairs.values()}
    mine = [one for one in v1 if one.id not in pairs]
    theirs = [other for other in v3 if other.id not in taken]
    chosen = {one.id: _sole(one, [other for other in theirs if is_like(one, other)]) for one in mine}
    choosing = {other.id: _sole(other, [one for one in mine if is_like(one, other)]) for other in theirs}
    made = {
        one: Pair(one, other, matched_by)
        for one, other in chosen.items()
        if other is not None and choosing[other] == one
    }
    pairs.update(made)
    return bool(made)


def _sole(one: Semester, others: Sequence[Semester]) -> int | None:
    """The one of several that is meant; None where that is not clear."""
    for is_like in (_has_same_name, _has_same_id):
        if len(others) > 1:
            others = [other for other in others if is_like(one, other)] or others
    return others[0].id if len(others) == 1 else None


def _has_same_outer_id(one: Semester, other: Semester) -> bool:
    return bool(one.outer_id) and one.outer_id == other.outer_id


def _has_same_days(one: Semester, other: Semester) -> bool:
    return None not in (one.first, one.last) and (one.first, one.last) == (other.first, other.last)


def _is_mostly(one: Semester, other: Semester) -> bool:
    """Whether more than half of the days of either are days of both."""
    common = _common_days(one, other)
    return common is not None and common * 2 > max(_days(one), _days(other))


def _has_same_name(one: Semester, other: Semester) -> bool:
    return bool(normalised(one.name)) and normalised(one.name) == normalised(other.name)


def _has_same_name_and_may_be(one: Semester, other: Semester) -> bool:
    return _has_same_name(one, other) and _may_be(one, other)


def _has_same_id(one: Semester, other: Semester) -> bool:
    return one.id == other.id and _may_be(one, other)


def _may_be(one: Semester, other: Semester) -> bool:
    """Whether the days do not speak against it: some are common, or they are not known."""
    common = _common_days(one, other)
    return common is None or common > 0


def _common_days(one: Semester, other: Semester) -> int | None:
    """How many days two semesters have in common; None where the days of one are not known."""
    if one.first is None or one.last is None or other.first is None or other.last is None:
        return None
    return max((min(one.last, other.last) - max(one.first, other.first)).days + 1, 0)


def _days(one: Semester) -> int:
    assert one.first is not None and one.last is not None
    return (one.last - one.first).days + 1


_STEPS: tuple[tuple[MatchedBy, Callable[[Semester, Semester], bool]], ...] = (
    ("outer_id", _has_same_outer_id),
    ("dates", _has_same_days),
    ("overlap", _is_mostly),
    ("name", _has_same_name_and_may_be),
)
