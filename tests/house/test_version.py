"""The version is stated in pyproject.toml, and everything that shows a version shows this one."""

import re
import tomllib
from pathlib import Path

from click.testing import CliRunner

from pipelines.cli.main import main
from warehouse.publish.build import models_digest

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_command_shows_the_version() -> None:
    """Two checkouts of a release may have different models, which refuse each other's files."""
    shown = CliRunner().invoke(main, ["--version"]).output
    assert shown == f"campus, version {VERSION}, models {models_digest()}\n"


def test_changelog_begins_with_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *released = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", changelog, re.MULTILINE)
    assert unreleased == "Unreleased"
    assert released[0] == VERSION
