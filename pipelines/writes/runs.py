"""Reads the file of a run, and puts its failures into words."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from pydantic import field_validator

from campus.http.errors import CampusError, PlatformUnavailable
from pipelines.launches import FINAL_TAG
from pipelines.notices.notice import THEIR_WORDS
from pipelines.settings import Settings, SettingsError
from writeback.files.table_file import FileContent, TableError
from writeback.inbox.folder import Arrived, is_name, move_to_done, read_arrived
from writeback.inbox.time_limit import FolderAway
from writeback.notes import notes
from writeback.roster.plan_file import PlanError, digest

#: On a run: what the runs for a file are known by; the file that it reads, and its content.
FILE_TAG, PATH_TAG, CONTENT_TAG = "campus/file", "campus/path", "campus/content"
#: In a failure: what may be told to anybody.
TOLD = "told"


class ArrivedFile(dg.Config):
    """A file that arrived. file: its name in the school's folder of the job's kind. stamp: what it was known
    by when the run was requested; empty: whatever it is."""

    school_id: int
    file: str = ""
    stamp: str = ""

    @field_validator("file")
    @classmethod
    def _is_name(cls, file: str) -> str:
        if file and not is_name(file):
            raise ValueError(
                "expected the name of a file in the folder of its school and kind, without a path"
            )
        return file


def file_of_run(
    context: dg.OpExecutionContext, settings: Settings, kind: str, config: ArrivedFile
) -> tuple[FileContent, Arrived] | None:
    """The file of a run, read once; None: it has changed since the run was requested, or its content was read
    before.

    Raises TableError where the file cannot be read, FolderAway where the folder does not answer, and
    SettingsError where no folder is set."""
    folder = settings.options.writes.inbox.folder
    if folder is None:
        raise SettingsError(["writes.inbox.folder is not set: no file arrives"])
    file, arrived = read_arrived(folder, kind, config.school_id, config.file)
    if config.stamp and config.stamp != arrived.stamp:
        context.log.info(f"{file.path} has changed since: the next look requests another run.")
        return None
    tags = {PATH_TAG: str(file.path), CONTENT_TAG: digest(file.content)[:32]}
    # Who launches a run by hand, without a stamp, wants the file read in any case.
    if config.stamp and _last_content(context.instance, tags[PATH_TAG]) == tags[CONTENT_TAG]:
        context.log.info(f"{file.path} has the content that was read last, and is left alone.")
        if not any(note.counts and note.school_id == config.school_id for note in notes(settings.home)):
            put_away(context, settings, kind, arrived)
        return None
    context.instance.add_run_tags(context.run_id, tags)
    return file, arrived


def put_away(context: dg.OpExecutionContext, settings: Settings, kind: str, file: Arrived) -> None:
    """Move a file that needs nothing more to `done`; where the folder can only be read it stays."""
    folder = settings.options.writes.inbox.folder
    assert folder is not None
    try:
        move_to_done(folder, kind, file)
    except OSError as error:
        context.log.warning(f"{file.path} cannot be moved to done: {error.strerror}. Remove it by hand.")


def _last_content(instance: dg.DagsterInstance, path: str) -> str | None:
    """The content of this path that was read last; None: there was none, or its run was not enough for it."""
    last = next(iter(instance.get_runs(dg.RunsFilter(tags={PATH_TAG: path}), limit=1)), None)
    return last.tags[CONTENT_TAG] if last is not None and last.is_success else None


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
    except FolderAway as error:
        words = f"the folder of files (writes.inbox.folder): {error.strerror}; the file is read again later"
        raise dg.Failure(words, metadata={TOLD: words}, allow_retries=False) from None
    except (SettingsError, PlatformUnavailable, PermissionError) as error:
        raise _failure(error, str(error)) from None
    except CampusError as error:
        # What the platform says in its own words may name a child.
        raise _failure(error, str(error).partition(THEIR_WORDS)[0]) from None


def final(context: dg.OpExecutionContext) -> None:
    """The file of this run needs no other run."""
    context.instance.add_run_tags(context.run_id, {FINAL_TAG: "true"})


def told_of(failure: dg.Failure) -> str:
    """The words of a failure that name no child."""
    return str(failure.metadata[TOLD].value) if TOLD in failure.metadata else "see its run in the UI"


def _failure(error: Exception, public_words: str) -> dg.Failure:
    return dg.Failure(str(error), metadata={TOLD: public_words}, allow_retries=False)
