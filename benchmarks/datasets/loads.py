"""The contenders. Each load runs in a separate process, into a new folder, and its rows are checked."""

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import measure
from benchmarks.datasets.source import Job

DLT = str(Path(__file__).parents[2] / ".venv-bench" / "bin" / "python")

Sums = dict[str, str]


@dataclass(frozen=True)
class Figures:
    """The cost of a load. `cpu`: seconds of all its processes; `peak`: MB; `phases`: seconds of each."""

    rows: int
    seconds: float
    cpu: float
    peak: float
    phases: dict[str, float]


@dataclass(frozen=True)
class Contender:
    """`work`: module:function below this folder. `rows`: the option with its number of rows."""

    name: str
    work: str
    python: str = sys.executable
    rows: str = "rows"


FLOOR = Contender("floor", "plain:floor")
CONTENDERS = (
    FLOOR,
    Contender("sync, lake", "by_sync:to_lake"),
    Contender("sync, table", "by_sync:to_table"),
    Contender("loop", "plain:loop"),
    Contender("loop, typed", "plain:typed_loop"),
    Contender("dlt, Arrow", "by_dlt:arrow", DLT),
    Contender("dlt, rest_api, Parquet", "by_dlt:rest_api_parquet", DLT, "rest_rows"),
    Contender("dlt, rest_api, default", "by_dlt:rest_api", DLT, "values_rows"),
)


def truth(rows: int, settings: dict[str, str]) -> Sums:
    """The sums of the platform's first rows."""
    command = [sys.executable, "-m", "benchmarks.datasets.check", "truth", str(rows)]
    return dict(json.loads(measure.run(command, os.environ | settings)[0]))


def load(contender: Contender, sums: Sums, in_flight: int, settings: dict[str, str]) -> Figures:
    """Load the rows with these sums. Raises AssertionError if the loaded rows differ."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(last_id=int(sums["last_id"]), in_flight=in_flight, folder=folder)
        of_dlt = {"DLT_DATA_DIR": f"{folder}/dlt", "RUNTIME__DLTHUB_TELEMETRY": "false"}
        environment = os.environ | settings | of_dlt
        command = [contender.python, "-m", "benchmarks.datasets.contender", contender.work]
        printed, peak = measure.run([*command, json.dumps(asdict(job))], environment)
        result: dict[str, Any] = json.loads(printed.splitlines()[-1])
        database, relation = result.pop("database"), result.pop("relation")
        if relation:
            command = [contender.python, "-m", "benchmarks.datasets.check", "loaded", database, relation]
            loaded = json.loads(measure.run(command, environment)[0])
            assert loaded == sums, f"{contender.name}: {loaded}, but the platform has {sums}"
    return Figures(rows=int(sums["rows"]), peak=peak, **result)
