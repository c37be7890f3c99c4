"""`campus extract`: a file for researchers and vendors that names nobody."""

import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

import duckdb

from exports.extracts.plan import ExtractRefused, Request, Table
from exports.extracts.write import check_place, planned, write_extract
from pipelines.cli.display import USAGE, complain, console
from pipelines.cli.rows import print_rows
from pipelines.settings import Settings
from warehouse.keys import home_key
from warehouse.load.load_log import now
from warehouse.publish.build import of_another_version
from warehouse.published.shards import PublicationBroken

#: The key of the home that the keys of extracts are derived from.
PSEUDONYMS = "pseudonyms"


def run_extract(
    settings: Settings, request: Request, path: Path, *, key_name: str | None, replace: bool, dry_run: bool
) -> int:
    """Write an extract, or show with `dry_run` what would become of each column. `key_name`: extracts of the
    same name have the same pseudonyms; None: this one alone has them. The exit status."""
    published = settings.published
    if not published.exists():
        return _refused(f"{published} is not there yet: run `campus sync`")
    if problem := of_another_version(published):
        return _refused(problem)
    try:
        if dry_run:
            _show(planned(published, request, settings.home / "scratch"))
            return 0
        check_place(path, replace=replace)
        name = key_name or f"{now():%Y%m%d}-{secrets.token_hex(4)}"
        done = write_extract(
            published, request, path, extract_key(settings.home, name), name, replace=replace
        )
    except ExtractRefused as error:
        complain(error)
        return USAGE
    except (duckdb.Error, PublicationBroken) as error:
        return _refused(str(error))
    console.print(
        f"{done.path}: {sum(done.rows.values()):,} rows in {len(done.rows)} tables. Labels that held the "
        f"name of a person and are blank: {done.blanked:,}. The key is named {name}.",
        markup=False,
        soft_wrap=True,
    )
    return 0


def extract_key(home: Path, key_name: str) -> bytes:
    """The key of the extracts of one name. Those of two names cannot be joined, and only this home can tell
    whose a pseudonym is."""
    return hmac.digest(home_key(home, PSEUDONYMS), key_name.encode(), "sha256")


def _show(tables: Sequence[Table]) -> None:
    columns = ("table", "column", "class", "treatment", "why")
    rows = [
        (table.name, column.name, column.privacy or "-", column.treatment, column.reason)
        for table in tables
        for column in table.columns
    ]
    # All of them, however many: a table on the terminal ends after a thousand.
    print_rows(columns, rows, "csv")


def _refused(problem: str) -> int:
    complain(problem)
    return 1
