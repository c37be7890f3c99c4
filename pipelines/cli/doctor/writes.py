"""The doctor's findings about writing to the platform."""

from dataclasses import replace

from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from campus.registry.v1 import CLASS_SCOPES, USER_SCOPES
from pipelines.cli.doctor.findings import Finding, unavailable
from pipelines.cli.doctor.probes import probe
from pipelines.settings.settings import Settings
from writeback.inbox.folder import list_arrived
from writeback.kinds import ATTENDANCE, ROSTERS, SWIPES

OFF = (
    "Writing to the platform is off, since CAMPUS_ALLOW_WRITES is not true. A write also needs a scope in "
    "writes.scopes of campus.yaml: ask the platform's operator, since the interface names none."
)
NO_SCOPE = "Writes are allowed, with the scopes for reading, since writes.scopes of campus.yaml is empty."
ONLY_A_WRITE = "Only a write shows whether that is enough."
# A short list. Any request makes the client fetch a token.
FIELDS = RESOURCES["user_fields"]


async def examine_writes(platform: ClientConfig, settings: Settings, school_id: int) -> Finding:
    """Whether writes are allowed, and the platform grants a token for writes. Nothing is written."""
    scopes = settings.options.writes.scopes
    if not settings.allow_writes:
        return Finding(None, OFF)
    if not scopes:
        return Finding(None, f"{NO_SCOPE} {ONLY_A_WRITE}")
    config = replace(platform, extra_scopes=(*platform.extra_scopes, *scopes))
    async with Client(config, (USER_SCOPES, CLASS_SCOPES)) as client:
        try:
            await probe(client, FIELDS, school_id, FIELDS.path)
        except PlatformUnavailable as halt:
            return Finding(
                False, f"Writes are allowed, and the token for them is refused: {unavailable(halt).text}"
            )
        _, refused = client.scopes_of(school_id)
    lacking = ", ".join(scope for scope in scopes if scope in refused)
    if lacking:
        return Finding(
            False,
            f"Writes are allowed, and the platform refuses the scope {lacking}, which writes.scopes of "
            f"campus.yaml names: ask the platform's operator to grant it, or for the right name.",
        )
    return Finding(True, f"Writes are allowed, with the scopes {', '.join(scopes)}. {ONLY_A_WRITE}")


def examine_inbox(settings: Settings) -> list[Finding]:
    """Whether the folder of arriving files can be read; empty where the settings name none."""
    folder, problems = settings.options.writes.inbox.folder, list[str]()
    if folder is None:
        return []
    try:
        for kind in (ROSTERS, ATTENDANCE, SWIPES):
            list_arrived(folder, kind, settings.school_ids, problems.append)
    except OSError as error:
        reason = f"{folder} (writes.inbox.folder) cannot be read: {error.strerror}"
        return [Finding(False, f"{reason}. Make the folder for this user, or name another one.")]
    if problems:
        return [Finding(False, f"{problem}.") for problem in dict.fromkeys(problems)]
    return [Finding(True, f"Dagster's daemon reads files that arrive in {folder}.")]
