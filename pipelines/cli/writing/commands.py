"""The commands that write to the platform, as the command line has them. Each shows with --dry-run what it
would write; without it, it needs CAMPUS_ALLOW_WRITES=true."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pipelines.cli.display import example
from pipelines.cli.given import given
from pipelines.cli.groups import Group

Command = TypeVar("Command", bound=Callable[..., Any])
FILE = click.Path(path_type=Path, dir_okay=False)

_SCHOOL = click.option("--school", type=int, help="The school; needed where there are several.")
_DRY = click.option("--dry-run", "dry", is_flag=True, help="Show what would be written, and write nothing.")
_BUILD = click.option(
    "--build/--no-build", default=True, help="Build and publish what was read again; the default."
)


def _writing(command: Command) -> Command:
    """The options of all that writes."""
    return _SCHOOL(_DRY(_BUILD(command)))


@click.group(
    cls=Group, epilog=example("roster plan roster.xlsx --school 101", "roster apply plans/roster-101-….json")
)
def roster() -> None:
    """Push the school's roster to the platform, by a plan that is made first (docs/how-to/roster.md)."""


@roster.command("plan", epilog=example("roster plan roster.xlsx --school 101"))
@click.argument("source", metavar="FILE|TABLE")
@_SCHOOL
@click.option("--delete", is_flag=True, help="Plan to delete who is on the platform and not in the roster.")
@click.option(
    "--link-by-usin", is_flag=True, help="Give users without an outer_id that of the row with their usin."
)
@click.option("--personal", is_flag=True, help="Show values too; without it they are in the workbook alone.")
def plan_roster(source: str, school: int | None, delete: bool, link_by_usin: bool, personal: bool) -> None:
    """Compare a roster (CSV, xlsx, Parquet, or a table of the warehouse) with the platform; nothing is
    written."""
    settings = given()
    from pipelines.cli.writing.roster import run_plan

    sys.exit(run_plan(settings, source, school, delete=delete, link_by_usin=link_by_usin, personal=personal))


@roster.command("apply", epilog=example("roster apply data/plans/roster-101-20261123-081500.json"))
@click.argument("plan")
@click.option(
    "--despite-refused", is_flag=True, help="Apply it however many rows of the roster the plan refuses."
)
@_DRY
@_BUILD
def apply_roster(plan: str, dry: bool, build: bool, despite_refused: bool) -> None:
    """Carry out PLAN, a name or a path in $CAMPUS_HOME/plans, and nothing else; run it again where it was
    interrupted."""
    settings = given()
    from pipelines.cli.writing.roster import run_apply

    sys.exit(run_apply(settings, plan, dry=dry, build=build, despite_refused=despite_refused))


@click.group(cls=Group, epilog=example("attendance write marks.csv --school 101"))
def attendance() -> None:
    """Marks of lessons: who was there (docs/how-to/writing.md)."""


@attendance.command("write", epilog=example("attendance write marks.csv --school 101 --dry-run"))
@click.argument("file", type=FILE)
@_writing
def write_attendance(file: Path, school: int | None, dry: bool, build: bool) -> None:
    """Write the marks of FILE: class_id or csin, date, lesson, rid or usin, result."""
    settings = given()
    from pipelines.cli.writing.attendance import run_attendance

    sys.exit(run_attendance(settings, file, school, dry=dry, build=build))


@click.group(cls=Group, epilog=example("swipes send swipes.csv --school 101"))
def swipes() -> None:
    """Cards held to a reader: taken offline and sent, or live (docs/how-to/writing.md)."""


@swipes.command("send", epilog=example("swipes send swipes.csv --school 101", "swipes send"))
@click.argument("file", type=FILE, required=False)
@_writing
def send_swipes(file: Path | None, school: int | None, dry: bool, build: bool) -> None:
    """Send the swipes of FILE (classroom_id, rid or usin, created_at), and those that wait still."""
    settings = given()
    from pipelines.cli.writing.attendance import run_swipes

    sys.exit(run_swipes(settings, file, school, dry=dry, build=build))


@swipes.command("now", epilog=example("swipes now --school 101 --classroom 7 --student 5001"))
@_SCHOOL
@click.option("--classroom", type=int, required=True, help="Where.")
@click.option("--student", type=int, help="Who, by id.")
@click.option("--card", default="", help="Who, by card.")
@_DRY
def swipe_now(school: int | None, classroom: int, student: int | None, card: str, dry: bool) -> None:
    """Swipe now; the platform finds the class and says what is to be shown."""
    if (student is None) == (not card):
        raise click.UsageError("give --student or --card")
    settings = given()
    from pipelines.cli.writing.attendance import run_live_swipe

    sys.exit(run_live_swipe(settings, school, classroom, student, card, dry=dry))


@click.group(cls=Group, epilog=example("cards bind card-17 20230101 --school 101", "cards unbind card-17"))
def cards() -> None:
    """Student cards: bound by the student's own login (docs/how-to/writing.md)."""


