"""The scores of items, and the grades from the scores of a class.

By default each student has a score of type item_score for each lowest item. An item of scoring type addition
also has its additions and deductions, as scores of type raw without an evaluator. Its item_score is the sum
of the initial score and these scores. Other readings (score_rows, raw_scores) show the same marks in other
rows."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from simulator.readings import Readings
from simulator.school import names
from simulator.school.assessments import FULL_SCORE, Assessment, Item, Plan
from simulator.school.calendar import moment, stamp
from simulator.school.courses import Course, credit
from simulator.school.points import min_ranks, ratio, text
from simulator.school.rows import KEYS, TIME_FORMAT, Row, Values
from simulator.school.timetable.attendance import ABSENT_DAYS, LATE, habits

NOT_SCORED_SHARE = 0.03
ZERO_SHARE = 0.015
INVALID_SHARE = 0.015
# Sources of grades besides classes: name, full score, share of the students, and the course with the grade.
OTHER_SOURCES = (("moral", "德育", 100, 1.0), ("dorm", "宿舍", 10, 0.4))
WITH_OTHER_GRADES, OTHER_GRADES_FROM, OTHER_SOURCE_IDS = "CHN", 701, 20_000
PASS_MARK, WARNING_MARK = 6_000, 6_500
# least real score in hundredths, level, grade point
LEVELS = ((9_000, "A", "4.0"), (8_000, "B", "3.0"), (7_000, "C", "2.0"), (6_000, "D", "1.0"), (0, "E", "0.0"))


class Mark(NamedTuple):
    """A student's mark for an item. `points`: in hundredths; None if not scored."""

    owner: int
    points: int | None
    valid: bool
    raw: tuple[int, ...] = ()


def marks(seed: int, course: Course, item: Item) -> list[Mark]:
    """The marks of all students of a class for an item, from the item's random numbers."""
    rng = Random(f"{seed}/scores/{item.id}")
    draw = rng.random
    plan = item.plan
    ease = 0.46 + 0.08 * _hashed(course.id) + 0.08 * draw()
    class_marks = []
    for owner in course.students:
        luck, chance = draw(), draw()
        if plan.full is None or not item.taken or chance < NOT_SCORED_SHARE:
            class_marks.append(Mark(owner, None, True))
        elif plan.initial is not None:
            raw = tuple(100 if draw() < 0.6 else -100 for _ in range(int(luck * 4)))
            class_marks.append(
                Mark(owner, min(max(plan.initial * 100 + sum(raw), 0), plan.full * 100), True, raw)
            )
        elif chance < NOT_SCORED_SHARE + ZERO_SHARE:
            class_marks.append(Mark(owner, 0, True))
        else:
            share = min(ease + 0.5 * (0.65 * _form(seed, owner, course.semester_id) + 0.35 * luck), 1)
            step = 100 if plan.scoring in ("star", "level") else 50
            points = int(share * plan.full * 100 / step + 0.5) * step
            class_marks.append(Mark(owner, points, chance < 1 - INVALID_SHARE))
    return class_marks


def _form(seed: int, student: int, semester_id: int) -> float:
    """A student's performance from 0 to 1, the same in all courses of a semester. It changes a little between
    semesters, and falls far for a few students. Students who are often absent or late do worse."""
    mood = _hashed(student * 31 + semester_id)
    absent, late = habits(seed, student)
    missed = 0.5 * (absent > ABSENT_DAYS) + 0.15 * (late > LATE)
    return max(0.9 * _hashed(student) + 0.1 * mood - (0.5 if mood < 0.04 else 0) - missed, 0)


def _hashed(number: int) -> float:
    """0 to 1; a multiplicative hash, for speed."""
    return (number * 2_654_435_761 >> 7) % 1_000 / 1_000


def scores(seed: int, course: Course, assessment: Assessment, item_id: int, readings: Readings) -> list[Row]:
    """The score rows of an item."""
    item = assessment.leaves.get(item_id)
    if item is not None:
        return _leaf_rows(seed, course, item, readings)
    if readings.score_rows not in ("raw_on_leaves", "every_item"):
        return []
    return _dimension_rows(seed, course, assessment, item_id)


