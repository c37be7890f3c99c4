"""Floods the push receiver with unsigned requests; measures its memory and the time of a genuine push.

    .venv/bin/python -m benchmarks.pushes.flood [--seconds 20] [--max-bytes 256000]

Each flood comes from a separate process, over connections that send the next body after a response or a
close. A genuine push is sent each half second over a new connection. Everything stays on this machine.
--max-bytes: as `pushes.max_bytes` of campus.yaml.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import httpx

CAMPUS = Path(sys.executable).parent / "campus"
TOKEN = "a-token-of-the-benchmark"
SCHOOL = 101
BEIJING = timezone(timedelta(hours=8))
#: Seconds that a genuine push waits for its response, and between two pushes.
PATIENCE, PAUSE = 60.0, 0.5


@dataclass(frozen=True)
class Flood:
    """The requests beside the genuine pushes."""

    name: str
    connections: int
    # Bytes of each body; 0: the connections send nothing.
    body_bytes: int
    # Bytes that each connection sends a second; None: as fast as possible.
    bytes_a_second: int | None = None


FLOODS = (
    Flood("none", 0, 0),
    Flood("bodies of 4 MB", 24, 4_000_000),
    Flood("bodies of 250 kB", 24, 250_000),
    Flood("bodies of 250 kB", 200, 250_000),
    Flood("bodies of 250 kB, slowly", 200, 250_000, 10_000),
    Flood("silent connections", 205, 0),
    Flood("silent connections", 900, 0),
)


@contextmanager
def receiver(home: Path) -> Iterator[tuple[str, int]]:
    """Start a receiver; yields its port and the id of its process."""
    environment = {
        "PATH": os.environ["PATH"],
        "CAMPUS_HOME": str(home),
        "CAMPUS_PUSH_TOKEN": TOKEN,
        "CAMPUS_PUSH_PORT": "0",
    }
    log = home / "receiver.log"
    with log.open("w") as output:
        process = subprocess.Popen([CAMPUS, "push-receiver"], env=environment, stdout=output, stderr=output)
    try:
        while "listening on" not in log.read_text():
            time.sleep(0.1)
        line = next(line for line in log.read_text().splitlines() if "listening on" in line)
        yield line.rpartition(":")[2], process.pid
    finally:
        process.kill()
        process.wait()


def peak_mb(pid: int) -> float:
    """The peak resident memory of a process."""
    [line] = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")
    ]
    return int(line.split()[1]) * 1024 / 1e6


def genuine() -> tuple[bytes, dict[str, str]]:
    """A signed push of 20 rows."""
    body = {
        "id": str(uuid.uuid4()),
        "resource": "students",
        "timestamp": datetime.now(BEIJING).strftime("%Y-%m-%d %H:%M:%S"),
        "events": [{"op": "updated", "pks": list(range(20))}],
    }
    nonce, timestamp = uuid.uuid4().hex, int(time.time())
    signed = {"nonce": nonce, "timestamp": timestamp} | body
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"))
    return json.dumps(body).encode(), {
        "Content-Type": "application/json",
        "X-Nonce": nonce,
        "X-Timestamp": str(timestamp),
        "X-Signature": hmac.new(TOKEN.encode(), text.encode(), hashlib.sha256).hexdigest(),
        "X-School-Id": str(SCHOOL),
    }


def unsigned(size: int) -> bytes:
    """A request with an expensive body and a wrong signature."""
    start, end = b'{"id":"1","resource":"students","events":[{"op":"updated","pks":[', b"1]}]}"
    body = start + b"1," * ((size - len(start) - len(end)) // 2) + end
    headers = {
        "Host": "receiver",
        "Content-Type": "application/json",
        "Content-Length": len(body),
        "X-Nonce": 1,
        "X-Timestamp": int(time.time()),
        "X-Signature": "0" * 64,
        "X-School-Id": SCHOOL,
    }
    head = "POST / HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    return head.encode() + body


async def attack(flood: Flood, port: int, seconds: float) -> None:
    """Send requests for `seconds`."""
    content = unsigned(flood.body_bytes) if flood.body_bytes else b""
    ends = time.monotonic() + seconds

    async def connection() -> None:
        while time.monotonic() < ends:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                async with asyncio.timeout(ends - time.monotonic()):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    try:
                        await send(flood, writer, content)
                        await reader.read(1)
                    finally:
                        writer.transport.abort()
            # A refusal is no reason to spin.
            await asyncio.sleep(0.001)

    await asyncio.gather(*(connection() for _ in range(flood.connections)))


async def send(flood: Flood, writer: asyncio.StreamWriter, content: bytes) -> None:
    """Send a request as fast as the flood does."""
    if flood.bytes_a_second is None:
        writer.write(content)
        await writer.drain()
        return
    for start in range(0, len(content), flood.bytes_a_second):
        writer.write(content[start : start + flood.bytes_a_second])
        await writer.drain()
        await asyncio.sleep(1)


def measure(flood: Flood, seconds: float, max_bytes: int | None) -> str:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if max_bytes is not None:
            (home / "campus.yaml").write_text(f"pushes: {{max_bytes: {max_bytes}}}")
        with receiver(home) as (port, pid):
            program = [sys.executable, "-m", "benchmarks.pushes.flood"]
            options = ["--port", port, "--seconds", str(seconds + 1), "--attack", json.dumps(vars(flood))]
            attacker = subprocess.Popen(program + options)
            try:
                time.sleep(1)
                latencies, failures = push_for(f"http://127.0.0.1:{port}", seconds)
            finally:
                attacker.wait()
            peak = peak_mb(pid)
    slowest = f"{max(latencies):.2f} s" if latencies else "none"
    median = f"{sorted(latencies)[len(latencies) // 2] * 1000:.0f} ms" if latencies else "none"
    return (
        f"| {flood.connections} | {flood.name} | {peak:,.0f} MB | {median} | {slowest} "
        f"| {len(latencies)} of {len(latencies) + failures} |"
    )


def push_for(url: str, seconds: float) -> tuple[list[float], int]:
    """Push for `seconds`; return the seconds of each push with status 200, and the number of others."""
    latencies, failures, ends = [], 0, time.monotonic() + seconds
    verify = False  # No certificates are read for plain HTTP.
    while time.monotonic() < ends:
        body, headers = genuine()
        began = time.monotonic()
        try:
            status = httpx.post(
                url, content=body, headers=headers, timeout=PATIENCE, trust_env=False, verify=verify
            ).status_code
        except httpx.TransportError:
            status = 0
        if status == 200:
            latencies.append(time.monotonic() - began)
        else:
            failures += 1
        time.sleep(PAUSE)
    return latencies, failures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--max-bytes", type=int)
    parser.add_argument("--attack", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.attack:
        asyncio.run(attack(Flood(**arguments.attack), arguments.port, arguments.seconds))
        return
    print("| connections | flood | peak memory | median | slowest | responses 200 |")
    print("|---|---|---|---|---|---|")
    for flood in FLOODS:
        print(measure(flood, arguments.seconds, arguments.max_bytes), flush=True)


if __name__ == "__main__":
    main()
