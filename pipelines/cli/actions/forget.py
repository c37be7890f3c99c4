"""The work of `campus forget`."""

import click

from pipelines.cli.command_session import session
from pipelines.cli.terminal.display import complain, fail, print_line
from pipelines.forgetting.account import RESTORED, UNPROVEN, Account
from pipelines.forgetting.home import (
    allow_school,
    forget_again,
    forget_persons,
    forget_whole_school,
    holds_school,
)
from pipelines.forgetting.requests import UnknownPerson, WrongKind, request_of, request_of_unknown_id
from pipelines.lake.opening import lake_of, make_ready
from pipelines.runs.instance import open_instance
from pipelines.runs.interrupted_runs import runs_under_way
from pipelines.settings.settings import Settings
from warehouse.forgetting.forgotten import read

PERMANENT = "will be removed from everything in this home. This cannot be undone"


def run_forget_person(
    settings: Settings, school_id: int, kind: str, id: int, *, of_v1: bool, dry_run: bool, confirmed: bool
) -> int:
    """Forget one person. `of_v1`: the id is that of v1. Returns the exit status."""
    with session(settings, "campus forget") as tags:
        if runs := _runs_under_way(settings):
            return fail(runs)
        lake = lake_of(settings)
        make_ready(lake, settings)
        try:
            request = request_of(settings, lake, school_id, kind, id, of_v1=of_v1)
        except WrongKind as error:
            return fail(f"{error}; nothing was changed")
        except UnknownPerson as error:
            if dry_run or not confirmed:
                return fail(f"{error}; nothing was changed. {_advise_yes('the id')}")
            request = request_of_unknown_id(school_id, kind, id, of_v1=of_v1)
        warning = f"{request.words[0].upper()}{request.words[1:]} {PERMANENT}."
        if not (dry_run or confirmed or _confirm(warning, str(id))):
            return 1
        _announce(request.words, dry_run=dry_run)
        account = forget_persons(settings, request, tags, print_line, apply=not dry_run)
    return _report(settings, account)


def run_forget_school(settings: Settings, school_id: int, *, dry_run: bool, confirmed: bool) -> int:
    """Forget a school. Returns the exit status."""
    with session(settings, "campus forget") as tags:
        if runs := _runs_under_way(settings):
            return fail(runs)
        make_ready(lake_of(settings), settings)
        if not holds_school(settings, school_id) and (dry_run or not confirmed):
            return fail(
                f"this home has nothing of school {school_id}; nothing was changed. "
                f"{_advise_yes('the school')}"
            )
        warning = f"School {school_id} {PERMANENT}, except by loading the school again."
        if not (dry_run or confirmed or _confirm(warning, str(school_id))):
            return 1
        _announce(f"school {school_id}", dry_run=dry_run)
        account = forget_whole_school(settings, school_id, tags, print_line, apply=not dry_run)
    return _report(settings, account)


def run_allow(settings: Settings, school_id: int) -> int:
    """Let a school be loaded again. Returns the exit status."""
    with session(settings, "campus forget"):
        if not allow_school(settings, school_id):
            return fail(f"school {school_id} was not forgotten here")
    print_line(
        f"School {school_id} may be loaded again: the next campus sync loads it, if the settings include it."
    )
    return 0


def run_forget_again(settings: Settings, command: str) -> int:
    """Remove everybody on the list from a home, as after a restore. Returns the exit status."""
    lake = lake_of(settings)
    if read(lake).is_empty:
        (settings.home / UNPROVEN / RESTORED).unlink(missing_ok=True)
        return 0
    with session(settings, command) as tags:
        if runs := _runs_under_way(settings):
            return fail(runs)
        make_ready(lake, settings)
        print_line("Removing everybody on the list of the forgotten from this home:")
        accounts = forget_again(settings, tags, print_line)
    return max((_report(settings, account) for account in accounts), default=0)


def _runs_under_way(settings: Settings) -> str:
    """Which runs still write what they read before; empty: none."""
    with open_instance(settings) as instance:
        return runs_under_way(instance)


def _confirm(warning: str, answer: str) -> bool:
    """Whether the person at the terminal types `answer`."""
    print_line(warning)
    typed = click.prompt(f"Type {answer} to go on", default="", show_default=False)
    if typed.strip() != answer:
        complain("nothing was changed")
        return False
    return True


def _advise_yes(what: str) -> str:
    return f"With --yes, {what} is put on the list all the same, so that no load brings it"


def _announce(what: str, *, dry_run: bool) -> None:
    print_line(f"Dry run: to forget {what} would change this." if dry_run else f"Forgetting {what}:")


def _report(settings: Settings, account: Account) -> int:
    """Print how it ended. Returns the exit status."""
    for note in account.left:
        print_line(f"Note: {note}")
    if account.dry_run:
        print_line(
            "Nothing was changed. A real run also rebuilds the published file and searches every file."
        )
        return 0
    path = account.write(settings.home)
    for place in [*account.findings, *(f"{file} (cannot be opened)" for file in account.unread)]:
        complain(f"still there: {place}")
    searched = f"{account.searched_files:,} files and {account.searched_tables:,} tables were searched"
    if not account.is_proven:
        return fail(
            f"NOT forgotten everywhere: {searched}. Run the same command again. Then remove or mend by hand "
            "what it still names, but never remove a file of the lake: that would damage it. The account: "
            f"{path}"
        )
    result = f"{searched}; nothing was found. " if account.searched_files else ""
    print_line(f"Forgotten: {account.what}. {result}The account: {path}")
    return 0
