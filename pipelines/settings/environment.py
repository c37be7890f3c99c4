"""Reads CAMPUS_* from the environment and from files named .env: in the current folder and in the home.

A .env may come from a stranger, for example with a cloned repository. So a file that somebody else can write
is refused, and a .env must not direct the secret of another place, or the rows that are loaded with the
secret."""

import os
import pwd
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values

from campus.selections import nearest
from untrusted.files import FileRefused, read_below

PREFIX = "CAMPUS_"
DOTENV = ".env"
HOME = "CAMPUS_HOME"
#: Bytes of a file of settings at most.
MAX_BYTES = 1_000_000
ADDRESS, SECRET = "CAMPUS_BASE_URL", "CAMPUS_CLIENT_SECRET"
#: The address of the platform, and the credentials that are sent there.
PLATFORM = (ADDRESS, "CAMPUS_CLIENT_ID", SECRET)
#: The addresses of a district: the Postgres of its runs, the broker, and Celery's result backend.
POSTGRES_URL, BROKER_URL = "DAGSTER_POSTGRES_URL", "CAMPUS_BROKER_URL"
RESULT_URL = "CAMPUS_RESULT_URL"
SERVERS = (POSTGRES_URL, BROKER_URL, RESULT_URL)
#: The variables of an object store. Its clients read the environment alone, but a .env may have them, too.
STORE = (
    "AWS_ENDPOINT_URL",
    "AWS_ALLOW_HTTP",
    "AWS_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)
#: The variables that name the address of the store.
_STORE_ADDRESS = ("AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP")
_DIRECTS = "would direct {secret} of {holder}, or the rows that are loaded with it"
#: What settings do with a secret of another place, where they do not direct it.
EFFECTS = {
    "CAMPUS_ALLOW_WRITES": "would allow writes to the platform with {secret} of {holder}",
    "CAMPUS_ALLOW_HTTP": "would let {secret} of {holder} be sent without encryption",
    "AWS_ALLOW_HTTP": "would let {secret} of {holder} be sent without encryption",
}
#: By secret: the settings that direct the secret, or the rows that are loaded with the secret.
DIRECTIONS: Mapping[str, tuple[str, ...]] = {
    SECRET: (
        *PLATFORM,
        "CAMPUS_ALLOW_HTTP",
        "CAMPUS_ALLOW_WRITES",
        "CAMPUS_LAKE",
        "CAMPUS_CONFIG",
        "CAMPUS_NOTIFY_URL",
        *SERVERS,
        *_STORE_ADDRESS,
    ),
    "CAMPUS_NOTIFY_PASSWORD": ("CAMPUS_CONFIG",),
    "AWS_SECRET_ACCESS_KEY": ("CAMPUS_LAKE", "CAMPUS_CONFIG", *_STORE_ADDRESS),
}


@dataclass(frozen=True)
class Place:
    """A source of settings, and its values by name in capital letters."""

    values: Mapping[str, str] = field(repr=False)
    #: None: the environment.
    file: Path | None = None

    def __str__(self) -> str:
        return "the environment" if self.file is None else str(self.file)

    def has(self, name: str) -> bool:
        """Whether this place sets a name to something."""
        return bool(self.values.get(name))


@dataclass(frozen=True)
class Places:
    """The sources of settings: the environment overrides the folder's .env, which overrides the home's."""

    environment: Place
    #: The .env of the current folder; None: there is none, or the current folder is the home.
    folder: Place | None
    #: The .env of the home.
    home: Place | None
    #: Whether the environment names the home, and so trusts the home's .env and campus.yaml.
    names_home: bool

    @property
    def dotenvs(self) -> list[Place]:
        """The existing files; later files override earlier files."""
        return [place for place in (self.home, self.folder) if place is not None]

    def of(self, name: str) -> Place | None:
        """The place whose value of a name counts; None: no place sets the name."""
        places = (self.environment, *reversed(self.dotenvs))
        return next((place for place in places if name in place.values), None)

    def own(self, place: Place, secret: str) -> bool:
        """Whether a secret belongs to a place. Dagster's programs copy the .env of their folder into the
        environment of child processes, so a secret that a file has, too, belongs to the file."""
        return place.has(secret) and not any(
            other is not place and other.values.get(secret) == place.values[secret] for other in self.dotenvs
        )

    def from_files(self) -> dict[str, str]:
        """The values of the files, without names that the environment sets."""
        values: dict[str, str] = {}
        for place in self.dotenvs:
            values |= place.values
        return {name: value for name, value in values.items() if name not in self.environment.values}


class RefusedFile(Exception):
    """A file of settings that is not read; the message says why, and what to do."""


def read_places(default_home: str, secrets: Collection[str]) -> Places:
    """Read the environment, and each .env once. `secrets`: the names of secret settings.

    Raises RefusedFile, and OSError or UnicodeDecodeError where a file cannot be read."""
    environment = Place({name.upper(): value for name, value in os.environ.items()})
    folder = _read(Path.cwd() / DOTENV, secrets)
    home_name = environment.values.get(HOME)
    home = Path(home_name or (folder and folder.values.get(HOME)) or default_home).expanduser().resolve()
    if home == Path.cwd():
        return (
            Places(environment, None, folder, True) if home_name else Places(environment, folder, None, False)
        )
    return Places(environment, folder, _read(home / DOTENV, secrets), bool(home_name))


def mistakes(places: Places, settings: Collection[str]) -> Iterator[str]:
    """Say what is wrong with the names that are set. `settings`: the names of all settings."""
    for place in (places.environment, *places.dotenvs):
        suffix = "" if place.file is None else f" (in {place.file})"
        spelled = os.environ if place.file is None else place.values
        for name in spelled:
            if name.upper().startswith(PREFIX) and name.upper() not in settings:
                yield f"{name}{suffix}: there is no such setting{nearest(name.upper(), settings, PREFIX)}"
    yield from _split_platform(places) or _foreign_directions(places)


def _split_platform(places: Places) -> list[str]:
    """Say so where the platform's address is in a file, and its credentials are elsewhere."""
    address = places.of(ADDRESS)
    # An address in the environment is intended.
    if address is None or address.file is None or not address.has(ADDRESS):
        return []
    for name in reversed(PLATFORM):
        place = places.of(name)
        if place is not None and place is not address:
            return [
                f"{ADDRESS} is in {address}, and {name} in {place}: the secret would be sent to an address "
                f"that somebody else may have written. Put {', '.join(PLATFORM)} into one file, or all into "
                f"the environment"
            ]
    return []


def _foreign_directions(places: Places) -> Iterator[str]:
    """Say so where a .env directs the secret of another place, or the rows that are loaded with it."""
    for place in places.dotenvs:
        if place is places.folder:
            others = [places.environment, *([places.home] if places.home else [])]
        else:
            others = [] if places.names_home else [places.environment]
        for secret, names in DIRECTIONS.items():
            holder = next((other for other in others if places.own(other, secret)), None)
            directions = [name for name in names if place.has(name)]
            if holder is None or not directions:
                continue
            names_by_effect: dict[str, list[str]] = {}
            for name in directions:
                names_by_effect.setdefault(EFFECTS.get(name, _DIRECTS), []).append(name)
            for effect, same in names_by_effect.items():
                yield (
                    f"{', '.join(same)} in {place} {effect.format(secret=secret, holder=holder)}: put "
                    f"{'them' if same[1:] else 'it'} into {holder}, too"
                )
            break


def refuse_others(file: Path, status: os.stat_result) -> None:
    """Raises RefusedFile for a file of settings that somebody else may have written."""
    user_id = os.geteuid()
    if status.st_uid not in (user_id, 0):
        raise RefusedFile(
            f"{file} belongs to {_user(status.st_uid)}, and this is {_user(user_id)}: it is not read. Run "
            f"the command as its owner, or make it yours (chown {_user(user_id)} {file})"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        by = "everybody" if status.st_mode & stat.S_IWOTH else "its group"
        raise RefusedFile(f"{file} can be written by {by}: it is not read. Mend it with chmod go-w {file}")


def _read(file: Path, secrets: Collection[str]) -> Place | None:
    """The values of a .env; None: there is no such file. Raises RefusedFile."""
    try:
        if stat.S_ISDIR(file.lstat().st_mode):
            # A virtual environment is often called so.
            return None
        # A link may lead to a file that is not meant for this folder.
        read = read_below(file.parent, file.name, max_bytes=MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except FileRefused as error:
        raise RefusedFile(str(error)) from None
    refuse_others(file, read.status)
    # Without interpolation, which could put a secret of the environment into an address.
    values = dotenv_values(stream=StringIO(read.content.decode("utf-8")), interpolate=False)
    place = Place({name.upper(): value for name, value in values.items() if value is not None}, file)
    for name, value in place.values.items():
        # Dagster's programs read the same file with interpolation.
        if "${" in value and (name.startswith(PREFIX) or name in secrets or name in STORE):
            raise RefusedFile(f"{name} in {file} has ${{...}}, which is not replaced: write the value itself")
    return place


def _user(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"
