"""A home that lives through a scenario, and what holds after each night, whatever changes and fails."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import httpx
import pyarrow as pa
from deltalake import DeltaTable

from loading.connection.connected import forget_capabilities
from loading.tables import TABLES
from pipelines.settings.options import DatasetOptions
from tests.kits.scenarios.scenario import Change, Night, Scenario
from tests.kits.truth import lake_truth
from tests.kits.worlds import dataset_world
from tests.kits.worlds.world import BASE_ONLY, Load, World, differences
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Stored
from warehouse.load.logs.dataset_plans import DATASET_PLANS, dataset_tables

SCHOOL = 101
SELECTIONS = {"base data": BASE_ONLY, "datasets": dataset_world.ONLY_DATASETS, "everything": None}
#: Counts of the load log that an unchanged platform leaves at zero.
MOVED = ("new", "changed", "returned", "deleted", "vanished")
#: When a row was loaded says nothing of the row.
LOADED_AT = "_synced_at"


def options_of(scenario: Scenario) -> dict[str, Any]:
    """The options of a world for the scenario."""
    dated = {} if scenario.days_ago is None else {"today": date.today() - timedelta(scenario.days_ago)}
    return {"datasets": scenario.tables != "base data", **scenario.options, **dated}


class Reader:
    """A reader of the lake, who has opened the tables of the platform's rows."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        tables: list[Stored] = [*TABLES.values(), *dataset_tables(lake), DATASET_PLANS]
        self._opened = {table.name: (table, lake.open(table)) for table in tables if lake.holds(table)}
        self._rows = {name: self._read(*opened) for name, opened in self._opened.items()}

    def disturbed(self) -> list[str]:
        """The tables that no longer give this reader the rows that they gave."""
        return [name for name, opened in self._opened.items() if self._read(*opened) != self._rows[name]]

    def versions(self) -> Mapping[str, int]:
        """The version of each table: it grows with every commit."""
        return {name: opened.version() for name, (_, opened) in self._opened.items()}

    def rows(self) -> Mapping[str, Counter[str]]:
        """The rows of each table, tombstones too."""
        return {
            name: Counter(repr({**row, LOADED_AT: None}) for row in rows.to_pylist())
            for name, rows in self._rows.items()
        }

    def _read(self, table: Stored, opened: DeltaTable) -> pa.Table:
        return self._lake.scan(table, opened, table.lake_schema.names)


