"""Opens the session in which a command or a run writes to the platform."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import dagster as dg

from campus.http.client import Client
from campus.registry.v1 import OF_CLASSES, OF_USERS
from loading.runtime import Runtime
from pipelines.launches import launcher_of
from pipelines.settings import Settings, needs_writes
from writeback.send.writer import Writer
from writeback.session import WriteSession
from writeback.store.journal import Provenance
from writeback.store.store import open_journal


@asynccontextmanager
async def open_write_session(
    settings: Settings, runtime: Runtime, provenance: Provenance, *, dry: bool = False
) -> AsyncIterator[WriteSession]:
    """Write to the platform within the block; what was written is recorded in the lake after it. dry: nothing
    will be written.

    Raises SettingsError where CAMPUS_ALLOW_WRITES does not allow it."""
    if not dry:
        needs_writes(settings)
    options = settings.options.writes
    # Tokens of their own, so that those for reading stay without the scopes for writing.
    config = replace(runtime.client, extra_scopes=(*runtime.client.extra_scopes, *options.scopes))
    # The journal is one process's at a time; who writes nothing waits for nobody.
    with nullcontext() if dry else open_journal(settings.home, runtime.lake) as journal:
        async with Client(config, (OF_USERS, OF_CLASSES), runtime.listener) as client:
            writer = Writer(client, settling=options.settling, form_as_json=options.form_as_json)
            yield WriteSession(client, provenance, writer, journal)


def provenance_of(context: dg.OpExecutionContext, source: str) -> Provenance:
    """On whose behalf a run of Dagster writes: by what the instance knows, since a tag of the run may say
    anything. source: the plan or file."""
    return Provenance(launcher_of(context.instance, context.run), source, context.run_id)
