"""The work of `campus mcp`."""

import duckdb

from pipelines.assistant.guide import skill
from pipelines.assistant.server import serve
from pipelines.assistant.session import session
from pipelines.cli.terminal.display import fail, print_line
from pipelines.settings.settings import Settings
from warehouse.published.shards import PublicationBroken, Published


def run_mcp(settings: Settings, published: Published, *, guide: bool) -> int:
    """Serve an assistant until it closes standard input, or print the guide. Returns the exit status."""
    if not published.exists():
        return fail(f"{published} is not there yet: run `campus sync`")
    try:
        if guide:
            with session(published, settings.options.mcp) as opened:
                print_line(skill(opened))
        else:
            serve(published, settings.options.mcp, settings.home)
    except (duckdb.Error, PublicationBroken) as error:
        return fail(error)
    return 0
