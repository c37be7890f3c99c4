"""A dataset of any size: its columns repeat with different periods, so that rows cost no memory."""

from datetime import timedelta
from typing import Any

from simulator.datasets.definitions import (
    CREATED,
    UPDATED,
    Column,
    Columns,
    ComputedColumn,
    Dataset,
    Field,
    World,
    decimal,
    key,
    text,
    transposed,
)
from simulator.school import names
from simulator.school.calendar import moment, stamp
from simulator.school.points import text as points

# Primes: all values of a row but its id repeat only after 997 * 1009 * 991 rows.
PERIODS = (997, 1009, 991)
SPREAD = 389  # spreads the rows that were updated today over the table
RUN = 1_000  # consecutive ids before a gap


def _columns(world: World) -> Columns:
    ids: Column[int] = range(1, world.rows + 1)
    if world.gap:
        ids = ComputedColumn(world.rows, lambda p: 1 + p + p // RUN * world.gap)
    students, scores, dates = PERIODS
    return {
        "id": ids,
        **transposed(_student_values(world) for _ in range(students)),
        **transposed(_score_values(world) for _ in range(scores)),
        **transposed(_date_values(world, residue) for residue in range(dates)),
    }


def _student_values(world: World) -> dict[str, Any]:
    rng, student = world.rng, world.rng.choice(world.students)
    return {
        "student_no": student.values["usin"],
        "student_id": student.key,
        "student_name": student.values["name"],
        "course": rng.choice(names.CORE_SUBJECTS + names.ELECTIVES),
        "teacher_name": names.person(rng),
        "semester_id": rng.choice(world.semester_ids),
    }


def _score_values(world: World) -> dict[str, Any]:
    rng = world.rng
    score = rng.randrange(10_001)
    return {
        "score": points(score) if rng.random() > 0.03 else None,
        "rate": f"{rng.randrange(1_000_001) / 1_000_000:.6f}",
        "rank": rng.randrange(1, 500),
        "level": "ABCDE"[min(4, (10_000 - score) // 1_000)],
        "term": 1 + rng.randrange(2),
        "passed": score >= 6_000,
    }


def _date_values(world: World, residue: int) -> dict[str, Any]:
    rng, yesterday = world.rng, world.today - timedelta(days=1)
    created = moment(rng, world.today - timedelta(days=300), yesterday)
    is_fresh = residue * SPREAD % PERIODS[2] * 100 < world.fresh * PERIODS[2]
    later = stamp(world.today, 6 * 3600 + residue) if is_fresh else moment(rng, yesterday, yesterday)
    return {
        "exam_date": created[:10],
        "remark": rng.choice(names.REVIEWS) if rng.random() > 0.3 else None,
        "submitted_at": created,
        "created_at": created,
        "updated_at": later if is_fresh or rng.random() < 0.2 else created,
    }


BIG_SCORES = Dataset(
    "big_scores",
    "全部成绩明细",
    [
        key(),
        text("student_no", "学号", 20),
        Field("student_id", "学生", "integer"),
        text("student_name", "学生姓名"),
        text("course", "课程", 100),
        text("teacher_name", "教师"),
        Field("semester_id", "学期", "integer"),
        decimal("score", "得分", 6, 2),
        decimal("rate", "得分率", 10, 6),
        Field("rank", "名次", "integer"),
        Field("level", "等级", "enum", enum=list("ABCDE")),
        Field("term", "上下学期", "enum", enum=[1, 2]),
        Field("passed", "是否通过", "boolean"),
        Field("exam_date", "考试日期", "date"),
        Field("remark", "评语", "text"),
        Field("submitted_at", "提交时间", "timestamp"),
        CREATED,
        UPDATED,
    ],
    _columns,
    description="每次考试每名学生一行",
)
