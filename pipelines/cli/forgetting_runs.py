"""What `campus forget` does. Apart from the command, since it imports Dagster and the lake."""

from __future__ import annotations

from pipelines.cli.display import complain, console
from pipelines.cli.forgetting import is_confirmed
from pipelines.cli.session import session
from pipelines.forgetting.account import RESTORED, UNPROVEN, Account
from pipelines.forgetting.home import (
    AnotherKind,
    NobodyThere,
    allow_school,
    forget_again,
    forget_persons,
    forget_whole_school,
    holds_school,
    request_of,
    unknown_request,
)
from pipelines.instance import open_instance
from pipelines.interrupted import runs_under_way
from pipelines.lake import lake_of, make_ready
from pipelines.settings import Settings
from warehouse.forgetting.forgotten import read

NOT_UNDONE = "will be removed from everything that this home has. It cannot be undone"


def run_forget_person(
    settings: Settings,
    school_id: int,
    kind: str,
    id: int,
    *,
    of_v1: bool,
    dry_run: bool,
    confirmed: bool,
) -> int:
    """Forget one person. of_v1: the id is that of v1. The exit status."""
    with session(settings, "campus forget") as tags:
        if problem := _under_way(settings):
            complain(problem)
            return 1
        lake = lake_of(settings)
        make_ready(lake, settings)
        try:
            request = request_of(settings, lake, school_id, kind, id, of_v1=of_v1)
        except AnotherKind as error:
            complain(f"{error}; nothing was changed")
            return 1
        except NobodyThere as error:
            if dry_run or not confirmed:
                complain(f"{error}; nothing was changed. {_listed_by_yes('the id')}")
                return 1
            request = unknown_request(school_id, kind, id, of_v1=of_v1)
        words = f"{request.words[0].upper()}{request.words[1:]} {NOT_UNDONE}."
        if not (dry_run or confirmed or is_confirmed(words, str(id))):
            return 1
        _announce(request.words, dry_run=dry_run)
        account = forget_persons(settings, request, tags, _tell, apply=not dry_run)
    return _report(settings, account)


def run_forget_school(settings: Settings, school_id: int, *, dry_run: bool, confirmed: bool) -> int:
    """Forget a school. The exit status."""
    with session(settings, "campus forget") as tags:
        if problem := _under_way(settings):
            complain(problem)
            return 1
        make_ready(lake_of(settings), settings)
        if not holds_school(settings, school_id) and (dry_run or not confirmed):
            complain(
                f"this home has nothing of school {school_id}; nothing was changed. {_listed_by_yes('it')}"
            )
            return 1
        words = f"School {school_id} {NOT_UNDONE}, but by loading it again."
        if not (dry_run or confirmed or is_confirmed(words, str(school_id))):
            return 1
        _announce(f"school {school_id}", dry_run=dry_run)
        account = forget_whole_school(settings, school_id, tags, _tell, apply=not dry_run)
    return _report(settings, account)


def run_allow(settings: Settings, school_id: int) -> int:
    """Let a school be loaded again. The exit status."""
    with session(settings, "campus forget"):
        if not allow_school(settings, school_id):
            complain(f"school {school_id} was not forgotten here")
            return 1
    _tell(
        f"School {school_id} may be loaded again: the next campus sync does, where the settings ask for it."
    )
    return 0


def run_forget_again(settings: Settings, command: str) -> int:
    """Take everybody on the list out of a home, such as one that was just restored. The exit status."""
    lake = lake_of(settings)
    if read(lake).is_empty:
        (settings.home / UNPROVEN / RESTORED).unlink(missing_ok=True)
        return 0
    with session(settings, command) as tags:
        if problem := _under_way(settings):
            complain(problem)
            return 1
        make_ready(lake, settings)
        _tell("Taking everybody on the list of the forgotten out of this home:")
        accounts = forget_again(settings, tags, _tell)
    return max((_report(settings, account) for account in accounts), default=0)


def _under_way(settings: Settings) -> str:
    """Which run still goes on with what it read of the list; empty: none."""
    with open_instance(settings) as instance:
        return runs_under_way(instance)


def _listed_by_yes(what: str) -> str:
    return f"With --yes {what} is put on the list all the same, so that no load brings it"


def _announce(what: str, *, dry_run: bool) -> None:
    _tell(f"Dry run: to forget {what} would change this." if dry_run else f"Forgetting {what}:")


def _report(settings: Settings, account: Account) -> int:
    for words in account.left:
        _tell(f"Note: {words}")
    if account.dry_run:
        _tell(
            "Nothing was changed: this was a dry run. The published file would be built anew, and every file "
            "searched."
        )
        return 0
    path = account.write(settings.home)
    for where in [*account.found, *(f"{file} (cannot be opened)" for file in account.unread)]:
        complain(f"still there: {where}")
    searched = f"{account.searched_files:,} files and {account.searched_tables:,} tables were searched"
    result = f"{searched}; nothing was found. " if account.searched_files else ""
    if not account.is_proven:
        complain(
            f"NOT forgotten everywhere: {searched}. Run the same command again. What is still named then, "
            f"remove or mend, but never remove a file of the lake: it would be damaged. The account: {path}"
        )
        return 1
    _tell(f"Forgotten: {account.what}. {result}The account: {path}")
    return 0


def _tell(words: str) -> None:
    console.print(words, markup=False, soft_wrap=True)
