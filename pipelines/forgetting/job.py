"""The job of a `campus forget`, and its notes about data that may stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.forgetting.account import Account, StoreChange
from pipelines.forgetting.requests import Request
from pipelines.lake.opening import lake_of
from pipelines.settings.settings import Settings
from warehouse.forgetting.columns import V1
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.identity import GUARDIAN
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import now

BACKUPS = (
    "Backups stay as they are. campus restore takes out of them whoever is on the list. To be rid of the "
    "data sooner, delete the backups."
)
COPIES = (
    "Copies elsewhere are not searched: files that export and extract wrote to other folders, mails, and "
    "files that somebody still has open."
)
EXTRACTS = (
    "Extracts that were given away stay as they are. Ask for them to be deleted: whoever has an extract, "
    "keys/pseudonyms of this home and the id can still tell whose rows are whose."
)

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """A request under way, and what it works with."""

    settings: Settings
    lake: Lake
    request: Request
    account: Account
    #: Tags of the runs that build.
    tags: Mapping[str, str]
    notify: Notify
    #: False: only counts what would change.
    apply: bool

    @classmethod
    def of(
        cls, settings: Settings, request: Request, tags: Mapping[str, str], notify: Notify, *, apply: bool
    ) -> Job:
        """A new job with an empty account."""
        account = Account(
            request.words, request.school_id, f"{now():%Y-%m-%d %H:%M:%S}", not apply, len(request.persons)
        )
        return cls(settings, lake_of(settings), request, account, tags, notify, apply)

    def record(self, change: StoreChange) -> None:
        """Add a change to the account, and report it."""
        self.account.stores.append(change)
        if change.is_changed:
            self.notify(f"  {change.words}")


def note_what_stays(job: Job, listed: Matcher) -> None:
    """Note the places that keep data of the persons."""
    left, persons = job.account.left, job.request.persons
    left += [BACKUPS, COPIES, EXTRACTS]
    if shared := sum(person.shared for person in persons):
        left.append(
            f"{shared} of the names, numbers and addresses belong to others too, or are too short to search "
            f"for. They are removed from rows about the person, and stay in rows about others."
        )
    note_uncertain_ids(job)
    if any(listed.identifies(card) is not None for card in job.settings.card_ids):
        left.append("CAMPUS_CARD_IDS names a card of theirs: take it out of the settings.")
    if job.request.kind == GUARDIAN:
        left.append("The student of this guardian stays.")


def note_uncertain_ids(job: Job) -> None:
    """Name ids that may belong to the persons too, on the screen alone: the account names nobody."""
    uncertain = [(person.kind, *key) for person in job.request.persons for key in sorted(person.uncertain)]
    for kind, generation, id in uncertain:
        option = " --v1" if generation == V1 else ""
        job.notify(
            f"  left as it is: id {id} of {generation}, since nothing proves that it is the same {kind}. If "
            f"it is: campus forget --school {job.request.school_id} --{kind} {id}{option}"
        )
    if uncertain:
        job.account.left.append(
            f"Accounts that may be theirs were left as they are: {len(uncertain)}. The screen named them. "
            f"Forget the accounts that are theirs."
        )


def note_files_of_others(job: Job, folder: Path, paths: Sequence[Path]) -> None:
    """Name files that campus may not change, on the screen alone: a file's name may be a person's."""
    for path in paths:
        job.notify(f"  names them, or cannot be read: {path}")
    if paths:
        job.account.left.append(
            f"Files of others in {folder} ({len(paths)}) name what is forgotten, or cannot be opened. campus "
            f"does not change them: ask whoever writes the files to remove it."
        )
