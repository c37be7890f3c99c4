"""`campus notify`: the morning's message, now."""

from collections.abc import Sequence

from pipelines.cli.display import USAGE, console, errors
from pipelines.notices.notice import Notice
from pipelines.notices.telling import send, tell_what_is_due, tells
from pipelines.settings import Settings

NOBODY = (
    "Nobody is to be told: set CAMPUS_NOTIFY_URL to the address of a webhook, or notify.mail in campus.yaml."
)
TRIAL = Notice("Campus Warehouse: a trial", ("Messages arrive. There is nothing to do.",))


def run_notify(settings: Settings, *, test: bool) -> int:
    """Send the message that is due, or a trial. The exit status."""
    if not tells(settings):
        errors.print(NOBODY, markup=False, soft_wrap=True)
        return USAGE
    if test:
        sent, problems = send(settings, TRIAL)
        lines = [f"Sent to {channel}: {TRIAL.title}" for channel in sent]
    else:
        lines, problems = tell_what_is_due(settings)
    say(lines or ([] if problems else ["There is nothing to tell that was not told."]), problems)
    return int(bool(problems))


def tell(settings: Settings) -> None:
    """Have those told whom the settings name, and say so. That a message is lost makes no night a bad one."""
    say(*tell_what_is_due(settings))


def say(lines: Sequence[str], problems: Sequence[str]) -> None:
    """Print what was sent, and what was not."""
    for words in lines:
        console.print(words, markup=False, soft_wrap=True)
    for words in problems:
        errors.print(words, markup=False, soft_wrap=True)
