"""Datasets read by `campus` alone, from a platform in this process: quick to try any reading with."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow as pa

from campus.account import Drift
from campus.datasets.layout import Layout, plan_layout
from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Source, Span, read_whole_segment
from campus.datasets.type_inference import decide, first_rows, needs_values
from campus.decoding.definition import Decided, Definition, parse_definition
from campus.decoding.inferred_contract import columns_of, contract_of, key_fields
from campus.decoding.inferred_contract import primary_key as key_columns
from campus.fetch.reader import Reader
from campus.http.client import Client, segment
from campus.http.config import ClientConfig
from campus.http.errors import CampusError
from campus.registry import DATASET_FIELDS, DATASET_RELATIONS, DATASETS
from campus.sources.gathered import Collector
from simulator.app import Application
from simulator.control.true_rows import entries
from simulator.http.faults import FaultPlan
from simulator.readings import Readings
from simulator.settings import Access, Settings, Size
from tests.kits.platforms.app_engine import AppEngine

SCHOOL = 101
SMALL = Size(schools=1, students=24, semesters=1, dataset_rows=300)
OURS = ("_extra", "_row")


@dataclass
class Local:
    """A platform in this process, and what it has been asked."""

    app: Application
    targets: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, size: Size = SMALL, **options: Any) -> "Local":
        """A platform with these options of simulator.settings.Readings, and perhaps `token_lifetime`."""
        access = Access(token_lifetime=options.pop("token_lifetime", 7200))
        return cls(Application(Settings(size, access, Readings(**options)), FaultPlan()))

    def rows(self, resource: str) -> Sequence[Mapping[str, Any]]:
        """As RunningSimulator.rows gives them."""
        sent = msgspec.json.encode(entries(self.app.platform, resource, SCHOOL, None, None))
        return list(json.loads(sent, parse_float=Decimal))

    def insert(self, resource: str, **values: Any) -> None:
        self.app.platform.datasets.insert(SCHOOL, resource, values)

    def add_dataset(self, name: str, *fields: Mapping[str, Any]) -> None:
        """A dataset without rows; `insert("datasets/NAME", ...)` adds some."""
        self.insert("datasets", name=name, last_updated_at=None)
        for position, values in enumerate(fields, 1):
            self.insert(
                "dataset_fields", **{"dataset": name, "position": position, "primary": False} | values
            )

    def note_target(self, method: str, target: str) -> None:
        """Note the target of a GET."""
        if method == "GET":
            self.targets.append(target)

    def asked(self, part: str) -> list[str]:
        """The targets so far that have a part in them."""
        return [target for target in self.targets if part in target]


@contextmanager
def client_of(local: Local, **settings: Any) -> Iterator[Client]:
    """A client of this platform alone; open it where it is used."""
    quick = {"max_attempts": 2, "backoff_base": 0.001, **settings}
    config = ClientConfig("http://platform", "demo-client", "demo-secret", **quick)
    with patch("campus.http.exchange.open_engine", lambda _: AppEngine(local.app, local.note_target)):
        yield Client(config, [DATASETS.scopes])


@dataclass
class Found:
    """What reading a dataset came to. `segments`: None where it is read by pages. `told`: what an operator
    would be told, or nothing."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    segments: tuple[int, ...] | None = None
    told: str = ""
    drift: Counter[Drift] = field(default_factory=Counter)
    bad: int = 0


def read_all(local: Local, width: int = 250_000) -> dict[str, Found]:
    """Every dataset of the school in full, its rows by the platform's names of the fields."""
    return asyncio.run(_read_all(local, width))


async def _read_all(local: Local, width: int) -> dict[str, Found]:
    with client_of(local) as client:
        async with client:
            offered = await _offered(client)
            definitions = [await _decided(client, offered, sent) for sent in offered.definitions.values()]
            return {
                definition.name: await _read(client, offered, definition, width) for definition in definitions
            }


async def _offered(client: Client) -> OfferedDatasets:
    specs = (DATASETS, DATASET_FIELDS, DATASET_RELATIONS)
    return await read_datasets(Reader(client, SCHOOL, DATASETS.scopes), *(Collector(spec) for spec in specs))


def source_of(definition: Definition, prefix: str | None = "/v3", **params: str) -> Source:
    """The records of a dataset of the school."""
    return Source(
        f"{prefix}{DATASETS.path}/{segment(definition.name)}/records",
        contract_of(definition),
        key_columns(definition),
        tuple(key_field.name for key_field in key_fields(definition)),
        params,
    )


async def _decided(client: Client, offered: OfferedDatasets, sent: bytes) -> Definition:
    """A definition with what its first page shows, as the discovery has it."""
    definition = parse_definition(sent)
    if not needs_values(definition, Decided()):
        return definition
    rows = await first_rows(
        Reader(client, SCHOOL, DATASETS.scopes), source_of(definition, offered.prefix).path, {}
    )
    return parse_definition(sent, {definition.name: decide(definition, Decided(), rows)})


async def _read(client: Client, offered: OfferedDatasets, definition: Definition, width: int) -> Found:
    reading = Found()
    batches: list[pa.RecordBatch] = []
    source = source_of(definition, offered.prefix)
    told = []
    try:
        layout = await plan_layout(Reader(client, SCHOOL, DATASETS.scopes), source, None, width, 500)
        reading.segments = layout.segments if layout.width else None
        async for read in _readings(client, source, layout, batches):
            account = read.account
            reading.drift.update(account.drift)
            reading.bad += len(account.bad)
            told += account.proofs
            if account.server_total not in (None, account.received):
                told.append(f"the platform says {account.server_total}, read {account.received}")
            assert account.complete or account.proofs, "a reading that is not whole must say so"
    except CampusError as error:
        told.append(str(error))
    reading.told = "; ".join(told)
    wire = {column: name for name, column in columns_of(definition).items()}
    reading.rows = [
        {wire[column]: value for column, value in row.items() if column not in OURS}
        for batch in batches
        for row in batch.to_pylist()
    ]
    return reading


async def _readings(
    client: Client, source: Source, layout: Layout, batches: list[pa.RecordBatch]
) -> AsyncIterator[RecordsRead]:
    if layout.width is None:
        with TemporaryDirectory() as folder:
            yield await read_pages(
                Reader(client, SCHOOL, DATASETS.scopes), source, 10_000, batches.append, Path(folder)
            )
        return
    for number in layout.segments:
        span = Span.of(number, layout.width)
        reader = Reader(client, SCHOOL, DATASETS.scopes)
        yield await read_whole_segment(reader, source, span, 10_000, batches.append)
