"""What a command or a run writes to the platform with: client, journal, and on whose behalf."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace

from campus.http.client import Client
from campus.registry.v1 import OF_CLASSES, OF_USERS
from campus.writes.operations import Write
from campus.writes.writer import Look, Writer, Written
from loading.runtime import Runtime
from loading.writes.journal import Errand, Journal, opened, recorded
from pipelines.launches import LAUNCHER_TAG
from pipelines.settings import Settings, needs_writes


@dataclass(frozen=True)
class Desk:
    """Carries out writes one by one, each with its record; none where it has no journal."""

    client: Client
    errand: Errand
    _writer: Writer
    _journal: Journal | None

    async def write(self, write: Write, row: str = "", look: Look | None = None) -> Written:
        """See `recorded`."""
        assert self._journal is not None
        return await recorded(self._writer, self._journal, self.errand, write, row, look)


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


def errand_of(tags: Mapping[str, str], source: str, run_id: str = "") -> Errand:
    """On whose behalf a command or a run writes, by the tags of its runs. run_id: of Dagster."""
    return Errand(tags[LAUNCHER_TAG], source, run_id)
