"""The program of a run's container: `python -m pipelines.district.kubernetes.run_program COMMAND...`.

COMMAND is Dagster's own. This process executes COMMAND, watched as a Celery worker watches its runs."""

import runpy
import socket
import sys
from collections.abc import Sequence

from assets.shared.dagster_private import run_id_of
from pipelines.district.heartbeat_thread import watched


def main(command: Sequence[str]) -> None:
    """Execute a run. `command`: `PYTHON -m dagster api execute_run ARGUMENTS`."""
    sys.argv = ["dagster", *command[-3:]]
    with watched(run_id_of(command[-1]), socket.gethostname()):
        runpy.run_module("dagster", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
