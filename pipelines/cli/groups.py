"""Groups of commands, as their help lists them."""

import click


class Group(click.Group):
    """Lists its commands with the whole first sentence of each; click would cut it off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A line or two a command, in the order of their names."""
        rows = [
            (name, (command.help or "").split("\n\n")[0].replace("\n", " "))
            for name, command in sorted(self.commands.items())
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
