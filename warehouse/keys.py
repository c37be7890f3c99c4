"""Secret keys of a home: made at first use, and readable by their owner alone."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from warehouse.files import flush

#: Bytes of a key.
KEY_BYTES = 32


def home_key(home: Path, name: str) -> bytes:
    """Read the key of this name from `home/keys`; the first caller makes it from random bytes.

    Raises PermissionError if another user could have read or replaced the key, and OSError if the file
    cannot be read or written."""
    path = home / "keys" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        return _read(path)
    candidate = path.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    flush(candidate)
    try:
        # If two processes make the same key at once, both use the first.
        with suppress(FileExistsError):
            os.link(candidate, path)
    finally:
        candidate.unlink()
    flush(path.parent)
    return _read(path)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        key = file.read()
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise PermissionError(
            f"{path} must belong to the user that runs campus, with mode 600: somebody else could have read "
            f"or replaced the key. Remove the file to have a new key made"
        )
    if len(key) != KEY_BYTES:
        raise PermissionError(f"{path} is not a key that campus made. Remove the file to have a new key made")
    return key
