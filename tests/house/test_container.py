"""The container: what it installs, and on which base."""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.kits.repository.rooms import ROOMS, ROOT, modules

CONTAINERFILE = ROOT / "deploy" / "Containerfile"
#: Modules that are named by text alone: launchers and drivers.
BY_NAME = {
    "dagster_celery",
    "dagster_k8s",
    "dagster_postgres",
    "dagster_webserver",
    "psycopg2",
    "redis",
}
#: The tools that compile the models, which the container lacks.
DEVELOPER = ROOT / "pipelines" / "cli" / "developer"
DEVELOPMENT = {"mypy", "ruff", "pytest", "hypothesis", "moto", "flask", "scipy", "import-linter"}


def locked(file: str) -> dict[str, tuple[str, set[str]]]:
    """The version of each package of a lock, and its hashes."""
    text = (ROOT / file).read_text()
    entries = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+).*?((?:\n    --hash=\S+.*)+)", text, re.MULTILINE)
    assert len(entries) == len(re.findall(r"^[a-zA-Z]", text, re.MULTILINE))
    return {
        name: (version, set(re.findall("sha256:[0-9a-f]{64}", hashes))) for name, version, hashes in entries
    }


def test_its_lock_is_a_part_of_the_whole_one() -> None:
    whole, runtime = locked("requirements.lock"), locked("deploy/requirements.lock")
    assert runtime.keys() < whole.keys() and whole.keys() - runtime.keys() >= DEVELOPMENT
    assert {name: version for name, (version, _) in runtime.items()} == {
        name: whole[name][0] for name in runtime
    }
    # An older lock may have the hashes of fewer files of a version.
    assert all(whole[name][1] & hashes for name, (_, hashes) in runtime.items())
    assert "://" not in (ROOT / "deploy" / "requirements.lock").read_text()


def test_its_lock_has_what_the_code_imports() -> None:
    imported = set(BY_NAME)
    for file in modules(ROOMS):
        if DEVELOPER in file.parents:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    packages = packages_distributions()
    others = imported - sys.stdlib_module_names - set(ROOMS)
    runtime = locked("deploy/requirements.lock")
    folded = {name: {re.sub(r"[-_.]+", "-", owner).lower() for owner in packages[name]} for name in others}
    assert {name for name, owners in folded.items() if not owners & runtime.keys()} == set()


def test_it_installs_that_lock_and_keeps_no_installer() -> None:
    text = CONTAINERFILE.read_text()
    assert "-r deploy/requirements.lock" in text and "--require-hashes" in text
    assert " requirements.lock" not in text.replace("deploy/requirements.lock", "")
    assert all("--no-cache-dir" in line for line in re.findall(r"pip install .*", text))
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001"]


@pytest.mark.parametrize(
    ("base", "status"),
    [
        ("python@sha256:" + "0" * 64, 0),
        ("registry.example:5000/library/python:3.11-slim@sha256:" + "a1" * 32, 0),
        ("python:3.11-slim", 1),
        ("python@sha256:short", 1),
        ("", 1),
    ],
)
def test_its_base_is_named_by_a_digest(base: str, status: int) -> None:
    text = CONTAINERFILE.read_text()
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert re.findall(r"^ARG BASE.*$", text, re.MULTILINE) == ["ARG BASE", "ARG BASE"]
    [check] = re.findall(r"^RUN (echo .*?exit 1; \})", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run(["/bin/sh", "-c", check], env={"BASE": base}, capture_output=True, text=True)
    assert done.returncode == status
    assert ("by its digest" in done.stderr) == bool(status)
