"""Vega, Vega-Lite and vega-embed as one script. vl-convert takes seconds to bundle them."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from warehouse.files import write_text


def bundle(folder: Path) -> str:
    """The script. Each version of vl-convert bundles it once; `folder` is its cache."""
    path = folder / f"vega-{version('vl-convert-python')}.js"
    if not path.exists():
        # A reader without write access to the home, or to its disk, bundles it each time.
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            write_text(path, _bundle())
            for old in set(folder.glob("vega-*.js")) - {path}:
                old.unlink()
        return _bundle()
    return path.read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script
