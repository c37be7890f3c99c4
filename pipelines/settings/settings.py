"""The settings of an operator: CAMPUS_* in the environment or .env, and the optional campus.yaml.

All settings are checked at start. The message for a mistake is one line that names the key and the expected
value."""

import os
import re
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from campus.selections import nearest
from loading.reports.stems import sharing_stem
from pipelines.settings.environment import (
    MAX_BYTES,
    POSTGRES_URL,
    PREFIX,
    SERVERS,
    STORE,
    Places,
    RefusedFile,
    mistakes,
    read_places,
    refuse_others,
)
from pipelines.settings.options import FORMS, Options, Section, is_loopback
from pipelines.settings.origin import Origin, plain_address, read_origin, write_origin
from untrusted.files import FileRefused, read_below, read_named
from warehouse.published.audiences import FOLDER as AUDIENCES
from warehouse.published.audiences import Audience
from warehouse.published.shards import Published, Shards
from warehouse.stores import checked, is_remote

SIMULATOR = "simulator"
NO_PLATFORM = (
    "CAMPUS_BASE_URL is not set: set it to the platform's address (and CAMPUS_CLIENT_ID and "
    "CAMPUS_CLIENT_SECRET), or set CAMPUS_BASE_URL=simulator for made-up schools, as `campus demo` shows"
)
LOADED_FROM = (
    "CAMPUS_BASE_URL is not set. CAMPUS_HOME {home} was loaded from {address}: set CAMPUS_BASE_URL to that "
    "address, and CAMPUS_CLIENT_ID and CAMPUS_CLIENT_SECRET to the credentials of that platform"
)
_KEYS, _LIST, _TRUTH = "keys with their values", "a list, such as [a, b]", "true or false"
_INTEGER, _NUMBER = "a whole number", "a number"
#: What is expected, by pydantic's type of a mistake; the fields are of its context.
EXPECTED = {
    **dict.fromkeys(["model_type", "model_attributes_type", "dict_type"], _KEYS),
    **dict.fromkeys(["tuple_type", "list_type"], _LIST),
    **dict.fromkeys(["bool_type", "bool_parsing"], _TRUTH),
    **dict.fromkeys(["int_type", "int_parsing", "int_from_float", "int_parsing_size"], _INTEGER),
    **dict.fromkeys(["float_type", "float_parsing", "finite_number"], _NUMBER),
    "string_type": "text",
    "path_type": "the path of a file or folder",
    "invalid_key": "text as the key",
    "missing": "a value",
    "literal_error": "{expected}",
    "greater_than_equal": "{ge:g} or more",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "{le:g} or less",
    "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
}


