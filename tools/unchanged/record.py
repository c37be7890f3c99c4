"""Runs a world with one version, and records everything that users see of each step.

The record of a step is a folder: messages.txt (what commands print, with their exit status), requests.txt,
databases (published files, and the rows of the lake), and the content of other files as text."""

import hashlib
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import duckdb
from deltalake import DeltaTable

from simulator.process import RunningSimulator, running
from tools.unchanged.clock import ZONE, clock_environment, set_file_times
from tools.unchanged.contents import file_lines, stable
from tools.unchanged.steps import Action, Campus, Change, DaysPass, Helps, Step, World, WriteFile
from tools.unchanged.versions import SERVER_ENVIRONMENT, CannotCompare, Version

MESSAGES, REQUESTS = "messages.txt", "requests.txt"
#: The folder of the records in the folder of a world, and the folder of other files in the record of a step.
RECORD, FILES = "record", "files"
#: Files of a world that users read.
READ_FILES = ("home/exports/**/*", "home/plans/*.xlsx", "home/plans/*.csv", "*.xlsx")
#: Folders whose folders are Delta tables, and the database of their rows in the record.
DELTA_TABLES = {
    "home/lake": "lake",
    "home/published/tables/core": "open_core",
    "home/published/tables/marts": "open_marts",
}
#: Databases that users open.
PUBLISHED = ("home/campus.duckdb", "home/published/district.duckdb", "home/published/shards/*/*.duckdb")
#: A sync leaves a file more or less in the lake where rows of logs were not ready together.
LAKE_FILES = re.compile(r"\b(removed|tables,) \d+ files\b")
#: The names of published shards have the time of their generation.
GENERATION = re.compile(r"\d{8}T\d{6}\.\d{6}")
#: A command in the list of a help text, and the headings of lists that have none.
LISTED_COMMAND = re.compile(r"^  ([a-z][a-z-]*)(?:  |$)")
NO_COMMANDS = ("Usage:", "Options:")


@dataclass
class Recording:
    """A world that runs with one version."""

    world: World
    version: Version
    #: The folder of the world, with the home and files of the user.
    folder: Path
    platform: RunningSimulator | None
    step: Step
    #: Of the next command.
    clock: datetime
    messages: list[str] = field(default_factory=list)
    #: By name, the digests of the databases in the last record that has them.
    digests: dict[str, str] = field(default_factory=dict)
    #: Commands that ended with another exit status than the world says.
    surprises: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def act(self, action: Action) -> None:
        """Carry out an action of a step."""
        match action:
            case Campus():
                self._run(action)
            case Helps():
                self._read_helps(())
            case WriteFile(path, text):
                target = self.folder / path
                target.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
                set_file_times(target.parent, time.time() - 1, self.clock)
            case Change():
                change_row(self._required_platform, action)
            case DaysPass(days):
                self._required_platform.let_days_pass(days)

    @property
    def _required_platform(self) -> RunningSimulator:
        if self.platform is None:
            raise CannotCompare(f"the world {self.world.name} has no platform")
        return self.platform

    def _run(self, command: Campus) -> None:
        arguments = [word for text in shlex.split(command.arguments) for word in self._expanded(text)]
        environment = {**self._environment(), **command.environment}
        started = time.time()
        completed = self.version.campus(arguments, environment, self.folder, command.stdin)
        self.messages += [f"$ campus {command.arguments}", *self._stable_lines(completed.stdout)]
        self.messages += [f"! {line}" for line in self._stable_lines(completed.stderr)]
        self.messages += [f"exit status {completed.returncode}", ""]
        set_file_times(self.home, started - 1, self.clock)
        self.clock += timedelta(minutes=1)
        if completed.returncode != command.status:
            self.surprises.append(
                f"campus {command.arguments}: exit status {completed.returncode}, not {command.status}"
            )

    def _expanded(self, word: str) -> list[str]:
        if "*" not in word or not word.startswith("home/"):
            return [word.replace("{home}", str(self.home))]
        paths = [str(path) for path in self.folder.glob(word)]
        if len(paths) != 1:
            self.surprises.append(f"{len(paths)} files match {word}")
        return paths

    def is_new(self, name: str, content: bytes) -> bool:
        """Whether the content of a database is new since the last call with this name."""
        digest = hashlib.sha256(content).hexdigest() if content else ""
        is_new = self.digests.get(name, "") != digest
        self.digests[name] = digest
        return is_new

    def _read_helps(self, names: tuple[str, ...]) -> None:
        completed = self.version.campus([*names, "--help"], self._environment(), self.folder)
        self.messages += [f"$ campus {' '.join([*names, '--help'])}", *completed.stdout.splitlines(), ""]
        if completed.returncode:
            self.surprises.append(f"campus {' '.join(names)} --help: exit status {completed.returncode}")
        for name in listed_commands(completed.stdout):
            self._read_helps((*names, name))

    def _environment(self) -> dict[str, str]:
        (self.folder / "tmp").mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            # A clock of libfaketime is the local time.
            "TZ": ZONE,
            "COLUMNS": "100",
            "CAMPUS_HOME": str(self.home),
            **SERVER_ENVIRONMENT,
            **clock_environment(self.clock, clock_runs=self.step.clock_runs),
            **self.world.environment,
        }
        if self.platform:
            environment |= {
                "CAMPUS_BASE_URL": self.platform.base_url,
                "CAMPUS_CLIENT_ID": self.platform.client_id,
                "CAMPUS_CLIENT_SECRET": self.platform.client_secret,
            }
        return environment

    def _stable_lines(self, text: str) -> list[str]:
        text = text.replace(str(self.folder), "FOLDER").replace(str(self.version.root), "ROOT")
        return LAKE_FILES.sub(r"\1 N files", stable(text)).splitlines()


