"""The real service over real sockets: a subprocess with its own data folder, or a thread with a scripted engine."""

import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from api.app import create_app
from api.serving import Engine
from rag.settings import Settings

CONFAB = [sys.executable, "-c", "import sys; from rag.cli import main; sys.exit(main())"]
STARTED = re.compile(r"http://\S+")


@dataclass
class Service:
    """A running `confab serve`. `lines` are what it said on stderr so far."""

    process: subprocess.Popen[str]
    url: str = ""
    lines: list[str] = field(default_factory=list)

    def stop(self, seconds: float = 20) -> int:
        """SIGTERM, then the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


def environment(data_dir: Path, **settings: object) -> dict[str, str]:
    """This machine's environment without anything of ours or of a provider's in it, then `settings`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONFAB_", "OPENAI_"))}
    return kept | {"CONFAB_DATA_DIR": str(data_dir), **{name: str(value) for name, value in settings.items()}}


def confab(*arguments: str, data_dir: Path, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run one `confab` command to its end."""
    return subprocess.run(
        [*CONFAB, *arguments], env=environment(data_dir, **settings), capture_output=True, text=True, timeout=120
    )


@contextmanager
def service(data_dir: Path, *arguments: str, ready: bool = True, **settings: object) -> Iterator[Service]:
    """`confab serve` on a free port, ready to answer (or, with ``ready=False``, just listening)."""
    process = subprocess.Popen(
        [*CONFAB, "serve", "--port", "0", *arguments],
        env=environment(data_dir, **settings), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    running = Service(process)
    urls: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(running, urls), daemon=True).start()
    try:
        running.url = urls.get(timeout=60)
        assert running.url, "".join(running.lines)
        probe = f"{running.url}/healthz/{'ready' if ready else 'live'}"
        wait_until(lambda: httpx.get(probe).status_code == 200, 60, lambda: "".join(running.lines))
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _read(running: Service, urls: "queue.Queue[str]") -> None:
    assert running.process.stderr is not None
    for line in running.process.stderr:
        running.lines.append(line)
        if not running.url and (found := STARTED.search(line)):
            urls.put(found[0].replace("0.0.0.0", "127.0.0.1"))
    urls.put("")


@contextmanager
def serving(opener: Callable[[], Engine], *, heartbeat: float = 10.0, **settings: Any) -> Iterator[str]:
    """The application on a loopback socket in a thread of this process; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = create_app(opener, Settings(**settings), heartbeat=heartbeat)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started, 10)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def wait_until(holds: Callable[[], object], seconds: float, why: Callable[[], str] = str) -> None:
    """Return as soon as `holds()` is true; fail after `seconds`, saying `why()`."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {why()}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Sent:
    """One server-sent event as it came."""

    id: str
    name: str
    data: Any


def events(url: str, body: dict[str, Any], **headers: str) -> list[Sent]:
    """Every event of one streamed answer."""
    with httpx.stream(
        "POST", f"{url}/chat", json=body, headers={"accept": "text/event-stream", **headers}, timeout=30
    ) as response:
        assert response.status_code == 200, response.read()
        return parse("".join(response.iter_text()))


def raw_request(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """A POST of JSON as bytes, for a caller who hangs up when it likes."""
    sent = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body)), **headers}
    head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return head.encode() + b"\r\n" + body


def parse(text: str) -> list[Sent]:
    """Server-sent events, comments left out. Splits at line feeds only, as the data may hold U+2028."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            fields = dict(line.split(": ", 1) for line in lines)
            found.append(Sent(fields["id"], fields["event"], json.loads(fields["data"])))
    return found
