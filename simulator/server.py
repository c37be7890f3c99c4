"""Serves the application on a port, prints a line when ready, and exits cleanly on a signal."""

import asyncio
import os
import signal
import socket
import sys
import threading
from types import FrameType

import uvicorn
import uvloop

from simulator.app import Application


def serve(app: Application, host: str, port: int, *, until_stdin_closes: bool) -> None:
    """Serve until SIGTERM or SIGINT, or until stdin closes. Raises OSError if the port is taken."""
    with socket.create_server((host, port), backlog=2048) as listener:
        # After its shutdown uvicorn raises the caught signal again, which ends this process.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
        if until_stdin_closes:
            threading.Thread(target=_stop_when_stdin_closes, daemon=True).start()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(app, listener))


async def _run(app: Application, listener: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        http="httptools",
        lifespan="off",
        log_config=None,
        log_level="critical",  # torn answers are intended
        access_log=False,
        date_header=False,  # the application sends its own clock
        ws="none",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not running.done():
        await asyncio.sleep(0.005)
    host, port = listener.getsockname()[:2]
    sys.stdout.write(f"listening on http://{host}:{port}\n")
    sys.stdout.flush()
    await running


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _stop_when_stdin_closes() -> None:
    while os.read(sys.stdin.fileno(), 1024):  # sys.stdin.read() would hold a lock that the exit waits for
        pass
    signal.raise_signal(signal.SIGTERM)
