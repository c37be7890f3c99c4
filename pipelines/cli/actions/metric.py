"""The work of `campus metric`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date

import duckdb

from pipelines.cli.terminal.display import USAGE, fail
from pipelines.cli.terminal.rows import print_rows
from pipelines.measures import Unanswerable, measured
from warehouse.published.reading import opened
from warehouse.published.shards import PublicationBroken, Published


class _Unreadable(Exception):
    """The published file is missing, or has no measures."""


@contextmanager
def _reading(published: Published) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a published file that has measures. Raises _Unreadable, duckdb.Error, PublicationBroken."""
    if not published.exists():
        raise _Unreadable(f"{published} is not there yet: run `campus sync`")
    with opened(published) as con:
        try:
            con.execute("FROM quality.metrics LIMIT 0")
        except duckdb.CatalogException:
            raise _Unreadable(
                f"{published} has no measures, an older version made it: run `campus build`"
            ) from None
        yield con


def list_metrics(published: Published, style: str) -> int:
    """Print the measures, with what can split them. `style`: as of print_rows. Returns the exit status."""
    try:
        with _reading(published) as con:
            rows = con.execute(
                "SELECT metric, label_en, label_zh, unit, array_to_string(dimensions, ', ') "
                "FROM quality.metrics"
            ).fetchall()
    except (_Unreadable, duckdb.Error, PublicationBroken) as error:
        return fail(error)
    print_rows(["metric", "label_en", "label_zh", "unit", "by"], rows, style)
    return 0


def run_metric(
    published: Published,
    name: str,
    by: Sequence[str],
    days: Mapping[str, date],
    schools: Collection[int],
    style: str,
    *,
    personal: bool,
) -> int:
    """Print a measure, a row for each group. Arguments as of `measured`; `style`: as of print_rows. Returns
    the exit status."""
    try:
        with _reading(published) as con:
            columns, rows = measured(con, name, by, days, schools, personal=personal)
    except Unanswerable as error:
        return fail(error, USAGE)
    except (_Unreadable, FileNotFoundError, duckdb.Error, PublicationBroken) as error:
        return fail(error)
    print_rows(columns, rows, style)
    return 0
