"""`campus extract`: nobody can be found in it, and its joins hold."""

import errno
import hmac
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import Result

from exports.extracts.plan import ExtractRefused, ExtractRequest
from exports.extracts.write import PSEUDONYM_DIGITS, is_extract, write_extract
from pipelines.cli.actions.extract import extract_key
from tests.kits.programs import command_line
from tests.kits.worlds.world import World
from warehouse.identifiers import quoted, relation

#: Names that would break a statement, an extract's file or its reader, or hide in another word.
HOSTILE = (
    "O'Neil\"; DROP TABLE core.dim_student; --",
    "=HYPERLINK(1)",
    "王 小 明",
    "{{ config }}\n$name",
    "![](/graphql?query=mutation)",
)
TEACHER = "欧阳某某"
PEOPLE = ("reflections", "students", "teachers", "v1_users")


@pytest.fixture(scope="module")
def published(make_world: Callable[..., World]) -> World:
    """Two schools whose people's names stand in the names of classes, items, departments and in texts too."""
    world = make_world("crowd", schools=2)
    for school in (101, 102):
        for entry, name in zip(world.platform.rows("students", school), HOSTILE, strict=False):
            for resource in ("students", "reflections", "v1_users"):
                world.platform.update(resource, entry["key"], name=name)
        teacher = world.platform.rows("teachers", school)[0]["key"]
        for resource in ("teachers", "reflections", "v1_users"):
            world.platform.update(resource, teacher, name=TEACHER)
        world.platform.update("teachers", teacher, department_names=["语文组", f"{TEACHER}工作室"])
        classes = world.platform.rows("classes", school)
        world.platform.update("classes", classes[0]["key"], class_name=f"高一 {TEACHER}班")
        world.platform.update("classes", classes[1]["key"], name=f"给{HOSTILE[0]}补课")
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    return world


def campus(world: World, *arguments: str) -> Result:
    """Run `campus extract --pseudonymous` on this world."""
    return command_line.campus(world.home, "extract", *arguments, CAMPUS_HOME=str(world.home))


def pseudonym(key: bytes, domain: str, identifier: int | str) -> str:
    """The pseudonym of an id, computed a second way. `domain`: person, record or id."""
    digest = hmac.digest(key, f"{domain}:{identifier}".encode(), "sha256").hex()
    return f"{domain[0]}{digest[:PSEUDONYM_DIGITS]}"


def extract(world: World, name: str, *arguments: str) -> Path:
    """Make an extract, and expect no complaint."""
    path = world.home / "extracts" / f"{name}.duckdb"
    path.parent.mkdir(exist_ok=True)
    done = campus(world, "--pseudonymous", "--to", str(path), *arguments)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture(scope="module")
def study(published: World) -> Path:
    """An extract of all schools."""
    return extract(published, "study", "--key-name", "study")


def changed(world: World, folder: Path, *statements: str) -> Path:
    """A copy of what is published, with changes."""
    copy = folder / "campus.duckdb"
    copy.write_bytes((world.home / "campus.duckdb").read_bytes())
    with duckdb.connect(str(copy)) as con:
        for statement in statements:
            con.execute(statement)
    return copy


