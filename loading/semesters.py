"""The semesters of a school in both interfaces: their pairs, and where their weeks begin.

Requests, partitions and slices of v1 have v1's own ids, so that a new or changed pair moves no row. The
models give v1's rows the ids of v3 (quality.semester_calendars).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from campus.attendance.calendar import (
    Decision,
    Sighting,
    WeeksBegin,
    decide,
    first_weekday,
    sighting,
    week_1_on,
)
from campus.registry import SEMESTERS, V1_SEMESTERS
from campus.semester_pairs import Pair, Semester, paired, unclear
from loading.tables import TABLES, read_rows, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.logs.week_evidence import read_sightings

V1, V3 = V1_SEMESTERS, SEMESTERS
Row = dict[str, Any]
# The pairs of the settings: by school and semester of v1, the semester of v3. None: v3 does not have it.
ConfiguredPairs = Mapping[int, Mapping[int, int | None]]

# So close to midnight, the platform may have another date than this machine.
NEAR_MIDNIGHT = timedelta(minutes=10)

_BOTH = ["id", "name", "start_at", "outer_id", "is_current", "_deleted_at"]
#: The columns that are read of the semesters of each interface.
COLUMNS = {V1: [*_BOTH, "end_in", "lesson_days", "current_week"], V3: [*_BOTH, "end_at"]}


@dataclass(frozen=True)
class Semesters:
    """The semesters of a school in the order of time, including tombstones."""

    school_id: int
    v1: Sequence[Row]
    v3: Sequence[Row]
    #: By id of v1.
    pairs: Mapping[int, Pair]
    #: The pairs of the settings, by id of v1.
    configured: Mapping[int, int | None]

    @property
    def ids_of_v1(self) -> list[int]:
        """The ids that requests to v1 name: of v1's semesters, or of v3's where v1 has none."""
        return _alive(self.v1) or _alive(self.v3)

    @property
    def ids_of_v3(self) -> list[int]:
        """The ids that requests to v3 name: of v3's semesters, or of v1's where v3 has none."""
        return _alive(self.v3) or _alive(self.v1)

    def in_v3(self, v1_id: int) -> int | None:
        """The v3 id of a semester of v1."""
        if not self.v1:
            return v1_id
        pair = self.pairs.get(v1_id)
        return pair.v3 if pair else None

    def days(self, v1_id: int) -> tuple[date, date] | None:
        """First and last day of a semester of v1, by v1 or else by v3."""
        own = next((row for row in self.v1 if row["id"] == v1_id), {})
        other = next((row for row in self.v3 if row["id"] == self.in_v3(v1_id)), {})
        first, last = (own.get(name) or other.get(name) for name in ("first", "last"))
        return (first, last) if first and last else None

    def days_in_v3(self, v1_id: int) -> tuple[date, date] | None:
        """First and last day of the same semester by v3."""
        other = next((row for row in self.v3 if row["id"] == self.in_v3(v1_id)), {})
        first, last = other.get("first"), other.get("last")
        return (first, last) if first and last and first <= last else None

    @property
    def unclear(self) -> list[str]:
        """Messages about semesters of v1 that may be one of several semesters of v3, and about configured
        pairs with unknown semesters."""
        return self._misnamed + [
            _unclear_message(self.school_id, semester, others) for semester, others in self._unclear.items()
        ]

    @property
    def _misnamed(self) -> list[str]:
        interfaces = [("v1", self.v1, self.configured), ("v3", self.v3, self.configured.values())]
        return [
            f"school {self.school_id}: semesters.pairs of campus.yaml names semester {semester_id} of "
            f"{name}, which is not there. There are {', '.join(str(row['id']) for row in rows)}."
            for name, rows, named in interfaces
            for semester_id in named
            if rows and semester_id is not None and semester_id not in {row["id"] for row in rows}
        ]

    @cached_property
    def _unclear(self) -> dict[Semester, list[Semester]]:
        return unclear(_shown(self.v1), _shown(self.v3), self.pairs, self.configured)

    @property
    def of_v1_alone(self) -> str:
        """A message about semesters of v1 that v3 does not have. Empty: there are none, or v3 shows none."""
        named = {*self.pairs, *self.configured, *(semester.id for semester in self._unclear)}
        alone = [
            semester for semester in _shown(self.v1) if not semester.is_gone and semester.id not in named
        ]
        if not alone or not self.v3:
            return ""
        return (
            f"school {self.school_id}: v3 does not have semester {', '.join(map(str, alone))} of v1: none "
            f"has days in common with it. It loads and stays a semester of its own. If v3 has it, say so in "
            f"campus.yaml (semesters.pairs)."
        )


@dataclass(frozen=True)
class Closed:
    """Semesters that are over, each as its school and an id."""

    #: The ids of requests to v3 and to v1, and of their slices.
    v3: frozenset[tuple[int, int]]
    v1: frozenset[tuple[int, int]]
    #: The ids in the models.
    core: frozenset[tuple[int, int]]


def closed_semesters(lake: Lake, schools: Iterable[int], configured: ConfiguredPairs, before: date) -> Closed:
    """The semesters of schools that ended before a day, and that neither interface shows as current."""
    closed = [
        (school_id, core, v3, v1)
        for school_id in schools
        for core, v3, v1 in _over(read_semesters(lake, school_id, configured), before)
    ]
    return Closed(
        v3=frozenset((school_id, v3) for school_id, _, v3, _ in closed if v3 is not None),
        v1=frozenset((school_id, v1) for school_id, _, _, v1 in closed if v1 is not None),
        core=frozenset((school_id, core) for school_id, core, _, _ in closed),
    )


def _over(semesters: Semesters, before: date) -> Iterator[tuple[int, int | None, int | None]]:
    """The ids of each semester that is over: in the models, and in requests to v3 and to v1."""
    v3, v1 = ({row["id"]: row for row in rows} for rows in (semesters.v3, semesters.v1))
    for core, v3_id, v1_id in _model_ids(semesters):
        # Where one interface shows no semesters, requests to it name those of the other.
        v3_id, v1_id = v3_id if v3 else v1_id, v1_id if v1 else v3_id
        shown = [row for row in (v3.get(v3_id), v1.get(v1_id)) if row]
        last = [row["last"] for row in shown if row["last"]]
        if last and max(last) < before and not any(row["is_current"] for row in shown):
            yield core, v3_id, v1_id


def _model_ids(semesters: Semesters) -> Iterator[tuple[int, int | None, int | None]]:
    """The id of each semester in the models, in v3 and in v1."""
    v1_of = {pair.v3: pair.v1 for pair in semesters.pairs.values()}
    in_v3 = {row["id"] for row in semesters.v3}
    for row in semesters.v3:
        yield row["id"], row["id"], v1_of.get(row["id"])
    for row in semesters.v1:
        if row["id"] not in semesters.pairs:
            # An id that is another semester's in v3 cannot stand for this one.
            yield -row["id"] if row["id"] in in_v3 else row["id"], None, row["id"]


def read_semesters(lake: Lake, school_id: int, configured: ConfiguredPairs) -> Semesters:
    """The semesters of a school in the lake."""
    v1, v3 = (
        read_rows(lake, spec, slice_of(spec, school_id), columns, alive=False)
        for spec, columns in COLUMNS.items()
    )
    return semesters_of(school_id, v1, v3, configured.get(school_id, {}))


def semesters_of(
    school_id: int, v1: Sequence[Row], v3: Sequence[Row], configured: Mapping[int, int | None]
) -> Semesters:
    """A school's semesters from rows of both interfaces (COLUMNS), including tombstones."""
    v1 = _in_order({**row, "last": _day(row["end_in"])} for row in v1)
    v3 = _in_order({**row, "last": _day(row["end_at"])} for row in v3)
    return Semesters(school_id, v1, v3, paired(_shown(v1), _shown(v3), configured), configured)


