"""The declarations of the commands that write to the platform. With --dry-run, a command shows what it would
write; without, it needs CAMPUS_ALLOW_WRITES=true."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pipelines.cli.command_groups import Group
from pipelines.cli.command_settings import read_settings
from pipelines.cli.terminal.display import example

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)

_SCHOOL = click.option("--school", type=int, help="The school; required if there are several.")
_DRY = click.option("--dry-run", "dry", is_flag=True, help="Show what would be written, and write nothing.")
_BUILD = click.option("--build/--no-build", default=True, help="Build and publish afterwards; the default.")


def _write_options(command: Command) -> Command:
    """Add the options that all commands for writing have."""
    return _SCHOOL(_DRY(_BUILD(command)))


@click.group(
    cls=Group, epilog=example("roster plan roster.xlsx --school 101", "roster apply plans/roster-101-….json")
)
def roster() -> None:
    """Push the school's roster to the platform: plan first, then apply (docs/how-to/roster.md)."""


@roster.command("plan", epilog=example("roster plan roster.xlsx --school 101"))
@click.argument("source", metavar="FILE|TABLE")
@_SCHOOL
@click.option("--delete", is_flag=True, help="Plan to delete users who are not in the roster.")
@click.option("--link-by-usin", is_flag=True, help="Give users without an outer_id it by their usin.")
@click.option("--personal", is_flag=True, help="Show values, too; without it only the workbook has them.")
def plan_roster(source: str, school: int | None, delete: bool, link_by_usin: bool, personal: bool) -> int:
    """Compare a roster (CSV, xlsx, Parquet, or a table of the warehouse) with the platform; nothing is
    written."""
    settings = read_settings()
    from pipelines.cli.writing.roster import run_plan

    return run_plan(settings, source, school, delete=delete, link_by_usin=link_by_usin, personal=personal)


@roster.command("apply", epilog=example("roster apply data/plans/roster-101-20261123-081500.json"))
@click.argument("plan")
@click.option(
    "--despite-refused", is_flag=True, help="Apply the plan however many rows of the roster it refuses."
)
@_DRY
@_BUILD
def apply_roster(plan: str, dry: bool, build: bool, despite_refused: bool) -> int:
    """Carry out PLAN, a name or a path in $CAMPUS_HOME/plans; run it again after an interruption."""
    settings = read_settings()
    from pipelines.cli.writing.roster import run_apply

    return run_apply(settings, plan, dry=dry, build=build, despite_refused=despite_refused)


@click.group(cls=Group, epilog=example("attendance write marks.csv --school 101"))
def attendance() -> None:
    """Write attendance marks of lessons (docs/how-to/writing.md)."""


@attendance.command("write", epilog=example("attendance write marks.csv --school 101 --dry-run"))
@click.argument("file", type=FILE)
@_write_options
def write_attendance(file: Path, school: int | None, dry: bool, build: bool) -> int:
    """Write the marks of FILE: class_id or csin, date, lesson, rid or usin, result."""
    settings = read_settings()
    from pipelines.cli.writing.attendance import run_attendance

    return run_attendance(settings, file, school, dry=dry, build=build)


@click.group(cls=Group, epilog=example("swipes send swipes.csv --school 101"))
def swipes() -> None:
    """Send swipes of cards: recorded offline, or live (docs/how-to/writing.md)."""


@swipes.command("send", epilog=example("swipes send swipes.csv --school 101", "swipes send"))
@click.argument("file", type=FILE, required=False)
@_write_options
def send_swipes(file: Path | None, school: int | None, dry: bool, build: bool) -> int:
    """Send the swipes of FILE (classroom_id, rid or usin, created_at), and swipes that still wait."""
    settings = read_settings()
    from pipelines.cli.writing.attendance import run_swipes

    return run_swipes(settings, file, school, dry=dry, build=build)


@swipes.command("now", epilog=example("swipes now --school 101 --classroom 7 --student 5001"))
@_SCHOOL
@click.option("--classroom", type=int, required=True, help="Id of the classroom.")
@click.option("--student", type=int, help="Id of the student.")
@click.option("--card", default="", help="Id of the student's card.")
@_DRY
def swipe_now(school: int | None, classroom: int, student: int | None, card: str, dry: bool) -> int:
    """Swipe now; the platform finds the class and answers with a message to show."""
    if (student is None) == (not card):
        raise click.UsageError("give --student or --card")
    settings = read_settings()
    from pipelines.cli.writing.attendance import run_live_swipe

    return run_live_swipe(settings, school, classroom, student, card, dry=dry)


@click.group(cls=Group, epilog=example("cards bind card-17 20230101 --school 101", "cards unbind card-17"))
def cards() -> None:
    """Bind student cards with the student's own login, or unbind or list them (docs/how-to/writing.md)."""


@cards.command("bind", epilog=example("cards bind card-17 20230101", "cards bind --file cards.csv"))
@click.argument("card", required=False)
@click.argument("username", required=False)
@click.option("--file", type=FILE, help="File of many cards: card_id, username, password.")
@_write_options
def bind_card(
    card: str | None, username: str | None, file: Path | None, school: int | None, dry: bool, build: bool
) -> int:
    """Bind CARD to the student whose number is USERNAME; the password comes by prompt or standard input."""
    if (file is None) == (card is None or username is None):
        raise click.UsageError("give CARD and USERNAME, or --file")
    settings = read_settings()
    from pipelines.cli.writing.bindings import run_bind
    from writeback.bindings import Binding

    bindings = []
    if card is not None and username is not None:
        bindings = [Binding(0, card, username, _password())]
    return run_bind(settings, "cards", bindings, file, school, dry=dry, build=build)


