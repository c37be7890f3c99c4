"""`campus sql`: questions to the published file."""

import sys

import duckdb

from pipelines.cli.display import USAGE, complain
from pipelines.cli.rows import print_rows
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken, Published


def run_sql(published: Published, query: str, style: str) -> int:
    """Run each statement of a query and print its result, `style` as of print_rows; the exit status.

    What is published is opened to be read only, so that no statement changes it and a load may replace it
    meanwhile.
    CSV has an empty line between two results, JSON one array a line."""
    if not published.exists():
        return _end(f"{published} is not there yet: run `campus sync`", 1)
    try:
        with opened(published) as connection:
            statements = connection.extract_statements(query)
            if not statements:
                return _end("there is no statement in the query", USAGE)
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
        return _end(str(error), 1)
    return 0


def _end(problem: str, status: int) -> int:
    complain(problem)
    return status
