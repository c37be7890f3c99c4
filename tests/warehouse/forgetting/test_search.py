"""The search that proves it: each kind of file, however it is packed, shows what is in it."""

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
import xlsxwriter

from pipelines.forgetting.dagster_storage import forget_in_dagster, forget_in_sqlite, search_in_postgres
from tests.kits.servers.postgres import postgres
from warehouse.forgetting.identity import Person
from warehouse.forgetting.search import Search, Searched

NAME, MAIL, ID = 'Zoë "Z" O\'Brien 王', "zoe@school.cn", 101000019
PERSON = Person(
    101, "student", frozenset((ID,)), frozenset((ID,)), tokens=frozenset((MAIL,)), names=frozenset((NAME,))
)


def search(folder: Path) -> Searched:
    """What the search finds in the files of a folder."""
    searched = Searched()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            Search([PERSON]).file(path, str(path.relative_to(folder)), searched)
    return searched


def _text(path: Path, value: str) -> None:
    path.write_text(f"before {value} after", encoding="utf-8")


def _json(path: Path, value: str) -> None:
    path.write_text(json.dumps({"a": [json.dumps({"b": value})]}))


def _gb18030(path: Path, value: str) -> None:
    path.write_bytes(f"x,{value}\n".encode("gb18030"))


def _gzip(path: Path, value: str) -> None:
    path.write_bytes(gzip.compress(f"a,{value},b".encode()))


def _zstd(path: Path, value: str) -> None:
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(f"a,{value},b".encode())


def _zip_in_zip(path: Path, value: str) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.txt", value)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("y.zip", inner.getvalue())


def _xlsx(path: Path, value: str) -> None:
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().write(0, 0, f"{value} x")


def _parquet(path: Path, value: str) -> None:
    pq.write_table(pa.table({"a": [[{"deep": value}]]}), path, compression="zstd")


def _duckdb(path: Path, value: str) -> None:
    with closing(duckdb.connect(str(path))) as con:
        con.execute("CREATE SCHEMA s")
        con.execute("CREATE TABLE s.t AS SELECT [{'deep': ?}] AS a FROM range(5000)", [value])


def _sqlite(path: Path, value: str) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE t (a TEXT)")
        con.execute("INSERT INTO t VALUES (?)", (json.dumps({"message": f"of {value}"}),))


def _free_page(path: Path, value: str) -> None:
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA secure_delete = OFF")
        with con:
            con.execute("CREATE TABLE t (a TEXT)")
            con.execute("INSERT INTO t VALUES (?)", (f" {value} " * 50,))
        with con:
            con.execute("DELETE FROM t")


WRITERS = [_text, _json, _gb18030, _gzip, _zstd, _zip_in_zip, _xlsx, _parquet, _duckdb, _sqlite, _free_page]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("value", [NAME, MAIL, str(ID)], ids=["name", "mail", "id"])
def test_every_kind_of_file_is_searched(
    write: Callable[[Path, str], None], value: str, tmp_path: Path
) -> None:
    if write is _free_page and value == str(ID):
        pytest.skip("digits alone prove nothing in bytes")
    write(tmp_path / "file", value)
    searched = search(tmp_path)
    assert searched.files == 1 and searched.findings and not searched.unread
    assert not [finding for finding in searched.findings if value in str(finding)]


@pytest.mark.parametrize("write", WRITERS[:-1])
def test_others_are_not_found(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    write(tmp_path / "file", f"xzoe@school.cn2 1{ID} Zoë")
    assert search(tmp_path).findings == []


def test_numbers_are_found_in_columns_of_persons_alone(tmp_path: Path) -> None:
    for name in ("student_id", "score"):
        pq.write_table(pa.table({name: [ID]}), tmp_path / f"{name}.parquet")
    assert [finding.file for finding in search(tmp_path).findings] == ["student_id.parquet"]


def test_ids_of_people_are_found_wherever_the_lake_is(tmp_path: Path) -> None:
    """The column `id` of a table of people, also below a folder that is called lake by chance."""
    folder = tmp_path / "lake" / "campus" / "students" / "_school_id=101"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [ID]}), folder / "part.parquet")
    assert [finding.kind for finding in search(tmp_path).findings] == ["an id"]


def test_names_of_files_are_searched_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / f"marks of {MAIL}.txt").write_text("nothing")
    [finding] = search(tmp_path).findings
    assert finding.place == "its name" and MAIL not in str(finding)


def test_keys_of_json_are_searched_and_blanked(tmp_path: Path) -> None:
    path = tmp_path / "lessons.sqlite"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE lesson (marks TEXT)")
        con.execute("INSERT INTO lesson VALUES (?)", (json.dumps({str(ID): "late", NAME: 1}),))
    assert {finding.kind for finding in search(tmp_path).findings} >= {"a name", "an id"}
    assert forget_in_sqlite(path, Search([PERSON]), apply=True) == 1
    assert search(tmp_path).findings == []


def test_a_damaged_file_is_no_proof(tmp_path: Path) -> None:
    (tmp_path / "file.parquet").write_bytes(b"PAR1 and no more")
    assert search(tmp_path).unread


