"""Where a lake, or shards, may be: a folder, or a prefix in an object store; and how the latter is asked.

Address and credentials of the store come from its own variables (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ALLOW_HTTP), which delta-rs and obstore both read in the environment;
none passes here.
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

#: Seconds for which a request is tried again while the store is away or throttles.
PATIENCE = 180.0
#: The longest pause between two attempts.
PAUSE = timedelta(seconds=5)
#: The time is what ends the attempts, and not their number.
ATTEMPTS = 1000

#: A bucket and a prefix. Of others deltalake quotes some names twice, and finds nothing there.
S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9_.-]+)+/?")


def is_remote(root: str) -> bool:
    """Whether a root is a prefix in an object store."""
    return "://" in root


def checked(root: str) -> str:
    """The root as it is given, or `ValueError` with what is expected."""
    scheme, found, _ = root.partition("://")
    if not found:
        return str(Path(root).expanduser().resolve())
    if scheme != "s3":
        raise ValueError("expected a folder, or s3://bucket/prefix: no other kind of store is known")
    if not S3.fullmatch(root):
        raise ValueError(
            "expected s3://bucket/prefix, both of letters, digits, '.', '-' and (the prefix) '_' and '/'"
        )
    return root.rstrip("/")


def store_of(root: str, patience: float = PATIENCE) -> ObjectStore:
    """The objects below a root: those of a store, or the files of a folder, which is made."""
    if not is_remote(root):
        return LocalStore(root, mkdir=True)
    retries: RetryConfig = {
        "max_retries": ATTEMPTS,
        "retry_timeout": timedelta(seconds=patience),
        "backoff": {"max_backoff": PAUSE},
    }
    return from_url(root, retry_config=retries)


@contextmanager
def told_plainly() -> Iterator[None]:
    """Have obstore's errors raised as OSError, by their first line: what follows it is for its developers."""
    try:
        yield
    except BaseError as error:
        raise OSError(str(error).partition("\n")[0]) from error


def storage_options(root: str, patience: float = PATIENCE) -> dict[str, str]:
    """The same for delta-rs."""
    if not is_remote(root):
        return {}
    return {
        "max_retries": str(ATTEMPTS),
        "retry_timeout": f"{patience:.0f}s",
        "backoff_config.max_backoff": f"{PAUSE.total_seconds():.0f}s",
    }
