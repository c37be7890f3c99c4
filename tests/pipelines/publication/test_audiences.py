"""Files of audiences: published with campus.duckdb, with less in them, for a group of their own."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.publication.models import is_published
from pipelines.cli.doctor.home import examine_files
from pipelines.platform import attendance_settings
from pipelines.settings.options import AudienceOptions, PublishOptions
from pipelines.status.report import _to_do
from tests.kits.worlds.world import World
from warehouse.identifiers import quoted, relation
from warehouse.load.logs.load_log import now
from warehouse.publish import audiences as publishing
from warehouse.publish.audiences import SHARED
from warehouse.published.audiences import Audience, audience_files, group_problem
from warehouse.published.problem import note_audiences

WITHOUT = ("phone", "email", "address", "guardian", "text")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file to any group")


def configured(world: World, **audiences: AudienceOptions) -> None:
    """Have these audiences in the settings of a world."""
    options = world.settings.options
    publish = options.publish.model_copy(update={"audiences": audiences})
    world.settings = world.settings.model_copy(
        update={"options": options.model_copy(update={"publish": publish})}
    )
    world.opened.clear()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("srv") / "campus-analysts"


@pytest.fixture(scope="module")
def published(make_world: Callable[..., World], elsewhere: Path) -> World:
    """A school whose file for analysts is outside the home, and that of operators in it."""
    world = make_world("crowd")
    configured(
        world,
        analysts=AudienceOptions(schemas=("core", "marts", "quality"), without=WITHOUT, to=elsewhere),
        operators=AudienceOptions(),
    )
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    return world


def ask(file: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(query).fetchall()


def columns(file: Path) -> dict[str, set[str]]:
    """The columns of each table of core and marts, and of quality's tables."""
    by_table: dict[str, set[str]] = {}
    query = (
        "SELECT schema_name || '.' || table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        " AND database_name NOT IN ('system', 'temp')"
    )
    for table, column in ask(file, query):
        by_table.setdefault(table, set()).add(column)
    return by_table


def audience(world: World, name: str) -> Audience:
    [result] = [candidate for candidate in world.settings.audiences if candidate.name == name]
    return result


def test_analysts_find_no_phone_and_no_guardian(published: World, elsewhere: Path) -> None:
    file = elsewhere / "campus.duckdb"
    guardians = [
        entry["row"] for entry in published.platform.rows("v1_users", 101) if entry["row"]["role"] == 8
    ]
    texts = {row[name] for row in guardians for name in ("name", "phone", "email") if row[name]}
    texts |= {
        entry["row"]["phone"]
        for resource in ("reflections", "teachers", "v1_users")
        for entry in published.platform.rows(resource, 101)
        if entry["row"].get("phone")
    }
    others = {
        entry["row"]["name"]
        for resource in ("students", "teachers")
        for entry in published.platform.rows(resource, 101)
    }
    texts -= others
    assert len(texts) > 40
    content = file.read_bytes()
    assert [text for text in texts if text.encode() in content] == []
    stored_values = {
        str(value) for table in columns(file) for row in ask(file, f"FROM {relation(table)}") for value in row
    }
    assert [text for text in texts for value in stored_values if text in value] == []
    assert others & stored_values, "the names of students are for analysts"
    everything = (published.home / "campus.duckdb").read_bytes()
    assert all(text.encode() in everything for text in texts), "what is left out is there to be left out"


def test_analysts_see_no_raw_rows_and_no_writes(elsewhere: Path) -> None:
    tables = set(columns(elsewhere / "campus.duckdb"))
    assert {table.partition(".")[0] for table in tables} == {"core", "marts", "quality"}
    quality = {table for table in tables if table.startswith("quality.")}
    assert quality == {f"quality.{name}" for name in SHARED} | {"quality.audience"}


def test_relations_and_lineage_are_of_columns_that_the_file_has(elsewhere: Path) -> None:
    file = elsewhere / "campus.duckdb"
    named = """
        SELECT schema_name, table_name, unnest(columns) FROM quality.relations
        UNION ALL
        SELECT referenced_schema, referenced_table, unnest(referenced_columns) FROM quality.relations
        UNION ALL SELECT schema_name, table_name, column_name FROM quality.lineage
    """
    assert len(ask(file, named)) > 1000
    visible = "SELECT schema_name, table_name, column_name FROM duckdb_columns()"
    assert ask(file, f"FROM ({named}) EXCEPT {visible}") == []
    assert ask(file, "FROM quality.relations WHERE checked_at IS NULL") == []


