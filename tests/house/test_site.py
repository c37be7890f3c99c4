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
    # Its script is fetched by the theme once a page has such a diagram.
    assert not any('class="mermaid"' in path.read_text(encoding="utf-8") for path in pages)
