"""The engine that serves now: opened aside, followed to each new generation, or the reason why there is none."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

from rag.errors import Busy, ConfabError, IndexUnavailable, NoIndex
from rag.types import Answer, Event, Filter, Paper, Question, SearchResult

log = logging.getLogger("api.serving")

POLL_SECONDS = 1.0
RETRY_SECONDS = 3.0  # after an attempt that loaded a model or hashed files in vain
OPENING_SECONDS = 30.0


class Engine(Protocol):
    """What the ways in need of `rag.engine.QueryEngine`; a scripted engine in the tests has the same shape."""

    @property
    def generation(self) -> str: ...
    def stream(self, question: Question) -> AsyncGenerator[Event, None]: ...
    async def answer(self, question: Question) -> Answer: ...
    async def search(self, query: str, *, k: int = 10, filter: Filter = ...) -> SearchResult: ...
    def paper(self, paper_id: str) -> Paper: ...
    async def follow(self) -> bool: ...
    def status(self) -> dict[str, Any]: ...
    async def aclose(self) -> None: ...


class Serving:
    """Holds one engine for the life of the service. `run()` is its only writer."""

    def __init__(self, opener: Callable[[], Engine]) -> None:
        self._opener = opener
        self._engine: Engine | None = None
        self._tried = asyncio.Event()
        self.problem: ConfabError | None = Busy("The index is being opened; ask again in a moment.", retry_after=1)

    @property
    def ready(self) -> bool:
        return self._engine is not None

    @property
    def generation(self) -> str | None:
        return self._engine.generation if self._engine is not None else None

    async def engine(self) -> Engine:
        """The engine, waiting for the first attempt to open it. Raises the ConfabError that stands in the way."""
        if not self._tried.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._tried.wait(), OPENING_SECONDS)
        if self._engine is None:
            assert self.problem is not None
            raise self.problem.with_traceback(None)
        return self._engine

    async def run(self) -> None:
        """Open the engine as soon as there is an index, then follow it, until cancelled."""
        while True:
            await self._step()
            self._tried.set()
            costly = not self.ready and not isinstance(self.problem, NoIndex)
            await asyncio.sleep(RETRY_SECONDS if costly else POLL_SECONDS)

    async def _step(self) -> None:
        try:
            if self._engine is None:
                self._engine = await asyncio.to_thread(self._opener)
                log.info("serving=%s", self._engine.generation)
            elif await self._engine.follow():
                log.info("serving=%s", self._engine.generation)
        except ConfabError as error:
            self._note(error)
        except Exception as error:  # the service outlives whatever an index does to it, and says so
            told = IndexUnavailable(f"The index cannot be opened ({type(error).__name__}); the service's log says why.")
            self._note(told, cause=error)
        else:
            self.problem = None

    def _note(self, error: ConfabError, cause: Exception | None = None) -> None:
        """Keep the reason; log it when it is another one than a second ago."""
        if self.problem is None or (type(self.problem), self.problem.message) != (type(error), error.message):
            log.warning("problem=%s detail=%r", type(error).__name__, error.message, exc_info=cause)
        self.problem = error

    async def aclose(self) -> None:
        if self._engine is not None:
            await self._engine.aclose()