@cards.command("bind", epilog=example("cards bind card-17 20230101", "cards bind --file cards.csv"))
@click.argument("card", required=False)
@click.argument("username", required=False)
@click.option("--file", type=FILE, help="Many: card_id, username, password.")
@_writing
def bind_card(
    card: str | None, username: str | None, file: Path | None, school: int | None, dry: bool, build: bool
) -> None:
    """Bind CARD to the student whose number is USERNAME; the password is asked for, or comes by standard
    input."""
    if (file is None) == (card is None or username is None):
        raise click.UsageError("give CARD and USERNAME, or --file")
    settings = given()
    from pipelines.cli.writing.bindings import run_bind
    from writeback.bindings import Binding

    bindings = []
    if card is not None and username is not None:
        bindings = [Binding(0, card, username, _password())]
    sys.exit(run_bind(settings, "cards", bindings, file, school, dry=dry, build=build))


@click.group(cls=Group, epilog=example("devices bind AA:BB:CC 900001 --school 101", "devices list"))
def devices() -> None:
    """Classroom displays (docs/how-to/writing.md)."""


@devices.command("bind", epilog=example("devices bind AA:BB:CC 900001", "devices bind --file devices.csv"))
@click.argument("device", required=False)
@click.argument("classroom", required=False)
@click.option("--file", type=FILE, help="Many: device_id, classroom_id.")
@_writing
def bind_device(
    device: str | None, classroom: str | None, file: Path | None, school: int | None, dry: bool, build: bool
) -> None:
    """Bind DEVICE to the classroom whose id is CLASSROOM."""
    if (file is None) == (device is None or classroom is None):
        raise click.UsageError("give DEVICE and CLASSROOM, or --file")
    settings = given()
    from pipelines.cli.writing.bindings import run_bind
    from writeback.bindings import Binding

    bindings = []
    if device is not None and classroom is not None:
        bindings = [Binding(0, device, classroom)]
    sys.exit(run_bind(settings, "devices", bindings, file, school, dry=dry, build=build))


def _unbind(resource: str, word: str) -> click.Command:
    @click.command("unbind", epilog=example(f"{resource} unbind {word}-17"))
    @click.argument("ids", metavar=f"[{word.upper()}]...", nargs=-1)
    @click.option("--file", type=FILE, help=f"Many: {word}_id.")
    @_writing
    def unbind(ids: tuple[str, ...], file: Path | None, school: int | None, dry: bool, build: bool) -> None:
        if not ids and file is None:
            raise click.UsageError(f"name a {word}, or give --file")
        settings = given()
        from pipelines.cli.writing.bindings import run_unbind

        sys.exit(run_unbind(settings, resource, ids, file, school, dry=dry, build=build))

    unbind.help = f"Unbind {resource}; one that is not bound stays so."
    return unbind


def _list(resource: str) -> click.Command:
    @click.command("list", epilog=example(f"{resource} list --school 101"))
    @_SCHOOL
    @click.option("--personal", is_flag=True, help="Show to whom, too.")
    def list_(school: int | None, personal: bool) -> None:
        settings = given()
        from pipelines.cli.writing.bindings import run_list

        sys.exit(run_list(settings, resource, school, personal=personal))

    list_.help = f"Show what the platform has of the {resource} that are known here."
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
    """The school's own fields of users (docs/how-to/writing.md)."""


@fields.command("list", epilog=example("fields list --school 101"))
@_SCHOOL
def list_fields(school: int | None) -> None:
    """Show the school's own fields of users."""
    settings = given()
    from pipelines.cli.writing.bindings import run_fields

    sys.exit(run_fields(settings, school))


@fields.command("set", epilog=example("fields set bus --role student --label 校车 --option 1号 --option 2号"))
@click.argument("name")
@click.option("--role", type=click.Choice(["student", "teacher"]), required=True, help="Whose it is.")
@click.option("--label", required=True, help="What people read.")
@click.option("--option", "options", multiple=True, help="A value to choose; repeatable. None: as it is.")
@click.option("--text", is_flag=True, help="Any text, as a new field without options is.")
@_writing
def set_field(
    name: str,
    role: str,
    label: str,
    options: tuple[str, ...],
    text: bool,
    school: int | None,
    dry: bool,
    build: bool,
) -> None:
    """Make the field NAME (letters and digits), or change the one of this name and role."""
    if not (name.isascii() and name.isalnum()):
        raise click.UsageError("NAME has letters and digits only")
    if text and options:
        raise click.UsageError("give --option or --text")
    settings = given()
    from campus.contracts.v1_people import UserField
    from pipelines.cli.writing.bindings import run_field

    field = UserField(
        name=name,
        role=1 if role == "student" else 2,
        label=label,
        type=2 if options else (1 if text else None),
        options=list(options) or None,
    )
    sys.exit(run_field(settings, field, "", school, dry=dry, build=build))


@fields.command("remove", epilog=example("fields remove bus"))
@click.argument("name")
@_writing
def remove_field(name: str, school: int | None, dry: bool, build: bool) -> None:
    """Remove the field NAME with all its values."""
    settings = given()
    from pipelines.cli.writing.bindings import run_field

    sys.exit(run_field(settings, None, name, school, dry=dry, build=build))


def _password() -> str:
    """The student's password, never of the command line, where others would see it."""
    if sys.stdin.isatty():
        return str(click.prompt("Password of the student", hide_input=True))
    return sys.stdin.readline().rstrip("\n")


COMMANDS = (roster, attendance, swipes, cards, devices, fields)
