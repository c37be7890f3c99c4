"""The command `campus sql`."""

import click

from pipelines.cli.command_options import STYLE
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example


@click.command(
    epilog=example(
        'sql "FROM marts.early_warning LIMIT 5"', 'sql "FROM core.dim_student" --format csv > students.csv'
    )
)
@click.argument("query")
@STYLE
def sql(query: str, style: str) -> int:
    """Run QUERY on the published campus.duckdb, also during a sync, and show the result of each statement."""
    settings = read_settings()
    from pipelines.cli.actions.sql import run_sql

    return run_sql(settings.published, query, style)
