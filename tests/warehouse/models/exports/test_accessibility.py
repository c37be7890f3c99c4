"""Every kind of page for screen readers, keyboards, phones and paper: what axe finds wrong."""

from pathlib import Path

import pytest

from exports.export import Options, Written, export
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.servers.browser import BROWSER, DRIVER, Page, open_board

KINDS = ("index", "definitions", "board", "cohort", "class", "course", "student")
#: The longest page of each kind: it has the most kinds of cells.
PHONE = 360

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")


@pytest.fixture(scope="module")
def sites(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sites of all readers."""
    file = publish_strictly(healthy, tmp_path_factory.mktemp("published"))
    folder = tmp_path_factory.mktemp("sites")
    ends = list(export(file, ["site"], [SCHOOL], Options(folder, roles=("head", "class-teacher", "teacher"))))
    assert all(isinstance(end, Written) for end in ends), ends
    return folder / f"site_{SCHOOL}"


@pytest.fixture
def folder(sites: Path) -> Path:
    """The site of the head, with the board."""
    return sites / "head"


def page_of(folder: Path, kind: str) -> Path:
    pages = [path for path in folder.rglob("*.html") if kind in (path.stem, path.parent.name)]
    return max(pages, key=lambda path: path.stat().st_size)


def opened(window: Page, folder: Path, kind: str) -> Page:
    path = page_of(folder, kind)
    if kind == "board":
        return open_board(window, path)
    window.open(path.as_uri())
    return window


@pytest.mark.parametrize(
    ("role", "kind"),
    [*(("head", kind) for kind in KINDS), ("class-teacher", "class"), ("teacher", "course")],
)
def test_axe_finds_nothing(role: str, kind: str, sites: Path, window: Page) -> None:
    try:
        for width in (0, PHONE):
            window.resize(width)
            page = opened(window, sites / role, kind)
            assert page.violations() == []
            page.click("//button[@id='language']")
            assert page.violations() == []
            page.click("//button[@id='language']")
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        window.resize(0)


@pytest.mark.parametrize("kind", KINDS)
def test_paper_has_enough_contrast(kind: str, folder: Path, window: Page) -> None:
    page = opened(window, folder, kind)
    page.media("print")
    try:
        assert page.violations("color-contrast") == []
    finally:
        page.media("")


def test_each_chart_has_its_text_alternative(folder: Path, window: Page) -> None:
    """Vega writes a name of its own, the same for each chart, when it draws."""
    page = opened(window, folder, "board")
    for language in ("zh", "en"):
        unnamed = f".//*[@data-chart][not(@role = 'img' and @aria-label = @data-{language})]"
        assert page.has(f"//main[.//*[@data-chart]][not({unnamed})]", 10)
        page.click("//button[@id='language']")


def test_a_picked_class_has_no_findings(folder: Path, window: Page) -> None:
    page = opened(window, folder, "board")
    page.run(
        "const pick = document.getElementById('pick'); pick.selectedIndex = 1;"
        "pick.dispatchEvent(new Event('change'))"
    )
    assert page.run("return document.querySelector('#picked a').getAttribute('href')").startswith("class/")
    assert page.violations() == []