def _leaf_rows(seed: int, course: Course, item: Item, readings: Readings) -> list[Row]:
    item_marks = marks(seed, course, item)
    rng = Random(f"{seed}/score rows/{item.id}")
    published_at = item.published_at
    counted = [m.points if m.valid else None for m in item_marks]
    ranks = min_ranks(counted) if published_at else [None] * len(item_marks)
    rank_base = sum(c is not None for c in counted) if published_at else None
    evaluators = [teacher.id for teacher in course.teachers]
    # A score that the platform computes from other scores has no evaluator.
    has_raw, has_own = (
        readings.score_rows in ("raw_on_leaves", "both", "raw"),
        not readings.score_rows.startswith("raw"),
    )
    common = _Common(course, item.id, item.plan, item.scored_at, published_at)
    rows: list[Row] = []
    for mark, rank in zip(item_marks, ranks, strict=True):
        additions = [_Scored(Mark(mark.owner, points, True)) for points in mark.raw]
        raw = additions
        if has_raw and item.plan.initial is None:
            raw = _raw_scores(mark, item, evaluators, readings.raw_scores)
        for scored in raw:
            rows.append(_score_row(len(rows), common, scored, "raw", rng))
        if has_own:
            base = rank_base if rank is not None else None
            own = _Scored(mark, None if has_raw else evaluators[0], rank, base)
            rows.append(_score_row(len(rows), common, own, "item_score", rng))
    return rows


