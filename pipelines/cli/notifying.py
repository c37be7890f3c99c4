"""`campus notify`: the morning's message, now."""

from pipelines.cli.display import console, errors
from pipelines.notices.notice import Notice
from pipelines.notices.telling import send, tell_what_is_due, tells
from pipelines.settings import Settings

USAGE = 2
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
    for words in lines or ([] if problems else ["There is nothing to tell that was not told."]):
        console.print(words, markup=False, soft_wrap=True)
    for words in problems:
        errors.print(words, markup=False, soft_wrap=True)
    return int(bool(problems))
