"""What a person is told whose disk is full, or whose database of Dagster's runs or object store is away: one
sentence, and no traceback. Each library says it otherwise, and any line of the code may meet it first."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pipelines.shared.addresses import without_secrets

#: Bytes below which nothing is begun: each run would end half-way.
LEAST = 64 << 20
#: What the system, SQLite, DuckDB, delta-rs and pyarrow say of a disk or a quota that is used up.
FULL = re.compile(
    "no space left|disk is full|disk quota exceeded|file too large|not enough space", re.IGNORECASE
)
#: What delta-rs and obstore say of a request that an object store did not answer as it should.
STORE = re.compile("S3 error|NoSuchBucket|Error performing (GET|PUT|HEAD|POST|DELETE|list)")
#: What the system, DuckDB, delta-rs and pyarrow say of a file that cannot be read or written.
FILES = re.compile(r"\b(os error|errno) \d|IO Error", re.IGNORECASE)
#: What is wrong with a store, by the words of an error, and what to do.
STORE_TROUBLE = (
    ("NoSuchBucket", "has no such bucket: make it, or set CAMPUS_LAKE right"),
    (
        "169.254.169.254",
        "was not asked, since there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
        "in .env or in the environment",
    ),
    (
        "403 Forbidden|401 Unauthorized|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch",
        "refuses us: see that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION are right, and that "
        "they may read, write, list and delete there",
    ),
    ("BadScheme", "is at an address without encryption: set AWS_ALLOW_HTTP=true if that is meant"),
)
STORE_AWAY = "does not answer: see to it, and that AWS_ENDPOINT_URL is right"
KEPT = "what was committed is kept."
MAKE_ROOM = f"Make room there, then run the same command again: {KEPT}"


def no_room(home: Path) -> str | None:
    """What to say where a home's disk has no room for a run; None: it has."""
    return None if has_room(home) else full_disk(home)


def has_room(folder: Path) -> bool:
    """Whether the disk of a folder has room for a run."""
    return _free(folder) >= LEAST


def full_disk(home: Path) -> str:
    """That the disk of a home is full."""
    return f"The disk of {home} is full, {_free(home) / (1 << 20):,.0f} MB are free. {MAKE_ROOM}"


def is_full(words: str) -> bool:
    """Whether a failure, by its words, comes of a full disk."""
    return FULL.search(words) is not None


def is_of_storage(words: str) -> bool:
    """Whether a failure, by its words, comes of the disk, of files or of the object store."""
    return any(pattern.search(words) for pattern in (FULL, STORE, FILES))


def store_trouble(said: str) -> str:
    """What is wrong with an object store by the words of an error, and what to do, as the end of a
    sentence."""
    return next((words for sign, words in STORE_TROUBLE if re.search(sign, said)), STORE_AWAY)


def store_in_words(said: str) -> str | None:
    """What to say of a failure that, by its words, comes of the object store; None: it does not."""
    if not STORE.search(said):
        return None
    trouble = store_trouble(said)
    return (
        f"the object store of the lake (CAMPUS_LAKE) or of the shards (publish.to) {trouble}. Then run the "
        f"same command again: {KEPT}"
    )


def in_words(error: BaseException, home: Path) -> str | None:
    """What to say of an error that ends a command, where it comes of storage; None: it does not."""
    # Imported where something has failed: it takes a second that `campus --version` need not wait for.
    from sqlalchemy.exc import DBAPIError

    causes = list(_causes(error))
    if any(is_full(str(each)) for each in causes):
        return full_disk(home)
    for each in causes:
        if told := store_in_words(str(each)):
            return told
        if isinstance(each, DBAPIError):
            if full := no_room(home):
                # SQLite may call it an I/O error.
                return full
            address = os.environ.get("DAGSTER_POSTGRES_URL", "")
            said = " ".join(without_secrets(str(each.orig), address).split())
            return (
                f"the database in which Dagster keeps its runs does not answer: {said}. See to it, then run "
                "the same command again: what was committed is kept."
            )
    return None


def _free(home: Path) -> int:
    """Bytes that are free where a home is, or would be made."""
    return shutil.disk_usage(next(path for path in (home, *home.parents) if path.exists())).free


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