def day_1_of(lake: Lake, school_id: int) -> int:
    """The weekday (1 is Monday) of day 1 in a school's schedules, lesson_days and timetables."""
    days = lake.read(TABLES["timetable_days"], Slice.of(_school_id=school_id), ["day", "label"]).to_pylist()
    return first_weekday((row["day"], row["label"]) for row in days)


def weeks_of(lake: Lake, school_id: int, setting: WeeksBegin) -> Decision:
    """Where teaching weeks begin in a school. `setting`: of campus.yaml."""
    return decide(setting, sightings_of(lake, school_id))


def sightings_of(lake: Lake, school_id: int) -> list[Sighting]:
    """The sightings of a school's semesters by the platform's current_week."""
    return [Sighting(**row) for row in read_sightings(lake, school_id)]


def seen_now(semesters: Semesters, moment: datetime) -> list[Sighting]:
    """The sightings by the current_week of current semesters. Close to midnight the day is uncertain.

    Args:
        moment: The time of the request by the platform's clock."""
    if (moment - NEAR_MIDNIGHT).date() != (moment + NEAR_MIDNIGHT).date():
        return []
    sightings = (
        sighting(row["id"], *days, row["current_week"], moment.date())
        for row in semesters.v1
        if row["is_current"] and row["_deleted_at"] is None and (days := semesters.days(row["id"]))
    )
    return [seen for seen in sightings if seen]