class Home:
    """A home beside the platform of a scenario."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self._scenario, self._world = scenario, world
        if scenario.datasets:
            datasets = {"datasets": DatasetOptions(**scenario.datasets)}
            options = world.settings.options.model_copy(update=datasets)
            world.settings = world.settings.model_copy(update={"options": options})
        self._reader = Reader(world.lake)
        #: Readers from before and after each night, until a night without problems.
        self._unproven: list[tuple[Reader, Reader]] = []

    def live(self) -> None:
        """Spend the nights between two unchanged nights, of which the last sends no further request."""
        for night in self._scenario.first_nights:
            self._spend(night)
        requests = self._spend_unchanged()
        for night in self._scenario.nights:
            self._spend(night)
        needless = self._spend_unchanged() - requests
        assert not needless, f"an unchanged night sends more requests than before: {needless}"

    def _spend_unchanged(self) -> Counter[str]:
        """The requests of a night that finds nothing changed."""
        if self._unproven:
            self._spend(Night("all is well again"))
        before = self._reader.versions()
        load, requests = self._load(Night("nothing changes"))
        assert load.problems == []
        assert not (moved := {name: load.total(name) for name in MOVED if load.total(name)}), moved
        assert not (commits := self._reader.versions().items() - before.items()), commits
        # Rows that have come may need a further page.
        return Counter(_shape(request) for request in requests if request["query"].get("page", "1") == "1")

    def _spend(self, night: Night) -> None:
        """Change the platform, load, and compare the lake with the platform."""
        parent = [self._apply(change) for change in night.changes][-1] if night.changes else None
        before = self._reader
        load, _ = self._load(night, parent)
        _check_problems(load.problems, night, parent, self._differences())
        assert not [row for row in load.log if row["resource"] in night.incremental and row["whole"]]
        self._unproven.append((before, self._reader))
        if not load.problems:
            self._prove()

    def _load(self, night: Night, parent: int | None = None) -> tuple[Load, list[dict[str, Any]]]:
        """The load of a night and its requests."""
        platform, before = self._world.platform, self._reader
        if night.forgets_capabilities:
            forget_capabilities(self._world.home)
        faults = [{**fault, "path": fault.get("path", "*").format(parent=parent)} for fault in night.faults]
        platform.clear_log()
        platform.set_faults(*faults, seed=night.seed)
        load = self._world.load(select=SELECTIONS[self._scenario.tables], full=night.full)
        requests = platform.log()
        platform.set_faults()
        _check_requests(requests, faults)
        _check_balance(load)
        self._reader = Reader(self._world.lake)
        assert before.disturbed() == []
        return load, requests

    def _apply(self, change: Change) -> int:
        """Change a row of the platform, and return the row's parent."""
        platform, resource = self._world.platform, change.resource
        row = [row for row in platform.rows(resource, SCHOOL) if not row["trashed"]][change.number]
        parent = SCHOOL if resource.startswith("datasets/") else int(row["parent"])
        match change.operation:
            case "insert":
                platform.insert(resource, parent, **change.values)
            case "update":
                platform.update(resource, row["key"], parent=parent, **change.values)
            case "destroy":
                platform.destroy(resource, row["key"], parent=parent)
        return parent

    def _differences(self) -> Mapping[str, str]:
        """By table, how the lake differs from the platform."""
        world = self._world
        if self._scenario.tables == "base data":
            return differences(world)
        if self._scenario.tables == "datasets":
            return dataset_world.differences(world)
        with httpx.Client(base_url=world.platform.base_url, trust_env=False, timeout=60) as answers:
            return lake_truth.all_differences(world, dict(self._scenario.options), answers, (), ())

    def _prove(self) -> None:
        """After a night without problems: a row that a night before did not load stayed as it had been."""
        loaded = self._reader.rows()
        while self._unproven:
            before, after = (reader.rows() for reader in self._unproven.pop())
            for table, rows in after.items():
                earlier = before.get(table, Counter[str]())
                assert earlier & loaded[table] <= rows <= earlier | loaded[table], table


def _check_problems(
    problems: Sequence[str], night: Night, parent: int | None, differences: Mapping[str, str]
) -> None:
    """The problems are named with the night's phrases, and each table that differs is named in a problem."""
    message = "\n".join(problems)
    assert [name for name in differences if name not in message] == [], (differences, problems)
    if night.differing is not None:
        assert differences.keys() == {*night.differing}, (differences, problems)
    if night.phrases is not None:
        phrases = [phrase.format(parent=parent) for phrase in night.phrases]
        assert [phrase for phrase in phrases if phrase not in message] == [], problems
        assert [text for text in problems if not any(phrase in text for phrase in phrases)] == [], problems


def _check_balance(load: Load) -> None:
    """Each row that came is accounted for; of a whole slice, the platform counts as many."""
    for row in load.log:
        if row["received"]:
            assert row["received"] == row["loaded"] + row["duplicates"], row
            assert row["loaded"] == row["unchanged"] + sum(row[name] or 0 for name in MOVED[:-1]), row
        assert not row["quarantined"], row
        if row["status"] == "ok":
            assert row["complete"], row
            assert not row["whole"] or row["server_total"] in (None, row["received"] - row["duplicates"]), row


def _check_requests(requests: Sequence[Mapping[str, Any]], faults: Sequence[Mapping[str, Any]]) -> None:
    """Each fault has struck. Without faults, no request is sent twice, and none for another school."""
    struck = [(request["fault"], request["status"]) for request in requests if request["fault"]]
    for fault in faults:
        assert any((fault["kind"], fault.get("status", status)) == (kind, status) for kind, status in struck)
    assert {request["school"] for request in requests} <= {str(SCHOOL), ""}
    sent = [request for request in requests if not request["path"].endswith("/tokens")]
    counts = Counter((request["path"], *sorted(request["query"].items())) for request in sent)
    assert faults or counts.total() == len(counts), counts.most_common(1)


def _shape(request: Mapping[str, Any]) -> str:
    """A request without ids, and its parameters without values."""
    return f"{request['method']} {re.sub(r'[0-9]+', '*', request['path'])} {sorted(request['query'])}"
