"""The zip of OneRoster: valid by another reading of the standard, stable, or refused as a whole."""

import re
import shutil
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from exports.export import Failed, Written, export
from exports.export import Options as ExportOptions
from exports.oneroster.check import OneRosterRefused
from exports.oneroster.standard import BINDINGS
from exports.oneroster.write import Addresses, Content, write_zip
from pipelines.cli.actions.export import run_export
from pipelines.settings.options import Options
from pipelines.settings.settings import Settings
from simulator.readings import Readings
from tests.kits.exports.oneroster_standard import MANIFEST, Row, findings, header, read, tables
from tests.kits.models.builds import Build, Builder
from tests.kits.models.publishing import publish
from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import SCHOOL, fill, simulated
from warehouse.publish.build import models_version

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "oneroster.md"
#: worlds.HEALTHY has no days of semesters, and publishes no marks.
COMPLETED = (
    "UPDATE core.dim_semester SET first_day = '2025-09-01', last_day = '2026-01-20', academic_year = 2025",
    "UPDATE core.dim_assessment_item SET published_at = '2025-12-01'",
    "UPDATE core.fct_item_score SET published_at = '2025-12-01'",
    "UPDATE core.fct_grade SET published_at = '2026-01-20'",
    "UPDATE core.dim_student SET gender = 'f' WHERE school_id = 1",
)
#: A view without rows. No rows of core make the views contradict each other.
NO_COURSES = "CREATE OR REPLACE VIEW oneroster.courses AS SELECT 1 AS school_id, {} LIMIT 0".format(
    ", ".join(f'NULL::VARCHAR AS "{name}"' for name in header("courses"))
)

Zipped = Callable[..., Path]


