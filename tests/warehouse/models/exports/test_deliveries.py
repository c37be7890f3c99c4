"""Mails to teachers, through a mail server: once a generation, also after refusals and kills."""

import email
import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from campus.files.table_file import TableError, table_of
from campus.inputs.readers import read_addresses
from loading.inputs import input_files
from pipelines.cli.actions.deliver import OFF, run_deliver
from pipelines.cli.actions.export import run_export
from pipelines.cli.actions.inputs import run_check
from pipelines.deliveries.automation import deliver_definitions
from pipelines.deliveries.log import FILE, DeliveryLog
from pipelines.deliveries.mails import Outcome, deliver
from pipelines.runs.jobs import DELIVER
from pipelines.settings.options import DeliverOptions, ExportOptions, MailOptions, NotifyOptions, Options
from pipelines.settings.settings import Settings
from tests.kits.models.builds import Build
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.programs.processes import environment_for, started
from tests.kits.servers.receivers import mail_server
from warehouse.forgetting.sqlite_rows import forget_school_in
from warehouse.publish.build import models_version

ADDRESS = "https://pages.school.example"
TEACHERS = (
    "SELECT teacher_id, staff_number, teacher_name FROM core.dim_teacher WHERE school_id = ? ORDER BY 1"
)


class Killed(BaseException):
    """Ends a process without its clean-up."""


