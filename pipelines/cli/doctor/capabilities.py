"""What earlier runs found of the platform's capabilities, in words."""

from pathlib import Path

from loading.capabilities import read_capabilities
from pipelines.cli.doctor.findings import Finding

REDISCOVER = "campus doctor --rediscover has the next sync find it out anew; else that happens once a week."


def examine_capabilities(home: Path, base_url: str) -> Finding:
    """What the platform was found to do differently from the interface's description."""
    capabilities, _ = read_capabilities(home, base_url)
    found = []
    if capabilities.page_size is not None:
        found.append(f"sends at most {capabilities.page_size} rows a page")
    if capabilities.prefix is not None:
        found.append(f"has datasets and reports under {capabilities.prefix}")
    for each in sorted(capabilities.lasting):
        value = f"={each.value}" if each.value else ""
        found.append(f"rejects {each.parameter}{value} for {each.path}")
    if capabilities.confirmation.contradicted:
        found.append("sent an empty answer today that a later one contradicted")
    if not found:
        return Finding(True, "No difference between the platform and the interface's description is noted.")
    return Finding(True, f"The platform, as earlier syncs found it: {'; '.join(found)}. {REDISCOVER}")
