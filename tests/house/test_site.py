"""The documentation builds as a site, whose pages fetch nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What a browser fetches by itself: sources of any kind, styles and icons, and addresses in styles.
FETCHED = re.compile(r"""\bsrc=["']?(https?:)?//|<link [^>]*href=["']?(https?:)?//|url\(["']?(https?:)?//""")


def test_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    command = [mkdocs, "build", "--strict", "--quiet", "--site-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [*tmp_path.rglob("*.html"), *tmp_path.rglob("*.css")]
    assert len(pages) > 170
    fetching = [path.name for path in pages if FETCHED.search(path.read_text(encoding="utf-8"))]
    assert fetching == []
    drawn = {path.name: path.read_text(encoding="utf-8").count('<div class="diagram"><svg') for path in pages}
    assert {name: count for name, count in drawn.items() if count} == {
        "design.html": 5,
        "district.html": 1,
        "warehouse.html": 5,
    }
