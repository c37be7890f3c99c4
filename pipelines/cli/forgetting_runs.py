"""What `campus forget` does. Apart from the command, since it imports Dagster and the lake."""

from __future__ import annotations

from pipelines.cli.display import complain, console
from pipelines.cli.forgetting import is_confirmed
from pipelines.cli.session import session
from pipelines.forgetting.account import Account
from pipelines.forgetting.home import (
    SCRAPS,
    NobodyThere,
    Request,
    allow_school,
    forget_again,
    forget_persons,
    forget_whole_school,
    request_of,
    unknown_request,
)
from pipelines.instance import open_instance
from pipelines.interrupted import runs_under_way
from pipelines.lake import lake_of, make_ready
from pipelines.settings import Settings
from warehouse.forgetting.forgotten import read


def run_forget_person(
    settings: Settings, school_id: int, kind: str, id: int, *, dry_run: bool, confirmed: bool
) -> int:
    """Forget one person. The exit status."""
    with session(settings, "campus forget") as tags:
        if problem := _under_way(settings):
            complain(problem)
            return 1
        lake = lake_of(settings)
        make_ready(lake, settings)
        try:
            request = request_of(settings, lake, school_id, kind, id)
        except NobodyThere as error:
            if dry_run or not confirmed:
                complain(
                    f"{error}; nothing was changed. With --yes the id is put on the list, "
                    f"so that no load brings it"
                )
                return 1
            request = unknown_request(school_id, kind, id)
        if not (dry_run or confirmed or is_confirmed(_asked(request), str(id))):
            return 1
        account = forget_persons(settings, request, tags, _tell, apply=not dry_run)
    return _report(settings, account)


def run_forget_school(settings: Settings, school_id: int, *, dry_run: bool, confirmed: bool) -> int:
    """Forget a school. The exit status."""
    words = (
        f"All that this home has of school {school_id} will be removed. It "
        f"cannot be undone, but by loading it again."
    )
    with session(settings, "campus forget") as tags:
        if problem := _under_way(settings):
            complain(problem)
            return 1
        make_ready(lake_of(settings), settings)
        if dry_run or not confirmed:
            account = forget_whole_school(settings, school_id, tags, _tell, apply=False)
            of_school = [each for each in account.stores if each.name != SCRAPS]
            if not any(each.rows or each.removed or each.files for each in of_school):
                complain(
                    f"this home has nothing of school {school_id}; nothing was changed. With --yes the id is "
                    f"put on the list, so that no load brings it"
                )
                return 1
        if not (dry_run or confirmed or is_confirmed(words, str(school_id))):
            return 1
        if not dry_run:
            account = forget_whole_school(settings, school_id, tags, _tell, apply=True)
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


def run_forget_again(settings: Settings) -> int:
    """Take everybody on the list out of a home that was just restored. The exit status."""
    if read(lake_of(settings)).is_empty:
        return 0
    with session(settings, "campus restore") as tags:
        accounts = forget_again(settings, tags, _tell)
    return max((_report(settings, account) for account in accounts), default=0)


def _under_way(settings: Settings) -> str:
    """Which run still goes on with what it read of the list; empty: none."""
    with open_instance(settings) as instance:
        return runs_under_way(instance)


def _asked(request: Request) -> str:
    more = len(request.persons) - 1
    guardians = f" and {more} guardian's accounts" if more else ""
    return (
        f"The {request.kind} with this id of school "
        f"{request.school_id}{guardians} will be removed from all that this "
        "home has. It cannot be undone."
    )


def _report(settings: Settings, account: Account) -> int:
    for words in account.left:
        _tell(f"Note: {words}")
    if account.dry_run:
        _tell("Nothing was changed: this was a dry run.")
        return 0
    path = account.write(settings.home)
    for where in [*account.found, *(f"{each} (cannot be opened)" for each in account.unread)]:
        complain(f"still there: {where}")
    searched = f"{account.searched_files:,} files and {account.searched_tables:,} tables were searched"
    if not account.is_proven:
        complain(
            f"NOT forgotten everywhere: {searched}. Mend what is named above, then "
            f"run the same command again. {path}"
        )
        return 1
    _tell(
        f"Forgotten. {searched}; nothing was found. The account: {path}"
        if account.searched_files
        else f"Forgotten. The account: {path}"
    )
    return 0


def _tell(words: str) -> None:
    console.print(words, markup=False, soft_wrap=True)
