"""The text of a page in golden files."""

from datetime import date
from pathlib import Path

from tests.kits.exports.golden_dump import texts_of


def test_the_text_of_a_page_has_marks_of_attributes(tmp_path: Path) -> None:
    """A link that leads elsewhere, or a cell that sorts otherwise, changes the golden file."""
    (tmp_path / "page.html").write_text(
        '<nav aria-label="Where"><a href="1.html">One</a></nav><table><tr><td data-sort="2">Watch</td>'
        '<td class="n">&lt; 5</td></tr></table><p><a href="#" download="a.csv">CSV</a></p>',
        encoding="utf-8",
    )
    assert texts_of(tmp_path, date(2026, 3, 2)) == {
        "page.html": "[aria-label=Where][href=1.html]One\n[data-sort=2]Watch | < 5\n"
        "[href=#][download=a.csv]CSV"
    }
