"""The command `campus forget`."""

import click

from pipelines.cli.command_settings import settings_for_writing
from pipelines.cli.terminal.display import example

ID = click.IntRange(1)
KINDS = ("student", "teacher", "guardian")


@click.command(
    epilog=example("forget --school 101 --student 20231 --dry-run", "forget --school 101 --student 20231")
)
@click.option("--school", "school_id", type=ID, help="The school.")
@click.option(
    "--student", type=ID, help="Id of a student; the accounts of the student's guardians are removed, too."
)
@click.option("--teacher", type=ID, help="Id of a teacher or of other staff.")
@click.option("--guardian", type=ID, help="Id of a guardian's account.")
@click.option(
    "--v1",
    "of_v1",
    is_flag=True,
    help="The id is from the v1 interface; the v3 interface has the same id for another person.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be changed, and change nothing.")
@click.option(
    "--yes",
    is_flag=True,
    help="Do not ask, and put an id or a school on the list even if the home has nothing about it.",
)
@click.option("--allow", is_flag=True, help="Let a school that was forgotten be loaded again.")
@click.option(
    "--again",
    is_flag=True,
    help="Remove everybody on the list again, as after an interrupted restore.",
)
def forget(
    school_id: int | None,
    student: int | None,
    teacher: int | None,
    guardian: int | None,
    of_v1: bool,
    dry_run: bool,
    yes: bool,
    allow: bool,
    again: bool,
) -> int:
    """Remove a person, or a school that was loaded by mistake, from everything in this home, at once and for
    good.

    Rows that totals need stay, under a random id and without personal columns. No later load or restore
    brings the person back. At the end every file is searched; exit status 1 if anything is still there."""
    persons = [
        (kind, id) for kind, id in zip(KINDS, (student, teacher, guardian), strict=True) if id is not None
    ]
    if again and (school_id is not None or persons or of_v1 or dry_run or yes or allow):
        raise click.UsageError("--again goes with no other option")
    if not again and school_id is None:
        raise click.UsageError("--school is missing: name the school, or the school of the person")
    if len(persons) > 1:
        raise click.UsageError("name one student, teacher or guardian at a time")
    if of_v1 and not persons:
        raise click.UsageError("--v1 goes with the id of a student, teacher or guardian")
    if allow and (persons or dry_run):
        raise click.UsageError("--allow is for a whole school")
    settings = settings_for_writing()
    from pipelines.cli.actions.forget import (
        run_allow,
        run_forget_again,
        run_forget_person,
        run_forget_school,
    )

    if school_id is None:
        return run_forget_again(settings, "campus forget")
    if allow:
        return run_allow(settings, school_id)
    if not persons:
        return run_forget_school(settings, school_id, dry_run=dry_run, confirmed=yes)
    [(kind, id)] = persons
    return run_forget_person(settings, school_id, kind, id, of_v1=of_v1, dry_run=dry_run, confirmed=yes)
