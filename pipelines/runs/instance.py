"""The Dagster instance that the UI and the command line share: in CAMPUS_HOME/dagster or DAGSTER_HOME."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import yaml

from assets.shared.dagster_private import NO_COMPUTE_LOGS
from pipelines.district.config import celery_config
from pipelines.settings.environment import BROKER_URL, POSTGRES_URL, RESULT_URL
from pipelines.settings.settings import Settings, SettingsError, settings_for_programs
from warehouse.files import write_text

#: First line of a dagster.yaml that campus may overwrite when the settings or the version change.
GENERATED_LINE = "# Written by campus. To change this file, remove this line: it is left alone then.\n"
#: The storage of runs and events in Postgres.
POSTGRES: dict[str, object] = {"storage": {"postgres": {"postgres_url": {"env": POSTGRES_URL}}}}
NO_POSTGRES = (
    f"{BROKER_URL} is set and {POSTGRES_URL} is not: workers share their runs in one Postgres. Set "
    f"{POSTGRES_URL}=postgresql+psycopg2://USER:PASSWORD@HOST:5432/DATABASE"
)
#: The storage of events without Postgres.
EVENT_LOG: dict[str, object] = {
    "event_log_storage": {
        "module": "pipelines.runs.event_log",
        "class": "KeptSqliteEventLog",
        "config": {"base_dir": {"env": "DAGSTER_HOME"}},
    }
}
#: The configuration that the first version wrote, without the first line OURS.
FIRST_CONFIG: dict[str, object] = {
    "telemetry": {"enabled": False},
    # Steps print nothing. The processes that capture output can outlive the command and keep its output open.
    "compute_logs": NO_COMPUTE_LOGS,
    "nux": {"enabled": False},
    # One load at a time, so that one run requests from the platform; one build at a time, since a build takes
    # all its memory. With workers, see pipelines.district.config.
    "concurrency": {
        "pools": {"default_limit": 1, "granularity": "run"},
        "runs": {"max_concurrent_runs": 4},
    },
    "run_monitoring": {
        "enabled": True,
        "free_slots_after_run_end_seconds": 60,
        # A run whose process was killed looks alive, and blocks other runs and the publication.
        "max_runtime_seconds": 12 * 3600,
    },
}
#: Modules that a dagster.yaml of 0.1.0 names, and their names now.
MOVED_MODULES = {
    "pipelines.launches": "pipelines.runs.launchers",
    "pipelines.event_log": "pipelines.runs.event_log",
}
CONFIG = FIRST_CONFIG | {
    "run_coordinator": {"module": "pipelines.runs.launchers", "class": "NamedLaunches"},
    # Sensors tick every few seconds, and Dagster would keep their ticks for a week or for ever.
    "retention": {
        kind: {"purge_after_days": {"skipped": 1, "success": 60, "failure": 60, "started": 60}}
        for kind in ("schedule", "sensor")
    },
}


@dataclass
class _OpenInstance:
    """An open instance, the stack that closes it, and the number of blocks that use it."""

    instance: dg.DagsterInstance
    stack: ExitStack
    blocks: int = 0


#: By home. A command and its callees share one instance, since opening an instance is slow.
_OPEN: dict[Path, _OpenInstance] = {}


@contextmanager
def open_instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of the settings, set up where it is new. Overlapping blocks share it."""
    home = dagster_home(settings)
    if home not in _OPEN:
        stack = ExitStack()
        instance = stack.enter_context(dg.DagsterInstance.from_config(str(home)))
        _OPEN[home] = _OpenInstance(instance, stack)
    opened = _OPEN[home]
    opened.blocks += 1
    try:
        yield opened.instance
    finally:
        opened.blocks -= 1
        if not opened.blocks:
            del _OPEN[home]
            opened.stack.close()


def dagster_home(settings: Settings) -> Path:
    """DAGSTER_HOME, with the dagster.yaml of these settings. A dagster.yaml that somebody has changed stays.
    Sets the environment for child processes.

    Raises SettingsError where the file or a broker needs Postgres, and its address is not set, and where the
    file names modules that have moved."""
    _export_addresses(settings)
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(settings.home / "dagster")))
    home.mkdir(parents=True, exist_ok=True)
    file, text = home / "dagster.yaml", GENERATED_LINE + yaml.safe_dump(_config(settings), sort_keys=False)
    existing = file.read_text(encoding="utf-8") if file.exists() else GENERATED_LINE
    if POSTGRES_URL in existing and not os.environ.get(POSTGRES_URL):
        raise SettingsError([f"{POSTGRES_URL} is not set, and {file} stores the runs there: set it"])
    if not _is_ours(existing):
        _check_modules(file, existing)
    elif existing != text:
        write_text(file, text)
    return home


def _check_modules(file: Path, text: str) -> None:
    """Raise SettingsError if a dagster.yaml that somebody has changed names modules as 0.1.0 did."""
    problems = [
        f"{file} was changed by hand, and names {old}: replace it by {new}, or delete the file, so that "
        "campus writes a new one"
        for old, new in MOVED_MODULES.items()
        if f"module: {old}\n" in text
    ]
    if problems:
        raise SettingsError(problems)


def prepare_programs(settings: Settings) -> None:
    """Move this process, and the programs that it will start, to Dagster's folder.

    Dagster's programs load the .env of their current folder, and Python imports modules from it. The folder
    where a command was started may belong to somebody else."""
    home = dagster_home(settings).absolute()
    os.environ.update(settings_for_programs(settings) | {"DAGSTER_HOME": str(home)})
    os.chdir(home)


def contradicting_sections(settings: Settings) -> list[str]:
    """Messages about sections of a dagster.yaml, changed by hand, that contradict the settings."""
    file = dagster_home(settings) / "dagster.yaml"
    text = file.read_text(encoding="utf-8")
    if _is_ours(text):
        return []
    existing, wanted = yaml.safe_load(text) or {}, _config(settings)
    return [
        f"{file} was changed by hand, and its {section} contradicts {name}: correct it, or delete the file, "
        "so that campus writes a new one"
        for section, name in (("storage", POSTGRES_URL), ("run_launcher", BROKER_URL))
        if section in wanted and existing.get(section) != wanted[section]
    ]


def _export_addresses(settings: Settings) -> None:
    """Put the secret addresses into the environment, where dagster.yaml refers to them."""
    addresses = {
        POSTGRES_URL: settings.postgres_url,
        BROKER_URL: settings.broker_url,
        RESULT_URL: settings.result_url,
    }
    for name, secret in addresses.items():
        if secret is not None:
            os.environ[name] = secret.get_secret_value()


def _config(settings: Settings) -> dict[str, object]:
    if not os.environ.get(POSTGRES_URL):
        if settings.broker_url is not None:
            raise SettingsError([NO_POSTGRES])
        return CONFIG | EVENT_LOG
    return CONFIG | POSTGRES | ({} if settings.broker_url is None else celery_config(settings, CONFIG))


def _is_ours(text: str) -> bool:
    """Whether campus wrote the text; the first version wrote no first line OURS."""
    return text.startswith(GENERATED_LINE) or yaml.safe_load(text) == FIRST_CONFIG
