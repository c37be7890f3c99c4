"""The work of `campus deliver`: sends the mails to teachers now."""

import sqlite3
from collections.abc import Sequence

import duckdb

from pipelines.cli.terminal.display import USAGE, fail, print_error, print_line
from pipelines.deliveries.mails import deliver, summary
from pipelines.notices.channels import NotSent
from pipelines.settings.settings import Settings
from warehouse.published.shards import PublicationBroken

OFF = "Nothing is delivered: set exports.deliver in campus.yaml."


def run_deliver(settings: Settings, schools: Sequence[int], *, dry_run: bool) -> int:
    """Send the mails that are due, or say which they are. Returns the exit status."""
    if settings.options.exports.deliver is None:
        print_error(OFF)
        return USAGE
    status = 0
    try:
        for outcome in deliver(settings, schools or settings.school_ids, dry_run=dry_run):
            print_line(summary(outcome, dry_run=dry_run))
            if dry_run and outcome.sent:
                print_line(f"  teachers {', '.join(map(str, outcome.sent))}")
            for problem in outcome.problems:
                status = fail(problem)
    except (NotSent, PublicationBroken, duckdb.Error, sqlite3.Error) as error:
        return fail(error)
    return status
