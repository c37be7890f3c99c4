"""The semesters of a school as both interfaces show them: which are one, and where their weeks begin.

What v1 is asked for goes by v1's own ids, everywhere: in questions, partitions and slices of the lake, so
that a pairing that becomes known, or changes, moves no row. The models give v1's rows the ids of v3
(quality.semester_calendars).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from campus.attendance.week_days import first_weekday
from campus.attendance.week_rules import Decision, Sighting, WeeksBegin, decide, sighting, week_1_on
from campus.registry import SEMESTERS, V1_SEMESTERS
from campus.semester_pairs import Pair, Semester, paired, unclear
from loading.tables import TABLES, slice_of, values
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.week_evidence import read_sightings

V1, V3 = V1_SEMESTERS, SEMESTERS
Row = dict[str, Any]
# What the settings say about pairs: by school, the semester of v3 (None: there is none) of one of v1.
ToldPairs = Mapping[int, Mapping[int, int | None]]

# Within this of midnight, the platform's date may be another one than ours.
NEAR_MIDNIGHT = timedelta(minutes=10)

_BOTH = ["id", "name", "start_at", "outer_id", "is_current", "_deleted_at"]
#: What is looked at of the semesters of either interface.
COLUMNS = {V1: [*_BOTH, "end_in", "lesson_days", "current_week"], V3: [*_BOTH, "end_at"]}


@dataclass(frozen=True)
class Semesters:
    """The semesters of a school, in the order of time, tombstones too. `pairs`: by id of v1."""

    school_id: int
    v1: Sequence[Row]
    v3: Sequence[Row]
    pairs: Mapping[int, Pair]
    told: Mapping[int, int | None]

    @property
    def ids_of_v1(self) -> list[int]:
        """What v1 is asked for: its own semesters, or v3's where it has shown none."""
        return _alive(self.v1) or _alive(self.v3)

    @property
    def ids_of_v3(self) -> list[int]:
        """What v3 is asked for: its own semesters, or v1's where it has shown none."""
        return _alive(self.v3) or _alive(self.v1)

    def in_v3(self, v1_id: int) -> int | None:
        """The v3 id of a semester that v1 is asked for."""
        if not self.v1:
            return v1_id
        pair = self.pairs.get(v1_id)
        return pair.v3 if pair else None

    def days(self, v1_id: int) -> tuple[date, date] | None:
        """First and last day of a semester that v1 is asked for: v1's own, else v3's."""
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
        """In words, each semester of v1 that may be one of several of v3's, and each pair of the settings
        that names a semester which is not there."""
        return self._mistold + [
            _in_words(self.school_id, one, others) for one, others in self._unclear.items()
        ]

    @property
    def _mistold(self) -> list[str]:
        known = [("v1", self.v1, self.told), ("v3", self.v3, self.told.values())]
        return [
            f"school {self.school_id}: semesters.pairs of campus.yaml names semester {one} of {name}, which "
            f"is not there. There are {', '.join(str(row['id']) for row in rows)}."
            for name, rows, named in known
            for one in named
            if rows and one is not None and one not in {row["id"] for row in rows}
        ]

    @cached_property
    def _unclear(self) -> dict[Semester, list[Semester]]:
        return unclear(_shown(self.v1), _shown(self.v3), self.pairs, self.told)

    @property
    def of_v1_alone(self) -> str:
        """In words, the semesters of v1 that v3 does not have; empty: there are none, or v3 shows none."""
        named = {*self.pairs, *self.told, *(one.id for one in self._unclear)}
        alone = [one for one in _shown(self.v1) if not one.is_gone and one.id not in named]
        if not alone or not self.v3:
            return ""
        return (
            f"school {self.school_id}: v3 does not have semester {', '.join(map(str, alone))} of v1: none "
            f"has days in common with it. It loads and stays a semester of its own. If v3 has it, say so in "
            f"campus.yaml (semesters.pairs)."
        )


@dataclass(frozen=True)
class Closed:
    """Semesters that are over, each as its school and an id: what v3 and v1 are asked for, whose slices have
    these ids; and the ids of the models."""

    v3: frozenset[tuple[int, int]]
    v1: frozenset[tuple[int, int]]
    core: frozenset[tuple[int, int]]


