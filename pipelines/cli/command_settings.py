"""The settings of a command, imported only when it runs: that takes a third of a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.cli.terminal.display import print_line

if TYPE_CHECKING:
    from pipelines.settings.settings import Settings


def read_settings() -> Settings:
    """Read the settings. Raises pipelines.settings.settings.SettingsError."""
    from pipelines.settings.settings import load_settings

    return load_settings()


def settings_for_writing() -> Settings:
    """Read the settings for a command that writes in the home: check the home and print the files they are
    from. Raises pipelines.settings.settings.SettingsError."""
    from pipelines.settings.settings import check_home

    settings = read_settings()
    check_home(settings)
    for file in settings.read_from:
        print_line(f"Settings from {file}")
    return settings
