"""The identity of a district's lake: an id in Postgres and at the lake's root. No process loads another lake.

A copy of a lake has the same id. So Postgres also stores the lake's root, which every machine has as
CAMPUS_LAKE."""

import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError
from sqlalchemy import Connection, text

from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError
from pipelines.shared.database import engine_of, make_table
from warehouse.lake.delta import Lake

#: The file at the lake's root with the id.
NAME = "campus.lake"
#: Logged, unlike campus_shared: nothing else records which lake the district has.
TABLE = """
    CREATE TABLE IF NOT EXISTS campus_lake (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        id text NOT NULL, root text NOT NULL, host text NOT NULL, since timestamptz NOT NULL DEFAULT now()
    )
"""
EXISTS = "SELECT to_regclass('campus_lake') IS NOT NULL"
READ = "SELECT id, root, host, since FROM campus_lake"
CLAIM = "INSERT INTO campus_lake (id, root, host) VALUES (:id, :root, :host) ON CONFLICT DO NOTHING"
REPLACE = """
    INSERT INTO campus_lake (id, root, host) VALUES (:id, :root, :host)
    ON CONFLICT (only_row) DO UPDATE
    SET id = excluded.id, root = excluded.root, host = excluded.host, since = now()
"""
#: The lock under which the table is created.
TABLE_LOCK = 0x63616D6C616B65
NEW_LAKE = "If this lake is meant, stop all workers, then run `campus district use-lake` on this machine."


@dataclass(frozen=True)
class DistrictLake:
    """The lake of a district, as recorded in Postgres."""

    id: str
    root: str
    #: The machine that recorded the lake, and when.
    host: str
    since: datetime


def check_lake(settings: Settings, lake: Lake, *, claim: bool = False) -> None:
    """Compare the lake of these settings with the lake of the district.

    `claim`: make this lake the district's if the district has none yet. Raises SettingsError if the lakes
    differ, and SQLAlchemyError or OSError if Postgres or the lake's store is away."""
    url = settings.postgres_address
    if url is None:
        return
    with _transaction(url) as connection:
        district = _district_lake(connection)
    id = _id_of(lake)
    if district is None:
        if not claim:
            return
        id = id or _give_id(lake)
        # If two processes start at once, only the first claim counts.
        with _transaction(url) as connection:
            _write(connection, CLAIM, lake, id)
            district = _district_lake(connection)
    assert district is not None
    problem = _difference(settings, lake, id, district)
    if problem is not None:
        raise SettingsError([problem])


def use_lake(settings: Settings, lake: Lake) -> DistrictLake | None:
    """Make the lake of these settings the district's, under a new id: copies of the lake keep the old id.

    Returns the district's former lake, if any. Raises SettingsError without Postgres."""
    url = settings.postgres_address
    if url is None:
        raise SettingsError([f"{POSTGRES_URL} is not set: only a district records its lake"])
    with _transaction(url) as connection:
        before = _district_lake(connection)
        id = uuid.uuid4().hex
        _write(connection, REPLACE, lake, id)
        # Before the commit, so that Postgres stays unchanged if the lake's store is away.
        obstore.put(lake.objects, NAME, id.encode())
    return before


def _difference(settings: Settings, lake: Lake, id: str | None, district: DistrictLake) -> str | None:
    """A message about how this lake differs from the district's lake; None: both are the same."""
    if settings.lake is None:
        local = f"{lake.root} (CAMPUS_LAKE is not set, so the lake is in CAMPUS_HOME)"
    else:
        local = f"{lake.root} (CAMPUS_LAKE in {settings.lake_from or 'the environment'})"
    recorded = f"{district.root} (recorded in Postgres by {district.host} on {district.since:%Y-%m-%d %H:%M})"
    nothing = "Nothing was read or written."
    if lake.root != district.root and id == district.id:
        return (
            f"The lake of this machine, {local}, is the district's lake under another name, or a copy of it. "
            f"The district's lake is {recorded}. {nothing} Set CAMPUS_LAKE={district.root} here. If the lake "
            f"was moved, set the new CAMPUS_LAKE on all machines. {NEW_LAKE}"
        )
    if lake.root != district.root:
        return (
            f"The lake of this machine, {local}, is not the district's lake, {recorded}. {nothing} Set "
            f"CAMPUS_LAKE={district.root} in the .env of this machine. {NEW_LAKE}"
        )
    if id is None:
        return (
            f"The lake of this machine, {local}, lacks the id of the district's lake, {recorded}. Its disk "
            f"is not mounted here, or the lake was emptied or restored. {nothing} Mount the disk, or restore "
            f"the lake. {NEW_LAKE}"
        )
    if id != district.id:
        return (
            f"The lake of this machine, {local}, has another id than the district's lake, {recorded}. "
            f"Another disk is mounted here, or the lake was replaced. {nothing} Mount the right disk. "
            f"{NEW_LAKE}"
        )
    return None


@contextmanager
def _transaction(url: str) -> Iterator[Connection]:
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _district_lake(connection: Connection) -> DistrictLake | None:
    if not connection.execute(text(EXISTS)).scalar():
        return None
    row: Any = connection.execute(text(READ)).one_or_none()
    return None if row is None else DistrictLake(*row)


def _write(connection: Connection, statement: str, lake: Lake, id: str) -> None:
    make_table(connection, TABLE, TABLE_LOCK)
    connection.execute(text(statement), {"id": id, "root": lake.root, "host": socket.gethostname()})


def _id_of(lake: Lake) -> str | None:
    """The id at the root of a lake, if any. Creates no folder."""
    if not lake.is_remote and not Path(lake.root).is_dir():
        return None
    try:
        return bytes(obstore.get(lake.objects, NAME).bytes()).decode(errors="replace")
    except FileNotFoundError:
        return None


def _give_id(lake: Lake) -> str:
    """Give a lake an id, and return the id. If another process was first, its id stays and is returned."""
    id = uuid.uuid4().hex
    try:
        obstore.put(lake.objects, NAME, id.encode(), mode="create")
    except AlreadyExistsError:
        return _id_of(lake) or id
    return id
