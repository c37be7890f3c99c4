"""Opens the lake of the settings, and prepares the lake for this version."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError

from loading.tables import TABLES
from pipelines.settings.settings import Settings, SettingsError
from warehouse.files import write_text
from warehouse.forgetting import forgotten
from warehouse.lake.copies import Copies
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOGS, STANDINGS
from warehouse.publish.build import models_digest

#: At the lake's root: the version and the platform of the lake, and a file to test conditional puts.
NOTE, TRIAL = "campus.json", "campus.trial"


#: The lakes, by Postgres URL and root, that this process has compared with the district's.
_COMPARED: set[tuple[str, str]] = set()


def lake_of(settings: Settings) -> Lake:
    """The lake of the settings. Creates nothing.

    Raises SettingsError if the lake is not the district's."""
    lake, url = lake_without_check(settings), settings.postgres_address
    if url is not None and (url, lake.root) not in _COMPARED:
        _check(lake, settings, claim=False)
        _COMPARED.add((url, lake.root))
    return lake


def _check(lake: Lake, settings: Settings, *, claim: bool) -> None:
    # Imported here: the Postgres client takes a second, and only a district needs it.
    from pipelines.lake.identity import check_lake

    check_lake(settings, lake, claim=claim)


def lake_without_check(settings: Settings) -> Lake:
    """The lake of the settings, for callers that compare it with the district's lake themselves."""
    options = settings.options.lake
    copies = Copies(settings.home / "cache" / "lake", int(options.cache_gb * (1 << 30)))
    return Lake(settings.lake_root, copies, options.patience)


def make_ready(lake: Lake, settings: Settings) -> None:
    """Create or migrate the lake's tables for this version. Call before any load, since a change of a schema
    fails open commits.

    This takes seconds in an object store, so a note in the lake records the version and the settings, and the
    work is skipped while they stay the same. All steps are idempotent, so two processes may run them at once.

    Raises SettingsError if the lake belongs to another platform or district, or if its store lacks
    conditional puts; SchemaConflict."""
    if settings.postgres_address is not None:
        _check(lake, settings, claim=True)
    _drop_old_copies(lake, settings)
    noted, current = _noted(lake), _current_note(settings)
    platform = noted.get("loaded_from")
    if platform and current["loaded_from"] and platform != current["loaded_from"]:
        raise SettingsError(
            [
                f"CAMPUS_LAKE {lake.root} holds data of {platform}, and CAMPUS_BASE_URL now means "
                f"{current['loaded_from']}: made-up and real schools do not mix. Name another CAMPUS_LAKE"
            ]
        )
    current["loaded_from"] = current["loaded_from"] or platform
    if noted == current and _folders(lake) >= {table.folder for table in _tables()}:
        return
    # Imported here, since only a new version needs these modules.
    from loading.custom_fields import forget_id_numbers
    from warehouse.load.history import past_rows

    if lake.is_remote:
        _test_conditional_put(lake)
    past_rows.begin(lake, TABLES.values(), settings.home / "scratch")
    lake.ensure(TABLES.values())
    if not settings.keep_id_numbers:
        forget_id_numbers(lake)
    # Last, so that the next process repeats the work after a crash.
    _note(lake, current)


def _drop_old_copies(lake: Lake, settings: Settings) -> None:
    """Delete this machine's copies of the lake's and the shards' files after a person was forgotten on any
    machine, since the copies may still name the person."""
    cache = settings.home / "cache"
    state = forgotten.state(lake)
    note = cache / "forgotten.txt"
    if state == (note.read_text() if note.exists() else ""):
        return
    for folder in ("lake", "published"):
        shutil.rmtree(cache / folder, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    write_text(note, state)


def note_id_numbers(lake: Lake, settings: Settings) -> None:
    """Note at the end of a run that the lake may have id numbers, even if another process has changed the
    note meanwhile. The next run without keep_id_numbers removes them again."""
    if settings.keep_id_numbers:
        _note(lake, {**_noted(lake), "keeps_id_numbers": True})


def _tables() -> tuple[Any, ...]:
    return (*TABLES.values(), *LOGS, STANDINGS)


def _current_note(settings: Settings) -> dict[str, Any]:
    """The note of a lake that is ready for this version and these settings. Any change of the code counts."""
    state = hashlib.sha256(models_digest().encode())
    for table in _tables():
        state.update(f"{table.name} {table.slice_columns} {table.lake_schema.to_string()}".encode())
    # A lake inside a home has the platform of the home (`claim_home`).
    is_shared = settings.lake is not None and settings.base_url is not None
    return {
        "ready_for": state.hexdigest()[:24],
        "keeps_id_numbers": settings.keep_id_numbers,
        "loaded_from": settings.origin.words if is_shared else None,
    }


def _noted(lake: Lake) -> dict[str, Any]:
    try:
        noted: dict[str, Any] = json.loads(bytes(obstore.get(lake.objects, NOTE).bytes()))
    except FileNotFoundError:
        return {}
    return noted


def _note(lake: Lake, noted: dict[str, Any]) -> None:
    obstore.put(lake.objects, NOTE, json.dumps(noted).encode())


def _folders(lake: Lake) -> set[str]:
    """The existing folders of the lake, since a person may delete a folder by hand."""
    listing = obstore.list_with_delimiter(lake.objects)
    return {str(prefix).strip("/") for prefix in listing["common_prefixes"]}


def _test_conditional_put(lake: Lake) -> None:
    """Check that the store refuses to overwrite an existing object with mode "create": commits rely on it.

    Raises SettingsError if the store overwrites the object."""
    obstore.put(lake.objects, TRIAL, b"")
    try:
        obstore.put(lake.objects, TRIAL, b"", mode="create")
    except AlreadyExistsError:
        return
    except NotImplementedError as error:
        raise SettingsError([_no_conditional_put(lake)]) from error
    finally:
        obstore.delete(lake.objects, TRIAL)
    raise SettingsError([_no_conditional_put(lake)])


def _no_conditional_put(lake: Lake) -> str:
    return (
        f"CAMPUS_LAKE {lake.root}: this store has no conditional put (If-None-Match), so two writers of a "
        f"table would overwrite each other, and loads would be lost. Name a store that has it "
        "(docs/how-to/object-store.md)"
    )
