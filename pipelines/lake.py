"""Where the lake is, and that it is ready for what this version loads."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError

from loading.tables import TABLES
from pipelines.settings import Settings, SettingsError
from warehouse.files import write_text
from warehouse.forgetting import forgotten
from warehouse.lake.copies import Copies
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import LOGS, STANDINGS
from warehouse.publish.dbt_project import PROJECT, fingerprint

#: At the lake's root: what it was made ready for, and whose rows are in it.
NOTE, TRIAL = "campus.json", "campus.trial"


#: The lakes that this process has compared with the district's, by the address of Postgres and their root.
_COMPARED: set[tuple[str, str]] = set()


def lake_of(settings: Settings) -> Lake:
    """The lake that the settings name. Nothing is made yet.

    Raises SettingsError where the lake is another than the district's."""
    lake, url = lake_without_check(settings), settings.postgres_address
    if url is not None and (url, lake.root) not in _COMPARED:
        _check(lake, settings, claim=False)
        _COMPARED.add((url, lake.root))
    return lake


def _check(lake: Lake, settings: Settings, *, claim: bool) -> None:
    # What talks to Postgres takes a second to import, and a home without a district needs none of it.
    from pipelines.lake_identity import check_lake

    check_lake(settings, lake, claim=claim)


def lake_without_check(settings: Settings) -> Lake:
    """The same, for whoever says in other words that it is another than the district's."""
    options = settings.options.lake
    copies = Copies(settings.home / "cache" / "lake", int(options.cache_gb * (1 << 30)))
    return Lake(settings.lake_root, copies, options.patience)


def make_ready(lake: Lake, settings: Settings) -> None:
    """Have the lake hold what this version loads as this version files it. To be done before anything is
    loaded, since a change of schema fails the commits under way.

    It takes seconds in an object store, so it is done once a version and kind of settings: a note in the lake
    tells, which a backup has and a new lake has not. All of it is idempotent: two processes may do it at
    once.

    Raises SettingsError where the lake is another one's, or its store cannot hold one; SchemaConflict."""
    if settings.postgres_address is not None:
        _check(lake, settings, claim=True)
    _drop_old_copies(lake, settings)
    noted, wanted = _noted(lake), _wanted(settings)
    whose = noted.get("loaded_from")
    if whose and wanted["loaded_from"] and whose != wanted["loaded_from"]:
        raise SettingsError(
            [
                f"CAMPUS_LAKE {lake.root} holds data of {whose}, and CAMPUS_BASE_URL now means "
                f"{wanted['loaded_from']}: made-up and real schools do not mix. Name another CAMPUS_LAKE"
            ]
        )
    wanted["loaded_from"] = wanted["loaded_from"] or whose
    if noted == wanted and _folders(lake) >= {table.folder for table in _tables()}:
        return
    # Once a version: whoever opens a lake that is ready needs none of it.
    from loading.custom_fields import forget_id_numbers
    from warehouse.load import past_rows

    if lake.is_remote:
        _try_conditional_put(lake)
    past_rows.begin(lake, TABLES.values(), settings.home / "scratch")
    lake.ensure(TABLES.values())
    if not settings.keep_id_numbers:
        forget_id_numbers(lake)
    # Last, so that what a crash left undone is done by the next.
    _note(lake, wanted)


def _drop_old_copies(lake: Lake, settings: Settings) -> None:
    """Delete this machine's copies of the lake's and the shards' files once somebody was forgotten, here or
    on another machine: files of before would stay among them."""
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
    """Note at the end of a run that it may have loaded id numbers, whatever was noted meanwhile: the next run
    that is to keep none takes them out again."""
    if settings.keep_id_numbers:
        _note(lake, {**_noted(lake), "keeps_id_numbers": True})


def _tables() -> tuple[Any, ...]:
    return (*TABLES.values(), *LOGS, STANDINGS)


def _wanted(settings: Settings) -> dict[str, Any]:
    """What the note says of a lake that is ready. The code counts as a whole, as for what is published."""
    state = hashlib.sha256(fingerprint(PROJECT.parent).encode())
    for table in _tables():
        state.update(f"{table.name} {table.slice_columns} {table.lake_schema.to_string()}".encode())
    # The lake of a home belongs to whom the home does (`claim_home`).
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
    """The folders in the lake: somebody may have deleted one by hand."""
    found = obstore.list_with_delimiter(lake.objects)
    return {str(prefix).strip("/") for prefix in found["common_prefixes"]}


def _try_conditional_put(lake: Lake) -> None:
    """Try whether the store refuses to put what is there already: a commit relies on it.

    Raises SettingsError where it does not."""
    obstore.put(lake.objects, TRIAL, b"")
    try:
        obstore.put(lake.objects, TRIAL, b"", mode="create")
    except AlreadyExistsError:
        return
    except NotImplementedError as error:
        raise SettingsError([_unfit(lake)]) from error
    finally:
        obstore.delete(lake.objects, TRIAL)
    raise SettingsError([_unfit(lake)])


def _unfit(lake: Lake) -> str:
    return (
        f"CAMPUS_LAKE {lake.root}: this store has no conditional put (If-None-Match), by which two writers "
        f"of a table are told apart, so loads would be lost. Name a store that has it "
        "(docs/how-to/object-store.md)"
    )