@pytest.fixture(scope="module")
def published(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published file of two schools with days and published marks."""
    file = publish(healthy, tmp_path_factory.mktemp("oneroster"))
    _change(file, COMPLETED)
    return file


@pytest.fixture
def zipped(published: Path, tmp_path: Path) -> Zipped:
    """Writes the zip of a copy of the published file with some changes."""

    def write(*changes: str, schools: tuple[int, ...] = (1, 2), **content: Any) -> Path:
        file = Path(shutil.copy(published, tmp_path / "changed.duckdb"))
        _change(file, changes)
        target = tmp_path / "written.zip"
        with closing(duckdb.connect(str(file), read_only=True)) as con:
            write_zip(con, schools, target, Content(**content))
        return target

    return write


@pytest.fixture(scope="module")
def valid(published: Path) -> Path:
    """A zip of both schools."""
    target = published.with_name("valid.zip")
    with closing(duckdb.connect(str(published), read_only=True)) as con:
        write_zip(con, [1, 2], target, Content(demographics=True))
    return target


def _change(file: Path, statements: tuple[str, ...]) -> None:
    with closing(duckdb.connect(str(file))) as con:
        for statement in statements:
            assert con.execute(statement).fetchall() != [(0,)], statement


def _by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["sourcedId"]: row for row in rows}


def test_the_zip_is_valid_by_the_standard(valid: Path) -> None:
    assert findings(valid) == []
    assert read(valid).keys() == BINDINGS["1.2"].files.keys()


@pytest.mark.slow
def test_a_whole_school_is_valid_by_the_standard(
    build: Builder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("whole school")
    file = folder / "schools.duckdb"
    create_raw(file, {})
    fill(file, SCHOOL, simulated(Readings()))
    built = build("oneroster", file)
    assert built.problems == {}
    with closing(duckdb.connect(str(built.file), read_only=True)) as con:
        rows = write_zip(con, [SCHOOL], folder / "written.zip", Content(demographics=True))
    assert findings(folder / "written.zip") == []
    assert rows["enrollments"] > 100 and rows["results"] > 100


def test_fields_are_those_of_the_standard(healthy: Build) -> None:
    for name, file in BINDINGS["1.2"].files.items():
        described = healthy.rows(f"describe oneroster.{file.view}")
        assert [column for column, *_ in described] == ["school_id", *header(name)]
    for version, binding in BINDINGS.items():
        assert binding.files.keys() == tables(version).keys()
        for name, file in binding.files.items():
            assert list(file.fields) == header(name, version)
            required = [column.name for column in tables(version)[name] if column.required]
            assert [name for name, field in file.fields.items() if field.required] == ["sourcedId", *required]
        assert list(binding.all_files) == MANIFEST[version]


def test_the_page_says_where_each_field_comes_from() -> None:
    sections = re.split(r"^### `(\w+)\.csv`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    pages = dict(zip(sections[::2], sections[1::2], strict=True))
    for name in BINDINGS["1.2"].files:
        named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| ([^|]+) \|", pages[name], re.MULTILINE)))
        assert named == [field for field in header(name) if field not in ("status", "dateLastModified")]


def test_rows_are_those_worked_by_hand(valid: Path) -> None:
    files = read(valid)
    sessions = [(row["sourcedId"], row["startDate"], row["endDate"]) for row in files["academicSessions"]]
    # The last day is 20 January; the standard's endDate is exclusive.
    assert sessions[:2] == [
        ("1-semester-20", "2025-09-01", "2026-01-21"),
        ("1-year-2025", "2025-09-01", "2026-01-21"),
    ]
    users = _by_id(files["users"])
    assert sorted(users) == ["1-student-1", "1-student-2", "1-teacher-50", "2-student-1"]
    names = {id: (user["givenName"], user["familyName"]) for id, user in users.items()}
    assert names["1-student-1"] == ("一", "王") and names["2-student-1"] == ("Ann", "-")
    enrollments = [
        (row["classSourcedId"], row["userSourcedId"], row["primary"], row["beginDate"])
        for row in files["enrollments"]
        if row["schoolSourcedId"] == "1-school"
    ]
    assert enrollments == [
        ("1-class-11", "1-student-1", "", "2025-09-01"),
        ("1-class-11", "1-student-2", "", "2025-09-01"),
        ("1-class-11", "1-teacher-50", "true", "2025-09-01"),
        ("1-class-12", "1-student-1", "", "2025-09-01"),
        ("1-homeroom-501", "1-student-1", "", ""),
        ("1-homeroom-501", "1-student-2", "", ""),
        ("1-homeroom-501", "1-teacher-50", "false", ""),
    ]
    results = [(row["sourcedId"], row["score"]) for row in files["results"]]
    # Student 3 has left; school 2 has scored nobody.
    assert results == [
        ("1-result-grade-1", "90.0"),
        ("1-result-grade-2", "25.0"),
        ("1-result-grade-3", "0.0"),
        ("1-result-item-72-1", "9.5"),
        ("1-result-item-72-2", "0.0"),
    ]


def test_any_name_survives(zipped: Zipped) -> None:
    names = {
        "欧阳娜": ("娜", "欧阳"),
        "欧阳": ("阳", "欧"),
        "买买提·艾力": ("买买提", "艾力"),
        "Mary Ann Smith": ("Mary Ann", "Smith"),
        "Ann": ("Ann", "-"),
        '=1+1, "x"\r\n第二行': ('\'=1+1, "x"', "第二行"),
        '"': ('"', "-"),
        "@SUM(A1:A2),王": ("'@SUM(A1:A2),王", "-"),
        "\ufeff=1+2": ("'\ufeff=1+2", "-"),
        "|=1+2": ("'|=1+2", "-"),
        "-": ("-", "-"),
        "''t Hooft": ("'t", "Hooft"),
    }
    path = zipped(
        *(
            "INSERT INTO core.dim_student "
            f"SELECT * REPLACE ({number} AS student_id, '{name}' AS student_name) FROM core.dim_student "
            "WHERE school_id = 1 AND student_id = 1"
            for number, name in enumerate(names, 100)
        ),
        f"UPDATE core.dim_course_class SET class_name = '{list(names)[5]}' WHERE course_class_id = 12",
    )
    assert findings(path) == []
    users = _by_id(read(path)["users"])
    written = [
        (users[f"1-student-{id}"]["givenName"], users[f"1-student-{id}"]["familyName"])
        for id in range(100, 100 + len(names))
    ]
    assert written == list(names.values())
    # Behind the name of its course.
    assert _by_id(read(path)["classes"])["1-class-12"]["title"].endswith(' =1+1, "x" 第二行')


def test_version_1_1_has_its_own_headers_and_rosters_alone(zipped: Zipped) -> None:
    path = zipped(version="1.1", demographics=True)
    assert findings(path, "1.1") == []
    files = read(path)
    rosters = {"academicSessions", "classes", "courses", "demographics", "enrollments", "orgs", "users"}
    assert files.keys() == rosters
    users = _by_id(files["users"])
    assert {id: (user["orgSourcedIds"], user["role"]) for id, user in users.items()} == {
        "1-student-1": ("1-school", "student"),
        "1-student-2": ("1-school", "student"),
        "1-teacher-50": ("1-school", "teacher"),
        "2-student-1": ("2-school", "student"),
    }
    assert findings(path) != []


def test_1_1_leaves_out_a_gender_that_is_not_known(zipped: Zipped) -> None:
    path = zipped(
        "UPDATE core.dim_student SET gender = 'u' WHERE student_id = 2", version="1.1", demographics=True
    )
    assert findings(path, "1.1") == []
    assert _by_id(read(path)["demographics"]).keys() == {"1-student-1"}


def test_results_go_with_their_enrollment(zipped: Zipped, valid: Path) -> None:
    """Student 1 leaves class 11 amid the semester, and class 12 after its end."""
    path = zipped(
        "UPDATE core.bridge_class_student SET left_on = '2025-10-01' "
        "WHERE school_id = 1 AND student_id = 1 AND course_class_id = 11",
        "UPDATE core.bridge_class_student SET left_on = '2026-02-01' "
        "WHERE school_id = 1 AND student_id = 1 AND course_class_id = 12",
    )
    assert findings(path) == []
    before, after = ({row["sourcedId"] for row in read(file)["results"]} for file in (valid, path))
    assert before - after == {"1-result-grade-1", "1-result-item-72-1"}


@pytest.mark.parametrize("score", [-0.5, 10.5])
def test_a_mark_outside_of_the_bounds_takes_them_away(zipped: Zipped, score: float) -> None:
    path = zipped(
        f"UPDATE core.fct_item_score SET score = {score} WHERE assessment_item_id = 72 AND student_id = 1",
        f"UPDATE core.fct_grade SET real_score = {score * 10} WHERE grade_id = 1",
    )
    assert findings(path) == []
    items = {
        id: (item["resultValueMin"], item["resultValueMax"])
        for id, item in _by_id(read(path)["lineItems"]).items()
        if id.startswith("1-")
    }
    assert items == {
        "1-lineitem-grade-7": ("", ""),
        "1-lineitem-grade-8": ("0.0", "50.0"),
        "1-lineitem-item-72": ("", ""),
    }


def test_each_subject_has_a_code(valid: Path) -> None:
    files = read(valid)
    assert {
        row["sourcedId"]: (row["subjects"], row["subjectCodes"])
        for row in (*files["courses"], *files["classes"])
        if row["sourcedId"].startswith("1-")
    } == {
        "1-class-11": ("数学", "1-subject-4"),
        "1-class-12": ("", ""),
        "1-course-11": ("数学", "1-subject-4"),
        "1-course-12": ("", ""),
        "1-course-homeroom": ("", ""),
        "1-homeroom-501": ("", ""),
    }


def test_a_subject_without_a_name_has_no_code(zipped: Zipped) -> None:
    path = zipped("UPDATE core.dim_course_class SET subject_name = chr(9) || ', ' || chr(8232)")
    assert findings(path) == []
    assert {row["subjectCodes"] for row in read(path)["classes"]} == {""}


@pytest.mark.parametrize(
    ("email", "expected"),
    [
        (None, {}),
        # Students 1 and 2 share an address; that of the student of school 2 begins like a formula.
        ("platform", {"1-teacher-50": "Chen@one.example"}),
        # Not that of another school, and not that of nobody.
        ({1: {"T50": "chen@two.example", "0": "x@one.example"}}, {"1-teacher-50": "chen@two.example"}),
        ({2: {"T50": "chen@two.example"}}, {}),
        ({}, {}),
    ],
)
def test_addresses_are_those_of_the_source(
    zipped: Zipped, email: Addresses | None, expected: dict[str, str]
) -> None:
    addresses = {1: "a@one.example", 2: "A@one.example", 50: " Chen@one.example "}
    path = zipped(
        "UPDATE core.dim_teacher SET staff_number = 'T50'",
        *(
            f"UPDATE raw.v1_users SET email = '{address}' WHERE id = {id}"
            for id, address in addresses.items()
        ),
        "INSERT INTO raw.v1_users BY NAME SELECT "
        "2 AS _school_id, 1 AS id, '=a@two.example' AS email, TIMESTAMP '2026-03-01' AS _synced_at",
        "INSERT INTO core.bridge_v1_person BY NAME SELECT "
        "2 AS school_id, 1 AS v1_person_id, 1 AS person_id, 'student' AS kind",
        email=email,
    )
    assert findings(path) == []
    users = _by_id(read(path)["users"])
    assert {id: user["email"] for id, user in users.items() if user["email"]} == expected


def test_the_command_writes_the_version_and_addresses_of_campus_yaml(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    readers = home / "inputs" / "1" / "readers.csv"
    readers.parent.mkdir(parents=True)
    readers.write_text("工号,邮箱\nT50,chen@one.example\nT51,who@one.example\n", encoding="utf-8")
    file = Path(shutil.copy(published, home / "campus.duckdb"))
    _change(
        file,
        (
            f"UPDATE quality.publication SET models_version = '{models_version(home)}'",
            "UPDATE core.dim_teacher SET staff_number = 'T50'",
        ),
    )
    exports = yaml.safe_load("{oneroster: {version: 1.1, email: readers}}")
    settings = Settings(home=home, options=Options.model_validate({"exports": exports}))
    assert run_export(settings, ["oneroster"]) == 0
    [path] = (home / "exports").glob("*.zip")
    assert findings(path, "1.1") == []
    users = _by_id(read(path)["users"])
    assert [user["email"] for user in users.values() if user["email"]] == ["chen@one.example"]
    assert capsys.readouterr().err.splitlines() == [
        f"{readers}, line 3: no teacher of the school has this staff number",
        f"{home}/inputs/2/readers.csv does not exist: the staff of school 2 have no addresses. Write it, or "
        "set exports.oneroster.email of campus.yaml otherwise",
    ]
    readers.write_text("工号\nT50\n", encoding="utf-8")
    assert run_export(settings, ["oneroster"]) == 1


def test_two_nights_have_the_same_ids(zipped: Zipped, valid: Path) -> None:
    assert zipped(demographics=True).read_bytes() == valid.read_bytes()
    before = read(valid)
    after = read(
        zipped(
            "UPDATE core.dim_student SET student_name = '赵六', student_number = 'new' WHERE student_id = 1",
            "UPDATE core.dim_course_class SET course_name = '新数学', class_name = '1班'",
            "UPDATE core.dim_assessment_item SET item_name = '新作业', level_1_name = '新平时'",
            "UPDATE core.fct_grade SET real_score = 1 WHERE real_score IS NOT NULL",
            demographics=True,
        )
    )
    # Classes 11 and 12 have different subjects, so that the same name does not make them one course.
    assert {file: _by_id(rows).keys() for file, rows in after.items()} == {
        file: _by_id(rows).keys() for file, rows in before.items()
    }


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            NO_COURSES,
            [
                "The operator loads again (campus sync --full), and reports what stays:",
                "  classes.csv: courseSourcedId names nothing in courses.csv, 4 rows: "
                "1-class-11, 1-class-12, 1-homeroom-501, 2-class-11",
                "  scoreScales.csv: courseSourcedId names nothing in courses.csv, 2 rows: "
                "1-scorescale-11, 1-scorescale-12",
            ],
        ),
        (
            "UPDATE core.dim_student SET student_name = ' ' WHERE school_id = 1 AND student_id = 2",
            [
                "The school corrects on the platform, before the next load:",
                "  users.csv: givenName is empty, 1 row: 1-student-2",
                "  users.csv: familyName is empty, 1 row: 1-student-2",
            ],
        ),
        (
            "UPDATE core.dim_semester SET last_day = NULL WHERE school_id = 2",
            [
                "The school corrects on the platform, before the next load:",
                "  academicSessions.csv: endDate is empty, 2 rows: 2-semester-20, 2-year-2025",
            ],
        ),
        (
            "UPDATE core.dim_semester SET is_current = false WHERE school_id = 2",
            [
                "The school corrects on the platform, before the next load:",
                "  school 2: no semester is current",
            ],
        ),
        (
            "INSERT INTO core.never_loaded VALUES (1, 20, 'students'), (1, 20, 'cards')",
            [
                "The operator loads again (campus sync --full), and reports what stays:",
                "  school 1: never loaded: students",
            ],
        ),
    ],
)
def test_what_is_missing_is_listed(zipped: Zipped, change: str, lines: list[str]) -> None:
    with pytest.raises(OneRosterRefused) as refused:
        zipped(change)
    title = "nothing was written, since the files would be incomplete or break the standard."
    assert str(refused.value).split("\n") == [title, *lines]


def test_who_must_not_be_named_is_in_no_file(zipped: Zipped) -> None:
    """A forgotten person, somebody who has left, a membership that has ended, a withheld number."""
    path = zipped(
        *(
            f"UPDATE core.{table} SET student_id = -77 WHERE school_id = 1 AND student_id = 1"
            for table in ("dim_student", "bridge_class_student", "fct_grade", "fct_item_score")
        ),
        "UPDATE core.dim_student SET student_name = NULL, student_number = NULL WHERE student_id = -77",
        "UPDATE core.bridge_class_student SET left_on = '2025-10-01' WHERE school_id = 1 AND student_id = 2",
        "UPDATE core.dim_student SET student_number = NULL WHERE student_id = 2",
        demographics=True,
    )
    assert findings(path) == []
    files = read(path)
    values = {value for rows in files.values() for row in rows for value in row.values()}
    assert not [value for value in values if value.endswith(("--77", "-student-3"))]
    classes = [row["classSourcedId"] for row in files["enrollments"] if row["userSourcedId"] == "1-student-2"]
    assert classes == ["1-homeroom-501"]
    assert _by_id(files["users"])["1-student-2"]["username"] == "1-student-2"
    assert "0002" not in values


def test_files_without_rows_are_absent(zipped: Zipped) -> None:
    path = zipped(
        "UPDATE core.fct_grade SET published_at = NULL",
        "UPDATE core.dim_assessment_item SET published_at = NULL",
    )
    assert findings(path) == []
    absent = {"categories", "demographics", "lineItems", "results", "scoreScales"}
    assert BINDINGS["1.2"].files.keys() - read(path).keys() == absent


def test_an_export_has_all_schools_or_is_not_written(published: Path, tmp_path: Path) -> None:
    options = ExportOptions(tmp_path / "out")
    [both] = export(published, ["oneroster"], None, options)
    [single] = export(published, ["oneroster"], [2], options)
    assert isinstance(both, Written) and isinstance(single, Written)
    assert [both.path.name[:14], single.path.name[:12]] == ["oneroster_all_", "oneroster_2_"]
    assert {row["sourcedId"] for row in read(single.path)["orgs"]} == {"2-school"}
    assert "demographics" not in both.rows
    earlier = both.path.read_bytes()
    broken = Path(shutil.copy(published, tmp_path / "broken.duckdb"))
    _change(broken, ("UPDATE core.dim_teacher SET teacher_name = NULL",))
    [failed] = export(broken, ["oneroster"], None, options)
    assert (
        isinstance(failed, Failed) and "users.csv: givenName is empty, 1 row: 1-teacher-50" in failed.problem
    )
    assert both.path.read_bytes() == earlier
    assert [type(end) for end in export(published, ["oneroster"], [1, 9], options)] == [Failed]


@pytest.mark.parametrize(
    ("member", "before", "after"),
    [
        ("users.csv", "sourcedId,status", "status,sourcedId"),
        ("users.csv", ",true,", ",yes,"),
        ("users.csv", "\r\n", "\n"),
        ("roles.csv", "1-student-2,", "1-student-1,"),
        ("roles.csv", "1-role-student-2,", "1-role-student-1,"),
        ("enrollments.csv", "1-class-12,", "1-class-99,"),
        ("enrollments.csv", "2025-09-01", "2025-08-31"),
        ("classes.csv", ",,,", ",active,,"),
        ("academicSessions.csv", "2026-01-21", "2026-1-21"),
        ("results.csv", "90.0", "900.0"),
        ("manifest.csv", "file.users,bulk", "file.users,delta"),
        ("manifest.csv", "file.resources,absent\r\n", ""),
        ("manifest.csv", "version,1.2", "version,1.1"),
    ],
)
def test_the_validator_finds_what_breaks_the_standard(
    valid: Path, tmp_path: Path, member: str, before: str, after: str
) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(valid) as written, zipfile.ZipFile(other, "w") as tampered:
        for name in written.namelist():
            text = written.read(name).decode()
            if name == member:
                assert before in text
                text = text.replace(before, after)
            tampered.writestr(name, text)
    assert findings(other) != []