def ask(file: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(query).fetchall()


def tables(file: Path) -> list[str]:
    return [
        f"{schema}.{table}"
        for schema, table in ask(file, "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL")
    ]


def values(file: Path) -> Iterator[Any]:
    """Every value of every table, members of lists and structs as well."""
    for table in tables(file):
        for row in ask(file, f"FROM {relation(table)}"):
            yield from flat(row)


def flat(value: Any) -> Iterator[Any]:
    match value:
        case list() | tuple():
            for member in value:
                yield from flat(member)
        case dict():
            yield from flat([*value.keys(), *value.values()])
        case _:
            yield value


def people(world: World) -> tuple[set[str], set[int]]:
    """The texts that name anybody of either school, and everybody's ids, from the platform itself."""
    texts, ids = set[str](), set[int]()
    for resource in PEOPLE:
        for school in (101, 102):
            for entry in world.platform.rows(resource, school):
                row = entry["row"]
                ids |= {row["id"], row.get("pupil_id") or row["id"]}
                texts |= {
                    row[name]
                    for name in ("name", "usin", "phone", "email", "outer_id", "idcard", "avatar_url")
                    if row.get(name)
                }
    return texts, ids


def test_nobody_is_named_in_any_value_or_byte(published: World, study: Path) -> None:
    texts, ids = people(published)
    source = set(values(published.home / "campus.duckdb"))
    assert {f"高一 {TEACHER}班", f"给{HOSTILE[0]}补课", f"{TEACHER}工作室"} <= source
    assert len(texts) > 300 and len(ids) > 200 and set(HOSTILE) < texts
    pseudonyms, leaks = 0, set[Any]()
    for value in values(study):
        if isinstance(value, int) and value in ids:
            leaks.add(value)
        elif isinstance(value, str):
            if len(value) == 21 and set(value[1:]) <= set("0123456789abcdef"):
                pseudonyms += 1
            else:
                leaks |= {text for text in texts if text in value}
                leaks |= {str(number) for number in ids if str(number) in value}
    assert leaks == set()
    assert pseudonyms > 10_000
    content = study.read_bytes()
    # A student number has few digits, and is part of some pseudonym by chance.
    assert [text for text in texts if len(text.encode()) > 6 and text.encode() in content] == []


def test_ids_of_records_are_keyed(published: World, study: Path) -> None:
    """Whoever may read the platform would look up whose score an id is."""
    for table, column in (
        ("fct_score", "score_id"),
        ("fct_grade", "grade_id"),
        ("fct_attendance", "attendance_id"),
    ):
        source = {
            row[0] for row in ask(published.home / "campus.duckdb", f"SELECT {column} FROM core.{table}")
        }
        keyed = {row[0] for row in ask(study, f"SELECT {column} FROM core.{table}")}
        assert len(keyed) == len(source) > 0
        assert all(value.startswith("r") for value in keyed)


def test_joins_and_sums_hold(published: World, study: Path) -> None:
    source = published.home / "campus.duckdb"
    for query in (
        "SELECT count(DISTINCT student_id), count(*) FROM core.dim_student",
        "SELECT count(DISTINCT (student_id, course_class_id)), count(*) FROM core.bridge_class_student",
        "SELECT school_id, count(*), sum(is_present::INT) FROM core.fct_attendance JOIN core.dim_student"
        " USING (school_id, student_id) GROUP BY ALL ORDER BY ALL",
        "SELECT score.school_id, count(*), sum(score) FROM core.fct_score AS score JOIN core.dim_teacher "
        "ON teacher_id = evaluator_id GROUP BY ALL ORDER BY ALL",
        "SELECT count(*) FROM core.dim_course_class AS class JOIN core.dim_teacher AS teacher"
        " ON list_contains(class.teacher_ids, teacher_id)",
        "SELECT sum(present), sum(absent), sum(late) FROM marts.attendance_student_semester",
    ):
        assert ask(study, query) == ask(source, query) != [(0,)]


def test_each_person_has_the_pseudonym_of_the_key(published: World, study: Path) -> None:
    """The operator, who has the key, can tell whose a pseudonym is, as when somebody asks to be forgotten."""
    key = extract_key(published.home, "study")
    ids = [row[0] for row in ask(published.home / "campus.duckdb", "SELECT student_id FROM core.dim_student")]
    keyed = {row[0] for row in ask(study, "SELECT student_id FROM core.dim_student")}
    assert keyed == {pseudonym(key, "person", number) for number in ids}


def test_extracts_of_other_keys_share_no_pseudonym(published: World, study: Path) -> None:
    again = extract(published, "again", "--key-name", "study", "--table", "core.dim_student")
    other = extract(published, "other", "--key-name", "other", "--table", "core.dim_student")
    unnamed = extract(published, "unnamed", "--table", "core.dim_student")
    query = "SELECT unnest([student_id, coalesce(pupil_id, student_id)]) FROM core.dim_student"
    first, second, third, fourth = (
        {row[0] for row in ask(file, query)} for file in (study, again, other, unnamed)
    )
    assert first == second
    assert first.isdisjoint(third) and first.isdisjoint(fourth) and third.isdisjoint(fourth)


@pytest.mark.parametrize(
    ("table", "column", "domain"),
    [
        ("dim_student", "student_id", "person"),
        ("dim_teacher", "teacher_id", "person"),
        ("fct_grade", "grade_id", "record"),
    ],
)
def test_the_order_of_rows_says_nothing(
    published: World, study: Path, table: str, column: str, domain: str
) -> None:
    """Whoever has a roster in the order of ids would lay it beside the pseudonyms."""
    key = extract_key(published.home, "study")
    rows = f"SELECT school_id, {column} FROM core.{table}"
    source = ask(published.home / "campus.duckdb", f"{rows} ORDER BY ALL")
    there = ask(study, f"{rows} ORDER BY rowid")
    pairs = [(school, pseudonym(key, domain, number)) for school, number in source]
    assert len(there) > 10 and set(there) == set(pairs)
    for school in (101, 102):
        assert [row for row in there if row[0] == school] != [row for row in pairs if row[0] == school]
    whole = f"FROM core.{table}"
    assert ask(study, f"{whole} ORDER BY rowid") == ask(study, f"{whole} ORDER BY ALL")


def test_the_order_in_lists_of_people_says_nothing(published: World, tmp_path: Path) -> None:
    ids = list(range(1, 40))
    source = changed(published, tmp_path, f"UPDATE core.dim_course_class SET teacher_ids = {ids}")
    request = ExtractRequest(tables=("core.dim_course_class",))
    done = write_extract(source, request, tmp_path / "x.duckdb", b"k" * 32, "k")
    keyed = sorted(pseudonym(b"k" * 32, "person", number) for number in ids)
    assert ask(done.path, "SELECT DISTINCT teacher_ids FROM core.dim_course_class") == [(keyed,)]


def test_small_groups_are_blank_and_others_kept(published: World, study: Path) -> None:
    source = published.home / "campus.duckdb"
    marked = "FROM marts.outcome_by_group WHERE is_suppressed AND students > 0"
    [(rows, numbers)] = ask(source, f"SELECT count(*), count(recorded) {marked}")
    assert rows and numbers
    assert ask(
        study, "SELECT count(students), count(recorded) FROM marts.outcome_by_group WHERE is_suppressed"
    ) == [(0, 0)]
    small = "SELECT count(*) FROM marts.grade_distribution WHERE students BETWEEN 1 AND 4"
    assert ask(study, small) == [(0,)]
    for large in (
        "SELECT count(*), sum(recorded) FROM marts.outcome_by_group WHERE NOT is_suppressed AND students > 4",
        "SELECT count(*), sum(mean) FROM marts.grade_distribution WHERE students > 4",
    ):
        assert ask(study, large) == ask(source, large)
        assert ask(study, large)[0][0] > 0


@pytest.mark.parametrize(
    ("table", "counts", "figure"),
    [
        ("core.fct_class_session", ["members"], "present"),
        ("core.fct_assessment_item", ["valid_scores", "expected"], "score_sum"),
        ("marts.attendance_class_session", ["members"], "present"),
        ("marts.score_completeness", ["expected"], "zeros"),
        ("marts.score_item_analysis", ["students", "complete_students"], "score_sum"),
        ("marts.score_item_analysis", ["complete_students", "students"], "alpha"),
    ],
)
def test_sums_over_a_small_class_are_blank(
    published: World, tmp_path: Path, table: str, counts: list[str], figure: str
) -> None:
    """The first count is small in one school; when a lesson was stays."""
    source = changed(
        published,
        tmp_path,
        f"UPDATE {table} SET {figure} = 0.5, " + ", ".join(f"{count} = 30" for count in counts),
        f"UPDATE {table} SET {counts[0]} = 3 WHERE school_id = 101",
    )
    done = write_extract(source, ExtractRequest(tables=(table,)), tmp_path / "x.duckdb", b"k" * 32, "k")
    shown = (
        f"SELECT school_id, count({counts[0]}) > 0, count({figure}) > 0 FROM {table} GROUP BY 1 ORDER BY 1"
    )
    assert ask(done.path, shown) == [(101, False, False), (102, True, True)]
    if counts == ["members"]:
        lessons = f"SELECT school_id, count(week), count(lesson) FROM {table} GROUP BY 1 ORDER BY 1"
        assert ask(done.path, lessons) == ask(source, lessons)


@pytest.mark.parametrize("table", ["class_week", "group_week", "heatmap"])
def test_sums_over_uncounted_people_are_not_there(published: World, study: Path, table: str) -> None:
    table = f"attendance_{table}"
    columns = f"SELECT column_name FROM duckdb_columns() WHERE table_name = '{table}'"
    sums = {"recorded", "present", "absent", "late", "attendance_rate", "unexcused"}
    assert sums < {row[0] for row in ask(published.home / "campus.duckdb", columns)}
    left = {row[0] for row in ask(study, columns)}
    assert left.isdisjoint(sums) and "school_id" in left


def test_a_rare_trait_is_blank_in_its_cohort_alone(published: World, tmp_path: Path) -> None:
    """Ten students in two groups of five keep their traits; a cohort with one other student loses all."""
    number = "row_number() OVER (ORDER BY school_id, student_id)"
    gender = "CASE WHEN number = 11 THEN 'u' WHEN number % 2 = 0 THEN 'm' ELSE 'f' END"
    source = changed(
        published,
        tmp_path,
        f"UPDATE core.dim_student SET gender = {gender}, is_boarding = false,"
        f" cohort_id = 1 + (number > 10)::INT FROM (SELECT rowid AS place, {number} AS number"
        " FROM core.dim_student) WHERE place = dim_student.rowid",
    )
    done = write_extract(
        source, ExtractRequest(tables=("core.dim_student",)), tmp_path / "x.duckdb", b"k" * 32, "k"
    )
    query = (
        "SELECT cohort_id, gender, is_boarding, count(*) FROM core.dim_student WHERE school_id = 101"
        " GROUP BY ALL ORDER BY ALL"
    )
    assert ask(done.path, query) == [(1, "f", False, 5), (1, "m", False, 5), (2, None, None, 30)]


def test_no_time_tells_more_than_the_day(study: Path) -> None:
    columns = ask(
        study,
        "SELECT schema_name || '.' || table_name, column_name FROM duckdb_columns()"
        " WHERE data_type = 'TIMESTAMP' AND schema_name <> 'about' ORDER BY ALL",
    )
    assert len(columns) > 20
    for table, column in columns:
        at = quoted(column)
        finer = f"SELECT count(*) FROM {relation(table)} WHERE {at} <> date_trunc('day', {at})"
        assert ask(study, finer) == [(0,)], (table, column)


def test_guardians_and_free_text_are_not_there(study: Path) -> None:
    assert ask(study, "SELECT DISTINCT kind FROM core.bridge_v1_person ORDER BY 1") == [
        ("staff",),
        ("student",),
    ]
    columns = {
        row[0]
        for row in ask(
            study, "SELECT column_name FROM duckdb_columns() WHERE schema_name IN ('core', 'marts')"
        )
    }
    assert columns.isdisjoint(
        {"review", "invalid_reason", "description", "custom_fields", "guardians", "_extra"}
    )


def test_the_extract_says_how_it_was_made(published: World, study: Path) -> None:
    [(readme, key_name, schools, smallest)] = ask(
        study, "SELECT readme, key_name, schools, smallest_group FROM about.extract"
    )
    assert "do not try to identify anybody" in readme
    assert (key_name, schools, smallest) == ("study", None, 5)
    counted = dict(ask(study, "FROM about.tables"))
    assert counted["core.dim_student"] == 80
    assert set(counted) == {table for table in tables(study) if not table.startswith("about.")}
    said = ask(
        study,
        "SELECT treatment, reason FROM about.columns WHERE table_name = 'core.dim_student'"
        " AND column_name = 'student_name'",
    )
    assert said == [("dropped", "a person's name")]
    assert extract_key(published.home, "study").hex() not in str(list(values(study)))


def test_a_school_and_a_semester_alone(published: World) -> None:
    [(semester,)] = ask(
        published.home / "campus.duckdb", "SELECT semester_id FROM core.dim_semester WHERE school_id = 102"
    )
    file = extract(published, "one", "--school", "102", "--semester", str(semester))
    for table in tables(file):
        if not table.startswith("about."):
            schools = {row[0] for row in ask(file, f"SELECT DISTINCT school_id FROM {relation(table)}")}
            assert schools <= {102}, table


def test_schools_can_be_hidden(published: World) -> None:
    file = extract(published, "hidden", "--hide-schools")
    assert ask(
        file, "SELECT count(*) FROM core.fct_attendance JOIN core.dim_student USING (school_id, student_id)"
    ) == (ask(published.home / "campus.duckdb", "SELECT count(*) FROM core.fct_attendance"))
    names = {
        row[0] for row in ask(published.home / "campus.duckdb", "SELECT school_name FROM core.dim_school")
    }
    assert names.isdisjoint(value for value in values(file) if isinstance(value, str))
    schools = [row[0] for row in ask(file, "SELECT school_id FROM core.dim_school")]
    assert len(schools) == 2 and all(school.startswith("i") for school in schools)


def test_the_file_is_its_owners_and_replaces_nothing_by_itself(published: World, study: Path) -> None:
    assert stat.S_IMODE(study.stat().st_mode) == 0o600
    before = study.read_bytes()
    done = campus(published, "--pseudonymous", "--to", str(study))
    assert done.exit_code == 2 and "exists already" in done.output
    assert study.read_bytes() == before
    extract(published, "study", "--key-name", "study", "--force")
    assert [path.name for path in study.parent.iterdir() if path.name.startswith(".")] == []


def test_a_disk_without_hard_links_is_good_enough(
    published: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)

    monkeypatch.setattr(os, "link", link)
    source, path = published.home / "campus.duckdb", tmp_path / "x.duckdb"
    request = ExtractRequest(tables=("core.dim_room",))
    write_extract(source, request, path, b"k" * 32, "k")
    assert is_extract(path) and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    # Somebody else was there while the extract was made.
    monkeypatch.setattr("exports.extracts.write.check_extract_path", lambda *_, **__: None)
    before = path.read_bytes()
    with pytest.raises(ExtractRefused, match="exists already"):
        write_extract(source, request, path, b"k" * 32, "k")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "x.duckdb"], "say --pseudonymous"),
        (["--pseudonymous", "--to", "x.parquet"], "name it *.duckdb"),
        (["--pseudonymous", "--to", "x.duckdb", "--table", "raw.students"], "cannot have raw.students"),
        (["--pseudonymous", "--to", "x.duckdb", "--table", "core.dim_studnt"], "cannot have core.dim_studnt"),
        (["--pseudonymous", "--to", "{home}/campus.duckdb", "--force"], "is not an extract"),
        (["--pseudonymous", "--to", "{home}/link.duckdb", "--force"], "is a link"),
    ],
)
def test_a_mistake_is_one_line(published: World, arguments: list[str], said: str) -> None:
    link = published.home / "link.duckdb"
    if not link.is_symlink():
        link.symlink_to(published.home / "campus.duckdb")
    before = (published.home / "campus.duckdb").read_bytes()
    done = campus(published, *(argument.format(home=published.home) for argument in arguments))
    assert done.exit_code == 2 and said in done.output
    assert (published.home / "campus.duckdb").read_bytes() == before


