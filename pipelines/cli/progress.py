"""How far a sync is: one line that moves on a terminal, a line a step elsewhere."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from campus.http.events import Event, Listener
from pipelines.cli.display import console
from pipelines.of_schools import alike, named

#: What a school's steps take of the time of its first load, in percent of the demo's schools. The times of a
#: school that is loaded replace them.
SHARES = {"base_data": 18.0, "v1": 8.0, "attendance": 70.0, "datasets": 3.0, "reports": 1.0}
#: Schools of whom a note is that begins so.
OF_SCHOOL = re.compile(r"school (\d+)[,:]? ")
BAR = 14
REFRESHES = 4  # a second


@dataclass
class Step:
    """A part of a sync: of a school, the discovery, or the publication. `reads`: how many are expected."""

    name: str
    reads: int
    began: float
    #: By resource and slice: the share that is read, and the rows.
    shares: dict[tuple[str, str], float] = field(default_factory=dict)
    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    latest: str = ""

    @property
    def share(self) -> float:
        """How much of the step is done, about."""
        # Events come from other threads: a list is made at once, a generator is not.
        shares = list(self.shares.values())
        return min(sum(shares) / max(self.reads, len(shares), 1), 1.0)

    @property
    def read(self) -> int:
        """The rows that were read."""
        return sum(list(self.rows.values()))


class Progress:
    """Takes the events of a sync, from any thread, and says how far it is."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._school, self._number, self._schools = "", 0, 0
        self._step: Step | None = None
        #: Of the school under way: the steps that have ended, and their seconds.
        self._ended: dict[str, float] = {}
        #: The seconds of each step of the schools that are loaded.
        self._seconds: list[dict[str, float]] = []
        self._notes: list[str] = []

    def listen(self, event: Event) -> None:
        """Take an event."""
        if event.kind == "school":
            self._end_school()
            self._school, self._number, self._schools = event.message, event.done, event.total
        elif event.kind == "step":
            self._take_step(event)
        elif event.kind == "progress":
            self._take_read(event)
        elif event.kind == "throttled":
            _say(f"  {event.message}")
        elif event.kind == "note":
            self._notes.append(event.message)
        elif event.kind == "plan" and self._step:
            self._step.latest = event.message

    def close(self) -> None:
        """Say what no step has said."""
        self._tell_notes()

    def now(self) -> RenderableType:
        """What moves on the terminal: where the sync is, and what is read."""
        step = self._step
        if step is None:
            return Text("")
        rows = step.read
        told = [
            self._time_left(step),
            f"{rows:,} rows" if rows else "",
            _rate(rows, time.monotonic() - step.began) if rows else "",
            f"{_clock(time.monotonic() - self._began)} in all",
        ]
        line = Table.grid(Column(width=BAR), Column(no_wrap=True, overflow="ellipsis"), padding=(0, 1))
        line.add_row(_bar(step), ", ".join(filter(None, told)))
        return Group(_line(self._where(step)), Padding(line, (0, 0, 0, 2)), _line(f"  {step.latest}"))

    def _take_step(self, event: Event) -> None:
        if not event.done:
            if event.message not in SHARES:
                # The discovery, or the publication.
                self._school, self._number, self._schools, self._seconds = "", 0, 0, []
            self._step = Step(event.message, event.total, time.monotonic())
            return
        step, self._step = self._step, None
        if step is None:
            return
        seconds = time.monotonic() - step.began
        rows = step.read
        counted = f"{rows:,} rows in {seconds:,.0f} s" if rows else f"done in {seconds:,.0f} s"
        _say(f"{self._where(step)}: {counted}")
        self._ended[step.name] = seconds
        self._tell_notes()

    def _take_read(self, event: Event) -> None:
        if self._step is None:
            # A command that reads a few rows has no steps.
            self._step = Step("reading", 0, time.monotonic())
        key = (event.resource, event.slice)
        self._step.shares[key] = event.done / event.total if event.total else 1.0
        self._step.rows[key] = event.rows
        counted = f": {event.done:,} of {event.total:,} requests" if event.total > 1 else ""
        self._step.latest = f"{event.resource} {event.slice}{counted}"

    def _end_school(self) -> None:
        if self._schools and self._number:
            self._seconds.append(self._ended)
        self._ended, self._step = {}, None

    def _where(self, step: Step) -> str:
        if not self._schools:
            return step.name
        return f"school {self._number} of {self._schools}, {self._school}: {step.name}"

    def _time_left(self, step: Step) -> str:
        """How long the loads still take, about; empty: nobody can tell."""
        if not self._schools:
            return ""
        now = time.monotonic()
        if self._seconds:
            weights = {
                name: sum(each.get(name, 0.0) for each in self._seconds) / len(self._seconds)
                for name in SHARES
            }
        else:
            weights = SHARES
        whole = sum(weights.values())
        done = sum(weights.get(name, 0.0) for name in self._ended)
        done += weights.get(step.name, 0.0) * step.share
        to_come = self._schools - self._number
        if self._seconds:
            return f"about {_clock(max(whole - done, 0) + to_come * whole)} left"
        if done / whole < 0.05:
            return ""
        spent = sum(self._ended.values()) + now - step.began
        return f"about {_clock(spent * (whole / done - 1 + to_come * whole / done))} left"

    def _tell_notes(self) -> None:
        """Say what the steps have noted; what is the same for several schools, once."""
        notes, self._notes = self._notes, []
        of_schools = [(int(found[1]), note) for note in notes if (found := OF_SCHOOL.match(note))]
        for common, texts in alike(of_schools):
            if len(texts) == 1:
                _say(f"  {common}")
            else:
                _say(f"  {named(texts)}: {common.removeprefix('school …').lstrip(',: ')}")
        for note in dict.fromkeys(notes):
            if not OF_SCHOOL.match(note):
                _say(f"  {note}")


@contextmanager
def progress(listener: Listener | None = None) -> Iterator[Listener]:
    """Say how far a sync is while the block lasts. `listener`: somebody says it already."""
    if listener is not None:
        yield listener
        return
    shown = Progress()
    try:
        if console.is_terminal:
            with Live(
                get_renderable=shown.now, console=console, refresh_per_second=REFRESHES, transient=True
            ):
                yield shown.listen
        else:
            yield shown.listen
    finally:
        shown.close()


def _bar(step: Step) -> RenderableType:
    """How much of a step is done; a bar that only moves where nobody can tell."""
    return ProgressBar(100, step.share * 100, width=BAR, pulse=not step.reads)


def _line(words: str) -> Text:
    return Text(words, no_wrap=True, overflow="ellipsis")


def _rate(rows: int, seconds: float) -> str:
    return f"{rows / seconds:,.0f} rows/s" if seconds >= 1 else "rows/s not known yet"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _say(words: str) -> None:
    console.print(words, markup=False, soft_wrap=True)
