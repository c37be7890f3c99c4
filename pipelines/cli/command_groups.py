"""Groups of commands, as their help lists them."""

from collections.abc import Mapping, Sequence
from typing import Any

import click


class Group(click.Group):
    """Lists each command with its whole first sentence, which click would cut off."""

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[click.Command]] | None = None, **kwargs: Any
    ) -> None:
        """Make a group. `sections`: its commands by the title under which the help lists them; without
        sections the help has one list."""
        super().__init__(*args, **kwargs)
        self.sections = sections or {}
        for commands in self.sections.values():
            for command in commands:
                self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands."""
        unsectioned = [self.commands[name] for name in sorted(self.commands)]
        for title, commands in (self.sections or {"Commands": unsectioned}).items():
            with formatter.section(title):
                rows = [(command.name or "", _summary(command)) for command in commands]
                formatter.write_dl(rows, col_max=14)


def _summary(command: click.Command) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())
