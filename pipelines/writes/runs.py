"""What the jobs that write have in common: the file that a run reads, and how its failures are told."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from campus.http.errors import CampusError, Halt
from loading.writes.roster.plan import PlanError
from loading.writes.table_file import TableError
from pipelines.notices.notice import THEIR_WORDS
from pipelines.settings import SettingsError

#: On a run: the file that it reads; and that it could ask nothing of the platform, so that it is tried again.
FILE_TAG, AGAIN_TAG = "campus/file", "campus/again"


class ArrivedFile(dg.Config):
    """A file that arrived. file: its path."""

    school_id: int
    file: str


@contextmanager
def failures_told(context: dg.OpExecutionContext) -> Iterator[None]:
    """Failures in words, as dg.Failure. A run that could ask nothing of the platform is marked, so that it is
    tried again."""
    try:
        yield
    except Halt as halt:
        context.instance.add_run_tags(context.run_id, {AGAIN_TAG: "true"})
        raise dg.Failure(str(halt), allow_retries=False) from None
    except (TableError, PlanError, SettingsError, CampusError) as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def without_their_words(failure: dg.Failure) -> str:
    """A failure without what the platform says in its own words, which may name a child."""
    return (failure.description or "").partition(THEIR_WORDS)[0]
