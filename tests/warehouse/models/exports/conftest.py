"""A browser for the pages of a module."""

from collections.abc import Iterator

import pytest

from tests.kits.servers.browser import Page, browser


@pytest.fixture(scope="module")
def window() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture(autouse=True)
def forget_language(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pages remember the language that a reader chose."""
    yield
    if "window" in request.fixturenames:
        page: Page = request.getfixturevalue("window")
        page.command("Storage.clearDataForOrigin", {"origin": "file:///", "storageTypes": "local_storage"})
