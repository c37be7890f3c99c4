"""Where CAMPUS_* come from: the environment, and files named .env, where the command runs and in the home."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from dotenv import dotenv_values

from campus.selections import nearest

PREFIX = "CAMPUS_"
DOTENV = ".env"


def dotenv_files(default_home: str) -> list[Path]:
    """The .env files that there are, those that hold over others last: that of the home, and that of the
    folder where the command runs.

    Raises OSError or UnicodeDecodeError where one cannot be read."""
    here = Path.cwd() / DOTENV
    home = os.environ.get("CAMPUS_HOME") or _read(here).get("CAMPUS_HOME") or default_home
    candidates = [Path(home).expanduser().resolve() / DOTENV, here]
    return [file for file in dict.fromkeys(candidates) if file.is_file()]


def mistakes(files: Collection[Path], known: Collection[str]) -> Iterator[str]:
    """What is set under a name that no setting has, in words. known: the settings' names."""
    places: list[tuple[str, Mapping[str, str | None]]] = [("", os.environ)]
    places += [(f" (in {file})", _read(file)) for file in files]
    for where, given in places:
        for name in given:
            upper = name.upper()
            if not upper.startswith(PREFIX) or upper in known:
                continue
            yield f"{name}{where}: there is no such setting{nearest(upper, known)}"


def _read(file: Path) -> dict[str, str | None]:
    return dotenv_values(file) if file.is_file() else {}
