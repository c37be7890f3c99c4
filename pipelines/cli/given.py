"""The settings that a command runs with. What they are made of takes a third of a second to import, for which
`campus --help` and `--version` need not wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.cli.display import console

if TYPE_CHECKING:
    from pipelines.settings import Settings


def given() -> Settings:
    """The settings. Raises pipelines.settings.SettingsError."""
    from pipelines.settings import load_settings

    return load_settings()


def given_to_write() -> Settings:
    """The same for a command that writes in the home, and says where they are from."""
    from pipelines.settings import check_home

    settings = given()
    check_home(settings)
    for file in settings.read_from:
        console.print(f"Settings from {file}", markup=False, soft_wrap=True)
    return settings
