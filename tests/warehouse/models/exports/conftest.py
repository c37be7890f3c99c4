"""A browser for the pages of a module."""

from collections.abc import Iterator

import pytest

from tests.kits.servers.browser import Page, browser


@pytest.fixture(scope="module")
def window() -> Iterator[Page]:
    with browser() as page:
        yield page
