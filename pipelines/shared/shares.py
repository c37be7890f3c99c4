"""How processes share the rate of a platform: equally, except for what some do not want. Pure.

Each process reports its answers and what it wants. The reports are added to a state that all processes read.
All times are seconds of the database's clock."""

from collections.abc import Iterable

import msgspec

from campus.http.rate_limit import Budget

#: Seconds between two exchanges of a process, and between two additions of the reports of all.
EXCHANGE_SECONDS = 0.25
#: Seconds after which a process that does not report has no share.
GONE_AFTER = 2.0
#: Seconds after which nearly all processes have reported an answer. Sums of later answers would lack some.
REPORTED_AFTER = 0.4
#: Seconds from the answer that decides until all processes follow, and another second for a limit that
#: counts by the second.
SETTLES_IN = 1.5
#: Seconds within which equal answers of a process are counted together.
MOMENT = 0.02
#: Requests a second of all processes at first, or twice as many as they have sent.
FIRST_RATE = 100.0
#: The rate grows to so many requests a second at most.
UNLIMITED = 1e6


class Answers(msgspec.Struct, array_like=True):
    """Consecutive equal answers of a process within MOMENT."""

    #: Time of the first one.
    at: float
    #: The time of the decision that the process knew when it sent these requests.
    decided: float
    refused: bool
    #: Retry-After, in seconds.
    pause: float
    number: int

    def is_like(self, later: "Answers") -> bool:
        """Whether a later answer can be counted with these."""
        kind = (self.decided, self.refused, self.pause)
        return kind == (later.decided, later.refused, later.pause) and later.at < self.at + MOMENT


class Report(msgspec.Struct, array_like=True):
    """What a process reports since its last report."""

    process: str
    #: Requests a second; infinite if any had to wait.
    wants: float
    answers: list[Answers]


class SharedRate(msgspec.Struct):
    """The rate of a platform, and the processes that share it."""

    budget: Budget
    added_at: float
    #: By process: what it wants, and when it reported last.
    wants: dict[str, float] = {}
    reported: dict[str, float] = {}
    #: Answers from which the budget has not learned yet.
    recent: list[Answers] = []

    @classmethod
    def first(cls, now: float) -> "SharedRate":
        """The rate of a platform of which nothing is known."""
        return cls(Budget(settles_in=SETTLES_IN, first_rate=FIRST_RATE), now - EXCHANGE_SECONDS)

    def add(self, reports: Iterable[Report], now: float) -> None:
        """Add reports. Pauses count at once; from the rest the budget learns when all have reported."""
        seconds, self.added_at = now - self.added_at, now
        if seconds > GONE_AFTER or sum(self.wants.values()) < self.budget.rate(now):
            # A rate that is not used meets no limit.
            self.budget.keep_rate(seconds)
        for report in reports:
            self.wants[report.process], self.reported[report.process] = report.wants, now
            self.recent += report.answers
            for answers in report.answers:
                self.budget.pause(answers.at, answers.pause)
        for process in [process for process, at in self.reported.items() if at < now - GONE_AFTER]:
            del self.wants[process], self.reported[process]
        self.recent.sort(key=lambda answers: answers.at)
        complete = sum(answers.at <= now - REPORTED_AFTER for answers in self.recent)
        for answers in self.recent[:complete]:
            self.budget.sent(answers.at, 0 if answers.refused else answers.number)
            for _ in range(answers.number):
                self.budget.answered(answers.decided, answers.at, answers.refused, answers.pause)
        self.recent = self.recent[complete:]

    def share(self, process: str, now: float) -> float:
        """The requests a second of a process that has reported."""
        left, others = min(self.budget.rate(now), UNLIMITED), len(self.wants)
        for wants in sorted(self.wants.values()):
            if wants >= min(left / others, self.wants[process]):
                break
            left, others = left - wants, others - 1
        return left / others

    def place(self, process: str) -> float:
        """The place among all processes, from 0 to 1, so that each sends at another moment."""
        return sorted(self.wants).index(process) / len(self.wants)
