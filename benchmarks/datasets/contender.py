"""One contender in a process of its own: its work is timed without the interpreter's start and the imports.

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
    """Run it and print what it took and where the rows are."""
    module, function = sys.argv[1].split(":")
    work = getattr(importlib.import_module(f"benchmarks.datasets.{module}"), function)
    job = Job(**json.loads(sys.argv[2]))
    started, cpu = time.monotonic(), cpu_seconds()
    loaded = work(job)
    took = {"seconds": time.monotonic() - started, "cpu": cpu_seconds() - cpu}
    print(json.dumps(took | asdict(loaded)))


def cpu_seconds() -> float:
    """User and system time of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
