"""Transcripts: text files of commands, each with its exit status and its whole output.

    == TITLE                    a new empty folder, in which the lines below run
    # REASON                    a comment
    export NAME=VALUE …         variables of the commands below; besides these, a command has PATH alone
    file PATH                   makes a file of the content lines below it
    published PATH              makes a published file of two schools; SQL in content lines is run in it
    lake PATH                   makes a home with a lake that has the warehouse's own tables
    platform OPTION=VALUE,… …   starts a made-up platform, and exports its address and credentials
    school OPTION=VALUE,… …     likewise, with a home in the folder data that has loaded its school once
    faults                      the faults of the platform from now on, a JSON object in each content line
    | TEXT                      a content line
    % COMMAND                   a command of the shell, to set up or to look, or one of LOOKS
    > TEXT                      what it prints
    $ NAME=VALUE … campus …     a command, `<<< TEXT` at its end is its standard input; its output follows,
                                the lines of stderr last and after `! `
    exit status N               the end of its output

LOOKS are `requests METHOD …`, the requests to the platform since the last look, without those for tokens;
and `platform` or `lake`, the rows that either has: the name of a resource, COLUMN=VALUE of the rows to show,
and the columns to show. Rows that differ in the last column only share a line.

`$FOLDER` is the folder. Variable texts are words, as tools/unchanged writes them. No output has SECRET."""

import json
import os
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from loading.tables import TABLES
from pipelines.lake.opening import lake_of
from pipelines.settings.settings import Settings
from simulator.process import RunningSimulator, running
from tests.kits.exports.published_file import publish
from tests.kits.programs.command_line import campus
from tests.kits.worlds.named import WORLDS
from tests.kits.worlds.world import World, world
from tools.unchanged.contents import stable
from warehouse.lake.logs.tables import LOGS

#: Stands in transcripts for whatever no command may show. It is the client secret of each platform, too.
SECRET = "sk-do-not-tell"
FOLDER = "$FOLDER"
SCHOOL = 101
SMALL = {"schools": "1", "students": "12", "semesters": "1"}
ENVIRONMENT = {"COLUMNS": "80"}
#: What a command printed. A new command has no output yet.
OUTPUT = re.compile(r"^(\$ .*\n)(?:(?![$%] |== ).*\n)*?exit status \d+\n|^>.*\n", re.MULTILINE)


