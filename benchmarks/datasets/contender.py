"""Runs one contender in a separate process. Its time excludes the interpreter's start, the imports, and
`prepare` of its module.

`python -m benchmarks.datasets.contender MODULE:FUNCTION JOB`, JOB as JSON; prints JSON.
"""

import importlib
import json
import os
import sys
import time
from dataclasses import asdict

from benchmarks.datasets.source import Job


def main() -> None:
    """Run the contender; print its figures and the place of the rows."""
    name, function = sys.argv[1].split(":")
    module = importlib.import_module(f"benchmarks.datasets.{name}")
    work, prepare = getattr(module, function), getattr(module, "prepare", None)
    job = Job(**json.loads(sys.argv[2]))
    if prepare:
        prepare(job)
    started, cpu = time.monotonic(), cpu_seconds()
    loaded = work(job)
    took = {"seconds": time.monotonic() - started, "cpu": cpu_seconds() - cpu}
    print(json.dumps(took | asdict(loaded)))


def cpu_seconds() -> float:
    """User and system time of this process and of its ended children."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
