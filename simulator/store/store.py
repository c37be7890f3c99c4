"""The platform's rows: generated on first use, and changed by tests while the platform runs."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from simulator.readings import Readings
from simulator.school.calendar import Term
from simulator.school.rows import (
    FIRST_SCHOOL,
    KEYS,
    TIME_FORMAT,
    Keys,
    Row,
    Values,
    class_of,
    class_of_session,
    school_of,
    semester_of,
)
from simulator.settings import Size
from simulator.store.seed import Seed
from simulator.store.views import NOTHING, Parts, Views

#: The zone of the rows' timestamps.
ZONE = ZoneInfo("Asia/Shanghai")


@dataclass(frozen=True)
class Collection:
    """A resource with generated rows, in the order of their keys."""

    keys: Keys
    #: The rows of a generated parent. Other parents have only rows of tests.
    rows: "Callable[[Store, int], list[Row]]"
    #: The values in which an inserted row must differ from its neighbour, by parent and new key.
    identity: "Callable[[Store, int, int], Values]" = lambda *_: {}
    sends_id: bool = True
    #: Whether a deleted course class hides the rows.
    hidden_with_class: bool = False


@dataclass(frozen=True)
class View:
    """The rows of another resource in another shape. A view follows every change of that resource."""

    of: str
    keys: Keys
    #: The fields of a row, from the row of the other resource.
    values: "Callable[[Store, Row], Values]"
    #: The final row, after values that a test set.
    shown: "Callable[[Store, Row], Row]" = lambda _, row: row
    sends_id: bool = True
    #: Further resources whose rows of the same key are parts of a row, if they are its only other parts.
    with_rows_of: tuple[str, ...] = ()


Source = Collection | View


class Store:
    """Collections of rows by resource and parent key.

    An unchanged collection is generated again after it has left the cache; a changed collection stays.
    `version` grows with every change, and marks cached pages as stale."""

    def __init__(self, sources: Mapping[str, Source], size: Size, readings: Readings | None = None) -> None:
        self.sources = sources
        self.size = size
        self.readings = readings or Readings()
        self.version = 0
        self._changes: Counter[str] = Counter()  # by resource; the version counts them all
        self.seed = Seed(size, self.readings)
        self.attendance = self.seed.attendance
        self.school_ids = tuple(row.key for row in self.seed.schools)
        self._now = datetime.combine(size.today, time(20))  # later than any generated row
        self._changed: dict[tuple[str, int], list[Row]] = {}
        self._last_key: dict[tuple[str, int], int] = {}  # of changed collections, so that no id repeats
        self._index = lru_cache(maxsize=64)(
            lambda resource, parent, version: {row.key: row for row in self.rows(resource, parent)}
        )
        self._views = Views()

    @property
    def today(self) -> date:
        """The platform's date."""
        return self._now.date()

    @property
    def now(self) -> datetime:
        """The platform's wall clock."""
        return self._now

    def let_days_pass(self, days: int) -> None:
        """Advance the clock. Open sessions get marks, and new sessions take place; nothing else changes."""
        before = self.today
        self.tick()
        self._now += timedelta(days=days)
        for (resource, class_id), rows in self._changed.items():
            if resource == "attendance_sessions" and self._is_generated("class", class_id):
                existing = {row.key for row in self.seed.sessions(class_id, before)}
                rows += [row for row in self.seed.sessions(class_id, self.today) if row.key not in existing]

    def rows(self, resource: str, parent: int) -> list[Row]:
        """All rows of a collection, deleted rows included. Empty for an unknown parent. Do not modify."""
        source = self.sources[resource]
        if isinstance(source, View):
            return self._view(resource, source, parent)
        changed = self._changed.get((resource, parent))
        if changed is not None:
            return changed
        return source.rows(self, parent) if self._is_generated(source.keys.parent, parent) else []

    def find(self, resource: str, key: int) -> Row | None:
        """The row with this key, deleted or not."""
        parent = self.sources[resource].keys.parent_of(key)
        return next((row for row in self.rows(resource, parent) if row.key == key), None)

    def semester_ids(self, school_id: int) -> list[int]:
        """The semesters of a school."""
        return [row.key for row in self.rows("semesters", school_id)]

    def class_ids(self, semester_ids: Iterable[int]) -> list[int]:
        """The course classes of these semesters, deleted classes included."""
        return [row.key for semester_id in semester_ids for row in self.rows("classes", semester_id)]

    def parents(self, resource: str, school_id: int, semester_id: int | None = None) -> list[int]:
        """The parents of all collections of a resource in a school or a semester."""
        kind = self.sources[resource].keys.parent
        if kind == "platform":
            return [0]
        if kind == "school":
            return [school_id]
        semester_ids = self.semester_ids(school_id) if semester_id is None else [semester_id]
        if kind == "semester":
            return semester_ids
        class_ids = self.class_ids(semester_ids)
        if kind == "class":
            return class_ids
        if kind == "session":
            return [row.key for class_id in class_ids for row in self.rows("attendance_sessions", class_id)]
        return [row.key for class_id in class_ids for row in self.rows("assessment_items", class_id)]

    def index(self, resource: str, parent: int) -> dict[int, Row]:
        """The rows of one collection by key."""
        return self._index(resource, parent, self.version)

    def people(self, school_id: int) -> dict[int, Row]:
        """The reflections of a school by id."""
        return self.index("reflections", school_id)

    def first_students(self, school_id: int) -> list[Row]:
        """The generated students of a school; none for a school that a test inserted."""
        return self.seed.school(school_id).rows["students"] if self._is_generated("school", school_id) else []

    def term(self, semester_id: int) -> Term | None:
        """The dates of a semester; None for a semester that a test inserted."""
        school_id = school_of(semester_id)
        if not self._is_generated("school", school_id):
            return None
        return self.seed.school(school_id).semesters.get(semester_id)

    def last_year(self, school_id: int) -> int:
        """The latest academic year of a school, to which its grades and cohorts belong."""
        return max(term.year for term in self.seed.school(school_id).semesters.values())

    def changed(self, resource: str) -> dict[int, list[Row]]:
        """The collections of a resource that tests have changed, by parent."""
        return {parent: rows for (name, parent), rows in self._changed.items() if name == resource}

    def roster(self, admin_class_id: int) -> list[int]:
        """The students of an administrative class; empty for a class that a test inserted."""
        school_id = KEYS["admin_classes"].parent_of(admin_class_id)
        classes = self.seed.school(school_id).admin_classes
        return next(([s.id for s in made.students] for made in classes if made.id == admin_class_id), [])

    def insert(
        self, resource: str, parent: int, values: Values, *, first: bool = False, key: int | None = None
    ) -> Row:
        """Add a row at the end or the front of its collection, with a new id unless `values` has an id.
        `key`: the key of the same row in another resource."""
        source = self.sources[resource]
        if isinstance(source, View):
            return self.update(resource, self.insert(source.of, parent, {}, first=first).key, values)
        rows = self._mutable(resource, parent)
        if key is None:
            key = self._last_key[resource, parent] + 1
        self._last_key[resource, parent] = max(key, self._last_key[resource, parent])
        now = self.tick(resource)
        made = dict(rows[-1].values) if rows else {}  # a copy of its neighbour, except for `values`
        made |= ({"id": key} if source.sends_id else {}) | source.identity(self, parent, key)
        made |= {name: value for name, value in (("updated_at", now), ("deleted_at", None)) if name in made}
        row = Row(key, made | values, now)
        rows.insert(0 if first else len(rows), row)
        return row

    def update(self, resource: str, key: int, values: Values, *, touch: bool = True) -> Row:
        """Set fields of a row to any values. `touch` moves its updated_at, as the platform would."""
        if isinstance(self.sources[resource], View):
            return self._override(resource, key, values)
        rows, index = self._locate(resource, key)
        row = rows[index]
        merged = {**row.values, **values}
        updated_at = row.updated_at
        if touch:
            updated_at = self.tick(resource)
            if "updated_at" in merged and "updated_at" not in values:
                merged["updated_at"] = updated_at
        else:
            self.version += 1
            self._changes[resource] += 1
        rows[index] = replace(row, values=merged, updated_at=updated_at)
        return rows[index]

    def show(self, resource: str, key: int, values: Values) -> None:
        """Set values of a view's row, which override the row of the other resource."""
        self._views.override(resource, key, values)
        self.tick(resource)

    def delete(self, resource: str, key: int) -> Row:
        """Delete softly: afterwards only with_trashed shows the row."""
        return self._trash(resource, key, trashed=True)

    def restore(self, resource: str, key: int) -> Row:
        """Restore a softly deleted row, and with a class its hidden collections."""
        return self._trash(resource, key, trashed=False)

    def _trash(self, resource: str, key: int, *, trashed: bool) -> Row:
        resource = self._below(resource)
        row = self.update(resource, key, {})
        deleted_at = row.updated_at if trashed else None
        values = dict(row.values)
        if "deleted_at" in values:
            values["deleted_at"] = deleted_at
        rows, index = self._locate(resource, key)
        rows[index] = replace(row, values=values, deleted_at=deleted_at)
        return rows[index]

    def destroy(self, resource: str, key: int) -> Row:
        """Delete for good, without a trace."""
        rows, index = self._locate(self._below(resource), key)
        self.tick(self._below(resource))
        return rows.pop(index)

    def _override(self, resource: str, key: int, values: Values) -> Row:
        parent = self.sources[resource].keys.parent_of(key)
        if key not in self.index(resource, parent):
            raise KeyError(f"{resource} has no row with key {key}")
        self.show(resource, key, values)
        return self.index(resource, parent)[key]

    def is_hidden(self, resource: str, parent: int) -> bool:
        """Whether a collection is hidden because its class is deleted."""
        source = self.sources[resource]
        if not (isinstance(source, Collection) and source.hidden_with_class):
            return False
        steps = {"item": class_of, "session": class_of_session}
        kind = source.keys.parent
        course_class = self.find("classes", steps[kind](parent) if kind in steps else parent)
        return course_class is None or course_class.deleted_at is not None

    def _below(self, resource: str) -> str:
        """The resource below a view; a collection itself."""
        source = self.sources[resource]
        return source.of if isinstance(source, View) else resource

    def _view(self, resource: str, view: View, parent: int) -> list[Row]:
        set_on = self._views.overrides(resource).get

        def below() -> dict[int, Parts]:
            beside = [self.index(name, parent).get for name in view.with_rows_of]
            return {
                (key := row.key): (row, set_on(key), *[get(key) for get in beside])
                for row in self.rows(view.of, parent)
            }

        def make(key: int, parts: Parts) -> Row:
            row: Row = parts[0]
            values = view.values(self, row) | (set_on(key) or NOTHING)
            return view.shown(self, replace(row, values=values))

        parts_of = (resource, view.of, *view.with_rows_of)
        return self._views.rows(
            resource,
            parent,
            version=self.version,
            # Without with_rows_of, any change may affect the rows.
            beside=self.version - sum(self._changes[name] for name in parts_of if view.with_rows_of),
            below=below,
            make=make,
        )

    def _locate(self, resource: str, key: int) -> tuple[list[Row], int]:
        rows = self._mutable(resource, self.sources[resource].keys.parent_of(key))
        for index, row in enumerate(rows):
            if row.key == key:
                return rows, index
        raise KeyError(f"{resource} has no row with key {key}")

    def _mutable(self, resource: str, parent: int) -> list[Row]:
        if (resource, parent) not in self._changed:
            rows = list(self.rows(resource, parent))
            self._changed[resource, parent] = rows
            keys = self.sources[resource].keys
            before_first = keys.key(parent, max(keys.first, keys.added)) - 1
            self._last_key[resource, parent] = max([before_first, *(row.key for row in rows)])
        return self._changed[resource, parent]

    def tick(self, resource: str = "") -> str:
        """Advance the clock for a change, and return the time. Without a clock in the settings each change is
        a second, so that runs are repeatable. `resource`: of the changed row."""
        self.version += 1
        self._changes[resource] += 1
        ahead = self.size.clock_ahead
        if ahead is None:
            self._now += timedelta(seconds=1)
        else:
            self._now = datetime.now(ZONE).replace(tzinfo=None) + timedelta(seconds=ahead)
        return self._now.strftime(TIME_FORMAT)

    def _is_generated(self, kind: str, parent: int) -> bool:
        """Whether a parent is generated; other parents have only rows of tests."""
        if kind == "platform":
            return parent == 0
        if kind == "school":
            return FIRST_SCHOOL <= parent < FIRST_SCHOOL + self.size.schools
        if kind == "semester":
            return self._is_generated("school", school_of(parent)) and (
                parent in self.seed.school(school_of(parent)).semesters
            )
        if kind == "class":
            semester_id = semester_of(parent)
            return self._is_generated("semester", semester_id) and (
                parent in self.seed.semester(semester_id).courses
            )
        if kind == "session":
            return self.find("attendance_sessions", parent) is not None
        return self._is_generated("class", class_of(parent)) and (
            parent in self.seed.assessment(class_of(parent)).children
        )