class SettingsError(Exception):
    """Settings that are wrong. `problems`: a line for the operator about each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


Ids = Annotated[tuple[int, ...] | None, NoDecode]
Names = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    """CAMPUS_* of the environment and .env, with the options of campus.yaml."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    home: Path = Path("data")
    lake: str | None = None
    base_url: str | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    school_ids: Ids = None
    device_ids: Names = ()
    card_ids: Names = ()
    reports: Names = ()
    keep_id_numbers: bool = False
    allow_writes: bool = False
    allow_http: bool = False
    push_token: SecretStr | None = None
    push_tokens: SecretStr | None = None
    notify_url: SecretStr | None = None
    notify_password: SecretStr | None = None
    push_host: str = "127.0.0.1"
    push_port: int = Field(8710, ge=0, le=65535)
    config: Path | None = None
    # For a district (docs/how-to/district.md): the storage of runs, and the queue of the workers.
    postgres_url: SecretStr | None = Field(None, validation_alias="DAGSTER_POSTGRES_URL")
    broker_url: SecretStr | None = None
    result_url: SecretStr | None = None
    # In the pods of `campus district kubernetes`: each run is a job of Kubernetes.
    kubernetes: bool = False
    # From campus.yaml only: load_settings sets it.
    options: Annotated[Options, NoDecode] = Options()
    # The .env files that were read; load_settings sets it.
    read_from: Annotated[tuple[Path, ...], NoDecode] = ()
    # The .env that names the lake; None: the environment does, or nothing.
    lake_from: Annotated[Path | None, NoDecode] = None

    @field_validator("home", mode="before")
    @classmethod
    def _empty_is_default(cls, home: Any) -> Any:
        return "data" if home == "" else home

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        if "?" in str(home):
            # DuckDB puts the suffix of its write-ahead log before the first question mark of a path.
            raise ValueError("expected a path without ?")
        return home.expanduser().resolve()

    @field_validator(
        "lake",
        "base_url",
        "client_id",
        "client_secret",
        "push_token",
        "push_tokens",
        "notify_url",
        "notify_password",
        "config",
        "postgres_url",
        "broker_url",
        "result_url",
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator("lake")
    @classmethod
    def _folder_or_store(cls, lake: str | None) -> str | None:
        return None if lake is None else checked(lake)

    @field_validator("base_url")
    @classmethod
    def _http_address(cls, url: str | None) -> str | None:
        if url is None or url == SIMULATOR:
            return url
        if not url.startswith(("http://", "https://")) or not _host(url):
            raise ValueError("expected an address that starts with http:// or https://, or simulator")
        if "@" in url:
            # The address is shown and logged.
            raise ValueError("expected an address without a user name or password in it")
        return url.rstrip("/")

    @field_validator("notify_url")
    @classmethod
    def _webhook(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not url.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("expected an address that starts with http:// or https://")
        return url

    @field_validator("postgres_url")
    @classmethod
    def _postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not re.match(r"postgresql(\+\w+)?://", url.get_secret_value()):
            raise ValueError(
                "expected the address of a Postgres, postgresql+psycopg2://USER:PASSWORD@HOST:5432/DATABASE"
            )
        return url

    @field_validator("broker_url")
    @classmethod
    def _rabbitmq(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not url.get_secret_value().startswith(("amqp://", "amqps://")):
            raise ValueError("expected the address of a RabbitMQ, amqp://USER:PASSWORD@HOST:5672/VHOST")
        return url

    @field_validator("result_url")
    @classmethod
    def _redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url and not url.get_secret_value().startswith(("redis://", "rediss://")):
            raise ValueError("expected the address of a Redis, redis://:PASSWORD@HOST:6379/0")
        return url

    @field_validator("keep_id_numbers", "allow_writes", "allow_http", "kubernetes", mode="before")
    @classmethod
    def _empty_is_no(cls, value: Any) -> Any:
        return False if value == "" else value

    @field_validator("push_tokens")
    @classmethod
    def _school_tokens(cls, tokens: SecretStr | None) -> SecretStr | None:
        if tokens and not all(re.fullmatch(r"\d+=.+", part) for part in _parts(tokens.get_secret_value())):
            raise ValueError("expected a token for each school, e.g. 101=first-token,102=second-token")
        return tokens

    @field_validator("device_ids", "card_ids", "reports", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any) -> Any:
        return tuple(dict.fromkeys(_parts(value))) if isinstance(value, str) else value

    @field_validator("school_ids", mode="before")
    @classmethod
    def _comma_separated_ids(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        parts = _parts(value)
        if not all(part.isdecimal() for part in parts):
            raise ValueError("expected school ids, numbers separated by commas, e.g. 101,102")
        return tuple(dict.fromkeys(int(part) for part in parts)) or None

    @property
    def embedded(self) -> bool:
        """Whether the platform is the embedded simulator, with made-up schools."""
        return self.base_url == SIMULATOR

    @property
    def takes_pushes(self) -> bool:
        """Whether a token is set with which the platform signs its pushes."""
        return self.push_token is not None or self.push_tokens is not None

    def push_token_of(self, school_id: int) -> str | None:
        """The token that signs the pushes of a school: its own or the common one; None: they are refused."""
        own = _parts(self.push_tokens.get_secret_value()) if self.push_tokens else []
        for part in own:
            school, _, token = part.partition("=")
            if int(school) == school_id:
                return token
        if self.push_token is None or (self.school_ids and school_id not in self.school_ids):
            return None
        return self.push_token.get_secret_value()

    @property
    def origin(self) -> Origin:
        """The origin of the rows that are loaded."""
        address = self.base_url and not self.embedded and plain_address(self.base_url)
        return Origin(self.embedded, address or None)

    @property
    def postgres_address(self) -> str | None:
        """The address of the Postgres for Dagster's runs; None: the runs are in the home."""
        secret = self.postgres_url
        return (os.environ.get(POSTGRES_URL) or None) if secret is None else secret.get_secret_value()

    @property
    def names_servers(self) -> bool:
        """Whether the settings or the environment name a server of a district."""
        return any((self.postgres_url, self.broker_url, self.result_url, *map(os.environ.get, SERVERS)))

    @property
    def lake_root(self) -> str:
        """The root of the lake's tables: a folder, or a prefix in an object store."""
        return self.lake or str(self.home / "lake")

    @property
    def lake_folder(self) -> Path | None:
        """The folder of the lake; None: the lake is in an object store."""
        return None if is_remote(self.lake_root) else Path(self.lake_root)

    @property
    def published(self) -> Published:
        """The published warehouse that analysts read: one file, or shards."""
        return self.shards or self.home / "campus.duckdb"

    @property
    def audiences(self) -> tuple[Audience, ...]:
        """The audiences whose files are published beside campus.duckdb."""
        return tuple(
            Audience(
                name,
                audience.to or self.home / AUDIENCES / name,
                audience.schemas,
                frozenset(audience.without),
                audience.group,
            )
            for name, audience in self.options.publish.audiences.items()
        )

    @property
    def shards(self) -> Shards | None:
        """The place where shards are published; None: all schools are in one file."""
        publishing = self.options.publish
        if publishing.schools_per_shard is None:
            return None
        default = str(self.home / "published") if self.lake_folder else f"{self.lake_root}-published"
        root = publishing.to or default
        cache, patience = self.home / "cache" / "published", self.options.lake.patience
        days = publishing.freeze_after_days
        freeze_after = None if days is None else timedelta(days=days)
        return Shards(
            root.rstrip("/"),
            cache,
            publishing.keep_generations,
            patience,
            freeze_after,
            has_tables=publishing.tables is not None,
        )


#: The names of all settings in the environment.
SETTINGS = frozenset(
    f"{PREFIX}{name.upper()}"
    for name, field in Settings.model_fields.items()
    if name not in ("options", "read_from", "lake_from") and field.validation_alias is None
)
#: By name in the environment: the name of the argument for Settings.
FIELDS = {name: name.removeprefix(PREFIX).lower() for name in SETTINGS} | {
    str(field.validation_alias): str(field.validation_alias)
    for field in Settings.model_fields.values()
    if field.validation_alias is not None
}
#: The names of secret settings.
SECRETS = frozenset(
    str(field.validation_alias or f"{PREFIX}{name.upper()}")
    for name, field in Settings.model_fields.items()
    if field.annotation == SecretStr | None
)


def settings_apart(home: Path) -> Settings:
    """Settings of a home for made-up schools, independent of the environment and of campus.yaml."""
    return Settings(
        home=home,
        lake=None,
        base_url=None,
        client_id=None,
        client_secret=None,
        school_ids=None,
        device_ids=(),
        card_ids=(),
        reports=(),
        allow_writes=False,
        config=None,
        options=Options(),
    )


def load_settings() -> Settings:
    """Read and check all settings.

    Raises SettingsError with one line for each mistake."""
    try:
        places = read_places(str(Settings.model_fields["home"].default), SECRETS)
    except RefusedFile as error:
        raise SettingsError([str(error)]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f".env cannot be read as UTF-8 text: {_reason(error)}"]) from error
    problems = list(mistakes(places, SETTINGS))
    files = [place.file for place in places.dotenvs if place.file is not None]
    # Without names that the environment sets: arguments would override it.
    from_files = {FIELDS[name]: value for name, value in places.from_files().items() if name in FIELDS}
    lake_place = places.of("CAMPUS_LAKE")
    arguments: dict[str, Any] = {
        **from_files,
        "options": Options(),
        "read_from": tuple(files),
        "lake_from": lake_place and lake_place.file,
    }
    try:
        settings = Settings(**arguments)
    except ValidationError as error:
        lines = [_line(problem, PREFIX) for problem in error.errors()]
        raise SettingsError([*lines, *problems]) from error
    settings = _with_origin_of_home(settings)
    problems += [
        f"{name} is not set, and CAMPUS_BASE_URL names a platform: its operator issues the id and the secret"
        for name, value in (
            ("CAMPUS_CLIENT_ID", settings.client_id),
            ("CAMPUS_CLIENT_SECRET", settings.client_secret),
        )
        if settings.base_url and not settings.embedded and value is None
    ]
    problems += _unencrypted(settings)
    problems += [
        f"CAMPUS_HOME in {file} names another folder: set it in the environment, or where the command runs"
        for file in files
        if file.parent not in (Path.cwd(), settings.home)
    ]
    if problems:
        raise SettingsError(problems)
    options = _load_options(settings)
    problems = _foreign_directions(settings, options, places)
    if problems:
        raise SettingsError(problems)
    inside = [
        name
        for name, audience in options.publish.audiences.items()
        if audience.to is not None and settings.home.resolve() in (to := audience.to.resolve(), *to.parents)
    ]
    if inside:
        raise SettingsError(
            [
                f"publish.audiences.{name}.to is in CAMPUS_HOME: leave it out, or name a folder elsewhere"
                for name in inside
            ]
        )
    same_stem = sharing_stem([*(entry.report for entry in options.reports), *settings.reports])
    if same_stem:
        raise SettingsError(
            [
                f"the reports {' and '.join(map(repr, names))} would have the same tables: "
                f"name all but one by their ids (CAMPUS_REPORTS, reports in campus.yaml)"
                for names in same_stem
            ]
        )
    # The clients of object stores read the environment alone.
    os.environ.update({name: value for name, value in places.from_files().items() if name in STORE})
    return settings.model_copy(update={"options": options})


def settings_for_programs(settings: Settings) -> dict[str, str]:
    """The settings of the .env files, as environment for programs that run in another folder. Where the
    environment names the home, all variables of the home's .env are included.

    Variables that the environment has already are left out. Raises RefusedFile."""
    places = read_places(str(settings.home), SECRETS)
    others = places.home.values if places.home is not None and places.names_home else {}
    values = {
        name: value
        for name, value in places.from_files().items()
        if name in FIELDS or name in STORE or name in others
    }
    values["CAMPUS_HOME"] = str(settings.home)
    if settings.lake is not None:
        values["CAMPUS_LAKE"] = settings.lake
    if settings.config is not None:
        values["CAMPUS_CONFIG"] = str(settings.config.resolve())
    return values


def plain_http(settings: Settings) -> list[str]:
    """The settings with plain http addresses beyond this machine: these expose secrets and personal data."""
    addresses = {
        "CAMPUS_BASE_URL": settings.base_url,
        "CAMPUS_NOTIFY_URL": settings.notify_url and settings.notify_url.get_secret_value(),
    }
    return [
        name
        for name, address in addresses.items()
        if address and address.startswith("http://") and not is_loopback(_host(address) or "")
    ]


def _unencrypted(settings: Settings) -> list[str]:
    return [
        f"{name} begins with http://: anybody on the network path can read the secret. Use https://, or set "
        f"CAMPUS_ALLOW_HTTP=true where the path is safe, such as within one network of a school"
        for name in plain_http(settings)
        if not settings.allow_http
    ]


def _foreign_directions(settings: Settings, options: Options, places: Places) -> list[str]:
    """Say so where a campus.yaml that the environment does not name would direct its secret."""
    config = places.of("CAMPUS_CONFIG")
    is_named = places.names_home if config is None else config is places.environment
    directions = (
        ("CAMPUS_NOTIFY_PASSWORD", "notify.mail", options.notify.mail is not None),
        ("AWS_SECRET_ACCESS_KEY", "publish.to", is_remote(options.publish.to or "")),
    )
    return [
        f"{key} in {settings.config or settings.home / 'campus.yaml'} would direct {secret} of the "
        "environment, and somebody else may have written that file: set CAMPUS_HOME or CAMPUS_CONFIG in "
        "the environment, too"
        for secret, key, directs in directions
        if directs and not is_named and places.own(places.environment, secret)
    ]


def needs_platform(settings: Settings) -> None:
    """Raises SettingsError where the settings name neither a platform nor the simulator."""
    if problem := no_platform(settings):
        raise SettingsError([problem])


def no_platform(settings: Settings) -> str | None:
    """The message where the settings name neither a platform nor the simulator; None: they name one."""
    if settings.base_url is not None:
        return None
    origin = read_origin(settings.home)
    if origin is None or origin.address is None:
        return NO_PLATFORM
    return LOADED_FROM.format(home=settings.home, address=origin.address)


def _with_origin_of_home(settings: Settings) -> Settings:
    """The settings, with the simulator where the home has made-up schools and nothing names a platform."""
    if settings.base_url or settings.client_id or settings.client_secret:
        return settings
    origin = read_origin(settings.home)
    if origin is None or not origin.is_made_up:
        return settings
    return settings.model_copy(update={"base_url": SIMULATOR})


def needs_writes(settings: Settings) -> None:
    """Raises SettingsError where writes to the platform are off."""
    if not settings.allow_writes:
        raise SettingsError(
            [
                "CAMPUS_ALLOW_WRITES is not true: nothing is written to the platform. Set it to true to "
                "change the platform, and check the scopes with `campus doctor`"
            ]
        )


def needs_school(settings: Settings, school_id: int) -> None:
    """Raises SettingsError where the settings name schools, but not this school."""
    if settings.school_ids is not None and school_id not in settings.school_ids:
        raise SettingsError([f"school {school_id} is not in CAMPUS_SCHOOL_IDS"])


def check_home(settings: Settings) -> None:
    """Check that the home can be written, or created; no file is left behind.

    Raises SettingsError."""
    home = settings.home
    try:
        existing = next(path for path in (home, *home.parents) if path.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise SettingsError([f"CAMPUS_HOME: {home} cannot be written: {_reason(error)}"]) from error


def claim_home(settings: Settings) -> None:
    """Note in the home the origin of its data.

    Raises SettingsError where made-up and real schools would mix."""
    earlier, origin = read_origin(settings.home), settings.origin
    if earlier and earlier.is_made_up != origin.is_made_up:
        raise SettingsError(
            [
                f"CAMPUS_HOME {settings.home} holds data of {earlier.words}, and CAMPUS_BASE_URL now names "
                f"{origin.words}: made-up and real schools do not mix. Name another CAMPUS_HOME"
            ]
        )
    if earlier is None or (origin.address and origin.address != earlier.address):
        write_origin(settings.home, origin)


def _load_options(settings: Settings) -> Options:
    path = settings.config or settings.home / "campus.yaml"
    try:
        if settings.config:
            # Whoever names a file may name a link, as Kubernetes makes for the files of a ConfigMap.
            read = read_named(path, max_bytes=MAX_BYTES)
        else:
            read = read_below(settings.home, path.name, max_bytes=MAX_BYTES)
        refuse_others(path, read.status)
        content = yaml.safe_load(read.content.decode("utf-8")) or {}
        if not isinstance(content, dict):
            raise SettingsError([f"{path}: expected {_KEYS}"])
        return Options.model_validate(content)
    except (FileNotFoundError, NotADirectoryError):
        if settings.config:
            raise SettingsError([f"CAMPUS_CONFIG names {path}, which does not exist"]) from None
        return Options()
    except ValidationError as error:
        raise SettingsError([f"{path}: {_line(problem)}" for problem in error.errors()]) from error
    except (RefusedFile, FileRefused) as error:
        raise SettingsError([str(error)]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path} cannot be read: {_reason(error)}"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError([f"{path} is not valid YAML: {_yaml_problem(error)}"]) from None


def _parts(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _reason(error: OSError | UnicodeDecodeError) -> str:
    """The reason, without the bytes that could not be read: they may be a secret."""
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else error.reason


def _yaml_problem(error: Exception) -> str:
    """The place of a mistake in YAML, without the text there."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: expected keys with their values"
    return "it has a date or a number that does not exist, such as 2025-02-30, or a control character"


def _line(problem: Any, prefix: str = "") -> str:
    """The line for a mistake. It never has the value, which may be a secret."""
    *section, key = problem["loc"] or ("",)
    name = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{name}: there is no such key{nearest(str(key), _keys_of(section))}"
    expected, context = EXPECTED.get(problem["type"]), problem.get("ctx", {})
    if problem["type"] == "string_pattern_mismatch":
        expected = FORMS[context["pattern"]]
    reason = (
        problem["msg"].removeprefix("Value error, ")
        if expected is None
        else f"expected {expected.format_map(context)}"
    )
    # DAGSTER_POSTGRES_URL has no prefix.
    return f"{prefix if name.islower() else ''}{name.upper() if prefix else name}: {reason}"


def _keys_of(section: Sequence[int | str]) -> list[str]:
    """The valid keys of a section of campus.yaml."""
    kind: Any = Options
    for part in section:
        is_section = isinstance(kind, type) and issubclass(kind, Section)
        # For a mapping or a list of sections, the type of its members.
        members = [kind.model_fields[part].annotation] if is_section else get_args(kind)
        kind = next(member for member in reversed(members) if member is not ...)
        if NoneType in get_args(kind):
            # A section that may be null.
            kind = next(member for member in get_args(kind) if member is not NoneType)
    return list(kind.model_fields)
