"""The house: who may import whom (the contracts are in pyproject.toml)."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
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
    "loading/connection/connected.py": "a note of the home",
    "pipelines/cli/actions/inputs.py": "writes a new template",
    "pipelines/deliveries/mails.py": "attaches workbooks of the home",
    "pipelines/settings/origin.py": "a note of the home",
    "warehouse/publish/models/compiler.py": "files of the code",
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


PAGES = [
    *("reference/glossary.md", "reference/security.md"),
    *(f"{page.parent.name}/{page.name}" for page in (ROOT / "docs" / "explanation").glob("*.md")),
    *(f"{page.parent.name}/{page.name}" for page in (ROOT / "docs" / "how-to").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_paths_that_a_page_names_exist(page: str) -> None:
    """A bare name would fit several files: a page names the whole path."""
    names = re.findall(r"`([\w./-]+)`", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert [name for name in names if not _exists(name)] == []


def test_modules_and_functions_that_the_design_names_exist() -> None:
    missing = []
    for page in ("design.md", "reasons.md"):
        text = (ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8")
        missing += [name for name in re.findall(r"`([a-z_]+(?:[.]\w+)+)`", text) if not _is_module(name)]
        for name, path in re.findall(r"`(\w+(?:[.]\w+)*)` in\s`([\w/]+[.]py)`", text):
            defined = rf"(?:def|class) {name.rpartition('.')[2]}\b"
            if not re.search(defined, (ROOT / path).read_text(encoding="utf-8")):
                missing.append(f"{name} in {path}")
    assert missing == []


def test_the_design_is_short() -> None:
    page = ROOT / "docs" / "explanation" / "design.md"
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 200


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
    texts = {name: (ROOT / name) for name in _tracked_files() if Path(name).suffix in kinds}
    named = {
        (page, name)
        for name, path in texts.items()
        for page in re.findall(r"\bdocs/[\w./-]+[.]md", path.read_text(encoding="utf-8", errors="ignore"))
    }
    assert len(named) > 20
    assert {(page, name) for page, name in named if not (ROOT / page).exists()} == set()


@cache
def _tracked_files() -> tuple[str, ...]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(listed.stdout.splitlines())


@cache
def _run_tags() -> frozenset[str]:
    """The tags of runs, such as campus/full, which look like paths."""
    texts = (path.read_text(encoding="utf-8") for path in modules(PRODUCT))
    return frozenset(tag for text in texts for tag in re.findall(r'"(campus/\w+)"', text))


def _exists(name: str) -> bool:
    """Whether a name in code style is a path from the root, or no path of this repository."""
    root, slash, _ = name.partition("/")
    if slash:
        is_path = root in {file.partition("/")[0] for file in _tracked_files() if "/" in file}
        return not is_path or (ROOT / name).exists() or name in _run_tags()
    is_code = re.search(r"[.](?:py|sql|yml|js|css|j2)$", name)
    same_name = [file for file in _tracked_files() if file.rpartition("/")[2] == name]
    return not is_code or name in same_name or not (same_name or name.endswith(".py"))


def _is_module(name: str) -> bool:
    """Whether a dotted name is a module of a room, or names something else, such as a file of a home."""
    is_other = name.partition(".")[0] not in ROOMS or name.endswith((".yaml", ".duckdb", ".parquet"))
    path = ROOT / name.replace(".", "/")
    return is_other or path.is_dir() or path.with_suffix(".py").exists()


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
