"""A student's transcript in v1: the grades of v3 in three levels."""

from collections.abc import Iterable

from simulator.school.rows import KEYS, Row, Values, ids_of
from simulator.store.store import Store
from simulator.wire.directory import Directory

SUBJECTS_IN_ENGLISH = {
    "语文": "Chinese",
    "数学": "Mathematics",
    "英语": "English",
    "物理": "Physics",
    "化学": "Chemistry",
    "历史": "History",
    "体育与健康": "Physical Education",
    "音乐": "Music",
}
DASH = "-"  # in place of a missing evaluation


def transcript(store: Store, directory: Directory, school_id: int, student: int) -> Values:
    """The three levels: the totals, semesters and courses. Semesters without courses are left out."""
    groups = []
    for semester in store.rows("v1_semesters", school_id):
        class_ids = directory.enrolled(semester.key).get(student, [])
        courses = [_course(store, directory, school_id, class_id, student) for class_id in class_ids]
        if courses and semester.deleted_at is None:
            groups.append({"semester": directory.semester(semester), **_sums(courses), "grade_list": courses})
    everything = [course for group in groups for course in group["grade_list"]]
    sums = _sums(everything)
    totals = _scores(everything)
    del sums["total_grades"]
    return {
        **sums,
        "average_score": round(sum(totals) / len(totals), 2) if totals else 0,
        "should_gained_credit": sum(course["credit"] for course in everything if course["published"]),
        "grade_list": groups,
    }


def _course(store: Store, directory: Directory, school_id: int, class_id: int, student: int) -> Values:
    semester_id = KEYS["classes"].parent_of(class_id)
    shown = store.index("v1_classes", semester_id)[class_id].values
    teachers = directory.people(school_id, ids_of(shown["teachers"]))
    subject = shown["subject"]["name"] if isinstance(shown["subject"], dict) else ""
    grades = store.rows("grades", class_id)
    own = (g for g in grades if g.deleted_at is None and g.values.get("owner_id") == student)
    grade = next((g for g in own if g.values.get("source") == "class"), None)
    assessments = store.rows("assessments", class_id)
    coded = store.readings.v1_transcript_codes == "always" or class_id % 3
    return {
        "source_id": (assessments[0].key if assessments else 0) if coded else None,
        "credit": shown["credit"],
        "name": shown["name"],
        "csin": shown["csin"] if coded else None,
        "teachers": ",".join(str(teacher["reflection"]["name"]) for teacher in teachers),
        "subject": subject,
        "attribute": shown["attribute"]["name"] if isinstance(shown["attribute"], dict) else "",
        "start_at": shown["start_at"],
        "end_in": shown["end_in"],
        **_result(grade, shown["credit"]),
        "class_id": directory.class_id(class_id),
        "class_name": shown["class_name"],
        "subject_en": SUBJECTS_IN_ENGLISH.get(subject, "") if isinstance(subject, str) else "",
    }


def _result(grade: Row | None, credit: float) -> Values:
    values = grade.values if grade else {}
    published = values.get("status") in ("published", "passed")
    shown = values if published else {}
    return {
        "gained_credit": credit if shown.get("pass_status") == "passed" else 0,
        "published": published,
        "published_at": shown.get("published_at"),
        "evaluation": {
            "100": _text(shown.get("real_score")),
            "abc": _text(shown.get("level")),
            "gpa": _text(shown.get("gpa")),
            "rank": _text(shown.get("rank")),
        },
    }


def _text(value: object) -> str:
    return DASH if value in (None, "") else str(value)


def _sums(courses: list[Values]) -> Values:
    points = [(float(c["evaluation"]["gpa"]), c["credit"]) for c in courses if _is_number(c, "gpa")]
    credit = sum(weight for _, weight in points)
    return {
        "total_grades": round(sum(_scores(courses)), 2),
        "grade_point_average": round(sum(p * weight for p, weight in points) / credit, 2) if credit else 0,
        "total_credit": sum(course["credit"] for course in courses),
        "gained_credit": sum(course["gained_credit"] for course in courses),
    }


def _scores(courses: Iterable[Values]) -> list[float]:
    return [float(course["evaluation"]["100"]) for course in courses if _is_number(course, "100")]


def _is_number(course: Values, name: str) -> bool:
    return bool(course["evaluation"][name].replace(".", "", 1).isdigit())
