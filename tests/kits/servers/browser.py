"""A headless Chromium, driven by the W3C WebDriver protocol: JSON over HTTP, spoken by chromedriver."""

import base64
import json
import re
import shutil
import socket
import subprocess
import time
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import httpx

from tests.kits.waiting import PATIENCE

AXE = resources.files("axe_core_python") / "axe.min.js"
DRIVER = shutil.which("chromedriver")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Control and A, then both released: a field that was drawn anew half-way keeps what was typed before.
SELECT_ALL = "\ue009a\ue000"
ENTER = "\ue007"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--window-size=1500,1000",
]


SIDES = ("top", "bottom", "left", "right")


class Page:
    """The browser's only window."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def open(self, url: str) -> None:
        """Go to an address."""
        self._send("/url", {"url": url})

    def shows(self, *texts: str) -> None:
        """Wait until all of these texts are on the page."""
        for text in texts:
            self._element(f"//*[contains(normalize-space(.), {_literal(text)})]")

    def has(self, xpath: str, patience: float) -> bool:
        """Whether an element is there within so many seconds."""
        try:
            self._element(xpath, patience)
        except AssertionError:
            return False
        return True

    def click(self, xpath: str) -> None:
        """Click an element once it is there and can be clicked."""
        self._act(xpath, "click", {})

    def type(self, xpath: str, text: str) -> None:
        """Put a text into a field once it is there and takes one, in the place of what is in it."""
        self._act(xpath, "value", {"text": SELECT_ALL + text})

    def choose(self, xpath: str, text: str) -> None:
        """Type a text into a field that offers what begins so, and take the offer. A field that is still
        filling forgets what is typed, and is asked again."""
        offer = f"//*[normalize-space(text())={_literal(text)}]"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.type(xpath, text)
            if self.has(offer, patience=5):
                break
        self.click(offer)

    def run(self, script: str) -> Any:
        """What a script returns that runs in the page; it may await."""
        awaited = f"(async () => {{ {script} }})()"
        wrapped = f"{awaited}.then(arguments[0], error => arguments[0]('failed: ' + error));"
        return self._send("/execute/async", {"script": wrapped, "args": []})

    def resize(self, width: int) -> None:
        """Make the window as wide as that of a telephone, or whatever; 0: as wide as it was."""
        measures = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": 0 < width < 600}
        command = "Emulation.setDeviceMetricsOverride" if width else "Emulation.clearDeviceMetricsOverride"
        self.command(command, measures if width else {})

    def media(self, name: str) -> None:
        """Style the page for a medium, as `print`; "": for the screen."""
        self.command("Emulation.setEmulatedMedia", {"media": name})

    def command(self, name: str, parameters: Mapping[str, Any]) -> Any:
        """What a command of Chrome's DevTools protocol returns."""
        return self._send("/goog/cdp/execute", {"cmd": name, "params": dict(parameters)})

    def violations(self, *rules: str) -> list[str]:
        """What axe finds wrong with the page: the rule, the element and the reason. `rules`: only these."""
        only = json.dumps({"runOnly": rules} if rules else {})
        results = self.run(f"{AXE.read_text(encoding='utf-8')}; return (await axe.run({only})).violations")
        assert isinstance(results, list), results
        return [
            f"{result['id']}: {node['html'][:200]}: {node['failureSummary']}"
            for result in results
            for node in result["nodes"]
        ]

    def printed(self) -> bytes:
        """The page as PDF, on A4."""
        paper = {"page": {"width": 21.0, "height": 29.7}, "background": True, "shrinkToFit": False}
        return base64.b64decode(self._send("/print", paper | {"margin": dict.fromkeys(SIDES, 1.0)}))

    def printed_text(self) -> str:
        """The text of the page as PDF: the letters of each font by its own table."""
        pdf = self.printed()
        fonts = {
            name: _letters(_stream(pdf, table[1]))
            for name, number in set(re.findall(rb"/(F\d+) (\d+) 0 R", pdf))
            if (table := re.search(rb"/ToUnicode (\d+) 0 R", _object(pdf, number)))
        }
        texts = list[str]()
        for number in re.findall(rb"/Type /Page\n.*?/Contents (\d+) 0 R", pdf, re.DOTALL):
            letters: Mapping[str, str] = {}
            for font, glyphs in re.findall(rb"/(F\d+) [\d.]+ Tf|<([0-9A-F]+)> ?Tj", _stream(pdf, number)):
                letters = fonts[font] if font else letters
                # A font has glyphs of one or two bytes.
                digits = len(next(iter(letters), "0000"))
                codes = re.findall("." * digits, glyphs.decode())
                texts += [letters.get(code, "") for code in codes]
            texts.append("\n")
        # A glyph that a letter and a radical share has the radical.
        return unicodedata.normalize("NFKC", "".join(texts))

    def _act(self, xpath: str, action: str, body: dict[str, str]) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._send(f"/element/{self._element(xpath)}/{action}", body)
            except httpx.HTTPStatusError:  # it is still moving, disabled, or was drawn anew
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _element(self, xpath: str, patience: float = PATIENCE) -> str:
        deadline = time.monotonic() + patience
        while True:
            try:
                element: dict[str, str] = self._send("/element", {"using": "xpath", "value": xpath})
                return next(iter(element.values()))
            except httpx.HTTPStatusError as error:
                if time.monotonic() > deadline:
                    shown = " ".join(self._text().split())
                    raise AssertionError(f"not on the page: {xpath}; the page says: {shown}") from error
                time.sleep(0.2)

    def _text(self) -> str:
        script = {"script": "return document.body.innerText", "args": []}
        return str(self._send("/execute/sync", script))

    def _send(self, path: str, body: dict[str, Any]) -> Any:
        answer = self._client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()["value"]


