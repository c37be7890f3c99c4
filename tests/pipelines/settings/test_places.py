"""Errors of the system about a path that a person names."""

import errno

import pytest

from warehouse.files import unusable


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/srv/x"), "its permissions do not allow it"),
        (OSError(errno.EROFS, "Read-only file system", b"/srv/x"), "its disk is mounted read-only"),
        (OSError(errno.EIO, "Input/output error", "/srv/x"), "Input/output error"),
    ],
)
def test_an_error_of_the_system_names_its_path(error: OSError, words: str) -> None:
    assert unusable(error).startswith(f"/srv/x cannot be used: {words}. See that the path is right")


def test_an_error_in_words_stays_as_it_is() -> None:
    assert unusable(OSError("the UI cannot listen")) == "the UI cannot listen"
