"""Roots of a lake or of shards: a folder, or a prefix in an object store, with retries for the latter.

delta-rs and obstore read the store's address and credentials from the environment (AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ALLOW_HTTP); this module never sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

if TYPE_CHECKING:
    from obstore.store import RetryConfig

#: Seconds for which a request is retried while the store is unreachable or throttles.
PATIENCE = 180.0
#: The longest pause between two attempts.
PAUSE = timedelta(seconds=5)
#: High enough that PATIENCE ends the attempts, not their number.
ATTEMPTS = 1000

#: A bucket and a prefix. deltalake quotes other characters twice, and then finds no files.
S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9_.-]+)+/?")


def is_remote(root: str) -> bool:
    """Whether a root is a prefix in an object store."""
    return "://" in root


def checked(root: str) -> str:
    """Return the normalized root. Raises ValueError, which says what is expected."""
    if not is_remote(root):
        return str(Path(root).expanduser().resolve())
    if not root.startswith("s3://"):
        raise ValueError("expected a folder, or s3://bucket/prefix: no other kind of store is supported")
    if not S3.fullmatch(root):
        raise ValueError(
            "expected s3://bucket/prefix, both of letters, digits, '.', '-' and (the prefix) '_' and '/'"
        )
    return root.rstrip("/")


def store_of(root: str, patience: float = PATIENCE) -> ObjectStore:
    """The objects below a root: an object store's, or the files of a folder, which is made if missing."""
    if not is_remote(root):
        return LocalStore(root, mkdir=True)
    retries: RetryConfig = {
        "max_retries": ATTEMPTS,
        "retry_timeout": timedelta(seconds=patience),
        "backoff": {"max_backoff": PAUSE},
    }
    return from_url(root, retry_config=retries)


@contextmanager
def store_errors_as_os_errors() -> Iterator[None]:
    """Raise obstore's errors as OSError with their first line; the others are for obstore's developers."""
    try:
        yield
    except BaseError as error:
        raise OSError(str(error).partition("\n")[0]) from error


def storage_options(root: str, patience: float = PATIENCE) -> dict[str, str]:
    """The options of delta-rs for a root, with the same retries; a folder needs none."""
    if not is_remote(root):
        return {}
    return {
        "max_retries": str(ATTEMPTS),
        "retry_timeout": f"{patience:.0f}s",
        "backoff_config.max_backoff": f"{PAUSE.total_seconds():.0f}s",
    }
