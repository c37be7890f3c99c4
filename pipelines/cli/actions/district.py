"""The work of `campus district`: the programs of a district, together on trial or each by itself."""

import os
import time
from contextlib import suppress
from typing import NoReturn

import click

from pipelines.cli.actions.load import order_partitions
from pipelines.cli.command_session import interrupt_on_signals
from pipelines.cli.terminal.display import print_line
from pipelines.district import programs
from pipelines.district.services import service_problems
from pipelines.district.trial import CHECK_SECONDS, trial
from pipelines.lake.identity import check_lake, use_lake
from pipelines.lake.opening import lake_without_check
from pipelines.runs.daemon_lock import lock_daemon
from pipelines.runs.instance import contradicting_sections, open_instance, prepare_programs
from pipelines.runs.interrupted_runs import runs_under_way
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, SettingsError, check_home


def run_up(settings: Settings, workers: int, ui_port: int | None) -> None:
    """Run the daemon, workers and the UI on this machine until Ctrl-C. `ui_port` None: without the UI."""
    _prepare_to_load(settings)
    _lock_daemon(settings)
    with suppress(KeyboardInterrupt), interrupt_on_signals(), open_instance(settings) as instance:
        at_a_time = settings.options.district.loads_at_a_time
        if workers > at_a_time:
            _log(f"At most {at_a_time} loads run at a time (district.loads_at_a_time in campus.yaml).")
        with trial(settings.home, workers, ui_port, instance, os.environ[POSTGRES_URL], _log) as running:
            while True:
                running.look()
                time.sleep(CHECK_SECONDS)


def run_daemon(settings: Settings) -> NoReturn:
    """Become the district's daemon."""
    _prepare_to_load(settings)
    # The daemon inherits the lock.
    os.set_inheritable(_lock_daemon(settings), True)
    _become(programs.daemon())


def run_worker(settings: Settings, name: str, queues: tuple[str, ...]) -> NoReturn:
    """Become a worker of some queues; no queues: of all."""
    _prepare_to_load(settings)
    _become(programs.worker(f"worker{name}", queues or programs.QUEUES))


def run_webserver(settings: Settings, host: str, port: int, *, may_launch: bool) -> NoReturn:
    """Become the UI."""
    _prepare(settings)
    order_partitions(settings)
    _become(programs.webserver(host, port, may_launch))


def run_use_lake(settings: Settings) -> None:
    """Make the lake of the settings the district's. Raises click.ClickException while runs are under way."""
    check_home(settings)
    lake = lake_without_check(settings)
    with open_instance(settings) as instance:
        if runs := runs_under_way(instance):
            raise click.ClickException(runs)
    before = use_lake(settings, lake)
    was = "" if before is None else f" Until now it was {before.root}."
    _log(f"The lake of the district is {lake.root}.{was} Start the daemon and the workers again.")


def _prepare(settings: Settings) -> None:
    """Prepare this process for a district's program. Raises SettingsError with a line for each problem."""
    check_home(settings)
    if problems := service_problems(settings) or contradicting_sections(settings):
        raise SettingsError(problems)
    prepare_programs(settings)


def _prepare_to_load(settings: Settings) -> None:
    """Prepare a program that loads: its lake must be the district's before its first run."""
    _prepare(settings)
    check_lake(settings, lake_without_check(settings), claim=True)


def _lock_daemon(settings: Settings) -> int:
    """Lock the home's daemon and return the open lock file. Raises click.ClickException where one runs."""
    lock = lock_daemon(settings)
    if lock is None:
        raise click.ClickException(f"a daemon already runs on {settings.home}: stop it first")
    return lock


def _become(command: list[str]) -> NoReturn:
    os.execv(command[0], command)


def _log(words: str) -> None:
    print_line(f"{time.strftime('%H:%M:%S')} {words}")
