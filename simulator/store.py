"""The platform's rows: made when first asked for, and changed by tests while the platform runs."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from simulator.attendance import Attendance
from simulator.readings import Readings
from simulator.rows import (
    FIRST_SCHOOL,
    RESOURCES,
    TIME_FORMAT,
    Row,
    Values,
    class_of,
    class_of_session,
    school_of,
    semester_of,
)
from simulator.school import assessments, base, courses, devices, scores
from simulator.school.calendar import Term
from simulator.settings import Size
from simulator.views import Views

SCORE_COLLECTIONS_KEPT = 512
WITHOUT_ID = ("user_fields", "attendance_settings", "app_updates")
OF_A_CLASS = (
    "assessments",
    "assessment_items",
    "grades",
    "scores",
    "attendance_sessions",
    "attendance_records",
)


class Store:
    """Collections of rows by resource and parent key.

    A collection that nobody has changed is remade from the seed whenever it has fallen out of the cache; a
    changed one is kept. `version` grows with every change, so that cached pages know when they are stale.
    """

    def __init__(self, size: Size, readings: Readings | None = None) -> None:
        self.size = size
        self.readings = readings or Readings()
        self.version = 0
        self._now = datetime.combine(size.today, time(20))  # later than any generated row
        self._changed: dict[tuple[str, int], list[Row]] = {}
        self._last_key: dict[tuple[str, int], int] = {}  # of the changed ones, so that no id is given twice
        self._schools = base.schools(size)
        self.school_ids = tuple(row.key for row in self._schools)
        self._school = lru_cache(maxsize=None)(self._make_school)
        self._semester = lru_cache(maxsize=None)(
            lambda semester_id: courses.build(size, self._school(school_of(semester_id)), semester_id)
        )
        self._assessment = lru_cache(maxsize=None)(
            lambda class_id: assessments.build(
                size.seed, self._semester(semester_of(class_id)).courses[class_id]
            )
        )
        self._scores = lru_cache(maxsize=SCORE_COLLECTIONS_KEPT)(self._make_scores)
        self._index = lru_cache(maxsize=64)(
            lambda resource, parent, version: {row.key: row for row in self.rows(resource, parent)}
        )
        self._grades = lru_cache(maxsize=SCORE_COLLECTIONS_KEPT)(self._make_grades)
        self.attendance = Attendance(size.seed, self.readings.week_start, self._school, self._semester)
        self._sessions = lru_cache(maxsize=None)(self.attendance.sessions)
        self._views = Views(self)

    @property
    def today(self) -> date:
        """The platform's date."""
        return self._now.date()

    def let_days_pass(self, days: int) -> None:
        """Move the clock: teachers mark what they had not marked, and new sessions take place; no more."""
        before = self.today
        self.tick()
        self._now += timedelta(days=days)
        for (resource, class_id), rows in self._changed.items():
            if resource == "attendance_sessions" and self._is_generated(resource, class_id):
                known = {row.key for row in self._sessions(class_id, before)}
                rows += [row for row in self._sessions(class_id, self.today) if row.key not in known]

    def rows(self, resource: str, parent: int) -> list[Row]:
        """All rows of one collection, deleted ones too; empty for an unknown parent. Not to be changed."""
        if RESOURCES[resource].base:
            return self._views.rows(resource, parent)
        changed = self._changed.get((resource, parent))
        if changed is not None:
            return changed
        return self._original(resource, parent) if self._is_generated(resource, parent) else []

    def find(self, resource: str, key: int) -> Row | None:
        """The row with this key, deleted or not."""
        parent = RESOURCES[resource].parent_of(key)
        return next((row for row in self.rows(resource, parent) if row.key == key), None)

    def semester_ids(self, school_id: int) -> list[int]:
        """The semesters of a school."""
        return [row.key for row in self.rows("semesters", school_id)]

    def class_ids(self, semester_ids: Iterable[int]) -> list[int]:
        """The course classes of some semesters, deleted ones included."""
        return [row.key for semester_id in semester_ids for row in self.rows("classes", semester_id)]

    def parents(self, resource: str, school_id: int, semester_id: int | None = None) -> list[int]:
        """The parents of all collections of a resource in a school, or in one of its semesters."""
        kind = RESOURCES[resource].parent
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

    def term(self, semester_id: int) -> Term | None:
        """A semester's place in time; None for one that a test inserted."""
        school_id = school_of(semester_id)
        if not self._is_generated("semesters", school_id):
            return None
        return self._school(school_id).semesters.get(semester_id)

    def last_year(self, school_id: int) -> int:
        """The academic year that the grades and cohorts of a school are those of."""
        return max(term.year for term in self._school(school_id).semesters.values())

    def changed(self, resource: str) -> dict[int, list[Row]]:
        """The collections of a resource that tests have changed, by parent."""
        return {parent: rows for (name, parent), rows in self._changed.items() if name == resource}

    def roster(self, admin_class_id: int) -> list[int]:
        """The students of an administrative class; empty for one that a test inserted."""
        school_id = RESOURCES["admin_classes"].parent_of(admin_class_id)
        classes = self._school(school_id).admin_classes
        return next(([s.id for s in made.students] for made in classes if made.id == admin_class_id), [])

    def insert(self, resource: str, parent: int, values: Values, *, first: bool = False) -> Row:
        """Add a row at the end of its collection or at its front, with a new id unless `values` has one."""
        base = RESOURCES[resource].base
        if base:
            return self.update(resource, self.insert(base, parent, {}, first=first).key, values)
        rows = self._mutable(resource, parent)
        self._last_key[resource, parent] += 1
        key = self._last_key[resource, parent]
        now = self.tick()
        made = dict(rows[-1].values) if rows else {}  # like its neighbour in all that `values` does not say
        made |= self._identity(resource, parent, key)
        made |= {name: value for name, value in (("updated_at", now), ("deleted_at", None)) if name in made}
        row = Row(key, made | values, now)
        rows.insert(0 if first else len(rows), row)
        return row

    def update(self, resource: str, key: int, values: Values, *, touch: bool = True) -> Row:
        """Set fields of a row to whatever is given; `touch` moves its updated_at, as the platform would."""
        if RESOURCES[resource].base:
            return self._override(resource, key, values)
        rows, index = self._locate(resource, key)
        row = rows[index]
        merged = {**row.values, **values}
        updated_at = row.updated_at
        if touch:
            updated_at = self.tick()
            if "updated_at" in merged and "updated_at" not in values:
                merged["updated_at"] = updated_at
        rows[index] = replace(row, values=merged, updated_at=updated_at)
        return rows[index]

    def delete(self, resource: str, key: int) -> Row:
        """Delete softly: from now on the row shows only with with_trashed."""
        resource = RESOURCES[resource].base or resource
        row = self.update(resource, key, {})
        values = dict(row.values)
        if "deleted_at" in values:
            values["deleted_at"] = row.updated_at
        rows, index = self._locate(resource, key)
        rows[index] = replace(row, values=values, deleted_at=row.updated_at)
        return rows[index]

    def destroy(self, resource: str, key: int) -> Row:
        """Delete for good: the row leaves no trace."""
        rows, index = self._locate(RESOURCES[resource].base or resource, key)
        self.tick()
        return rows.pop(index)

    def _override(self, resource: str, key: int, values: Values) -> Row:
        parent = RESOURCES[resource].parent_of(key)
        if key not in self.index(resource, parent):
            raise KeyError(f"{resource} has no row with key {key}")
        self._views.override(resource, key, values)
        self.tick()
        return self.index(resource, parent)[key]

    def _identity(self, resource: str, parent: int, key: int) -> Values:
        """The fields in which a row must not be like its neighbour."""
        if resource == "class_members":
            members = [row.values["reflection_id"] for row in self.rows("class_members", parent)]
            students = self.rows("students", school_of(semester_of(parent)))
            return {"type": "student", "reflection_id": next(s.key for s in students if s.key not in members)}
        if resource == "classes":
            return {"id": key, "csin": f"NEW-{key}"}
        if resource in ("reflections", "students", "teachers"):
            return {"id": key, "usin": f"N{key}", "outer_id": None}
        if resource == "attendance_records":
            session = self.find("attendance_sessions", parent)
            when = session.values if session else {"date": None, "lesson": None}
            place = {"class_id": class_of_session(parent)}
            return {"id": key, "checked_at": when["date"], "lesson": when["lesson"], **place}
        return {} if resource in WITHOUT_ID else {"id": key}

    def is_hidden(self, resource: str, parent: int) -> bool:
        """Whether nobody is shown a collection because the class that it belongs to is deleted."""
        if resource not in OF_A_CLASS:
            return False
        steps = {"scores": class_of, "attendance_records": class_of_session}
        class_id = steps[resource](parent) if resource in steps else parent
        course_class = self.find("classes", class_id)
        return course_class is None or course_class.deleted_at is not None

    def _locate(self, resource: str, key: int) -> tuple[list[Row], int]:
        rows = self._mutable(resource, RESOURCES[resource].parent_of(key))
        for index, row in enumerate(rows):
            if row.key == key:
                return rows, index
        raise KeyError(f"{resource} has no row with key {key}")

    def _mutable(self, resource: str, parent: int) -> list[Row]:
        if (resource, parent) not in self._changed:
            rows = list(self.rows(resource, parent))
            self._changed[resource, parent] = rows
            spec = RESOURCES[resource]
            before_first = spec.key(parent, max(spec.first, spec.added)) - 1
            self._last_key[resource, parent] = max([before_first, *(row.key for row in rows)])
        return self._changed[resource, parent]

    def tick(self) -> str:
        """The platform's clock goes by changes, so that runs are repeatable."""
        self.version += 1
        self._now += timedelta(seconds=1)
        return self._now.strftime(TIME_FORMAT)

    def _is_generated(self, resource: str, parent: int) -> bool:
        """Whether the seed makes this parent; others have the rows that tests gave them."""
        kind = RESOURCES[resource].parent
        if kind == "platform":
            return parent == 0
        if kind == "school":
            return FIRST_SCHOOL <= parent < FIRST_SCHOOL + self.size.schools
        if kind == "semester":
            return self._is_generated("semesters", school_of(parent)) and (
                parent in self._school(school_of(parent)).semesters
            )
        if kind == "class":
            semester_id = semester_of(parent)
            return (
                self._is_generated("classes", semester_id) and parent in self._semester(semester_id).courses
            )
        if kind == "session":
            return self.find("attendance_sessions", parent) is not None
        return self._is_generated("assessment_items", class_of(parent)) and (
            parent in self._assessment(class_of(parent)).leaves
        )

    def _original(self, resource: str, parent: int) -> list[Row]:
        made: dict[str, Callable[[], list[Row]]] = {
            "schools": lambda: self._schools,
            "classes": lambda: self._semester(parent).classes,
            "class_members": lambda: self._semester(semester_of(parent)).members[parent],
            "assessments": lambda: self._assessment(parent).rows,
            "assessment_items": lambda: self._assessment(parent).items,
            "scores": lambda: self._scores(parent),
            "grades": lambda: self._grades(parent),
            "attendance_sessions": lambda: self._sessions(parent, self.today),
            "attendance_records": lambda: self._records(parent),
            "app_updates": lambda: devices.app_updates(self.size.today),
        }
        return made[resource]() if resource in made else self._school(parent).rows[resource]

    def _make_school(self, school_id: int) -> base.School:
        school = base.build(self.size, school_id)
        return replace(school, rows={**school.rows, **devices.build(school)})

    def _records(self, session_id: int) -> list[Row]:
        session = self.find("attendance_sessions", session_id)
        return self.attendance.records(session, self.today) if session else []

    def _make_scores(self, item_id: int) -> list[Row]:
        class_id = class_of(item_id)
        course = self._semester(semester_of(class_id)).courses[class_id]
        return scores.scores(self.size.seed, course, self._assessment(class_id).leaves[item_id])

    def _make_grades(self, class_id: int) -> list[Row]:
        course = self._semester(semester_of(class_id)).courses[class_id]
        return scores.grades(self.size.seed, course, self._assessment(class_id))
