"""Compares each mart with a hand-written query for the same numbers, on the tables of a built file.

The query is what somebody who knows the school would write: thresholds are literals, and it ignores cases
that the benchmark's schools do not have (students without a class, a time without a semester).
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from warehouse.publish.models.dbt_project import Build, compiled

QUERIES = Path(__file__).parent / "queries"


@dataclass(frozen=True)
class Pair:
    """CPU seconds of a mart and of its hand-written query, round by round."""

    mart: str
    models: list[float]
    queries: list[float]

    @property
    def ratio(self) -> float:
        """The mart's cost divided by the query's: the least of each, because others use the machine."""
        return min(self.models) / min(self.queries)


def compare(build: Build, rounds: int) -> list[Pair]:
    """Run every pair alternately, and measure CPU seconds, because others use the machine.

    Raises AssertionError if mart and query disagree about a number."""
    pairs = []
    for file in sorted(QUERIES.glob("*.sql")):
        with duckdb.connect(config={"threads": 2, "memory_limit": build.memory_limit}) as con:
            con.execute(f"ATTACH '{build.home / 'campus.duckdb'}' AS campus (READ_ONLY)")
            con.execute("SET preserve_insertion_order = false")
            queries = {
                "model": compiled()["nodes"][f"model.campus.{file.stem}"]["compiled_code"],
                "query": _in_campus(file.read_text()),
            }
            pairs.append(_measure(con, file.stem, queries, rounds))
    return pairs


def _measure(con: duckdb.DuckDBPyConnection, mart: str, queries: Mapping[str, str], rounds: int) -> Pair:
    seconds: dict[str, list[float]] = {"model": [], "query": []}
    for _ in range(rounds):
        for side, query in queries.items():
            started = time.process_time()
            con.execute(f"CREATE OR REPLACE TEMP TABLE {side}_rows AS {query}")
            seconds[side].append(time.process_time() - started)
    _agree(con, mart)
    return Pair(mart, seconds["model"], seconds["query"])


def _agree(con: duckdb.DuckDBPyConnection, mart: str) -> None:
    """Compare the common columns row by row; decimals and doubles with two places."""
    columns = con.execute(
        "SELECT column_name, column_type FROM (DESCRIBE query_rows)"
        " SEMI JOIN (DESCRIBE model_rows) USING (column_name)"
    ).fetchall()
    shown = ", ".join(
        f"round({name}::DOUBLE, 2)" if kind.startswith(("DOUBLE", "DECIMAL", "HUGEINT")) else name
        for name, kind in columns
    )
    differ = con.execute(
        f"SELECT (SELECT count(*) FROM (SELECT {shown} FROM query_rows"
        f" EXCEPT ALL SELECT {shown} FROM model_rows)),"
        " (SELECT count(*) FROM model_rows) - (SELECT count(*) FROM query_rows)"
    ).fetchone()
    assert differ == (0, 0), f"{mart}: other rows than the query's, more rows: {differ}"


def _in_campus(query: str) -> str:
    """Qualify the file's tables, for a connection that attaches the file."""
    return re.sub(r"\b(raw|core|marts|quality)\.", r"campus.\1.", query)
