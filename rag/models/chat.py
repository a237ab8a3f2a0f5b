"""The model that answers: any server of the OpenAI protocol, streamed, with deadlines of our own.

The openai SDK waits 600 s, retries inside, takes keep-alive comments for life, and ends a stream that was
cut as if it were whole (FACTS 5). So it is asked for one call at a time, and everything else is here: one
retry layer, only before the first token; deadlines for the first token, for silence and in total; and an
end without finish_reason is an error. Keeps to what openai 2.54 and 3 share.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rag import text
from rag.errors import UpstreamError
from rag.models import chunks
from rag.models.breaker import Breaker
from rag.models.clock import Clock
from rag.models.failures import Failed, explain
from rag.models.request import Message, body, refused_by
from rag.settings import Settings
from rag.types import Frozen

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Calls", "ChatModel", "Finished", "Message", "Piece", "build", "cost", "count_prompt"]

OPENAI = "https://api.openai.com/v1"
FIRST_PAUSE = 0.25  # seconds before the second call, doubled before the third
T = TypeVar("T")


class Piece(Frozen):
    """Some words of the answer, in order."""

    text: str


class Finished(Frozen):
    """The end of an answer. Only `reason` "stop" is a whole one ("length": cut by the token limit).

    `estimated`: the server sent no token counts, and we counted with tiktoken.
    """

    reason: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False


@dataclass
class Calls:
    """How many calls are left for one question: shared by its rewriting and its answering."""

    left: int


class ChatModel:
    """Streams answers of one model. The client is of one event loop, since its connections belong to it."""

    def __init__(self, settings: Settings) -> None:
        self.name = settings.chat_model
        self._settings = settings
        self._who = f"The chat model {self.name!r}"
        self._breaker = Breaker(self._who)
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refused: frozenset[str] = frozenset()  # parameters this server does not take, learnt from its 400s

    def calls(self) -> Calls:
        """A question's allowance of calls (CONFAB_CHAT_MAX_CALLS)."""
        return Calls(self._settings.chat_max_calls)

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, calls: Calls | None = None
    ) -> AsyncGenerator[Piece | Finished]:
        """Pieces, then one Finished. Raises UpstreamError or UpstreamTimeout, also in mid-answer: what came
        before is then a part and no answer. Closing the iterator or cancelling ends the upstream call."""
        tries = self._tries(list(messages), max_tokens or self._settings.answer_tokens, calls or self.calls())
        with self._breaker.guard():
            async with aclosing(tries):
                async for part in tries:
                    yield part

    async def say(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, calls: Calls | None = None
    ) -> tuple[str, Finished]:
        """The whole answer at once. Raises as `stream` does."""
        said: list[str] = []
        async with aclosing(self.stream(messages, max_tokens=max_tokens, calls=calls)) as parts:
            async for part in parts:
                if isinstance(part, Finished):
                    return "".join(said), part
                said.append(part.text)
        raise UpstreamError(f"{self._who} was cut short")

    async def aclose(self) -> None:
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.close()
        self._client = None

    async def _tries(self, messages: list[Message], max_tokens: int, calls: Calls) -> AsyncGenerator[Piece | Finished]:
        """The retry layer: calls until one begins to speak, or no other can help."""
        settings, pause, refused = self._settings, FIRST_PAUSE, self._refused
        clock = Clock(
            self._who, settings.chat_first_token_seconds, settings.chat_idle_seconds, settings.chat_total_seconds
        )
        if calls.left <= 0:
            raise UpstreamError(f"{self._who} was called as often as CONFAB_CHAT_MAX_CALLS allows for one question")
        while True:
            calls.left -= 1
            request = body(self.name, messages, max_tokens, refused, openai=settings.openai_base_url is None)
            try:
                async with aclosing(self._call(request, clock)) as parts:
                    async for part in parts:
                        self._refused = refused
                        yield self._counted(part, messages)
                return
            except Failed as failed:
                unwanted = refused_by(failed.said, request)
                if clock.begun or calls.left <= 0 or not (failed.again or unwanted):
                    raise failed.error from None
                refused |= unwanted
                wait = 0.0 if unwanted else pause if failed.wait is None else failed.wait
                if wait >= clock.left():
                    raise failed.error from None
                pause *= 2
                await asyncio.sleep(wait)

    async def _call(self, request: dict[str, Any], clock: Clock) -> AsyncGenerator[Piece | tuple[str, Any, str]]:
        """Pieces of one call, then (finish_reason, counts or None, all words). Raises Failed or UpstreamTimeout."""
        answer = await self._guarded(clock, self._open_client().chat.completions.create(**request))
        said: list[str] = []
        reason: str | None = None
        try:
            if "html" in answer.response.headers.get("content-type", ""):
                advice = "check OPENAI_BASE_URL (it usually ends in /v1)"
                raise Failed(UpstreamError(f"{self._who} answered with a web page; {advice}"))
            while reason is None:
                chunk = await self._guarded(clock, chunks.following(answer))
                if chunk is None:
                    raise Failed(UpstreamError(f"{self._who} was cut short: its answer has no end"), again=True)
                words, thought, reason = chunks.read(chunk, self._who)
                if words or thought:
                    clock.token()
                if words:
                    said.append(words)
                    yield Piece(text=words)
            yield reason, chunks.usage(chunk) or await chunks.late_usage(answer), "".join(said)
        finally:
            with suppress(Exception):
                await answer.close()  # ends the connection: the server notices at once that nobody listens

    async def _guarded(self, clock: Clock, waiting: Awaitable[T]) -> T:
        try:
            return await clock.within(waiting)
        except UpstreamError:
            raise
        except Exception as error:  # the SDK passes on whatever the transport and the parsers raise
            raise explain(error, self._who) from None

    def _counted(self, part: Piece | tuple[str, Any, str], messages: list[Message]) -> Piece | Finished:
        if isinstance(part, Piece):
            return part
        reason, usage, said = part
        prompt, completion = usage or (count_prompt(messages), text.count_tokens(said))
        return Finished(reason=reason, prompt_tokens=prompt, completion_tokens=completion, estimated=usage is None)

    def _open_client(self) -> "AsyncOpenAI":
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = _client(self._settings), loop
        return self._client


def build(settings: Settings) -> ChatModel | None:
    """None where neither OPENAI_API_KEY nor OPENAI_BASE_URL is set. Opens no connection."""
    return ChatModel(settings) if settings.has_llm else None


def _client(settings: Settings) -> "AsyncOpenAI":
    from openai import AsyncOpenAI  # half a second: only where a model is asked

    key = settings.openai_api_key
    return AsyncOpenAI(
        api_key=key.get_secret_value() if key else "none",  # local servers want none, the SDK wants something
        base_url=settings.openai_base_url or OPENAI,
        max_retries=0,
        timeout=settings.chat_total_seconds,
    )


def count_prompt(messages: Sequence[Message]) -> int:
    """Tokens of a prompt by tiktoken: 4 a message and 3 for the answer's start come on top, as OpenAI counts."""
    return sum(text.count_tokens(message.content) + 4 for message in messages) + 3


def cost(prices: Mapping[str, tuple[float, float]], model: str, prompt: int, completion: int) -> float | None:
    """In the currency of `prices` (per million tokens: prompt, completion); None for a model without a price."""
    price = prices.get(model)
    return None if price is None else (prompt * price[0] + completion * price[1]) / 1e6
