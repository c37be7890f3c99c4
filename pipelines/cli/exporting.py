"""The command `campus export`, and what it shares with the assets of the same files."""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from exports.export import Failed, Options, Unknown, Written, export
from exports.sheets import Format
from pipelines.cli.display import complain, console, errors
from pipelines.settings import Settings
from warehouse.publish.build import of_another_version
from warehouse.published.shards import PublicationBroken


def run_export(
    settings: Settings,
    names: Sequence[str],
    *,
    format: Format | None = None,
    folder: Path | None = None,
    schools: Sequence[int] = (),
) -> int:
    """Write files and say which. `names`: none: those of campus.yaml. The exit status."""
    if not settings.published.exists():
        return _refused(f"{settings.published} is not there yet: run `campus sync`")
    if problem := of_another_version(settings.published):
        return _refused(problem)
    names = names or configured_names(settings)
    options = export_options(settings, format, folder)
    ends = []
    try:
        for end in export(settings.published, names, schools or settings.school_ids, options):
            _report(end)
            ends.append(_status(end))
    except (duckdb.Error, PublicationBroken) as error:
        return _refused(str(error))
    if not ends:
        console.print(f"Nothing to write: the published file has no {', '.join(names) or 'exports'}.")
    return max(ends, default=0)


def configured_names(settings: Settings) -> list[str]:
    """What campus.yaml says is to be written."""
    options = settings.options.exports
    return [*options.workbooks, *options.tables]


def export_options(settings: Settings, format: Format | None = None, folder: Path | None = None) -> Options:
    """How files are written. Old ones are deleted in the home only, never in another folder."""
    options = settings.options.exports
    return Options(
        folder=folder or settings.home / "exports",
        format=format or options.format,
        language=options.language,
        keep=None if folder else options.keep,
        names=options.board_names,
    )


def _report(end: Written | Failed) -> None:
    if isinstance(end, Failed):
        errors.print(f"{end.what}: {end.problem}", markup=False, soft_wrap=True)
        return
    told = f"{sum(end.rows.values()):,} rows" if any(end.rows.values()) else "no rows, and the file says so"
    console.print(f"{end.path}: {told}", markup=False, soft_wrap=True)


def _status(end: Written | Failed) -> int:
    """A wrong name is a mistake of usage, or of campus.yaml."""
    return 2 if isinstance(end, Unknown) else int(isinstance(end, Failed))


def _refused(problem: str) -> int:
    complain(problem)
    return 1
