"""A circuit breaker: after several failures in a row, fail at once for a while instead of waiting again."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rag.errors import UpstreamError

FAILURES = 5
PAUSE_SECONDS = 10.0


class Breaker:
    """Closed: all pass. Open: none pass until `pause` seconds are over; then one tries, and decides.

    Knows only order and time, so it is given the clock (seconds, monotonic).
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = FAILURES,
        pause: float = PAUSE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._failed = 0
        self._open_until: float | None = None
        self._trying = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Raises UpstreamError at once while open. Inside, UpstreamError counts as a failure unless it
        blames this one request; any other way out (a reader who left) counts as nothing."""
        trial = self._enter()
        try:
            yield
        except UpstreamError as error:
            if not isinstance(error, RefusedRequest):
                self._count_failure()
            raise
        else:
            self._failed, self._open_until = 0, None
        finally:
            if trial:
                self._trying = False

    def _enter(self) -> bool:
        if self._open_until is None:
            return False
        left = self._open_until - self._clock()
        if left > 0 or self._trying:
            wait = max(1.0, round(left, 1))
            raise UpstreamError(
                f"{self._name} failed {self._failed} times in a row and rests; try again in {wait:g} s",
                retry_after=wait,
            )
        self._trying = True
        return True

    def _count_failure(self) -> None:
        self._failed += 1
        if self._failed >= self._limit:
            self._open_until = self._clock() + self._pause


class RefusedRequest(UpstreamError):
    """The server works, and does not want this one request (too long, filtered ...)."""
