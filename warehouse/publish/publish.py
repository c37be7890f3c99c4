"""The file that analysts open: built in private, then moved into place as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import parquet

from warehouse.age import PROVEN
from warehouse.files import flush, make_read_only, put_in_place
from warehouse.identifiers import literal
from warehouse.lake.logs.tables import STANDINGS, Log
from warehouse.lake.tables import TIMESTAMP, Column
from warehouse.load.logs.load_log import now
from warehouse.published.manifest import NAME

FILE = "campus.duckdb"
#: A marker file in a home: the next build starts from nothing, since free blocks of the published file may
#: still hold erased rows.
ANEW = "build_anew"

CHECK_RESULTS = Log(
    name="check_results",
    comment="Results of the checks of this file",
    label_zh="检查结果",
    columns=(
        Column("name", pa.string(), "Name of the check", label_zh="名称"),
        Column("model", pa.string(), "Model or table that is checked", label_zh="模型"),
        Column("status", pa.string(), "pass, warn, fail or error", label_zh="状态"),
        Column("failures", pa.int64(), "Rows that break the check", label_zh="违规行数", unit="rows"),
        Column("message", pa.string(), "Finding; null: none", label_zh="说明"),
        Column("checked_at", TIMESTAMP, "Time of the check", label_zh="检查时间"),
    ),
)
PUBLICATION = Log(
    name="publication",
    comment="Name, time and version of this file: one row",
    label_zh="发布信息",
    columns=(
        Column(
            "generation",
            pa.string(),
            "Name of the published file below generations/",
            label_zh="文件版本",
        ),
        Column("published_at", TIMESTAMP, "Time of publication", label_zh="发布时间"),
        Column(
            "models_version",
            pa.string(),
            "Version of the models and thresholds that built it",
            label_zh="模型版本",
        ),
        Column(
            "version",
            pa.string(),
            "Version of Campus Warehouse that published it, as in CHANGELOG.md",
            label_zh="软件版本",
        ),
    ),
)


@dataclass(frozen=True)
class Generation:
    """A published file below generations/; `name` is the time of its publication."""

    name: str
    path: Path


def record_checks(con: duckdb.DuckDBPyConnection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write results of checks into a file not yet published, and replace earlier results of these checks.

    `rows`: of CHECK_RESULTS; columns left out are null."""
    checked = [{"checked_at": now(), **row} for row in rows]
    con.register("checked", pa.Table.from_pylist(checked, schema=CHECK_RESULTS.lake_schema))
    con.execute("DELETE FROM quality.check_results WHERE name IN (SELECT name FROM checked)")
    con.execute("INSERT INTO quality.check_results FROM checked")


def publish(path: Path, home: Path, keep: int = 3, *, models_version: str | None = None) -> Generation:
    """Move the finished file to `home`/campus.duckdb; below generations/ it stays with the last `keep` files.

    `path` must be on the same file system as `home`. Readers that have the old file open keep its content;
    readers that open it after the move get the new file. A crash leaves either file whole.
    """
    (home / "generations").mkdir(parents=True, exist_ok=True)
    published_at = now()
    name = published_at.strftime(NAME)
    record_publication(path, name, published_at, models_version)
    make_read_only(path)
    generation = put_generation(path, home, name, keep)
    (home / ANEW).unlink(missing_ok=True)
    return generation


def put_generation(path: Path, folder: Path, name: str, keep: int) -> Generation:
    """Move a finished file to `folder`/campus.duckdb, and link it as `name` below generations/, which exists.

    The latest `keep` generations stay, this one included."""
    flush(path)
    generation = Generation(name, folder / "generations" / f"{name}.duckdb")
    generation.path.unlink(missing_ok=True)
    os.link(path, generation.path)
    path.replace(folder / FILE)
    flush(generation.path.parent)
    flush(folder)
    for old in generations(folder)[max(keep, 1) :]:
        old.path.unlink()
    return generation


def record_publication(
    path: Path, generation: str, published_at: datetime, models_version: str | None
) -> None:
    """Fill quality.publication of a finished file: the last write to the file."""
    with closing(duckdb.connect(str(path))) as con:
        con.execute("DELETE FROM quality.publication")
        con.execute(
            "INSERT INTO quality.publication VALUES (?, ?, ?, ?)",
            [generation, published_at, models_version, metadata.version("campus-warehouse")],
        )
        con.execute("CHECKPOINT")


def prove(home: Path, standings: Iterable[Mapping[str, Any]]) -> None:
    """Record beside the published file how the slices stood when the file last proved equal to the lake.

    `standings`: rows of `warehouse.load.logs.writer.standing_rows`. Without this record, data would seem to
    age over nights that change nothing."""
    generation = generation_of(home / FILE)
    schema = STANDINGS.row_schema.append(pa.field("generation", pa.string()))
    rows = pa.Table.from_pylist([{**row, "generation": generation} for row in standings], schema=schema)
    unfinished = home / f"{PROVEN}.{os.getpid()}"
    parquet.write_table(rows, unfinished)
    put_in_place(unfinished, home / PROVEN)


def generation_of(file: Path) -> str:
    """The generation of a published file. Raises duckdb.Error."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [(generation,)] = con.execute("SELECT generation FROM quality.publication").fetchall()
    name: str = generation
    return name


def proven(home: Path) -> list[dict[str, Any]]:
    """The standings that `prove` recorded for the file that is published now; none: the file is newer."""
    if not (home / PROVEN).exists():
        return []
    standings = f"read_parquet({literal(str(home / PROVEN))})"
    with closing(duckdb.connect(str(home / FILE), read_only=True)) as con:
        rows: list[dict[str, Any]] = (
            con.sql(f"FROM {standings} SEMI JOIN quality.publication USING (generation)")
            .to_arrow_table()
            .to_pylist()
        )
    return rows


def found_good_at(home: Path) -> float:
    """When the published file was made or last proved equal to the lake, in seconds since 1970; 0: there is
    none."""
    return max((file.stat().st_mtime for file in (home / FILE, home / PROVEN) if file.exists()), default=0.0)


@contextmanager
def hold_open(file: Path) -> Iterator[None]:
    """Hold a published file open during several queries, so that DuckDB opens it only once: opening takes
    longer than most queries. Errors of opening are left to the queries."""
    with ExitStack() as stack:
        with suppress(duckdb.Error):
            stack.enter_context(closing(duckdb.connect(str(file), read_only=True)))
        yield


def made_by(file: Path) -> str | None:
    """The models_version of a published file; None: the file is missing, damaged, or too old to have it."""
    if not file.exists():
        return None
    try:
        with closing(duckdb.connect(str(file), read_only=True)) as con:
            [publication] = con.sql("FROM quality.publication").to_arrow_table().to_pylist()
    except duckdb.Error:
        return None
    version: str | None = publication.get("models_version")
    return version


def generations(home: Path) -> list[Generation]:
    """The generations that are kept, the latest first."""
    paths = (home / "generations").glob("*.duckdb")
    return [Generation(path.stem, path) for path in sorted(paths, reverse=True)]
