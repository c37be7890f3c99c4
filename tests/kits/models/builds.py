"""What a build of the models left, and how to ask for one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from tests.kits.models.raw_tables import Rows
from warehouse.publish.models.dbt_project import compiled

PROJECT = Path(__file__).parents[3] / "warehouse" / "dbt"


@dataclass(frozen=True)
class Build:
    """What a build left: the file, and each node's status and failing rows by its name."""

    file: Path
    statuses: Mapping[str, str]
    failures: Mapping[str, int | None]

    @property
    def problems(self) -> dict[str, str]:
        """What stands in the way of a publication."""
        return {name: status for name, status in self.statuses.items() if status in ("error", "fail")}

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """One for all queries: to open the file takes longer than most of them."""
        return duckdb.connect(str(self.file), read_only=True)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query on the file."""
        return self._connection.execute(query).fetchall()


Builder = Callable[[str, Mapping[str, Rows] | Path], Build]


def broken_by() -> dict[str, list[str]]:
    """The statements by which a model's yml breaks each of its checks, by `schema.model`, core first."""
    models = (node for node in compiled()["nodes"].values() if node["resource_type"] == "model")
    said = {
        f"{model['schema']}.{model['name']}": model["config"]["meta"].get("broken_by", []) for model in models
    }
    return dict(sorted(said.items()))