def test_marts_equal_those_of_the_main_file(published: World, elsewhere: Path) -> None:
    main, file = published.home / "campus.duckdb", elsewhere / "campus.duckdb"
    mine, whole = columns(file), columns(main)
    marts = [table for table in whole if table.startswith(("marts.", "core."))]
    assert len(marts) > 60 and set(marts) <= set(mine)
    for table in marts:
        if table == "core.bridge_v1_person":
            continue
        names = ", ".join(quoted(name) for name in sorted(mine[table]))
        query = f"SELECT count(*), sum(hash(row({names}))) FROM {relation(table)}"
        assert ask(file, query) == ask(main, query), table
    left_out = {(table, name) for table in marts for name in whole[table] - mine[table]}
    assert left_out >= {
        ("core.dim_student", "guardians"),
        ("core.dim_student", "custom_fields"),
        ("core.fct_score", "invalid_reason"),
    }
    assert ("core.dim_student", "student_name") not in left_out


def test_the_dictionary_and_comments_are_those_of_the_file(elsewhere: Path) -> None:
    file = elsewhere / "campus.duckdb"
    said = ask(
        file,
        "SELECT schema_name || '.' || table_name, column_name FROM quality.dictionary"
        " WHERE column_name IS NOT NULL",
    )
    pairs = {(table, name) for table, names in columns(file).items() for name in names}
    assert set(said) == {pair for pair in pairs if pair[0] != "quality.audience"}
    [(comment,)] = ask(
        file,
        "SELECT comment FROM duckdb_columns()"
        " WHERE (table_name, column_name) = ('early_warning', 'student_name')",
    )
    assert comment


def test_operators_have_everything(published: World) -> None:
    file = audience(published, "operators").file
    assert set(columns(file)) == set(columns(published.home / "campus.duckdb")) | {"quality.audience"}
    moment = "TIMESTAMP '2030-01-01'"
    assert ask(file, f"SELECT count(*) FROM core.grades_as_of({moment})") == ask(
        published.home / "campus.duckdb", f"SELECT count(*) FROM core.grades_as_of({moment})"
    )


def test_files_are_read_only_and_kept_as_generations(published: World, elsewhere: Path) -> None:
    assert stat.S_IMODE((elsewhere / "campus.duckdb").stat().st_mode) == 0o440
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o750
    [(generation,)] = ask(published.home / "campus.duckdb", "SELECT generation FROM quality.publication")
    assert ask(elsewhere / "campus.duckdb", "SELECT generation FROM quality.publication") == [(generation,)]
    assert (elsewhere / "generations" / f"{generation}.duckdb").exists()
    assert [path.name for path in elsewhere.iterdir() if path.name.startswith(".")] == []


def rename_somebody(world: World, name: str) -> None:
    student = world.platform.rows("students", 101)[0]["key"]
    world.platform.update("students", student, name=name)
    assert world.load(select='key:"raw/students"').problems == []


def test_a_reader_of_the_old_file_is_undisturbed(published: World, elsewhere: Path) -> None:
    query = "SELECT count(*) FROM core.dim_student WHERE student_name = '后来的名字'"
    with duckdb.connect(str(elsewhere / "campus.duckdb"), read_only=True) as con:
        assert con.execute(query).fetchall() == [(0,)]
        rename_somebody(published, "后来的名字")
        assert published.publish().problem is None
        assert con.execute(query).fetchall() == [(0,)]
    assert ask(elsewhere / "campus.duckdb", query) == [(1,)]


def test_a_narrower_definition_reaches_older_generations_too(published: World, elsewhere: Path) -> None:
    """What an audience may not see any more is not left in a generation; nothing has been loaded since."""
    before = published.settings
    older = audience(published, "analysts").generations
    assert older
    configured(
        published,
        analysts=AudienceOptions(schemas=("core", "marts"), without=(*WITHOUT, "name"), to=elsewhere),
    )
    kept_by_operators = published.home / "audiences" / "operators" / "campus.duckdb"
    assert kept_by_operators.exists()
    assert published.publish().problem is None
    for file in audience(published, "analysts").generations:
        assert "student_name" not in columns(file)["core.dim_student"]
    assert not kept_by_operators.exists(), "an audience that is no more has no file"
    assert list(audience_files(published.home, published.settings.audiences)) == sorted(
        [elsewhere / "campus.duckdb", *audience(published, "analysts").generations]
    )
    published.settings = before
    published.opened.clear()
    assert published.publish().problem is None


