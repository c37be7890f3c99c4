"""The assessment of a course class and its items, a tree of one to three levels."""

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from simulator.school.calendar import moment, stamp
from simulator.school.courses import Course
from simulator.school.points import text
from simulator.school.rows import KEYS, Row, Values

FULL_SCORE = 10_000  # hundredths of a point
SCORED_AT, PUBLISHED_AT = 36_000, 43_200  # seconds after midnight


class Plan(NamedTuple):
    """The plan of an item. `full`: in points; None if the item has no numeric score."""

    name: str
    full: int | None
    scoring: str = "score"
    type: str = "item"
    children: tuple["Plan", ...] = ()
    tags: tuple[str, ...] = ()
    initial: int | None = None


def _dimension(name: str, full: int, *children: Plan, type_: str = "dimension") -> Plan:
    return Plan(name, full, type=type_, children=children)


EXAMS = (Plan("期中考试", 20), Plan("期末考试", 40))
TAGS = ("积极", "合作", "专注", "需提醒")
PLANS = (
    (Plan("平时作业", 20), Plan("课堂表现", 20, "level"), *EXAMS, Plan("评语", None, "review")),
    (
        _dimension(
            "过程性评价",
            40,
            Plan("课堂参与", 5, "star"),
            Plan("作业完成", 15),
            Plan("单元测验", 15),
            Plan("学习习惯", None, "tag", tags=TAGS),
            Plan("考勤", 5, type="attendance_item"),
        ),
        _dimension("终结性评价", 60, *EXAMS),
    ),
    (
        _dimension(
            "学习过程",
            40,
            _dimension("课堂", 15, Plan("发言", 5, "star"), Plan("笔记", 10), type_="sub_dimension"),
            _dimension("作业", 15, Plan("书面作业", 10), Plan("项目作业", 5), type_="sub_dimension"),
            Plan("纪律加减分", 10, "addition", "special_item", initial=8),
        ),
        _dimension("学业水平", 60, *EXAMS),
    ),
)


@dataclass(frozen=True)
class Item:
    """A leaf of the tree, with the input for its scores."""

    id: int
    plan: Plan
    scored_at: str
    published_at: str | None
    taken: bool  # false before its examination


@dataclass(frozen=True)
class Assessment:
    """The assessment of one class: its row (none without assessment), its items' rows, its leaves, and the
    items below each item."""

    rows: list[Row]
    items: list[Row]
    leaves: dict[int, Item]
    children: dict[int, list[int]]


def build(seed: int, course: Course) -> Assessment:
    """Generate an assessment, which is empty for a class without assessment."""
    if not course.has_assessment:
        return Assessment([], [], {}, {})
    rng = Random(f"{seed}/assessment/{course.id}")
    key = KEYS["assessments"].key(course.id, 0)
    builder = _Items(course, rng, key)
    for plan in rng.choice(PLANS):
        builder.add(plan, 0)
    closed = not course.term.current
    updated = moment(rng, course.term.start, course.last_day)
    values: Values = {
        "id": key,
        "school_id": course.school_id,
        "semester_id": course.semester_id,
        "type": "class",
        "name": f"{course.name}学期评价",
        "scope_type": "class",
        "scope_id": course.id,
        "status": "published" if closed else "in_progress",
        "full_score": text(FULL_SCORE),
        "item_num": len(builder.rows),
        "published_at": stamp(course.term.end, 43_200) if closed else None,
        "updated_at": updated,
    }
    return Assessment([Row(key, values, updated)], builder.rows, builder.leaves, builder.children)


class _Items:
    def __init__(self, course: Course, rng: Random, assessment_id: int) -> None:
        self.course, self.rng, self.assessment_id = course, rng, assessment_id
        self.rows: list[Row] = []
        self.leaves: dict[int, Item] = {}
        self.children: dict[int, list[int]] = {}

    def add(self, plan: Plan, parent: int) -> None:
        key = KEYS["assessment_items"].key(self.course.id, len(self.rows) + 1)
        is_final = plan.name == "期末考试"
        taken = not (self.course.term.current and is_final)
        scored_on, published_at = self._dates(plan, is_final=is_final)
        if not taken:
            published_at = None
        values: Values = {
            "id": key,
            "assessment_id": self.assessment_id,
            "pid": parent,
            "type": plan.type,
            "name": plan.name,
            "description": "" if plan.children else f"{plan.name}的评价说明",
            "sort": len(self.rows) + 1,
            "full_score": None if plan.full is None else text(plan.full * 100),
            "initial_score": None if plan.initial is None else text(plan.initial * 100),
            "weight": plan.full if self.rng.random() < 0.5 else None,
            "stage_id": None,
            "scoring_type": plan.scoring,
            "display_type": plan.scoring if plan.scoring in ("star", "level") else "score",
            "tags": [{"name": name} for name in plan.tags],
            "published_at": published_at,
        }
        self.rows.append(Row(key, values, published_at or stamp(self.course.term.start, 43_200)))
        self.children[key] = []
        if parent:
            self.children[parent].append(key)
        if not plan.children:
            self.leaves[key] = Item(key, plan, stamp(scored_on, SCORED_AT), published_at, taken)
        for child in plan.children:
            self.add(child, key)

    def _dates(self, plan: Plan, *, is_final: bool) -> tuple[date, str | None]:
        """The day of an item's scores, and the time of its publication some days later. In a closed semester
        everything is published; in the current semester only items whose day has come."""
        course, rng = self.course, self.rng
        first = course.term.start
        if is_final:
            first = max(first, course.last_day - timedelta(days=10))
        scored_on = first + timedelta(days=rng.randrange(max((course.last_day - first).days, 1)))
        slowness = 2 + course.teachers[0].id % 4
        published_on = scored_on + timedelta(days=1 + min(int(rng.expovariate(1 / slowness)), 40))
        if not course.term.current:
            published_on = course.last_day if plan.children else min(published_on, course.last_day)
        elif plan.children or published_on > course.last_day:
            return scored_on, None
        return scored_on, stamp(published_on, PUBLISHED_AT)