def test_a_dry_run_lists_every_column_and_writes_nothing(published: World) -> None:
    path = published.home / "extracts" / "dry.duckdb"
    done = campus(published, "--pseudonymous", "--to", str(path), "--dry-run")
    assert done.exit_code == 0 and not path.exists()
    lines = done.output.splitlines()
    columns = ask(
        published.home / "campus.duckdb",
        "SELECT count(column_name) FROM quality.dictionary WHERE schema_name IN ('core', 'marts')",
    )
    assert [(len(lines) - 1,)] == columns
    assert "core.dim_student,student_name,name,dropped,a person's name" in lines
    assert "core.dim_student,student_id,person,keyed,the platform's id of a person" in lines


def test_a_column_that_nobody_has_classified_is_dropped(published: World, tmp_path: Path) -> None:
    copy = changed(
        published,
        tmp_path,
        "UPDATE quality.dictionary SET privacy = NULL WHERE column_name = 'score'",
        "ALTER TABLE core.dim_room ADD COLUMN janitor VARCHAR DEFAULT 'Zhang Wei'",
    )
    done = write_extract(copy, ExtractRequest(), tmp_path / "x.duckdb", b"k" * 32, "k")
    columns = {row[0] for row in ask(done.path, "SELECT column_name FROM duckdb_columns()")}
    assert columns.isdisjoint({"score", "janitor"}) and "suggest_score" in columns


def test_a_dataset_is_there_only_as_campus_yaml_classifies_it(published: World) -> None:
    [(table, columns)] = ask(
        published.home / "campus.duckdb",
        "SELECT table_name, list(column_name) FROM duckdb_columns() WHERE schema_name = 'datasets'"
        " AND table_name IN (SELECT table_name FROM duckdb_columns() WHERE column_name = 'student_id')"
        " GROUP BY ALL ORDER BY ALL LIMIT 1",
    )
    config = published.home / "campus.yaml"
    config.write_text(f"extracts: {{tables: {{datasets.{table}: {{student_id: person}}}}}}")
    try:
        file = extract(published, "dataset", "--key-name", "study")
    finally:
        config.unlink()
    assert f"datasets.{table}" in tables(file) and len(columns) > 3
    column_names = {
        row[0] for row in ask(file, "SELECT column_name FROM duckdb_columns() WHERE schema_name = 'datasets'")
    }
    assert column_names == {"student_id", "_school_id"}
    [(students,)] = ask(
        file,
        f"SELECT count(DISTINCT student_id) FROM datasets.{quoted(table)}"
        " SEMI JOIN core.dim_student USING (student_id)",
    )
    assert students
