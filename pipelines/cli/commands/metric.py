"""The command `campus metric`."""

from datetime import datetime

import click

from pipelines.cli.command_options import SCHOOLS, STYLE
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example

DAY = click.DateTime(["%Y-%m-%d"])


@click.command(
    epilog=example(
        "metric",
        "metric attendance_rate --by class --since 2026-09-01",
        "metric pass_rate --by semester,subject --format csv > pass_rate.csv",
    )
)
@click.argument("name", required=False)
@click.option("--by", default="", metavar="DIMENSION[,DIMENSION]...", help="Split by these dimensions.")
@click.option("--since", type=DAY, metavar="DAY", help="Only rows from this day on, such as 2026-09-01.")
@click.option("--until", type=DAY, metavar="DAY", help="Only rows up to this day.")
@SCHOOLS
@STYLE
@click.option("--personal", is_flag=True, help="Allow splits by single people: student, teacher.")
def metric(
    name: str | None,
    by: str,
    since: datetime | None,
    until: datetime | None,
    schools: tuple[int, ...],
    style: str,
    personal: bool,
) -> int:
    """Show the measure NAME of the published campus.duckdb; without NAME, list the measures. Groups of fewer
    than 5 students have no value."""
    settings = read_settings()
    from pipelines.cli.actions.metric import list_metrics, run_metric

    if name is None:
        return list_metrics(settings.published, style)
    dimensions = [dimension.strip() for dimension in by.split(",") if dimension.strip()]
    days = {key: day.date() for key, day in (("since", since), ("until", until)) if day is not None}
    return run_metric(settings.published, name, dimensions, days, schools, style, personal=personal)
