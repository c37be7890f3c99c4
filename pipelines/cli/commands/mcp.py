"""The command `campus mcp`."""

from pathlib import Path

import click

from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(epilog=example("mcp", "mcp --guide > SKILL.md"))
@click.option(
    "--file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A published file, such as that of an audience, instead of the one of the settings.",
)
@click.option("--guide", is_flag=True, help="Print a SKILL.md for assistants, with the tables, and end.")
def mcp(file: Path | None, guide: bool) -> int:
    """Let an assistant ask about the published file, by the Model Context Protocol over standard input and
    output. It reads tables and runs one SELECT at a time, without columns that name or describe a person
    (`mcp.personal` of campus.yaml)."""
    settings = read_settings()
    from pipelines.cli.actions.mcp import run_mcp

    return run_mcp(settings, file or settings.published, guide=guide)
