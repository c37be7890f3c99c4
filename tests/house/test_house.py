"""The house: who may import whom (the contracts are in pyproject.toml)."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from campus.contracts.fields import PERSONAL, PLATFORM_ZONE, Privacy
from tests.kits.repository.rooms import PRODUCT, ROOMS, ROOT, modules
from warehouse import privacy
from warehouse.lake.tables import PLATFORM_ZONE as lake_zone


def test_imports_run_one_way() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("package", "foreign"),
    [
        ("campus", {"dagster", "duckdb", "deltalake", "simulator"}),
        ("warehouse", {"dagster", "httpx", "simulator"}),
        ("assets", {"httpx", "simulator"}),
        ("simulator", {"campus", "warehouse", "assets", "pipelines", "dagster", "duckdb"}),
    ],
)
def test_no_module_names_what_its_part_of_the_house_does_not_know(package: str, foreign: set[str]) -> None:
    modules = list((ROOT / package).rglob("*.py"))
    assert modules
    foreign_imports = {path.name: _imported(path) & foreign for path in modules if _imported(path) & foreign}
    assert foreign_imports == {}


def test_no_test_imports_another_test() -> None:
    # What several tests need is in tests/kits.
    imports = re.compile(r"^\s*(?:from tests[\w.]*[.]test_|from tests[\w.]* import test_)", re.MULTILINE)
    tests = modules(("tests",))
    assert [path for path in tests if imports.search(path.read_text(encoding="utf-8"))] == []


def test_no_folder_of_tests_has_more_than_a_dozen_files() -> None:
    counts = Counter(path.parent.relative_to(ROOT) for path in modules(("tests",)))
    assert {folder: count for folder, count in counts.items() if count > 12} == {}


def test_both_rooms_have_the_same_privacy_classes() -> None:
    # No row of the platform sums over people.
    assert {*get_args(Privacy), "uncounted"} == {"", *privacy.CLASSES}
    assert PERSONAL == privacy.PERSONAL


def test_each_room_that_needs_the_platforms_zone_spells_it_once() -> None:
    assert lake_zone == PLATFORM_ZONE
    spelled = {
        path
        for path in modules(PRODUCT)
        if f'ZoneInfo("{PLATFORM_ZONE}")' in path.read_text(encoding="utf-8")
    }
    assert spelled == {ROOT / "campus/contracts/fields.py", ROOT / "warehouse/lake/tables.py"}


#: The rooms and folders whose modules read files that somebody else may write, through untrusted/files.py.
READERS_OF_OTHERS = (
    *("assets", "campus", "loading", "writeback", "warehouse/publish/models", "pipelines/cli/actions"),
    *("pipelines/cli/writing", "pipelines/deliveries", "pipelines/settings", "pipelines/writes"),
)
#: Their modules that open files themselves, and the reason.
OPENERS = {
    "campus/files/table_file.py": "a workbook in memory",
    "loading/connection/capabilities.py": "a note of the home",
    "loading/connection/outage.py": "a note of the home",
    "pipelines/cli/actions/inputs.py": "writes a new template",
    "pipelines/deliveries/mails.py": "attaches workbooks of the home",
    "pipelines/settings/origin.py": "a note of the home",
    "warehouse/publish/models/dbt_project.py": "files of the code",
    "warehouse/publish/models/model_runner.py": "seeds of the code, and thresholds merged into them",
    "warehouse/publish/models/thresholds.py": "seeds of the code, and new files",
    "writeback/inbox/folder.py": "makes new files in `done`",
    "writeback/outcomes.py": "writes results",
    "writeback/roster/plan_file.py": "writes a new plan",
}


def test_files_of_others_are_opened_by_the_reader_alone() -> None:
    """docs/reference/security.md lists the paths."""
    paths = (path for folder in READERS_OF_OTHERS for path in (ROOT / folder).rglob("*.py"))
    assert {str(path.relative_to(ROOT)) for path in paths if _opens_files(path)} == OPENERS.keys()


@pytest.mark.parametrize(
    "page",
    ["reference/glossary.md", "reference/security.md", "explanation/design.md", "how-to/extending.md"],
)
def test_what_a_page_says_where_to_find_is_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rooms = "|".join((*ROOMS, "tests", "benchmarks", "tools"))
    named = re.findall(rf"`((?:{rooms})/[\w./]+[.]\w+)`", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_link_of_a_page_leads_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]
    anchors = {page: _anchors(page.read_text(encoding="utf-8")) for page in pages}
    astray = []
    for page in pages:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            file = (page.parent / name).resolve() if name else page
            leads = file.exists() and (not anchor or anchor in anchors[file])
            if not leads and not link.startswith("http"):
                astray.append((page.name, link))
    assert astray == []


def test_each_page_named_in_the_code_is_there() -> None:
    kinds = {".py", ".toml", ".yaml", ".service", ".conf", ".sql", ".yml", ""}
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {name: (ROOT / name) for name in files.stdout.splitlines() if Path(name).suffix in kinds}
    named = {
        (page, name)
        for name, path in texts.items()
        for page in re.findall(r"\bdocs/[\w./-]+[.]md", path.read_text(encoding="utf-8", errors="ignore"))
    }
    assert len(named) > 20
    assert {(page, name) for page, name in named if not (ROOT / page).exists()} == set()


def _opens_files(path: Path) -> bool:
    """Whether a module calls something that opens a file. `lake.open(table)` does not."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="open") | ast.Attribute(value=ast.Name(id="os"), attr="open")):
                return True
            case ast.Call(func=ast.Attribute(attr="read_text" | "read_bytes" | "read_csv" | "load_workbook")):
                return True
            case ast.Call(func=ast.Attribute(attr="open"), args=[] | [ast.Constant(), *_]):
                return True
    return False


def _anchors(text: str) -> set[str]:
    """The names by which headings are linked to."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names
