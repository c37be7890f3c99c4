"""Vega, Vega-Lite and vega-embed as one script. vl-convert has them, and takes seconds to join them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from warehouse.files import write_text


def bundle(folder: Path) -> str:
    """The script. It is put together once for each version of vl-convert, and kept in `folder`."""
    kept = folder / f"vega-{version('vl-convert-python')}.js"
    if not kept.exists():
        # Who may only read the home, or its disk, has it put together each time.
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            write_text(kept, _made())
            for old in set(folder.glob("vega-*.js")) - {kept}:
                old.unlink()
        return _made()
    return kept.read_text(encoding="utf-8")


@cache
def _made() -> str:
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return made