def closed_semesters(lake: Lake, schools: Iterable[int], told: ToldPairs, before: date) -> Closed:
    """The semesters of schools that ended before a day, and that neither interface shows as current."""
    found = [
        (school_id, core, v3, v1)
        for school_id in schools
        for core, v3, v1 in _over(read_semesters(lake, school_id, told), before)
    ]
    return Closed(
        v3=frozenset((school_id, v3) for school_id, _, v3, _ in found if v3 is not None),
        v1=frozenset((school_id, v1) for school_id, _, _, v1 in found if v1 is not None),
        core=frozenset((school_id, core) for school_id, core, _, _ in found),
    )


def _over(semesters: Semesters, before: date) -> Iterator[tuple[int, int | None, int | None]]:
    """The ids of each semester that is over: in the models, and those that v3 and v1 are asked for."""
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


def read_semesters(lake: Lake, school_id: int, told: ToldPairs) -> Semesters:
    """What the lake holds of a school's semesters."""
    v1, v3 = (
        lake.read(TABLES[spec.name], slice_of(spec, school_id), columns, alive=False).to_pylist()
        for spec, columns in COLUMNS.items()
    )
    return semesters_of(school_id, v1, v3, told.get(school_id, {}))


def semesters_of(
    school_id: int, v1: Sequence[Row], v3: Sequence[Row], told: Mapping[int, int | None]
) -> Semesters:
    """A school's semesters of the rows of either interface (COLUMNS), tombstones too."""
    v1 = _in_order({**row, "last": _day(row["end_in"])} for row in v1)
    v3 = _in_order({**row, "last": _day(row["end_at"])} for row in v3)
    return Semesters(school_id, v1, v3, paired(_shown(v1), _shown(v3), told), told)


def day_1_of(lake: Lake, school_id: int) -> int:
    """Which weekday (1 is Monday) is the day 1 of a school's schedules, lesson_days and timetables."""
    days = lake.read(TABLES["timetable_days"], Slice.of(_school_id=school_id), ["day", "label"]).to_pylist()
    return first_weekday((row["day"], row["label"]) for row in days)


def weeks_of(lake: Lake, school_id: int, setting: WeeksBegin) -> Decision:
    """Where teaching weeks begin in a school. `setting`: what campus.yaml says."""
    return decide(setting, sightings_of(lake, school_id))


def sightings_of(lake: Lake, school_id: int) -> list[Sighting]:
    """What the platform's current_week has shown of a school's semesters."""
    return [Sighting(**row) for row in read_sightings(lake, school_id)]


def seen_now(semesters: Semesters, moment: datetime) -> list[Sighting]:
    """What the current_week of current semesters shows. `moment`: when it was asked, by the platform's clock;
    close to midnight the day is not certain."""
    if (moment - NEAR_MIDNIGHT).date() != (moment + NEAR_MIDNIGHT).date():
        return []
    found = (
        sighting(row["id"], *days, row["current_week"], moment.date())
        for row in semesters.v1
        if row["is_current"] and row["_deleted_at"] is None and (days := semesters.days(row["id"]))
    )
    return [one for one in found if one]


def contradiction(decision: Decision) -> str:
    """In words, that the setting is not what the platform shows."""
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


def calendar_rows(lake: Lake, told: ToldPairs, setting: WeeksBegin) -> list[Row]:
    """The rows of quality.semester_calendars: every semester of every school."""
    schools = {
        school_id
        for spec in (V1, V3)
        for school_id in values(
            lake.read(TABLES[spec.name], columns=["_school_id"], alive=False), "_school_id"
        )
    }
    return [row for school_id in sorted(schools) for row in _calendar_rows(lake, school_id, told, setting)]


def _calendar_rows(lake: Lake, school_id: int, told: ToldPairs, setting: WeeksBegin) -> list[Row]:
    semesters, decision = read_semesters(lake, school_id, told), weeks_of(lake, school_id, setting)
    return rows_of_calendar(semesters, decision, day_1_of(lake, school_id))


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


def _in_words(school_id: int, one: Semester, others: Sequence[Semester]) -> str:
    may_be = " or ".join(str(other) for other in others)
    return (
        f"school {school_id}: semester {one} of v1 may be {may_be} of v3, and neither outer_id nor dates nor "
        f"name tells. It loads, but its attendance and v3's grades are told as two semesters. Say in "
        f"campus.yaml which it is: semesters.pairs: [{{school: {school_id}, v1: {one.id}, v3: "
        f"{others[0].id}}}], or v3: null if v3 does not have it."
    )
