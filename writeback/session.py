"""A write session: sends writes, and records each in the journal."""

import asyncio
from dataclasses import dataclass

from campus.http.client import Client
from campus.http.errors import CampusError, PlatformUnavailable, Transient, Unconfirmed
from writeback.operations import Write
from writeback.send.writer import Look, Writer, Written
from writeback.store.journal import (
    DONE,
    FOUND,
    INTERRUPTED,
    REFUSED,
    UNCONFIRMED,
    UNSENT,
    Journal,
    Provenance,
    storable,
)


@dataclass(frozen=True)
class WriteSession:
    """Sends writes and records them."""

    client: Client
    provenance: Provenance
    writer: Writer
    #: None in a dry run, which sends nothing.
    journal: Journal | None

    async def write(self, write: Write, row: str = "", look: Look | None = None) -> Written:
        """Send a write with its record; see `recorded`."""
        assert self.journal is not None
        return await recorded(self.writer, self.journal, self.provenance, write, row, look)


async def recorded(
    writer: Writer,
    journal: Journal,
    provenance: Provenance,
    write: Write,
    row: str = "",
    look: Look | None = None,
) -> Written:
    """Carry out a write, with its record. See `Writer.write` for errors; each is recorded."""
    number = journal.begin(write, provenance, row)
    try:
        written = await writer.write(write, look)
    except (Unconfirmed, Transient, PlatformUnavailable) as error:
        unsent = not write.operation.repeatable and not isinstance(error, Unconfirmed)
        journal.end(number, UNSENT if unsent else UNCONFIRMED, 0, str(error))
        raise
    except CampusError as error:
        journal.end(number, REFUSED, error.status, error.quote or error.message)
        raise
    except asyncio.CancelledError:
        # Ctrl-C ended the wait for the response.
        journal.end(number, INTERRUPTED, 0, None)
        raise
    journal.end(number, DONE if written.status else FOUND, written.status, storable(written.value))
    return written
