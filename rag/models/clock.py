"""The deadlines of one answer of a model."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from rag.errors import UpstreamTimeout

T = TypeVar("T")


@dataclass
class Clock:
    """All in seconds. `first` spans every call up to the first token; then `idle` counts from the last one."""

    who: str
    first: float
    idle: float
    total: float
    start: float = field(default_factory=time.monotonic)
    last: float | None = None

    def token(self) -> None:
        """Something came that a reader waits for: comments and empty chunks are not it."""
        self.last = time.monotonic()

    @property
    def begun(self) -> bool:
        return self.last is not None

    def left(self) -> float:
        return self._next()[0] - time.monotonic()

    async def within(self, waiting: Awaitable[T]) -> T:
        """`waiting`'s result; UpstreamTimeout, which says the setting, at the next deadline."""
        moment, message = self._next()
        try:
            async with asyncio.timeout(moment - time.monotonic()):
                return await waiting
        except TimeoutError:
            raise UpstreamTimeout(message) from None

    def _next(self) -> tuple[float, str]:
        if self.last is None:
            next_, wait, setting = self.start + self.first, self.first, "FIRST_TOKEN"
        else:
            next_, wait, setting = self.last + self.idle, self.idle, "IDLE"
        if next_ < self.start + self.total:
            return next_, f"{self.who} said nothing for {wait:g} s (CONFAB_CHAT_{setting}_SECONDS)"
        return self.start + self.total, f"{self.who} did not end within {self.total:g} s (CONFAB_CHAT_TOTAL_SECONDS)"
