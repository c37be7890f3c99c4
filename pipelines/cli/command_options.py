"""Options and checks that several commands share."""

from pathlib import Path

import click

SCHOOLS = click.option(
    "--school", "schools", type=int, multiple=True, help="Only this school; may be repeated."
)
STYLE = click.option(
    "--format", "style", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True
)


def check_parent_folder(path: Path) -> None:
    """Check that the folder above a path exists. Raises click.UsageError."""
    from warehouse.files import no_folder_above

    if problem := no_folder_above(path):
        raise click.UsageError(problem)
