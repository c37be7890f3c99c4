"""The last maintenance of the lake and what it removed, in words for `campus status` and `campus doctor`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from warehouse.lake.delta import Lake
from warehouse.load.logs.maintenance_runs import OVERDUE, maintenance_runs, unmaintained_since

#: What a run removed, by the columns of quality.maintenance.
REMOVED = {
    "loads": "{:,} old rows of quality.load_log",
    "personal_rows": "the personal columns of {:,} deleted rows",
    "history_rows": "{:,} rows of history",
}


def maintenance_of(lake: Lake, at: datetime) -> tuple[str | None, str | None]:
    """What the last maintenance of the lake removed, None: there was none; and what to do about a lake that
    was not maintained for a week, None: nothing."""
    runs = maintenance_runs(lake)
    account = _account(runs[-1]) if runs else None
    since = unmaintained_since(lake, runs)
    if since is None or at - since <= OVERDUE:
        return account, None
    return account, (
        f"The lake was not maintained since {since:%Y-%m-%d}: files that nobody needs stay, and the terms of "
        "retention are not applied. Run campus sync. If the nights run, look at the job maintenance in "
        "campus ui."
    )


def _account(run: Mapping[str, Any]) -> str:
    removed = [f"{run['files']:,} files ({run['bytes'] / 1e6:.1f} MB)"] if run["files"] else []
    removed += [text.format(run[name]) for name, text in REMOVED.items() if run[name]]
    account = ", ".join(removed) or "nothing"
    return f"Last maintenance of the lake: {run['started_at']:%Y-%m-%d %H:%M}, removed {account}."