@pytest.fixture(scope="module")
def exported(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sites, whose teachers have staff numbers."""
    home = publish_strictly(healthy, tmp_path_factory.mktemp("home")).parent
    with closing(duckdb.connect(str(home / "campus.duckdb"))) as con:
        con.execute("UPDATE quality.publication SET models_version = ?", [models_version(home)])
        for table in ("dim_teacher", "bridge_class_teacher", "bridge_admin_class_teacher"):
            con.execute(f"UPDATE core.{table} SET staff_number = 'T' || teacher_id")
        # Another teacher of the same classes.
        for table in ("core.dim_teacher", "core.bridge_class_teacher"):
            con.execute(
                f"INSERT INTO {table} SELECT * REPLACE (teacher_id + 900 AS teacher_id, "
                "'T9' AS staff_number, '第二教师' AS teacher_name) "
                f"FROM {table} WHERE school_id = {SCHOOL} AND teacher_id = "
                f"(SELECT min(teacher_id) FROM core.bridge_class_teacher WHERE school_id = {SCHOOL})"
            )
    options = Options(exports=ExportOptions(site=("class-teacher", "teacher"), workbooks=()))
    assert run_export(Settings(home=home, options=options), (), schools=[SCHOOL]) == 0
    return home


@pytest.fixture
def home(exported: Path, tmp_path: Path) -> Path:
    home = tmp_path / "home"
    shutil.copytree(exported, home)
    lines = [f"{number},{number.lower()}@school.example" for _, number, _ in teachers(home)]
    write_addresses(home, *lines)
    return home


def teachers(home: Path) -> list[tuple[int, str, str]]:
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        return [row for row in con.execute(TEACHERS, [SCHOOL]).fetchall() if row[1]]


def write_addresses(home: Path, *lines: str) -> None:
    path = home / "inputs" / str(SCHOOL) / "readers.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["工号,邮箱", *lines]))


def settings_of(home: Path, port: int = 1, **options: Any) -> Settings:
    mail = MailOptions(
        host="127.0.0.1", port=port, security="none", sender="a@b.example", to=("it@b.example",)
    )
    exports = ExportOptions(
        site=("class-teacher", "teacher"), deliver=DeliverOptions(**{"address": ADDRESS, **options})
    )
    return Settings(home=home, options=Options(exports=exports, notify=NotifyOptions(mail=mail)))


def sent_by(settings: Settings) -> Outcome:
    [outcome] = deliver(settings, [SCHOOL])
    return outcome


@pytest.fixture
def mails() -> list[str]:
    return []


@pytest.fixture
def port(mails: list[str]) -> Iterator[int]:
    with mail_server(mails) as port:
        yield port


def parsed(mails: list[str]) -> list[EmailMessage]:
    messages = [email.message_from_string(text, policy=default) for text in mails]
    return [message for message in messages if isinstance(message, EmailMessage)]


def test_each_teacher_gets_own_links_once(home: Path, port: int, mails: list[str]) -> None:
    outcome = sent_by(settings_of(home, port))
    assert outcome.problems == [] and len(outcome.sent) >= 2
    by_address = {f"{number.lower()}@school.example": id for id, number, _ in teachers(home)}
    messages = parsed(mails)
    assert [by_address[message["To"]] for message in messages] == outcome.sent
    assert len({message["Message-ID"] for message in messages}) == len(messages)
    for message in messages:
        assert message["Date"].datetime.tzinfo and message["Message-ID"].endswith("@b.example>")
        text = message.get_content()
        links = [line for line in text.splitlines() if line.startswith(ADDRESS)]
        pages = [home / "exports" / link.removeprefix(f"{ADDRESS}/") for link in links]
        assert pages and all(page.is_file() for page in pages)
        assert {page.parent.name for page in pages} == {str(by_address[message["To"]])}
        assert not [name for *_, name in teachers(home) if name in text + message["Subject"]]
    again = sent_by(settings_of(home, port))
    assert (again.sent, again.logged, len(mails)) == ([], outcome.sent, len(messages))
    with closing(duckdb.connect(str(home / "campus.duckdb"))) as con:
        con.execute("UPDATE quality.publication SET generation = 'next'")
    assert sent_by(settings_of(home, port)).sent == outcome.sent


def test_workbooks_are_attached(home: Path, port: int, mails: list[str]) -> None:
    outcome = sent_by(settings_of(home, port, send="file", address=None))
    for teacher_id, message in zip(outcome.sent, parsed(mails), strict=True):
        files = {path.name: path for path in (home / "exports").glob(f"*/*/{teacher_id}/*/*.xlsx")}
        attached = {part.get_filename(): part.get_content() for part in message.iter_attachments()}
        assert attached == {name: path.read_bytes() for name, path in files.items()} != {}


def test_a_mail_that_is_too_large_is_not_sent(
    home: Path, mails: list[str], port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The class teacher has two workbooks, the other teacher one. A larger limit sends the rest."""
    [class_teacher, other] = [teacher_id for teacher_id, *_ in teachers(home)]
    everything = settings_of(home, port, send="file", address=None)
    assert run_deliver(everything, [SCHOOL], dry_run=False) == 0
    sizes = [len(text) for text in mails]
    limit = sum(sizes) / len(sizes) / 1_000_000
    (home / FILE).unlink()
    mails.clear()
    limited = settings_of(home, port, send="file", address=None, max_mail_mb=limit)
    assert run_deliver(limited, [SCHOOL], dry_run=False) == 1
    said = capsys.readouterr().err
    too_large = (
        rf"teacher {class_teacher}: the mail is not sent, because it has [\d.]+ MB and "
        f"exports.deliver.max_mail_mb is {limit:g}: set send: link"
    )
    assert re.search(too_large, said)
    assert "@" not in said and len(mails) == 1
    outcome = sent_by(everything)
    assert (outcome.sent, outcome.logged) == ([class_teacher], [other])


def test_an_unreadable_workbook_stops_no_other(home: Path, mails: list[str], port: int) -> None:
    everything = settings_of(home, port, send="file", address=None)
    [class_teacher, other] = [teacher_id for teacher_id, *_ in teachers(home)]
    own = home / "exports" / f"site_{SCHOOL}" / "class-teacher" / str(class_teacher)
    unreadable = own / "none" / "class.xlsx"
    unreadable.mkdir(parents=True)
    outcome = sent_by(everything)
    assert outcome.sent == [other] and len(mails) == 1
    assert outcome.problems == [f"teacher {class_teacher}: {unreadable} cannot be read: Is a directory"]


def test_a_dry_run_sends_and_logs_nothing(
    home: Path, port: int, mails: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(home, port)
    assert run_deliver(settings, [SCHOOL], dry_run=True) == 0
    said = capsys.readouterr().out
    assert f"School {SCHOOL}: " in said and "mails would be sent" in said and "@" not in said
    assert mails == [] and not (home / FILE).exists()
    assert run_deliver(settings, [SCHOOL], dry_run=False) == 0
    assert run_deliver(settings, [SCHOOL], dry_run=True) == 0
    assert f"School {SCHOOL}: 0 mails would be sent" in capsys.readouterr().out


def test_a_refused_recipient_stops_no_other(home: Path) -> None:
    mails: list[str] = []
    everybody = teachers(home)
    refused_id, number, _ = everybody[0]
    address = f"{number.lower()}@school.example"

    def answers(line: str) -> str:
        return f"550 no mailbox {address}" if line.startswith("rcpt TO") and address in line else ""

    with mail_server(mails, answers=answers) as port:
        outcome = sent_by(settings_of(home, port))
    path = home / "inputs" / str(SCHOOL) / "readers.csv"
    assert outcome.problems == [
        f"teacher {refused_id}: the mail server refuses the mail (it answers with code 550): "
        f"check the address in {path}"
    ]
    assert outcome.sent and refused_id not in outcome.sent and len(mails) == len(outcome.sent)
    with mail_server(mails) as port:
        assert sent_by(settings_of(home, port)).sent == [refused_id], "it stays due"


@pytest.mark.parametrize(
    ("command", "answer", "problem", "begun"),
    [
        # It was waiting for long, and ends the session before a mail was begun.
        ("noop", "421 timeout exceeded", "it ends the session", 0),
        # The server has the mail, so that it is not sent again.
        (".", f"250 {'x' * 20_000}", "it does not speak SMTP", 1),
    ],
)
def test_a_mail_counts_as_begun_once_the_server_may_have_it(
    home: Path, command: str, answer: str, problem: str, begun: int
) -> None:
    mails: list[str] = []
    with mail_server(mails, answers=lambda line: answer if line == command else "") as port:
        outcome = sent_by(settings_of(home, port))
        assert outcome.sent == [] and problem in outcome.problems[0] and len(mails) == begun
    with mail_server(mails) as port:
        outcome = sent_by(settings_of(home, port))
    assert len(outcome.problems) == begun and len(outcome.sent) == len(teachers(home)) - begun


@pytest.mark.parametrize("method", ["begin", "finish"])
def test_a_kill_between_two_mails_sends_none_twice(
    home: Path, port: int, mails: list[str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """`begin`: before a mail is sent. `finish`: after the server took it."""
    calls, original = [], getattr(DeliveryLog, method)

    def killed(log: DeliveryLog, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise Killed
        return original(log, *arguments)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(DeliveryLog, method, killed)
        sent_by(settings_of(home, port))
    before = len(mails)
    outcome = sent_by(settings_of(home, port))
    recipients = [message["To"] for message in parsed(mails)]
    assert len(set(recipients)) == len(recipients) == before + len(outcome.sent)
    uncertain = [
        f"teacher {calls[1][1]}: an interrupted mail may have arrived, so it is not sent again. The next "
        "generation is sent; ask the teacher if this one matters"
    ]
    assert outcome.problems == (uncertain if method == "finish" else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "arrived", "uncertain"),
    [("noop", 1, 0), ("mail", 1, 1), (".", 2, 1)],
    ids=["between two mails", "before the server has the mail", "after the server took the mail"],
)
def test_a_killed_process_sends_no_mail_twice(
    home: Path, moment: str, arrived: int, uncertain: int, mails: list[str]
) -> None:
    """SIGKILL at the second mail. The next run sends the rest, but not a mail that may have arrived."""
    moments = list[str]()

    def kill(line: str) -> None:
        moments.append(line.partition(" ")[0].lower())
        if moments.count(moment) == 2 and program.poll() is None:
            program.kill()
            program.wait()

    with mail_server(mails, before_answer=kill) as port:
        mail = {"host": "127.0.0.1", "port": port, "security": "none", "sender": "a@b.example"}
        exports = {"site": ["class-teacher", "teacher"], "deliver": {"address": ADDRESS}}
        (home / "campus.yaml").write_text(
            json.dumps({"exports": exports, "notify": {"mail": mail | {"to": ["it@b.example"]}}})
        )
        with started(["campus", "deliver", "--school", str(SCHOOL)], environment_for(home), home) as program:
            assert program.wait() == -signal.SIGKILL
        assert len(mails) == arrived
        outcome = sent_by(settings_of(home, port))
    recipients = [message["To"] for message in parsed(mails)]
    assert len(set(recipients)) == len(recipients) == arrived + len(outcome.sent)
    assert len(outcome.problems) == uncertain
    assert len(outcome.logged) + len(outcome.sent) + uncertain == len(teachers(home))


def test_a_server_that_is_away_leaves_all_mails_due(home: Path) -> None:
    with mail_server([]) as gone:
        pass
    outcome = sent_by(settings_of(home, gone))
    assert outcome.sent == [] and "does not take the mail" in outcome.problems[0]
    mails: list[str] = []
    with mail_server(mails) as port:
        assert len(sent_by(settings_of(home, port)).sent) == len(mails) >= 2


def test_the_log_has_ids_alone_and_is_forgotten(home: Path, port: int) -> None:
    outcome = sent_by(settings_of(home, port))
    content = (home / FILE).read_bytes()
    assert not [text for _, *texts in teachers(home) for text in texts if text.encode() in content]
    with closing(sqlite3.connect(home / FILE)) as log:
        rows = log.execute("SELECT teacher_id FROM deliveries WHERE sent_at IS NOT NULL").fetchall()
    assert sorted(id for (id,) in rows) == outcome.sent
    assert forget_school_in(home / FILE, SCHOOL, apply=True) == len(rows)


def test_lines_without_a_sure_teacher_or_address_are_refused() -> None:
    lines = [
        ("staff number", "address"),
        ("T1", "a@b.example"),
        ("# T1", "x@b.example"),
        ("", "a@b.example"),
        ("T2", "a@b.example, c@d.example"),
        ("T3", "a@b.example\nBcc: c@d.example"),
        ("T4", "a@b.example"),
        ("T5", "a@b.example"),
        ("T5", "c@b.example"),
        ("T6", "a@b.example"),
    ]
    table = table_of(enumerate(lines, 1), "readers.csv")
    numbers = ["T1", "T2", "T3", "T5", "T6", "T6"]
    addresses = read_addresses(table, numbers, "readers.csv")
    assert addresses.of_staff == {"T1": "a@b.example"}
    no_address = "it has no mail address such as name@school.example"
    assert addresses.refused == (
        (4, "it has no staff number"),
        (5, no_address),
        (6, no_address),
        (7, "no teacher of the school has this staff number"),
        (8, "another line has the same staff number"),
        (9, "another line has the same staff number"),
        (10, "several teachers of the school have this staff number"),
    )
    with pytest.raises(TableError, match="the column address is missing"):
        read_addresses(table_of([(1, ["staff number"]), (2, ["T1"])], "readers.csv"), numbers, "readers.csv")


def test_problems_with_addresses_name_file_and_line(
    home: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "inputs" / str(SCHOOL) / "readers.csv"
    write_addresses(home, "T999,a@b.example")
    assert run_deliver(settings_of(home, port), [SCHOOL], dry_run=False) == 1
    said = capsys.readouterr()
    assert f"{path}, line 2: no teacher of the school has this staff number" in said.err
    assert "a@b.example" not in said.err + said.out and "have no address" in said.out
    assert input_files(home, SCHOOL) == [], "it is no log of talks and measures"
    path.unlink()
    assert run_deliver(settings_of(home, port), [SCHOOL], dry_run=False) == 1
    message = f"{path} does not exist: write it, with the mail addresses of the teachers"
    assert message in capsys.readouterr().err


def test_a_check_names_wrong_lines_and_no_address(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, settings = home / "inputs" / str(SCHOOL) / "readers.csv", Settings(home=home)
    assert run_check(settings, [SCHOOL]) == 0
    assert f"{path}: teachers with an address: 2; refused: 0" in capsys.readouterr().out
    write_addresses(home, "T50,somebody@b.example", "T9,nobody", "T7,other@b.example")
    assert run_check(settings, []) == 1
    said = capsys.readouterr()
    assert f"{path}, line 3: it has no mail address" in said.err
    assert f"{path}, line 4: no teacher of the school has this staff number" in said.err
    assert f"{path}: teachers with an address: 1; refused: 2" in said.out
    assert not re.search("somebody|nobody|other@", said.err + said.out)
    path.write_text("T50,somebody@b.example")
    assert run_check(settings, [SCHOOL]) == 1
    without_names = capsys.readouterr().err
    assert f"{path}, line 1: column 1 has no known heading" in without_names
    assert "somebody" not in without_names
    path.symlink_to(path.rename(home / "elsewhere.csv"))
    assert run_check(settings, [SCHOOL]) == 1
    assert f"{path} is not read: it is a link" in capsys.readouterr().err
    (home / "campus.duckdb").unlink()
    assert run_check(settings, [SCHOOL]) == 1
    assert f"{path} cannot be checked" in capsys.readouterr().err


def test_it_is_off_by_default(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(home=home)
    assert run_deliver(settings, [], dry_run=False) == 2
    assert capsys.readouterr().err.strip() == OFF
    assert not deliver_definitions(settings).jobs


def test_a_job_sends_the_mails_by_its_schedule(home: Path, port: int, mails: list[str]) -> None:
    made = deliver_definitions(settings_of(home, port, at="0 7 * * *"))
    assert made.resolve_schedule_def(DELIVER).cron_schedule == "0 7 * * *"
    write_addresses(home, *[f"{number},{number}@b.example" for _, number, _ in teachers(home)])
    with dg.DagsterInstance.ephemeral() as instance:
        done = made.resolve_job_def(DELIVER).execute_in_process(instance=instance, raise_on_error=False)
    [event] = [event for event in done.all_events if event.is_step_materialization]
    assert event.step_materialization_data.materialization.metadata["mails"].value == len(mails) >= 2
    assert not done.success, "the second school has no addresses"
    [failure] = [event.step_failure_data for event in done.all_events if event.is_step_failure]
    second_school = f"school 2: {home}/inputs/2/readers.csv does not exist"
    assert str(failure.user_failure_data.description).startswith(second_school)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exports": {"deliver": {"send": "link"}}}, "needs the address"),
        ({"exports": {"deliver": {"send": "file"}, "site": ["head"]}}, "deliver needs class-teacher"),
        (
            {"exports": {"deliver": {"send": "file"}, "site": ["teacher"]}},
            "needs the mail server of notify.mail",
        ),
    ],
)
def test_incomplete_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Options.model_validate(options)
