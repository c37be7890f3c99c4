"""The datasets of every school, one for each kind in the specification."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from simulator.datasets.big import BIG_SCORES
from simulator.datasets.definitions import (
    CREATED,
    UPDATED,
    Columns,
    Dataset,
    Field,
    Relation,
    World,
    decimal,
    key,
    text,
    transposed,
)
from simulator.school import names
from simulator.school.calendar import moment
from simulator.school.points import text as points
from simulator.school.rows import Values

FIRST_ID = 1_001
LEVELS = ("优秀", "良好", "合格", "待提高")
STUDENT = Relation("student", "学生", "students", "student_id")


def _rows(count: int, make: Callable[[World, int], Values]) -> Callable[[World], Columns]:
    return lambda world: transposed(make(world, number) for number in range(count))


def _dates(world: World) -> Values:
    created = moment(world.rng, world.today - timedelta(days=200), world.today)
    updated = moment(world.rng, date.fromisoformat(created[:10]), world.today)
    return {"created_at": created, "updated_at": max(created, updated)}


def _students(world: World) -> Columns:
    """The students of the base data, as of the first request."""
    made = (
        {
            "id": student.key,
            "name": student.values["name"],
            "usin": student.values["usin"],
            "status": student.values["status"],
            "created_at": student.updated_at,
            "updated_at": student.updated_at,
        }
        for student in world.students
    )
    return transposed(made)


def _course_scores(world: World) -> Columns:
    rng = world.rng
    made = []
    for number, student in enumerate(student for student in world.students for _ in range(3)):
        score = rng.randrange(10_001)
        dates = _dates(world)
        made.append(
            {
                "id": FIRST_ID + number + number // 50 * 7,  # gaps, as after deletions
                "student_id": student.key,
                "course": rng.choice(names.CORE_SUBJECTS),
                "score": points(score) if rng.random() > 0.05 else None,
                "weight": f"{rng.randrange(10_001) / 10_000:.4f}",
                "rank": rng.randrange(1, 300) if rng.random() > 0.05 else None,
                "level": LEVELS[min(3, (10_000 - score) // 1_500)],
                "term": rng.choice((1, 2, None)),
                "passed": score >= 6_000,
                "exam_date": dates["created_at"][:10],
                "remark": rng.choice((*names.REVIEWS, None)),
                **dates,
            }
        )
    return transposed(made)


def _survey(world: World, number: int) -> Values:
    rng = world.rng
    return {
        "id": FIRST_ID + number,
        "满意度": rng.randrange(1, 6),
        "意见 建议": rng.choice(names.SELF_REVIEWS),
        "family": names.person(rng),
        **_dates(world),
    }


def _loan(world: World, number: int) -> Values:
    student = world.rng.choice(world.students)
    return {
        "loan_id": FIRST_ID + 2 * number,
        "student_id": student.key,
        "title": f"《{world.rng.choice(names.ELECTIVES)}》",
        **_dates(world),
    }


def _course(world: World, number: int) -> Values:
    # Keys with characters that a URL must encode, in another order than the rows.
    code = f"{'ZMA'[number % 3]}-{number:03d}{'/甲 %'[number % 4]}"
    credit = points(world.rng.randrange(50, 500, 50))
    return {"code": code, "title": world.rng.choice(names.ELECTIVES), "credit": credit, **_dates(world)}


def _semester_ranks(world: World) -> Columns:
    pairs = [(semester_id, student.key) for semester_id in world.semester_ids for student in world.students]
    return transposed(
        {"semester_id": s, "student_id": k, "rank": world.rng.randrange(1, 500), **_dates(world)}
        for s, k in pairs
    )


def _entry(world: World, number: int) -> Values:
    student = world.students[number // 2 % len(world.students)]  # without a key, rows may be equal
    return {"usin": student.values["usin"], "gate": "东西"[number % 4 // 2] + "门", "minute": number // 2}


def _points(world: World, number: int) -> Values:
    return {"id": FIRST_ID + number, "points": world.rng.randrange(-50, 100), **_dates(world)}


CLUSTERS = (FIRST_ID, 1_000_000, 50_000_000, 3_000_000_000)  # the last ones are beyond 32 bits


def _card(world: World, number: int) -> Values:
    cluster, place = divmod(number, 40)
    return {"id": CLUSTERS[cluster] + place, "card_no": f"{world.rng.randrange(16**8):08X}", **_dates(world)}


def _place(world: World, number: int) -> Values:
    rng = world.rng
    return {
        "id": FIRST_ID + number,
        "name": f"{rng.choice('ABC')}座{100 + number}",
        "location": f"{31 + rng.random():.6f},{121 + rng.random():.6f}",
        "extras": {"seats": rng.randrange(20, 60), "tags": ["多媒体"] * (number % 2)},
        **_dates(world),
    }


def _note(world: World, number: int) -> Values:
    return {"id": FIRST_ID + number, "note": world.rng.choice(names.REVIEWS)}


def _nothing(_: World) -> Columns:
    return {"id": [], "title": [], "created_at": [], "updated_at": []}


DATASETS: Sequence[Dataset] = (
    Dataset(
        "course_scores",
        "课程成绩",
        [
            key(),
            Field("student_id", "学生", "integer"),
            text("course", "课程", 100, description="课程名称"),
            decimal("score", "得分", 6, 2),
            decimal("weight", "权重", 10, 4),
            Field("rank", "名次", "integer"),
            Field("level", "等级", "enum", enum=LEVELS),
            Field("term", "上下学期", "enum", enum=[1, 2]),
            Field("passed", "是否通过", "boolean"),
            Field("exam_date", "考试日期", "date"),
            Field("remark", "评语", "text"),
            CREATED,
            UPDATED,
        ],
        _course_scores,
        description="每名学生每门课程的成绩",
        relations=[STUDENT],
    ),
    Dataset(
        "students",
        "学生",
        [
            key(),
            text("name", "姓名"),
            text("usin", "学号", 20),
            text("status", "状态", 20),
            CREATED,
            UPDATED,
        ],
        _students,
    ),
    Dataset(
        "家长 问卷: 2025",
        "家长问卷",
        [
            key(),
            Field("满意度", "对学校的满意度", "enum", enum=[1, 2, 3, 4, 5]),
            Field("意见 建议", "意见与建议", "text"),
            text("family", "家长"),
            CREATED,
            UPDATED,
        ],
        _rows(60, _survey),
        is_custom=True,
    ),
    Dataset(
        "library_loans",
        "借阅记录",
        [
            key("loan_id", "借阅号"),
            Field("student_id", "学生", "integer"),
            text("title", "书名", 200),
            CREATED,
            UPDATED,
        ],
        _rows(90, _loan),
        relations=[STUDENT],
    ),
    Dataset(
        "course_catalog",
        "课程目录",
        [
            text("code", "课程代码", 20, primary=True),
            text("title", "课程名称", 100),
            decimal("credit", "学分", 4, 1),
            CREATED,
            UPDATED,
        ],
        _rows(45, _course),
    ),
    Dataset(
        "semester_ranks",
        "学期名次",
        [
            key("semester_id", "学期"),
            key("student_id", "学生"),
            Field("rank", "名次", "integer"),
            CREATED,
            UPDATED,
        ],
        _semester_ranks,
        relations=[STUDENT],
    ),
    Dataset(
        "entry_log",
        "进门记录",
        [text("usin", "学号", 20), text("gate", "校门", 10), Field("minute", "分钟", "integer")],
        _rows(70, _entry),
        tells_last_update=False,
    ),
    Dataset("empty_awards", "奖项", [key(), text("title", "奖项名称"), CREATED, UPDATED], _nothing),
    Dataset(
        "legacy_points",
        "旧积分",
        [key(), Field("points", "积分", "integer"), CREATED, UPDATED],
        _rows(55, _points),
        description="来自旧系统，不支持按编号分段",
        has_segments=False,
    ),
    Dataset(
        "archive_cards",
        "历史卡片",
        [key(), text("card_no", "卡号", 16), CREATED, UPDATED],
        _rows(40 * len(CLUSTERS), _card),
    ),
    Dataset(
        "places",
        "场地",
        [
            key(),
            text("name", "名称"),
            Field("location", "坐标", "geo_point"),
            Field("extras", "附加信息", "json"),
            CREATED,
            UPDATED,
        ],
        _rows(30, _place),
    ),
    Dataset(
        "manual_notes",
        "手工备注",
        [key(), Field("note", "备注", "text")],
        _rows(25, _note),
        tells_last_update=False,
    ),
    BIG_SCORES,
)
BY_NAME = {dataset.name: dataset for dataset in DATASETS}
