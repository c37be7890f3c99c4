"""A job for workers: it says where it is, and goes on until it is let."""

import os
import time
from pathlib import Path

import dagster as dg


@dg.op(config_schema={"folder": str})
def held(context: dg.OpExecutionContext) -> None:
    """Write the process's id into the folder, then wait for the file `go`; with the file `fail`, fail."""
    folder = Path(context.op_config["folder"])
    with (folder / f"{context.run_id}.begun").open("a") as begun:
        begun.write(f"{os.getpid()}\n")
    if (folder / "fail").exists():
        raise RuntimeError("as the test asks")
    while not (folder / "go").exists():
        time.sleep(0.1)


@dg.job(executor_def=dg.in_process_executor)
def held_job() -> None:
    """One step that is held."""
    held()
