"""What the doctor says of writing to the platform: what it needs, and whether it is there."""

from dataclasses import replace

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from campus.registry.v1 import OF_CLASSES, OF_USERS
from pipelines.cli.doctor.findings import Finding
from pipelines.cli.doctor.probes import ask
from pipelines.settings import Settings
from writeback.inbox.folder import arrived
from writeback.kinds import ATTENDANCE, ROSTERS, SWIPES

OFF = (
    "Nothing is written to the platform, as CAMPUS_ALLOW_WRITES is not true. A write needs that, and a scope "
    "for it in writes.scopes of campus.yaml: the interface names none, the platform's operator knows it."
)
NO_SCOPE = "Writes are allowed, with the scopes for reading, as writes.scopes of campus.yaml names none."
ONLY_A_WRITE = "Only a write shows whether that is enough."
FIELDS = RESOURCES["user_fields"]


async def examine_writes(platform: ClientConfig, settings: Settings, school_id: int) -> Finding:
    """Whether writes are allowed, and the platform grants a token for them. Nothing is written."""
    scopes = settings.options.writes.scopes
    if not settings.allow_writes:
        return Finding(None, OFF)
    if not scopes:
        return Finding(None, f"{NO_SCOPE} {ONLY_A_WRITE}")
    config = replace(platform, extra_scopes=(*platform.extra_scopes, *scopes))
    async with Client(config, (OF_USERS, OF_CLASSES)) as client:
        try:
            await ask(client, FIELDS, school_id, FIELDS.path)
        except PlatformUnavailable as halt:
            return Finding(False, f"Writes are allowed, and the token for them is refused: {halt}")
        _, refused = client.scopes_of(school_id)
    lacking = ", ".join(scope for scope in scopes if scope in refused)
    if lacking:
        return Finding(
            False,
            f"Writes are allowed, and the platform refuses the scope {lacking}, which writes.scopes of "
            f"campus.yaml names: ask its operator to grant it, or for the right name.",
        )
    return Finding(True, f"Writes are allowed, with the scopes {', '.join(scopes)}. {ONLY_A_WRITE}")


def examine_inbox(settings: Settings) -> list[Finding]:
    """The folder in which files arrive; nothing where there is none."""
    folder, troubles = settings.options.writes.inbox.folder, list[str]()
    if folder is None:
        return []
    try:
        for kind in (ROSTERS, ATTENDANCE, SWIPES):
            arrived(folder, kind, settings.school_ids, troubles.append)
    except OSError as error:
        return [Finding(False, f"{folder} (writes.inbox.folder) cannot be read: {error.strerror}.")]
    if troubles:
        return [Finding(False, f"{trouble}.") for trouble in dict.fromkeys(troubles)]
    return [Finding(True, f"Dagster's daemon reads the files that arrive in {folder}.")]
