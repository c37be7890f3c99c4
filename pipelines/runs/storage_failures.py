"""One-line messages for storage failures: a full disk, or an unreachable database of runs or object store.

Each library words these failures in its own way, and any line of the code may hit one first."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pipelines.settings.environment import POSTGRES_URL
from pipelines.shared.addresses import without_secrets

#: Free bytes that a run needs to start: with less, it would end half-way.
MIN_FREE = 64 << 20
#: Errors of the system, SQLite, DuckDB, delta-rs and pyarrow about a full disk or quota.
FULL = re.compile(
    "no space left|disk is full|disk quota exceeded|file too large|not enough space", re.IGNORECASE
)
#: Errors of delta-rs and obstore about a failed request to an object store.
STORE = re.compile("S3 error|NoSuchBucket|Error performing (GET|PUT|HEAD|POST|DELETE|list)")
#: Errors of the system, DuckDB, delta-rs and pyarrow about a file that cannot be read or written.
FILES = re.compile(r"\b(os error|errno) \d|IO Error", re.IGNORECASE)
#: By a pattern of the error: the problem of a store, and what to do.
STORE_PROBLEMS = (
    ("NoSuchBucket", "has no such bucket: make it, or correct CAMPUS_LAKE"),
    (
        "169.254.169.254",
        "was not reached, since there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
        "in .env or in the environment",
    ),
    (
        "403 Forbidden|401 Unauthorized|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch",
        "refuses the credentials: check that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION are "
        "right, and may read, write, list and delete there",
    ),
    (
        "Got invalid .* response|404 Not Found|405 Method Not Allowed|501 Not Implemented",
        "answers, but not as an object store: check AWS_ENDPOINT_URL, and that no other program has its port",
    ),
    ("BadScheme", "is at an address without encryption: set AWS_ALLOW_HTTP=true if that is intended"),
)
STORE_AWAY = "does not answer: check the store, and that AWS_ENDPOINT_URL is right"
COMMITTED = "what was committed is kept."
MAKE_ROOM = f"Make room there, then run the same command again: {COMMITTED}"


def disk_problem(home: Path) -> str | None:
    """The message for a home's disk without room for a run; None: it has room."""
    return None if has_room(home) else full_disk(home)


def has_room(folder: Path) -> bool:
    """Whether the disk of a folder has room for a run."""
    return _free(folder) >= MIN_FREE


def full_disk(home: Path) -> str:
    """The message for a full disk, and for a disk that was full a moment ago."""
    free = f"{_free(home) >> 20:,}"
    if has_room(home):
        return f"The disk of {home} is full, or its quota: {free} MB are free by now. {MAKE_ROOM}"
    needed = f"{MIN_FREE >> 20:,} MB"
    return f"The disk of {home} is full: {free} MB are free, and a run needs {needed}. {MAKE_ROOM}"


def is_full(message: str) -> bool:
    """Whether an error message means a full disk."""
    return FULL.search(message) is not None


def is_of_storage(message: str) -> bool:
    """Whether an error message means a problem of the disk, of files or of the object store."""
    return any(pattern.search(message) for pattern in (FULL, STORE, FILES))


def store_problem(message: str) -> str:
    """The problem of an object store behind an error message, and what to do: the end of a sentence."""
    return next((problem for pattern, problem in STORE_PROBLEMS if re.search(pattern, message)), STORE_AWAY)


def store_message(message: str) -> str | None:
    """The one-line message for an error of the object store; None: the error is another."""
    if not STORE.search(message):
        return None
    return (
        f"the object store of the lake (CAMPUS_LAKE) or of the shards (publish.to) {store_problem(message)}. "
        f"Then run the same command again: {COMMITTED}"
    )


def storage_message(error: BaseException, home: Path) -> str | None:
    """The one-line message for a storage error that ends a command; None: the error is another."""
    # Imported on failure only: it takes a second.
    from sqlalchemy.exc import DBAPIError

    causes = list(_causes(error))
    if any(is_full(str(cause)) for cause in causes):
        return full_disk(home)
    for cause in causes:
        if message := store_message(str(cause)):
            return message
        if isinstance(cause, DBAPIError):
            if problem := disk_problem(home):
                # SQLite may report a full disk as an I/O error.
                return problem
            address = os.environ.get(POSTGRES_URL, "")
            reason = " ".join(without_secrets(str(cause.orig), address).split())
            return (
                f"the database in which Dagster keeps its runs does not answer: {reason}. Check the "
                f"database, then run the same command again: {COMMITTED}"
            )
    return None


def _free(home: Path) -> int:
    """Free bytes of the disk where a home is, or would be made."""
    return shutil.disk_usage(next(path for path in (home, *home.parents) if path.exists())).free


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
