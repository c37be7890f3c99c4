"""Where Dagster keeps its runs: CAMPUS_HOME/dagster unless DAGSTER_HOME says otherwise, so that the UI shows
what the command line ran."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import yaml

from assets.dagster_private import NO_COMPUTE_LOGS
from pipelines.district.config import BROKER_URL, RESULT_URL, celery_config
from pipelines.settings import Settings, SettingsError, settings_for_programs
from warehouse.files import write_text

POSTGRES_URL = "DAGSTER_POSTGRES_URL"
#: First line of a dagster.yaml that is written anew when the settings or the version ask for another.
OURS = "# Written by campus. To change this file, remove this line: it is left alone then.\n"
#: Where runs and events are with it.
POSTGRES: dict[str, object] = {"storage": {"postgres": {"postgres_url": {"env": POSTGRES_URL}}}}
NO_POSTGRES = (
    f"{BROKER_URL} is set and {POSTGRES_URL} is not: workers keep their runs in one Postgres. Name it, as "
    "postgresql+psycopg2://USER:PASSWORD@HOST:5432/DATABASE"
)
#: Where events go without Postgres.
EVENT_LOG: dict[str, object] = {
    "event_log_storage": {
        "module": "pipelines.event_log",
        "class": "KeptSqliteEventLog",
        "config": {"base_dir": {"env": "DAGSTER_HOME"}},
    }
}
#: What the first version wrote, without saying that it was its own.
FIRST: dict[str, object] = {
    "telemetry": {"enabled": False},
    # Nothing is printed but dbt's account, which its own log has; and the processes that would catch it can
    # outlive the command and hold its output open.
    "compute_logs": NO_COMPUTE_LOGS,
    "nux": {"enabled": False},
    # One load and one build at a time: a platform is asked by one run, and a build takes all its memory. With
    # workers it is otherwise: see pipelines.district.config.
    "concurrency": {
        "pools": {"default_limit": 1, "granularity": "run"},
        "runs": {"max_concurrent_runs": 4},
    },
    "run_monitoring": {
        "enabled": True,
        "free_slots_after_run_end_seconds": 60,
        # A run whose process was killed looks as if it went on, and holds up the others and the publication.
        "max_runtime_seconds": 12 * 3600,
    },
}
CONFIG = FIRST | {
    "run_coordinator": {"module": "pipelines.launches", "class": "NamedLaunches"},
    # Sensors look every few seconds, and Dagster would keep what they found for a week or for ever.
    "retention": {
        kind: {"purge_after_days": {"skipped": 1, "success": 60, "failure": 60, "started": 60}}
        for kind in ("schedule", "sensor")
    },
}


@dataclass
class _Open:
    """An instance, what closes it, and how many blocks use it."""

    instance: dg.DagsterInstance
    end: ExitStack
    blocks: int = 0


#: By their homes. A command and what it calls each ask for one, and to open one takes as long as 50 events.
_OPEN: dict[Path, _Open] = {}


@contextmanager
def open_instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of CAMPUS_HOME, set up where it is new. Blocks that overlap share it."""
    home = dagster_home(settings)
    if home not in _OPEN:
        end = ExitStack()
        _OPEN[home] = _Open(end.enter_context(dg.DagsterInstance.from_config(str(home))), end)
    opened = _OPEN[home]
    opened.blocks += 1
    try:
        yield opened.instance
    finally:
        opened.blocks -= 1
        if not opened.blocks:
            del _OPEN[home]
            opened.end.close()


def dagster_home(settings: Settings) -> Path:
    """DAGSTER_HOME, with a dagster.yaml in it as these settings ask; one that somebody has changed stays. The
    environment is set for the processes that follow.

    Raises SettingsError where runs are kept in Postgres and its address is not set, or where there is a
    broker and no Postgres."""
    _tell_processes(settings)
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(settings.home / "dagster")))
    home.mkdir(parents=True, exist_ok=True)
    file, text = home / "dagster.yaml", OURS + yaml.safe_dump(_config(settings), sort_keys=False)
    held = file.read_text(encoding="utf-8") if file.exists() else OURS
    if POSTGRES_URL in held and POSTGRES_URL not in os.environ:
        raise SettingsError([f"{POSTGRES_URL} is not set, and {file} says that runs are kept there: set it"])
    if _is_ours(held) and held != text:
        write_text(file, text)
    return home


def prepare_programs(settings: Settings) -> None:
    """Have this process, and the programs that it starts, work in the folder of Dagster's records.

    Dagster's programs put all of the .env of their folder into their environment, and Python looks there for
    modules. The folder where a command was started may be a stranger's."""
    home = dagster_home(settings).absolute()
    os.environ.update(settings_for_programs(settings) | {"DAGSTER_HOME": str(home)})
    os.chdir(home)


def contradictions(settings: Settings) -> list[str]:
    """What a dagster.yaml that somebody has changed says otherwise than the settings, in words."""
    file = dagster_home(settings) / "dagster.yaml"
    text = file.read_text(encoding="utf-8")
    if _is_ours(text):
        return []
    held, wanted = yaml.safe_load(text) or {}, _config(settings)
    return [
        f"{file} was changed by hand, and its {section} is not what {name} asks for: mend it, or delete the "
        "file, which is then written anew"
        for section, name in (("storage", POSTGRES_URL), ("run_launcher", BROKER_URL))
        if section in wanted and held.get(section) != wanted[section]
    ]


def _tell_processes(settings: Settings) -> None:
    """Put into the environment, for the processes that follow, what dagster.yaml only names there."""
    named = {
        POSTGRES_URL: settings.postgres_url,
        BROKER_URL: settings.broker_url,
        RESULT_URL: settings.result_url,
    }
    for name, secret in named.items():
        if secret is not None:
            os.environ[name] = secret.get_secret_value()


def _config(settings: Settings) -> dict[str, object]:
    if POSTGRES_URL not in os.environ:
        if settings.broker_url is not None:
            raise SettingsError([NO_POSTGRES])
        return CONFIG | EVENT_LOG
    return CONFIG | POSTGRES | ({} if settings.broker_url is None else celery_config(settings, CONFIG))


def _is_ours(text: str) -> bool:
    """Whether a version of campus wrote this: the first one did not say so."""
    return text.startswith(OURS) or yaml.safe_load(text) == FIRST
