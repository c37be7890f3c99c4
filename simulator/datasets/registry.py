"""All datasets of all schools, and the changes by tests.

Tests name rows by resource and key: `datasets`, `dataset_fields` and `dataset_relations` are the metadata,
and `datasets/course_scores` are the rows of a dataset. Keys are per school.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from simulator.datasets import metadata
from simulator.datasets.catalog import BY_NAME
from simulator.datasets.definitions import World
from simulator.datasets.metadata import METADATA, OWNER
from simulator.datasets.table import Handle, Table
from simulator.messages import Problem
from simulator.school.rows import Values
from simulator.store.store import Store

ROWS = "datasets/"  # before the name of a dataset


@dataclass(frozen=True, eq=False)
class Description:
    """The current state of a dataset: its metadata by name, and its rows. Each change makes a new object."""

    school_id: int
    name: str
    about: Values
    fields: dict[str, Values]
    relations: dict[str, Values]
    table: Table

    @property
    def integer_key(self) -> str | None:
        """The name of the primary key where that is one integer."""
        primary = [name for name, field in self.fields.items() if field["primary"]]
        return primary[0] if len(primary) == 1 and self.fields[primary[0]]["type"] == "integer" else None

    @property
    def has_segments(self) -> bool:
        """Whether the dataset takes id_egt and id_elt."""
        made = BY_NAME.get(self.name)
        return made is None or made.has_segments


class Datasets:
    """The tables of metadata and rows, made at the first request for a school."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._school = lru_cache(maxsize=None)(self._make)
        self._described = lru_cache(maxsize=256)(self._describe)

    def names(self, school_id: int) -> list[str]:
        """The datasets of a school, in order."""
        table = self._school(school_id)["datasets"]
        return [table.value(row, "name") for row in table.select(None, None, ())]

    def find(self, school_id: int, name: str) -> Description:
        """The current state of a dataset, or 404."""
        described = self._described(school_id, name, self._store.version)
        if described is None:
            raise Problem(404, f"no such dataset: {name}")
        return described

    def table(self, school_id: int, resource: str) -> Table:
        """The table of a resource name of tests, or 404."""
        if resource in METADATA:
            return self._school(school_id)[resource]
        return self.find(school_id, resource.removeprefix(ROWS)).table

    def insert(self, school_id: int, resource: str, values: Values, *, first: bool = False) -> Handle:
        """Add a copy of the neighbouring row with these values, or minimal metadata with these values."""
        table = self.table(school_id, resource)
        now = self._store.tick()
        if resource in METADATA:
            owner = values.get(OWNER, "")
            position = 1 + max(
                (field["position"] for field in self._metadata("dataset_fields", school_id, owner)), default=0
            )
            touched = _touched(table.columns, now)
            return table.insert(
                lambda key: {**metadata.identity(resource, key, position), **touched, **values}, first=first
            )
        described = self._changing(school_id, resource, values, now)
        touched = _touched(described.fields, now)
        return table.insert(lambda key: {**_new_key(described, key), **touched, **values}, first=first)

    def update(
        self, school_id: int, resource: str, key: int, values: Values, *, touch: bool = True
    ) -> Handle:
        """Set any values. `touch` moves the row's updated_at, as the platform would."""
        table = self.table(school_id, resource)
        now = self._store.tick()
        names: Container[str] = table.columns
        if resource not in METADATA:
            names = self._changing(school_id, resource, values, now).fields
        return table.update(key, (_touched(names, now) if touch else {}) | values)

    def destroy(self, school_id: int, resource: str, key: int) -> Handle:
        """Delete a row for good; datasets have no soft deletion."""
        table = self.table(school_id, resource)
        row = table.destroy(key)
        now = self._store.tick()
        if resource not in METADATA:
            self._changing(school_id, resource, {}, now)
        return row

    def _changing(self, school_id: int, resource: str, values: Values, now: str) -> Description:
        """The dataset to change; 422 for values of unknown fields."""
        described = self.find(school_id, resource.removeprefix(ROWS))
        unknown = values.keys() - described.fields.keys()
        if unknown:
            raise Problem(
                422,
                f"{described.name} has no field {', '.join(sorted(unknown))}: insert a dataset_fields row",
            )
        if described.about["last_updated_at"] is not None:
            self._school(school_id)["datasets"].update(described.about["id"], {"last_updated_at": now})
            # A description made since the tick has the earlier time.
            self._store.version += 1
        return described

    def _make(self, school_id: int) -> dict[str, Table]:
        size = self._store.size
        made: dict[str, Table] = {}
        last_updates: dict[str, str | None] = {}
        students = sorted(
            (row for row in self._store.rows("students", school_id) if row.deleted_at is None),
            key=lambda row: row.key,
        )
        for name, dataset in BY_NAME.items():
            world = World(
                rng=Random(f"{size.seed}/dataset/{school_id}/{name}"),
                students=students,
                semester_ids=self._store.semester_ids(school_id),
                today=size.today,
                rows=size.dataset_rows,
                gap=size.dataset_gap,
                fresh=size.dataset_fresh,
            )
            columns = dataset.columns(world)
            length = max(map(len, columns.values()))
            keys = columns[dataset.integer_key] if dataset.integer_key else range(1_001, 1_001 + length)
            made[ROWS + name] = Table(keys, columns)
            moments = columns["updated_at"] if dataset.tells_last_update else ()
            last_updates[name] = max((moments[p] for p in range(len(moments))), default=None)
        return made | metadata.tables(size, school_id, last_updates)

    def _describe(self, school_id: int, name: str, _version: int) -> Description | None:
        school = self._school(school_id)
        about = [row for row in _all(school["datasets"]) if row["name"] == name]
        if not about:
            return None
        fields = sorted(
            self._metadata("dataset_fields", school_id, name), key=lambda field: field["position"]
        )
        relations = self._metadata("dataset_relations", school_id, name)
        return Description(
            school_id,
            name,
            about[0],
            {field["name"]: field for field in fields},
            {relation["name"]: relation for relation in relations},
            school.setdefault(ROWS + name, Table([], {})),  # a dataset that a test inserted
        )

    def _metadata(self, resource: str, school_id: int, owner: str) -> Sequence[Values]:
        rows = (row for row in _all(self._school(school_id)[resource]) if row[OWNER] == owner)
        return [{name: value for name, value in row.items() if name != OWNER} for row in rows]


def _all(table: Table) -> list[Values]:
    return [table.values(row) for row in table.select(None, None, ())]


def _touched(names: Container[str], now: str) -> Values:
    """The time of a change, for rows with such a field."""
    return {"updated_at": now} if "updated_at" in names else {}


def _new_key(described: Description, key: int) -> Values:
    """The values of the primary key of a new row."""
    primary = [field for field in described.fields.values() if field["primary"]]
    return {field["name"]: key if field["type"] == "integer" else f"NEW-{key}" for field in primary}
