"""Opens the session in which a command or a run writes to the platform."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import dagster as dg

from campus.http.client import Client
from campus.registry.v1 import CLASS_SCOPES, USER_SCOPES
from loading.connection.runtime import Runtime
from pipelines.runs.launchers import launcher_of
from pipelines.settings.settings import Settings, needs_writes
from writeback.send.writer import Writer
from writeback.session import WriteSession
from writeback.store.journal import Provenance
from writeback.store.store import open_journal


@asynccontextmanager
async def open_write_session(
    settings: Settings, runtime: Runtime, provenance: Provenance, *, dry: bool = False
) -> AsyncIterator[WriteSession]:
    """A session that writes to the platform. The journal of its writes goes into the lake after the block.

    `dry`: writes nothing. Raises SettingsError if CAMPUS_ALLOW_WRITES is not true."""
    if not dry:
        needs_writes(settings)
    options = settings.options.writes
    # Separate tokens, so that tokens for reads stay without the scopes for writes.
    config = replace(runtime.client, extra_scopes=(*runtime.client.extra_scopes, *options.scopes))
    # One process at a time holds the journal; a dry session needs no journal.
    with nullcontext() if dry else open_journal(settings.home, runtime.lake) as journal:
        async with Client(config, (USER_SCOPES, CLASS_SCOPES), runtime.listener) as client:
            writer = Writer(client, settling=options.settling, form_as_json=options.form_as_json)
            yield WriteSession(client, provenance, writer, journal)


def provenance_of(context: dg.OpExecutionContext, source: str) -> Provenance:
    """The person or sensor behind the writes of a run, by the instance's records, since anybody can set a
    run's tags. `source`: the plan or file."""
    return Provenance(launcher_of(context.instance, context.run), source, context.run_id)
