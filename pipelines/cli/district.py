"""The programs of a district: all of them on one machine for trial, or each for a unit of its own."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

from pipelines.cli.display import console, example
from pipelines.cli.given import given
from pipelines.cli.groups import Group
from pipelines.cli.ui import may_launch, ui_options

if TYPE_CHECKING:
    from pipelines.settings import Settings


@click.group(cls=Group, epilog=example("district up --workers 4"))
def district() -> None:
    """Workers that share the loads, on one machine or many (docs/how-to/district.md)."""


@district.command(epilog=example("district up", "district up --workers 4 --no-ui"))
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="How many.")
@click.option("--port", type=int, default=3000, show_default=True, help="Of the UI.")
@click.option("--ui/--no-ui", default=True, help="Whether the UI is started, too.")
def up(workers: int, port: int, ui: bool) -> None:
    """Start the daemon, workers and the UI on this machine, and say what they do, until Ctrl-C stops all."""
    settings = _settings_to_load()
    from pipelines.cli.session import terminated_as_interrupted
    from pipelines.district.trial import LOOK, trial
    from pipelines.instance import POSTGRES_URL, open_instance

    _daemon_lock(settings)
    with suppress(KeyboardInterrupt), terminated_as_interrupted(), open_instance(settings) as instance:
        at_a_time = settings.options.district.loads_at_a_time
        if workers > at_a_time:
            _tell(f"At most {at_a_time} loads go on at a time (district.loads_at_a_time in campus.yaml).")
        with trial(
            settings.home, workers, port if ui else None, instance, os.environ[POSTGRES_URL], _tell
        ) as running:
            while True:
                running.look()
                time.sleep(LOOK)


@district.command(epilog=example("district daemon"))
def daemon() -> None:
    """Run the one daemon: it starts nights, fills the queue, and sees to runs whose worker is gone."""
    settings = _settings_to_load()
    from pipelines.district import programs

    # The daemon inherits the lock.
    os.set_inheritable(_daemon_lock(settings), True)
    _become(programs.daemon())


@district.command(epilog=example("district worker --name 1", "district worker --name heavy --queue build"))
@click.option("--name", default="1", show_default=True, help="No other worker of this machine has it.")
@click.option(
    "--queue",
    "queues",
    type=click.Choice(["load", "build"]),
    multiple=True,
    help="Take only runs of this queue; may be repeated.",
)
def worker(name: str, queues: tuple[str, ...]) -> None:
    """Run a worker: it takes one run after the other."""
    _settings_to_load()
    from pipelines.district import programs

    _become(programs.worker(f"worker{name}", queues or programs.QUEUES))


@district.command(epilog=example("district webserver --port 3001"))
@ui_options
def webserver(host: str, port: int, allow_launch: bool | None) -> None:
    """Run the UI."""
    settings = _settings()
    from pipelines.cli.commands import order_partitions
    from pipelines.district import programs

    order_partitions(settings)
    _become(programs.webserver(host, port, may_launch(host, allow_launch)))


@district.command("use-lake", epilog=example("district use-lake"))
def use_lake() -> None:
    """Make the lake of this machine's settings the district's, after it was moved, restored or emptied.

    Stop all workers first. Workers whose lake is another refuse to start from then on."""
    settings = given()
    from pipelines.instance import open_instance
    from pipelines.interrupted import runs_under_way
    from pipelines.lake import lake_without_check
    from pipelines.lake_identity import use_lake as note_lake
    from pipelines.settings import check_home

    check_home(settings)
    lake = lake_without_check(settings)
    with open_instance(settings) as instance:
        if runs := runs_under_way(instance):
            raise click.ClickException(runs)
    before = note_lake(settings, lake)
    was = "" if before is None else f" Until now it was {before.root}."
    _tell(f"The lake of the district is {lake.root}.{was} Start the daemon and the workers again.")


@district.command(epilog=example("district kubernetes --image registry.example/campus:1 > campus.yml"))
@click.option("--image", required=True, help="Built by deploy/Containerfile, where the cluster finds it.")
@click.option("--namespace", default="campus", show_default=True, help="Of the cluster.")
@click.option("--room", default="100Gi", show_default=True, help="Of the home that all pods share.")
def kubernetes(image: str, namespace: str, room: str) -> None:
    """Print what `kubectl apply` takes: a district where each run is a job of Kubernetes, without workers."""
    settings = given()
    from pipelines.district.kubernetes import manifests

    click.echo(manifests(settings, image, namespace, room), nl=False)


def _settings() -> Settings:
    """Settings with which workers can run; raises SettingsError with a sentence for each thing that lacks."""
    settings = given()
    from pipelines.district.services import what_is_missing
    from pipelines.instance import contradictions, prepare_programs
    from pipelines.settings import SettingsError, check_home

    check_home(settings)
    problems = what_is_missing(settings) or contradictions(settings)
    if problems:
        raise SettingsError(problems)
    prepare_programs(settings)
    return settings


def _settings_to_load() -> Settings:
    """The same for a program that loads. Its lake is compared with the district's before the first run."""
    settings = _settings()
    from pipelines.lake import lake_without_check
    from pipelines.lake_identity import check_lake

    check_lake(settings, lake_without_check(settings), claim=True)
    return settings


def _daemon_lock(settings: Settings) -> int:
    """The open file that locks the home's daemon. Raises click.ClickException where a daemon runs."""
    from pipelines.daemon_lock import lock_daemon

    lock = lock_daemon(settings)
    if lock is None:
        raise click.ClickException(f"a daemon already runs on {settings.home}: stop it first")
    return lock


def _become(command: list[str]) -> NoReturn:
    os.execv(command[0], command)


def _tell(words: str) -> None:
    console.print(f"{time.strftime('%H:%M:%S')} {words}", markup=False, soft_wrap=True)
