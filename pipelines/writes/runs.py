"""What the jobs that write have in common: the file that a run reads, and how its failures are told."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from campus.http.errors import CampusError, Halt
from loading.writes.roster.plan_file import PlanError
from loading.writes.table_file import TableError
from pipelines.launches import FINAL_TAG
from pipelines.notices.notice import THEIR_WORDS
from pipelines.settings import SettingsError
from pipelines.writes.inbox import content_of

#: On a run: the file that it reads.
FILE_TAG = "campus/file"
#: In a failure: what may be told to anybody.
TOLD = "told"


class ArrivedFile(dg.Config):
    """A file that arrived. file: its path. content: what it was known by when the run was asked for; empty:
    whatever it has."""

    school_id: int
    file: str = ""
    content: str = ""


def is_as_it_was(asked: ArrivedFile) -> bool:
    """Whether a file is the one that the run was asked for: it may be copied anew just now."""
    return not asked.content or content_of(Path(asked.file)) == asked.content


@contextmanager
def failures_told(context: dg.OpExecutionContext) -> Iterator[None]:
    """Failures in words, as dg.Failure. A run whose file makes no sense is marked, so that the file is not
    tried again."""
    try:
        yield
    except TableError as error:
        # It quotes the file, whose first line may be that of a child.
        final(context)
        raise _failure(error, "it makes no sense as it is; its run in the UI says why") from None
    except PlanError as error:
        final(context)
        raise _failure(error, str(error)) from None
    except (SettingsError, Halt, PermissionError) as error:
        raise _failure(error, str(error)) from None
    except CampusError as error:
        # What the platform says in its own words may name a child.
        raise _failure(error, str(error).partition(THEIR_WORDS)[0]) from None


def final(context: dg.OpExecutionContext) -> None:
    """The file of this run needs no other run."""
    context.instance.add_run_tags(context.run_id, {FINAL_TAG: "true"})


def told_of(failure: dg.Failure) -> str:
    """What may be told of a failure to anybody."""
    return str(failure.metadata[TOLD].value) if TOLD in failure.metadata else "see its run in the UI"


def _failure(error: Exception, told: str) -> dg.Failure:
    return dg.Failure(str(error), metadata={TOLD: told}, allow_retries=False)
