"""What a command or a run writes to the platform with: client, journal, and on whose behalf."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace

import dagster as dg

from campus.http.client import Client
from campus.registry.v1 import OF_CLASSES, OF_USERS
from campus.writes.operations import Write
from campus.writes.writer import Look, Writer, Written
from loading.runtime import Runtime
from loading.writes.journal import Errand, Journal, opened, recorded
from pipelines.launches import launcher_of
from pipelines.settings import Settings, needs_writes


@dataclass(frozen=True)
class Desk:
    """Carries out writes one by one, each with its record; none where it has no journal."""

    client: Client
    errand: Errand
    _writer: Writer
    #: None: nothing will be written.
    journal: Journal | None

    async def write(self, write: Write, row: str = "", look: Look | None = None) -> Written:
        """See `recorded`."""
        assert self.journal is not None
        return await recorded(self._writer, self.journal, self.errand, write, row, look)


@asynccontextmanager
async def open_desk(
    settings: Settings, runtime: Runtime, errand: Errand, *, dry: bool = False
) -> AsyncIterator[Desk]:
    """Write to the platform within the block; what was written is recorded in the lake after it. dry: nothing
    will be written.

    Raises SettingsError where CAMPUS_ALLOW_WRITES does not allow it."""
    if not dry:
        needs_writes(settings)
    options = settings.options.writes
    # Tokens of their own, so that those for reading stay without the scopes for writing.
    config = replace(runtime.client, extra_scopes=(*runtime.client.extra_scopes, *options.scopes))
    # The journal is one process's at a time; who writes nothing waits for nobody.
    with nullcontext() if dry else opened(settings.home, runtime.lake) as journal:
        async with Client(config, (OF_USERS, OF_CLASSES), runtime.listener) as client:
            writer = Writer(client, settling=options.settling, form_as_json=options.form_as_json)
            yield Desk(client, errand, writer, journal)


def errand_of(context: dg.OpExecutionContext, source: str) -> Errand:
    """On whose behalf a run of Dagster writes: by what the instance knows, since a tag of the run may say
    anything. source: the plan or file."""
    return Errand(launcher_of(context.instance, context.run), source, context.run_id)
