"""The work of `campus extract`: writes a file for researchers and vendors that names nobody."""

import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path

import duckdb

from exports.extracts.plan import ExtractRefused, ExtractRequest, ExtractTable
from exports.extracts.report import check_report_path, report_text
from exports.extracts.write import check_extract_path, planned, write_extract
from pipelines.cli.terminal.display import USAGE, fail, print_line
from pipelines.cli.terminal.rows import print_rows
from pipelines.publication.published_file import why_unreadable
from pipelines.settings.settings import Settings
from warehouse.files import write_text
from warehouse.keys import home_key
from warehouse.load.logs.load_log import now
from warehouse.published.shards import PublicationBroken

#: The home's key from which the keys of extracts are derived.
PSEUDONYMS = "pseudonyms"


def run_extract(
    settings: Settings,
    request: ExtractRequest,
    path: Path,
    *,
    key_name: str | None,
    report_path: Path | None,
    replace: bool,
    dry_run: bool,
) -> int:
    """Write an extract. Returns the exit status.

    Args:
        key_name: Extracts with the same key name have the same pseudonyms; None: a new name.
        report_path: The file for the report; None: there is none.
        dry_run: Only show the treatment of each column."""
    published = settings.published
    if problem := why_unreadable(published):
        return fail(problem)
    try:
        if dry_run:
            _show(planned(published, request, settings.home / "scratch"))
            return 0
        check_extract_path(path, replace=replace)
        if report_path is not None:
            check_report_path(report_path, replace=replace)
        name = key_name or f"{now():%Y%m%d}-{secrets.token_hex(4)}"
        extract = write_extract(
            published,
            request,
            path,
            extract_key(settings.home, name),
            name,
            replace=replace,
            reports=report_path is not None,
        )
        if report_path is not None and extract.report is not None:
            write_text(report_path, report_text(extract.report))
    except ExtractRefused as error:
        return fail(error, USAGE)
    except (duckdb.Error, PublicationBroken) as error:
        return fail(error)
    print_line(
        f"{extract.path}: {sum(extract.rows.values()):,} rows in {len(extract.rows)} tables. Labels that "
        f"held the name of a person and are blank now: {extract.blanked:,}. The key is named {name}.",
    )
    return 0


def extract_key(home: Path, key_name: str) -> bytes:
    """The key of extracts of one name. Extracts of two names share no pseudonym. Only this home has it."""
    return hmac.digest(home_key(home, PSEUDONYMS), key_name.encode(), "sha256")


def _show(tables: Sequence[ExtractTable]) -> None:
    columns = ("table", "column", "class", "treatment", "why")
    rows = [
        (table.name, column.name, column.privacy or "-", column.treatment, column.reason)
        for table in tables
        for column in table.columns
    ]
    # As CSV: a table on the terminal ends after a thousand rows.
    print_rows(columns, rows, "csv")
