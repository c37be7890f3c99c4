"""The progress of a sync: a live line on a terminal, a line for each step elsewhere."""

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
from pipelines.cli.terminal.display import console, print_line
from pipelines.status.school_groups import group_by_text, name_schools

#: Estimated percentage of each step in a school's first load; the times of loaded schools replace it.
SHARES = {"base_data": 18.0, "v1": 8.0, "attendance": 70.0, "datasets": 3.0, "reports": 1.0}
#: Start of a note about a school.
SCHOOL_NOTE = re.compile(r"school (\d+)[,:]? ")
BAR = 14
REFRESHES = 4  # a second


@dataclass
class Step:
    """A step of a sync: a part of a school's load, the discovery, or the publication."""

    name: str
    #: The expected number of slices.
    reads: int
    #: When it began, by the monotonic clock.
    began: float
    #: By resource and slice: the share that is read, and the number of rows.
    shares: dict[tuple[str, str], float] = field(default_factory=dict)
    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    latest: str = ""

    @property
    def share(self) -> float:
        """The estimated share of the step that is done."""
        # Other threads add events meanwhile: a list copies them at once.
        shares = list(self.shares.values())
        return min(sum(shares) / max(self.reads, len(shares), 1), 1.0)

    @property
    def read(self) -> int:
        """The number of rows that were read."""
        return sum(list(self.rows.values()))


class Progress:
    """Shows the progress of a sync from its events, which may come from any thread."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._school, self._number, self._schools = "", 0, 0
        self._step: Step | None = None
        #: The seconds of the finished steps of the current school.
        self._ended: dict[str, float] = {}
        #: The same of each loaded school.
        self._seconds: list[dict[str, float]] = []
        self._notes: list[str] = []

    def listen(self, event: Event) -> None:
        """Handle an event."""
        if event.kind == "school":
            self._end_school()
            self._school, self._number, self._schools = event.message, event.done, event.total
        elif event.kind == "step":
            self._handle_step(event)
        elif event.kind == "progress":
            self._handle_read(event)
        elif event.kind == "throttled":
            print_line(f"  {event.message}")
        elif event.kind == "note":
            self._notes.append(event.message)
        elif event.kind == "plan" and self._step:
            self._step.latest = event.message

    def close(self) -> None:
        """Print notes that belong to no step."""
        self._print_notes()

    def live_view(self) -> RenderableType:
        """The live lines of the terminal: the step, the bar, and the slice that is read."""
        step = self._step
        if step is None:
            return Text("")
        rows = step.read
        details = [
            self._time_left(step),
            f"{rows:,} rows" if rows else "",
            _rate(rows, time.monotonic() - step.began) if rows else "",
            f"{_clock(time.monotonic() - self._began)} in all",
        ]
        line = Table.grid(Column(width=BAR), Column(no_wrap=True, overflow="ellipsis"), padding=(0, 1))
        line.add_row(_bar(step), ", ".join(filter(None, details)))
        return Group(_line(self._place(step)), Padding(line, (0, 0, 0, 2)), _line(f"  {step.latest}"))

    def _handle_step(self, event: Event) -> None:
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
        print_line(f"{self._place(step)}: {counted}")
        self._ended[step.name] = seconds
        self._print_notes()

    def _handle_read(self, event: Event) -> None:
        if self._step is None:
            # A command for a few rows has no steps.
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

    def _place(self, step: Step) -> str:
        if not self._schools:
            return step.name
        return f"school {self._number} of {self._schools}, {self._school}: {step.name}"

    def _time_left(self, step: Step) -> str:
        """The estimated time that the loads still take; empty: unknown."""
        if not self._schools:
            return ""
        now = time.monotonic()
        if self._seconds:
            weights = {
                name: sum(seconds.get(name, 0.0) for seconds in self._seconds) / len(self._seconds)
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

    def _print_notes(self) -> None:
        """Print the notes of the steps; a note that several schools share, once."""
        notes, self._notes = self._notes, []
        school_notes = [(int(match[1]), note) for note in notes if (match := SCHOOL_NOTE.match(note))]
        for common, texts in group_by_text(school_notes):
            if len(texts) == 1:
                print_line(f"  {common}")
            else:
                print_line(f"  {name_schools(texts)}: {common.removeprefix('school …').lstrip(',: ')}")
        for note in dict.fromkeys(notes):
            if not SCHOOL_NOTE.match(note):
                print_line(f"  {note}")


@contextmanager
def progress(listener: Listener | None = None) -> Iterator[Listener]:
    """Show the progress of a sync while the block lasts. `listener`: shows it already."""
    if listener is not None:
        yield listener
        return
    shown = Progress()
    try:
        if console.is_terminal:
            with Live(
                get_renderable=shown.live_view, console=console, refresh_per_second=REFRESHES, transient=True
            ):
                yield shown.listen
        else:
            yield shown.listen
    finally:
        shown.close()


def _bar(step: Step) -> RenderableType:
    """The bar of a step; it only pulses where the expected number of slices is unknown."""
    return ProgressBar(100, step.share * 100, width=BAR, pulse=not step.reads)


def _line(words: str) -> Text:
    return Text(words, no_wrap=True, overflow="ellipsis")


def _rate(rows: int, seconds: float) -> str:
    return f"{rows / seconds:,.0f} rows/s" if seconds >= 1 else "rows/s not known yet"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
