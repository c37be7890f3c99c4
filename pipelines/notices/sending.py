"""Sends the morning message over every channel of the settings."""

from collections.abc import Callable

from pipelines.notices.channels import NotSent, mail, post
from pipelines.notices.notice import Notice, due_notice, record_sent
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of


def has_channel(settings: Settings) -> bool:
    """Whether the settings name a channel."""
    return bool(settings.notify_url or settings.options.notify.mail)


def send_due_notice(settings: Settings) -> tuple[list[str], list[str]]:
    """Send the due message, if any: a line for each channel that took the message, and for each problem.

    A message that no channel took stays due."""
    if not has_channel(settings):
        return [], []
    status = status_of(settings)
    notice = due_notice(status, settings.home)
    if notice is None:
        return [], []
    sent, problems = send(settings, notice)
    if sent:
        record_sent(status, settings.home)
    return [f"Sent to {channel}: {notice.title}" for channel in sent], problems


def send(settings: Settings, notice: Notice) -> tuple[list[str], list[str]]:
    """Send a message over every channel: the channels that took the message, and a line for each problem."""
    options = settings.options.notify
    channels: dict[str, Callable[[], str | None]] = {}
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
            problem = deliver()
        except NotSent as error:
            problems.append(f"The message was not sent: {error}.")
        else:
            sent.append(channel)
            problems += [f"The message was not sent to all: {problem}."] if problem else []
    return sent, problems