@dataclass
class Scene:
    """A folder, and what the commands in it find."""

    folder: Path
    programs: ExitStack
    environment: dict[str, str] = field(default_factory=ENVIRONMENT.copy)
    platform: RunningSimulator | None = None
    world: World | None = None

    def set_up(self, kind: str, arguments: Sequence[str], content: Sequence[str]) -> None:
        """Carry out a line that prints nothing."""
        text = "".join(f"{line}\n" for line in content)
        match kind, arguments:
            case "export", _:
                self.environment |= _values(arguments)
            case "file", [path]:
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            case "published", [path]:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                publish(self.folder / path, [text] if text else [])
            case "lake", [path]:
                lake_of(Settings(home=self.folder / path)).ensure(LOGS)
            case "platform", _:
                platform = running(client_secret=SECRET, **{**SMALL, **_options(arguments)})
                self._find(self.programs.enter_context(platform))
            case "school", _:
                options = WORLDS["new_term"] | {"client_secret": SECRET} | _options(arguments)
                self.world = self.programs.enter_context(world(self.folder / "data", **options))
                assert self.world.load(select=None).problems == []
                self.world.platform.clear_log()
                self._find(self.world.platform)
            case "faults", []:
                self._platform.set_faults(*map(json.loads, content))
            case _:
                raise ValueError(f"no line of a transcript begins with {kind}")

    def look(self, command: str) -> list[str]:
        """What a command of the shell prints, or a look."""
        match command.split():
            case ["requests", *methods]:
                return self._requests(methods)
            case ["platform", resource, *arguments]:
                entries = self._platform.rows(resource, SCHOOL)
                return self._lines([entry["row"] for entry in entries if not entry["trashed"]], arguments)
            case ["lake", resource, *arguments]:
                assert self.world is not None, "a lake to look at is made by the line `school`"
                read = self.world.held if resource in TABLES else self.world.log
                return self._lines(read(resource), arguments)
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        ended = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = self._cleaned(ended.stdout)
        return lines if ended.returncode == 0 else [*lines, f"exit status {ended.returncode}"]

    def run(self, arguments: Sequence[str]) -> list[str]:
        """What a command of campus prints, and its exit status."""
        start = arguments.index("campus")
        environment = self.environment | _values(arguments[:start])
        end = arguments.index("<<<") if "<<<" in arguments else len(arguments)
        ended = campus(
            self.folder, *arguments[start + 1 : end], typed=" ".join(arguments[end + 1 :]), **environment
        )
        errors = (f"! {line}".rstrip() for line in self._cleaned(ended.stderr))
        return [*self._cleaned(ended.stdout), *errors, f"exit status {ended.exit_code}"]

    def _find(self, platform: RunningSimulator) -> None:
        self.platform = platform
        self.environment |= {
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": SECRET,
        }

    @property
    def _platform(self) -> RunningSimulator:
        assert self.platform is not None, "a platform is started by the line `platform` or `school`"
        return self.platform

    def _requests(self, methods: Sequence[str]) -> list[str]:
        entries = self._platform.log()
        self._platform.clear_log()
        lines = [
            f"{entry['method']} {entry['path']}"
            for entry in entries
            if "oauth" not in entry["path"] and (not methods or entry["method"] in methods)
        ]
        return lines or ["none"]

    def _lines(self, rows: Iterable[Mapping[str, Any]], arguments: Sequence[str]) -> list[str]:
        """A line for all rows that differ in the last column only."""
        values = _values([word for word in arguments if "=" in word])
        *columns, last = (word for word in arguments if "=" not in word)
        groups = defaultdict[str, list[str]](list)
        for row in rows:
            if all(str(row[name]) == value for name, value in values.items()):
                groups[" ".join(str(row[name]) for name in columns)].append(str(row[last]))
        lines = (f"{head}: {' '.join(sorted(items))}" for head, items in sorted(groups.items()))
        return self._cleaned("\n".join(lines))

    def _cleaned(self, output: str) -> list[str]:
        assert SECRET not in output, f"a secret is shown: {output}"
        text = stable(output.replace(str(self.folder), FOLDER))
        return [line.rstrip() for line in text.splitlines()]


def played(transcript: str, new_folder: Callable[[], Path]) -> str:
    """The transcript with the output that its commands have now. Raises AssertionError if a secret is
    shown."""
    return "".join(f"{line}\n" for line in _played(transcript, new_folder))


def _played(transcript: str, new_folder: Callable[[], Path]) -> Iterator[str]:
    with ExitStack() as programs:
        scene = Scene(new_folder(), programs)
        for line, content in _commands(transcript):
            yield line
            yield from (f"| {text}".rstrip() for text in content)
            kind, _, command = line.partition(" ")
            command = command.replace(FOLDER, str(scene.folder))
            content = [text.replace(FOLDER, str(scene.folder)) for text in content]
            if kind == "==":
                programs.close()
                scene = Scene(new_folder(), programs)
            elif kind == "%":
                yield from (f"> {text}".rstrip() for text in scene.look(command))
            elif kind == "$":
                yield from scene.run(shlex.split(command))
            elif kind not in ("", "#"):
                scene.set_up(kind, shlex.split(command), content)


def _commands(transcript: str) -> Iterator[tuple[str, list[str]]]:
    """The lines without the outputs, each with its content lines."""
    lines = OUTPUT.sub(r"\1", transcript).splitlines()
    starts = [number for number, line in enumerate(lines) if not line.startswith("|")]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start], [line[2:] for line in lines[start + 1 : end]]


def _options(arguments: Sequence[str]) -> dict[str, str | list[str]]:
    return {name: value.split(",") if "," in value else value for name, value in _values(arguments).items()}


def _values(arguments: Sequence[str]) -> Mapping[str, str]:
    return dict(word.split("=", 1) for word in arguments)
