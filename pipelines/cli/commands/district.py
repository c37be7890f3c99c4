"""The commands `campus district`: the programs of a district."""

from collections import defaultdict
from ipaddress import ip_network

import click

from pipelines.cli.command_groups import Group
from pipelines.cli.command_settings import read_settings
from pipelines.cli.commands.ui import may_launch, ui_options
from pipelines.cli.terminal.display import example


@click.group(cls=Group, epilog=example("district up --workers 4"))
def district() -> None:
    """Share the loads among workers, on one machine or many (docs/how-to/district.md)."""


@district.command(epilog=example("district up", "district up --workers 4 --no-ui"))
@click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Number of workers."
)
@click.option("--port", type=int, default=3000, show_default=True, help="Port of the UI.")
@click.option("--ui/--no-ui", default=True, help="Start the UI, too; the default.")
def up(workers: int, port: int, ui: bool) -> None:
    """Start the daemon, workers and the UI on this machine, and log what they do, until Ctrl-C stops all."""
    settings = read_settings()
    from pipelines.cli.actions.district import run_up

    run_up(settings, workers, port if ui else None)


@district.command(epilog=example("district daemon"))
def daemon() -> None:
    """Run the one daemon: it starts nights, fills the queue, and handles runs whose worker is gone."""
    settings = read_settings()
    from pipelines.cli.actions.district import run_daemon

    run_daemon(settings)


@district.command(epilog=example("district worker --name 1", "district worker --name heavy --queue build"))
@click.option(
    "--name", default="1", show_default=True, help="A name that no other worker of this machine has."
)
@click.option(
    "--queue",
    "queues",
    type=click.Choice(["load", "build"]),
    multiple=True,
    help="Take only runs of this queue; may be repeated.",
)
def worker(name: str, queues: tuple[str, ...]) -> None:
    """Run a worker: it takes one run after the other."""
    settings = read_settings()
    from pipelines.cli.actions.district import run_worker

    run_worker(settings, name, queues)


@district.command(epilog=example("district webserver --port 3001"))
@ui_options
def webserver(host: str, port: int, allow_launch: bool | None) -> None:
    """Run the UI."""
    settings = read_settings()
    from pipelines.cli.actions.district import run_webserver

    run_webserver(settings, host, port, may_launch=may_launch(host, allow_launch))


@district.command("use-lake", epilog=example("district use-lake"))
def use_lake() -> None:
    """Make the lake of this machine's settings the district's, after it was moved, restored or emptied.

    Stop all workers first. From then on, workers with another lake refuse to start."""
    settings = read_settings()
    from pipelines.cli.actions.district import run_use_lake

    run_use_lake(settings)


def _networks(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> dict[str, list[str]]:
    """The networks of each host. Raises click.BadParameter."""
    networks = defaultdict[str, list[str]](list)
    for value in values:
        host, _, network = value.partition("=")
        try:
            networks[host].append(str(ip_network(network)))
        except ValueError as error:
            raise click.BadParameter(f"{value}: {error}") from None
    return dict(networks)


@district.command(
    epilog=example(
        "district kubernetes --image registry.example/campus:1 --egress kubernetes=10.0.0.4/32 > campus.yml",
        "district kubernetes --image registry.example/campus:1 --egress kubernetes=10.0.0.4/32 --home none "
        "> campus.yml",
    )
)
@click.option("--image", required=True, help="Image of deploy/Containerfile, as the cluster finds it.")
@click.option("--namespace", default="campus", show_default=True, help="Namespace of the cluster.")
@click.option(
    "--home",
    type=click.Choice(["shared", "none"]),
    help="Whether pods share a home, or each has an empty one; default: none, if the settings allow that.",
)
@click.option("--room", default="100Gi", show_default=True, help="Size of the shared home.")
@click.option("--storage-class", help="Class of the shared home's volume; default: that of the cluster.")
@click.option(
    "--scratch",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="GiB that a pod may write into each scratch volume, besides lake.cache_gb.",
)
@click.option(
    "--egress",
    "egress",
    metavar="HOST=NETWORK",
    multiple=True,
    callback=_networks,
    help="Where a server outside the cluster is, such as school.example=203.0.113.7/32; can be repeated. "
    "HOST: as in the settings; kubernetes: its API; dns: name look-ups that no pod answers.",
)
def kubernetes(
    image: str,
    namespace: str,
    home: str | None,
    room: str,
    storage_class: str | None,
    scratch: int,
    egress: dict[str, list[str]],
) -> None:
    """Print manifests for `kubectl apply`: a district where each run is a Kubernetes job, without workers."""
    settings = read_settings()
    from pipelines.district.kubernetes.manifests import manifests
    from pipelines.district.kubernetes.shared_home import NO_HOME, choose_storage

    storage = choose_storage(settings, home, room, storage_class, scratch)
    if storage.home is None:
        click.echo(NO_HOME, err=True)
    click.echo(manifests(settings, image, namespace, storage, egress), nl=False)
