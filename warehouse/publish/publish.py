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
from warehouse.lake.log_tables import STANDINGS, Log
from warehouse.lake.tables import TIMESTAMP, Column
from warehouse.load.load_log import now
from warehouse.published.manifest import NAME

FILE = "campus.duckdb"
#: In a home: the next build goes on from nothing, since rooms of the published file may hold what was
#: forgotten.
ANEW = "build_anew"

CHECK_RESULTS = Log(
    name="check_results",
    comment="Checks of the models, as of this file",
    label_zh="检查结果",
    columns=(
        Column("name", pa.string(), "Name of the check", label_zh="名称"),
        Column("model", pa.string(), "Model or table that it checks", label_zh="模型"),
        Column("status", pa.string(), "pass, warn, fail or error", label_zh="状态"),
        Column("failures", pa.int64(), "Rows that break it", label_zh="违例行数", unit="rows"),
        Column("message", pa.string(), "What it found", label_zh="说明"),
        Column("checked_at", TIMESTAMP, "When it ran", label_zh="检查时间"),
    ),
)
PUBLICATION = Log(
    name="publication",
    comment="What this file is: one row",
    label_zh="发布信息",
    columns=(
        Column(
            "generation",
            pa.string(),
            "Name of the published file, as below generations/",
            label_zh="文件版本",
        ),
        Column("published_at", TIMESTAMP, "When it was published", label_zh="发布时间"),
        Column(
            "models_version",
            pa.string(),
            "The models and thresholds that it was built by, a name for their state",
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
    """A published file that is kept; `name` is the time of its publication."""

    name: str
    path: Path


def record_checks(con: duckdb.DuckDBPyConnection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write results of checks into a file not yet published, in the place of their last ones; columns of
    CHECK_RESULTS left out are null."""
    checked = [{"checked_at": now(), **row} for row in rows]
    con.register("checked", pa.Table.from_pylist(checked, schema=CHECK_RESULTS.lake_schema))
    con.execute("DELETE FROM quality.check_results WHERE name IN (SELECT name FROM checked)")
    con.execute("INSERT INTO quality.check_results FROM checked")


def publish(path: Path, home: Path, keep: int = 3, *, models_version: str | None = None) -> Generation:
    """Move the finished file to `home`/campus.duckdb and keep it, with the last ones, below generations/.

    `path` must be on the same file system as `home`. Whoever has the old file open keeps its content; whoever
    opens it after the move sees the new one. A crash leaves the one or the other, whole.
    """
    (home / "generations").mkdir(parents=True, exist_ok=True)
    published_at = now()
    name = published_at.strftime(NAME)
    sealed(path, name, published_at, models_version)
    make_read_only(path)
    generation = put_generation(path, home, name, keep)
    (home / ANEW).unlink(missing_ok=True)
    return generation


def put_generation(path: Path, folder: Path, name: str, keep: int) -> Generation:
    """Move a finished file to `folder`/campus.duckdb, and keep it below generations/ (which is there) by its
    name. Of older generations `keep` stay, this one included."""
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


def sealed(path: Path, generation: str, published_at: datetime, models_version: str | None) -> None:
    """Write into a finished file what it is, the last that is ever written there."""
    with closing(duckdb.connect(str(path))) as con:
        con.execute("DELETE FROM quality.publication")
        con.execute(
            "INSERT INTO quality.publication VALUES (?, ?, ?, ?)",
            [generation, published_at, models_version, metadata.version("campus-warehouse")],
        )
        con.execute("CHECKPOINT")


def prove(home: Path, standings: Iterable[Mapping[str, Any]]) -> None:
    """Write down beside the published file how the slices stood (`log_writer.standing_rows`) when the lake
    was last seen to hold what the file does. Without it a night that changed nothing would leave the data as
    old as the file says."""
    generation = generation_of(home / FILE)
    schema = STANDINGS.row_schema.append(pa.field("generation", pa.string()))
    rows = pa.Table.from_pylist([{**row, "generation": generation} for row in standings], schema=schema)
    unfinished = home / f"{PROVEN}.{os.getpid()}"
    parquet.write_table(rows, unfinished)
    put_in_place(unfinished, home / PROVEN)


def generation_of(file: Path) -> str:
    """The name under which a file was published. Raises duckdb.Error."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [(generation,)] = con.execute("SELECT generation FROM quality.publication").fetchall()
    name: str = generation
    return name


def proven(home: Path) -> list[dict[str, Any]]:
    """The standings that `prove` wrote down of the file that is published now; none: it is newer."""
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


@contextmanager
def kept_open(file: Path) -> Iterator[None]:
    """Keep a published file open while several things are asked of it: DuckDB opens it once then, which takes
    longer than most answers. One that cannot be opened is left to whoever asks."""
    with ExitStack() as stack:
        with suppress(duckdb.Error):
            stack.enter_context(closing(duckdb.connect(str(file), read_only=True)))
        yield


def made_by(file: Path) -> str | None:
    """The models_version of a published file; None: there is no file, it is damaged, or it is from before
    that was written down."""
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
    """The files that are kept, latest first."""
    paths = (home / "generations").glob("*.duckdb")
    return [Generation(path.stem, path) for path in sorted(paths, reverse=True)]
