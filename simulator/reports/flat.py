"""Reports with the same fields for everybody: students, classes, days, scores."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta

from simulator.reports.definitions import Field, Parameter, Query, Report, flat, semester_parameter
from simulator.reports.figures import Figures, mean
from simulator.school.rows import Values

ATTENDANCE = (
    Field("int", "recorded", "考勤节数"),
    Field("int", "absent", "缺勤节数"),
    Field("int", "late", "迟到早退节数"),
    Field("float", "attendance_rate", "出勤率"),
)
STUDENT = (Field("string", "usin", "学号"), Field("string", "name", "姓名"))
CLASS = Field("string", "class_name", "班级")
MEAN = Field("decimal", "mean_score", "平均分")


def _student_parameters(figures: Figures) -> Sequence[Parameter]:
    return (
        semester_parameter(figures, required=True, current=True),
        Parameter("multi-select", "grade", "年级", options=figures.cohorts),
        Parameter("input", "keyword", "姓名或学号", required=None),
    )


def _students(figures: Figures) -> Iterator[Values]:
    for semester, row in figures.semesters.items():
        attendance, grades = figures.attendance(row.key), figures.grades(row.key)
        for pupil in figures.pupils:
            days = attendance[pupil.id]
            points = [points for _, points in grades.get(pupil.id, [])]
            missed = [day for day, statuses in days.items() if statuses["absent"]]
            yield {
                "semester": semester,
                "grade": pupil.cohort,
                "keyword": f"{pupil.name} {pupil.usin}",
                "usin": pupil.usin,
                "name": pupil.name,
                "grade_name": pupil.grade_name,
                "class_name": pupil.class_name,
                **figures.summed(days.values()),
                "last_absence": max(missed, default=None),
                "courses": len(points),
                "mean_score": mean(points),
            }


def _classes(figures: Figures) -> Iterator[Values]:
    for semester, row in figures.semesters.items():
        attendance, grades = figures.attendance(row.key), figures.grades(row.key)
        for class_id, class_name in figures.class_names.items():
            pupils = [pupil for pupil in figures.pupils if pupil.class_id == class_id]
            yield {
                "semester": semester,
                "grade": pupils[0].cohort,
                "class_name": class_name,
                "students": len(pupils),
                **figures.summed(counts for pupil in pupils for counts in attendance[pupil.id].values()),
                "mean_score": mean([points for pupil in pupils for _, points in grades.get(pupil.id, [])]),
            }


def _day_parameters(figures: Figures) -> Sequence[Parameter]:
    month = [(figures.today - timedelta(days=days)).isoformat() for days in (30, 0)]
    classes = {str(class_id): name for class_id, name in figures.class_names.items()}
    return (
        Parameter("date-range", "period", "日期", required=True, default=month),
        Parameter("select", "class", "班级", options=classes),
    )


def _days(figures: Figures) -> Iterator[Values]:
    for row in figures.semesters.values():
        attendance = figures.attendance(row.key)
        by_class: dict[tuple[str, int], list[Counter[str]]] = {}
        for pupil in figures.pupils:
            for day, statuses in attendance[pupil.id].items():
                by_class.setdefault((day, pupil.class_id), []).append(statuses)
        for (day, class_id), counts in sorted(by_class.items()):
            yield {
                "period": day,
                "class": str(class_id),
                "date": day,
                "class_name": figures.class_names[class_id],
                **figures.summed(counts),
            }


def _score_parameters(figures: Figures) -> Sequence[Parameter]:
    return (
        semester_parameter(figures, required=False, current=True),
        Parameter("multi-select", "subject", "学科", options=figures.subjects),
    )


def _scores(figures: Figures) -> Iterator[Values]:
    pupils = {pupil.id: pupil for pupil in figures.pupils}
    for semester, row in figures.semesters.items():
        for scored in figures.scores(row.key):
            pupil = pupils.get(scored.student_id)
            if pupil:
                yield {
                    "semester": semester,
                    "subject": scored.course.subject_id,
                    "usin": pupil.usin,
                    "name": pupil.name,
                    "class_name": pupil.class_name,
                    "course": scored.course.name,
                    "item": scored.item["name"],
                    "full_score": scored.item["full_score"],
                    "score": scored.score["score"],
                    "rank": scored.score["rank"],
                    "valid": "有效" if scored.score["valid"] is True else "无效",
                    "review": scored.score["review"],
                    "scored_at": scored.score["created_at"],
                    "published_at": scored.score["published_at"],
                }


STUDENT_SUMMARY = Report(
    "student_summary",
    "学生概况",
    _student_parameters,
    [
        Query(
            "学生明细",
            flat(
                *STUDENT,
                Field("enum", "grade_name", "年级"),
                CLASS,
                *ATTENDANCE,
                Field("date", "last_absence", "最近缺勤"),
                Field("int", "courses", "课程数"),
                MEAN,
            ),
            _students,
        ),
        Query("班级汇总", flat(CLASS, Field("int", "students", "人数"), *ATTENDANCE, MEAN), _classes),
    ],
)
ATTENDANCE_DAYS = Report(
    "attendance_days",
    "考勤日报",
    _day_parameters,
    [Query("按班级和日期", flat(Field("date", "date", "日期"), CLASS, *ATTENDANCE), _days)],
)
SCORE_DETAILS = Report(
    "score_details",
    "得分明细",
    _score_parameters,
    [
        Query(
            "全部得分",
            flat(
                *STUDENT,
                CLASS,
                Field("string", "course", "课程"),
                Field("string", "item", "评价项"),
                Field("decimal", "full_score", "满分"),
                Field("decimal", "score", "得分"),
                Field("int", "rank", "名次"),
                Field("enum", "valid", "是否有效"),
                Field("text", "review", "评语"),
                Field("timestamp", "scored_at", "打分时间"),
                Field("timestamp", "published_at", "发布时间"),
            ),
            _scores,
        )
    ],
)
