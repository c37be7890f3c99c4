"""Groups of commands, as their help lists them."""

from collections.abc import Mapping, Sequence
from typing import Any

import click


class Group(click.Group):
    """Lists its commands with the whole first sentence of each; click would cut it off. `sections`: the
    commands by what they are for; without it, in one list by their names."""

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections or {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line or two a command."""
        listed = {name for names in self.sections.values() for name in names}
        rest = sorted(self.commands.keys() - listed)
        for title, names in {**self.sections, "Commands": rest}.items():
            rows = [(name, _summary(self.commands[name])) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=14)


def _summary(command: click.Command) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())