def record_world(world: World, version: Version, folder: Path) -> list[str]:
    """Run all steps of a world, and record each below `folder`/record. Returns how commands ended that should
    have ended in another way."""
    folder.mkdir()
    (folder / "home").mkdir(mode=0o750)
    if world.settings:
        (folder / "home" / "campus.yaml").write_text(world.settings, encoding="utf-8")
    with nullcontext() if world.platform is None else running(**world.platform) as platform:
        recording = Recording(world, version, folder, platform, world.steps[0], world.steps[0].start)
        for number, step in enumerate(world.steps, 1):
            recording.step, recording.clock = step, step.start
            for action in step.actions:
                recording.act(action)
            record_step(recording, folder / RECORD / f"{number}")
    return [f"{world.name}: {surprise}" for surprise in recording.surprises]


def record_step(recording: Recording, record: Path) -> None:
    """Record everything that users see after a step, and forget the messages and requests until then."""
    record.mkdir(parents=True)
    write_lines(record / MESSAGES, recording.messages)
    recording.messages.clear()
    if recording.platform:
        write_lines(record / REQUESTS, requests_sent(recording.platform))
    record_databases(recording, record)
    for pattern in READ_FILES:
        for path in recording.folder.glob(pattern):
            if path.is_file():
                name = stable(str(path.relative_to(recording.folder)))
                write_lines(record / FILES / name, file_lines(path))


def record_databases(recording: Recording, record: Path) -> None:
    """Record the published files and the rows of Delta tables that have changed since the last record."""
    folder = recording.folder
    for pattern in PUBLISHED:
        # Earlier generations come first, so that the last one stays.
        for path in sorted(folder.glob(pattern)):
            name = GENERATION.sub("GENERATION", str(path.relative_to(folder)).replace("/", "_"))
            if recording.is_new(name, path.read_bytes()):
                shutil.copyfile(path, record / name)
    for tables, name in DELTA_TABLES.items():
        commits = sorted(map(str, (folder / tables).glob("*/_delta_log/*.json")))
        if recording.is_new(name, "\n".join(commits).encode()):
            copy_delta_tables(folder / tables, record / f"{name}.duckdb")


def requests_sent(platform: RunningSimulator) -> list[str]:
    """The requests since the last call, sorted, since concurrent requests have no order: method, path,
    parameters, school and status."""
    lines = []
    for entry in platform.log():
        query = "?" + urlencode(sorted(entry["query"].items()), safe=",:") if entry["query"] else ""
        school = f" (school {entry['school']})" if entry["school"] else ""
        lines.append(f"{entry['method']} {entry['path']}{query}{school}: {entry['status']}")
    platform.clear_log()
    return sorted(lines)


def copy_delta_tables(folder: Path, database: Path) -> None:
    """Copy the rows of each Delta table of a folder into a table of a DuckDB file."""
    with duckdb.connect(str(database)) as connection:
        for path in sorted(folder.iterdir()):
            if (path / "_delta_log").is_dir():
                connection.register("delta_rows", DeltaTable(str(path)).to_pyarrow_table())
                connection.execute(f'CREATE TABLE "{path.name}" AS FROM delta_rows')
                connection.unregister("delta_rows")


def change_row(platform: RunningSimulator, change: Change) -> None:
    """Change a row on the platform."""
    if change.operation == "insert":
        platform.insert(change.resource, change.semester or change.school, **change.values)
        return
    entries = platform.rows(change.resource, change.school, change.semester)
    key = [entry["key"] for entry in entries if not entry["trashed"]][change.row]
    # Keys of datasets and reports repeat between schools.
    parent = {"parent": change.school} if "/" in change.resource else {}
    getattr(platform, change.operation)(change.resource, key, **parent, **change.values)


def listed_commands(help_text: str) -> Iterator[str]:
    """The commands that a help text lists."""
    heading = ""
    for line in help_text.splitlines():
        if line and not line.startswith(" "):
            heading = line
        elif not heading.startswith(NO_COMMANDS) and (match := LISTED_COMMAND.match(line)):
            yield match[1]


def write_lines(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
