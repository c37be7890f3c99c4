"""The doctor's finding about the platform's capabilities, as earlier runs discovered them."""

from pathlib import Path

from loading.connection.capabilities import read_capabilities
from pipelines.cli.doctor.findings import Finding

REDISCOVER = (
    "After campus doctor --rediscover, the next sync discovers this again; else that happens once a week."
)
NOT_KNOWN = (
    "Whether the platform differs from the specification is not known yet: the next campus sync finds out."
)


def examine_capabilities(home: Path, base_url: str, *, is_discovered: bool) -> Finding:
    """How the platform differs from the interface specification. `is_discovered`: a sync has looked at it."""
    capabilities, _ = read_capabilities(home, base_url)
    differences = []
    if capabilities.page_size is not None:
        differences.append(f"sends at most {capabilities.page_size} rows a page")
    if capabilities.prefix is not None:
        differences.append(f"has datasets and reports under {capabilities.prefix}")
    for rejection in sorted(capabilities.lasting):
        value = f"={rejection.value}" if rejection.value else ""
        differences.append(f"rejects {rejection.parameter}{value} for {rejection.path}")
    if capabilities.confirmation.contradicted:
        differences.append("sent an empty answer today that a later answer contradicted")
    if not differences and not is_discovered:
        return Finding(None, NOT_KNOWN)
    if not differences:
        return Finding(True, "Earlier syncs found no difference between the platform and the specification.")
    return Finding(True, f"The platform, as earlier syncs found it: {'; '.join(differences)}. {REDISCOVER}")
