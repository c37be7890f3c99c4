"""Sends each teacher of the nightly site a mail with links to the pages, or with the workbooks."""

import os
import smtplib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import quote

import duckdb

from campus.files.table_file import TableError
from exports.export import Failed, export
from exports.site.folders import WORKBOOK, Role, site_folder
from exports.site.readers import OF_ROLE, Reader, readers_of
from exports.site.write import titles_of
from exports.source import schools
from exports.spreadsheet.sheets import Words
from pipelines.cli.actions.export import export_options
from pipelines.deliveries.addresses import addresses_file, addresses_of
from pipelines.deliveries.log import DeliveryLog, opened_log
from pipelines.notices.channels import NotSent, cause_of, new_mail, session
from pipelines.publication.published_file import why_unreadable
from pipelines.settings.options import teacher_roles
from pipelines.settings.settings import Settings
from warehouse.load.logs.load_log import now
from warehouse.published.reading import opened

SUBJECT = Words("Your classes: {}", "您的班级数据：{}个班级")
LINK_BODY = Words("Pages of your classes, published on {}:", "您所负责班级的页面（{}发布）：")
FILE_BODY = Words(
    "Workbooks of your classes, published on {}, are attached.", "附件为您所负责班级的工作簿（{}发布）。"
)
#: The answer to a command that a mail server carried out.
OK = 250
REFUSALS = (smtplib.SMTPRecipientsRefused, smtplib.SMTPResponseException, smtplib.SMTPNotSupportedError)
XLSX = ("application", "vnd.openxmlformats-officedocument.spreadsheetml.sheet")


@dataclass(frozen=True)
class Delivery:
    """The mail of a teacher."""

    teacher_id: int
    address: str
    #: The number of classes and course classes.
    classes: int
    #: The folders of the teacher, by role.
    folders: Mapping[Role, Path]


@dataclass
class Outcome:
    """What was done for a school. No names, no addresses."""

    school_id: int
    sent: list[int] = field(default_factory=list)
    #: Those who have this generation already.
    logged: list[int] = field(default_factory=list)
    without_address: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def deliver(
    settings: Settings, school_ids: Sequence[int] | None, *, dry_run: bool = False
) -> Iterator[Outcome]:
    """Send the mails of each school. A teacher gets each generation once. `dry_run`: sends and logs nothing.

    Raises NotSent, duckdb.Error, sqlite3.Error."""
    if problem := why_unreadable(settings.published):
        raise NotSent(problem)
    with opened_log(settings.home, now(), read_only=dry_run) as log:
        due = []
        # Closed before workbooks are written: they open the file with other options.
        with opened(settings.published) as con:
            [(generation, published_at)] = con.execute(
                "SELECT generation, published_at FROM quality.publication"
            ).fetchall()
            for school_id in school_ids or [school.id for school in schools(con)]:
                outcome = Outcome(school_id)
                try:
                    due.append((outcome, _due(settings, con, log, generation, outcome)))
                except NotSent as error:
                    outcome.problems.append(str(error))
                    due.append((outcome, []))
        for outcome, deliveries in due:
            if dry_run:
                outcome.sent += [delivery.teacher_id for delivery in deliveries]
            elif deliveries:
                try:
                    _send(settings, deliveries, log, generation, f"{published_at:%Y-%m-%d}", outcome)
                except NotSent as error:
                    outcome.problems.append(str(error))
            yield outcome


def summary(outcome: Outcome, *, dry_run: bool = False) -> str:
    """What was done for a school, in counts."""
    verb = "would be sent" if dry_run else "sent"
    return (
        f"School {outcome.school_id}: {len(outcome.sent):,} mails {verb}; {len(outcome.logged):,} teachers "
        f"have this generation already; {len(outcome.without_address):,} have no address"
    )


def _due(
    settings: Settings, con: duckdb.DuckDBPyConnection, log: DeliveryLog, generation: str, outcome: Outcome
) -> list[Delivery]:
    """The mails that are due in a school. Counts the other teachers in `outcome`."""
    school_id, options = outcome.school_id, settings.options.exports
    addresses = _addresses(settings.home, con, outcome)
    titles, readers = titles_of(con, school_id), dict[int, dict[Role, Reader]]()
    for role in teacher_roles(options.site):
        for reader in readers_of(con, school_id, role, titles):
            readers.setdefault(reader.teacher_id, {})[role] = reader
    due = []
    for teacher_id, by_role in sorted(readers.items()):
        classes = sum(len(reader.pages.get(OF_ROLE[role], ())) for role, reader in by_role.items())
        [number, *_] = {reader.staff_number for reader in by_role.values()}
        state = log.state(school_id, teacher_id, generation)
        if state == "sent":
            outcome.logged.append(teacher_id)
        elif state == "begun":
            outcome.problems.append(
                f"teacher {teacher_id}: an interrupted mail may have arrived, so it is not sent again. "
                "The next generation is sent; ask the teacher if this one matters"
            )
        elif number is None or number not in addresses:
            outcome.without_address.append(teacher_id)
        elif classes:
            folder = site_folder(settings.home / "exports", school_id)
            folders = {role: folder / role / str(teacher_id) for role in by_role}
            due.append(Delivery(teacher_id, addresses[number], classes, folders))
    return due


