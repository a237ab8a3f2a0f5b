"""Errors as RFC 9457 problem documents: `application/problem+json`, with types that stay.

A `type` is made from the name of the error's class (`NoIndex` -> `urn:confab:error:no-index`), so that the tree
in `rag/errors.py` is the table. What an upstream said, a path, or a traceback never stands in one.
"""

import logging
import math
import re
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from rag.errors import (
    ConfabError,
    Corrupt,
    Internal,
    NoIndex,
    SettingsError,
    UpstreamError,
    UpstreamTimeout,
    UsageError,
)
from rag.types import Frozen

log = logging.getLogger("api.problems")

MEDIA_TYPE = "application/problem+json"
SHOWN_ERRORS = 20
SHOWN_CHARS = 200

# Messages of these are for the operator (they may name a path, or repeat what an upstream said): the log has them.
PUBLIC: dict[type[ConfabError], str] = {
    Internal: "An unexpected error happened here; the service's log has it under this request id.",
    SettingsError: "The service is wrongly configured; `confab doctor` says how.",
    NoIndex: "Nothing was ingested yet. Run `confab ingest PATH`; the service then answers without a restart.",
    Corrupt: "The index does not match its manifest. Run `confab index verify`, then roll back or ingest again.",
    UpstreamError: "The model's server failed or refused. Try again; `confab doctor` tells the operator more.",
    UpstreamTimeout: "The model's server was too slow. Try again in a moment.",
}


class FieldError(Frozen):
    """What is wrong with one part of a request: `pointer` into the body (RFC 6901), or a query `parameter`."""

    detail: str
    pointer: str | None = None
    parameter: str | None = None

    def __str__(self) -> str:
        return f"{self.parameter or self.pointer} {self.detail}"


def too_long(limit: int, *, pointer: str | None = None, parameter: str | None = None) -> FieldError:
    return FieldError(detail=f"is longer than {limit} characters", pointer=pointer, parameter=parameter)


class Problem(Frozen):
    """An RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: tuple[FieldError, ...] | None = None


class Refused(UsageError):
    """Fields of the request are wrong; `errors` names each."""

    def __init__(self, *errors: FieldError) -> None:
        super().__init__("; ".join(str(error) for error in errors[:3]) + ("; ..." if len(errors) > 3 else ""))
        self.errors = errors


class MalformedJson(Refused):
    status = 400
    title = "The body is not JSON"


class NotAllowed(UsageError):
    status = 405
    title = "This method is not served here"


class BodyTooLarge(UsageError):
    status = 413
    title = "The request body is too large"


class UnsupportedMediaType(UsageError):
    status = 415
    title = "The body's media type is not served here"


class Misdirected(UsageError):
    status = 421
    title = "This service does not answer for that host"


class NoSuchAddress(UsageError):
    status = 404
    title = "There is nothing at this address"


def urn(kind: type[ConfabError]) -> str:
    """`UpstreamTimeout` -> `urn:confab:error:upstream-timeout`; a trailing `Error` is dropped."""
    name = kind.__name__.removesuffix("Error")
    return "urn:confab:error:" + re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def document(error: ConfabError, request_id: str) -> Problem:
    kind = UsageError if type(error) is Refused else type(error)
    public = next((PUBLIC[base] for base in type(error).__mro__ if base in PUBLIC), error.message)
    errors = error.errors[:SHOWN_ERRORS] if isinstance(error, Refused) else None
    return Problem(
        type=urn(kind), title=error.title, status=error.status, detail=public, request_id=request_id, errors=errors
    )


def response(error: ConfabError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """The problem document as a response, with Retry-After where trying again helps."""
    extra = {"Cache-Control": "no-store", **(headers or {})}
    if error.retry_after is not None:
        extra["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    body = document(error, request_id).model_dump_json(exclude_none=True)
    return Response(body, error.status, extra, MEDIA_TYPE)


def report(error: ConfabError, request_id: str) -> None:
    """Tell the operator what the caller is not told."""
    if error.status >= 500:
        log.warning("problem=%s detail=%r id=%s", urn(type(error)), error.message, request_id)


def unexpected(error: BaseException, request_id: str) -> Internal:
    """Log a bug and give what the caller is told. The message may repeat a question: at debug level only."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("problem=%s kind=%s id=%s\n%s", urn(Internal), type(error).__name__, request_id, frames)
    log.debug("message=%r id=%s", str(error), request_id)
    return Internal(type(error).__name__)


async def on_confab_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConfabError)
    report(error, request.state.request_id)
    return response(error, request.state.request_id)


async def on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return response(_refusal(error.errors()), request.state.request_id)


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the router says: nothing at the address, another method, or a status that a library chose."""
    assert isinstance(error, HTTPException)
    kinds: dict[int, ConfabError] = {
        404: NoSuchAddress(f"{request.scope['path'][:SHOWN_CHARS]!r} is no address of this service; see /openapi.json"),
        405: NotAllowed(f"{request.method[:SHOWN_CHARS]!r} is not served at this address; see the Allow header"),
        413: BodyTooLarge(error.detail),
    }
    told = kinds.get(error.status_code) or UsageError(error.detail)
    told.status = error.status_code
    return response(told, request.state.request_id, error.headers)


def _refusal(problems: Sequence[Mapping[str, Any]]) -> Refused:
    """pydantic's errors as ours, never repeating what was sent but for the names of fields."""
    if problems and problems[0]["type"] == "json_invalid":
        return MalformedJson(FieldError(detail=f"is not valid JSON: {problems[0]['ctx']['error']}", pointer="#"))
    return Refused(*(_field_error(problem) for problem in problems))


def _field_error(problem: Mapping[str, Any]) -> FieldError:
    said = {"missing": "is required", "extra_forbidden": "is not known here"}
    detail = said.get(problem["type"]) or str(problem["msg"]).removeprefix("Value error, ")
    place, *path = (str(part)[:SHOWN_CHARS] for part in problem["loc"])
    if place == "body":
        return FieldError(detail=detail, pointer="/".join(["#", *(_escaped(part) for part in path)]))
    return FieldError(detail=detail, parameter=".".join(path) or place)


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")
