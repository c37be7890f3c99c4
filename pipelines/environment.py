"""Where CAMPUS_* come from: the environment, and files named .env, where the command runs and in the home."""

import os
import pwd
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from dotenv import dotenv_values

from campus.selections import nearest

PREFIX = "CAMPUS_"
DOTENV = ".env"
ADDRESS, SECRET = "CAMPUS_BASE_URL", "CAMPUS_CLIENT_SECRET"


def dotenv_files(default_home: str) -> list[Path]:
    """The .env files that there are, those that hold over others last: that of the home, and that of the
    folder where the command runs.

    Raises OSError or UnicodeDecodeError where one cannot be read."""
    here = Path.cwd() / DOTENV
    home = os.environ.get("CAMPUS_HOME") or _read(here).get("CAMPUS_HOME") or default_home
    candidates = [Path(home).expanduser().resolve() / DOTENV, here]
    return [file for file in dict.fromkeys(candidates) if file.is_file()]


def mistakes(files: Collection[Path], known: Collection[str]) -> Iterator[str]:
    """What is wrong with the .env files and the names that are set, in words. files: those that hold over
    others last. known: the settings' names."""
    places: list[tuple[str, Mapping[str, str | None]]] = [("", os.environ)]
    for file in files:
        if problem := not_ones_own(file):
            yield problem
        places.append((f" (in {file})", _read(file)))
    for place, values in places:
        for name in values:
            upper = name.upper()
            if not upper.startswith(PREFIX) or upper in known:
                continue
            yield f"{name}{place}: there is no such setting{nearest(upper, known)}"
    yield from _mixed(files)


def not_ones_own(file: Path) -> str | None:
    """Why somebody else may have written a file of settings; None: nobody else can.

    A folder that a stranger made may have settings that send the platform's secret to another server."""
    status = file.stat()
    user_id = os.geteuid()
    if status.st_uid not in (user_id, 0):
        return (
            f"{file} belongs to {_user(status.st_uid)}, and this is {_user(user_id)}: it is not read. Run "
            f"the command as its owner, or make it yours (chown {_user(user_id)} {file})"
        )
    if status.st_mode & stat.S_IWOTH:
        return f"{file} can be written by everybody: it is not read. Mend it with chmod o-w {file}"
    return None


def _mixed(files: Collection[Path]) -> Iterator[str]:
    """Say so where the address of the platform is in one file and the secret that is sent there elsewhere."""
    sources: dict[str, str | Path] = {}
    for file in files:
        sources |= {name: file for name, value in _read(file).items() if value}
    sources |= {name: "the environment" for name, value in os.environ.items() if value}
    address, secret = sources.get(ADDRESS), sources.get(SECRET)
    # Who names the address in the environment means it.
    if isinstance(address, Path) and secret is not None and secret != address:
        yield (
            f"{ADDRESS} is in {address}, and {SECRET} in {secret}: the secret would be sent to an address "
            f"that somebody else may have written. Put both into one file, or both into the environment"
        )


def _user(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"


def _read(file: Path) -> dict[str, str | None]:
    return dotenv_values(file) if file.is_file() else {}
