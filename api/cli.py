"""`confab serve`."""

import argparse
import ipaddress
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

from rag.errors import Busy, UsageError
from rag.settings import Settings

GRACE_SECONDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Serve the page and the HTTP interface until SIGTERM or Ctrl-C."
    parser.add_argument("--host", help="address to listen on (default: CONFAB_HOST, 127.0.0.1)")
    parser.add_argument("--port", type=_port, help="port to listen on, 0 for any free one (default: CONFAB_PORT, 8000)")
    parser.add_argument("--json", action="store_true", help="say the address as one JSON object on stdout, too")


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Serve until told to stop; 0 then. Raises Busy where the port is taken, UsageError where it cannot be had."""
    given = {name: value for name in ("host", "port") if (value := getattr(args, name, None)) is not None}
    settings = settings.model_copy(update=given)
    _on_stop(_leave)
    try:
        with _listen(settings.host, settings.port) as listening:
            if getattr(args, "json", False):
                print(json.dumps({"url": _url(listening), "loopback_only": _loopback_only(listening)}), flush=True)
            _serve(listening, settings)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _serve(listening: socket.socket, settings: Settings) -> None:
    import uvicorn

    from api.app import create_app
    from api.serving import Engine

    def opener() -> Engine:
        from rag.engine import open_engine

        engine = open_engine(settings)
        engine.warm()
        return engine

    _log_to_stderr(settings.log_level)
    app = create_app(opener, settings)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=GRACE_SECONDS
    )
    _announce(listening)
    server = uvicorn.Server(config)
    _on_stop(server.handle_exit)  # uvicorn raises the signal again once it has shut down, which must not be our end
    server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; its address is known before anything is served, which makes port 0 useful."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise UsageError(f"{host!r} is no address of this machine ({error.strerror}); try --host 127.0.0.1") from None
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        place = f"port {port} of {host}"
        if isinstance(error, PermissionError):
            raise UsageError(f"{place} needs rights this user has not; choose a port above 1023 with --port") from None
        hint = "stop what holds it, or choose another with --port"
        raise Busy(f"{place} cannot be had ({error.strerror}); {hint}") from None
    return listening


def _announce(listening: socket.socket) -> None:
    """Say where, and who can come in."""
    everyone = "EVERYONE who reaches this address can ask; no key is needed"
    reach = "this machine only" if _loopback_only(listening) else everyone
    print(f"Confab is at {_url(listening)}  ({reach})", file=sys.stderr, flush=True)


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loopback_only(listening: socket.socket) -> bool:
    return ipaddress.ip_address(listening.getsockname()[0]).is_loopback


def _log_to_stderr(level: str) -> None:
    """`time level logger key=value ...` on stderr; libraries are heard from "warning" on."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    for name in ("api", "rag"):
        logging.getLogger(name).setLevel(level.upper())


def _on_stop(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; expected 0 to 65535")
    return int(text)
