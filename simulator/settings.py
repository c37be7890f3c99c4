"""The settings of a simulator. The command line is derived from these classes."""

from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, TypeVar

from simulator.readings import Readings, option

DEFAULT_TODAY = date(2025, 5, 16)  # fixed for repeatable runs; a Friday in the second semester


@dataclass(frozen=True)
class Size:
    """The size of the schools. The same size and seed give the same rows on every machine."""

    schools: int = option(2, "Number of schools; their ids are 101, 102, ...", most=800)
    students: int = option(240, "Students per school.", most=40_000)  # more would need longer ids
    semesters: int = option(2, "Semesters per school; the last one is the current one.", most=40)
    core_subjects: int = option(8, "Subjects that everybody takes, a class each.", most=8)
    same_class_names: bool = option(False, "Call all administrative classes 1班.")
    rejoined: int = option(
        0, "One of so many students of a class left the class and joined it again; 0: none.", least=0
    )
    double_booked: int = option(
        0,
        "One of so many classes meets once a week in a room that another class uses at that time; 0: none.",
        least=0,
    )
    seed: int = option(1, "Seed of all generated rows and of the faults.", least=0)
    dataset_rows: int = option(2_000, "Rows of the dataset big_scores in each school.", most=100_000_000)
    dataset_gap: int = option(0, "Ids that big_scores leaves out after each thousand.", least=0)
    dataset_fresh: int = option(
        1, "Percent of the rows of big_scores that were updated today.", least=0, most=100
    )
    today: date = field(default=DEFAULT_TODAY, metadata={"help": "The platform's own date, YYYY-MM-DD."})
    clock_ahead: int | None = option(
        None,
        "Seconds by which the platform's clock is ahead of this machine's (negative: behind), for rows and "
        "the header Date. Without this option the clock counts changes, so that runs are repeatable.",
        least=-7 * 86_400,
        most=7 * 86_400,
    )


@dataclass(frozen=True)
class Access:
    """Access rights and limits of the client."""

    token_lifetime: int = option(7200, "Seconds that a token is valid.", least=0)
    scopes: tuple[str, ...] = option((), "Permission scope that the client may get; repeatable, default all.")
    one_token: bool = option(False, "A new token ends the client's earlier ones.")
    allowed_schools: tuple[int, ...] = option((), "School that the client may read; repeatable, default all.")
    rate_limit: int = option(
        0, "Requests per second answered before 429 with Retry-After; 0 is unlimited.", least=0
    )
    log: bool = option(True, "Keep the request log that GET /_simulator/log shows.")


Group = TypeVar("Group", Size, Access, Readings)


@dataclass(frozen=True)
class Settings:
    """A whole run."""

    size: Size = Size()
    access: Access = Access()
    readings: Readings = field(default_factory=Readings)
    client_id: str = "demo-client"
    client_secret: str = field(default="demo-secret", repr=False)

    @classmethod
    def of(cls, client_id: str, client_secret: str, **options: Any) -> "Settings":
        """Settings from flat options, named like the fields of Size, Access and Readings."""

        def part(kind: type[Group]) -> Group:
            return kind(**{f.name: options[f.name] for f in fields(kind)})

        return cls(part(Size), part(Access), part(Readings), client_id, client_secret)
