"""Reads the file of a run, and turns errors into failures of Dagster."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
from pydantic import Field, field_validator

from campus.files.table_file import FileContent, TableError
from campus.http.errors import CampusError, PlatformUnavailable
from pipelines.notices.notice import PLATFORM_QUOTE
from pipelines.runs.launchers import FINAL_TAG
from pipelines.settings.settings import Settings, SettingsError
from untrusted.files import FileChanged
from untrusted.time_limit import FolderAway
from writeback.inbox.folder import InboxFile, is_name, move_to_done, read_arrived
from writeback.notes import notes
from writeback.roster.plan_file import PlanError, digest

#: On a run: the key of the requested file; the path of the read file, and the hash of its content.
FILE_TAG, PATH_TAG, CONTENT_TAG = "campus/file", "campus/path", "campus/content"
#: In a failure's metadata: a message that quotes no personal data.
PUBLIC_TEXT = "told"


class ArrivedFile(dg.Config):
    """A file that arrived."""

    school_id: int
    file: str = Field("", description="The name in the school's folder of the job's kind.")
    stamp: str = Field("", description="The file's stamp when the run was requested; empty: any stamp.")

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
) -> tuple[FileContent, InboxFile] | None:
    """The content of a run's file; None: the file changed after the request, or its content was read before.

    Raises TableError if the file cannot be read, FileChanged if it is written meanwhile, FolderAway if the
    folder does not answer, and SettingsError if no folder is set."""
    folder = settings.options.writes.inbox.folder
    if folder is None:
        raise SettingsError(["writes.inbox.folder is not set: no file arrives"])
    file, arrived = read_arrived(folder, kind, config.school_id, config.file)
    if config.stamp and config.stamp != arrived.stamp:
        context.log.info(f"{file.path} has changed since: the next look requests another run.")
        return None
    tags = {PATH_TAG: str(file.path), CONTENT_TAG: digest(file.content)[:32]}
    # A run launched by hand has no stamp, and reads the file in any case.
    if config.stamp and _last_content(context.instance, tags[PATH_TAG]) == tags[CONTENT_TAG]:
        context.log.info(f"{file.path} has the content that was read last, and is left alone.")
        if not any(note.counts and note.school_id == config.school_id for note in notes(settings.home)):
            move_away(context, settings, kind, arrived)
        return None
    context.instance.add_run_tags(context.run_id, tags)
    return file, arrived


def move_away(context: dg.OpExecutionContext, settings: Settings, kind: str, file: InboxFile) -> None:
    """Move a completed file to `done`. In a read-only folder the file stays."""
    folder = settings.options.writes.inbox.folder
    assert folder is not None
    try:
        move_to_done(folder, kind, file)
    except OSError as error:
        context.log.warning(f"{file.path} cannot be moved to done: {error.strerror}. Remove it by hand.")


def _last_content(instance: dg.DagsterInstance, path: str) -> str | None:
    """The hash of the content last read from a path; None: never read, or its run failed."""
    last = next(iter(instance.get_runs(dg.RunsFilter(tags={PATH_TAG: path}), limit=1)), None)
    return last.tags[CONTENT_TAG] if last is not None and last.is_success else None


@contextmanager
def failures_as_dagster(context: dg.OpExecutionContext) -> Iterator[None]:
    """Turn errors into dg.Failure. A run with an invalid file is marked as final, so that the file is not
    read again."""
    try:
        yield
    except (TableError, PlanError) as error:
        mark_final(context)
        raise _failure(str(error), str(error)) from None
    except FolderAway as error:
        message = f"the folder of files (writes.inbox.folder): {error.strerror}; the file is read again later"
        raise _failure(message, message) from None
    except (FileChanged, SettingsError, PlatformUnavailable, PermissionError) as error:
        raise _failure(str(error), str(error)) from None
    except CampusError as error:
        # The platform's own words may name a child.
        raise _failure(str(error), str(error).partition(PLATFORM_QUOTE)[0]) from None


def mark_final(context: dg.OpExecutionContext) -> None:
    """Mark that the file of this run needs no further run."""
    context.instance.add_run_tags(context.run_id, {FINAL_TAG: "true"})


def public_text(failure: dg.Failure) -> str:
    """The message of a failure, without personal data."""
    if PUBLIC_TEXT in failure.metadata:
        return str(failure.metadata[PUBLIC_TEXT].value)
    return "see its run in the UI"


def _failure(message: str, public: str) -> dg.Failure:
    return dg.Failure(message, metadata={PUBLIC_TEXT: public}, allow_retries=False)
