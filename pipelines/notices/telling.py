"""Telling those whom the settings name, over every channel that is set."""

from collections.abc import Callable

from pipelines.notices.channels import NotSent, mail, post
from pipelines.notices.notice import Notice, due_notice, remember
from pipelines.settings import Settings
from pipelines.status import status_of


def tells(settings: Settings) -> bool:
    """Whether there is anybody to tell."""
    return bool(settings.notify_url or settings.options.notify.mail)


def tell_what_is_due(settings: Settings) -> tuple[list[str], list[str]]:
    """Send the message that is due, if one is, and remember it: in words where it was sent, and why it was
    not elsewhere.

    What no channel has taken is due again."""
    if not tells(settings):
        return [], []
    status = status_of(settings)
    notice = due_notice(status, settings.home)
    if notice is None:
        return [], []
    sent, problems = send(settings, notice)
    if sent:
        remember(status, settings.home)
    return [f"Sent to {channel}: {notice.title}" for channel in sent], problems


def send(settings: Settings, notice: Notice) -> tuple[list[str], list[str]]:
    """Send a message over every channel: those that took it, and in words why others did not."""
    options = settings.options.notify
    channels: dict[str, Callable[[], None]] = {}
    if settings.notify_url:
        url = settings.notify_url.get_secret_value()
        channels["the webhook"] = lambda: post(url, options.form, notice)
    if options.mail:
        to, secret = options.mail, settings.notify_password
        password = secret.get_secret_value() if secret else None
        channels[", ".join(to.to)] = lambda: mail(to, password, notice)
    sent, problems = [], []
    for channel, deliver in channels.items():
        try:
            deliver()
        except NotSent as error:
            problems.append(f"The message was not sent: {error}.")
        else:
            sent.append(channel)
    return sent, problems