def _addresses(home: Path, con: duckdb.DuckDBPyConnection, outcome: Outcome) -> Mapping[str, str]:
    """The addresses by staff number. Refused lines become problems of `outcome`. Raises NotSent."""
    path = addresses_file(home, outcome.school_id)
    if not os.path.lexists(path):
        raise NotSent(f"{path} does not exist: write it, with the mail addresses of the teachers")
    try:
        addresses = addresses_of(home, con, outcome.school_id)
    except TableError as error:
        raise NotSent(str(error)) from error
    outcome.problems += [f"{path}, line {line}: {reason}" for line, reason in addresses.refused]
    return addresses.of_staff


def _send(
    settings: Settings,
    due: Sequence[Delivery],
    log: DeliveryLog,
    generation: str,
    day: str,
    outcome: Outcome,
) -> None:
    """Send the mails. A refused mail stays due, and does not stop the others. Raises NotSent."""
    options, mail = settings.options.exports.deliver, settings.options.notify.mail
    assert options and mail
    school_id, secret = outcome.school_id, settings.notify_password
    if options.send == "file":
        _write_workbooks(settings, school_id)
    with session(mail, secret.get_secret_value() if secret else None) as server:
        for delivery in due:
            key = (school_id, delivery.teacher_id, generation)
            try:
                message = _message(settings, delivery, day)
            except OSError as error:
                problem = f"{error.filename} cannot be read: {error.strerror}"
                outcome.problems.append(f"teacher {delivery.teacher_id}: {problem}")
                continue
            if message is None:
                outcome.problems.append(f"teacher {delivery.teacher_id}: nothing is exported yet")
                continue
            megabytes = len(message.as_bytes()) / 1_000_000
            if megabytes > options.max_mail_mb:
                outcome.problems.append(
                    f"teacher {delivery.teacher_id}: the mail is not sent, because it has {megabytes:.1f} MB "
                    f"and exports.deliver.max_mail_mb is {options.max_mail_mb:g}: set send: link"
                )
                continue
            # A connection that is lost shows before the log says that the mail was begun.
            code, _ = server.noop()
            if code != OK:
                raise smtplib.SMTPServerDisconnected("it ends the session")
            if log.begin(*key, delivery.classes, now()):
                try:
                    server.send_message(message)
                except REFUSALS as error:
                    log.withdraw(*key)
                    path = addresses_file(settings.home, school_id)
                    outcome.problems.append(
                        f"teacher {delivery.teacher_id}: the mail server refuses the mail "
                        f"({cause_of(error)}): check the address in {path}"
                    )
                else:
                    log.finish(*key, now())
                    outcome.sent.append(delivery.teacher_id)


def _write_workbooks(settings: Settings, school_id: int) -> None:
    """Write the workbooks of a school from the present data. Raises NotSent."""
    roles = teacher_roles(settings.options.exports.site)
    options = replace(export_options(settings), roles=roles, is_nightly=False)
    for end in export(settings.published, [WORKBOOK], [school_id], options):
        if isinstance(end, Failed):
            raise NotSent(f"{end.subject}: {end.problem}")


def _message(settings: Settings, delivery: Delivery, day: str) -> EmailMessage | None:
    """The mail of a teacher, without names; None: there is no file to send."""
    exports, mail = settings.options.exports, settings.options.notify.mail
    assert exports.deliver and mail
    subject = SUBJECT.in_language(exports.language).format(delivery.classes)
    message = new_mail(mail, delivery.address, subject)
    if exports.deliver.send == "file":
        files = [path for folder in delivery.folders.values() for path in sorted(folder.glob("*/*.xlsx"))]
        message.set_content(FILE_BODY.in_language(exports.language).format(day))
        for path in files:
            main, sub = XLSX
            message.add_attachment(path.read_bytes(), maintype=main, subtype=sub, filename=path.name)
        return message if files else None
    pages = [folder / "index.html" for folder in delivery.folders.values()]
    links = [
        f"{(exports.deliver.address or '').rstrip('/')}/"
        f"{quote(page.relative_to(settings.home / 'exports').as_posix())}"
        for page in pages
        if page.exists()
    ]
    message.set_content("\n".join([LINK_BODY.in_language(exports.language).format(day), *links]))
    return message if links else None
