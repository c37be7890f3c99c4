"""The class teacher at 7:20: from the link in the mail to the list of absences, and to the log of a talk."""

import email
from collections.abc import Iterator
from contextlib import closing
from datetime import date

import duckdb
import pytest

from pipelines.cli.actions.export import run_export
from pipelines.deliveries.mails import deliver
from pipelines.settings.options import DeliverOptions, ExportOptions, MailOptions, NotifyOptions, Options
from pipelines.settings.settings import Settings
from tests.kits.models.builds import Builder
from tests.kits.models.morning_school import MADE_UP, TABLES, TEACHER
from tests.kits.models.publishing import SCHOOL, publish
from tests.kits.servers.browser import BROWSER, DRIVER, Page
from tests.kits.servers.receivers import mail_server
from warehouse.publish.build import models_version

pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="needs chromium and chromedriver")

ADDRESS = "https://pages.school.example"
#: The students of the class who missed a lesson or came late on the last school day, as the list has them.
ABSENT = {
    "学生1": ("请假", "王父 13800000001"),
    "学生2": ("迟到", "—"),
    "学生3": ("部分请假", "张母 13800000003, 张父 13800000004"),
}
ROWS = """
    const table = document.querySelector('#absent');
    const labels = [...table.querySelectorAll('thead tr:last-child th')].map(label => label.innerText.trim());
    return [...table.tBodies[0].rows].map(row =>
        Object.fromEntries([...row.cells].map((cell, number) => [labels[number], cell.innerText.trim()])));
"""


@pytest.fixture(scope="module")
def link(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The link of the mail that the class teacher gets, as an address of the exported file."""
    home = publish(build("walk", TABLES), tmp_path_factory.mktemp("home")).parent
    with closing(duckdb.connect(str(home / "campus.duckdb"))) as con:
        con.execute("UPDATE quality.publication SET models_version = ?", [models_version(home)])
    addresses = home / "inputs" / str(SCHOOL) / "readers.csv"
    addresses.parent.mkdir(parents=True)
    addresses.write_text("工号,邮箱\nT50,t50@school.example\n", encoding="utf-8")
    mails: list[str] = []
    with mail_server(mails) as port:
        mail = MailOptions(
            host="127.0.0.1", port=port, security="none", sender="a@b.example", to=("it@b.example",)
        )
        exports = ExportOptions(
            site=("class-teacher",), guardians=True, workbooks=(), deliver=DeliverOptions(address=ADDRESS)
        )
        settings = Settings(home=home, options=Options(exports=exports, notify=NotifyOptions(mail=mail)))
        assert run_export(settings, (), schools=[SCHOOL]) == 0
        [outcome] = deliver(settings, [SCHOOL])
    assert outcome.sent == [TEACHER]
    text = email.message_from_string(mails[0]).get_payload(decode=True)
    assert isinstance(text, bytes)
    [link] = [line for line in text.decode().splitlines() if line.startswith(ADDRESS)]
    return link.replace(ADDRESS, (home / "exports").as_uri())


@pytest.fixture(params=[1280, 360])
def page(request: pytest.FixtureRequest, window: Page) -> Iterator[Page]:
    window.resize(request.param)
    yield window
    window.resize(0)


def test_the_call_list_is_where_the_mail_leads(page: Page, link: str) -> None:
    """Names, reasons and phones without a click."""
    page.open(link)
    rows = page.run(ROWS)
    assert {row["学生"]: (row["原因"], row["家长"]) for row in rows} == ABSENT
    assert {row["日期"] for row in rows} == {str(MADE_UP)}
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.run("return document.querySelector('main section table').id") == "absent"
    right = "cell => cell.getBoundingClientRect().right"
    cells = "[...document.querySelectorAll('#absent tbody :is(.wide, a[href^=student], td:nth-child(3))')]"
    assert page.run(f"return Math.max(...{cells}.map({right})) <= innerWidth"), (
        "names, reasons and phones without a swipe"
    )


def test_a_talk_of_the_log_is_a_click_away(page: Page, link: str) -> None:
    page.open(link)
    page.click("//table[@id='absent']//a[normalize-space()='学生3']")
    log = page.run("return document.querySelector('#interventions').tBodies[0].rows[0].innerText")
    assert str(date(2026, 3, 14)) in log and "李老师" in log


def test_the_printed_call_list_has_names_and_phones(window: Page, link: str) -> None:
    window.open(link)
    printed = window.printed_text()
    assert [
        text for text in (*ABSENT, "13800000001", "13800000003", "13800000004") if text not in printed
    ] == []