@click.group(cls=Group, epilog=example("devices bind AA:BB:CC 900001 --school 101", "devices list"))
def devices() -> None:
    """Bind, unbind or list classroom displays (docs/how-to/writing.md)."""


@devices.command("bind", epilog=example("devices bind AA:BB:CC 900001", "devices bind --file devices.csv"))
@click.argument("device", required=False)
@click.argument("classroom", required=False)
@click.option("--file", type=FILE, help="File of many devices: device_id, classroom_id.")
@_write_options
def bind_device(
    device: str | None, classroom: str | None, file: Path | None, school: int | None, dry: bool, build: bool
) -> int:
    """Bind DEVICE to the classroom whose id is CLASSROOM."""
    if (file is None) == (device is None or classroom is None):
        raise click.UsageError("give DEVICE and CLASSROOM, or --file")
    settings = read_settings()
    from pipelines.cli.writing.bindings import run_bind
    from writeback.bindings import Binding

    bindings = []
    if device is not None and classroom is not None:
        bindings = [Binding(0, device, classroom)]
    return run_bind(settings, "devices", bindings, file, school, dry=dry, build=build)


def _unbind(resource: str, word: str) -> click.Command:
    @click.command("unbind", epilog=example(f"{resource} unbind {word}-17"))
    @click.argument("ids", metavar=f"[{word.upper()}]...", nargs=-1)
    @click.option("--file", type=FILE, help=f"File of many {resource}: {word}_id.")
    @_write_options
    def unbind(ids: tuple[str, ...], file: Path | None, school: int | None, dry: bool, build: bool) -> int:
        if not ids and file is None:
            raise click.UsageError(f"name a {word}, or give --file")
        settings = read_settings()
        from pipelines.cli.writing.bindings import run_unbind

        return run_unbind(settings, resource, ids, file, school, dry=dry, build=build)

    unbind.help = f"Unbind {resource}; a {word} that is not bound is left alone."
    return unbind


def _list(resource: str) -> click.Command:
    @click.command("list", epilog=example(f"{resource} list --school 101"))
    @_SCHOOL
    @click.option("--personal", is_flag=True, help="Show to whom they are bound, too.")
    def list_(school: int | None, personal: bool) -> int:
        settings = read_settings()
        from pipelines.cli.writing.bindings import run_list

        return run_list(settings, resource, school, personal=personal)

    list_.help = f"Show whether the {resource} that are known here are bound on the platform."
    return list_


for _group, _word in ((cards, "card"), (devices, "device")):
    assert _group.name is not None
    _group.add_command(_unbind(_group.name, _word))
    _group.add_command(_list(_group.name))


@click.group(
    cls=Group,
    epilog=example("fields list", "fields set bus --role student --label 校车 --option 1号 --option 2号"),
)
def fields() -> None:
    """Show or change the school's custom fields of users (docs/how-to/writing.md)."""


@fields.command("list", epilog=example("fields list --school 101"))
@_SCHOOL
def list_fields(school: int | None) -> int:
    """Show the school's custom fields of users."""
    settings = read_settings()
    from pipelines.cli.writing.bindings import run_fields

    return run_fields(settings, school)


@fields.command("set", epilog=example("fields set bus --role student --label 校车 --option 1号 --option 2号"))
@click.argument("name")
@click.option("--role", type=click.Choice(["student", "teacher"]), required=True, help="Role of the users.")
@click.option("--label", required=True, help="Label that people read.")
@click.option(
    "--option", "options", multiple=True, help="A value to choose; may be repeated. Default: as is."
)
@click.option("--text", is_flag=True, help="Make it a field of any text, as a new field without options is.")
@_write_options
def set_field(
    name: str,
    role: str,
    label: str,
    options: tuple[str, ...],
    text: bool,
    school: int | None,
    dry: bool,
    build: bool,
) -> int:
    """Make the field NAME (letters and digits), or change the field of this name and role."""
    if not (name.isascii() and name.isalnum()):
        raise click.UsageError("NAME has letters and digits only")
    if text and options:
        raise click.UsageError("give --option or --text")
    settings = read_settings()
    from campus.contracts.v1_people import UserField
    from pipelines.cli.writing.bindings import run_field

    field = UserField(
        name=name,
        role=1 if role == "student" else 2,
        label=label,
        type=2 if options else (1 if text else None),
        options=list(options) or None,
    )
    return run_field(settings, field, "", school, dry=dry, build=build)


@fields.command("remove", epilog=example("fields remove bus"))
@click.argument("name")
@_write_options
def remove_field(name: str, school: int | None, dry: bool, build: bool) -> int:
    """Remove the field NAME with all its values."""
    settings = read_settings()
    from pipelines.cli.writing.bindings import run_field

    return run_field(settings, None, name, school, dry=dry, build=build)


def _password() -> str:
    """Read the student's password, never from the command line, where others would see it."""
    if sys.stdin.isatty():
        return str(click.prompt("Password of the student", hide_input=True))
    return sys.stdin.readline().rstrip("\n")
