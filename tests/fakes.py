"""A real local server that speaks the OpenAI protocol, says what it is told, and misbehaves on request.

    with FakeServer("Hello there.") as server:            # a queue of replies, one a chat call
        settings = Settings(openai_base_url=server.base_url, openai_api_key="sk-test")
        ...
        server.history[-1].body["messages"]               # what the model was sent
        server.wait(lambda: server.hung_up == 1)          # the client left before the end

A reply is a `str`, a `Reply`, or a function `body -> str | Reply` (see `fake_models.py` for models that
obey or quote). `server.script(...)` queues more; `server.default` answers when the queue is empty (500
where it is None). Paths: `/v1/chat/completions` (stream or not), `/v1/models`, `/v1/embeddings`
(deterministic unit vectors, `server.dimension` long; texts that share words are near each other;
`server.embedding_replies` queues misbehaviours). `server.rejects = {"stream_options"}` answers 400 to
requests with those parameters.

Modes of a `Reply`:
    whole         the text, piece by piece, with finish_reason, usage (if asked) and [DONE]
    no_finish     ends properly but never says finish_reason
    cut           the connection closes in mid-text; reset: it is reset; reset_first: before any answer
    half_open     reads the request and never answers; silent: sends headers only
    stall         half the text, then silence; drip: comments only, for ever; stall_drip: half, then comments
    error_event   half the text, then an error event
    cut_utf8      a character cut in two; garbage: what is no JSON; html: a web page with status 200
    no_choices    an empty choice list; wrong_shape: JSON of another shape
A `status` other than 200 answers an OpenAI error object (or `raw`, where given) with `headers`.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests import fake_wire
from tests.fake_wire import Mode, Reply, Request

__all__ = ["FakeServer", "Mode", "Reply", "Request", "Script"]

Script = str | Reply | Callable[[dict[str, Any]], "str | Reply"]


class FakeServer:
    """See the head of this file. `opened` requests came in; each ends in `finished` or `hung_up`."""

    def __init__(self, *replies: Script, default: Script | None = None, dimension: int = 384) -> None:
        self.queue: deque[Script] = deque(replies)
        self.embedding_replies: deque[Reply] = deque()
        self.default = default
        self.dimension = dimension
        self.models = ["fake-model"]
        self.rejects: set[str] = set()
        self.history: list[Request] = []
        self.opened = self.finished = self.hung_up = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def script(self, *replies: Script) -> None:
        self.queue.extend(replies)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def wait(self, holds: Callable[[], bool], seconds: float = 1.0) -> bool:
        """Whether `holds()` came true within `seconds`."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._connection(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection: what is read after it can only be the client's leaving."""
        try:
            request = await fake_wire.read(reader)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        self.history.append(request)
        self.opened += 1
        gone = asyncio.ensure_future(reader.read())
        work = asyncio.ensure_future(self._respond(request, writer))
        try:
            done, _ = await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            if work in done and work.exception() is None:
                self.finished += 1
            else:
                self.hung_up += 1
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)
            writer.close()

    async def _respond(self, request: Request, writer: asyncio.StreamWriter) -> None:
        reply = self._reply(request)
        if reply.mode == "reset_first":
            return fake_wire.reset(writer)
        if reply.mode == "half_open":
            await asyncio.Event().wait()
        if reply.status != 200 or reply.raw is not None:
            error = json.dumps({"error": {"message": "secret upstream words", "type": "fake", "code": None}}).encode()
            return await fake_wire.send(writer, reply.status, reply.raw or error, reply.headers)
        if request.path.endswith("/chat/completions") and reply.mode == "html":
            page = b"<html><body><h1>Gateway says hello</h1></body></html>"
            return await fake_wire.send(writer, 200, page, {"content-type": "text/html"})
        if request.path.endswith("/chat/completions") and request.body.get("stream"):
            return await fake_wire.stream(writer, reply, request.body)
        return await fake_wire.send(writer, 200, self._body(request, reply), reply.headers)

    def _reply(self, request: Request) -> Reply:
        refused = sorted(self.rejects & request.body.keys())
        if refused:
            error = {"message": f"Unsupported parameter: '{refused[0]}'", "param": refused[0], "type": "invalid"}
            return Reply(status=400, raw=json.dumps({"error": error}).encode())
        if request.path.endswith("/embeddings"):
            return self.embedding_replies.popleft() if self.embedding_replies else Reply()
        if request.path.endswith("/models"):
            return Reply()
        if not request.path.endswith("/chat/completions"):
            return Reply(status=404)
        scripted = self.queue.popleft() if self.queue else self.default
        if scripted is None:
            return Reply(status=500, raw=b'{"error": {"message": "the fake has nothing scripted"}}')
        said = scripted(request.body) if callable(scripted) else scripted
        return Reply(said) if isinstance(said, str) else said

    def _body(self, request: Request, reply: Reply) -> bytes:
        if reply.mode == "garbage":
            return b'{"choices": [{"message": {"content": "half'
        if reply.mode == "wrong_shape":
            return b'{"result": "hello"}'
        if request.path.endswith("/models"):
            return json.dumps(
                {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
            ).encode()
        if request.path.endswith("/embeddings"):
            return fake_wire.embeddings(request.body, self.dimension)
        message = {"role": "assistant", "content": reply.text}
        choices = [
            {"index": 0, "message": message, "finish_reason": None if reply.mode == "no_finish" else reply.finish}
        ]
        body = fake_wire.frame(request.body, "chat.completion") | {
            "choices": [] if reply.mode == "no_choices" else choices
        }
        return json.dumps(body | ({"usage": fake_wire.usage(reply)} if reply.usage else {})).encode()