def _raw_scores(mark: Mark, item: Item, evaluators: list[int], rule: str) -> "list[_Scored]":
    """One raw score equal to the mark, or two whose mean, sum, last or greatest is the mark."""
    points, full = mark.points, (item.plan.full or 0) * 100
    if rule == "one" or points is None:
        return [_Scored(mark, evaluators[0])]
    apart = min(50, points, full - points)
    less = max(points - 100, 0)
    first, last = {
        "avg": (points - apart, points + apart),
        "sum": (points // 2, points - points // 2),
        "last": (less or min(100, full), points),
        "max": (points, less),
    }[rule]
    return [
        _Scored(mark._replace(points=first), evaluators[0], earlier=True),
        _Scored(mark._replace(points=last), evaluators[-1]),
    ]


def _dimension_rows(seed: int, course: Course, assessment: Assessment, item_id: int) -> list[Row]:
    """The scores of a parent item: the sum of the counted scores below."""
    leaves = list(_leaves_below(assessment, item_id))
    sums: dict[int, int | None] = dict.fromkeys(course.students)
    for leaf in leaves:
        for mark in marks(seed, course, leaf):
            if mark.valid and mark.points is not None:
                sums[mark.owner] = (sums[mark.owner] or 0) + mark.points
    row = next(row for row in assessment.items if row.key == item_id)
    plan = Plan(row.values["name"], None)
    common = _Common(
        course, item_id, plan, max(leaf.scored_at for leaf in leaves), row.values["published_at"]
    )
    rng = Random(f"{seed}/score rows/{item_id}")
    return [
        _score_row(number, common, _Scored(Mark(owner, points, True)), "item_score", rng)
        for number, (owner, points) in enumerate(sums.items())
    ]


def _leaves_below(assessment: Assessment, item_id: int) -> Iterator[Item]:
    for child in assessment.children[item_id]:
        if child in assessment.leaves:
            yield assessment.leaves[child]
        yield from _leaves_below(assessment, child)


class _Common(NamedTuple):
    """The common values of an item's scores."""

    course: Course
    item_id: int
    plan: Plan
    scored_at: str
    published_at: str | None


class _Scored(NamedTuple):
    """A mark, its evaluator (None: nobody, or the platform), and its rank."""

    mark: Mark
    evaluator: int | None = None
    rank: int | None = None
    rank_base: int | None = None
    earlier: bool = False


def _score_row(number: int, common: _Common, scored: _Scored, type_: str, rng: Random) -> Row:
    key = KEYS["scores"].key(common.item_id, number + 1)
    mark, plan, published_at = scored.mark, common.plan, common.published_at
    scored_at = common.scored_at
    if scored.earlier:
        earlier = datetime.strptime(scored_at, TIME_FORMAT) - timedelta(minutes=1)
        scored_at = earlier.strftime(TIME_FORMAT)
    points = text(mark.points)
    values: Values = {
        "id": key,
        "school_id": common.course.school_id,
        "assessment_id": KEYS["assessments"].key(common.course.id, 0),
        "item_id": common.item_id,
        "type": type_,
        "owner_id": mark.owner,
        "evaluator_id": scored.evaluator,
        "valid": mark.valid,
        "invalid_type_id": None if mark.valid else 1 + number % 4,
        "invalid_reason": "" if mark.valid else names.INVALID_REASONS[number % 4],
        "score": points,
        "gained_score": points if mark.valid and published_at else None,
        "tag": rng.choice(plan.tags) if plan.tags else "",
        "review": rng.choice(names.REVIEWS) if plan.scoring == "review" else "",
        "self_review": rng.choice(names.SELF_REVIEWS) if plan.scoring == "review" else "",
        "rank": scored.rank,
        "rank_base": scored.rank_base,
        "status": "published" if published_at else "pending",
        "published_at": published_at,
        "created_at": scored_at,
        "updated_at": published_at or common.scored_at,
    }
    return Row(key, values, published_at or common.scored_at)


def suggested(scored: list[tuple[int, Mark]], rule: str) -> int | None:
    """The suggested score, by the reading suggested_scores: the points of valid scored items as a share of
    their full scores, of 100, or the sum of the points. None if nothing is scored.

    `scored`: pairs of an item's full score and a mark, in hundredths."""
    counted = [(full, mark.points) for full, mark in scored if mark.valid and mark.points is not None]
    full = sum(full for full, _ in counted)
    points = sum(points for _, points in counted)
    if not full:
        return None
    return points if rule == "sum" else ratio(points, full, FULL_SCORE)


def grades(seed: int, course: Course, assessment: Assessment, readings: Readings) -> list[Row]:
    """A grade per student. real_score is the teacher's score, or else the suggested score. The reading
    other_grades adds grades of other sources."""
    others = _other_grades(seed, course) if readings.other_grades == "beside" else []
    return [*_class_grades(seed, course, assessment, readings), *others]


def _class_grades(seed: int, course: Course, assessment: Assessment, readings: Readings) -> list[Row]:
    if not assessment.rows:
        return []
    rng = Random(f"{seed}/grades/{course.id}")
    by_student: dict[int, list[tuple[Item, Mark]]] = {owner: [] for owner in course.students}
    for item in assessment.leaves.values():
        for mark in marks(seed, course, item):
            by_student[mark.owner].append((item, mark))
    made = [
        _Grade.of(rng, scored, readings.suggested_scores, current=course.term.current)
        for scored in by_student.values()
    ]
    ranks = min_ranks([grade.real if grade.evaluated else None for grade in made])
    base = sum(rank is not None for rank in ranks)
    return [
        _grade_row(
            rng, course, assessment.rows[0].key, number, owner, grade, rank, base, readings.grade_credit
        )
        for number, (owner, grade, rank) in enumerate(zip(by_student, made, ranks, strict=True))
    ]


def _other_grades(seed: int, course: Course) -> list[Row]:
    """Grades of conduct and of dormitories, which belong to no course class. They are listed with the course
    that all students of an administrative class share. Only boarders have a grade of the dormitory."""
    if course.csin.split("-")[1] != WITH_OTHER_GRADES:
        return []
    settled = stamp(course.last_day, 50_400)
    is_out = not course.term.current
    rows = []
    for place, (source, name, full, share) in enumerate(OTHER_SOURCES):
        for number, owner in enumerate(course.students):
            luck = Random(f"{seed}/{source}/{course.semester_id}/{owner}").random()
            if _hashed(owner + place) > share:
                continue
            points = int((0.7 + 0.3 * luck) * full) * 100
            level, _ = _level(points * 100 // full)
            values: Values = {
                "id": KEYS["grades"].key(course.id, OTHER_GRADES_FROM + 100 * place + number),
                "school_id": course.school_id,
                "semester_id": course.semester_id,
                "source_id": KEYS["assessments"].key(course.id, 0) + OTHER_SOURCE_IDS * (1 + place),
                "source": source,
                "stage_id": None,
                "owner_id": owner,
                "name": name,
                "csin": "",
                "full_score": text(full * 100),
                "score": text(points),
                "real_score": text(points),
                "suggest_score": None,
                "gained_score": text(points) if is_out else None,
                "gained_score_rate": f"{points / full / 100:.4f}" if is_out else None,
                "level": level,
                "credit": None,
                "gpa": None,
                "rank": None,
                "rank_base": None,
                "status": "published" if is_out else "pending",
                "pass_status": "passed" if is_out else "pending",
                "published_at": settled if is_out else None,
                "review": "",
                "updated_at": settled,
            }
            rows.append(Row(values["id"], values, settled))
    return rows


class _Grade(NamedTuple):
    score: str | None
    real: int | None
    suggest: int | None
    gained: int | None
    status: str

    @property
    def evaluated(self) -> bool:
        return self.status in ("published", "passed")

    @classmethod
    def of(cls, rng: Random, scored: list[tuple[Item, Mark]], rule: str, *, current: bool) -> "_Grade":
        pairs = [((item.plan.full or 0) * 100, mark, item.published_at is not None) for item, mark in scored]
        suggest = suggested([(full, mark) for full, mark, _ in pairs], rule)
        gained = suggested([(full, mark) for full, mark, published in pairs if published], rule)
        final, chance = None, rng.random()
        if suggest is not None and chance < 0.12:
            final = min(suggest + 100 * rng.randrange(5), FULL_SCORE)
        score = "" if chance > 0.97 else text(final)
        real = suggest if final is None else final
        return cls(score, real, suggest, gained, _grade_status(rng, real, current=current))


def _grade_status(rng: Random, real: int | None, *, current: bool) -> str:
    """The status: published in closed semesters, and for a few grades of the current semester."""
    if current and rng.random() > 0.05:
        return "pending"
    chance = rng.random()
    if real is None or chance < 0.01:
        return "delayed"
    return "passed" if chance < 0.02 else "published"


def _grade_row(
    rng: Random,
    course: Course,
    assessment_id: int,
    number: int,
    owner: int,
    grade: _Grade,
    rank: int | None,
    base: int,
    credits: str,
) -> Row:
    level, gpa = _level(grade.real) if grade.evaluated else (None, None)
    settled = stamp(course.last_day, 50_400)
    updated = settled if grade.evaluated else moment(rng, course.term.start, course.last_day)
    pass_status = _pass_status(grade.real, grade.status)
    values: Values = {
        "id": KEYS["grades"].key(course.id, KEYS["grades"].first + number),
        "school_id": course.school_id,
        "semester_id": course.semester_id,
        "source_id": assessment_id,
        "source": "class",
        "stage_id": None,
        "owner_id": owner,
        "name": course.name,
        "csin": course.csin,
        "full_score": text(FULL_SCORE),
        "score": grade.score,
        "real_score": text(grade.real),
        "suggest_score": text(grade.suggest),
        "gained_score": text(grade.gained),
        "gained_score_rate": None if grade.gained is None else f"{grade.gained / FULL_SCORE:.4f}",
        "level": level,
        "credit": "0" if credits == "gained" and pass_status != "passed" else f"{credit(course.id):g}",
        "gpa": gpa,
        "rank": rank,
        "rank_base": None if rank is None else base,
        "status": grade.status,
        "pass_status": pass_status,
        "published_at": settled if grade.evaluated else None,
        "review": rng.choice(names.REVIEWS) if rng.random() < 0.3 else "",
        "updated_at": updated,
    }
    return Row(values["id"], values, updated)


def _level(real: int | None) -> tuple[str | None, str | None]:
    return next(
        ((name, gpa) for least, name, gpa in LEVELS if real is not None and real >= least), (None, None)
    )


def _pass_status(real: int | None, status: str) -> str:
    if status == "passed":
        return "passed"
    if status == "published" and real is not None:
        return "passed" if real >= PASS_MARK else "failed"
    return "warning" if status == "pending" and real is not None and real < WARNING_MARK else "pending"
