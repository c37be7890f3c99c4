"""Pairs the semesters of the v1 interface with those of the v3 interface. Their ids may differ."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

MatchedBy = Literal["setting", "outer_id", "dates", "overlap", "name", "id"]

# Spellings of the halves of a school year, with their normal form.
_HALVES = (("第一学期", "上学期"), ("第1学期", "上学期"), ("第二学期", "下学期"), ("第2学期", "下学期"))


@dataclass(frozen=True)
class Semester:
    """A semester of one interface."""

    id: int
    name: str | None = None
    first: date | None = None
    last: date | None = None
    outer_id: str | None = None
    #: The platform has deleted it.
    is_gone: bool = False

    def __str__(self) -> str:
        days = f" ({self.first or '?'} to {self.last or '?'})" if self.first or self.last else ""
        return f"{self.id}{f' {self.name!r}' if self.name else ''}{days}"


@dataclass(frozen=True)
class Pair:
    """A semester of v1 with the same semester of v3, and the evidence."""

    v1: int
    v3: int
    matched_by: MatchedBy


def paired(
    v1: Sequence[Semester], v3: Sequence[Semester], configured: Mapping[int, int | None] | None = None
) -> dict[int, Pair]:
    """The pairs of semesters by id of v1, one to one.

    The first evidence that is unique on both sides counts: the outer_id; the same first and last day; more
    than half of the days in common; the name, and at last the id, unless the days contradict. Among several
    semesters with the same days, the name decides, then the id. Deleted semesters are paired last.

    Args:
        configured: The pairs of the settings. None: v3 does not have the semester."""
    configured = configured or {}
    v3_ids = {semester.id for semester in v3}
    pairs = {
        semester.id: Pair(semester.id, other, "setting")
        for semester in v1
        if (other := configured.get(semester.id)) is not None and other in v3_ids
    }
    free = [semester for semester in v1 if semester.id not in configured]
    for alive_only in (True, False):
        _pair(
            [semester for semester in free if not (alive_only and semester.is_gone)],
            [semester for semester in v3 if not (alive_only and semester.is_gone)],
            pairs,
        )
    return pairs


def unclear(
    v1: Sequence[Semester], v3: Sequence[Semester], pairs: Mapping[int, Pair], configured: Iterable[int] = ()
) -> dict[Semester, list[Semester]]:
    """The unpaired semesters of v1 that may be an unpaired semester of v3, with the candidates."""
    taken = {pair.v3 for pair in pairs.values()}
    left = [semester for semester in v3 if semester.id not in taken and not semester.is_gone]
    mine = [semester for semester in v1 if semester.id not in {*pairs, *configured} and not semester.is_gone]
    candidates = {semester: [other for other in left if _may_be(semester, other)] for semester in mine}
    return {semester: others for semester, others in candidates.items() if others}


def normalised(name: str | None) -> str:
    """A name without differences of width, case, spaces, punctuation and words for halves of a year."""
    text = unicodedata.normalize("NFKC", name or "").casefold()
    text = re.sub(r"[\W_]+", "", text)
    for spelling, normal in _HALVES:
        text = text.replace(spelling, normal)
    return text


def _pair(v1: Sequence[Semester], v3: Sequence[Semester], pairs: dict[int, Pair]) -> None:
    """Add to `pairs` the pairs of all steps, the surest evidence first."""
    has_paired = True
    while has_paired:
        # A pair removes candidates from the other steps.
        has_paired = any(_step(matched_by, is_like, v1, v3, pairs) for matched_by, is_like in _STEPS)
    if all(pair.v1 == pair.v3 for pair in pairs.values()):
        _step("id", _has_same_id, v1, v3, pairs)


def _step(
    matched_by: MatchedBy,
    is_like: Callable[[Semester, Semester], bool],
    v1: Sequence[Semester],
    v3: Sequence[Semester],
    pairs: dict[int, Pair],
) -> bool:
    """Pair semesters by one kind of evidence. Returns whether there were new pairs."""
    taken = {pair.v3 for pair in pairs.values()}
    mine = [semester for semester in v1 if semester.id not in pairs]
    theirs = [other for other in v3 if other.id not in taken]
    chosen = {
        semester.id: _sole(semester, [other for other in theirs if is_like(semester, other)])
        for semester in mine
    }
    choosing = {
        other.id: _sole(other, [semester for semester in mine if is_like(semester, other)])
        for other in theirs
    }
    made = {
        semester: Pair(semester, other, matched_by)
        for semester, other in chosen.items()
        if other is not None and choosing[other] == semester
    }
    pairs.update(made)
    return bool(made)


def _sole(semester: Semester, others: Sequence[Semester]) -> int | None:
    """The only candidate, by name or id among several. None: it is not unique."""
    for is_like in (_has_same_name, _has_same_id):
        if len(others) > 1:
            others = [other for other in others if is_like(semester, other)] or others
    return others[0].id if len(others) == 1 else None


def _has_same_outer_id(semester: Semester, other: Semester) -> bool:
    return bool(semester.outer_id) and semester.outer_id == other.outer_id


def _has_same_days(semester: Semester, other: Semester) -> bool:
    return None not in (semester.first, semester.last) and (semester.first, semester.last) == (
        other.first,
        other.last,
    )


def _is_mostly(semester: Semester, other: Semester) -> bool:
    """Whether more than half of the days of both semesters are common."""
    common = _common_days(semester, other)
    return common is not None and common * 2 > max(_days(semester), _days(other))


def _has_same_name(semester: Semester, other: Semester) -> bool:
    return bool(normalised(semester.name)) and normalised(semester.name) == normalised(other.name)


def _has_same_name_and_may_be(semester: Semester, other: Semester) -> bool:
    return _has_same_name(semester, other) and _may_be(semester, other)


def _has_same_id(semester: Semester, other: Semester) -> bool:
    return semester.id == other.id and _may_be(semester, other)


def _may_be(semester: Semester, other: Semester) -> bool:
    """Whether the days allow the pair: some days are common, or days are unknown."""
    common = _common_days(semester, other)
    return common is None or common > 0


def _common_days(semester: Semester, other: Semester) -> int | None:
    """The number of common days. None: the days of a semester are unknown."""
    if semester.first is None or semester.last is None or other.first is None or other.last is None:
        return None
    return max((min(semester.last, other.last) - max(semester.first, other.first)).days + 1, 0)


def _days(semester: Semester) -> int:
    assert semester.first is not None and semester.last is not None
    return (semester.last - semester.first).days + 1


_STEPS: tuple[tuple[MatchedBy, Callable[[Semester, Semester], bool]], ...] = (
    ("outer_id", _has_same_outer_id),
    ("dates", _has_same_days),
    ("overlap", _is_mostly),
    ("name", _has_same_name_and_may_be),
)
