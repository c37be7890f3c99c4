"""The work of `campus notify`: sends the morning's message now."""

from collections.abc import Sequence

from pipelines.cli.terminal.display import USAGE, print_error, print_line
from pipelines.notices.notice import Notice
from pipelines.notices.sending import has_channel, send, send_due_notice
from pipelines.settings.settings import Settings

NO_RECIPIENT = "There is nobody to notify: set CAMPUS_NOTIFY_URL (a webhook), or notify.mail in campus.yaml."
TEST_NOTICE = Notice("Campus Warehouse: a test", ("Messages arrive. There is nothing to do.",))


def run_notify(settings: Settings, *, test: bool) -> int:
    """Send the message that is due, or a test message. Returns the exit status."""
    if not has_channel(settings):
        print_error(NO_RECIPIENT)
        return USAGE
    if test:
        sent, problems = send(settings, TEST_NOTICE)
        lines = [f"Sent to {channel}: {TEST_NOTICE.title}" for channel in sent]
    else:
        lines, problems = send_due_notice(settings)
    _report(lines or ([] if problems else ["There is nothing to send that was not sent before."]), problems)
    return int(bool(problems))


def notify(settings: Settings) -> None:
    """Send the message that is due and print what was sent. A lost message does not fail a sync."""
    _report(*send_due_notice(settings))


def _report(lines: Sequence[str], problems: Sequence[str]) -> None:
    for line in lines:
        print_line(line)
    for problem in problems:
        print_error(problem)
