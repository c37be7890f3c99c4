"""The command `campus catalog`."""

import click

from pipelines.cli.command_options import SCHOOLS
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(
    epilog=example("catalog > district.sql", "catalog --school 101 --school 102 > two_schools.sql")
)
@SCHOOLS
def catalog(schools: tuple[int, ...]) -> int:
    """Print statements that show the open tables of a district (publish.tables of campus.yaml) as views in
    DuckDB. The views stay at the present publication. Start DuckDB with them: duckdb -init district.sql"""
    settings = read_settings()
    from pipelines.cli.actions.catalog import run_catalog

    return run_catalog(settings.shards, schools)
