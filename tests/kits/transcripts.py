"""Transcripts: text files of commands, each with its exit status and its whole output.

    == TITLE                    a new empty folder, in which the lines below run
    # REASON                    a comment
    export NAME=VALUE …         variables of the commands below; besides these, a command has PATH alone
    file PATH                   makes a file of the content lines below it
    published PATH              makes a published file of two schools; SQL in content lines is run in it
    lake PATH                   makes a home with a lake that has the warehouse's own tables
    platform OPTION=VALUE …     starts a made-up platform, and exports its address and credentials
    | TEXT                      a content line
    % COMMAND                   a command of the shell, to set up or to look; `requests` is the platform's log
    > TEXT                      what it prints
    $ NAME=VALUE … campus …     a command; its output follows, the lines of stderr last and after `! `
    exit status N               the end of its output

`$FOLDER` is the folder. Variable texts are words, as tools/unchanged writes them. No output has SECRET."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pipelines.lake.opening import lake_of
from pipelines.settings.settings import Settings
from simulator.process import RunningSimulator, running
from tests.kits.exports.published_file import publish
from tests.kits.programs.command_line import campus
from tools.unchanged.contents import stable
from warehouse.lake.logs.tables import LOGS

#: Stands in transcripts for whatever no command may show. It is the client secret of each platform, too.
SECRET = "sk-do-not-tell"
FOLDER = "$FOLDER"
SMALL = {"schools": "1", "students": "12", "semesters": "1"}
ENVIRONMENT = {"COLUMNS": "80"}
#: What a command printed. A new command has no output yet.
OUTPUT = re.compile(r"^(\$ .*\n)(?:(?![$%] |== ).*\n)*?exit status \d+\n|^>.*\n", re.MULTILINE)


@dataclass
class Scene:
    """A folder, and what the commands in it find."""

    folder: Path
    platforms: ExitStack
    environment: dict[str, str] = field(default_factory=ENVIRONMENT.copy)
    platform: RunningSimulator | None = None

    def set_up(self, kind: str, words: Sequence[str], content: Sequence[str]) -> None:
        """Carry out a line that prints nothing."""
        text = "".join(f"{line}\n" for line in content)
        match kind, words:
            case "export", _:
                self.environment |= _values(words)
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
                options = SMALL | _values(words)
                self.platform = self.platforms.enter_context(running(client_secret=SECRET, **options))
                self.environment |= {
                    "CAMPUS_BASE_URL": self.platform.base_url,
                    "CAMPUS_CLIENT_ID": self.platform.client_id,
                    "CAMPUS_CLIENT_SECRET": SECRET,
                }
            case _:
                raise ValueError(f"no line of a transcript begins with {kind}")

    def look(self, command: str) -> list[str]:
        """What a command of the shell prints."""
        if command == "requests":
            return self._requests()
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

    def run(self, words: Sequence[str]) -> list[str]:
        """What a command of campus prints, and its exit status."""
        start = words.index("campus")
        environment = self.environment | _values(words[:start])
        ended = campus(self.folder, *words[start + 1 :], **environment)
        errors = (f"! {line}".rstrip() for line in self._cleaned(ended.stderr))
        return [*self._cleaned(ended.stdout), *errors, f"exit status {ended.exit_code}"]

    def _requests(self) -> list[str]:
        """The requests so far that were no requests for a token."""
        assert self.platform is not None
        entries = self.platform.log()
        self.platform.clear_log()
        lines = [f"{entry['method']} {entry['path']}" for entry in entries if "oauth" not in entry["path"]]
        return lines or ["none"]

    def _cleaned(self, output: str) -> list[str]:
        assert SECRET not in output, f"a secret is shown: {output}"
        text = stable(output.replace(str(self.folder), FOLDER))
        return [line.rstrip() for line in text.splitlines()]


def played(transcript: str, new_folder: Callable[[], Path]) -> str:
    """The transcript with the output that its commands have now. Raises AssertionError if a secret is
    shown."""
    return "".join(f"{line}\n" for line in _played(transcript, new_folder))


def _played(transcript: str, new_folder: Callable[[], Path]) -> Iterator[str]:
    with ExitStack() as platforms:
        scene = Scene(new_folder(), platforms)
        for line, content in _commands(transcript):
            yield line
            yield from (f"| {text}".rstrip() for text in content)
            kind, _, rest = line.partition(" ")
            rest = rest.replace(FOLDER, str(scene.folder))
            content = [text.replace(FOLDER, str(scene.folder)) for text in content]
            if kind == "==":
                platforms.close()
                scene = Scene(new_folder(), platforms)
            elif kind == "%":
                yield from (f"> {text}".rstrip() for text in scene.look(rest))
            elif kind == "$":
                yield from scene.run(shlex.split(rest))
            elif kind not in ("", "#"):
                scene.set_up(kind, shlex.split(rest), content)


def _commands(transcript: str) -> Iterator[tuple[str, list[str]]]:
    """The lines without the outputs, each with its content lines."""
    lines = OUTPUT.sub(r"\1", transcript).splitlines()
    starts = [number for number, line in enumerate(lines) if not line.startswith("|")]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start], [line[2:] for line in lines[start + 1 : end]]


def _values(words: Sequence[str]) -> Mapping[str, str]:
    return dict(word.split("=", 1) for word in words)
