"""The project's rooms: the packages that pyproject.toml names."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
_TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
#: All packages, the simulator too.
ROOMS: tuple[str, ...] = tuple(_TOOLS["importlinter"]["root_packages"])
#: Those of the product.
PRODUCT = tuple(room for room in ROOMS if room != "simulator")


def modules(rooms: tuple[str, ...]) -> list[Path]:
    """The Python files of some rooms."""
    return [path for room in rooms for path in (ROOT / room).rglob("*.py")]
