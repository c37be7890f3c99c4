"""The work of `campus sql`: runs queries on the published file."""

import sys

import duckdb

from pipelines.cli.terminal.display import USAGE, fail
from pipelines.cli.terminal.rows import print_rows
from warehouse.published.catalog import opened_for
from warehouse.published.shards import PublicationBroken, Published


def run_sql(published: Published, query: str, style: str) -> int:
    """Run each statement of a query and print its result. `style`: as of print_rows. Returns the exit status.

    The published file is opened read-only: no statement changes it, and a load may replace it meanwhile.
    CSV has an empty line between two results; JSON has one array a line."""
    if not published.exists():
        return fail(f"{published} is not there yet: run `campus sync`")
    try:
        with opened_for(published, query) as connection:
            statements = connection.extract_statements(query)
            if not statements:
                return fail("there is no statement in the query", USAGE)
            printed = 0
            for statement in statements:
                result = connection.execute(statement)
                if not result.description:
                    continue
                if printed and style == "csv":
                    sys.stdout.write("\n")
                print_rows([column[0] for column in result.description], result.fetchall(), style)
                printed += 1
    except (duckdb.Error, PublicationBroken) as error:
        return fail(error)
    return 0