@contextmanager
def browser() -> Iterator[Page]:
    """A browser while the block lasts."""
    assert DRIVER and BROWSER
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    options = {"binary": BROWSER, "args": ARGUMENTS}
    wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
    transport = httpx.HTTPTransport(retries=10)  # until the driver listens
    try:
        with httpx.Client(timeout=PATIENCE, trust_env=False, transport=transport) as client:
            answer = client.post(f"{base}/session", json=wanted)
            answer.raise_for_status()
            session = f"{base}/session/{answer.json()['value']['sessionId']}"
            client.base_url = httpx.URL(session)
            try:
                yield Page(client)
            finally:
                # By its whole address: as a path below the base it would end in a slash, which the driver
                # does not know, and the browser would stay for ever.
                client.delete(session).raise_for_status()
    finally:
        driver.terminate()
        driver.wait(PATIENCE)


def open_board(window: Page, path: Path) -> Page:
    """Open a board, and wait until its charts are drawn."""
    window.open(path.as_uri())
    assert window.has("//html[@data-drawn='all']", PATIENCE)
    return window


def _object(pdf: bytes, number: bytes) -> bytes:
    match = re.search(rb"\n%s 0 obj\n(.*?)\nendobj" % number, pdf, re.DOTALL)
    assert match
    return match[1]


def _stream(pdf: bytes, number: bytes) -> bytes:
    return zlib.decompress(_object(pdf, number).partition(b"stream\n")[2].partition(b"\nendstream")[0])


def _letters(table: bytes) -> dict[str, str]:
    """The letter of each glyph, both in hexadecimal digits, by a table of a PDF (ToUnicode)."""
    letters = {}
    for block in re.findall(r"beginbfchar(.*?)endbfchar", table.decode(), re.DOTALL):
        for glyph, letter in re.findall(r"<(\w+)> <(\w+)>", block):
            letters[glyph] = bytes.fromhex(letter).decode("utf-16-be")
    for block in re.findall(r"beginbfrange(.*?)endbfrange", table.decode(), re.DOTALL):
        for first, last, letter in re.findall(r"<(\w+)> <(\w+)> <(\w+)>", block):
            for glyph in range(int(first, 16), int(last, 16) + 1):
                letters[f"{glyph:0{len(first)}X}"] = chr(int(letter, 16) + glyph - int(first, 16))
    return letters


def _literal(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'
