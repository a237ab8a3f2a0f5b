"""The outermost layer: request ids, the Host check, the body limit, security headers, one log line a request.

Plain ASGI, because it must see what the framework above it does not: bodies before they are read, and failures
after everything else gave up.
"""

import asyncio
import ipaddress
import logging
import re
import time
import uuid
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems
from rag.errors import Busy, ConfabError
from rag.settings import Settings

log = logging.getLogger("api.request")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
HOST = re.compile(r"(?P<name>\[[^\]]*\]|[^:]*)(:\d*)?", re.ASCII)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FIXED_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Edge:
    """ASGI middleware around the whole application. `under_way` holds the tasks of its requests."""

    def __init__(self, app: ASGIApp, settings: Settings, under_way: set[asyncio.Task[Any]]) -> None:
        self.app = app
        self.under_way = under_way
        self.limit = settings.max_body_bytes
        self.host = settings.host.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        started, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                told = MutableHeaders(scope=message)
                told.update({"x-request-id": request_id, **FIXED_HEADERS})
                told.setdefault("cache-control", "no-cache")  # the page's parts must be of one version
            await send(message)

        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            self._check(headers)
            await self.app(scope, self._counting(receive), sending)
        except ClientDisconnect:
            status = 499
        except asyncio.CancelledError:  # the server stops and its patience is over
            if not status:
                stopped = Busy("The service stopped before the answer was complete; ask again.", retry_after=5)
                await problems.response(stopped, request_id)(scope, receive, sending)
        except Exception as error:
            if status:
                raise
            told = error if isinstance(error, ConfabError) else problems.unexpected(error, request_id)
            await problems.response(told, request_id)(scope, receive, sending)
        finally:
            self.under_way.discard(task)
            _log(scope, status, time.perf_counter() - started, request_id)

    def _check(self, headers: Headers) -> None:
        """Raises Misdirected or BodyTooLarge, before a byte of the body is read.

        On loopback only loopback's names (and the configured one) are served: a page of the web whose name was
        pointed at 127.0.0.1 (DNS rebinding) otherwise reads the answers. On any other address names are the
        operator's affair.
        """
        host = HOST.fullmatch(headers.get("host", ""))
        name = host["name"].strip("[]").lower() if host else "?"
        if name and is_loopback(self.host) and not is_loopback(name) and name != self.host:
            raise problems.Misdirected("Ask for localhost, 127.0.0.1 or [::1]; this service listens on loopback only.")
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 15 or int(length) > self.limit):
            raise self._too_large()

    def _counting(self, receive: Receive) -> Receive:
        """`receive`, refusing once more than the limit came, whatever the headers promised."""
        seen = 0

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:  # as an HTTPException, which FastAPI lets through where it reads the body
                raise HTTPException(413, self._too_large().message)
            return message

        return counting

    def _too_large(self) -> problems.BodyTooLarge:
        return problems.BodyTooLarge(f"A request body may have {self.limit} bytes; send fewer.")


def _request_id(headers: Headers) -> str:
    """The caller's own id where it is a plain token, else a new one."""
    given = headers.get("x-request-id", "")
    return given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _log(scope: Scope, status: int, seconds: float, request_id: str) -> None:
    """One line a request, without the query string: it may be a question. Probes are for debugging only."""
    path = scope.get("raw_path", b"").decode("latin-1").encode("unicode_escape").decode()
    level = logging.DEBUG if path.startswith("/healthz/") else logging.INFO
    line = "method=%s path=%s status=%d ms=%.1f id=%s"
    log.log(level, line, scope["method"], path, status, seconds * 1000, request_id)
