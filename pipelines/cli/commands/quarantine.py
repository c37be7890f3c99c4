"""The commands `campus quarantine list` and `campus quarantine replay`."""

import click

from pipelines.cli.command_groups import Group
from pipelines.cli.command_options import SCHOOLS, STYLE
from pipelines.cli.command_settings import read_settings, settings_for_writing
from pipelines.cli.terminal.display import example

RESOURCES = click.option(
    "--resource", "resources", multiple=True, help="Only this resource; may be repeated."
)


@click.group(cls=Group, epilog=example("quarantine list"))
def quarantine() -> None:
    """Show the rows that could not be loaded, or try them again."""


@quarantine.command("list", epilog=example("quarantine list --school 101 --format csv"))
@SCHOOLS
@RESOURCES
@STYLE
@click.option("--personal", is_flag=True, help="Show personal fields, too.")
def list_quarantine(schools: tuple[int, ...], resources: tuple[str, ...], style: str, personal: bool) -> int:
    """Show each row in quarantine: why, since when, and the JSON as it was sent, without personal fields."""
    settings = read_settings()
    from pipelines.cli.actions.quarantine import run_list

    return run_list(settings, schools, resources, style, personal=personal)


@quarantine.command("replay", epilog=example("quarantine replay --resource grades"))
@SCHOOLS
@RESOURCES
def replay_quarantine(schools: tuple[int, ...], resources: tuple[str, ...]) -> int:
    """Load the rows that the platform has mended, or that this version can read, without their whole list."""
    settings = settings_for_writing()
    from pipelines.cli.actions.quarantine import run_replay

    return run_replay(settings, schools, resources)