def test_words_in_sqlite_are_blanked_and_json_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    event = {"message": f"student {ID}: no {NAME}", "pid": ID, "partition": f"101:{ID}"}
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE event_logs (event TEXT)")
        con.execute("INSERT INTO event_logs VALUES (?)", (json.dumps(event),))
    assert forget_in_sqlite(path, Search([PERSON]), apply=True) == 1
    with closing(sqlite3.connect(path)) as con:
        [(text,)] = con.execute("SELECT event FROM event_logs").fetchall()
    assert json.loads(text) == {**event, "message": "student [forgotten]: no [forgotten]"}
    assert search(tmp_path).findings == []


def test_free_pages_of_records_are_dropped_without_a_change(tmp_path: Path) -> None:
    """Dagster deletes runs and leaves their text in the file."""
    path = tmp_path / "runs.db"
    _free_page(path, MAIL)
    assert search(tmp_path).findings
    assert forget_in_sqlite(path, Search([PERSON]), apply=True) == 0
    assert search(tmp_path).findings == []


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a new database."""
    with postgres() as server:
        yield server.url


def test_words_in_postgres_are_blanked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster's records of a district."""
    engine = sa.create_engine(url)
    event = json.dumps({"message": f"student {ID}: no {NAME}", "pid": ID})
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE event_logs (id serial PRIMARY KEY, event text)"))
        connection.execute(
            sa.text("INSERT INTO event_logs (event) VALUES (:event), ('{}')"), {"event": event}
        )
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", url)
    assert forget_in_dagster(Path("/nonexistent"), Search([PERSON]), apply=False) == 1
    assert forget_in_dagster(Path("/nonexistent"), Search([PERSON]), apply=True) == 1
    with engine.begin() as connection:
        texts = [row[0] for row in connection.execute(sa.text("SELECT event FROM event_logs ORDER BY id"))]
    engine.dispose()
    assert json.loads(texts[0]) == {"message": "student [forgotten]: no [forgotten]", "pid": ID}
    assert texts[1] == "{}"
    assert forget_in_dagster(Path("/nonexistent"), Search([PERSON]), apply=True) == 0


def test_postgres_is_searched_in_the_proof(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the rewriting does not reach: numbers of JSON, JSON columns and bytes."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE runs (id bigint, body text, tags jsonb, packed bytea)"))
        for values in (
            {"id": ID, "body": json.dumps({"pid": ID}), "tags": "{}", "packed": b"-"},
            {"id": 1, "body": f"mail {MAIL.upper()}", "tags": json.dumps({"student_id": ID}), "packed": None},
            {"id": 2, "body": "", "tags": "{}", "packed": gzip.compress(NAME.encode())},
        ):
            connection.execute(
                sa.text("INSERT INTO runs VALUES (:id, :body, CAST(:tags AS jsonb), :packed)"), values
            )
    engine.dispose()
    search_in_postgres(Search([PERSON]), nothing := Searched())
    assert nothing.tables == 0
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", url)
    search_in_postgres(Search([PERSON]), searched := Searched())
    assert sorted(map(str, searched.findings)) == [
        "Dagster's Postgres, runs.body: a number or an address",
        "Dagster's Postgres, runs.packed: a name",
        "Dagster's Postgres, runs.tags: an id",
    ]
    assert searched.tables == 1
    assert forget_in_dagster(Path("/nonexistent"), Search([PERSON]), apply=True) == 1
    search_in_postgres(Search([PERSON]), after := Searched())
    assert [finding.place for finding in after.findings] == ["runs.packed", "runs.tags"]


def test_words_in_capitals_are_blanked(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE t (a TEXT)")
        con.execute("INSERT INTO t VALUES (?)", (f"mail {MAIL.upper()}",))
    assert forget_in_sqlite(path, Search([PERSON]), apply=True) == 1
    assert search(tmp_path).findings == []


def test_numbers_of_a_delta_log_are_judged_by_column(tmp_path: Path) -> None:
    """A size, a partition, and the least room are no ids; the least id of a student is."""
    folder = tmp_path / "campus" / "students" / "_delta_log"
    folder.mkdir(parents=True)
    for number, (school, stats) in enumerate(
        ((101, {"room": ID}), (102, {"id": ID}), (101, {"id": ID}), (101, {"name": NAME}))
    ):
        add = {
            "path": f"_school_id={school}/_semester_id={ID}/part.parquet",
            "partitionValues": {"_semester_id": str(ID)},
            "size": ID,
            "stats": json.dumps({"minValues": stats}),
        }
        (folder / f"{number}.json").write_text(json.dumps({"add": add}))
        pq.write_table(pa.Table.from_pylist([{"add": add}]), folder / f"{number}.checkpoint.parquet")
    (folder / "_last_checkpoint").write_text(json.dumps({"size": ID}))
    findings = {
        (finding.file.split("/")[-1].split(".")[0], finding.kind) for finding in search(tmp_path).findings
    }
    assert findings == {("2", "an id"), ("3", "a name")}
    assert len({finding.file for finding in search(tmp_path).findings}) == 4