def test_a_failed_file_leaves_the_main_one_published_and_is_told(
    published: World, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = (elsewhere / "campus.duckdb").read_bytes()
    rename_somebody(published, "再改的名字")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "_fill", full)
        end = published.publish()
    assert end.problem and "campus.duckdb is published, but audience analysts" in end.problem
    renamed = "SELECT count(*) FROM core.dim_student WHERE student_name = '再改的名字'"
    assert ask(published.home / "campus.duckdb", renamed) == [(1,)]
    assert ask(audience(published, "operators").file, renamed) == [(1,)], "one that fails holds no other up"
    assert (elsewhere / "campus.duckdb").read_bytes() == old
    assert any("audience analysts" in line for line in _to_do(published.settings, [], now()))
    assert published.publish().problem is None, "campus build makes it, though nothing was loaded since"
    assert ask(elsewhere / "campus.duckdb", renamed) == [(1,)]
    assert not any("audience" in line for line in _to_do(published.settings, [], now()))


def test_a_changed_definition_is_not_yet_published(published: World) -> None:
    """Else `campus build` would answer that nothing has changed, and make no file."""
    settings, lake = published.settings, published.lake

    def is_made(*audiences: Audience) -> bool:
        return is_published(lake, attendance_settings(settings), settings.home, audiences)

    assert is_made(*settings.audiences)
    new = Audience("board", settings.home / "audiences" / "board")
    assert not is_made(*settings.audiences, new)
    assert not is_made(*(replace(audience, schemas=("marts",)) for audience in settings.audiences))
    assert not is_made(*(audience for audience in settings.audiences if audience.name != "operators"))
    note_audiences(settings.home, "audience operators: the disk was full")
    assert not is_made(*settings.audiences)
    note_audiences(settings.home, "")
    assert is_made(*settings.audiences)


@needs_root
def test_the_group_may_read_the_file(published: World, elsewhere: Path) -> None:
    before = published.settings
    configured(
        published,
        analysts=AudienceOptions(schemas=("core",), without=WITHOUT, to=elsewhere, group="nogroup"),
    )
    assert published.publish().problem is None
    status = (elsewhere / "campus.duckdb").stat()
    assert (status.st_gid, stat.S_IMODE(status.st_mode)) == (elsewhere.stat().st_gid, 0o440)
    assert status.st_gid != os.getegid()
    assert [path.stat().st_gid for path in (elsewhere / "generations").iterdir()] == [status.st_gid]
    good = {finding.text: finding.good for finding in examine_files(published.settings)}
    assert good[f"Audience analysts reads {elsewhere / 'campus.duckdb'}."] is True
    published.settings = before
    published.opened.clear()


def test_a_group_that_cannot_read_is_told_in_words(published: World, elsewhere: Path) -> None:
    before = published.settings
    configured(published, analysts=AudienceOptions(schemas=("core",), to=elsewhere, group="no-such-group"))
    assert published.publish().problem is None
    problem = "audience analysts: there is no group no-such-group on this machine: make it (groupadd)"
    assert any(problem in line for line in _to_do(published.settings, [], now()))
    assert (False, problem) in [(finding.good, finding.text) for finding in examine_files(published.settings)]
    assert stat.S_IMODE((elsewhere / "campus.duckdb").stat().st_mode) == 0o400, "nobody else may read it"
    published.settings = before
    published.opened.clear()


@needs_root
def test_a_group_that_cannot_enter_the_home_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    within = Audience("analysts", tmp_path / "audiences" / "analysts", group="nogroup")
    assert "name a folder elsewhere in publish.audiences.analysts.to" in (
        group_problem(tmp_path, within) or ""
    )


def test_a_user_outside_the_group_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    monkeypatch.setattr(os, "getgroups", lambda: [1000])
    outside = Audience("analysts", tmp_path / "srv", group="nogroup")
    assert "is not in the group nogroup" in (group_problem(tmp_path, outside) or "")


@pytest.mark.parametrize(
    ("audience", "said"),
    [
        ({"without": ["phone"]}, "nothing can be left out"),
        ({"schemas": ["core", "raw"], "without": ["phone"]}, "nothing can be left out"),
        ({"schemas": ["staging"]}, "Input should be"),
        ({"without": ["phnoe"], "schemas": ["core"]}, "Input should be"),
        ({"to": "srv/analysts"}, "absolute path"),
    ],
)
def test_a_mistake_in_an_audience_is_refused(audience: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AudienceOptions.model_validate(audience)


def test_audiences_and_shards_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="audiences need one"):
        PublishOptions.model_validate({"schools_per_shard": 2, "audiences": {"analysts": {}}})


def test_two_audiences_have_not_one_folder() -> None:
    with pytest.raises(ValueError, match="two have the same folder"):
        PublishOptions.model_validate({"audiences": {"a": {"to": "/srv/x"}, "b": {"to": "/srv/y/../x"}}})