def contradiction(decision: Decision) -> str:
    """A message: the setting contradicts the platform."""
    seen = decision.contradicts
    assert seen
    between = f"between {seen.earliest} and {seen.latest}"
    fits = f", which fits {' or '.join(decision.others)}" if seen.allows(decision.others[0]) else ""
    return (
        f"teaching weeks are counted by the rule {decision.rule!r} ({decision.known_by}), by which week 1 of "
        f"semester {seen.semester_id} begins on {week_1_on(decision.rule, seen.first)}; by the platform's "
        f"current_week of {seen.seen_on} it begins {between}{fits}. Attendance is asked for by either; which "
        f"sessions are expected goes by {decision.rule!r}. If the platform is right, set "
        f"attendance.weeks_begin in campus.yaml to auto."
    )


def calendar_rows(lake: Lake, configured: ConfiguredPairs, setting: WeeksBegin) -> list[Row]:
    """The rows of quality.semester_calendars: every semester of every school."""
    rows = [row for spec in (V1, V3) for row in read_rows(lake, spec, None, ["_school_id"], alive=False)]
    return [
        row
        for school_id in sorted({row["_school_id"] for row in rows})
        for row in rows_of_calendar(
            read_semesters(lake, school_id, configured),
            weeks_of(lake, school_id, setting),
            day_1_of(lake, school_id),
        )
    ]


def rows_of_calendar(semesters: Semesters, decision: Decision, day_1_is: int) -> list[Row]:
    """One school's rows of quality.semester_calendars."""
    matched_by: dict[int | None, str] = {id: pair.matched_by for id, pair in semesters.pairs.items()}
    first_in_v1, first_in_v3 = (
        {row["id"]: row["first"] for row in rows} for rows in (semesters.v1, semesters.v3)
    )
    return [
        {
            "_school_id": semesters.school_id,
            "semester_id": semester_id,
            "v1_semester_id": v1_id,
            "matched_by": matched_by.get(v1_id),
            "week_1_on": week_1_on(decision.rule, first) if first else None,
            "weeks_begin": decision.rule,
            "weeks_known_by": decision.known_by,
            "day_1_is": day_1_is,
        }
        for semester_id, v3_id, v1_id in _model_ids(semesters)
        for first in [first_in_v1.get(v1_id) or first_in_v3.get(v3_id)]
    ]


def _in_order(rows: Iterable[Row]) -> list[Row]:
    dated = ({**row, "first": _day(row["start_at"])} for row in rows)
    return sorted(dated, key=lambda row: (row["first"] or date.min, row["id"]))


def _shown(rows: Sequence[Row]) -> list[Semester]:
    return [
        Semester(
            row["id"], row["name"], row["first"], row["last"], row["outer_id"], row["_deleted_at"] is not None
        )
        for row in rows
    ]


def _alive(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows if row["_deleted_at"] is None]


def _day(moment: datetime | None) -> date | None:
    return moment.date() if moment else None


def _unclear_message(school_id: int, semester: Semester, others: Sequence[Semester]) -> str:
    may_be = " or ".join(str(other) for other in others)
    return (
        f"school {school_id}: semester {semester} of v1 may be {may_be} of v3, and neither outer_id nor "
        "dates nor name tells. It loads, but its attendance and v3's grades count as two semesters. Set "
        f"the pair in campus.yaml: semesters.pairs: [{{school: {school_id}, v1: {semester.id}, v3: "
        f"{others[0].id}}}], or v3: null if v3 does not have it."
    )
