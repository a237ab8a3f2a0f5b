"""`POST /chat`: an answer as JSON, or as server-sent events while it is made.

Both ways race the work against the caller's hang-up, because nobody should pay for an answer that nobody reads.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api import problems, wire
from api.serving import Engine, Serving
from rag.errors import Busy, ConfabError
from rag.settings import Settings
from rag.types import Answer, Question

T = TypeVar("T")


class JsonRequest(Request):
    async def json(self) -> Any:
        return wire.decode(await self.body())


class JsonRoute(APIRoute):
    """A route whose body is strict JSON: FastAPI's own parsing takes NaN, 1e400 and a key given twice."""

    def get_route_handler(self) -> Any:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.body_field is not None and media != "application/json":
                raise problems.UnsupportedMediaType("Send the body as application/json, and say so in Content-Type.")
            return await handle(JsonRequest(request.scope, request.receive))

        return strict


class EventStream(Response):
    """The engine's events as they come, with a comment where nothing came for `heartbeat` seconds."""

    media_type = "text/event-stream"

    def __init__(self, engine: Engine, question: Question, request_id: str, heartbeat: float) -> None:
        self.engine, self.question, self.request_id, self.heartbeat = engine, question, request_id, heartbeat
        self.number = 0
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def write(chunk: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": chunk, "more_body": more})

        async def copy() -> None:
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    await write(chunk)

        async def beat() -> None:
            while True:
                await asyncio.sleep(self.heartbeat)
                await write(b": still here\n\n")

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        beating = asyncio.create_task(beat())
        try:
            await unless_gone(receive, copy())
        except asyncio.CancelledError:  # the service stops and its patience is over: the reader is told
            await write(self._error(Busy("The service stopped before the answer was complete; ask again.")))
        finally:
            beating.cancel()
            await asyncio.wait({beating})
        await write(b"", more=False)

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        """Encoded events, numbered from 1; the last is `done` or `error`."""
        try:
            async with aclosing(self.engine.stream(self.question)) as events:
                async for event in events:
                    for name, data in wire.events_of(event):
                        self.number += 1
                        yield wire.sse(self.number, name, data)
                    if isinstance(event, Answer):
                        return
            raise RuntimeError("the engine's stream ended without an Answer")
        except ConfabError as error:
            told = error
            problems.report(error, self.request_id)
        except Exception as error:
            told = problems.unexpected(error, self.request_id)
        yield self._error(told)

    def _error(self, told: ConfabError) -> bytes:
        document = problems.document(told, self.request_id)
        return wire.sse(self.number + 1, "error", document.model_dump_json(exclude_none=True))


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the caller hangs up. Raises ClientDisconnect then."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.create_task(work), asyncio.create_task(gone())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


def router(serving: Serving, settings: Settings, heartbeat: float) -> APIRouter:
    routes = APIRouter(route_class=JsonRoute)

    @routes.post(
        "/chat",
        response_model=Answer,
        responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
        summary="Ask a question",
    )
    async def chat(body: wire.ChatRequest, request: Request) -> Response:
        """A cited answer: JSON, or events (`meta`, `retrieval`, `delta`, `citation`, `usage`, then `done` or `error`)
        where Accept names `text/event-stream`."""
        if len(body.question) > settings.max_question_chars:
            raise problems.Refused(problems.too_long(settings.max_question_chars, pointer="#/question"))
        engine, question = await serving.engine(), body.asked(settings.top_k)
        if wire.wants_events(request.headers.get("accept", "")):
            return EventStream(engine, question, request.state.request_id, heartbeat)
        answer = await unless_gone(request.receive, engine.answer(question))
        return Response(answer.model_dump_json(), headers={"Cache-Control": "no-store"}, media_type="application/json")

    return routes
