"""Every exported file of three schools beside golden files, and that no teacher's file names strangers.

Two schools are plain. All classes of the third are called 1班, its students have long names, and it has no
grades. `make golden` writes the golden files: a digest for each file, and for one school the text of each
kind of file. The loads, the publication and the exports have a clock of their own, so that the files are the
same on each day.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from difflib import unified_diff
from fnmatch import fnmatch
from pathlib import Path

import duckdb
import pytest

from exports.export import Options, Written, export
from exports.names import BOARD, ONEROSTER, READY
from exports.site.folders import SITE, WORKBOOK, Role
from simulator.settings import DEFAULT_TODAY
from tests.kits.exports.golden_dump import digests_of, shortened, texts_of
from tests.kits.leaks import leaks
from tests.kits.worlds.clock import clock_at
from tests.kits.worlds.world import World

GOLDEN = Path(__file__).with_name("golden")
DIGESTS = "digests"
SCHOOLS = (101, 102, 103)
AWKWARD = 103
LONG = "阿卜杜热合曼·买买提吐尔逊"
#: The day after the platform's own.
DAY = DEFAULT_TODAY + timedelta(1)
#: The students of each reader, by role.
READERS: Mapping[Role, str] = {
    "class-teacher": """
        SELECT teacher_id, list(DISTINCT student_id)
        FROM core.bridge_admin_class_teacher
        JOIN marts.early_warning USING (school_id, admin_class_id)
        WHERE school_id = ? GROUP BY ALL
    """,
    "teacher": """
        SELECT teacher_id, list(DISTINCT student_id)
        FROM core.bridge_class_teacher
        JOIN core.bridge_class_student USING (school_id, course_class_id)
        WHERE school_id = ? GROUP BY ALL
    """,
}
#: A student, the texts that name the student, and those that name the guardians.
PEOPLE = """
    SELECT student_id, [student_name, student_number],
        coalesce(flatten(list([guardian_name, phone])), []) AS guardians
    FROM core.dim_student LEFT JOIN views.student_guardian USING (school_id, student_id)
    WHERE school_id = ? GROUP BY ALL
"""
#: Of one school the first file of each kind: the text, with the first rows of each table.
KINDS = {
    "attendance_workbook": f"attendance_101_{DAY}.xlsx",
    "board": f"board_101_{DAY}.html",
    "class_page": "site_101/class-teacher/*/class/*.html",
    "class_workbook": "site_101/class-teacher/*/class/*.xlsx",
    "cohort_page": "site_101/head/cohort/*.html",
    "course_page": "site_101/teacher/*/course/*.html",
    "course_workbook": "site_101/teacher/*/course/*.xlsx",
    "early_warning_workbook": f"early_warning_101_{DAY}.xlsx",
    "grades_workbook": f"grades_101_{DAY}.xlsx",
    "index_of_class_teacher": "site_101/class-teacher/*/index.html",
    "index_of_head": "site_101/head/index.html",
    "index_of_teacher": "site_101/teacher/*/index.html",
    "manifest": "site_101/class-teacher/manifest.csv",
    "oneroster_sessions": f"oneroster_all_{DAY}.zip/academicSessions.csv",
    "student_page": "site_101/head/student/*.html",
}


def _make_awkward(world: World) -> None:
    platform = world.platform
    for entry in platform.rows("admin_classes", AWKWARD):
        platform.update("admin_classes", entry["key"], name="1班")
    for entry in platform.rows("students", AWKWARD):
        platform.update("students", entry["key"], name=f"{LONG}{entry['key'] % 1000}")
    for resource in ("grades", "scores"):
        for entry in platform.rows(resource, AWKWARD):
            platform.destroy(resource, entry["key"])


@dataclass(frozen=True)
class Exports:
    """A published file, and the folder of all its exports."""

    published: Path
    folder: Path

    def ids(self, query: str, school: int) -> Mapping[int, set[int]]:
        """The two columns of a query about a school: an id, and a list of ids."""
        with closing(duckdb.connect(str(self.published), read_only=True)) as con:
            return {key: set(ids) for key, ids in con.execute(query, [school]).fetchall()}

    def people(self, school: int) -> Mapping[int, tuple[set[str], set[str]]]:
        """The texts that name a student, and those that name the student's guardians."""
        with closing(duckdb.connect(str(self.published), read_only=True)) as con:
            rows = con.execute(PEOPLE, [school]).fetchall()
        return {key: (set(filter(None, texts)), set(filter(None, others))) for key, texts, others in rows}


@pytest.fixture(scope="module")
def exports(make_world: Callable[..., World], tmp_path_factory: pytest.TempPathFactory) -> Exports:
    folder = tmp_path_factory.mktemp("exports")
    roles: tuple[Role, ...] = ("class-teacher", "teacher")
    names = ["schema", "contract", *READY, BOARD, ONEROSTER, SITE]
    with clock_at(DAY):
        world = make_world("demo", schools=3, students=60, semesters=2, core_subjects=4, datasets=False)
        _make_awkward(world)
        assert world.load(select=None).problems == []
        assert world.publish().problem is None
        file = world.settings.published
        ends = [
            *export(file, names, None, Options(folder, guardians=True, roles=("head", *roles))),
            *export(file, [WORKBOOK], None, Options(folder, guardians=True, roles=roles)),
        ]
    assert [end for end in ends if not isinstance(end, Written)] == []
    return Exports(file, folder)


def test_exported_files_are_the_golden_files(exports: Exports) -> None:
    texts = texts_of(exports.folder, DAY)
    made = {DIGESTS: digests_of(texts)}
    for kind, pattern in KINDS.items():
        path = min(path for path in texts if fnmatch(path, pattern))
        made[kind] = shortened(texts[path])
    if os.environ.get("CAMPUS_WRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        for file in GOLDEN.glob("*.txt"):
            file.unlink()
        for name, text in made.items():
            (GOLDEN / f"{name}.txt").write_text(text, encoding="utf-8")
    golden = {file.stem: file.read_text(encoding="utf-8") for file in GOLDEN.glob("*.txt")}
    changed = [
        line
        for name in sorted({*made, *golden})
        for line in unified_diff(
            golden.get(name, "").splitlines(), made.get(name, "").splitlines(), name, name, lineterm="", n=0
        )
    ]
    assert not changed, "\n".join(["run `make golden` if these changes are meant:", *changed])


@pytest.mark.parametrize("school", SCHOOLS)
@pytest.mark.parametrize("role", READERS)
def test_files_of_a_teacher_name_only_own_students(exports: Exports, school: int, role: Role) -> None:
    """Pages and workbooks. Guardians are those of the own students, and only the class teacher sees them."""
    people, checked, excluded = exports.people(school), 0, 0
    for teacher, own in exports.ids(READERS[role], school).items():
        site = exports.folder / f"site_{school}" / role / str(teacher)
        named = set[str]().union(*(people[student][0] for student in own))
        phoned = set[str]().union(*(people[student][1] for student in own))
        allowed = "\0".join(named | (phoned if role == "class-teacher" else set()))
        texts = set[str]().union(*(names | guardians for names, guardians in people.values()))
        # A name that others bear too, or that is a part of theirs, tells nothing.
        strange = {text for text in texts if text not in allowed}
        assert leaks(site, strange, ()) == []
        assert not [path for path in site.rglob("student/*") if int(path.stem) not in own]
        excluded += len(strange)
        checked += len(list(site.rglob("*.html"))) + len(list(site.rglob("*.xlsx")))
    assert checked > 10 and excluded > 50
